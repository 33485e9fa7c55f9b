// SPDX-License-Identifier: BSD-2-Clause
#include "run/repeats.h"

#include <algorithm>

#include "report/spread.h"
#include "run/cost.h"

namespace rdma_bench {
namespace {

/// Adds the increments of counters: `before` stays that of the first measurement.
void add_counters(std::vector<Counter>& sum, const std::vector<Counter>& more) {
    for (const Counter& counter : more) {
        const auto found = std::find_if(sum.begin(), sum.end(),
                                        [&](const Counter& c) { return c.name == counter.name; });
        if (found == sum.end()) {
            sum.push_back(counter);
        } else {
            found->after += counter.after - counter.before;
        }
    }
}

void add_verification(std::optional<Verification>& sum, const std::optional<Verification>& more) {
    if (!sum || !more) {
        return;
    }
    sum->messages += more->messages;
    sum->bytes += more->bytes;
    sum->wrong += more->wrong;
    sum->lost += more->lost;
    sum->first = sum->first.empty() ? more->first : sum->first;
}

void add_latency(Entry& sum, Entry& more) {
    if (!sum.latency || !more.latency) {
        return;
    }
    // Each repeat calibrates the clock again; the values differ by a few parts per million.
    more.latency->set_unit_ns(sum.latency->unit_ns());
    sum.latency->merge(*more.latency);
    sum.samples.insert(sum.samples.end(), more.samples.begin(), more.samples.end());
}

}  // namespace

Repeat repeat_of(const Entry& entry) {
    Repeat repeat;
    repeat.started = entry.started;
    repeat.iterations = entry.iterations;
    repeat.seconds = entry.seconds;
    if (entry.bandwidth) {
        repeat.bandwidth = entry.bandwidth->average;
        repeat.message_rate = entry.bandwidth->message_rate;
    }
    if (entry.latency && entry.latency->count() > 0) {
        repeat.median = entry.latency->typical();
        repeat.tail = entry.latency->percentile(99);
    }
    return repeat;
}

double median_of(const std::vector<Repeat>& repeats, double Repeat::*value) {
    std::vector<double> values;
    values.reserve(repeats.size());
    for (const Repeat& repeat : repeats) {
        values.push_back(repeat.*value);
    }
    return spread_of(std::move(values)).median;
}

Entry combine(std::vector<Entry> all) {
    Entry sum = all.front();
    sum.repeats = {repeat_of(sum)};
    double before = sum.seconds;
    for (std::size_t i = 1; i < all.size(); ++i) {
        Entry& more = all[i];
        sum.repeats.push_back(repeat_of(more));
        sum.iterations += more.iterations;
        sum.bytes += more.bytes;
        sum.seconds += more.seconds;
        sum.lost += more.lost;
        sum.partial = sum.partial || more.partial;
        add_cost(sum.cpu, more.cpu);
        if (sum.peer_cpu && more.peer_cpu) {
            add_cost(*sum.peer_cpu, *more.peer_cpu);
        }
        add_counters(sum.counters, more.counters);
        add_counters(sum.peer_counters, more.peer_counters);
        add_verification(sum.verification, more.verification);
        add_latency(sum, more);
        for (const SeriesPoint& point : more.series) {
            sum.series.push_back({before + point.seconds, point.messages});
        }
        before += more.seconds;
        if (sum.bandwidth && more.bandwidth) {
            sum.bandwidth->peak = std::max(sum.bandwidth->peak, more.bandwidth->peak);
        }
        if (sum.rate && more.rate) {
            sum.rate->late += more.rate->late;
            sum.rate->reached += more.rate->reached;
        }
    }
    if (sum.bandwidth) {
        sum.bandwidth->average = median_of(sum.repeats, &Repeat::bandwidth);
        sum.bandwidth->message_rate = median_of(sum.repeats, &Repeat::message_rate);
    }
    if (sum.rate) {
        sum.rate->reached /= static_cast<double>(all.size());
    }
    return sum;
}

}  // namespace rdma_bench
