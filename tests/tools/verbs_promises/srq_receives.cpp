// SPDX-License-Identifier: BSD-2-Clause
//
// Receives from shared receive queues, and the queues' events.
#include <cstring>
#include <set>

#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

/// An SRQ with a CQ for each of two queue pairs of side 1; side 0 sends to them.
struct Shared {
    explicit Shared(ibv_qp_type type = IBV_QPT_RC)
        : srq(b.srq()), memory(b.pd.get(), 1 << 16), cq(b.cq(64)), peer_cq(b.cq(64)) {
        for (int i = 0; i < 2; ++i) {
            to[i] = b.qp(cq.get(), type, srq.get());
            from[i] = b.qp(peer_cq.get(), type);
        }
        for (int i = 0; i < 2; ++i) {
            connect(b, to[i].get(), from[i]->qp_num);
            connect(b, from[i].get(), to[i]->qp_num);
        }
    }
    void receive(std::uint64_t id) {
        ibv_sge sge = memory.sge(64 * id, 64);
        ibv_recv_wr wr{}, *bad = nullptr;
        wr.wr_id = id;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        CHECK_RETURNS(0, ibv_post_srq_recv(srq.get(), &wr, &bad));
    }
    void send(int pair, std::uint32_t bytes = 8) {
        ibv_sge sge = memory.sge(32768, bytes);
        ibv_send_wr wr{}, *bad = nullptr;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_SEND;
        CHECK_RETURNS(0, ibv_post_send(from[pair].get(), &wr, &bad));
    }
    ibv_async_event event() {
        ibv_async_event e{};
        CHECK(ibv_get_async_event(b.ctx(), &e) == 0);
        ibv_ack_async_event(&e);
        return e;
    }

    Bench b;
    Srq srq;
    Region memory;
    Cq cq, peer_cq;
    Qp to[2], from[2];
};

void add_posting(Promises& all) {
    Page page(all, "ibv_post_srq_recv.3");
    page("an empty list is a success", [] {
        Bench b;
        Srq srq = b.srq();
        ibv_recv_wr* bad = nullptr;
        CHECK_RETURNS(0, ibv_post_srq_recv(srq.get(), nullptr, &bad));
    });
    page("more SGEs than max_sge are refused with EINVAL; bad_wr says which; those before it stay",
         [] {
             Bench b;
             ibv_srq_init_attr init{};
             init.attr = {4, 1, 0};
             Srq srq(made(ibv_create_srq(b.pd.get(), &init), "shared receive queues"));
             std::vector<ibv_sge> sges(init.attr.max_sge + 1);
             ibv_recv_wr wrs[2]{}, *bad = nullptr;
             wrs[0].next = &wrs[1];
             wrs[1].sg_list = sges.data();
             wrs[1].num_sge = static_cast<int>(sges.size());
             CHECK_RETURNS(EINVAL, ibv_post_srq_recv(srq.get(), wrs, &bad));
             CHECK(bad == &wrs[1]);
         });
    page("a full queue refuses with ENOMEM, and bad_wr is the first that was not posted", [] {
        Bench b;
        ibv_srq_init_attr init{};
        init.attr = {4, 1, 0};
        Srq srq(made(ibv_create_srq(b.pd.get(), &init), "shared receive queues"));
        std::vector<ibv_recv_wr> wrs(init.attr.max_wr + 2);
        for (std::size_t i = 0; i + 1 < wrs.size(); ++i) {
            wrs[i].next = &wrs[i + 1];
        }
        ibv_recv_wr* bad = nullptr;
        CHECK_RETURNS(ENOMEM, ibv_post_srq_recv(srq.get(), wrs.data(), &bad));
        CHECK(bad == &wrs[init.attr.max_wr]);
    });
    for (const auto type : {IBV_QPT_RC, IBV_QPT_UD}) {
        page(std::string(type == IBV_QPT_RC ? "RC" : "UD") +
                 " queue pairs can be associated with it",
             [type] {
                 Bench b;
                 Srq srq = b.srq();
                 Cq cq = b.cq();
                 Qp qp = b.qp(cq.get(), type, srq.get());
                 CHECK(qp->srq == srq.get());
             });
    }
    page("queue pairs share its receives, each takes one", [] {
        Shared s;
        for (std::uint64_t id = 0; id < 4; ++id) {
            s.receive(id);
        }
        s.send(0);
        s.send(1);
        s.send(1);
        s.send(0);
        std::set<std::uint64_t> ids;
        std::multiset<std::uint32_t> qps;
        for (int i = 0; i < 4; ++i) {
            const ibv_wc wc = wait_wc(s.cq.get());
            CHECK(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV);
            ids.insert(wc.wr_id);
            qps.insert(wc.qp_num);
        }
        CHECK(ids.size() == 4);
        CHECK(qps.count(s.to[0]->qp_num) == 2 && qps.count(s.to[1]->qp_num) == 2);
    });
    page("an empty one makes the sender wait; a receive lets it go on", [] {
        Shared s;
        s.send(0);
        no_wc(s.cq.get());
        s.receive(1);
        CHECK(wait_wc(s.cq.get()).status == IBV_WC_SUCCESS);
    });
    page("slots are given back, whatever the order, for thousands of receives", [] {
        Shared s;
        for (std::uint64_t id = 0; id < 16; ++id) {
            s.receive(id);
        }
        for (int i = 0; i < 1000; ++i) {
            s.send(i & 1);
            const ibv_wc wc = wait_wc(s.cq.get());
            CHECK(wc.status == IBV_WC_SUCCESS);
            s.receive(wc.wr_id);
            ibv_wc sent{};
            ibv_poll_cq(s.peer_cq.get(), 1, &sent);
            if (i % 8 == 7) {  // polling the completions frees the send queue
                ibv_sge sge = s.memory.sge(40000, 8);
                for (int q = 0; q < 2; ++q) {
                    ibv_send_wr wr{}, *bad = nullptr;
                    wr.sg_list = &sge;
                    wr.num_sge = 1;
                    wr.opcode = IBV_WR_RDMA_WRITE;
                    wr.send_flags = IBV_SEND_SIGNALED;
                    wr.wr.rdma = {s.memory.address(48000), s.memory.rkey()};
                    CHECK_RETURNS(0, ibv_post_send(s.from[q].get(), &wr, &bad));
                    CHECK(wait_wc(s.peer_cq.get()).status == IBV_WC_SUCCESS);
                }
            }
        }
    });
}

