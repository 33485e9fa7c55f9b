// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <nlohmann/json.hpp>

#include "report/fairness.h"
#include "report/json.h"
#include "report/percentiles.h"
#include "report/spread.h"

namespace rdma_bench::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNanosecondsPerMicrosecond = 1e3;

Json device(const DeviceFacts& facts) {
    return {{"name", facts.name},
            {"firmware", facts.firmware},
            {"vendor_id", facts.vendor_id},
            {"part_id", facts.part_id},
            {"node_guid", facts.node_guid},
            {"port", facts.port},
            {"link_layer", facts.link_layer},
            {"state", facts.state},
            {"active_mtu_bytes", facts.active_mtu},
            {"rate_gbits_per_second", facts.rate_gbits},
            {"gid_index", facts.gid_index},
            {"gid", facts.gid},
            {"gid_type", facts.gid_type}};
}

Json host(const HostFacts& facts) {
    return {{"name", facts.name},
            {"kernel", facts.kernel},
            {"cpu", facts.cpu},
            {"cpus", facts.cpus},
            {"device", device(facts.device)},
            {"clock", facts.clock},
            {"pinned_cpus", facts.pinned},
            {"device_numa_node", facts.device_node},
            {"memory_numa_node", facts.memory_node},
            {"thread_numa_nodes", facts.thread_nodes}};
}

/// Null for a value that was not measured; infinity and NaN are null by themselves when written.
Json measured(double value) {
    return value > 0 ? Json(value) : Json(nullptr);
}

Json bandwidth(const Bandwidth& b) {
    return {{"average_bytes_per_second", b.average},
            {"peak_bytes_per_second", measured(b.peak)},
            {"messages_per_second", b.message_rate}};
}

/// Latency against percentile, as far as the samples tell it; from the minimum to the maximum.
Json curve(const Histogram& h) {
    constexpr std::array kPercents{10.0, 25.0,  50.0,  75.0,   90.0,   95.0,    99.0,   99.5,
                                   99.9, 99.95, 99.99, 99.995, 99.999, 99.9995, 99.9999};
    const auto samples = static_cast<double>(h.count());
    Json out = Json::array({{0, h.min() / kNanosecondsPerMicrosecond}});
    for (const double percent : kPercents) {
        if (samples * (100 - percent) >= 99.999) {
            out.push_back({percent, h.percentile(percent) / kNanosecondsPerMicrosecond});
        }
    }
    // The slowest of N samples stands where 1 in N is slower.
    out.push_back({100 * (1 - 0.5 / samples), h.max() / kNanosecondsPerMicrosecond});
    return out;
}

Json latency(const Histogram& histogram) {
    const auto us = [](double ns) { return ns / kNanosecondsPerMicrosecond; };
    Json percentiles = Json::object();
    Json needed = Json::object();
    for (const Percentile& p : kPercentiles) {
        const bool enough = enough_samples(histogram.count(), p.percent);
        percentiles[p.name] = enough ? Json(us(histogram.percentile(p.percent))) : Json(nullptr);
        if (!enough) {
            needed[p.name] = samples_needed(p.percent);
        }
    }
    const Histogram::State state = histogram.state();
    Json buckets = Json::array();
    for (const auto& [index, count] : state.counts) {
        buckets.push_back(Json::array({Histogram::lower(index), count}));
    }
    return {{"samples", histogram.count()},
            {"min_us", us(histogram.min())},
            {"mean_us", us(histogram.mean())},
            {"stdev_us", us(histogram.stdev())},
            {"max_us", us(histogram.max())},
            {"percentiles_us", percentiles},
            {"percentiles_need_samples", needed},
            {"curve_percent_and_us", curve(histogram)},
            {"histogram",
             {{"tick_ns", state.unit_ns},
              {"min_ticks", state.min_ticks},
              {"max_ticks", state.max_ticks},
              {"sum_ticks", state.sum},
              {"sum_of_squares_ticks", state.squares},
              {"buckets_from_ticks_and_count", buckets}}}};
}

Json cpu(const CpuCost& cost) {
    Json out = {{"user_seconds", cost.user_seconds},
                {"system_seconds", cost.system_seconds},
                {"messages", cost.messages},
                {"instructions", nullptr}};
    if (cost.instructions) {
        out["instructions"] = *cost.instructions;
    }
    return out;
}

Json counters(const std::vector<Counter>& all) {
    Json out = Json::array();
    for (const Counter& counter : all) {
        out.push_back({{"name", counter.name},
                       {"before", counter.before},
                       {"after", counter.after},
                       {"moved", static_cast<std::int64_t>(counter.after - counter.before)}});
    }
    return out;
}

Json verification(const Verification& v) {
    return {{"messages", v.messages},
            {"bytes", v.bytes},
            {"wrong_messages", v.wrong},
            {"lost_messages", v.lost},
            {"first_mismatch", v.first}};
}

Json repeats(const std::vector<Repeat>& all) {
    Json out = Json::array();
    for (const Repeat& r : all) {
        out.push_back({{"started_utc", r.started},
                       {"iterations", r.iterations},
                       {"seconds", r.seconds},
                       {"bandwidth_bytes_per_second", measured(r.bandwidth)},
                       {"messages_per_second", measured(r.message_rate)},
                       {"median_us", measured(r.median / kNanosecondsPerMicrosecond)},
                       {"percentile_99_us", measured(r.tail / kNanosecondsPerMicrosecond)}});
    }
    return out;
}

