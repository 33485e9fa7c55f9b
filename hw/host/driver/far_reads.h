// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "dingo/far_memory.h"
#include "dingo/held_memory.h"
#include "host/driver/far_buffer.h"

namespace dingo::uverbs {

class Mover;

/// Bytes of far memory that are fetched or have been.
struct FetchedPiece final : HeldMemory {
    enum class State : std::uint8_t { kFetching, kHere, kFailed };

    [[nodiscard]] bool is_pinned() const override { return bytes.is_pinned(); }

    std::uint64_t addr = 0;
    std::uint64_t length = 0;
    FarBuffer bytes;             ///< the mover's while kFetching
    std::shared_ptr<void> room;  ///< what it takes of the mover's; null: it has only what is needed
    std::shared_ptr<const Mover> mover;  ///< fetches it
    bool used = false;                   ///< its last byte was read
    std::atomic<State> state = State::kFetching;
};

/// Data that one stream has fetched for its present message, and for some later ones. Used by the
/// engine's thread only.
class FarReads {
  public:
    static constexpr std::uint64_t kFirst = 128 << 10;  ///< bytes of a message's first piece
    static constexpr std::uint64_t kPiece = 256 << 10;
    static constexpr unsigned kAhead = 2;  ///< pieces
    static constexpr std::size_t kMostPieces = 64;
    static constexpr std::uint64_t kMostBytes = 8 << 20;
    static constexpr std::size_t kMostComing = 16;  ///< messages
    static constexpr std::uint64_t kMostComingBytes = 512 << 10;
    static constexpr std::uint64_t kPacket = 4 << 10;
    static constexpr std::uint64_t kMostWithoutRoom = 4 * kPacket;

    /// Starts to fetch a piece, of which `least` bytes are wanted now: when there is no room it may
    /// become that short. false: not now.
    using Fetch =
        std::function<bool(const std::shared_ptr<FetchedPiece>& piece, std::uint64_t least)>;

    /// As FarMemory::read(); `fetch` fetches what is missing.
    FarMemory::Access read(std::uint64_t message, std::uint64_t addr, std::span<std::byte> dst,
                           std::uint64_t ahead, const Fetch& fetch);
    /// Where bytes are that read() would copy, all of one piece. False: read() is to be asked.
    bool refer(std::uint64_t message, std::uint64_t addr, std::size_t bytes, std::uint64_t ahead,
               Elsewhere& where, const Fetch& fetch);
    /// As FarMemory::prefetch(). Of a long message it fetches the first piece only.
    bool prefetch(std::uint64_t message, std::uint64_t addr, std::uint64_t bytes,
                  const Fetch& fetch);
    [[nodiscard]] bool is_fetching() const;
    /// Ends the fetches under way for which `which` is true: their data will not come.
    void fail(const std::function<bool(const FetchedPiece& piece)>& which);

  private:
    /// Pieces of a message that has not begun.
    struct Coming {
        std::uint64_t message = 0;
        std::vector<std::shared_ptr<FetchedPiece>> pieces;
    };

    /// nullptr: no piece has it.
    const std::shared_ptr<FetchedPiece>* find(std::uint64_t addr);
    void begin(std::uint64_t message);
    /// The oldest message that comes is not one any more.
    std::vector<std::shared_ptr<FetchedPiece>> take_coming();
    /// Fetches the next pieces of [at, all).
    void fetch_ahead(std::uint64_t at, std::uint64_t all, const Fetch& fetch);
    /// A piece that begins at `addr`. nullptr: it cannot be fetched now.
    const std::shared_ptr<FetchedPiece>* start(std::uint64_t addr, std::uint64_t ahead,
                                               std::uint64_t least, const Fetch& fetch);
    /// A retransmission fetches again what was sent. Small pieces stay: a packet may have many.
    void drop_used();

    std::uint64_t message_ = 0;
    std::deque<std::shared_ptr<FetchedPiece>> pieces_;  ///< oldest first
    std::uint64_t bytes_ = 0;
    std::deque<Coming> coming_;  ///< in their order
    std::uint64_t coming_bytes_ = 0;
};

}  // namespace dingo::uverbs