void add_events(Promises& all) {
    Page limit(all, "ibv_modify_srq.3");
    limit("IBV_EVENT_SRQ_LIMIT_REACHED once the receives drop below the limit, once", [] {
        Shared s;
        for (std::uint64_t id = 0; id < 4; ++id) {
            s.receive(id);
        }
        ibv_srq_attr attr{0, 0, 3};
        CHECK_RETURNS(0, ibv_modify_srq(s.srq.get(), &attr, IBV_SRQ_LIMIT));
        for (int i = 0; i < 3; ++i) {
            s.send(0);
            CHECK(wait_wc(s.cq.get()).status == IBV_WC_SUCCESS);
        }
        const ibv_async_event event = s.event();
        CHECK(event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED);
        CHECK(event.element.srq == s.srq.get());
        CHECK_RETURNS(0, ibv_query_srq(s.srq.get(), &attr));
        CHECK(attr.srq_limit == 0);
    });
    Page async(all, "ibv_get_async_event.3");
    async("IBV_EVENT_QP_LAST_WQE_REACHED when a queue pair with an SRQ goes to ERR", [] {
        Shared s;
        CHECK_RETURNS(0, modify(s.to[1].get(), to_state(IBV_QPS_ERR)));
        const ibv_async_event event = s.event();
        CHECK(event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED);
        CHECK(event.element.qp == s.to[1].get());
    });
    Page recv(all, "ibv_post_recv.3");
    recv("a queue pair with an SRQ has no receive queue of its own: EINVAL", [] {
        Shared s;
        ibv_recv_wr wr{}, *bad = nullptr;
        CHECK_RETURNS(EINVAL, ibv_post_recv(s.to[0].get(), &wr, &bad));
        CHECK(bad == &wr);
    });
}

}  // namespace

void add_srq_receives(Promises& all) {
    add_posting(all);
    add_events(all);
}

}  // namespace verbs_promises
