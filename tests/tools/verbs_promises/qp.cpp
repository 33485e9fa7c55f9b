// SPDX-License-Identifier: BSD-2-Clause
//
// Creating and destroying queue pairs.
#include <algorithm>

#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

const char* name_of(ibv_qp_type type) {
    return type == IBV_QPT_RC ? "RC" : type == IBV_QPT_UC ? "UC" : "UD";
}

void add_create(Promises& all) {
    Page page(all, "ibv_create_qp.3");
    for (const auto type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
        const std::string name = name_of(type);
        page(name + ": is in RESET, with the objects of the call", [type] {
            Bench b;
            Cq send = b.cq(), recv = b.cq();
            int mark = 0;
            auto init = b.init(send.get(), type);
            init.recv_cq = recv.get();
            init.qp_context = &mark;
            Qp qp = b.qp(init);
            CHECK(qp->qp_context == &mark && qp->context == b.ctx() && qp->pd == b.pd.get());
            CHECK(qp->send_cq == send.get() && qp->recv_cq == recv.get() && qp->srq == nullptr);
            CHECK(qp->qp_type == type && qp->state == IBV_QPS_RESET);
            CHECK(state_of(qp.get()) == IBV_QPS_RESET);
        });
        page(name + ": cap is updated to values as large or larger", [type] {
            for (const ibv_qp_cap cap :
                 {ibv_qp_cap{1, 1, 1, 1, 0}, ibv_qp_cap{100, 50, 3, 2, 30}}) {
                Bench b;
                Cq cq = b.cq();
                auto init = b.init(cq.get(), type);
                init.cap = cap;
                Qp qp = b.qp(init);
                CHECK(init.cap.max_send_wr >= cap.max_send_wr);
                CHECK(init.cap.max_recv_wr >= cap.max_recv_wr);
                CHECK(init.cap.max_send_sge >= cap.max_send_sge);
                CHECK(init.cap.max_recv_sge >= cap.max_recv_sge);
                CHECK(init.cap.max_inline_data >= cap.max_inline_data);
            }
        });
        page(name + ": queues of the sizes that ibv_query_device(3) says can be had", [type] {
            Bench b;
            Cq cq = b.cq();
            auto init = b.init(cq.get(), type);
            init.cap.max_recv_wr = static_cast<std::uint32_t>(b.attr.max_qp_wr);
            init.cap.max_recv_sge = static_cast<std::uint32_t>(b.attr.max_sge);
            Qp receives = b.qp(init);
            init = b.init(cq.get(), type);
            init.cap.max_send_wr = static_cast<std::uint32_t>(b.attr.max_qp_wr);
            Qp sends = b.qp(init);
            init = b.init(cq.get(), type);
            init.cap.max_send_sge = static_cast<std::uint32_t>(b.attr.max_sge);
            Qp entries = b.qp(init);
        });
        page(name + ": what cap was updated to can be asked for again", [type] {
            for (const std::uint32_t sges : {1, 2, 3, 6, 8, 10}) {
                Bench b;
                Cq cq = b.cq();
                auto init = b.init(cq.get(), type);
                init.cap.max_send_wr = static_cast<std::uint32_t>(b.attr.max_qp_wr);
                init.cap.max_send_sge = std::min(sges, static_cast<std::uint32_t>(b.attr.max_sge));
                Qp first = b.qp(init);
                Qp second = b.qp(init);
            }
        });
        page(name + ": numbers are not shared, and none is 0 or 1", [type] {
            Bench b;
            Cq cq = b.cq();
            Qp one = b.qp(cq.get(), type), two = b.qp(cq.get(), type);
            CHECK(one->qp_num > 1 && two->qp_num > 1 && one->qp_num != two->qp_num);
            CHECK(one->qp_num < 1U << 24);
        });
    }
    struct Wrong {
        const char* name;
        void (*spoil)(const Bench& b, ibv_qp_init_attr& init);
    };
    for (const Wrong& wrong : {
             Wrong{"max_send_wr above max_qp_wr",
                   [](const Bench&b, ibv_qp_init_attr&init) {
                       init.cap.max_send_wr = static_cast<std::uint32_t>(b.attr.max_qp_wr) + 1;
                   }},
             Wrong{"max_recv_wr above max_qp_wr",
                   [](const Bench&b, ibv_qp_init_attr&init) {
                       init.cap.max_recv_wr = static_cast<std::uint32_t>(b.attr.max_qp_wr) + 1;
                   }},
             Wrong{"max_send_sge of 1000",
                   [](const Bench&, ibv_qp_init_attr&init) { init.cap.max_send_sge = 1000; }},
             Wrong{"max_recv_sge of 1000",
                   [](const Bench&, ibv_qp_init_attr&init) { init.cap.max_recv_sge = 1000; }},
             Wrong{"a megabyte of inline data",
                   [](const Bench&, ibv_qp_init_attr&init) { init.cap.max_inline_data = 1 << 20; }},
             Wrong{"no send CQ",
                   [](const Bench&, ibv_qp_init_attr&init) { init.send_cq = nullptr; }},
             Wrong{"no receive CQ",
                   [](const Bench&, ibv_qp_init_attr&init) { init.recv_cq = nullptr; }},
         }) {
        page(std::string(wrong.name) + " is refused with EINVAL", [wrong] {
            Bench b;
            Cq cq = b.cq();
            auto init = b.init(cq.get());
            wrong.spoil(b, init);
            CHECK_NULL(EINVAL, ibv_create_qp(b.pd.get(), &init));
        });
    }
    page("a type that does not exist is refused", [] {
        Bench b;
        Cq cq = b.cq();
        auto init = b.init(cq.get(), static_cast<ibv_qp_type>(77));
        CHECK(ibv_create_qp(b.pd.get(), &init) == nullptr);
        CHECK(errno == EINVAL || errno == EOPNOTSUPP);
    });
    page("with an SRQ max_recv_wr and max_recv_sge are ignored", [] {
        Bench b;
        Srq srq = b.srq();
        Cq cq = b.cq();
        auto init = b.init(cq.get(), IBV_QPT_RC, srq.get());
        init.cap.max_recv_wr = 1U << 30;
        init.cap.max_recv_sge = 1U << 30;
        Qp qp = b.qp(init);
        CHECK(qp->srq == srq.get());
    });
    page("another type than RC or UD with an SRQ is refused with EINVAL", [] {
        Bench b;
        Srq srq = b.srq();
        Cq cq = b.cq();
        b.qp(cq.get(), IBV_QPT_UC);
        auto init = b.init(cq.get(), IBV_QPT_UC, srq.get());
        CHECK_NULL(EINVAL, ibv_create_qp(b.pd.get(), &init));
    });
}

