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
    /// A card of this process has come.
    virtual void meet(std::unique_ptr<ShmPeer> peer) = 0;
};

/// Which cards that one thread serves are on which shm segment: two of them are joined by a wire
/// that makes no system call, and not by their sockets. Neither it nor they are for several
/// threads.
class LocalSegments {
  public:
    void add(LocalMember& member) { members_.push_back(&member); }
    void remove(LocalMember& member) { std::erase(members_, &member); }

    /// Those whose segment is in `directory`.
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
