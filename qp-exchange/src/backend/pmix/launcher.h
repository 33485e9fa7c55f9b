// SPDX-License-Identifier: BSD-2-Clause
// What the launcher has told this process: PMIx calls its handlers in a thread of its own, without
// a pointer of ours.
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
    std::string nspace;               ///< of this job
    std::vector<PmixFailure> failed;  ///< in the order of news, each rank once
    bool lost = false;                ///< its server
    int wake = -1;                    ///< eventfd; -1: not used
};
/// The process's one.
Launcher& launcher();

/// The handler to register for failure_codes().
void on_event(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
              size_t count, pmix_info_t* results, size_t results_count,
              pmix_event_notification_cbfunc_fn_t done, void* data);

/// The processes that have gone, in words. Call with the lock held.
std::string gone(const Launcher& all);

}  // namespace qpx::backend
