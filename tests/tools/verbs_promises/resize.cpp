// SPDX-License-Identifier: BSD-2-Clause
//
// Resizing completion queues.
#include <unistd.h>

#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

void resize(ibv_cq* cq, int entries) {
    done(ibv_resize_cq(cq, entries), "resizing of CQs");
}

/// Posts `count` WRITEs with ids from `first` on; every `signaled`th has a completion.
void write(Pair& pair, std::uint64_t first, int count, int signaled = 1) {
    for (int i = 0; i < count; ++i) {
        ibv_send_wr wr = pair.request(IBV_WR_RDMA_WRITE);
        wr.wr_id = first + static_cast<std::uint64_t>(i);
        wr.send_flags = (i + 1) % signaled == 0 ? IBV_SEND_SIGNALED : 0;
        CHECK_RETURNS(0, pair.post(wr));
    }
}

/// Waits until side 0's WRITEs are probably done; if they are not, no promise breaks.
void rest() {
    usleep(100'000);
}

void expect_ids(ibv_cq* cq, std::uint64_t first, int count) {
    for (int i = 0; i < count; ++i) {
        const ibv_wc wc = wait_wc(cq);
        CHECK(wc.status == IBV_WC_SUCCESS);
        CHECK(wc.wr_id == first + static_cast<std::uint64_t>(i));
    }
}

}  // namespace

void add_resize(Promises& all) {
    Page page(all, "ibv_resize_cq.3");
    for (const int entries : {1, 100, 1000}) {
        page("to " + std::to_string(entries) + ": cqe is updated to as many or more", [entries] {
            Bench b;
            Cq queue = b.cq(10);
            resize(queue.get(), entries);
            CHECK(queue->cqe >= entries);
        });
    }
    for (const int entries : {0, -1}) {
        page("to " + std::to_string(entries) + " is refused with EINVAL", [entries] {
            Bench b;
            Cq queue = b.cq(10);
            resize(queue.get(), 20);
            CHECK_RETURNS(EINVAL, ibv_resize_cq(queue.get(), entries));
            CHECK(queue->cqe >= 20);
        });
    }
    page("to more than max_cqe is refused with EINVAL, and the CQ stays", [] {
        Bench b;
        Pair pair(b);
        const int before = pair.cq(0)->cqe;
        resize(pair.cq(0), before);
        CHECK_RETURNS(EINVAL, ibv_resize_cq(pair.cq(0), b.attr.max_cqe + 1));
        CHECK(pair.run(pair.request(IBV_WR_RDMA_WRITE)).status == IBV_WC_SUCCESS);
    });
    page("entries that wait are kept, in their order, when it grows", [] {
        Bench b;
        Pair pair(b, IBV_QPT_RC, 16);
        write(pair, 0, 8);
        rest();
        resize(pair.cq(0), 500);
        write(pair, 8, 4);
        expect_ids(pair.cq(0), 0, 12);
    });
    page("entries that wait are kept when it shrinks to what they need", [] {
        Bench b;
        Pair pair(b, IBV_QPT_RC, 200);
        write(pair, 0, 8);
        rest();
        resize(pair.cq(0), 8);
        expect_ids(pair.cq(0), 0, 8);
    });
    page("a send in flight and its entry are one, not two", [] {
        Bench b;
        Pair pair(b, IBV_QPT_RC, 200);
        for (int round = 0; round < 20; ++round) {
            resize(pair.cq(0), 200);
            write(pair, 0, 8);
            resize(pair.cq(0), 8);  // some WRITEs are done, some are not
            expect_ids(pair.cq(0), 0, 8);
        }
    });
    page("finished sends without a completion need no entry", [] {
        Bench b;
        Pair pair(b, IBV_QPT_RC, 200);
        write(pair, 0, 12, 100);
        rest();
        resize(pair.cq(0), 2);
    });
    page("a size that does not hold the entries that wait is an error, and they stay", [] {
        Bench b;
        Pair pair(b, IBV_QPT_RC, 200);
        resize(pair.cq(0), 200);
        write(pair, 0, 12);
        rest();
        CHECK(ibv_resize_cq(pair.cq(0), 4) != 0);
        expect_ids(pair.cq(0), 0, 12);
    });
    page("again and again before anything is polled: nothing is lost", [] {
        Bench b;
        Pair pair(b, IBV_QPT_RC, 100);
        std::uint64_t id = 0;
        for (const int entries : {200, 20, 400, 16, 1000, 64}) {
            write(pair, id, 2);
            id += 2;
            rest();
            resize(pair.cq(0), entries);
        }
        write(pair, id, 2);
        expect_ids(pair.cq(0), 0, 14);
        no_wc(pair.cq(0));
    });
    page("an armed CQ stays armed", [] {
        Bench b;
        Channel channel(made(ibv_create_comp_channel(b.ctx()), "channel"));
        Cq queue = b.cq(10, channel.get());
        resize(queue.get(), 20);
        auto init = b.init(queue.get());
        Qp qp = b.qp(init);
        CHECK_RETURNS(0, modify(qp.get(), to_init(IBV_QPT_RC)));
        CHECK_RETURNS(0, ibv_req_notify_cq(queue.get(), 0));
        resize(queue.get(), 200);
        ibv_recv_wr wr{}, *bad = nullptr;
        CHECK_RETURNS(0, ibv_post_recv(qp.get(), &wr, &bad));
        CHECK_RETURNS(0, modify(qp.get(), to_state(IBV_QPS_ERR)));
        ibv_cq* at = nullptr;
        void* context = nullptr;
        CHECK(ibv_get_cq_event(channel.get(), &at, &context) == 0 && at == queue.get());
        ibv_ack_cq_events(at, 1);
    });
}

}  // namespace verbs_promises
