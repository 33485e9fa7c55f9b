// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "base/gate.h"
#include "wire/shm_peer.h"

namespace dingo {

/// A card's end of a shm segment in this process.
class LocalMember {
  public:
    virtual ~LocalMember() = default;
    /// Path of the card's socket in the segment's directory.
    [[nodiscard]] virtual const std::filesystem::path& path() const = 0;
    [[nodiscard]] virtual const ShmCard& card() const = 0;
    /// Another card of this process has joined the segment. Called with the gate held.
    virtual void meet(std::unique_ptr<ShmPeer> peer) = 0;
};

/// The shm segments of the cards that one thread serves. Two such cards on one segment are
/// connected by a wire without system calls, instead of by their sockets. Wires may be created and
/// destroyed by another thread than the one that serves them, but by one only.
class LocalSegments {
  public:
    /// `gate`: of the thread that serves the cards; null: that thread creates and destroys the
    /// wires.
    explicit LocalSegments(std::shared_ptr<Gate> gate = nullptr) : gate_(std::move(gate)) {}

    /// Held while two wires connect or disconnect.
    [[nodiscard]] Gate* gate() const { return gate_.get(); }

    void add(LocalMember& member) { members_.push_back(&member); }
    void remove(LocalMember& member) { std::erase(members_, &member); }

    /// Returns the members whose segment is in `directory`.
    [[nodiscard]] std::vector<LocalMember*> on(const std::filesystem::path& directory) const {
        std::vector<LocalMember*> out;
        std::copy_if(members_.begin(), members_.end(), std::back_inserter(out),
                     [&](const auto* m) { return m->path().parent_path() == directory; });
        return out;
    }

  private:
    std::shared_ptr<Gate> gate_;
    std::vector<LocalMember*> members_;
};

}  // namespace dingo
