// SPDX-License-Identifier: BSD-2-Clause
//
// Payload in far memory (docs/reference/far-memory.md): a QP's reads, its writes in flight, and the
// replies and completions that must wait for them.
#pragma once

#include <deque>
#include <optional>
#include <unordered_set>
#include <vector>

#include "../memory_region.h"
#include "dingo/far_memory.h"
#include "far_state.h"
#include "frame_writer.h"
#include "scheduler.h"
#include "transport_state.h"

namespace dingo::model {

class FarWork {
  public:
    using Access = FarMemory::Access;

    FarWork(CardContext& card, MemoryTable& memory) : card_(card), memory_(memory) {}
    ~FarWork();
    FarWork(const FarWork&) = delete;
    FarWork& operator=(const FarWork&) = delete;

    /// As MemoryTable::read() and write() of the whole range, but returns kLater if far memory is
    /// not ready; the QP is scheduled again when something has moved. `message` identifies the
    /// message within this half; `ahead`: contiguous bytes of it from here, including `data`.
    Access read(QueuePair& qp, Half half, std::uint64_t message, const MemoryRange& range,
                std::span<std::byte> data, std::uint64_t ahead) {
        if (!memory_.is_far(range)) [[likely]]
            return memory_.read(range, 0, data) ? Access::kDone : Access::kError;
        return read_far(qp, half, message, range, data, ahead);
    }
    /// Makes the frame refer to the whole far range without a copy. kLater: the QP waits, as for
    /// data, because too much memory is held. nullopt: use read().
    std::optional<Access> refer(QueuePair& qp, Half half, std::uint64_t message,
                                const MemoryRange& range, std::uint64_t ahead, FrameWriter& frame);
    /// Prefetches the range for a later message. Returns true if it is being fetched, or is near.
    bool prefetch(QueuePair& qp, Half half, std::uint64_t message, const MemoryRange& range);
    /// `first`: the data begin a message.
    Access write(QueuePair& qp, Half half, bool first, const MemoryRange& range,
                 std::span<const std::byte> data) {
        if (!concerns(qp, half, range)) [[likely]]
            return memory_.write(range, 0, data) ? Access::kDone : Access::kError;
        return write_far(qp, half, first, range, data);
    }
    /// Returns true if an access to the range must use this port, because it is far or must not
    /// overtake a far access.
    [[nodiscard]] bool concerns(const QueuePair& qp, Half half, const MemoryRange& range) const {
        return memory_.is_far(range) || holds(qp, half);
    }
    /// Starts an atomic; answer_atomic() then assigns its response slot, see hold_atomic().
    Access atomic(QueuePair& qp, const MemoryRange& range, const FarMemory::Atomic& request);
    /// The atomic started last has its response in resource `slot`; `psn`: of its request.
    void hold_atomic(QueuePair& qp, std::uint32_t psn);

    /// Waits briefly for missing data of a QP that must send now. Returns false if none arrived.
    bool wait_for_data() { return port()->wait(); }

    /// Returns true if data of this half are in flight: its replies and completions must wait.
    [[nodiscard]] bool holds(const QueuePair& qp, Half half) const {
        const auto& far = qp.transport->far;
        return far != nullptr && far->half(half).holds();
    }
    /// Returns true if as many completions of this half wait as its queue has entries: nothing more
    /// is taken from the queue until some are written, which schedules the QP again.
    [[nodiscard]] bool is_full(const QueuePair& qp, Half half) const {
        const auto& far = qp.transport->far;
        return far != nullptr && far->half(half).completions >= most_completions(qp, half);
    }
    void hold_completion(QueuePair& qp, Half half, const dingo_cqe& entry);
    void hold_reply(QueuePair& qp, std::uint8_t syndrome, std::uint32_t psn);
    /// Number of accesses that the receiving half has started; later responses wait for them.
    [[nodiscard]] std::uint64_t begun(const QueuePair& qp) const {
        const auto& far = qp.transport->far;
        return far != nullptr ? far->half(Half::kReceive).posted : 0;
    }
    /// A response up to packet `psn`, with `msn` messages complete, was sent: later faults are
    /// reported for packets after it.
    void answered(QueuePair& qp, std::uint32_t psn, std::uint32_t msn);
    [[nodiscard]] bool is_done(const QueuePair& qp, std::uint64_t begun) const {
        const auto& far = qp.transport->far;
        return far == nullptr || far->half(Half::kReceive).done >= begun;
    }

    // --- for FarSettling
    /// Returns true if data that the QP requested would be accepted now.
    [[nodiscard]] bool has_room(const QueuePair& qp) const {
        return port()->has_room(stream(qp, Half::kSend));
    }
    [[nodiscard]] FarMemory* port() const { return card_.host.far_memory(); }
    /// Returns some of the waiting QPs, if something has moved since they were last checked.
    [[nodiscard]] std::vector<QueuePair*> take_moved();
    /// Returns true if more of them are to be checked.
    [[nodiscard]] bool more_moved() const { return to_look_at_ != 0; }
    /// Checks the QP when something has moved.
    void wait(QueuePair& qp);
    [[nodiscard]] bool any_waits() const { return !waiting_.empty(); }
    [[nodiscard]] static FarMemory::Stream stream(const QueuePair& qp, Half half) {
        return qp.qpn << 1 | static_cast<std::uint32_t>(half);
    }

    void forget(QueuePair& qp);

  private:
    Access read_far(QueuePair& qp, Half half, std::uint64_t message, const MemoryRange& range,
                    std::span<std::byte> data, std::uint64_t ahead);
    Access write_far(QueuePair& qp, Half half, bool first, const MemoryRange& range,
                     std::span<const std::byte> data);
    /// Schedules the QP when an access ends or the wire releases memory.
    void wait_for_turn(QueuePair& qp);
    FarHalf& touch(QueuePair& qp, Half half);
    [[nodiscard]] static std::uint32_t most_completions(const QueuePair& qp, Half half);
    /// Creates an effect of this kind that waits for all accesses given to the port so far, and
    /// makes the QP wait.
    FarEffect effect_of(QueuePair& qp, Half half, FarEffect::Kind kind);
    void posted(QueuePair& qp, Half half);
    /// Handles kError and kLater of the port.
    Access refused(QueuePair& qp, Half half, Access access);

    CardContext& card_;
    MemoryTable& memory_;
    /// QPs checked in one run, so that other QPs of the card do not wait for all of them.
    static constexpr std::size_t kLooks = 64;
    /// Number of effects of a half from which on a reply replaces the one before it.
    static constexpr std::size_t kMostEffects = 128;

    std::deque<QueuePair*> waiting_;
    std::size_t to_look_at_ = 0;                 ///< the first of `waiting_` are to be checked
    std::unordered_set<std::uint32_t> streams_;  ///< streams in use
};

}  // namespace dingo::model
