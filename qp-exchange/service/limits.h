// SPDX-License-Identifier: BSD-2-Clause
// What one client, one job and the whole service may hold.
#pragma once
#include <cstddef>
#include <cstdint>

namespace qpx::service {

/// What a message may have besides one value.
inline constexpr size_t beside_value = 64 << 10;

struct ServiceLimits {
    uint32_t max_clients = 65536;
    uint32_t max_clients_per_address = 65536;
    uint32_t max_jobs = 4096;
    uint32_t max_ranks = 65536;  ///< ranks of one job
    uint32_t max_keys = 65536;   ///< keys of one job
    uint32_t max_waits = 64;     ///< requests of one client that wait at a time
    size_t max_key = 1024;       ///< bytes; also job names and labels
    size_t max_name = 255;       ///< bytes of a member's name
    size_t max_value = 1 << 20;  ///< bytes of one value, of one contribution to a gathering
    size_t job_store = size_t{256} << 20;       ///< bytes of keys and values of one job
    size_t job_exchange = size_t{2} << 30;      ///< endpoint bytes of one job on their way
    size_t client_exchange = size_t{64} << 20;  ///< those that one client sent
    size_t client_output = size_t{16} << 20;    ///< answers that a client has not read
    size_t client_waits = 1 << 20;              ///< keys that one client waits for
    size_t total_output = size_t{1} << 30;      ///< answers that all clients have not read
    size_t total = size_t{8} << 30;  ///< bytes of all jobs: values, endpoints on their way, ranks
    size_t event_log = 1 << 20;      ///< bytes of events kept for slow members of a job
};

}  // namespace qpx::service
