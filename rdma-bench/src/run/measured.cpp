// SPDX-License-Identifier: BSD-2-Clause
#include "run/measured.h"

#include <nlohmann/json.hpp>

namespace rdma_bench {

using nlohmann::json;

namespace {

json to_json(const Histogram& histogram) {
    const auto state = histogram.state();
    return {{"unit_ns", state.unit_ns}, {"min", state.min_ticks},   {"max", state.max_ticks},
            {"sum", state.sum},         {"squares", state.squares}, {"counts", state.counts}};
}

Histogram histogram_from(const json& j) {
    Histogram::State state;
    j.at("unit_ns").get_to(state.unit_ns);
    j.at("min").get_to(state.min_ticks);
    j.at("max").get_to(state.max_ticks);
    j.at("sum").get_to(state.sum);
    j.at("squares").get_to(state.squares);
    j.at("counts").get_to(state.counts);
    return Histogram::from_state(state);
}

}  // namespace

json to_json(const Measured& m) {
    json counters = json::array();
    for (const auto& counter : m.counters) {
        counters.push_back({counter.name, counter.before, counter.after});
    }
    json cost{{"user", m.cost.user_seconds},
              {"system", m.cost.system_seconds},
              {"messages", m.cost.messages}};
    if (m.cost.instructions) {
        cost["instructions"] = *m.cost.instructions;
    }
    const auto& v = m.verification;
    json series = json::array();
    for (const auto& point : m.series) {
        series.push_back({point.seconds, point.messages});
    }
    json all{{"messages", m.messages},
             {"series", series},
             {"seconds", m.seconds},
             {"peak", m.peak},
             {"rate", m.rate},
             {"received", m.received},
             {"late", m.late},
             {"lost", m.lost},
             {"cost", cost},
             {"counters", counters},
             {"verification",
              {{"messages", v.messages},
               {"bytes", v.bytes},
               {"wrong", v.wrong},
               {"lost", v.lost},
               {"first", v.first}}}};
    if (m.latency) {
        all["latency"] = to_json(*m.latency);
    }
    return all;
}

Measured measured_from(const json& j) {
    Measured m;
    j.at("messages").get_to(m.messages);
    j.at("seconds").get_to(m.seconds);
    j.at("peak").get_to(m.peak);
    j.at("rate").get_to(m.rate);
    j.at("received").get_to(m.received);
    j.at("late").get_to(m.late);
    j.at("lost").get_to(m.lost);
    const auto& cost = j.at("cost");
    cost.at("user").get_to(m.cost.user_seconds);
    cost.at("system").get_to(m.cost.system_seconds);
    cost.at("messages").get_to(m.cost.messages);
    if (cost.contains("instructions")) {
        m.cost.instructions = cost["instructions"].get<std::uint64_t>();
    }
    for (const auto& counter : j.at("counters")) {
        m.counters.push_back({counter.at(0).get<std::string>(), counter.at(1).get<std::uint64_t>(),
                              counter.at(2).get<std::uint64_t>()});
    }
    for (const auto& point : j.at("series")) {
        m.series.push_back({point.at(0).get<double>(), point.at(1).get<std::uint64_t>()});
    }
    const auto& v = j.at("verification");
    v.at("messages").get_to(m.verification.messages);
    v.at("bytes").get_to(m.verification.bytes);
    v.at("wrong").get_to(m.verification.wrong);
    v.at("lost").get_to(m.verification.lost);
    v.at("first").get_to(m.verification.first);
    if (j.contains("latency")) {
        m.latency = histogram_from(j["latency"]);
    }
    return m;
}

json to_json(const HostFacts& f) {
    const auto& d = f.device;
    return {{"name", f.name},
            {"kernel", f.kernel},
            {"cpu", f.cpu},
            {"cpus", f.cpus},
            {"device",
             {{"name", d.name},
              {"firmware", d.firmware},
              {"vendor", d.vendor_id},
              {"part", d.part_id},
              {"guid", d.node_guid},
              {"port", d.port},
              {"link", d.link_layer},
              {"state", d.state},
              {"mtu", d.active_mtu},
              {"rate", d.rate_gbits}}},
            {"clock", f.clock},
            {"pinned", f.pinned},
            {"device_node", f.device_node},
            {"memory_node", f.memory_node},
            {"thread_nodes", f.thread_nodes}};
}

HostFacts host_from(const json& j) {
    HostFacts f;
    j.at("name").get_to(f.name);
    j.at("kernel").get_to(f.kernel);
    j.at("cpu").get_to(f.cpu);
    j.at("cpus").get_to(f.cpus);
    const auto& d = j.at("device");
    d.at("name").get_to(f.device.name);
    d.at("firmware").get_to(f.device.firmware);
    d.at("vendor").get_to(f.device.vendor_id);
    d.at("part").get_to(f.device.part_id);
    d.at("guid").get_to(f.device.node_guid);
    d.at("port").get_to(f.device.port);
    d.at("link").get_to(f.device.link_layer);
    d.at("state").get_to(f.device.state);
    d.at("mtu").get_to(f.device.active_mtu);
    d.at("rate").get_to(f.device.rate_gbits);
    j.at("clock").get_to(f.clock);
    j.at("pinned").get_to(f.pinned);
    j.at("device_node").get_to(f.device_node);
    j.at("memory_node").get_to(f.memory_node);
    j.at("thread_nodes").get_to(f.thread_nodes);
    return f;
}

}  // namespace rdma_bench
