// SPDX-License-Identifier: BSD-2-Clause
#include "send_wqe.h"

#include <algorithm>

#include "../capabilities.h"
#include "qp_math.h"

namespace dingo::model {
namespace {

constexpr std::uint8_t kFlagsMask =
    DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK | DINGO_WQE_CTRL_FLAGS_SOLICITED_MASK |
    DINGO_WQE_CTRL_FLAGS_FENCE_MASK | DINGO_WQE_CTRL_FLAGS_INLINE_MASK;
constexpr std::uint32_t kDataOffset = 32;        // RC, UC: after ctrl and wqe_rdma
constexpr std::uint32_t kAtomicDataOffset = 48;  // after wqe_atomic
constexpr std::uint32_t kUdDataOffset = 64;      // after wqe_ud
constexpr std::uint32_t kAtomicBytes = 8;
constexpr std::uint32_t kQpnMask = 0xFFFFFF;
constexpr std::uint32_t kFlowLabelMask = 0xFFFFF;

constexpr WqeFault kNoFault{};
constexpr WqeFault operation_error(std::uint8_t vendor_err) {
    return {DINGO_WCS_LOC_QP_OP_ERR, vendor_err};
}

}  // namespace

bool SendWqe::is_zero(std::size_t offset, std::size_t bytes) const noexcept {
    return std::all_of(raw_.begin() + static_cast<std::ptrdiff_t>(offset),
                       raw_.begin() + static_cast<std::ptrdiff_t>(offset + bytes),
                       [](std::byte b) { return b == std::byte{0}; });
}

/// Reads blocks from the ring, or pushed blocks instead where they exist.
bool SendWqe::read_blocks(CardContext& card, const QueuePair& qp, std::uint32_t index,
                          std::span<std::byte> to) {
    const std::uint32_t ring_blocks = 1U << qp.log_sq;
    for (; !to.empty() && qp.pushed != nullptr; ++index) {
        const std::byte* const pushed = qp.pushed->block(index);
        if (pushed == nullptr)
            break;
        std::copy_n(pushed, DINGO_SQ_BLOCK, to.begin());
        to = to.subspan(DINGO_SQ_BLOCK);
    }
    const std::uint32_t slot = index & (ring_blocks - 1);
    const std::size_t before_wrap =
        std::min(to.size(), std::size_t{ring_blocks - slot} * DINGO_SQ_BLOCK);
    return (before_wrap == 0 ||
            qp.sq.read(card, std::uint64_t{slot} * DINGO_SQ_BLOCK, to.first(before_wrap))) &&
           (before_wrap == to.size() || qp.sq.read(card, 0, to.subspan(before_wrap)));
}

bool SendWqe::fetch(CardContext& card, const QueuePair& qp, std::uint32_t index) {
    const std::span raw(raw_);
    blocks_ = 1;
    ctrl_ = {};
    if (!read_blocks(card, qp, index, raw.first<DINGO_SQ_BLOCK>()))
        return false;
    std::memcpy(&ctrl_, raw_.data(), sizeof ctrl_);
    const std::uint32_t posted = qp.sq_producer - index;
    if (ctrl_.blocks == 0 || ctrl_.blocks > DINGO_SQ_MAX_BLOCKS || ctrl_.blocks > posted)
        return true;  // reported by load()
    blocks_ = ctrl_.blocks;
    const std::size_t rest = blocks_ - 1U;
    return rest == 0 ||
           read_blocks(card, qp, index + 1, raw.subspan(DINGO_SQ_BLOCK, rest * DINGO_SQ_BLOCK));
}

WqeFault SendWqe::check_opcode(const QueuePair& qp) const {
    const std::uint8_t op = ctrl_.opcode;
    bool allowed = op <= DINGO_WR_NOP;
    if (is_datagram(qp))
        allowed = op == DINGO_WR_SEND || op == DINGO_WR_SEND_IMM || op == DINGO_WR_NOP;
    else if (qp.type == QpType::kUc)
        allowed =
            allowed && op != DINGO_WR_READ && !is_atomic_opcode(op) && op != DINGO_WR_SEND_INV;
    if (op == DINGO_WR_REG_MR && !qp.privileged)
        allowed = false;
    return allowed ? kNoFault : operation_error(DINGO_VERR_WQE_OPCODE);
}

WqeFault SendWqe::check_segments(const QueuePair& qp) const {
    bool clean = true;
    const std::uint8_t op = ctrl_.opcode;
    if (is_datagram(qp) && op != DINGO_WR_NOP) {
        const dingo_wqe_ud av = ud();
        clean = av.rsvd0 == 0 && av.rsvd1 == 0 && av.pkey_index == 0 && av.dest_qpn <= kQpnMask &&
                av.flow_label <= kFlowLabelMask;
    } else if (op == DINGO_WR_BIND_MW) {
        clean = is_zero(kSegment + offsetof(dingo_wqe_bind, rsvd), sizeof(dingo_wqe_bind::rsvd));
    } else if (op == DINGO_WR_REG_MR) {
        const dingo_wqe_reg request = reg();
        clean = request.rsvd1 == 0 && request.page_shift >= kMinPageShift &&
                request.page_shift <= kMaxPageShift &&
                is_zero(kSegment + offsetof(dingo_wqe_reg, rsvd0), sizeof(dingo_wqe_reg::rsvd0));
    } else if (is_send_opcode(op) || op == DINGO_WR_LOCAL_INV) {
        clean = is_zero(kSegment, sizeof(dingo_wqe_rdma));
    } else if (op != DINGO_WR_NOP) {
        clean = rdma().rsvd == 0;
    }
    return clean ? kNoFault : operation_error(DINGO_VERR_WQE_RESERVED);
}

WqeFault SendWqe::check_data(const QueuePair& qp) {
    const std::uint8_t op = ctrl_.opcode;
    const std::size_t bytes = std::size_t{blocks_} * DINGO_SQ_BLOCK;
    const WqeFault wrong_size = operation_error(DINGO_VERR_WQE_SIZE);
    length_ = 0;
    if (is_local_operation(op))
        return ctrl_.num_sge == 0 && ctrl_.inline_len == 0 && !is_inline() ? kNoFault : wrong_size;
    data_offset_ = is_datagram(qp)        ? kUdDataOffset
                   : is_atomic_opcode(op) ? kAtomicDataOffset
                                          : kDataOffset;
    if (is_inline()) {
        const bool has_data_to_send = is_send_opcode(op) || is_write_opcode(op);
        const std::uint32_t most = is_datagram(qp) ? DINGO_MAX_INLINE_UD : DINGO_MAX_INLINE;
        length_ = ctrl_.inline_len;
        return has_data_to_send && ctrl_.num_sge == 0 && length_ <= most &&
                       data_offset_ + length_ <= bytes
                   ? kNoFault
                   : wrong_size;
    }
    if (ctrl_.inline_len != 0 || ctrl_.num_sge > DINGO_SQ_MAX_SGE ||
        data_offset_ + ctrl_.num_sge * sizeof(dingo_sge) > bytes)
        return wrong_size;
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < ctrl_.num_sge; ++i)
        total += sge(i).length;
    if (is_atomic_opcode(op) && (ctrl_.num_sge != 1 || total != kAtomicBytes))
        return wrong_size;
    if (total > DINGO_MAX_MSG)
        return {DINGO_WCS_LOC_LEN_ERR, DINGO_VERR_MSG_TOO_LONG};
    length_ = static_cast<std::uint32_t>(total);
    return kNoFault;
}

WqeFault SendWqe::load(CardContext& card, const QueuePair& qp, std::uint32_t index) {
    if (!fetch(card, qp, index))
        return operation_error(DINGO_VERR_WQE_FETCH);
    if (const WqeFault fault = check_opcode(qp))
        return fault;
    if (blocks_ != ctrl_.blocks)
        return operation_error(DINGO_VERR_WQE_SIZE);
    if ((ctrl_.flags & ~kFlagsMask) != 0 || ctrl_.rsvd0 != 0 || ctrl_.rsvd1 != 0)
        return operation_error(DINGO_VERR_WQE_RESERVED);
    if (const WqeFault fault = check_segments(qp))
        return fault;
    return check_data(qp);
}

}  // namespace dingo::model
