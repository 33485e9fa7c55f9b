// SPDX-License-Identifier: BSD-2-Clause
//
// Payload in far memory (docs/reference/far-memory.md): reads of a QP there, its writes that are
// not there yet, and the answers and completions that must wait for them.
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

    /// As MemoryTable::read() and write() of the whole range, but kLater when far memory makes it
    /// wait; the QP then gets a turn when something has moved. `message` tells messages of this
    /// half apart, `ahead` is how much of this one lies here, with data.size().
    Access read(QueuePair& qp, Half half, std::uint64_t message, const MemoryRange& range,
                std::span<std::byte> data, std::uint64_t ahead) {
        if (!memory_.is_far(range)) [[likely]]
            return memory_.read(range, 0, data) ? Access::kDone : Access::kError;
        return read_far(qp, half, message, range, data, ahead);
    }
    /// Lets the frame refer to the whole far range without a copy. kLater: so much memory is held
    /// that the QP waits, as for data. nullopt: only read() will do.
    std::optional<Access> refer(QueuePair& qp, Half half, std::uint64_t message,
                                const MemoryRange& range, std::uint64_t ahead, FrameWriter& frame);
    /// Has the range fetched for a message that comes. True: it is, or is near.
    bool prefetch(QueuePair& qp, Half half, std::uint64_t message, const MemoryRange& range);
    Access write(QueuePair& qp, Half half, const MemoryRange& range,
                 std::span<const std::byte> data) {
        if (!concerns(qp, half, range)) [[likely]]
            return memory_.write(range, 0, data) ? Access::kDone : Access::kError;
        return write_far(qp, half, range, data);
    }
    /// Whether an access to the range has to go through this port, as it is far or must not pass
    /// one that is.
    [[nodiscard]] bool concerns(const QueuePair& qp, Half half, const MemoryRange& range) const {
        return memory_.is_far(range) || holds(qp, half);
    }
    /// Starts the atomic whose response is in `slot` of the responder's resources.
    Access atomic(QueuePair& qp, const MemoryRange& range, const FarMemory::Atomic& request);
    /// The resource of the atomic that was started last, and the PSN of its request.
    void hold_atomic(QueuePair& qp, std::uint32_t slot, std::uint32_t psn);

    /// A QP has nothing to send as data are missing: waits a little for them. False: they did not
    /// come.
    bool wait_for_data() { return port()->wait(); }

    /// Some data of this half is not in place yet: its answers and completions wait.
    [[nodiscard]] bool holds(const QueuePair& qp, Half half) const {
        const auto& far = qp.transport->far;
        return far != nullptr && far->half(half).holds();
    }
    /// As many completions of this half wait as its queue has entries: nothing more is taken from
    /// the queue until some are told, and the QP gets a turn then.
    [[nodiscard]] bool is_full(const QueuePair& qp, Half half) const {
        const auto& far = qp.transport->far;
        return far != nullptr && far->half(half).completions >= most_completions(qp, half);
    }
    void hold_completion(QueuePair& qp, Half half, const dingo_cqe& entry);
    void hold_reply(QueuePair& qp, std::uint8_t syndrome, std::uint32_t psn);
    /// Accesses that the receiving half has begun: a response that comes after them waits for them.
    [[nodiscard]] std::uint64_t begun(const QueuePair& qp) const {
        const auto& far = qp.transport->far;
        return far != nullptr ? far->half(Half::kReceive).posted : 0;
    }
    /// A response up to packet `psn` has left, with `msn` messages complete: what fails from now on
    /// comes behind it.
    void answered(QueuePair& qp, std::uint32_t psn, std::uint32_t msn);
    [[nodiscard]] bool is_done(const QueuePair& qp, std::uint64_t begun) const {
        const auto& far = qp.transport->far;
        return far == nullptr || far->half(Half::kReceive).done >= begun;
    }

    // --- for FarSettling
    /// Data that the QP asked for would be taken now.
    [[nodiscard]] bool has_room(const QueuePair& qp) const {
        return port()->has_room(stream(qp, Half::kSend));
    }
    [[nodiscard]] FarMemory* port() const { return card_.host.far_memory(); }
    /// Some of the QPs that wait, if something has moved since they were looked at.
    [[nodiscard]] std::vector<QueuePair*> take_moved();
    /// There are more of them.
    [[nodiscard]] bool more_moved() const { return to_look_at_ != 0; }
    /// Looks at the QP when something has moved.
    void wait(QueuePair& qp);
    [[nodiscard]] bool any_waits() const { return !waiting_.empty(); }
    [[nodiscard]] static FarMemory::Stream stream(const QueuePair& qp, Half half) {
        return qp.qpn << 1 | static_cast<std::uint32_t>(half);
    }

    void forget(QueuePair& qp);

  private:
    Access read_far(QueuePair& qp, Half half, std::uint64_t message, const MemoryRange& range,
                    std::span<std::byte> data, std::uint64_t ahead);
    Access write_far(QueuePair& qp, Half half, const MemoryRange& range,
                     std::span<const std::byte> data);
    /// Queues the QP for a turn when an access ends, or when the wire releases memory.
    void wait_for_turn(QueuePair& qp);
    FarHalf& touch(QueuePair& qp, Half half);
    [[nodiscard]] static std::uint32_t most_completions(const QueuePair& qp, Half half);
    /// Makes an effect of this kind that waits for all accesses given to the port so far. The QP
    /// waits, too.
    FarEffect effect_of(QueuePair& qp, Half half, FarEffect::Kind kind);
    void posted(QueuePair& qp, Half half);
    /// The port has said kError or kLater.
    Access refused(QueuePair& qp, Half half, Access access);

    CardContext& card_;
    MemoryTable& memory_;
    /// QPs that are looked at in one run: the others of the card do not wait for all of them.
    static constexpr std::size_t kLooks = 64;
    /// Effects of a half from which on a reply takes the place of the one before it.
    static constexpr std::size_t kMostEffects = 128;

    std::deque<QueuePair*> waiting_;
    std::size_t to_look_at_ = 0;                 ///< the first of `waiting_`
    std::unordered_set<std::uint32_t> streams_;  ///< in use
};

}  // namespace dingo::model
