// SPDX-License-Identifier: BSD-2-Clause
#include "wqe.h"

#include <algorithm>
#include <cstring>

namespace dingo::test {
namespace {

template <typename T>
void put(std::vector<std::byte>& out, std::size_t offset, const T& value) {
    if (out.size() < offset + sizeof value) {
        out.resize(offset + sizeof value);
    }
    std::memcpy(out.data() + offset, &value, sizeof value);
}

}  // namespace

std::vector<std::byte> encode(const SendWr& wr, bool datagram) {
    const bool inline_data = wr.force_inline || !wr.inline_data.empty();
    dingo_wqe_ctrl ctrl{};
    ctrl.opcode = wr.opcode;
    ctrl.flags = wr.flags;
    if (inline_data) {
        ctrl.flags |= DINGO_WQE_CTRL_FLAGS_INLINE_MASK;
        ctrl.inline_len = static_cast<std::uint16_t>(wr.inline_data.size());
    }
    ctrl.num_sge = static_cast<std::uint8_t>(inline_data ? 0 : wr.sges.size());
    const bool key = wr.opcode == DINGO_WR_SEND_INV || wr.opcode == DINGO_WR_LOCAL_INV;
    ctrl.imm = key ? wr.imm : __builtin_bswap32(wr.imm);

    std::vector<std::byte> out;
    std::size_t data = 32;
    if (datagram) {
        put(out, 16, wr.ud);
        data = 64;
    } else if (wr.opcode == DINGO_WR_BIND_MW) {
        put(out, 16, wr.bind);
        data = 64;
    } else if (wr.opcode == DINGO_WR_REG_MR) {
        put(out, 16, wr.reg);
        data = 64;
    } else {
        dingo_wqe_rdma rdma{};
        rdma.raddr = wr.raddr;
        rdma.rkey = wr.rkey;
        put(out, 16, rdma);
        if (wr.opcode == DINGO_WR_CMP_SWAP || wr.opcode == DINGO_WR_FETCH_ADD) {
            dingo_wqe_atomic atomic{};
            atomic.swap_add = wr.swap_add;
            atomic.compare = wr.compare;
            put(out, 32, atomic);
            data = 48;
        }
    }
    if (inline_data) {
        out.resize(data);
        out.insert(out.end(), wr.inline_data.begin(), wr.inline_data.end());
    } else {
        for (std::size_t i = 0; i < wr.sges.size(); ++i) {
            put(out, data + i * sizeof(dingo_sge), wr.sges[i]);
        }
    }
    out.resize((out.size() + DINGO_SQ_BLOCK - 1) / DINGO_SQ_BLOCK * DINGO_SQ_BLOCK);
    ctrl.blocks = static_cast<std::uint8_t>(out.size() / DINGO_SQ_BLOCK);
    put(out, 0, ctrl);
    return out;
}

std::vector<std::byte> encode_receive(std::uint32_t tag, const std::vector<dingo_sge>& sges,
                                      unsigned log_stride) {
    std::vector<std::byte> out(std::size_t{1} << log_stride);
    dingo_rq_wqe header{};
    header.tag = tag;
    header.num_sge = static_cast<std::uint16_t>(sges.size());
    std::memcpy(out.data(), &header, sizeof header);
    const std::size_t room = out.size() - sizeof header;
    if (!sges.empty()) {
        std::memcpy(out.data() + sizeof header, sges.data(),
                    std::min(room, sges.size() * sizeof(dingo_sge)));
    }
    return out;
}

const char* status_name(std::uint8_t wcs) {
    switch (wcs) {
        case DINGO_WCS_SUCCESS:
            return "SUCCESS";
        case DINGO_WCS_LOC_LEN_ERR:
            return "LOC_LEN_ERR";
        case DINGO_WCS_LOC_QP_OP_ERR:
            return "LOC_QP_OP_ERR";
        case DINGO_WCS_LOC_PROT_ERR:
            return "LOC_PROT_ERR";
        case DINGO_WCS_WR_FLUSH_ERR:
            return "WR_FLUSH_ERR";
        case DINGO_WCS_MW_BIND_ERR:
            return "MW_BIND_ERR";
        case DINGO_WCS_BAD_RESP_ERR:
            return "BAD_RESP_ERR";
        case DINGO_WCS_LOC_ACCESS_ERR:
            return "LOC_ACCESS_ERR";
        case DINGO_WCS_REM_INV_REQ_ERR:
            return "REM_INV_REQ_ERR";
        case DINGO_WCS_REM_ACCESS_ERR:
            return "REM_ACCESS_ERR";
        case DINGO_WCS_REM_OP_ERR:
            return "REM_OP_ERR";
        case DINGO_WCS_RETRY_EXC_ERR:
            return "RETRY_EXC_ERR";
        case DINGO_WCS_RNR_RETRY_EXC_ERR:
            return "RNR_RETRY_EXC_ERR";
        case DINGO_WCS_REM_ABORT_ERR:
            return "REM_ABORT_ERR";
        case DINGO_WCS_FATAL_ERR:
            return "FATAL_ERR";
        case DINGO_WCS_GENERAL_ERR:
            return "GENERAL_ERR";
        default:
            return "unknown status";
    }
}

}  // namespace dingo::test
