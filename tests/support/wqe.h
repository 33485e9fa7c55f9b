// SPDX-License-Identifier: BSD-2-Clause
//
// Work requests as tests write them, and their encoding by the contract.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "dingo_hw.h"

namespace dingo::test {

/// A work request for the send queue; unused parts stay zero.
struct SendWr {
    std::uint8_t opcode = DINGO_WR_SEND;
    std::uint8_t flags = DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK;
    std::uint32_t imm = 0;  ///< host order for *_IMM; the key for SEND_INV and LOCAL_INV
    std::uint64_t raddr = 0;
    std::uint32_t rkey = 0;
    std::vector<dingo_sge> sges;
    std::vector<std::byte> inline_data;  ///< sets INLINE if not empty; see force_inline
    bool force_inline = false;
    std::uint64_t swap_add = 0;
    std::uint64_t compare = 0;
    dingo_wqe_bind bind{};  ///< BIND_MW
    dingo_wqe_reg reg{};    ///< REG_MR
    dingo_wqe_ud ud{};      ///< UD and GSI QPs
};

/// Encodes a work request as blocks, a multiple of 64 bytes. `datagram`: UD or GSI layout.
std::vector<std::byte> encode(const SendWr& wr, bool datagram);

/// Encodes a receive entry of 1 << log_stride bytes.
std::vector<std::byte> encode_receive(std::uint32_t tag, const std::vector<dingo_sge>& sges,
                                      unsigned log_stride);

/// Returns "WR_FLUSH_ERR" etc., for messages.
const char* status_name(std::uint8_t wcs);

}  // namespace dingo::test