/// An interval for each figure that was measured in all repeats.
Json intervals(const std::vector<Repeat>& all) {
    struct Figure {
        const char* name;
        double Repeat::*value;
        double unit;
    };
    Json out = Json::object();
    for (const auto& [name, value, unit] :
         {Figure{"bandwidth_bytes_per_second", &Repeat::bandwidth, 1},
          Figure{"messages_per_second", &Repeat::message_rate, 1},
          Figure{"median_us", &Repeat::median, kNanosecondsPerMicrosecond},
          Figure{"percentile_99_us", &Repeat::tail, kNanosecondsPerMicrosecond}}) {
        std::vector<double> values;
        for (const Repeat& r : all) {
            if (r.*value > 0) {
                values.push_back(r.*value / unit);
            }
        }
        if (!values.empty() && values.size() == all.size()) {
            out[name] = spread_json(spread_of(values));
        }
    }
    return out;
}

Json clients(const std::vector<ClientShare>& all) {
    Json out = Json::array();
    for (const ClientShare& c : all) {
        out.push_back({{"iterations", c.iterations},
                       {"seconds", c.seconds},
                       {"bandwidth_bytes_per_second", c.bandwidth},
                       {"messages_per_second", c.message_rate}});
    }
    return out;
}

Json entry(const Entry& e) {
    Json out = {{"size_bytes", e.size},     {"qps", e.qps},
                {"threads", e.threads},     {"iterations", e.iterations},
                {"payload_bytes", e.bytes}, {"seconds", e.seconds},
                {"started_utc", e.started}, {"partial", e.partial},
                {"cpu", cpu(e.cpu)}};
    if (e.bandwidth) {
        out["bandwidth"] = bandwidth(*e.bandwidth);
    }
    if (e.latency) {
        out["latency"] = latency(*e.latency);
    }
    if (!e.samples.empty()) {
        out["samples_ns"] = e.samples;
    }
    if (e.peer_cpu) {
        out["peer_cpu"] = cpu(*e.peer_cpu);
    }
    if (!e.counters.empty()) {
        out["counters"] = counters(e.counters);
    }
    if (!e.peer_counters.empty()) {
        out["peer_counters"] = counters(e.peer_counters);
    }
    if (e.verification) {
        out["verification"] = verification(*e.verification);
    }
    if (e.rate) {
        out["rate"] = {{"wanted_messages_per_second", e.rate->wanted},
                       {"reached_messages_per_second", e.rate->reached},
                       {"late_messages", e.rate->late}};
    }
    if (!e.repeats.empty()) {
        out["repeats"] = repeats(e.repeats);
        out["intervals_of_the_median"] = intervals(e.repeats);
    }
    if (!e.clients.empty()) {
        const Fairness f = fairness_of(e.clients);
        out["clients"] = clients(e.clients);
        out["fairness"] = {{"jain_index", f.index}, {"slowest_over_fastest", f.ratio()}};
    }
    if (!e.series.empty()) {
        Json& series = out["series_seconds_and_messages"] = Json::array();
        for (const SeriesPoint& point : e.series) {
            series.push_back(Json::array({point.seconds, point.messages}));
        }
    }
    return out;
}

std::string text(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A line for each key, and for each element of arrays: readable, and histograms do not fill the
/// screen.
std::string lines(const Json& object) {
    std::string out = "{";
    const char* comma = "\n";
    for (const auto& [key, value] : object.items()) {
        out += comma + text(key) + ": ";
        comma = ",\n";
        if (!value.is_array() || value.empty()) {
            out += text(value);
            continue;
        }
        const char* inner = "[\n ";
        for (const Json& element : value) {
            out += inner + text(element);
            inner = ",\n ";
        }
        out += "\n]";
    }
    return out + "\n}\n";
}

}  // namespace

Json spread_json(const Spread& s) {
    return {{"median", s.median}, {"low", s.low}, {"high", s.high}, {"confidence", s.confidence}};
}

Json result_json(const Result& result) {
    Json parameters = Json::array();
    for (const Parameter& parameter : result.parameters) {
        parameters.push_back({{"name", parameter.name}, {"value", parameter.value}});
    }
    Json entries = Json::array();
    for (const Entry& e : result.entries) {
        entries.push_back(entry(e));
    }
    Json all = {{"schema", "rdma-bench"},
                {"schema_version", kSchemaVersion},
                {"program_version", result.version},
                {"test", std::string(to_string(result.test))},
                {"side", result.client ? "client" : "server"},
                {"started_utc", result.started},
                {"security", result.security},
                {"local", host(result.local)},
                {"peer", host(result.peer)},
                {"parameters", parameters},
                {"entries", entries},
                {"error", result.error},
                {"exit_status", result.exit_status}};
    if (!result.clients.empty()) {
        Json& hosts = all["clients"] = Json::array();
        for (const HostFacts& client : result.clients) {
            hosts.push_back(host(client));
        }
    }
    return all;
}

std::string to_json(const Result& result) {
    return lines(result_json(result));
}

}  // namespace rdma_bench::report
