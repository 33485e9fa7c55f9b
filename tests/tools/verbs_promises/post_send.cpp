// SPDX-License-Identifier: BSD-2-Clause
//
// Posting sends: requests that are accepted or refused, and bad_wr.
#include <cstring>

#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

constexpr unsigned kSignaled = IBV_SEND_SIGNALED;

void add_lists(Promises& all) {
    Page page(all, "ibv_post_send.3");
    page("an empty list is a success", [] {
        Bench b;
        Pair pair(b);
        ibv_send_wr* bad = nullptr;
        CHECK_RETURNS(0, ibv_post_send(pair.qp(0), nullptr, &bad));
        CHECK(pair.run(pair.request(IBV_WR_RDMA_WRITE)).status == IBV_WC_SUCCESS);
    });
    page("a list is done in its order", [] {
        Bench b;
        Pair pair(b);
        ibv_send_wr wrs[5];
        for (std::size_t i = 0; i < 5; ++i) {
            wrs[i] = pair.request(IBV_WR_RDMA_WRITE);
            wrs[i].wr_id = i;
            wrs[i].next = i < 4 ? &wrs[i + 1] : nullptr;
        }
        ibv_send_wr* bad = nullptr;
        CHECK_RETURNS(0, ibv_post_send(pair.qp(0), wrs, &bad));
        for (std::uint64_t i = 0; i < 5; ++i) {
            CHECK(wait_wc(pair.cq(0)).wr_id == i);
        }
    });
    page("bad_wr is the first that failed; those before it are done, those behind it are not", [] {
        Bench b;
        Pair pair(b);
        ibv_send_wr wrs[3];
        for (std::size_t i = 0; i < 3; ++i) {
            wrs[i] = pair.request(IBV_WR_RDMA_WRITE);
            wrs[i].wr_id = i;
            wrs[i].next = i < 2 ? &wrs[i + 1] : nullptr;
        }
        wrs[1].num_sge = 10000;
        ibv_send_wr* bad = nullptr;
        CHECK_RETURNS(EINVAL, ibv_post_send(pair.qp(0), wrs, &bad));
        CHECK(bad == &wrs[1]);
        CHECK(wait_wc(pair.cq(0)).wr_id == 0);
        no_wc(pair.cq(0));
    });
    for (const auto state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR}) {
        page("in state " + std::to_string(state) + ", before RTS, sends are refused with EINVAL",
             [state] {
                 Bench b;
                 Cq cq = b.cq();
                 Qp qp = b.qp(cq.get());
                 if (state >= IBV_QPS_INIT) {
                     CHECK_RETURNS(0, modify(qp.get(), to_init(IBV_QPT_RC)));
                 }
                 if (state >= IBV_QPS_RTR) {
                     CHECK_RETURNS(0, modify(qp.get(), to_rtr(b, IBV_QPT_RC, qp->qp_num)));
                 }
                 ibv_send_wr wr{}, *bad = nullptr;
                 wr.opcode = IBV_WR_SEND;
                 CHECK_RETURNS(EINVAL, ibv_post_send(qp.get(), &wr, &bad));
                 CHECK(bad == &wr);
             });
    }
    page("a full queue refuses with ENOMEM; completions make room", [] {
        Bench b;
        Pair pair(b);
        ibv_send_wr wr = pair.request(IBV_WR_SEND);  // no receive is posted
        int posted = 0, rc = 0;
        while ((rc = pair.post(wr)) == 0 && posted < 100000) {
            ++posted;
        }
        CHECK_RETURNS(ENOMEM, rc);
        CHECK(posted >= 16);
        CHECK_RETURNS(0, pair.receive(1, 1));
        CHECK(wait_wc(pair.cq(0)).status == IBV_WC_SUCCESS);
        CHECK_RETURNS(0, pair.post(wr));
    });
    page("an opcode that the type of queue pair has not is refused with EINVAL", [] {
        Bench b;
        Pair pair(b, IBV_QPT_UD);
        for (const auto opcode :
             {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
            ibv_send_wr wr = pair.request(IBV_WR_SEND);
            wr.opcode = opcode;
            CHECK_RETURNS(EINVAL, pair.post(wr));
        }
    });
    page("an opcode that does not exist is refused with EINVAL", [] {
        Bench b;
        Pair pair(b);
        ibv_send_wr wr = pair.request(IBV_WR_RDMA_WRITE);
        wr.opcode = static_cast<ibv_wr_opcode>(200);
        CHECK_RETURNS(EINVAL, pair.post(wr));
    });
    page("UD without an address handle is refused with EINVAL", [] {
        Bench b;
        Pair pair(b, IBV_QPT_UD);
        ibv_send_wr wr = pair.request(IBV_WR_SEND);
        wr.wr.ud.ah = nullptr;
        CHECK_RETURNS(EINVAL, pair.post(wr));
    });
}

