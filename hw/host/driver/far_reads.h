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

/// Bytes of far memory that are or were fetched.
struct FetchedPiece final : HeldMemory {
    enum class State : std::uint8_t { kFetching, kHere, kFailed };

    [[nodiscard]] bool is_pinned() const override { return bytes.is_pinned(); }

    std::uint64_t addr = 0;
    std::uint64_t length = 0;
    FarBuffer bytes;                     ///< the mover's while kFetching
    std::shared_ptr<void> room;          ///< share of the mover's room; null: only bytes wanted now
    std::shared_ptr<const Mover> mover;  ///< executes the fetch
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

    /// Starts to fetch a piece of which `least` bytes are needed now; without room the piece may be
    /// shortened to that. Returns false if it cannot be fetched now.
    using Fetch =
        std::function<bool(const std::shared_ptr<FetchedPiece>& piece, std::uint64_t least)>;

    /// As FarMemory::read(); `fetch` fetches what is missing.
    FarMemory::Access read(std::uint64_t message, std::uint64_t addr, std::span<std::byte> dst,
                           std::uint64_t ahead, const Fetch& fetch);
    /// Sets `where` to the bytes that read() would copy, if they are in one piece. Returns false if
    /// read() must be called.
    bool refer(std::uint64_t message, std::uint64_t addr, std::size_t bytes, std::uint64_t ahead,
               Elsewhere& where, const Fetch& fetch);
    /// As FarMemory::prefetch(); for a long message only the first piece is fetched.
    bool prefetch(std::uint64_t message, std::uint64_t addr, std::uint64_t bytes,
                  const Fetch& fetch);
    [[nodiscard]] bool is_fetching() const;
    /// Fails the fetches in progress for which `which` returns true: their data will not arrive.
    void fail(const std::function<bool(const FetchedPiece& piece)>& which);

  private:
    /// Pieces of a message that has not begun.
    struct Coming {
        std::uint64_t message = 0;
        std::vector<std::shared_ptr<FetchedPiece>> pieces;
    };

    /// Returns nullptr if no piece contains the address.
    const std::shared_ptr<FetchedPiece>* find(std::uint64_t addr);
    void begin(std::uint64_t message);
    /// Removes the oldest future message and returns its pieces.
    std::vector<std::shared_ptr<FetchedPiece>> take_coming();
    /// Fetches the next pieces of [at, all).
    void fetch_ahead(std::uint64_t at, std::uint64_t all, const Fetch& fetch);
    /// Returns a piece that begins at `addr`, or nullptr if it cannot be fetched now.
    const std::shared_ptr<FetchedPiece>* start(std::uint64_t addr, std::uint64_t ahead,
                                               std::uint64_t least, const Fetch& fetch);
    /// Drops pieces that were sent; a retransmission fetches them again. Small pieces stay, as a
    /// packet may need many.
    void drop_used();

    std::uint64_t message_ = 0;
    std::deque<std::shared_ptr<FetchedPiece>> pieces_;  ///< oldest first
    std::uint64_t bytes_ = 0;
    std::deque<Coming> coming_;  ///< in their order
    std::uint64_t coming_bytes_ = 0;
};

}  // namespace dingo::uverbs
