// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/client_processes.h"

#include <csignal>

#include <cerrno>
#include <utility>

#include "base/errno_error.h"

namespace dingo::uverbs {
namespace {

bool is_gone(pid_t pid) {
    return pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH;
}

}  // namespace

void ClientProcesses::admit(const Message& message, std::shared_ptr<Account> account) {
    if (memories_.size() >= kMost) {
        std::erase_if(memories_, [](const auto& entry) { return is_gone(entry.second->pid()); });
        if (memories_.size() >= kMost) {
            throw ErrnoError(ENOMEM);
        }
    }
    // Messages are const as some are executed again, but HELLO never is.
    auto& fds = const_cast<Message&>(message).fds;
    ForeignFd memory = fds.empty() ? ForeignFd() : std::move(fds[0]);
    memories_[key_of(message)] =
        std::make_shared<ClientMemory>(message.pid, std::move(memory), std::move(account));
}

std::shared_ptr<ClientMemory> ClientProcesses::memory_of(const Message& message) const {
    const auto memory = memories_.find(key_of(message));
    if (memory == memories_.end()) {
        throw ErrnoError(EACCES);
    }
    return memory->second;
}

}  // namespace dingo::uverbs
