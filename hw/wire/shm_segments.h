// SPDX-License-Identifier: BSD-2-Clause
//
// Memory of clients that two cards of one user's processes share, so that a payload need not be
// copied through their ring (docs/reference/shm-references.md). The owner offers a part of a file
// for a slot, through the cards' socket; the taker maps it for reading and confirms; from then on a
// frame in the ring refers to it by {slot, offset}.
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

/// A message between the cards, one datagram.
struct ShmSlotMessage {
    /// kLend offers buffers whose content stays unchanged until the taker has released them.
    enum Kind : std::uint32_t { kOffer = 1, kTaken, kRefused, kWithdraw, kReturned, kLend };
    std::uint32_t kind = 0;
    std::uint32_t slot = 0;
    std::uint64_t offset = 0;  ///< of an offer: position in the file, whole pages
    std::uint64_t length = 0;  ///< of an offer: bytes, whole pages
};

/// Sends a message, with a descriptor unless that is -1. Returns false if it cannot be sent now.
using SendSlotMessage = std::function<bool(const ShmSlotMessage&, int)>;

/// Location of a payload for the peer.
struct ShmReference {
    std::uint16_t slot = 0;
    std::uint64_t offset = 0;
    bool lent = false;  ///< not part of the word: a property of the slot

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
    /// Returns how the peer can reach `payload`. Empty if it cannot, or not yet; in that case the
    /// memory is offered if a slot is free.
    std::optional<ShmReference> find(std::span<const std::byte> payload,
                                     const SendSlotMessage& send);
    /// Withdraws slots whose memory was removed. No frame in the ring may refer to it.
    void withdraw_gone(const SendSlotMessage& send);
    /// Handles an answer. Returns false if the peer violates the protocol.
    [[nodiscard]] bool answer(const ShmSlotMessage& message);

  private:
    enum class State : std::uint8_t { kFree, kToOffer, kOffered, kTaken, kRefused, kWithdrawn };
    struct Slot {
        State state = State::kFree;
        bool told = false;  ///< kWithdrawn only: the peer was told
        ExportedPart part;
    };
    Slot* slot_of(std::span<const std::byte> payload);

    std::array<Slot, kShmSlots> slots_;
    Slot* last_ = nullptr;  ///< the last result of slot_of(), valid while generation_ is current
    std::uint64_t generation_ = 0;
    std::uint64_t swept_ = 0;  ///< generation() at the last complete withdraw_gone()
};

/// The taker's side.
class ShmTakings {
  public:
    ~ShmTakings();
    ShmTakings() = default;
    ShmTakings(const ShmTakings&) = delete;
    ShmTakings& operator=(const ShmTakings&) = delete;

    /// Handles an offer or a withdrawal and returns the answer; nullopt if the peer violates the
    /// protocol. `lost`: the message's descriptor was lost because this process has no room for it.
    std::optional<ShmSlotMessage> take(const ShmSlotMessage& message, int fd, bool lost);
    /// Returns the address of `reference`, from which kMaxTrain bytes are readable; those beyond
    /// its memory are 0. nullptr if it is invalid.
    [[nodiscard]] const std::byte* at(ShmReference reference) const;
    /// The lent memory of that slot; null if it is not lent.
    [[nodiscard]] const std::shared_ptr<LentMemory>& lent(ShmReference reference) const {
        return slots_[reference.slot % kShmSlots].lent;
    }

  private:
    struct Slot {
        std::byte* at = nullptr;
        std::size_t length = 0;
        std::shared_ptr<LentMemory> lent;  ///< owns the mapping if it is lent
    };
    void drop(Slot& slot);

    std::array<Slot, kShmSlots> slots_;
    std::uint64_t mapped_ = 0;  ///< total bytes mapped
};

}  // namespace dingo
