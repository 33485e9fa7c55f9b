// SPDX-License-Identifier: BSD-2-Clause
//
// The effect of each opcode, by type of queue pair.
#include <cstring>

#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

struct Operation {
    const char* name;
    ibv_wr_opcode opcode;
    ibv_wc_opcode sent;
    bool receives, immediate, reads;
};
constexpr Operation kOperations[] = {
    {"IBV_WR_SEND", IBV_WR_SEND, IBV_WC_SEND, true, false, false},
    {"IBV_WR_SEND_WITH_IMM", IBV_WR_SEND_WITH_IMM, IBV_WC_SEND, true, true, false},
    {"IBV_WR_RDMA_WRITE", IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, false, false, false},
    {"IBV_WR_RDMA_WRITE_WITH_IMM", IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE, true, true,
     false},
    {"IBV_WR_RDMA_READ", IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, false, false, true},
};

bool exists(ibv_qp_type type, const Operation& operation) {
    return type == IBV_QPT_RC || (type == IBV_QPT_UC && !operation.reads) ||
           operation.opcode == IBV_WR_SEND || operation.opcode == IBV_WR_SEND_WITH_IMM;
}

void check_operation(ibv_qp_type type, const Operation& operation, std::uint32_t bytes) {
    Bench b;
    Pair pair(b, type);
    const std::size_t grh = type == IBV_QPT_UD ? 40 : 0;
    Region& from = pair.memory(operation.reads ? 1 : 0);
    Region& to = pair.memory(operation.reads ? 0 : 1);
    for (std::size_t i = 0; i < bytes; ++i) {
        from.data()[i] = static_cast<std::uint8_t>(i + 1);
    }
    CHECK_RETURNS(0, pair.receive(1, 55, static_cast<std::uint32_t>(bytes + grh)));
    ibv_send_wr wr = pair.request(operation.opcode, IBV_SEND_SIGNALED, bytes);
    wr.imm_data = 0x44332211;
    const ibv_wc sent = pair.run(wr);
    CHECK(sent.status == IBV_WC_SUCCESS && sent.opcode == operation.sent);
    if (operation.receives) {
        const ibv_wc wc = wait_wc(pair.cq(1));
        const bool write = operation.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
        CHECK(wc.status == IBV_WC_SUCCESS && wc.wr_id == 55);
        CHECK(wc.opcode == (write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV));
        CHECK(wc.byte_len == bytes + grh);
        CHECK(((wc.wc_flags & IBV_WC_WITH_IMM) != 0) == operation.immediate);
        CHECK(!operation.immediate || wc.imm_data == 0x44332211);
    } else {
        no_wc(pair.cq(1));
    }
    CHECK(std::memcmp(to.data() + grh, from.data(), bytes) == 0);
}

void add_transfers(Promises& all) {
    Page page(all, "ibv_post_send.3");
    struct Kind {
        const char* name;
        ibv_qp_type type;
    };
    for (const Kind& kind :
         {Kind{"RC", IBV_QPT_RC}, Kind{"UC", IBV_QPT_UC}, Kind{"UD", IBV_QPT_UD}}) {
        for (const Operation& operation : kOperations) {
            if (!exists(kind.type, operation)) {
                page(std::string(kind.name) + " has no " + operation.name + ": EINVAL",
                     [type = kind.type, operation] {
                         Bench b;
                         Pair pair(b, type);
                         ibv_send_wr wr = pair.request(IBV_WR_SEND);
                         wr.opcode = operation.opcode;
                         CHECK_RETURNS(EINVAL, pair.post(wr));
                     });
                continue;
            }
            for (const std::uint32_t bytes : {0U, 1U, 200U, 10000U}) {
                if (kind.type == IBV_QPT_UD && bytes > 1000) {
                    continue;
                }
                page(std::string(kind.name) + ": " + operation.name + " of " +
                         std::to_string(bytes) + " bytes carries every one, and completes",
                     [type = kind.type, operation, bytes] {
                         check_operation(type, operation, bytes);
                     });
            }
        }
    }
    page("UD: a message longer than the MTU fails", [] {
        Bench b;
        Pair pair(b, IBV_QPT_UD);
        const std::uint32_t mtu = 128U << b.port.active_mtu;
        ibv_send_wr wr = pair.request(IBV_WR_SEND, IBV_SEND_SIGNALED, mtu + 1);
        const int rc = pair.post(wr);
        CHECK(rc == EINVAL || (rc == 0 && wait_wc(pair.cq(0)).status == IBV_WC_LOC_LEN_ERR));
    });
    page("UD: a datagram with another Q_Key is dropped, and its sender does not notice", [] {
        Bench b;
        Pair pair(b, IBV_QPT_UD);
        CHECK_RETURNS(0, pair.receive(1, 1, 40 + 64));
        ibv_send_wr wr = pair.request(IBV_WR_SEND);
        wr.wr.ud.remote_qkey = kQkey + 1;
        CHECK(pair.run(wr).status == IBV_WC_SUCCESS);
        no_wc(pair.cq(1));
    });
}

