// SPDX-License-Identifier: BSD-2-Clause
//
// Posting receives.
#include <cstring>

#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

constexpr unsigned kSignaled = IBV_SEND_SIGNALED;

}  // namespace

void add_post_recv(Promises& all) {
    Page page(all, "ibv_post_recv.3");
    page("an empty list is a success", [] {
        Bench b;
        Pair pair(b);
        ibv_recv_wr* bad = nullptr;
        CHECK_RETURNS(0, ibv_post_recv(pair.qp(0), nullptr, &bad));
    });
    page("in RESET receives are refused with EINVAL", [] {
        Bench b;
        Cq cq = b.cq();
        Qp qp = b.qp(cq.get());
        ibv_recv_wr wr{}, *bad = nullptr;
        CHECK_RETURNS(EINVAL, ibv_post_recv(qp.get(), &wr, &bad));
        CHECK(bad == &wr);
    });
    page("in INIT receives are taken, and used after RTR", [] {
        Bench b;
        Cq cq = b.cq();
        Qp from = b.qp(cq.get()), to = b.qp(cq.get());
        CHECK_RETURNS(0, modify(to.get(), to_init(IBV_QPT_RC)));
        ibv_recv_wr wr{}, *bad = nullptr;
        wr.wr_id = 3;
        CHECK_RETURNS(0, ibv_post_recv(to.get(), &wr, &bad));
        CHECK_RETURNS(0, modify(to.get(), to_rtr(b, IBV_QPT_RC, from->qp_num)));
        connect(b, from.get(), to->qp_num);
        ibv_send_wr send{}, *bad_send = nullptr;
        send.opcode = IBV_WR_SEND;
        CHECK_RETURNS(0, ibv_post_send(from.get(), &send, &bad_send));
        CHECK(wait_wc(cq.get()).wr_id == 3);
    });
    page("a full queue refuses with ENOMEM, and bad_wr is the first that was not posted", [] {
        Bench b;
        Cq cq = b.cq();
        auto init = b.init(cq.get());
        Qp qp = b.qp(init);
        CHECK_RETURNS(0, modify(qp.get(), to_init(IBV_QPT_RC)));
        std::vector<ibv_recv_wr> wrs(init.cap.max_recv_wr + 2);
        for (std::size_t i = 0; i + 1 < wrs.size(); ++i) {
            wrs[i].next = &wrs[i + 1];
        }
        ibv_recv_wr* bad = nullptr;
        CHECK_RETURNS(ENOMEM, ibv_post_recv(qp.get(), wrs.data(), &bad));
        CHECK(bad == &wrs[init.cap.max_recv_wr]);
    });
    for (const int sges : {-1, 10000}) {
        page(std::to_string(sges) + " SGEs are refused with EINVAL", [sges] {
            Bench b;
            Pair pair(b);
            ibv_recv_wr wr{}, *bad = nullptr;
            wr.num_sge = sges;
            CHECK_RETURNS(EINVAL, ibv_post_recv(pair.qp(0), &wr, &bad));
            CHECK(bad == &wr);
        });
    }
    page("receives are used in their order; byte_len is the message's", [] {
        Bench b;
        Pair pair(b);
        for (std::uint64_t i = 0; i < 8; ++i) {
            CHECK_RETURNS(0, pair.receive(1, i));
        }
        for (std::uint32_t i = 0; i < 8; ++i) {
            CHECK(pair.run(pair.request(IBV_WR_SEND, kSignaled, 8 * i)).status == IBV_WC_SUCCESS);
            const ibv_wc wc = wait_wc(pair.cq(1));
            CHECK(wc.wr_id == i && wc.byte_len == 8 * i && wc.opcode == IBV_WC_RECV);
        }
    });
    page("a message is scattered over the SGEs, and what is behind it stays", [] {
        Bench b;
        Pair pair(b);
        std::uint8_t* const to = pair.memory(1).data();
        std::memset(to, '-', 4096);
        ibv_sge sges[2] = {pair.memory(1).sge(0, 10), pair.memory(1).sge(2048, 100)};
        ibv_recv_wr wr{}, *bad = nullptr;
        wr.sg_list = sges;
        wr.num_sge = 2;
        CHECK_RETURNS(0, ibv_post_recv(pair.qp(1), &wr, &bad));
        std::memset(pair.memory(0).data(), '+', 64);
        CHECK(pair.run(pair.request(IBV_WR_SEND)).status == IBV_WC_SUCCESS);
        CHECK(wait_wc(pair.cq(1)).byte_len == 64);
        CHECK(to[0] == '+' && to[9] == '+' && to[10] == '-');
        CHECK(to[2048] == '+' && to[2048 + 53] == '+' && to[2048 + 54] == '-');
    });
    page("UD: the data starts 40 bytes into the buffer, behind the GRH", [] {
        Bench b;
        Pair pair(b, IBV_QPT_UD);
        CHECK_RETURNS(0, pair.receive(1, 1, 40 + 64));
        std::memset(pair.memory(0).data(), 'u', 64);
        CHECK(pair.run(pair.request(IBV_WR_SEND)).status == IBV_WC_SUCCESS);
        const ibv_wc wc = wait_wc(pair.cq(1));
        CHECK(wc.byte_len == 40 + 64 && (wc.wc_flags & IBV_WC_GRH) != 0);
        CHECK(wc.src_qp == pair.qp(0)->qp_num);
        CHECK(pair.memory(1).data()[40] == 'u' && pair.memory(1).data()[103] == 'u');
    });
}

}  // namespace verbs_promises
