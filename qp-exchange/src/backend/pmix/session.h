// SPDX-License-Identifier: BSD-2-Clause
// The process's connection to its launcher's PMIx server, shared by all groups of the process.
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
    /// The process's one. @throws Error Refused: no launcher with PMIx has started this process
    static std::shared_ptr<PmixSession> get();
    ~PmixSession();
    PmixSession(const PmixSession&) = delete;
    PmixSession& operator=(const PmixSession&) = delete;

    uint32_t rank() const { return process_.rank; }
    uint32_t size() const { return size_; }

    /// A value of this process, for the others after fence().
    void put(const std::string& key, std::span<const std::byte> value);
    /// Until all processes of the job have called it, or the launcher ends it without those that
    /// are gone (who_is_gone()); their values are here then. `call` says which call of which group
    /// it is and what it was given: one that has timed out goes on at the launcher, and only the
    /// same call can go on with it here.
    /// @throws Error Timeout; PeerGone: a process has failed and the launcher does not end it
    void fence(bool collect, std::chrono::milliseconds timeout, const std::string& what,
               const std::string& call);
    /// Whether this call goes on with one that has timed out: its values have been put.
    /// @throws Error Argument: another one has
    bool goes_on(const std::string& call) const;
    /// The processes that have failed, in words; empty: none.
    std::string who_is_gone() const;
    /// Value that another process has put, after fence(). Empty: it has put no such value.
    std::optional<std::vector<std::byte>> value_of(uint32_t rank, const std::string& key);

    /// Values that belong to no process. @return false: the key exists
    bool publish(const std::string& key, std::span<const std::byte> value);
    std::optional<std::vector<std::byte>> lookup(const std::string& key);
    bool unpublish(const std::string& key);

    /// Processes that have failed, in the order of news, but for the first `known`.
    std::vector<PmixFailure> failures(size_t known) const;
    /// Readable when there may be more failures.
    int fd() const { return wake_.get(); }

    /// A fence that the launcher has. Changed under a lock of the session's.
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
