// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "report/json.h"

namespace rdma_bench::report {
namespace {

using Json = nlohmann::json;

/// A histogram takes 128 KiB: a file must not make us take all memory.
constexpr std::size_t kMostEntries = 4096;
constexpr double kNanosecondsPerMicrosecond = 1e3;

/// A value and its place, so that every complaint says where.
class Value {
  public:
    Value(const Json& json, std::string place) : json_(&json), place_(std::move(place)) {}

    [[noreturn]] void fail(const std::string& what) const { throw BadInput(place_ + ": " + what); }

    /// Fails when there is no such key.
    [[nodiscard]] Value at(const char* key) const {
        must(json_->is_object(), "an object");
        const auto found = json_->find(key);
        if (found == json_->end()) {
            fail(std::string("has no \"") + key + "\"");
        }
        return {*found, place_ + "." + key};
    }
    [[nodiscard]] bool has(const char* key) const {
        const auto found = json_->find(key);
        return found != json_->end() && !found->is_null();
    }
    [[nodiscard]] std::vector<Value> items() const {
        must(json_->is_array(), "an array");
        std::vector<Value> out;
        out.reserve(json_->size());
        for (std::size_t i = 0; i < json_->size(); ++i) {
            out.emplace_back((*json_)[i], place_ + "[" + std::to_string(i) + "]");
        }
        return out;
    }

    [[nodiscard]] std::string text() const {
        must(json_->is_string(), "a string");
        return json_->get<std::string>();
    }
    [[nodiscard]] bool flag() const {
        must(json_->is_boolean(), "true or false");
        return json_->get<bool>();
    }
    /// null is what the writer makes of a number that JSON does not have.
    [[nodiscard]] double real() const {
        if (json_->is_null()) {
            return std::numeric_limits<double>::quiet_NaN();
        }
        must(json_->is_number(), "a number or null");
        return json_->get<double>();
    }
    template <typename Integer>
    [[nodiscard]] Integer integer() const {
        must(json_->is_number_integer(), "an integer");
        constexpr auto kLow = static_cast<double>(std::numeric_limits<Integer>::min());
        constexpr auto kHigh = std::numeric_limits<Integer>::max();
        if (json_->is_number_unsigned()) {
            const auto value = json_->get<std::uint64_t>();
            must(value <= static_cast<std::uint64_t>(kHigh),
                 "an integer up to " + std::to_string(kHigh));
            return static_cast<Integer>(value);
        }
        const auto value = json_->get<std::int64_t>();
        must(static_cast<double>(value) >= kLow, "an integer that is not so small");
        return static_cast<Integer>(value);
    }

  private:
    void must(bool condition, const std::string& expected) const {
        if (!condition) {
            std::string got = json_->is_structured()
                                  ? json_->type_name()
                                  : json_->dump(-1, ' ', true, Json::error_handler_t::replace);
            if (got.size() > 40) {
                got = got.substr(0, 37) + "...";
            }
            fail("expected " + expected + ", found " + got);
        }
    }

