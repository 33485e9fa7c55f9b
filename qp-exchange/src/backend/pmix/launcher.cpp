// SPDX-License-Identifier: BSD-2-Clause
#include "backend/pmix/launcher.h"

#include <unistd.h>

#include <algorithm>
#include <span>
#include <utility>

namespace qpx::backend {

Launcher& launcher() {
    static Launcher one;
    return one;
}

void on_event(size_t, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[],
              size_t count, pmix_info_t*, size_t, pmix_event_notification_cbfunc_fn_t done,
              void* data) {
    {
        Launcher& all = launcher();
        const std::lock_guard lock(all.mutex);
        if (all.wake >= 0) {
            all.lost = all.lost || is_server_lost(status, source, all.nspace);
            for (auto& failure : failures_of(
                     status, source, std::span<const pmix_info_t>(info, count), all.nspace)) {
                const auto known = [&](const PmixFailure& f) { return f.rank == failure.rank; };
                if (std::none_of(all.failed.begin(), all.failed.end(), known)) {
                    all.failed.push_back(std::move(failure));
                }
            }
            const uint64_t one = 1;
            [[maybe_unused]] const ssize_t written = write(all.wake, &one, sizeof one);
            all.changed.notify_all();
        }
    }
    if (done) {
        done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
    }
}

std::string gone(const Launcher& all) {
    if (all.failed.empty()) {
        return all.lost ? "the launcher's PMIx server is gone"
                        : "a process of the job has ended; the launcher does not say which";
    }
    std::string text;
    for (size_t i = 0; i < all.failed.size() && i < 8; ++i) {
        text += (i ? ", rank " : "rank ") + std::to_string(all.failed[i].rank) + " has failed (" +
                all.failed[i].reason + ")";
    }
    return all.failed.size() > 8 ? text + " and " + std::to_string(all.failed.size() - 8) + " more"
                                 : text;
}

}  // namespace qpx::backend