void add_atomics(Promises& all) {
    Page page(all, "ibv_post_send.3");
    page("IBV_WR_ATOMIC_FETCH_AND_ADD adds and brings the old value", [] {
        Bench b;
        b.need_atomics();
        Pair pair(b);
        auto* const word = reinterpret_cast<std::uint64_t*>(pair.memory(1).data());
        auto* const old = reinterpret_cast<std::uint64_t*>(pair.memory(0).data());
        *word = ~std::uint64_t{0} - 1;
        ibv_send_wr wr = pair.request(IBV_WR_ATOMIC_FETCH_AND_ADD);
        wr.wr.atomic.compare_add = 5;
        const ibv_wc wc = pair.run(wr);
        CHECK(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_FETCH_ADD);
        CHECK(*old == ~std::uint64_t{0} - 1 && *word == 3);
    });
    for (const bool equal : {true, false}) {
        page(std::string("IBV_WR_ATOMIC_CMP_AND_SWP ") +
                 (equal ? "swaps what is equal" : "leaves what is not equal") +
                 " and brings the old value",
             [equal] {
                 Bench b;
                 b.need_atomics();
                 Pair pair(b);
                 auto* const word = reinterpret_cast<std::uint64_t*>(pair.memory(1).data());
                 auto* const old = reinterpret_cast<std::uint64_t*>(pair.memory(0).data());
                 *word = 0x1122334455667788;
                 ibv_send_wr wr = pair.request(IBV_WR_ATOMIC_CMP_AND_SWP);
                 wr.wr.atomic.compare_add = equal ? *word : 1;
                 wr.wr.atomic.swap = 9;
                 const ibv_wc wc = pair.run(wr);
                 CHECK(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_COMP_SWAP);
                 CHECK(*old == 0x1122334455667788);
                 CHECK(*word == (equal ? 9 : 0x1122334455667788));
             });
    }
    page(
        "an atomic on an address that is not 8-byte aligned: the peer answers with an invalid "
        "request",
        [] {
            Bench b;
            b.need_atomics();
            Pair pair(b);
            for (const auto opcode : {IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP}) {
                ibv_send_wr wr = pair.request(opcode);
                wr.wr.atomic.remote_addr += 4;
                CHECK(pair.run(wr).status == (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD
                                                  ? IBV_WC_REM_INV_REQ_ERR
                                                  : IBV_WC_WR_FLUSH_ERR));
            }
        });
    page("an atomic on memory without IBV_ACCESS_REMOTE_ATOMIC is refused by the peer", [] {
        Bench b;
        b.need_atomics();
        Pair pair(b);
        Region plain(b.pd.get(), 4096);
        ibv_send_wr wr = pair.request(IBV_WR_ATOMIC_FETCH_AND_ADD);
        wr.wr.atomic.remote_addr = plain.address();
        wr.wr.atomic.rkey = plain.rkey();
        CHECK(pair.run(wr).status == IBV_WC_REM_ACCESS_ERR);
    });
}

}  // namespace

void add_operations(Promises& all) {
    add_transfers(all);
    add_atomics(all);
}

}  // namespace verbs_promises
