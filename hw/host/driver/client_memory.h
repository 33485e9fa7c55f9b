// SPDX-License-Identifier: BSD-2-Clause
//
// The memory of a client process: the slow path to memory regions that cannot be shared.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>

#include "base/foreign_fd.h"
#include "base/quota.h"

namespace dingo::uverbs {

class ClientMemory {
  public:
    /// `mem` is the client's descriptor of its own /proc/self/mem, open for reading and writing. It
    /// needs no ptrace permission of ours, so it works under Yama, in containers and for other
    /// users. Without it no memory is accessible. `pid` is 0 for a process in a PID namespace that
    /// is not visible here. The descriptor and mappings of the process are charged to `account`, if
    /// it is not null. Throws ErrnoError: EINVAL if `mem` is something else (checked by fstat,
    /// fcntl and /proc), EMFILE if the account's share is used up.
    ClientMemory(pid_t pid, ForeignFd mem, std::shared_ptr<Account> account = nullptr);
    ClientMemory(const ClientMemory&) = delete;
    ClientMemory& operator=(const ClientMemory&) = delete;

    /// These wait for page faults of the client, so only the client's own threads call them (far
    /// memory), or the data thread for an engine without a port for far memory. They return false
    /// if the range is not mapped or the process has exited.
    bool read(std::uint64_t va, std::span<std::byte> dst);
    bool write(std::uint64_t va, std::span<const std::byte> src);

    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] const std::shared_ptr<Account>& account() const { return account_; }

  private:
    pid_t pid_;  ///< what the client says; the memory is always the descriptor's
    std::shared_ptr<Account> account_;
    Charge descriptor_;
    UniqueFd mem_;  ///< a procfs descriptor, so close() does not block
};

}  // namespace dingo::uverbs
