// SPDX-License-Identifier: BSD-2-Clause
//
// Completion queues: creation, destruction, polling.
#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

void add_create(Promises& all) {
    Page cq(all, "ibv_create_cq.3");
    for (const int entries : {1, 2, 3, 100, 1000}) {
        cq(std::to_string(entries) + " entries asked for, as many or more given", [entries] {
            Bench b;
            Cq queue = b.cq(entries);
            CHECK(queue->cqe >= entries);
        });
    }
    cq("max_cqe entries can be had", [] {
        Bench b;
        Cq queue = b.cq(b.attr.max_cqe);
        CHECK(queue->cqe >= b.attr.max_cqe);
    });
    cq("more than max_cqe is refused with EINVAL", [] {
        Bench b;
        CHECK_NULL(EINVAL, ibv_create_cq(b.ctx(), b.attr.max_cqe + 1, nullptr, nullptr, 0));
    });
    for (const int entries : {0, -1}) {
        cq(std::to_string(entries) + " entries are refused with EINVAL", [entries] {
            Bench b;
            CHECK_NULL(EINVAL, ibv_create_cq(b.ctx(), entries, nullptr, nullptr, 0));
        });
    }
    cq("context, channel and cq_context are those of the call", [] {
        Bench b;
        Channel channel(made(ibv_create_comp_channel(b.ctx()), "channel"));
        int mark = 0;
        Cq queue = b.cq(4, channel.get(), &mark);
        CHECK(queue->context == b.ctx() && queue->channel == channel.get());
        CHECK(queue->cq_context == &mark);
    });
    cq("each completion vector below num_comp_vectors can be used", [] {
        Bench b;
        for (int v = 0; v < b.ctx()->num_comp_vectors; ++v) {
            Cq queue(made(ibv_create_cq(b.ctx(), 4, nullptr, nullptr, v), "CQ"));
        }
    });
    cq("comp_vector num_comp_vectors is refused with EINVAL", [] {
        Bench b;
        CHECK_NULL(EINVAL, ibv_create_cq(b.ctx(), 4, nullptr, nullptr, b.ctx()->num_comp_vectors));
        CHECK_NULL(EINVAL, ibv_create_cq(b.ctx(), 4, nullptr, nullptr, -1));
    });
    cq("ibv_destroy_cq() returns 0", [] {
        Bench b;
        CHECK_RETURNS(0, ibv_destroy_cq(b.cq().release()));
    });
    cq("ibv_destroy_cq() with a queue pair on it fails with EBUSY, and the CQ works on", [] {
        Bench b;
        Pair pair(b);
        CHECK_RETURNS(EBUSY, ibv_destroy_cq(pair.cq(0)));
        CHECK(pair.run(pair.request(IBV_WR_RDMA_WRITE)).status == IBV_WC_SUCCESS);
    });
    cq("100 at a time", [] {
        Bench b;
        std::vector<Cq> many;
        for (int i = 0; i < 100; ++i) {
            many.push_back(b.cq(1));
        }
    });
}

void add_poll(Promises& all) {
    Page poll(all, "ibv_poll_cq.3");
    poll("an empty CQ gives 0", [] {
        Bench b;
        Cq queue = b.cq();
        ibv_wc wc{};
        CHECK(ibv_poll_cq(queue.get(), 1, &wc) == 0);
    });
    poll("0 entries asked for are 0, and none is lost", [] {
        Bench b;
        Pair pair(b);
        CHECK_RETURNS(0, pair.post(pair.request(IBV_WR_RDMA_WRITE)));
        ibv_wc wc{};
        for (int i = 0; i < 100; ++i) {
            CHECK(ibv_poll_cq(pair.cq(0), 0, &wc) == 0);
        }
        CHECK(wait_wc(pair.cq(0)).wr_id == 77);
    });
    poll("never more than num_entries, in the order of the requests", [] {
        Bench b;
        Pair pair(b);
        ibv_send_wr wr = pair.request(IBV_WR_RDMA_WRITE);
        for (wr.wr_id = 0; wr.wr_id < 8; ++wr.wr_id) {
            CHECK_RETURNS(0, pair.post(wr));
        }
        std::uint64_t next = 0;
        CHECK(wait_wc(pair.cq(0)).wr_id == next++);
        while (next < 8) {
            ibv_wc wc[3]{};
            const int n = ibv_poll_cq(pair.cq(0), 2, wc);
            CHECK(n >= 0 && n <= 2 && wc[2].wr_id == 0);
            for (int i = 0; i < n; ++i) {
                CHECK(wc[i].wr_id == next++);
            }
        }
        no_wc(pair.cq(0));
    });
    poll("a completion has wr_id, status, opcode and qp_num", [] {
        Bench b;
        Pair pair(b);
        const ibv_wc wc = pair.run(pair.request(IBV_WR_RDMA_WRITE));
        CHECK(wc.wr_id == 77 && wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RDMA_WRITE);
        CHECK(wc.qp_num == pair.qp(0)->qp_num);
    });
    poll("a completion with error has wr_id, status and qp_num", [] {
        Bench b;
        Pair pair(b);
        ibv_send_wr wr = pair.request(IBV_WR_RDMA_WRITE);
        wr.wr.rdma.rkey ^= 0x55555500;
        const ibv_wc wc = pair.run(wr);
        CHECK(wc.status == IBV_WC_REM_ACCESS_ERR && wc.wr_id == 77);
        CHECK(wc.qp_num == pair.qp(0)->qp_num);
    });
    poll("completions of a destroyed queue pair are gone", [] {
        Bench b;
        Cq queue = b.cq();
        Qp qp = b.qp(queue.get());
        CHECK_RETURNS(0, modify(qp.get(), to_init(IBV_QPT_RC)));
        ibv_recv_wr wr{}, *bad = nullptr;
        CHECK_RETURNS(0, ibv_post_recv(qp.get(), &wr, &bad));
        CHECK_RETURNS(0, modify(qp.get(), to_state(IBV_QPS_ERR)));
        qp.reset();
        no_wc(queue.get());
    });
    poll("a CQ that takes more completions than it holds: the event IBV_EVENT_CQ_ERR", [] {
        Bench b;
        Cq small = b.cq(1);
        const int over = 4 * small->cqe + 256;
        auto init = b.init(small.get());
        init.cap.max_recv_wr = static_cast<std::uint32_t>(over);
        Qp qp = b.qp(init);
        CHECK_RETURNS(0, modify(qp.get(), to_init(IBV_QPT_RC)));
        for (int i = 0; i < over; ++i) {
            ibv_recv_wr wr{}, *bad = nullptr;
            CHECK_RETURNS(0, ibv_post_recv(qp.get(), &wr, &bad));
        }
        CHECK_RETURNS(0, modify(qp.get(), to_state(IBV_QPS_ERR)));
        for (;;) {  // the QP may report events first
            ibv_async_event event{};
            CHECK(ibv_get_async_event(b.ctx(), &event) == 0);
            ibv_ack_async_event(&event);
            if (event.event_type == IBV_EVENT_CQ_ERR) {
                CHECK(event.element.cq == small.get());
                return;
            }
        }
    });
}

}  // namespace

void add_cq(Promises& all) {
    add_create(all);
    add_poll(all);
}

}  // namespace verbs_promises
