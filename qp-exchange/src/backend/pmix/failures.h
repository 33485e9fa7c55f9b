// SPDX-License-Identifier: BSD-2-Clause
// Interpretation of PMIx events about failed processes of the job.
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

/// Returns the events to register for, besides PMIX_EVENT_NODE_DOWN: servers without system events
/// reject a list that contains one.
std::vector<pmix_status_t> failure_codes();

/// Returns the processes of job `nspace` that have failed according to an event: those that it
/// names as affected, else its source. Empty if it is about another job, the server itself, or
/// processes that ended normally.
std::vector<PmixFailure> failures_of(pmix_status_t status, const pmix_proc_t* source,
                                     std::span<const pmix_info_t> info, const std::string& nspace);

/// Returns true if the event says that this process has lost its server.
bool is_server_lost(pmix_status_t status, const pmix_proc_t* source, const std::string& nspace);

}  // namespace qpx::backend
