// SPDX-License-Identifier: BSD-2-Clause
// What the launcher's PMIx server tells of processes of the job that have ended.
#pragma once
#include <pmix.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace qpx::backend {

struct PmixFailure {
    uint32_t rank = 0;
    std::string reason;
};

/// The events to register for, besides PMIX_EVENT_NODE_DOWN: servers that know no events of the
/// system refuse a list with one in it.
std::vector<pmix_status_t> failure_codes();

/// The processes of job `nspace` that have failed by what an event says: those that it names as
/// affected, else its source. Empty: it is about another job, about the server itself, or about
/// processes that ended well.
std::vector<PmixFailure> failures_of(pmix_status_t status, const pmix_proc_t* source,
                                     std::span<const pmix_info_t> info, const std::string& nspace);

/// Whether the event says that this process has lost its server.
bool is_server_lost(pmix_status_t status, const pmix_proc_t* source, const std::string& nspace);

}  // namespace qpx::backend
