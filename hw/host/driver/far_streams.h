// SPDX-License-Identifier: BSD-2-Clause
//
// FarMemory of a kernel-less card: streams of accesses, each in its order, by the movers of the
// places where they go.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.h"
#include "dingo/engine.h"
#include "host/driver/bus_map.h"
#include "host/driver/far_reads.h"
#include "host/driver/mover.h"

namespace dingo::uverbs {

class FarStreams final : public FarMemory {
  public:
    /// Called by the engine's thread with the gate held, except for fd(). Throws ErrnoError.
    explicit FarStreams(BusMap& bus);
    ~FarStreams() override;
    FarStreams(const FarStreams&) = delete;
    FarStreams& operator=(const FarStreams&) = delete;

    /// An eventfd that becomes readable when moved() would return true, for a sleeping card.
    [[nodiscard]] int fd() const { return wake_->get(); }
    /// Clears the wake-up.
    void woke();

    /// Returns true if an access has not been executed yet.
    [[nodiscard]] bool is_waiting() const;

    bool is_far(std::uint64_t addr, std::uint64_t len) override { return bus_.is_far(addr, len); }
    Access read(Stream stream, std::uint64_t message, std::uint64_t addr, std::span<std::byte> dst,
                std::uint64_t ahead) override;
    bool prefetch(Stream stream, std::uint64_t message, std::uint64_t addr,
                  std::uint64_t bytes) override;
    bool refer(Stream stream, std::uint64_t message, std::uint64_t addr, std::size_t bytes,
               std::uint64_t ahead, Elsewhere& where) override;
    bool lends(std::uint64_t addr) override { return bus_.lends(addr); }
    void begin_message(Stream stream) override { ++state(stream).message; }
    Access write(Stream stream, std::uint64_t addr, std::span<const std::byte> src) override {
        return write_held(stream, addr, src, nullptr);
    }
    Access write_held(Stream stream, std::uint64_t addr, std::span<const std::byte> src,
                      const Held& held) override;
    bool has_room(Stream stream) override;
    Access atomic(Stream stream, std::uint64_t addr, const Atomic& request) override;
    std::uint64_t atomic_result(Stream stream) override;
    Progress progress(Stream stream) override;
    bool moved() override;
    bool wait() override;
    void end(Stream stream) override;

  private:
    struct Shared;  ///< with the movers
    struct Made;
    /// An access that waits for earlier ones of its stream, which another mover executes.
    struct HeldAccess {
        BusMap::Place place;
        std::uint64_t addr = 0;
        FarAccess access;
        RoomShare room;  ///< of the mover for which it waits
    };
    struct State {
        std::shared_ptr<Made> made;
        /// A write that may still grow and was not given to its mover yet.
        std::optional<HeldAccess> open{};
        std::uint64_t open_behind = 0;  ///< number of accesses given to its mover before
        bool is_listed = false;         ///< in open_
        std::uint32_t message = 0;      ///< number of the message whose data is written
        std::uint64_t given = 0;        ///< given to movers or executed at once
        std::shared_ptr<Mover> mover;   ///< mover of the newest access; null: none
        std::weak_ptr<Mover> refused;   ///< mover without room for the last access
        std::deque<HeldAccess> held;
        std::size_t held_bytes = 0;
        FarReads reads;
    };

    State& state(Stream stream);
    /// Starts fetching a piece; `error`: it cannot be fetched.
    bool fetch(const std::shared_ptr<FetchedPiece>& piece, std::uint64_t least, bool& error);
    /// Returns true if all accesses given have completed.
    static bool is_idle(const State& s);
    /// Appends the write to the open one. Returns false if it does not belong to it or there is no
    /// room.
    static bool extend(State& s, const BusMap::Place& place, std::span<const std::byte> src,
                       const Held& held);
    /// Returns true if the write may wait for further ones, and there is room for it.
    [[nodiscard]] static bool may_open(const State& s, HeldAccess& write);
    static void fill_in(const State& s, HeldAccess& write);
    /// Gives the open write to its mover, or holds it.
    void flush(State& s);
    /// The same if its mover has started all earlier accesses. Returns false if the write may grow.
    bool flush_if_idle(State& s);
    /// flush_if_idle() for all streams that have an open write.
    void flush_idle();
    /// Gives an access to its mover or executes it at once. Returns false if that is not possible
    /// now.
    bool give(State& s, HeldAccess& held);
    /// A held access to near memory that has become far meanwhile is its mover's from now on.
    /// Returns how many bytes were copied.
    std::size_t follow(const State& s, HeldAccess& held);
    /// Gives or holds an access of `length` bytes.
    Access take(State& s, HeldAccess held, std::size_t length);

    BusMap& bus_;
    std::shared_ptr<UniqueFd> wake_;
    std::shared_ptr<Shared> shared_;
    std::unordered_map<Stream, State> streams_;
    std::vector<Stream> open_;     ///< streams that have or had an open write
    std::uint64_t seen_ = 0;       ///< accesses executed before the last read()
    Nanoseconds waited_ = 0;       ///< end of the last wait()
    Nanoseconds wait_credit_ = 0;  ///< how long the next one may take
    Nanoseconds looked_ = 0;       ///< time of moved()'s last check without an event
};

}  // namespace dingo::uverbs
