// SPDX-License-Identifier: BSD-2-Clause
//
// Requests that are refused, locally or by the peer.
#include <cstring>

#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

struct Refused {
    const char* name;
    ibv_wr_opcode opcode;
    int access;  ///< of side 1's memory
    void (*spoil)(Pair& pair, ibv_send_wr& wr);
};
constexpr int kRead = IBV_ACCESS_REMOTE_READ;
constexpr int kWrite = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
constexpr Refused kRefused[] = {
    {"a key that is nobody's", IBV_WR_RDMA_WRITE, kAllAccess,
     [](Pair&, ibv_send_wr& wr) { wr.wr.rdma.rkey ^= 0x7a7a7a00; }},
    {"a WRITE where only READ is granted", IBV_WR_RDMA_WRITE, kRead, nullptr},
    {"a READ where only WRITE is granted", IBV_WR_RDMA_READ, kWrite, nullptr},
    {"a WRITE one byte behind the region", IBV_WR_RDMA_WRITE, kAllAccess,
     [](Pair&, ibv_send_wr& wr) { wr.wr.rdma.remote_addr += 4096 - 63; }},
    {"a READ one byte before the region", IBV_WR_RDMA_READ, kAllAccess,
     [](Pair&, ibv_send_wr& wr) { wr.wr.rdma.remote_addr -= 1; }},
    {"a WRITE whose end wraps around", IBV_WR_RDMA_WRITE, kAllAccess,
     [](Pair&, ibv_send_wr& wr) { wr.wr.rdma.remote_addr = ~std::uint64_t{0} - 8; }},
};

