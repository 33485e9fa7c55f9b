// SPDX-License-Identifier: BSD-2-Clause
//
// A send WQE: fetched from the ring and validated field by field. The host may write to the ring at
// any time, so only the copy made by fetch() is used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "../queue_pair.h"

namespace dingo::model {

/// Why a WQE failed: cqe.status and cqe.vendor_err.
struct WqeFault {
    std::uint8_t status = DINGO_WCS_SUCCESS;
    std::uint8_t vendor_err = DINGO_VERR_NONE;
    explicit operator bool() const noexcept { return status != DINGO_WCS_SUCCESS; }
};

class SendWqe {
  public:
    /// Reads the WQE at block `index` and checks it against the contract and the QP type. After a
    /// fault opcode() and blocks() are valid as far as they could be read.
    WqeFault load(CardContext& card, const QueuePair& qp, std::uint32_t index);

    [[nodiscard]] std::uint8_t opcode() const noexcept { return ctrl_.opcode; }
    /// 1..SQ_MAX_BLOCKS, not beyond the producer; 1 if the field is invalid.
    [[nodiscard]] std::uint8_t blocks() const noexcept { return blocks_; }
    [[nodiscard]] bool signaled() const noexcept {
        return flag(DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK);
    }
    [[nodiscard]] bool solicited() const noexcept {
        return flag(DINGO_WQE_CTRL_FLAGS_SOLICITED_MASK);
    }
    [[nodiscard]] bool fence() const noexcept { return flag(DINGO_WQE_CTRL_FLAGS_FENCE_MASK); }
    [[nodiscard]] bool is_inline() const noexcept { return flag(DINGO_WQE_CTRL_FLAGS_INLINE_MASK); }
    /// Length of the message in bytes.
    [[nodiscard]] std::uint32_t length() const noexcept { return length_; }
    /// Immediate data in host byte order.
    [[nodiscard]] std::uint32_t imm() const noexcept { return __builtin_bswap32(ctrl_.imm); }
    /// SEND_INV, LOCAL_INV: the key.
    [[nodiscard]] std::uint32_t inv_key() const noexcept { return ctrl_.imm; }
    [[nodiscard]] std::uint32_t num_sge() const noexcept { return ctrl_.num_sge; }
    [[nodiscard]] dingo_sge sge(std::uint32_t i) const noexcept {
        return segment<dingo_sge>(data_offset_ + i * sizeof(dingo_sge));
    }
    [[nodiscard]] std::span<const std::byte> inline_data() const noexcept {
        return std::span(raw_).subspan(data_offset_, ctrl_.inline_len);
    }
    [[nodiscard]] dingo_wqe_rdma rdma() const noexcept { return segment<dingo_wqe_rdma>(kSegment); }
    [[nodiscard]] dingo_wqe_atomic atomic() const noexcept {
        return segment<dingo_wqe_atomic>(kAtomicSegment);
    }
    [[nodiscard]] dingo_wqe_ud ud() const noexcept { return segment<dingo_wqe_ud>(kSegment); }
    [[nodiscard]] dingo_wqe_bind bind() const noexcept { return segment<dingo_wqe_bind>(kSegment); }
    [[nodiscard]] dingo_wqe_reg reg() const noexcept { return segment<dingo_wqe_reg>(kSegment); }

  private:
    static constexpr std::size_t kSegment = 16;
    static constexpr std::size_t kAtomicSegment = 32;

    [[nodiscard]] bool flag(unsigned mask) const noexcept { return (ctrl_.flags & mask) != 0; }
    template <typename T>
    [[nodiscard]] T segment(std::size_t offset) const noexcept {
        T value;
        std::memcpy(&value, raw_.data() + offset, sizeof value);
        return value;
    }
    static bool read_blocks(CardContext& card, const QueuePair& qp, std::uint32_t index,
                            std::span<std::byte> to);
    bool fetch(CardContext& card, const QueuePair& qp, std::uint32_t index);
    WqeFault check_opcode(const QueuePair& qp) const;
    WqeFault check_segments(const QueuePair& qp) const;
    WqeFault check_data(const QueuePair& qp);
    [[nodiscard]] bool is_zero(std::size_t offset, std::size_t bytes) const noexcept;

    alignas(64) std::array<std::byte, DINGO_SQ_BLOCK * DINGO_SQ_MAX_BLOCKS> raw_;
    dingo_wqe_ctrl ctrl_{};
    std::uint32_t data_offset_ = 0;
    std::uint32_t length_ = 0;
    std::uint8_t blocks_ = 1;
};

/// Operations without a message: executed by the card, nothing is sent.
constexpr bool is_local_operation(std::uint8_t opcode) noexcept {
    return opcode >= DINGO_WR_LOCAL_INV && opcode <= DINGO_WR_NOP;
}
constexpr bool is_atomic_opcode(std::uint8_t opcode) noexcept {
    return opcode == DINGO_WR_CMP_SWAP || opcode == DINGO_WR_FETCH_ADD;
}
constexpr bool is_send_opcode(std::uint8_t opcode) noexcept {
    return opcode <= DINGO_WR_SEND_INV;
}
constexpr bool is_write_opcode(std::uint8_t opcode) noexcept {
    return opcode == DINGO_WR_WRITE || opcode == DINGO_WR_WRITE_IMM;
}

}  // namespace dingo::model
