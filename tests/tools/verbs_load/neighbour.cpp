// SPDX-License-Identifier: BSD-2-Clause
//
// Measures the service that one client gets beside others, in windows of time that scripts compare.
#include <infiniband/verbs.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "modes.h"
#include "self_link.h"

namespace verbs_load {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kWrite = 65536;
constexpr unsigned kQps = 4;
/// WRITEs in flight on each queue pair, so that the card always has some.
constexpr unsigned kInFlight = 4;
/// Pause between requests, so that they leave the processor to the WRITEs.
constexpr std::chrono::milliseconds kPause{1};

double microseconds(Clock::duration took) {
    return std::chrono::duration<double, std::micro>(took).count();
}

/// Keeps WRITEs in flight until `end`; returns the number completed by then.
std::uint64_t writes(SelfLink& link, unsigned in_flight, Clock::time_point end) {
    unsigned open = 0;
    for (; open < in_flight * link.qps(); ++open)
        link.post(open % link.qps());
    std::uint64_t done = 0;
    for (; open != 0; --open) {
        const unsigned qp = link.wait();
        if (Clock::now() < end) {
            ++done;
            link.post(qp);
            ++open;
        }
    }
    return done;
}

/// Makes requests for the card's admin queue until `stop`; returns the time of each.
std::vector<double> requests(const SelfLink& link, const std::atomic<bool>& stop) {
    std::vector<double> took;
    while (!stop) {
        const auto begin = Clock::now();
        ibv_qp* const qp = link.make_qp();
        if (qp == nullptr || ibv_destroy_qp(qp) != 0)
            throw std::runtime_error("a request failed");
        took.push_back(microseconds(Clock::now() - begin));
        std::this_thread::sleep_for(kPause);
    }
    return took;
}

double median(std::vector<double> all) {
    if (all.empty())
        return 0;
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
}

}  // namespace

void neighbour() {
    SelfLink link("", kQps, std::size_t{2} * kWrite * kQps);
    std::puts("ready");
    std::fflush(stdout);
    unsigned window = 0;
    while (std::cin >> window) {
        std::atomic<bool> stop{false};
        std::vector<double> took;
        std::exception_ptr failure;
        std::thread asks([&] {
            try {
                took = requests(link, stop);
            } catch (...) {
                failure = std::current_exception();
            }
        });
        const auto begin = Clock::now();
        std::uint64_t bytes = 0;
        try {
            bytes = kWrite * writes(link, kInFlight, begin + std::chrono::milliseconds(window));
        } catch (...) {
            failure = std::current_exception();
        }
        const double seconds = microseconds(Clock::now() - begin) / 1e6;
        stop = true;
        asks.join();
        if (failure)
            std::rethrow_exception(failure);
        std::printf("%.3f %.1f %zu\n", static_cast<double>(bytes) * 8 / seconds / 1e9, median(took),
                    took.size());
        std::fflush(stdout);
    }
}

void flow(unsigned qps, unsigned milliseconds, unsigned size) {
    SelfLink link("", qps, std::size_t{2} * size * qps);
    const auto begin = Clock::now();
    const std::uint64_t bytes =
        size * writes(link, 1, begin + std::chrono::milliseconds(milliseconds));
    std::printf("%.3f\n", static_cast<double>(bytes) * 8e-3 / microseconds(Clock::now() - begin));
}

void churn_for(unsigned milliseconds) {
    const SelfLink link("", 1, 8192);
    unsigned long count = 0;
    const auto begin = Clock::now();
    for (const auto end = begin + std::chrono::milliseconds(milliseconds); Clock::now() < end;
         ++count) {
        ibv_qp* const qp = link.make_qp();
        if (qp == nullptr || ibv_destroy_qp(qp) != 0)
            throw std::runtime_error("a request failed");
    }
    std::printf("%.0f\n", static_cast<double>(count) * 1e6 / microseconds(Clock::now() - begin));
}

}  // namespace verbs_load
