// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "wire/shm_peer.h"

namespace dingo {

/// An end of a shm segment in this process.
class LocalMember {
  public:
    virtual ~LocalMember() = default;
    /// Its socket in the segment's directory.
    [[nodiscard]] virtual const std::filesystem::path& path() const = 0;
    [[nodiscard]] virtual std::uint64_t mac() const = 0;
    /// Another card of this process has joined the segment.
    virtual void meet(std::unique_ptr<ShmPeer> peer) = 0;
};

/// The shm segments of the cards that one thread serves. Two such cards on one segment are joined
/// by a wire that needs no system call, instead of by their sockets. Not thread-safe.
class LocalSegments {
  public:
    void add(LocalMember& member) { members_.push_back(&member); }
    void remove(LocalMember& member) { std::erase(members_, &member); }

    /// The members whose segment is in `directory`.
    [[nodiscard]] std::vector<LocalMember*> on(const std::filesystem::path& directory) const {
        std::vector<LocalMember*> out;
        std::copy_if(members_.begin(), members_.end(), std::back_inserter(out),
                     [&](const auto* m) { return m->path().parent_path() == directory; });
        return out;
    }

  private:
    std::vector<LocalMember*> members_;
};

}  // namespace dingo
