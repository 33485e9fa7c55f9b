// SPDX-License-Identifier: BSD-2-Clause
// Process-wide state of the launcher's events. PMIx calls handlers in its own thread and without a
// user pointer.
#pragma once
#include <pmix.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "backend/pmix/failures.h"

namespace qpx::backend {

struct Launcher {
    std::mutex mutex;
    std::condition_variable changed;
    std::string nspace;               ///< that of this job
    std::vector<PmixFailure> failed;  ///< in order of arrival, each rank once
    bool lost = false;                ///< the PMIx server is lost
    int wake = -1;                    ///< eventfd; -1: not used
};
/// Returns the process's only instance.
Launcher& launcher();

/// Event handler to register for failure_codes().
void on_event(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
              size_t count, pmix_info_t* results, size_t results_count,
              pmix_event_notification_cbfunc_fn_t done, void* data);

/// Describes the failed processes, for messages. The caller holds the lock.
std::string gone(const Launcher& all);

}  // namespace qpx::backend
