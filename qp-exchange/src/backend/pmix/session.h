// SPDX-License-Identifier: BSD-2-Clause
// The process's connection to the launcher's PMIx server, shared by all its groups.
#pragma once
#include <pmix.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/pmix/failures.h"
#include "net/socket.h"
#include "qpx/group.h"

namespace qpx::backend {

class PmixSession {
  public:
    /// Returns the shared session. @throws Error Refused: not started by a launcher with PMIx
    static std::shared_ptr<PmixSession> get();
    ~PmixSession();
    PmixSession(const PmixSession&) = delete;
    PmixSession& operator=(const PmixSession&) = delete;

    uint32_t rank() const { return process_.rank; }
    uint32_t size() const { return size_; }

    /// Sets a value of this process, which the others can read after fence().
    void put(const std::string& key, std::span<const std::byte> value);
    /// Waits until all processes of the job have called it, or the launcher ends the fence without
    /// those that failed (who_is_gone()); their values can be read then. `call` identifies the
    /// call, its group and arguments: a fence that timed out continues at the launcher, and only
    /// the same call can resume it. @throws Error Timeout; PeerGone: a process has failed and the
    /// launcher does not end the fence
    void fence(bool collect, std::chrono::milliseconds timeout, const std::string& what,
               const std::string& call);
    /// Returns true if this call resumes one that timed out: its values have been put already.
    /// @throws Error Argument: another call has timed out
    bool goes_on(const std::string& call) const;
    /// Describes the failed processes, for messages; empty if there are none.
    std::string who_is_gone() const;
    /// Returns a value that another process has put, after fence(); nullopt if there is none.
    std::optional<std::vector<std::byte>> value_of(uint32_t rank, const std::string& key);

    /// Publishes a value that belongs to no process. @return false if the key exists
    bool publish(const std::string& key, std::span<const std::byte> value);
    std::optional<std::vector<std::byte>> lookup(const std::string& key);
    bool unpublish(const std::string& key);

    /// Returns failed processes in order of arrival, without the first `known`.
    std::vector<PmixFailure> failures(size_t known) const;
    /// Readable if there may be more failures.
    int fd() const { return wake_.get(); }

    /// A fence in progress at the launcher. Protected by a lock of the session.
    struct Fence {
        bool done = false;
        pmix_status_t status = PMIX_SUCCESS;
    };

  private:
    PmixSession();
    void watch_failures();
    std::shared_ptr<Fence> start_fence(bool collect);

    pmix_proc_t process_{};
    uint32_t size_ = 0;
    bool empty_fence_holds_ = true;
    bool fences_are_over_ =
        false;               // a fence was given up, because a rank that it waits for has failed
    bool left_out_ = false;  // the launcher has ended a fence without a failed process
    std::shared_ptr<Fence> unfinished_;
    std::string unfinished_call_;
    net::Fd wake_;
};

}  // namespace qpx::backend