void add_flags(Promises& all) {
    Page page(all, "ibv_post_send.3");
    page("without IBV_SEND_SIGNALED there is no completion", [] {
        Bench b;
        Pair pair(b);
        CHECK_RETURNS(0, pair.post(pair.request(IBV_WR_RDMA_WRITE, 0)));
        no_wc(pair.cq(0));
    });
    page("an unsignaled one that fails completes with its error", [] {
        Bench b;
        Pair pair(b);
        ibv_send_wr wr = pair.request(IBV_WR_RDMA_WRITE, 0);
        wr.wr.rdma.rkey ^= 0x77777700;
        CHECK(pair.run(wr).status == IBV_WC_REM_ACCESS_ERR);
    });
    page("with sq_sig_all each one completes", [] {
        Bench b;
        Cq cq = b.cq();
        auto init = b.init(cq.get());
        init.sq_sig_all = 1;
        Qp qp = b.qp(init);
        connect(b, qp.get(), qp->qp_num);
        Region memory(b.pd.get(), 4096);
        ibv_sge sge = memory.sge(0, 8);
        ibv_send_wr wr{}, *bad = nullptr;
        wr.wr_id = 6;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_RDMA_WRITE;
        wr.wr.rdma = {memory.address(64), memory.rkey()};
        CHECK_RETURNS(0, ibv_post_send(qp.get(), &wr, &bad));
        CHECK(wait_wc(cq.get()).wr_id == 6);
    });
    page("IBV_SEND_INLINE: the buffer can be used again at once, and needs no key", [] {
        Bench b;
        Pair pair(b);
        std::uint8_t bytes[64];
        std::memset(bytes, 'i', sizeof bytes);
        ibv_sge sge{reinterpret_cast<std::uintptr_t>(bytes), sizeof bytes, 0};
        ibv_send_wr wr = pair.request(IBV_WR_RDMA_WRITE, kSignaled | IBV_SEND_INLINE);
        wr.sg_list = &sge;
        CHECK_RETURNS(0, pair.post(wr));
        std::memset(bytes, 0, sizeof bytes);
        CHECK(wait_wc(pair.cq(0)).status == IBV_WC_SUCCESS);
        CHECK(pair.memory(1).data()[0] == 'i' && pair.memory(1).data()[63] == 'i');
    });
    page("unsignaled requests keep their places until a completion after them is polled", [] {
        Bench b;
        Pair pair(b);
        const ibv_send_wr wr = pair.request(IBV_WR_RDMA_WRITE, 0);
        int rc = 0;
        for (int i = 0; i < 10'000 && rc == 0; ++i) {
            rc = pair.post(wr);
        }
        CHECK_RETURNS(ENOMEM, rc);
    });
    page("more inline data than max_inline_data is refused with ENOMEM or EINVAL", [] {
        Bench b;
        Pair pair(b);
        ibv_qp_attr attr{};
        ibv_qp_init_attr init{};
        CHECK_RETURNS(0, ibv_query_qp(pair.qp(0), &attr, IBV_QP_CAP, &init));
        ibv_send_wr wr = pair.request(IBV_WR_RDMA_WRITE, kSignaled | IBV_SEND_INLINE,
                                      init.cap.max_inline_data + 1);
        const int rc = pair.post(wr);
        CHECK(rc == ENOMEM || rc == EINVAL);
        wr.sg_list->length = init.cap.max_inline_data;
        CHECK(pair.run(wr).status == IBV_WC_SUCCESS);
    });
    page("IBV_SEND_FENCE: a send behind a READ carries what the READ brought", [] {
        Bench b;
        Pair pair(b);
        for (int round = 0; round < 20; ++round) {
            pair.memory(1).data()[0] = static_cast<std::uint8_t>(round + 1);
            pair.memory(0).data()[0] = 0;
            CHECK_RETURNS(0, pair.receive(1, 1, 64, 4096));
            CHECK_RETURNS(0, pair.post(pair.request(IBV_WR_RDMA_READ, 0)));
            CHECK_RETURNS(0, pair.post(pair.request(IBV_WR_SEND, IBV_SEND_FENCE | kSignaled)));
            CHECK(wait_wc(pair.cq(0)).status == IBV_WC_SUCCESS);
            CHECK(wait_wc(pair.cq(1)).status == IBV_WC_SUCCESS);
            CHECK(pair.memory(1).data()[4096] == round + 1);
        }
    });
    page("no SGE at all, and SGEs of length 0, are messages of 0 bytes", [] {
        Bench b;
        Pair pair(b);
        for (const int sges : {0, 1}) {
            CHECK_RETURNS(0, pair.receive(1, 1));
            ibv_send_wr wr = pair.request(IBV_WR_SEND, kSignaled, 0);
            wr.num_sge = sges;
            CHECK(pair.run(wr).status == IBV_WC_SUCCESS);
            const ibv_wc wc = wait_wc(pair.cq(1));
            CHECK(wc.status == IBV_WC_SUCCESS && wc.byte_len == 0);
        }
    });
    page("num_sge above max_send_sge is refused with EINVAL", [] {
        Bench b;
        Pair pair(b);
        std::vector<ibv_sge> sges(1000, pair.memory(0).sge(0, 1));
        ibv_send_wr wr = pair.request(IBV_WR_RDMA_WRITE);
        wr.sg_list = sges.data();
        wr.num_sge = 1000;
        CHECK_RETURNS(EINVAL, pair.post(wr));
    });
}

}  // namespace

void add_post_send(Promises& all) {
    add_lists(all);
    add_flags(all);
}

}  // namespace verbs_promises
