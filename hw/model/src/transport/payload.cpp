// SPDX-License-Identifier: BSD-2-Clause
#include "payload.h"

#include <algorithm>
#include <utility>

#include "dingo/touch.h"
#include "qp_math.h"

namespace dingo::model {
namespace {

WqeFault local_fault(std::uint8_t vendor_err) {
    return {DINGO_WCS_LOC_PROT_ERR, vendor_err};
}

/// Calls access(sge, offset in the entry, bytes, offset in the data) for each part of [offset,
/// offset + bytes), until one returns other than kDone.
template <typename Wqe, typename Access>
Move for_each_part(const Wqe& wqe, std::uint32_t count, std::uint64_t offset, std::uint64_t bytes,
                   Access access) {
    std::uint64_t done = 0;
    for (std::uint32_t i = 0; i < count && done < bytes; ++i) {
        const dingo_sge sge = wqe(i);
        if (offset >= sge.length) {
            offset -= sge.length;
            continue;
        }
        const std::uint64_t part = std::min<std::uint64_t>(sge.length - offset, bytes - done);
        if (const Move move = access(sge, offset, part, done); move != Move::kDone)
            return move;
        done += part;
        offset = 0;
    }
    return Move::kDone;
}

Move verdict_of(KeyVerdict verdict, WqeFault& fault) {
    if (verdict == KeyVerdict::kOk)
        return Move::kDone;
    if (verdict == KeyVerdict::kPaused)
        return Move::kPaused;
    fault = local_fault(static_cast<std::uint8_t>(verdict));
    return Move::kFault;
}

Move written(FarMemory::Access access, WqeFault& fault) {
    switch (access) {
        case FarMemory::Access::kDone:
            return Move::kDone;
        case FarMemory::Access::kLater:
            return Move::kLater;
        case FarMemory::Access::kError:
            break;
    }
    fault = local_fault(DINGO_VERR_BUS);
    return Move::kFault;
}

}  // namespace

Move Payload::check(const QueuePair& qp, const SendWqe& wqe, std::uint32_t access,
                    WqeFault& fault) {
    for (std::uint32_t i = 0; i < wqe.num_sge(); ++i) {
        const dingo_sge sge = wqe.sge(i);
        MemoryRange range;
        const Move move =
            verdict_of(memory_.check(qp, sge.lkey, sge.addr, sge.length, access, range), fault);
        if (move != Move::kDone)
            return move;
    }
    return Move::kDone;
}

bool Payload::is_paused(const QueuePair& qp, const SendWqe& wqe) {
    for (std::uint32_t i = 0; i < wqe.num_sge(); ++i) {
        const dingo_sge sge = wqe.sge(i);
        MemoryRange range;
        if (memory_.check(qp, sge.lkey, sge.addr, sge.length, DINGO_ACC_LOCAL_WRITE, range) ==
            KeyVerdict::kPaused)
            return true;
    }
    return false;
}

bool Payload::prefetch(QueuePair& qp, const SendWqe& wqe, std::uint64_t message) {
    for (std::uint32_t i = 0; !wqe.is_inline() && i < wqe.num_sge(); ++i) {
        const dingo_sge sge = wqe.sge(i);
        MemoryRange range;
        if (sge.length != 0 &&
            (memory_.check(qp, sge.lkey, sge.addr, sge.length, 0, range) != KeyVerdict::kOk ||
             !far_.prefetch(qp, Half::kSend, message, range)))
            return false;
    }
    return true;
}

Move Payload::gather(QueuePair& qp, const SendWqe& wqe, std::uint64_t message, std::uint32_t offset,
                     std::span<std::byte> data, WqeFault& fault) {
    if (wqe.is_inline()) {
        const auto source = wqe.inline_data().subspan(offset, data.size());
        std::copy(source.begin(), source.end(), data.begin());
        return Move::kDone;
    }
    return for_each_part(
        [&](std::uint32_t i) { return wqe.sge(i); }, wqe.num_sge(), offset, data.size(),
        [&](const dingo_sge& sge, std::uint64_t from, std::uint64_t bytes, std::uint64_t at) {
            MemoryRange range;
            const Move move =
                verdict_of(memory_.check(qp, sge.lkey, sge.addr + from, bytes, 0, range), fault);
            if (move != Move::kDone)
                return move;
            switch (far_.read(qp, Half::kSend, message, range, data.subspan(at, bytes),
                              sge.length - from)) {
                case FarMemory::Access::kDone:
                    return Move::kDone;
                case FarMemory::Access::kLater:
                    return Move::kLater;
                case FarMemory::Access::kError:
                    break;
            }
            fault = local_fault(DINGO_VERR_BUS);
            return Move::kFault;
        });
}

std::optional<Move> Payload::refer(QueuePair& qp, const SendWqe& wqe, std::uint64_t message,
                                   std::uint64_t offset, std::uint64_t bytes) {
    if (bytes < kReferredBytes || wqe.is_inline() || qp.kernel.id != DINGO_KERNEL_PASS)
        return std::nullopt;
    for (std::uint32_t i = 0; i < wqe.num_sge(); ++i) {
        const dingo_sge sge = wqe.sge(i);
        if (offset >= sge.length) {
            offset -= sge.length;
            continue;
        }
        MemoryRange range;
        if (sge.length - offset < bytes ||
            memory_.check(qp, sge.lkey, sge.addr + offset, bytes, 0, range) != KeyVerdict::kOk)
            return std::nullopt;
        if (memory_.is_far(range)) {
            const auto access =
                far_.refer(qp, Half::kSend, message, range, sge.length - offset, frame_);
            if (!access)
                return std::nullopt;
            return *access == FarMemory::Access::kDone ? Move::kDone : Move::kLater;
        }
        // An unacknowledged send completes, and its buffer may change, once the frame was sent: in
        // loopback that is before it is received.
        if (frame_.loops_back() && !is_reliable(qp))
            return std::nullopt;
        const std::byte* const source = memory_.pointer(range);
        if (source == nullptr)
            return std::nullopt;
        frame_.refer(source, is_reliable(qp));
        return Move::kDone;
    }
    return std::nullopt;
}

Move Payload::fill(QueuePair& qp, const SendWqe& wqe, std::uint64_t message, std::uint32_t offset,
                   WqeFault& fault) {
    const std::span<std::byte> data = frame_.payload();
    if (const auto referred = refer(qp, wqe, message, offset, data.size()))
        return *referred;
    const Move move = gather(qp, wqe, message, offset, data, fault);
    if (move == Move::kDone)
        compute::transform(qp.kernel, offset, data);
    return move;
}

Move Payload::scatter(QueuePair& qp, const SendWqe& wqe, std::uint32_t offset,
                      std::span<const std::byte> data, WqeFault& fault) {
    return for_each_part(
        [&](std::uint32_t i) { return wqe.sge(i); }, wqe.num_sge(), offset, data.size(),
        [&](const dingo_sge& sge, std::uint64_t from, std::uint64_t bytes, std::uint64_t at) {
            MemoryRange range;
            const Move move = verdict_of(
                memory_.check(qp, sge.lkey, sge.addr + from, bytes, DINGO_ACC_LOCAL_WRITE, range),
                fault);
            if (move != Move::kDone)
                return move;
            return written(
                far_.write(qp, Half::kSend, offset + at == 0, range, data.subspan(at, bytes)),
                fault);
        });
}

Move Payload::scatter(QueuePair& qp, const ReceiveWqe& wqe, std::uint64_t offset,
                      std::span<const std::byte> data, WqeFault& fault) {
    const std::uint32_t pdn = qp.srq ? qp.srq->pdn : qp.pdn;
    return for_each_part(
        [&](std::uint32_t i) { return wqe.sge[i]; }, wqe.num_sge, offset, data.size(),
        [&](const dingo_sge& sge, std::uint64_t from, std::uint64_t bytes, std::uint64_t at) {
            MemoryRange range;
            const Move move = verdict_of(memory_.check(qp, pdn, sge.lkey, sge.addr + from, bytes,
                                                       DINGO_ACC_LOCAL_WRITE, range),
                                         fault);
            if (move != Move::kDone)
                return move;
            return written(
                far_.write(qp, Half::kReceive, offset + at == 0, range, data.subspan(at, bytes)),
                fault);
        });
}

std::span<const std::byte> Payload::received(const QueuePair& qp, std::uint64_t offset,
                                             std::span<const std::byte> data) {
    if (qp.receive_kernel.id == DINGO_KERNEL_PASS)
        return data;
    touches(data.data(), data.size());
    transformed_.assign(data.begin(), data.end());
    compute::transform(qp.receive_kernel, static_cast<std::uint32_t>(offset), transformed_);
    return transformed_;
}

}  // namespace dingo::model
