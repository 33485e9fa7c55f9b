// SPDX-License-Identifier: BSD-2-Clause
//
// Work requests of every opcode and size, up to the last permitted entry and byte.
#include <algorithm>
#include <cstring>
#include <set>

#include "peer.h"

namespace dingo::test {
namespace {

constexpr std::uint8_t kInline = DINGO_WQE_CTRL_FLAGS_INLINE_MASK;

struct Size {
    std::size_t blocks;
    std::uint8_t num_sge = 0;
    std::uint16_t inline_len = 0;
    std::uint8_t flags = 0;
};

class WorkRequests : public Peer {
  protected:
    static std::size_t data_offset(std::uint8_t kind, std::uint8_t opcode) {
        if (kind == DINGO_QPT_UD)
            return 64;
        return opcode == DINGO_WR_CMP_SWAP || opcode == DINGO_WR_FETCH_ADD ? 48 : 32;
    }
    /// Returns the vendor_err of its completion on a new QP; 0: no completion, or no error.
    std::uint8_t verdict(std::uint8_t kind, std::uint8_t opcode, const Size& size,
                         bool privileged = false, std::uint32_t entry_bytes = 8) {
        Options options = defaults();
        options.qp.kind = kind;
        options.qp.flags = privileged ? DINGO_CMD_CREATE_QP_FLAGS_PRIVILEGED_MASK : 0;
        make_qp(options);
        std::vector<std::byte> wqe(size.blocks * DINGO_SQ_BLOCK);
        dingo_wqe_ctrl ctrl{};
        ctrl.opcode = opcode;
        ctrl.flags = size.flags;
        ctrl.blocks = static_cast<std::uint8_t>(size.blocks);
        ctrl.num_sge = size.num_sge;
        ctrl.inline_len = size.inline_len;
        std::memcpy(wqe.data(), &ctrl, sizeof ctrl);
        if (opcode == DINGO_WR_REG_MR)
            wqe[16 + offsetof(dingo_wqe_reg, page_shift)] = std::byte{12};
        const dingo_sge sge = mr.sge(0, entry_bytes);
        if ((size.flags & kInline) == 0)
            for (std::size_t at = data_offset(kind, opcode), n = 0;
                 n < size.num_sge && at + sizeof sge <= wqe.size(); ++n, at += sizeof sge)
                std::memcpy(wqe.data() + at, &sge, sizeof sge);
        card.driver.post_blocks(qp, wqe);
        card.settle();
        const auto cqe = poll();
        EXPECT_EQ(card.driver.destroy(DINGO_OP_DESTROY_QP, qp.qpn).status, DINGO_ST_OK);
        while (poll()) {
        }
        card.wire.sent.clear();
        return cqe ? cqe->vendor_err : std::uint8_t{DINGO_VERR_NONE};
    }
};

TEST_F(WorkRequests, EachKindHasItsOpcodes) {
    start_card();
    std::set<int> connected;
    for (int opcode = DINGO_WR_SEND; opcode <= int{DINGO_WR_NOP}; ++opcode)
        connected.insert(opcode);
    connected.erase(DINGO_WR_REG_MR);
    std::set<int> uc = connected;
    for (const int opcode :
         {DINGO_WR_READ, DINGO_WR_CMP_SWAP, DINGO_WR_FETCH_ADD, DINGO_WR_SEND_INV})
        uc.erase(opcode);
    const std::set<int> datagram = {DINGO_WR_SEND, DINGO_WR_SEND_IMM, int{DINGO_WR_NOP}};
    for (const auto& [kind, allowed] :
         {std::pair{DINGO_QPT_RC, connected}, {DINGO_QPT_UC, uc}, {DINGO_QPT_UD, datagram}})
        for (const bool privileged : {false, true})
            for (int opcode = 0; opcode < 256; ++opcode) {
                const bool good = allowed.contains(opcode) ||
                                  (opcode == DINGO_WR_REG_MR && privileged && kind != DINGO_QPT_UD);
                EXPECT_EQ(verdict(kind, static_cast<std::uint8_t>(opcode), {1}, privileged) ==
                              DINGO_VERR_WQE_OPCODE,
                          !good)
                    << "kind " << kind << " opcode " << opcode << " privileged " << privileged;
            }
}

TEST_F(WorkRequests, DataReachesToTheEndOfItsBlocks) {
    start_card();
    for (const std::uint8_t kind :
         std::initializer_list<std::uint8_t>{DINGO_QPT_RC, DINGO_QPT_UC, DINGO_QPT_UD})
        for (const std::uint8_t opcode : {DINGO_WR_SEND, DINGO_WR_SEND_IMM, DINGO_WR_WRITE}) {
            if (kind == DINGO_QPT_UD && opcode == DINGO_WR_WRITE)
                continue;
            const std::size_t most_inline =
                kind == DINGO_QPT_UD ? DINGO_MAX_INLINE_UD : DINGO_MAX_INLINE;
            for (std::size_t blocks = 1; blocks <= DINGO_SQ_MAX_BLOCKS; ++blocks) {
                SCOPED_TRACE("kind " + std::to_string(kind) + " opcode " + std::to_string(opcode) +
                             " blocks " + std::to_string(blocks));
                const std::size_t room = blocks * DINGO_SQ_BLOCK - data_offset(kind, opcode);
                const auto bytes = static_cast<std::uint16_t>(std::min(room, most_inline));
                const auto entries = static_cast<std::uint8_t>(
                    std::min<std::size_t>(room / sizeof(dingo_sge), DINGO_SQ_MAX_SGE));
                EXPECT_EQ(verdict(kind, opcode, {blocks, 0, bytes, kInline}), DINGO_VERR_NONE);
                EXPECT_EQ(verdict(kind, opcode, {blocks, entries}), DINGO_VERR_NONE);
                for (const Size& more :
                     {Size{blocks, 0, static_cast<std::uint16_t>(bytes + 1), kInline},
                      {blocks, static_cast<std::uint8_t>(entries + 1)},
                      {blocks, 0, 0xffff, kInline},
                      {blocks, 0xff},
                      {blocks, 1, 0, kInline},
                      {blocks, 0, 1}})
                    EXPECT_EQ(verdict(kind, opcode, more), DINGO_VERR_WQE_SIZE)
                        << int{more.num_sge} << " entries, inline " << more.inline_len;
            }
        }
}

TEST_F(WorkRequests, WhatCarriesNothingHasNoData) {
    start_card();
    for (const std::uint8_t opcode :
         {std::uint8_t{DINGO_WR_LOCAL_INV}, std::uint8_t{DINGO_WR_BIND_MW},
          std::uint8_t{DINGO_WR_REG_MR}, std::uint8_t{DINGO_WR_NOP}}) {
        EXPECT_NE(verdict(DINGO_QPT_RC, opcode, {2}, true), DINGO_VERR_WQE_SIZE) << int{opcode};
        for (const Size& size : {Size{2, 1}, {2, 0, 1}, {2, 0, 0, kInline}})
            EXPECT_EQ(verdict(DINGO_QPT_RC, opcode, size, true), DINGO_VERR_WQE_SIZE)
                << int{opcode};
    }
    EXPECT_EQ(verdict(DINGO_QPT_RC, DINGO_WR_READ, {1, 0, 8, kInline}), DINGO_VERR_WQE_SIZE);
    EXPECT_EQ(verdict(DINGO_QPT_RC, DINGO_WR_READ, {1}), DINGO_VERR_NONE) << "of no bytes";
}

TEST_F(WorkRequests, AnAtomicHasOneEntryOfEightBytes) {
    start_card();
    for (const std::uint8_t opcode : {DINGO_WR_CMP_SWAP, DINGO_WR_FETCH_ADD}) {
        EXPECT_EQ(verdict(DINGO_QPT_RC, opcode, {1, 1}), DINGO_VERR_NONE);
        EXPECT_EQ(verdict(DINGO_QPT_RC, opcode, {2, 0}), DINGO_VERR_WQE_SIZE);
        EXPECT_EQ(verdict(DINGO_QPT_RC, opcode, {2, 2}, false, 4), DINGO_VERR_WQE_SIZE);
        EXPECT_EQ(verdict(DINGO_QPT_RC, opcode, {1, 0, 8, kInline}), DINGO_VERR_WQE_SIZE);
        for (const std::uint32_t bytes : {0, 7, 9, 16})
            EXPECT_EQ(verdict(DINGO_QPT_RC, opcode, {1, 1}, false, bytes), DINGO_VERR_WQE_SIZE);
    }
}

}  // namespace
}  // namespace dingo::test
