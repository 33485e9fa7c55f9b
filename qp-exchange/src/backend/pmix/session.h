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
    /// Until all processes of the job have called it; their values are here then.
    void fence(bool collect, std::chrono::milliseconds timeout, const std::string& what);
    /// Of another process, after fence(). Empty: it has put no such value.
    std::optional<std::vector<std::byte>> value_of(uint32_t rank, const std::string& key);

    /// Values that belong to no process. @return false: the key exists
    bool publish(const std::string& key, std::span<const std::byte> value);
    std::optional<std::vector<std::byte>> lookup(const std::string& key);
    bool unpublish(const std::string& key);

    /// Processes that have failed since the last call.
    struct Failure {
        uint32_t rank = 0;
        std::string reason;
    };
    std::vector<Failure> take_failures();
    /// Readable when there are failures.
    int fd() const { return wake_.get(); }

  private:
    PmixSession();
    void watch_failures();

    pmix_proc_t process_{};
    uint32_t size_ = 0;
    bool empty_fence_holds_ = true;
    net::Fd wake_;
};

}  // namespace qpx::backend