void add_destroy(Promises& all) {
    Page page(all, "ibv_create_qp.3");
    page("ibv_destroy_qp() returns 0, in every state", [] {
        for (int state = 0; state < 5; ++state) {
            Bench b;
            Cq cq = b.cq();
            Qp qp = b.qp(cq.get());
            if (state > 0) {
                CHECK_RETURNS(0, modify(qp.get(), to_init(IBV_QPT_RC)));
            }
            if (state > 1) {
                CHECK_RETURNS(0, modify(qp.get(), to_rtr(b, IBV_QPT_RC, qp->qp_num)));
            }
            if (state > 2) {
                CHECK_RETURNS(0, modify(qp.get(), to_rts(IBV_QPT_RC)));
            }
            if (state > 3) {
                CHECK_RETURNS(0, modify(qp.get(), to_state(IBV_QPS_ERR)));
            }
            CHECK_RETURNS(0, ibv_destroy_qp(qp.release()));
        }
    });
    page("ibv_destroy_qp() with work in its queues returns 0", [] {
        Bench b;
        Pair pair(b);
        for (std::uint64_t i = 0; i < 4; ++i) {
            CHECK_RETURNS(0, pair.receive(0, i));
            CHECK_RETURNS(0, pair.post(pair.request(IBV_WR_SEND)));  // no receive is posted
        }
    });
    page("a thousand are made and destroyed", [] {
        Bench b;
        Cq cq = b.cq();
        for (int i = 0; i < 1000; ++i) {
            b.qp(cq.get());
        }
    });
}

