// SPDX-License-Identifier: BSD-2-Clause
//
// Memory of clients that two cards of one user's processes show each other, so that a payload need
// not go through their ring (docs/reference/shm-references.md). The owner hands a part of a file
// over in a slot, by the cards' socket; the other card maps it for reading and says so; from then
// on a frame in the ring names {slot, offset}.
//
//   owner  -> kOffer or kLend {slot, offset, length} + descriptor
//                                                           taker -> kTaken or kRefused {slot}
//   owner  -> kWithdraw {slot}                              taker -> kReturned {slot}
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/exported_memory.h"
#include "base/lent_memory.h"

namespace dingo {

inline constexpr std::size_t kShmSlots = 128;

/// What the cards tell each other; a datagram of its own.
struct ShmSlotMessage {
    /// kLend offers buffers whose content stays until the taker has released them.
    enum Kind : std::uint32_t { kOffer = 1, kTaken, kRefused, kWithdraw, kReturned, kLend };
    std::uint32_t kind = 0;
    std::uint32_t slot = 0;
    std::uint64_t offset = 0;  ///< of an offer: in the file, whole pages
    std::uint64_t length = 0;  ///< bytes of an offer: whole pages
};

/// Sends a message, with a descriptor when it is not -1. False: not now.
using SendSlotMessage = std::function<bool(const ShmSlotMessage&, int)>;

/// Where a payload is for the peer.
struct ShmReference {
    std::uint16_t slot = 0;
    std::uint64_t offset = 0;
    bool lent = false;  ///< not in the word: the taker knows it of the slot

    static constexpr unsigned kOffsetBits = 48;
    [[nodiscard]] std::uint64_t word() const { return std::uint64_t{slot} << kOffsetBits | offset; }
    static ShmReference of(std::uint64_t word) {
        return {static_cast<std::uint16_t>(word >> kOffsetBits),
                word & ((std::uint64_t{1} << kOffsetBits) - 1), false};
    }
};

/// The owner's side of one peer.
class ShmOffers {
  public:
    /// How the peer can reach `payload`. Empty: not, or not yet; the memory is then offered by and
    /// by.
    std::optional<ShmReference> find(std::span<const std::byte> payload,
                                     const SendSlotMessage& send);
    /// Takes back slots whose memory is gone. No frame in the ring may name it.
    void withdraw_gone(const SendSlotMessage& send);
    /// False: the peer may not say this now.
    [[nodiscard]] bool answer(const ShmSlotMessage& message);

  private:
    enum class State : std::uint8_t { kFree, kToOffer, kOffered, kTaken, kRefused, kWithdrawn };
    struct Slot {
        State state = State::kFree;
        bool told = false;  ///< of kWithdrawn: the peer knows
        ExportedPart part;
    };
    Slot* slot_of(std::span<const std::byte> payload);

    std::array<Slot, kShmSlots> slots_;
    Slot* last_ = nullptr;  ///< has what find() found last, while generation_ is the memory's
    std::uint64_t generation_ = 0;
    std::uint64_t swept_ = 0;  ///< generation of the last withdraw_gone()
};

/// The taker's side.
class ShmTakings {
  public:
    ~ShmTakings();
    ShmTakings() = default;
    ShmTakings(const ShmTakings&) = delete;
    ShmTakings& operator=(const ShmTakings&) = delete;

    /// An offer or a withdrawal. The answer, or nothing: the peer may not say this. `lost`: it had
    /// a descriptor, for which this process has no room.
    std::optional<ShmSlotMessage> take(const ShmSlotMessage& message, int fd, bool lost);
    /// Where `reference` is; kMaxTrain bytes from there can be read, those past its memory are 0.
    /// nullptr: it names nothing.
    [[nodiscard]] const std::byte* at(ShmReference reference) const;
    /// The memory of that slot, if it is lent.
    [[nodiscard]] const std::shared_ptr<LentMemory>& lent(ShmReference reference) const {
        return slots_[reference.slot % kShmSlots].lent;
    }

  private:
    struct Slot {
        std::byte* at = nullptr;
        std::size_t length = 0;
        std::shared_ptr<LentMemory> lent;  ///< unmaps it
    };
    void drop(Slot& slot);

    std::array<Slot, kShmSlots> slots_;
    std::uint64_t mapped_ = 0;  ///< bytes of all
};

}  // namespace dingo
