// SPDX-License-Identifier: BSD-2-Clause
// Sample results with a value in every field.
#pragma once

#include <string>

#include "report/result.h"

namespace rdma_bench::samples {

inline HostFacts host(const std::string& name, const std::string& device) {
    HostFacts facts{name, "6.12.0", "A processor", 96, {}, "TSC", "2-3", 0, 1, "0"};
    facts.device = {device,   "1.2.3", 0x1ae0, 5, "0011223344556677", 1,        "Ethernet",
                    "ACTIVE", 4096,    100,    3, "192.0.2.1",        "RoCE v2"};
    return facts;
}

inline Result empty(Test test) {
    Result result;
    result.version = "0.1.0";
    result.test = test;
    result.client = true;
    result.started = "2026-01-31T12:00:00Z";
    result.parameters = {{"connection", "RC"}, {"tx_depth", "128"}};
    result.local = host("node-a", "dingo0");
    result.peer = host("node-b", "mlx5_0");
    result.security = "not encrypted";
    return result;
}

/// Sizes 64, 128 ... 4096 with 1 and 8 QPs. @param factor multiplies the speed
inline Result bandwidth(double factor = 1) {
    Result result = empty({Operation::kWrite, Metric::kBandwidth});
    for (const unsigned qps : {1U, 8U}) {
        for (std::uint64_t size = 64; size <= 4096; size *= 2) {
            Entry entry;
            entry.size = size;
            entry.qps = qps;
            entry.threads = 2;
            entry.iterations = 5000;
            entry.bytes = size * 5000;
            entry.seconds = 0.25;
            entry.started = result.started;
            const double speed = factor * qps * static_cast<double>(size) * 1e6;
            entry.bandwidth = Bandwidth{speed, speed * 1.1, factor * qps * 1e6};
            entry.cpu = {0.5, 0.25, 123456789, 5000};
            entry.peer_cpu = CpuCost{0.125, 0, {}, 5000};
            entry.counters = {{"hw_counters/out_of_buffer", 5, 5},
                              {"counters/port_xmit_data", 10, 25}};
            entry.peer_counters = {{"hw_counters/duplicate_request", 7, 3}};
            entry.verification = Verification{5000, entry.bytes, 0, 2, ""};
            entry.rate = RateOutcome{1e6, 0.9e6, 17};
            entry.series = {{0.1, 2000}, {0.25, 3000}};
            result.entries.push_back(entry);
        }
    }
    return result;
}

/// Like bandwidth(), with each row measured `times` times, 1 % apart.
inline Result repeated(unsigned times) {
    Result result = bandwidth();
    for (Entry& entry : result.entries) {
        for (unsigned i = 0; i < times; ++i) {
            Repeat repeat;
            repeat.started = result.started;
            repeat.iterations = 5000;
            repeat.seconds = 0.25;
            repeat.bandwidth = entry.bandwidth->average * (1 + 0.01 * i);
            repeat.message_rate = entry.bandwidth->message_rate;
            entry.repeats.push_back(repeat);
        }
    }
    return result;
}

/// Like bandwidth(), of a server with two clients; the second has a quarter of the traffic.
inline Result two_clients() {
    Result result = bandwidth();
    result.client = false;
    result.clients = {host("node-b", "mlx5_0"), host("node-c", "mlx5_1")};
    for (Entry& entry : result.entries) {
        for (const double part : {0.75, 0.25}) {
            entry.clients.push_back({2500, 0.25, entry.bandwidth->average * part,
                                     entry.bandwidth->message_rate * part});
        }
    }
    return result;
}

/// Sizes 2 and 4096; median 2 us and 4 us times `factor`, one sample in 100 ten times slower.
inline Result latency(double factor = 1) {
    Result result = empty({Operation::kRead, Metric::kLatency});
    for (const std::uint64_t size : {2, 4096}) {
        Entry entry;
        entry.size = size;
        entry.iterations = 1000;
        entry.bytes = size * 1000;
        entry.seconds = 0.01;
        entry.started = result.started;
        Histogram histogram(0.5);
        const auto typical = static_cast<std::uint64_t>(factor * (size == 2 ? 4000 : 8000));
        for (unsigned i = 0; i < 1000; ++i) {
            histogram.record(i % 100 == 99 ? typical * 10 : typical + i % 50);
        }
        entry.latency = histogram;
        entry.samples = {1234.5, 2000};
        result.entries.push_back(entry);
    }
    return result;
}

}  // namespace rdma_bench::samples