void add_query(Promises& all) {
    Page page(all, "ibv_query_qp.3");
    page("init_attr is what ibv_create_qp(3) was given and said", [] {
        Bench b;
        Cq cq = b.cq();
        auto init = b.init(cq.get());
        init.sq_sig_all = 1;
        int mark = 0;
        init.qp_context = &mark;
        Qp qp = b.qp(init);
        ibv_qp_attr attr{};
        ibv_qp_init_attr said{};
        CHECK_RETURNS(0, ibv_query_qp(qp.get(), &attr, IBV_QP_CAP, &said));
        CHECK(said.send_cq == cq.get() && said.recv_cq == cq.get() && said.srq == nullptr);
        CHECK(said.qp_type == IBV_QPT_RC && said.sq_sig_all == 1 && said.qp_context == &mark);
        CHECK(said.cap.max_send_wr == init.cap.max_send_wr);
        CHECK(said.cap.max_recv_wr == init.cap.max_recv_wr);
        CHECK(said.cap.max_send_sge == init.cap.max_send_sge);
        CHECK(said.cap.max_recv_sge == init.cap.max_recv_sge);
        CHECK(said.cap.max_inline_data == init.cap.max_inline_data);
        CHECK(attr.cap.max_send_wr == init.cap.max_send_wr);
    });
    page("attributes are those that ibv_modify_qp(3) has set", [] {
        Bench b;
        Cq cq = b.cq();
        Qp qp = b.qp(cq.get());
        CHECK_RETURNS(0, modify(qp.get(), to_init(IBV_QPT_RC)));
        Step rtr = to_rtr(b, IBV_QPT_RC, 0x1234);
        rtr.attr.rq_psn = 0xabcdef;
        rtr.attr.min_rnr_timer = 13;
        CHECK_RETURNS(0, modify(qp.get(), rtr));
        Step rts = to_rts(IBV_QPT_RC);
        rts.attr.sq_psn = 0x123456;
        rts.attr.timeout = 17;
        rts.attr.retry_cnt = 5;
        rts.attr.rnr_retry = 3;
        CHECK_RETURNS(0, modify(qp.get(), rts));
        ibv_qp_attr attr{};
        ibv_qp_init_attr init{};
        const int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                         IBV_QP_RQ_PSN | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                         IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER | IBV_QP_ACCESS_FLAGS |
                         IBV_QP_PORT | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC;
        CHECK_RETURNS(0, ibv_query_qp(qp.get(), &attr, mask, &init));
        CHECK(attr.qp_state == IBV_QPS_RTS && attr.port_num == 1);
        CHECK(attr.dest_qp_num == 0x1234 && attr.rq_psn == 0xabcdef && attr.sq_psn == 0x123456);
        CHECK(attr.timeout == 17 && attr.retry_cnt == 5 && attr.rnr_retry == 3);
        CHECK(attr.min_rnr_timer == 13 && attr.path_mtu == b.port.active_mtu);
        CHECK(attr.qp_access_flags == static_cast<unsigned>(kAllAccess & ~IBV_ACCESS_LOCAL_WRITE) ||
              attr.qp_access_flags == static_cast<unsigned>(kAllAccess));
        CHECK(attr.max_rd_atomic == 1 && attr.max_dest_rd_atomic == 1);
        CHECK(attr.ah_attr.is_global == 1 && attr.ah_attr.grh.sgid_index == b.gid_index);
    });
    page("UD: the Q_Key is the one that was set", [] {
        Bench b;
        Cq cq = b.cq();
        Qp qp = b.qp(cq.get(), IBV_QPT_UD);
        CHECK_RETURNS(0, modify(qp.get(), to_init(IBV_QPT_UD)));
        ibv_qp_attr attr{};
        ibv_qp_init_attr init{};
        CHECK_RETURNS(0, ibv_query_qp(qp.get(), &attr, IBV_QP_QKEY, &init));
        CHECK(attr.qkey == kQkey);
    });
}

}  // namespace

void add_qp(Promises& all) {
    add_create(all);
    add_destroy(all);
    add_query(all);
}

}  // namespace verbs_promises
