// SPDX-License-Identifier: BSD-2-Clause
//
// The processes that use one descriptor (of uverbs or rdma_cm): it may be inherited and sent, and
// memory that a request registers is that of the process that makes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "host/driver/client_memory.h"
#include "host/uverbs/message.h"

namespace dingo::uverbs {

class ClientProcesses {
  public:
    static constexpr std::size_t kMost = 256;  ///< alive at the same time

    /// True: a HELLO with what it may have.
    static bool is_hello(const Message& message) {
        return message.fds.size() <= 1 && message.payload.empty();
    }
    /// Tells the processes apart. A process in a PID namespace that we do not see is known by the
    /// number that it claims; it can deceive only processes that share its descriptor.
    static std::int64_t key_of(const Message& message) {
        return message.pid > 0 ? message.pid : -std::int64_t{message.header.pid};
    }

    /// Takes the descriptor of a HELLO, if it brings one. Throws ErrnoError: ENOMEM when kMost are
    /// there, EINVAL when the descriptor is not of a process's memory.
    /// What is mapped of the process is charged to `account`.
    void admit(const Message& message, std::shared_ptr<Account> account = nullptr);
    /// Throws ErrnoError(EACCES) when the sender never said HELLO.
    [[nodiscard]] std::shared_ptr<ClientMemory> memory_of(const Message& message) const;
    [[nodiscard]] bool contains(std::int64_t key) const { return memories_.contains(key); }

  private:
    std::map<std::int64_t, std::shared_ptr<ClientMemory>> memories_;
};

}  // namespace dingo::uverbs
