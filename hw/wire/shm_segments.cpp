// SPDX-License-Identifier: BSD-2-Clause
#include "wire/shm_segments.h"

#include <sys/mman.h>

#include "base/elsewhere.h"
#include "base/shared_memory.h"
#include "wire/wire.h"

namespace dingo {
namespace {

constexpr std::uint64_t kPage = 4096;
/// Zeros after each part, so that a frame with a wrong payload length is never read beyond it.
constexpr std::size_t kGuard = (kMaxTrain + kPage - 1) / kPage * kPage;
constexpr std::uint64_t kMostMapped = std::uint64_t{1} << 44;

/// Returns nullptr on failure.
std::byte* map_for_reading(int fd, std::uint64_t offset, std::uint64_t length) {
    void* const room = ::mmap(nullptr, length + kGuard, PROT_READ,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return nullptr;
    if (::mmap(room, length, PROT_READ, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd,
               static_cast<off_t>(offset)) == MAP_FAILED) {
        ::munmap(room, length + kGuard);
        return nullptr;
    }
    return static_cast<std::byte*>(room);
}

}  // namespace

ShmOffers::Slot* ShmOffers::slot_of(std::span<const std::byte> payload) {
    const std::uint64_t generation = exported_memory().generation();
    if (generation == generation_ && last_ != nullptr) {
        const std::span<const std::byte> known = last_->part.bytes;
        const auto before = static_cast<std::uint64_t>(payload.data() - known.data());
        if (before <= known.size() && payload.size() <= known.size() - before)
            return last_;
    }
    generation_ = generation;
    last_ = nullptr;
    const auto part = exported_memory().find(payload);
    if (!part)
        return nullptr;
    Slot* free = nullptr;
    for (Slot& slot : slots_) {
        if (slot.state == State::kFree)
            free = free != nullptr ? free : &slot;
        else if (slot.state != State::kWithdrawn && slot.part.id == part->id)
            return last_ = &slot;
    }
    if (free != nullptr)
        *free = {State::kToOffer, false, *part};
    return last_ = free;
}

std::optional<ShmReference> ShmOffers::find(std::span<const std::byte> payload,
                                            const SendSlotMessage& send) {
    Slot* const slot = slot_of(payload);
    if (slot == nullptr)
        return std::nullopt;
    const auto number = static_cast<std::uint16_t>(slot - slots_.data());
    if (slot->state == State::kTaken)
        return ShmReference{number,
                            static_cast<std::uint64_t>(payload.data() - slot->part.bytes.data()),
                            slot->part.lent};
    const auto kind = slot->part.lent ? ShmSlotMessage::kLend : ShmSlotMessage::kOffer;
    if (slot->state == State::kToOffer &&
        send({kind, number, slot->part.offset, slot->part.bytes.size()}, slot->part.file->get())) {
        slot->state = State::kOffered;
        slot->part.file.reset();  // a peer that does not answer must not pin our descriptors
    }
    return std::nullopt;
}

void ShmOffers::withdraw_gone(const SendSlotMessage& send) {
    const std::uint64_t generation = exported_memory().generation();
    if (swept_ == generation)
        return;
    bool all_told = true;
    for (Slot& slot : slots_) {
        // A pending offer is withdrawn after the peer has answered.
        if (slot.state == State::kFree || slot.state == State::kOffered)
            continue;
        if (slot.state != State::kWithdrawn && exported_memory().has(slot.part.id))
            continue;
        const bool known = slot.state == State::kTaken || slot.state == State::kWithdrawn;
        slot.part = {};
        if (last_ == &slot)
            last_ = nullptr;
        if (!known) {
            slot = {};
            continue;
        }
        slot.state = State::kWithdrawn;
        const auto number = static_cast<std::uint32_t>(&slot - slots_.data());
        slot.told = slot.told || send({ShmSlotMessage::kWithdraw, number, 0, 0}, -1);
        all_told = all_told && slot.told;
    }
    if (all_told)
        swept_ = generation;
}

bool ShmOffers::answer(const ShmSlotMessage& message) {
    if (message.slot >= slots_.size())
        return false;
    Slot& slot = slots_[message.slot];
    if (message.kind == ShmSlotMessage::kReturned) {
        if (slot.state != State::kWithdrawn || !slot.told)
            return false;
        slot = {};
        return true;
    }
    if (slot.state != State::kOffered)
        return false;
    slot.state = message.kind == ShmSlotMessage::kTaken ? State::kTaken : State::kRefused;
    swept_ = 0;  // the memory may have been removed meanwhile
    return true;
}

ShmTakings::~ShmTakings() {
    for (Slot& slot : slots_)
        drop(slot);
}

void ShmTakings::drop(Slot& slot) {
    if (slot.at == nullptr)
        return;
    mapped_ -= slot.length;
    if (slot.lent != nullptr)
        lent_memories().remove(slot.lent);
    else
        unmap_elsewhere(slot.at, slot.length + kGuard);
    slot = {};
}

std::optional<ShmSlotMessage> ShmTakings::take(const ShmSlotMessage& message, int fd, bool lost) {
    if (message.slot >= slots_.size())
        return std::nullopt;
    Slot& slot = slots_[message.slot];
    if (message.kind == ShmSlotMessage::kWithdraw) {
        if (slot.at == nullptr)
            return std::nullopt;
        drop(slot);
        return ShmSlotMessage{ShmSlotMessage::kReturned, message.slot, 0, 0};
    }
    if (slot.at != nullptr || (fd < 0 && !lost) || message.length == 0 ||
        (message.offset | message.length) % kPage != 0)
        return std::nullopt;
    if (message.length <= kMostMapped - mapped_ &&
        memory_file_has(fd, message.offset, message.length))
        slot.at = map_for_reading(fd, message.offset, message.length);
    if (slot.at == nullptr)
        return ShmSlotMessage{ShmSlotMessage::kRefused, message.slot, 0, 0};
    slot.length = message.length;
    mapped_ += slot.length;
    if (message.kind == ShmSlotMessage::kLend) {
        slot.lent = std::make_shared<LentMemory>(slot.at, slot.length, slot.length + kGuard);
        lent_memories().add(slot.lent);
    }
    return ShmSlotMessage{ShmSlotMessage::kTaken, message.slot, 0, 0};
}

const std::byte* ShmTakings::at(ShmReference reference) const {
    if (reference.slot >= slots_.size())
        return nullptr;
    const Slot& slot = slots_[reference.slot];
    return slot.at != nullptr && reference.offset <= slot.length ? slot.at + reference.offset
                                                                 : nullptr;
}

}  // namespace dingo
