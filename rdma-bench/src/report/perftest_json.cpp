// SPDX-License-Identifier: BSD-2-Clause
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/json.h"

namespace rdma_bench::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMebibyte = 1024.0 * 1024.0;
constexpr double kBitsPerByte = 8;
constexpr double kGiga = 1e9;
constexpr double kMega = 1e6;
constexpr double kNanosecondsPerMicrosecond = 1e3;

/// perftest's name of the test.
std::string perftest_name(Test test) {
    const char* const operation = test.operation == Operation::kWrite      ? "RDMA_Write"
                                  : test.operation == Operation::kWriteImm ? "RDMA_Write"
                                  : test.operation == Operation::kRead     ? "RDMA_Read"
                                  : test.operation == Operation::kSend     ? "Send"
                                                                           : "Atomic";
    return std::string(operation) + (test.latency() ? "_Latency_Test" : "_BW_Test");
}

/// The settings of a run by name, as perftest shows them.
class Settings {
  public:
    explicit Settings(const Result& result) : result_(result) {}

    /// A number when it is one, else text; null when the run has no such setting.
    [[nodiscard]] Json value(const char* name) const {
        const std::string* text = find(name);
        if (text == nullptr) {
            return nullptr;
        }
        const Json number = Json::parse(*text, nullptr, false);
        return number.is_number() ? number : Json(*text);
    }
    [[nodiscard]] Json on(const char* name, const char* when) const {
        const std::string* text = find(name);
        return text == nullptr ? Json(nullptr) : Json(*text == when ? "ON" : "OFF");
    }

  private:
    [[nodiscard]] const std::string* find(const char* name) const {
        for (const Parameter& p : result_.parameters) {
            if (p.name == name) {
                return &p.value;
            }
        }
        return nullptr;
    }

    const Result& result_;
};

Json test_info(const Result& result) {
    const Settings settings(result);
    const Test test = result.test;
    Json info = {
        {"test", perftest_name(test)}, {"Dual_port", "OFF"}, {"Device", result.local.device.name}};
    info["Number_of_qps"] =
        result.entries.empty() ? settings.value("qps") : Json(result.entries.back().qps);
    info["Transport_type"] = "IB";
    info["Connection_type"] = settings.value("connection");
    info["Using_SRQ"] = settings.on("srq", "yes");
    info["PCIe_relax_order"] = settings.on("relaxed_ordering", "yes");
    info["ibv_wr_API"] = settings.on("posting", "ibv_wr");
    info["TX_depth"] = settings.value("tx_depth");
    if (takes_receives(test.operation) && !test.latency()) {
        info["RX_depth"] = settings.value("rx_depth");
    }
    if (!test.latency()) {
        info["CQ_Moderation"] = settings.value("cq_moderation");
    }
    info["Mtu"] = settings.value("mtu");
    info["Link_type"] = result.local.device.link_layer;
    info["GID_index"] = result.local.device.gid_index;
    const bool asks = test.operation == Operation::kRead || test.operation == Operation::kAtomic;
    info[asks ? "Outstand_reads" : "Max_inline_data"] =
        settings.value(asks ? "outstanding" : "inline_size");
    info["rdma_cm_QPs"] = settings.on("rdma_cm", "yes");
    info["Data_ex_method"] = "Ethernet";
    return info;
}

Json results(const Entry& entry, bool gbits) {
    const auto speed = [&](double bytes) {
        return gbits ? bytes * kBitsPerByte / kGiga : bytes / kMebibyte;
    };
    const auto us = [](double ns) { return ns / kNanosecondsPerMicrosecond; };
    Json out = {{"MsgSize", entry.size}, {"n_iterations", entry.iterations}};
    if (entry.bandwidth) {
        out["BW_peak"] = speed(entry.bandwidth->peak);
        out["BW_average"] = speed(entry.bandwidth->average);
        out["MsgRate"] = entry.bandwidth->message_rate / kMega;
    }
    if (entry.latency) {
        const Histogram& h = *entry.latency;
        out["t_min"] = us(h.min());
        out["t_max"] = us(h.max());
        out["t_typical"] = us(h.typical());
        out["t_avg"] = us(h.mean());
        out["t_stdev"] = us(h.stdev());
        out["percentile_99"] = us(h.percentile(99));
        out["percentile_99.9"] = us(h.percentile(99.9));
        out["tps_average"] =
            entry.seconds > 0 ? static_cast<double>(entry.iterations) / entry.seconds : 0.0;
    }
    return out;
}

}  // namespace

std::string to_perftest_json(const Result& result, bool gbits) {
    Json all = Json::array();
    for (const Entry& entry : result.entries) {
        all.push_back(results(entry, gbits));
    }
    const Json out = {{"test_info", test_info(result)},
                      {"results", all.empty() ? Json::object() : all.back()},
                      {"all_results", all}};
    return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rdma_bench::report