void add_refused(Promises& all) {
    Page page(all, "ibv_poll_cq.3");
    for (const Refused& refused : kRefused) {
        page(std::string("IBV_WC_REM_ACCESS_ERR: ") + refused.name, [refused] {
            Bench b;
            Pair pair(b);
            Region target(b.pd.get(), 4096, refused.access);
            ibv_send_wr wr = pair.request(refused.opcode);
            wr.wr.rdma = {target.address(), target.rkey()};
            if (refused.spoil != nullptr) {
                refused.spoil(pair, wr);
            }
            const std::vector<std::uint8_t> before(target.data(), target.data() + 4096);
            CHECK(pair.run(wr).status == IBV_WC_REM_ACCESS_ERR);
            CHECK(std::memcmp(before.data(), target.data(), 4096) == 0);
            CHECK(state_of(pair.qp(0)) == IBV_QPS_ERR);
        });
    }
    page("IBV_WC_REM_ACCESS_ERR: memory of another PD", [] {
        Bench b;
        Pair pair(b);
        Pd other(made(ibv_alloc_pd(b.ctx()), "PD"));
        Region foreign(other.get(), 4096);
        ibv_send_wr wr = pair.request(IBV_WR_RDMA_WRITE);
        wr.wr.rdma = {foreign.address(), foreign.rkey()};
        CHECK(pair.run(wr).status == IBV_WC_REM_ACCESS_ERR);
    });
    struct Local {
        const char* name;
        void (*spoil)(Bench& b, Pair& pair, ibv_sge& sge);
    };
    for (const Local& local : {
             Local{"a local key that is nobody's",
                   [](Bench&, Pair&, ibv_sge&sge) { sge.lkey ^= 0x7a7a7a00; }},
             Local{"bytes behind the local region",
                   [](Bench&, Pair&pair, ibv_sge&sge) {
                       sge.addr = pair.memory(0).address((1 << 16) - 8);
                   }},
         }) {
        page(std::string("IBV_WC_LOC_PROT_ERR: ") + local.name, [local] {
            Bench b;
            Pair pair(b);
            ibv_send_wr wr = pair.request(IBV_WR_RDMA_WRITE);
            local.spoil(b, pair, *wr.sg_list);
            CHECK(pair.run(wr).status == IBV_WC_LOC_PROT_ERR);
        });
    }
    page("IBV_WC_LOC_PROT_ERR: a READ into memory without IBV_ACCESS_LOCAL_WRITE", [] {
        Bench b;
        Pair pair(b);
        Region fixed(b.pd.get(), 4096, IBV_ACCESS_REMOTE_READ);
        ibv_send_wr wr = pair.request(IBV_WR_RDMA_READ);
        *wr.sg_list = fixed.sge(0, 64);
        CHECK(pair.run(wr).status == IBV_WC_LOC_PROT_ERR);
    });
    page("a receive that is too short: IBV_WC_LOC_LEN_ERR there, IBV_WC_REM_INV_REQ_ERR here", [] {
        Bench b;
        Pair pair(b);
        CHECK_RETURNS(0, pair.receive(1, 1, 63));
        CHECK(pair.run(pair.request(IBV_WR_SEND)).status == IBV_WC_REM_INV_REQ_ERR);
        CHECK(wait_wc(pair.cq(1)).status == IBV_WC_LOC_LEN_ERR);
    });
    page("IBV_WC_RNR_RETRY_EXC_ERR: no receive, and rnr_retry is used up", [] {
        Bench b;
        Pair pair(b);
        for (const int side : {0, 1}) {
            CHECK_RETURNS(0, modify(pair.qp(side), to_state(IBV_QPS_RESET)));
            CHECK_RETURNS(0, modify(pair.qp(side), to_init(IBV_QPT_RC)));
            CHECK_RETURNS(0,
                          modify(pair.qp(side), to_rtr(b, IBV_QPT_RC, pair.qp(1 - side)->qp_num)));
            Step rts = to_rts(IBV_QPT_RC);
            rts.attr.rnr_retry = 1;
            CHECK_RETURNS(0, modify(pair.qp(side), rts));
        }
        CHECK(pair.run(pair.request(IBV_WR_SEND)).status == IBV_WC_RNR_RETRY_EXC_ERR);
    });
    page("IBV_WC_RETRY_EXC_ERR: the peer is not there", [] {
        Bench b;
        Cq cq = b.cq();
        Qp qp = b.qp(cq.get());
        CHECK_RETURNS(0, modify(qp.get(), to_init(IBV_QPT_RC)));
        CHECK_RETURNS(0, modify(qp.get(), to_rtr(b, IBV_QPT_RC, 0xfffff0)));
        Step rts = to_rts(IBV_QPT_RC);
        rts.attr.timeout = 8;
        rts.attr.retry_cnt = 1;
        CHECK_RETURNS(0, modify(qp.get(), rts));
        ibv_send_wr wr{}, *bad = nullptr;
        wr.opcode = IBV_WR_SEND;
        CHECK_RETURNS(0, ibv_post_send(qp.get(), &wr, &bad));
        CHECK(wait_wc(cq.get()).status == IBV_WC_RETRY_EXC_ERR);
    });
    page("IBV_WC_WR_FLUSH_ERR: what was posted behind a failed one", [] {
        Bench b;
        Pair pair(b);
        ibv_send_wr wr = pair.request(IBV_WR_RDMA_WRITE);
        const std::uint32_t right = wr.wr.rdma.rkey;
        wr.wr.rdma.rkey = right ^ 0x7a7a7a00;
        CHECK_RETURNS(0, pair.post(wr));
        wr.wr.rdma.rkey = right;
        wr.wr_id = 78;
        CHECK_RETURNS(0, pair.post(wr));
        CHECK(wait_wc(pair.cq(0)).status == IBV_WC_REM_ACCESS_ERR);
        const ibv_wc wc = wait_wc(pair.cq(0));
        CHECK(wc.wr_id == 78 && wc.status == IBV_WC_WR_FLUSH_ERR);
    });
}

}  // namespace

void add_remote_errors(Promises& all) {
    add_refused(all);
}

}  // namespace verbs_promises
