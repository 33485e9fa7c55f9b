// SPDX-License-Identifier: BSD-2-Clause
// Results of one side for one entry, which are sent to the peer.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "report/result.h"

namespace rdma_bench {

struct Measured {
    std::uint64_t messages = 0;
    double seconds = 0;
    double peak = 0;  ///< messages a second
    double rate = 0;  ///< messages a second
    std::uint64_t received = 0, late = 0, lost = 0;
    CpuCost cost;
    std::vector<Counter> counters;
    Verification verification;
    std::vector<SeriesPoint> series;
    std::optional<Histogram> latency;  ///< of the initiator, if it measured any
};

nlohmann::json to_json(const Measured& measured);
/// @throws nlohmann::json::exception, std::invalid_argument
Measured measured_from(const nlohmann::json& json);

nlohmann::json to_json(const HostFacts& facts);
HostFacts host_from(const nlohmann::json& json);

}  // namespace rdma_bench