    const Json* json_;
    std::string place_;
};

DeviceFacts device(const Value& v) {
    DeviceFacts facts;
    facts.name = v.at("name").text();
    facts.firmware = v.at("firmware").text();
    facts.vendor_id = v.at("vendor_id").integer<std::uint32_t>();
    facts.part_id = v.at("part_id").integer<std::uint32_t>();
    facts.node_guid = v.at("node_guid").text();
    facts.port = v.at("port").integer<unsigned>();
    facts.link_layer = v.at("link_layer").text();
    facts.state = v.at("state").text();
    facts.active_mtu = v.at("active_mtu_bytes").integer<unsigned>();
    facts.rate_gbits = v.at("rate_gbits_per_second").real();
    facts.gid_index = v.at("gid_index").integer<int>();
    facts.gid = v.at("gid").text();
    facts.gid_type = v.at("gid_type").text();
    return facts;
}

HostFacts host(const Value& v) {
    HostFacts facts;
    facts.name = v.at("name").text();
    facts.kernel = v.at("kernel").text();
    facts.cpu = v.at("cpu").text();
    facts.cpus = v.at("cpus").integer<unsigned>();
    facts.device = device(v.at("device"));
    // Files of older versions do not have these.
    if (v.has("clock")) {
        facts.clock = v.at("clock").text();
    }
    if (v.has("pinned_cpus")) {
        facts.pinned = v.at("pinned_cpus").text();
    }
    if (v.has("device_numa_node")) {
        facts.device_node = v.at("device_numa_node").integer<int>();
    }
    if (v.has("memory_numa_node")) {
        facts.memory_node = v.at("memory_numa_node").integer<int>();
    }
    if (v.has("thread_numa_nodes")) {
        facts.thread_nodes = v.at("thread_numa_nodes").text();
    }
    return facts;
}

/// A rate or a time, which cannot be negative.
double not_negative(const Value& v) {
    const double value = v.real();
    if (value < 0) {
        v.fail("expected a number that is not negative, found " + std::to_string(value));
    }
    return value;
}

Bandwidth bandwidth(const Value& v) {
    Bandwidth b;
    b.average = not_negative(v.at("average_bytes_per_second"));
    b.peak = v.has("peak_bytes_per_second") ? not_negative(v.at("peak_bytes_per_second")) : 0;
    b.message_rate = not_negative(v.at("messages_per_second"));
    return b;
}

Histogram latency(const Value& v) {
    const Value h = v.at("histogram");
    Histogram::State state;
    state.unit_ns = h.at("tick_ns").real();
    if (!(state.unit_ns > 0)) {
        h.at("tick_ns").fail("expected a number above 0");
    }
    state.min_ticks = h.at("min_ticks").integer<std::uint64_t>();
    state.max_ticks = h.at("max_ticks").integer<std::uint64_t>();
    state.sum = not_negative(h.at("sum_ticks"));
    state.squares = not_negative(h.at("sum_of_squares_ticks"));
    if (state.min_ticks > state.max_ticks) {
        h.fail("min_ticks is above max_ticks");
    }
    std::uint64_t total = 0;
    for (const Value& pair : h.at("buckets_from_ticks_and_count").items()) {
        const auto parts = pair.items();
        if (parts.size() != 2) {
            pair.fail("expected [ticks, count]");
        }
        const auto from = parts[0].integer<std::uint64_t>();
        const std::size_t index = Histogram::index(from);
        if (Histogram::lower(index) != from) {
            parts[0].fail("no bucket begins at " + std::to_string(from) + " ticks");
        }
        const auto count = parts[1].integer<std::uint64_t>();
        if (count > std::numeric_limits<std::uint64_t>::max() - total) {
            parts[1].fail("more samples than can be counted");
        }
        total += count;
        state.counts.emplace_back(static_cast<std::uint32_t>(index), count);
    }
    const Value samples = v.at("samples");
    if (samples.integer<std::uint64_t>() != total) {
        samples.fail("the buckets hold " + std::to_string(total) + " samples");
    }
    return Histogram::from_state(state);
}

CpuCost cpu(const Value& v) {
    CpuCost cost;
    cost.user_seconds = v.at("user_seconds").real();
    cost.system_seconds = v.at("system_seconds").real();
    cost.messages = v.at("messages").integer<std::uint64_t>();
    if (v.has("instructions")) {
        cost.instructions = v.at("instructions").integer<std::uint64_t>();
    }
    return cost;
}

std::vector<Counter> counters(const Value& v) {
    std::vector<Counter> out;
    for (const Value& c : v.items()) {
        out.push_back({c.at("name").text(), c.at("before").integer<std::uint64_t>(),
                       c.at("after").integer<std::uint64_t>()});
    }
    return out;
}

Verification verification(const Value& v) {
    return {v.at("messages").integer<std::uint64_t>(), v.at("bytes").integer<std::uint64_t>(),
            v.at("wrong_messages").integer<std::uint64_t>(),
            v.at("lost_messages").integer<std::uint64_t>(), v.at("first_mismatch").text()};
}

Repeat repeat(const Value& v) {
    Repeat r;
    r.started = v.at("started_utc").text();
    r.iterations = v.at("iterations").integer<std::uint64_t>();
    r.seconds = not_negative(v.at("seconds"));
    const auto figure = [&](const char* key, double unit) {
        return v.has(key) ? not_negative(v.at(key)) * unit : 0;
    };
    r.bandwidth = figure("bandwidth_bytes_per_second", 1);
    r.message_rate = figure("messages_per_second", 1);
    r.median = figure("median_us", kNanosecondsPerMicrosecond);
    r.tail = figure("percentile_99_us", kNanosecondsPerMicrosecond);
    return r;
}

SeriesPoint series_point(const Value& v) {
    const auto parts = v.items();
    if (parts.size() != 2) {
        v.fail("expected [seconds, messages]");
    }
    return {not_negative(parts[0]), parts[1].integer<std::uint64_t>()};
}

ClientShare client(const Value& v) {
    return {v.at("iterations").integer<std::uint64_t>(), not_negative(v.at("seconds")),
            not_negative(v.at("bandwidth_bytes_per_second")),
            not_negative(v.at("messages_per_second"))};
}

Entry entry(const Value& v) {
    Entry e;
    e.size = v.at("size_bytes").integer<std::uint64_t>();
    e.qps = v.at("qps").integer<unsigned>();
    e.threads = v.at("threads").integer<unsigned>();
    e.iterations = v.at("iterations").integer<std::uint64_t>();
    e.bytes = v.at("payload_bytes").integer<std::uint64_t>();
    e.seconds = not_negative(v.at("seconds"));
    e.started = v.at("started_utc").text();
    e.partial = v.at("partial").flag();
    e.cpu = cpu(v.at("cpu"));
    if (v.has("bandwidth")) {
        e.bandwidth = bandwidth(v.at("bandwidth"));
    }
    if (v.has("latency")) {
        e.latency = latency(v.at("latency"));
    }
    if (v.has("samples_ns")) {
        for (const Value& sample : v.at("samples_ns").items()) {
            e.samples.push_back(sample.real());
        }
    }
    if (v.has("peer_cpu")) {
        e.peer_cpu = cpu(v.at("peer_cpu"));
    }
    if (v.has("counters")) {
        e.counters = counters(v.at("counters"));
    }
    if (v.has("peer_counters")) {
        e.peer_counters = counters(v.at("peer_counters"));
    }
    if (v.has("verification")) {
        e.verification = verification(v.at("verification"));
    }
    if (v.has("rate")) {
        const Value rate = v.at("rate");
        e.rate = {rate.at("wanted_messages_per_second").real(),
                  rate.at("reached_messages_per_second").real(),
                  rate.at("late_messages").integer<std::uint64_t>()};
    }
    if (v.has("repeats")) {
        for (const Value& r : v.at("repeats").items()) {
            e.repeats.push_back(repeat(r));
        }
    }
    if (v.has("clients")) {
        for (const Value& c : v.at("clients").items()) {
            e.clients.push_back(client(c));
        }
    }
    if (v.has("series_seconds_and_messages")) {
        for (const Value& point : v.at("series_seconds_and_messages").items()) {
            e.series.push_back(series_point(point));
        }
    }
    return e;
}

Json parse(std::string_view text, const std::string& name) {
    try {
        return Json::parse(text);
    } catch (const Json::parse_error& error) {
        const std::size_t at = std::min(error.byte, text.size());
        const auto lines =
            std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
        throw BadInput(name + ": not JSON: line " + std::to_string(lines + 1) + ", byte " +
                       std::to_string(at) + (text.empty() ? ": the file is empty" : ""));
    } catch (const Json::exception&) {
        throw BadInput(name + ": a number in it is too large");
    }
}

}  // namespace

Result from_json(std::string_view text, const std::string& name) {
    const Json json = parse(text, name);
    const Value v(json, name);
    if (!json.is_object() || !v.has("schema") || json["schema"] != "rdma-bench") {
        v.fail(
            "not a result of rdma-bench: no \"schema\": \"rdma-bench\" (it is what --json writes)");
    }
    if (const int version = v.at("schema_version").integer<int>(); version != kSchemaVersion) {
        v.at("schema_version")
            .fail("this program reads version " + std::to_string(kSchemaVersion) +
                  ", the file has " + std::to_string(version));
    }
    Result result;
    result.version = v.at("program_version").text();
    const auto test = parse_test(v.at("test").text());
    if (!test) {
        v.at("test").fail("no test is called \"" + v.at("test").text() + "\"");
    }
    result.test = *test;
    const std::string side = v.at("side").text();
    if (side != "client" && side != "server") {
        v.at("side").fail("expected \"client\" or \"server\"");
    }
    result.client = side == "client";
    result.started = v.at("started_utc").text();
    result.security = v.at("security").text();
    result.local = host(v.at("local"));
    result.peer = host(v.at("peer"));
    if (v.has("clients")) {
        for (const Value& c : v.at("clients").items()) {
            result.clients.push_back(host(c));
        }
    }
    for (const Value& parameter : v.at("parameters").items()) {
        result.parameters.push_back({parameter.at("name").text(), parameter.at("value").text()});
    }
    const auto entries = v.at("entries").items();
    if (entries.size() > kMostEntries) {
        v.at("entries").fail("more than " + std::to_string(kMostEntries) + " entries");
    }
    for (const Value& e : entries) {
        result.entries.push_back(entry(e));
    }
    result.error = v.at("error").text();
    result.exit_status = v.at("exit_status").integer<int>();
    return result;
}

}  // namespace rdma_bench::report
