// SPDX-License-Identifier: BSD-2-Clause
//
// The memory of a client process: copy_from_user and copy_to_user of a kernel-less card, and the
// slow path to memory regions that cannot be shared.
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
    /// `mem` is the client's own descriptor of its /proc/self/mem, open for reading and writing:
    /// it needs no ptrace permission of ours, so it works under Yama, in containers and for other
    /// users. Throws ErrnoError(EINVAL) when it is something else (fstat, fcntl and /proc checks).
    /// pid 0: a process that we cannot name, as it is in a PID namespace we do not see.
    /// With `files` a memfd of up to 1 MiB that is sealed against shrinking and growing will do,
    /// too: addresses are offsets in it. The descriptor, and what is mapped of the process, are
    /// charged to `account`; nullptr: to nobody. EMFILE when that has its share.
    ClientMemory(pid_t pid, ForeignFd mem, bool files = false,
                 std::shared_ptr<Account> account = nullptr);
    ~ClientMemory();
    ClientMemory(const ClientMemory&) = delete;
    ClientMemory& operator=(const ClientMemory&) = delete;

    /// False: the range is not mapped there, or the process is gone.
    bool read(std::uint64_t va, std::span<std::byte> dst);
    bool write(std::uint64_t va, std::span<const std::byte> src);

    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] const std::shared_ptr<Account>& account() const { return account_; }

  private:
    pid_t pid_;  ///< what the client says; the memory is always the descriptor's
    std::shared_ptr<Account> account_;
    Charge descriptor_;
    [[nodiscard]] std::span<std::byte> in_file(std::uint64_t va, std::size_t size) const;

    UniqueFd mem_;               ///< of procfs, so that close() does not block
    Charge mapping_;             ///< for the mapping of the file
    std::span<std::byte> file_;  ///< instead of it
};

}  // namespace dingo::uverbs
