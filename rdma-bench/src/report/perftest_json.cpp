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

/// As perftest calls its tests.
std::string perftest_name(Test test) {
    const char* const operation = test.operation == Operation::kWrite  ? "RDMA_Write"
                                  : test.operation == Operation::kRead ? "RDMA_Read"
                                  : test.operation == Operation::kSend ? "Send"
                                                                       : "Atomic";
    return std::string(operation) + (test.latency() ? "_Latency_Test" : "_BW_Test");
}

/// A setting as a number when it is one.
Json setting(const std::string& text) {
    const Json number = Json::parse(text, nullptr, false);
    return number.is_number() ? number : Json(text);
}

Json test_info(const Result& result) {
    Json info = {{"test", perftest_name(result.test)}, {"Device", result.local.device.name}};
    const auto copy = [&](const char* key, const char* parameter) {
        for (const Parameter& p : result.parameters) {
            if (p.name == parameter) {
                info[key] = setting(p.value);
            }
        }
    };
    if (!result.entries.empty()) {
        info["Number_of_qps"] = result.entries.back().qps;
    }
    info["Transport_type"] = "IB";
    copy("Connection_type", "connection");
    copy("Using_SRQ", "srq");
    copy("PCIe_relax_order", "relaxed_ordering");
    copy("ibv_wr_API", "ibv_wr_api");
    copy("TX_depth", "tx_depth");
    copy("RX_depth", "rx_depth");
    copy("CQ_Moderation", "cq_moderation");
    copy("Mtu", "mtu_bytes");
    info["Link_type"] = result.local.device.link_layer;
    info["GID_index"] = result.local.device.gid_index;
    copy("Outstand_reads", "outstanding");
    copy("Max_inline_data", "inline_bytes");
    copy("rdma_cm_QPs", "rdma_cm");
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
