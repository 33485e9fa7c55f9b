// SPDX-License-Identifier: BSD-2-Clause
// Limits of one client, one job and the whole service.
#pragma once
#include <cstddef>
#include <cstdint>

namespace qpx::service {

/// Bytes that a message may have in addition to one value.
inline constexpr size_t beside_value = 64 << 10;

struct ServiceLimits {
    uint32_t max_clients = 65536;
    uint32_t max_clients_per_address = 65536;
    uint32_t max_jobs = 4096;
    uint32_t max_ranks = 65536;  ///< ranks of one job
    uint32_t max_keys = 65536;   ///< keys of one job
    uint32_t max_waits = 64;     ///< waiting requests of one client
    size_t max_key = 1024;       ///< bytes; also job names and labels
    size_t max_name = 255;       ///< bytes of a member's name
    size_t max_value = 1 << 20;  ///< bytes of one value or one contribution to a gathering
    size_t job_store = size_t{256} << 20;       ///< bytes of keys and values of one job
    size_t job_exchange = size_t{2} << 30;      ///< bytes of endpoints in transit in one job
    size_t client_exchange = size_t{64} << 20;  ///< bytes of endpoints in transit from one client
    size_t client_output = size_t{16} << 20;    ///< bytes of unread answers of one client
    size_t client_waits = 1 << 20;              ///< bytes of keys that one client waits for
    size_t total_output = size_t{1} << 30;      ///< bytes of unread answers of all clients
    size_t total = size_t{8} << 30;  ///< bytes of all jobs: values, endpoints in transit, ranks
    size_t event_log = 1 << 20;      ///< bytes of events kept for slow members of a job
};

}  // namespace qpx::service
