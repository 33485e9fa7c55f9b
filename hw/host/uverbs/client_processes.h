// SPDX-License-Identifier: BSD-2-Clause
//
// The processes that use one uverbs or rdma_cm descriptor. A descriptor may be inherited or sent,
// and a request registers memory of the process that makes it.
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
    static constexpr std::size_t kMost = 256;  ///< maximum number of live processes

    /// Returns true if a HELLO carries only what it may.
    static bool is_hello(const Message& message) {
        return message.fds.size() <= 1 && message.payload.empty();
    }
    /// Key of the sending process. A process in a PID namespace that is not visible here is
    /// identified by the PID that it claims: so a PID alone tells processes apart only among the
    /// users of one descriptor.
    static std::int64_t key_of(const Message& message) {
        return message.pid > 0 ? message.pid : -std::int64_t{message.header.pid};
    }

    /// Takes the descriptor of a HELLO, if there is one. Mappings of the process are charged to
    /// `account`. Throws ErrnoError: ENOMEM if there are kMost processes, EINVAL if the descriptor
    /// is not of a process's memory.
    void admit(const Message& message, std::shared_ptr<Account> account = nullptr);
    /// Throws ErrnoError(EACCES) if the sender has not sent HELLO.
    [[nodiscard]] std::shared_ptr<ClientMemory> memory_of(const Message& message) const;
    [[nodiscard]] bool contains(std::int64_t key) const { return memories_.contains(key); }

  private:
    std::map<std::int64_t, std::shared_ptr<ClientMemory>> memories_;
};

}  // namespace dingo::uverbs
