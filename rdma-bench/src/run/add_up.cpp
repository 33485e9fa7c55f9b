// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "run/clients.h"
#include "run/cost.h"
#include "run/repeats.h"

namespace rdma_bench {
namespace {

ClientShare share_of(const Entry& entry) {
    const Repeat figures = repeat_of(entry);
    return {figures.iterations, figures.seconds, figures.bandwidth, figures.message_rate};
}

/// Adds the points of another client to the next points, in time, of the first client.
void add_series(std::vector<SeriesPoint>& sum, const std::vector<SeriesPoint>& more) {
    if (sum.empty()) {
        sum = more;
        return;
    }
    auto at = sum.begin();
    for (const SeriesPoint& point : more) {
        while (at + 1 != sum.end() && at->seconds < point.seconds) {
            ++at;
        }
        at->messages += point.messages;
    }
}

void add_repeats(std::vector<Repeat>& sum, const std::vector<Repeat>& more) {
    sum.resize(std::min(sum.size(), more.size()));
    for (std::size_t i = 0; i < sum.size(); ++i) {
        sum[i].iterations += more[i].iterations;
        sum[i].seconds = std::max(sum[i].seconds, more[i].seconds);
        sum[i].bandwidth += more[i].bandwidth;
        sum[i].message_rate += more[i].message_rate;
    }
}

void add_rate(RateOutcome& sum, const RateOutcome& more) {
    sum.wanted += more.wanted;
    sum.reached += more.reached;
    sum.late += more.late;
}

void add(Entry& sum, Entry& more) {
    sum.iterations += more.iterations;
    sum.bytes += more.bytes;
    sum.seconds = std::max(sum.seconds, more.seconds);
    sum.lost += more.lost;
    sum.partial = sum.partial || more.partial;
    add_cost(sum.cpu, more.cpu);
    if (sum.peer_cpu && more.peer_cpu) {
        add_cost(*sum.peer_cpu, *more.peer_cpu);
    }
    if (sum.bandwidth && more.bandwidth) {
        sum.bandwidth->average += more.bandwidth->average;
        sum.bandwidth->peak += more.bandwidth->peak;
        sum.bandwidth->message_rate += more.bandwidth->message_rate;
    }
    if (sum.latency && more.latency) {
        more.latency->set_unit_ns(sum.latency->unit_ns());
        sum.latency->merge(*more.latency);
    }
    if (sum.rate && more.rate) {
        add_rate(*sum.rate, *more.rate);
    }
    add_repeats(sum.repeats, more.repeats);
    add_series(sum.series, more.series);
}

}  // namespace

Entry add_up(std::vector<Entry> all) {
    Entry sum = all.front();
    sum.peer_counters.clear();
    sum.clients = {share_of(sum)};
    for (std::size_t i = 1; i < all.size(); ++i) {
        sum.clients.push_back(share_of(all[i]));
        add(sum, all[i]);
    }
    if (sum.bandwidth && !sum.repeats.empty()) {
        // The median of the sums is not the sum of the medians.
        sum.bandwidth->average = median_of(sum.repeats, &Repeat::bandwidth);
        sum.bandwidth->message_rate = median_of(sum.repeats, &Repeat::message_rate);
    }
    return sum;
}

}  // namespace rdma_bench
