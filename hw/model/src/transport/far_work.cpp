// SPDX-License-Identifier: BSD-2-Clause
#include "far_work.h"

#include <algorithm>
#include <utility>

#include "dingo/packet/aeth.h"

namespace dingo::model {

FarWork::~FarWork() {
    if (FarMemory* const far = port())
        for (const std::uint32_t stream : streams_)
            far->end(stream);
}

FarHalf& FarWork::touch(QueuePair& qp, Half half) {
    auto& far = qp.transport->far;
    if (far == nullptr)
        far = std::make_unique<FarState>();
    FarHalf& h = far->half(half);
    if (!std::exchange(h.in_use, true))
        streams_.insert(stream(qp, half));
    return h;
}

void FarWork::wait(QueuePair& qp) {
    if (!std::exchange(qp.transport->far->waits, true))
        waiting_.push_back(&qp);
}

FarWork::Access FarWork::read_far(QueuePair& qp, Half half, std::uint64_t message,
                                  const MemoryRange& range, std::span<std::byte> data,
                                  std::uint64_t ahead) {
    touch(qp, half);
    ahead = std::max<std::uint64_t>(ahead, data.size());
    Access access = Access::kDone;
    for (std::uint64_t at = 0; at < data.size() && access != Access::kError;) {
        std::uint64_t bus = 0;
        std::uint64_t contiguous = 0;
        if (!memory_.locate(range, at, bus, contiguous))
            return Access::kError;
        const auto part = data.subspan(at, std::min<std::uint64_t>(data.size() - at, contiguous));
        const Access one =
            port()->read(stream(qp, half), message, bus, part, std::min(ahead - at, contiguous));
        if (one != Access::kDone)
            access = one;
        at += part.size();
    }
    if (access == Access::kLater) {
        wait_for_turn(qp);
    } else if (access == Access::kError) {
        card_.count(DINGO_CARD_DMA_ERRORS);
    }
    return access;
}

std::optional<FarWork::Access> FarWork::refer(QueuePair& qp, Half half, std::uint64_t message,
                                              const MemoryRange& range, std::uint64_t ahead,
                                              FrameWriter& frame) {
    std::uint64_t bus = 0;
    std::uint64_t contiguous = 0;
    if (!memory_.locate(range, 0, bus, contiguous))  // far memory is contiguous
        return std::nullopt;
    touch(qp, half);
    if (port()->lends(bus) && frame.holds_enough()) {
        wait_for_turn(qp);
        return Access::kLater;
    }
    Elsewhere where;
    if (!port()->refer(stream(qp, half), message, bus, range.length, std::max(ahead, range.length),
                       where))
        return std::nullopt;
    frame.refer(std::move(where));
    return Access::kDone;
}

void FarWork::wait_for_turn(QueuePair& qp) {
    qp.transport->far->wants_turn = true;
    wait(qp);
}

bool FarWork::prefetch(QueuePair& qp, Half half, std::uint64_t message, const MemoryRange& range) {
    if (!memory_.is_far(range))
        return true;
    std::uint64_t bus = 0;
    std::uint64_t contiguous = 0;
    if (!memory_.locate(range, 0, bus, contiguous))
        return false;
    touch(qp, half);
    return port()->prefetch(stream(qp, half), message, bus,
                            std::min<std::uint64_t>(range.length, contiguous));
}

void FarWork::posted(QueuePair& qp, Half half) {
    FarHalf& h = qp.transport->far->half(half);
    if (!h.holds()) {
        h.first_psn = qp.transport->responder.expected_psn;
        h.msn = qp.transport->responder.msn;
    }
    ++h.posted;
    wait(qp);
}

FarWork::Access FarWork::refused(QueuePair& qp, Half half, Access access) {
    if (access == Access::kError) {
        card_.count(DINGO_CARD_DMA_ERRORS);
    } else if (half == Half::kSend) {
        qp.transport->far->wants_room = true;
        wait(qp);
    }
    return access;
}

FarWork::Access FarWork::write_far(QueuePair& qp, Half half, bool first, const MemoryRange& range,
                                   std::span<const std::byte> data) {
    if (touch(qp, half).failed)
        return Access::kError;
    if (first)
        port()->begin_message(stream(qp, half));
    std::uint64_t at = 0;
    while (!data.empty()) {
        std::uint64_t bus = 0;
        std::uint64_t contiguous = 0;
        if (!memory_.locate(range, at, bus, contiguous))
            return Access::kError;
        const auto piece = data.first(std::min<std::uint64_t>(data.size(), contiguous));
        const Held* const held = card_.received.holder_of(piece);
        const Access access = held != nullptr
                                  ? port()->write_held(stream(qp, half), bus, piece, *held)
                                  : port()->write(stream(qp, half), bus, piece);
        if (access != Access::kDone)
            return refused(qp, half, access);
        posted(qp, half);
        at += piece.size();
        data = data.subspan(piece.size());
    }
    return Access::kDone;
}

FarWork::Access FarWork::atomic(QueuePair& qp, const MemoryRange& range,
                                const FarMemory::Atomic& request) {
    if (touch(qp, Half::kReceive).failed)
        return Access::kError;
    std::uint64_t bus = 0;
    std::uint64_t contiguous = 0;
    if (!memory_.locate(range, 0, bus, contiguous) || contiguous < sizeof(std::uint64_t))
        return Access::kError;
    const Access access = port()->atomic(stream(qp, Half::kReceive), bus, request);
    if (access != Access::kDone)
        return refused(qp, Half::kReceive, access);
    posted(qp, Half::kReceive);
    return access;
}

FarEffect FarWork::effect_of(QueuePair& qp, Half half, FarEffect::Kind kind) {
    FarEffect effect;
    effect.kind = kind;
    effect.after = qp.transport->far->half(half).posted;
    wait(qp);
    return effect;
}

void FarWork::hold_atomic(QueuePair& qp, std::uint32_t psn) {
    FarEffect effect = effect_of(qp, Half::kReceive, FarEffect::Kind::kAtomic);
    effect.psn = psn;
    qp.transport->far->half(Half::kReceive).effects.push_back(effect);
}

// Limit of delayed completions of one QP: a client that reposts before they arrive cannot have more
// than its queue is long. An SRQ's length would count once for each of its QPs.
std::uint32_t FarWork::most_completions(const QueuePair& qp, Half half) {
    constexpr std::uint32_t kMostOfSrq = 1'024;
    if (half == Half::kReceive && qp.srq != nullptr)
        return std::min(1U << qp.srq->ring.log_size, kMostOfSrq);
    return 1U << (half == Half::kSend ? qp.log_sq : qp.rq.log_size);
}

void FarWork::hold_completion(QueuePair& qp, Half half, const dingo_cqe& entry) {
    FarEffect effect = effect_of(qp, half, FarEffect::Kind::kCompletion);
    effect.entry = entry;
    FarHalf& h = qp.transport->far->half(half);
    h.effects.push_back(effect);
    ++h.completions;
}

void FarWork::hold_reply(QueuePair& qp, std::uint8_t syndrome, std::uint32_t psn) {
    FarEffect effect = effect_of(qp, Half::kReceive, FarEffect::Kind::kReply);
    effect.syndrome = syndrome;
    effect.psn = psn;
    effect.msn = qp.transport->responder.msn;
    std::deque<FarEffect>& effects = qp.transport->far->half(Half::kReceive).effects;
    // The last reply suffices for all that wait for the same data, and for all beyond the limit.
    // Exception: the acknowledgement of a duplicate after a NAK does not replace the NAK.
    const bool enough = !effects.empty() && effects.back().kind == effect.kind &&
                        (effects.back().after == effect.after || effects.size() >= kMostEffects);
    if (!enough)
        effects.push_back(effect);
    else if (!qp.transport->responder.nak_sent || !packet::syndrome::is_ack(syndrome) ||
             packet::syndrome::is_ack(effects.back().syndrome))
        effects.back() = effect;
}

void FarWork::answered(QueuePair& qp, std::uint32_t psn, std::uint32_t msn) {
    if (holds(qp, Half::kReceive))
        qp.transport->far->half(Half::kReceive).comes_behind(psn, msn);
}

std::vector<QueuePair*> FarWork::take_moved() {
    const bool let_go = card_.wire.has_let_go();
    if (waiting_.empty())
        return {};
    if (port()->moved() || let_go)
        to_look_at_ = waiting_.size();
    const auto end =
        waiting_.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(to_look_at_, kLooks));
    std::vector<QueuePair*> taken(waiting_.begin(), end);
    waiting_.erase(waiting_.begin(), end);
    to_look_at_ -= taken.size();
    for (QueuePair* const qp : taken)
        qp->transport->far->waits = false;
    return taken;
}

void FarWork::forget(QueuePair& qp) {
    if (const auto at = std::ranges::find(waiting_, &qp); at != waiting_.end()) {
        if (static_cast<std::size_t>(at - waiting_.begin()) < to_look_at_)
            --to_look_at_;
        waiting_.erase(at);
    }
    for (const Half half : {Half::kSend, Half::kReceive})
        if (streams_.erase(stream(qp, half)) != 0)
            port()->end(stream(qp, half));
}

}  // namespace dingo::model
