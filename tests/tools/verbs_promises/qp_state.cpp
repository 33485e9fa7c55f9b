// SPDX-License-Identifier: BSD-2-Clause
//
// The meaning of states, and attributes that are refused.
#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

struct Wrong {
    const char* name;
    int state;  ///< target state of the step that `spoil` makes invalid
    void (*spoil)(const Bench& b, Step& step);
};
constexpr Wrong kWrong[] = {
    {"a port that is not there", IBV_QPS_INIT, [](const Bench&, Step& s) { s.attr.port_num = 2; }},
    {"port 0", IBV_QPS_INIT, [](const Bench&, Step& s) { s.attr.port_num = 0; }},
    {"a P_Key behind the table", IBV_QPS_INIT,
     [](const Bench& b, Step& s) { s.attr.pkey_index = b.port.pkey_tbl_len; }},
    {"a path MTU that does not exist", IBV_QPS_RTR,
     [](const Bench&, Step& s) { s.attr.path_mtu = static_cast<ibv_mtu>(9); }},
    {"a source GID behind the table", IBV_QPS_RTR,
     [](const Bench& b, Step& s) {
         s.attr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(b.port.gid_tbl_len);
     }},
    {"an address without a global route", IBV_QPS_RTR,
     [](const Bench&, Step& s) { s.attr.ah_attr.is_global = 0; }},
    {"more max_dest_rd_atomic than the device has", IBV_QPS_RTR,
     [](const Bench& b, Step& s) {
         if (b.attr.max_qp_rd_atom > 254) {
             throw Lacking("every value is allowed");
         }
         s.attr.max_dest_rd_atomic = static_cast<std::uint8_t>(b.attr.max_qp_rd_atom + 1);
     }},
    {"more max_rd_atomic than the device has", IBV_QPS_RTS,
     [](const Bench& b, Step& s) {
         if (b.attr.max_qp_init_rd_atom > 254) {
             throw Lacking("every value is allowed");
         }
         s.attr.max_rd_atomic = static_cast<std::uint8_t>(b.attr.max_qp_init_rd_atom + 1);
     }},
    {"an alternate path, which the device lacks", IBV_QPS_RTS,
     [](const Bench& b, Step& s) {
         if (b.has(IBV_DEVICE_AUTO_PATH_MIG)) {
             throw Lacking("the device has alternate paths");
         }
         s.attr.alt_ah_attr = b.self();
         s.attr.alt_port_num = 1;
         s.mask |= IBV_QP_ALT_PATH;
     }},
};

void add_refused(Promises& all) {
    Page page(all, "ibv_modify_qp.3");
    for (const Wrong& wrong : kWrong) {
        page(std::string(wrong.name) + " is refused, and nothing is modified", [wrong] {
            Bench b;
            Cq cq = b.cq();
            Qp qp = b.qp(cq.get());
            Step steps[] = {to_init(IBV_QPT_RC), to_rtr(b, IBV_QPT_RC, qp->qp_num),
                            to_rts(IBV_QPT_RC)};
            for (int state = IBV_QPS_INIT; state < wrong.state; ++state) {
                CHECK_RETURNS(0, modify(qp.get(), steps[state - 1]));
            }
            Step bad = steps[wrong.state - 1];
            wrong.spoil(b, bad);
            const int rc = modify(qp.get(), bad);
            CHECK(rc == EINVAL || rc == EOPNOTSUPP);
            CHECK(state_of(qp.get()) == wrong.state - 1);
            CHECK_RETURNS(0, modify(qp.get(), steps[wrong.state - 1]));
        });
    }
    page("resizing where IBV_DEVICE_RESIZE_MAX_WR is not said is refused", [] {
        Bench b;
        if (b.has(IBV_DEVICE_RESIZE_MAX_WR)) {
            throw Lacking("the device resizes");
        }
        Cq cq = b.cq();
        Qp qp = b.qp(cq.get());
        Step step = to_init(IBV_QPT_RC);
        step.attr.cap = {100, 100, 1, 1, 0};
        step.mask |= IBV_QP_CAP;
        CHECK(modify(qp.get(), step) != 0);
        CHECK(state_of(qp.get()) == IBV_QPS_RESET);
    });
    page("IBV_QP_CUR_STATE that is not the state is refused with EINVAL", [] {
        Bench b;
        Pair pair(b);
        Step step = to_state(IBV_QPS_RTS);
        step.attr.cur_qp_state = IBV_QPS_RTR;
        step.attr.sq_psn = 0;
        step.mask |= IBV_QP_CUR_STATE;
        CHECK(modify(pair.qp(0), step) != 0);
        CHECK(state_of(pair.qp(0)) == IBV_QPS_RTS);
    });
}

void add_later(Promises& all) {
    Page page(all, "ibv_modify_qp.3");
    page("in RTS access flags can be changed: what is taken away is refused at once", [] {
        Bench b;
        Pair pair(b);
        CHECK(pair.run(pair.request(IBV_WR_RDMA_WRITE)).status == IBV_WC_SUCCESS);
        Step step = to_state(IBV_QPS_RTS);
        step.attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
        step.mask |= IBV_QP_ACCESS_FLAGS;
        CHECK_RETURNS(0, modify(pair.qp(1), step));
        CHECK(pair.run(pair.request(IBV_WR_RDMA_READ)).status == IBV_WC_SUCCESS);
        CHECK(pair.run(pair.request(IBV_WR_RDMA_WRITE)).status == IBV_WC_REM_INV_REQ_ERR ||
              state_of(pair.qp(0)) == IBV_QPS_ERR);
    });
    page("in RTS min_rnr_timer can be changed", [] {
        Bench b;
        Pair pair(b);
        Step step = to_state(IBV_QPS_RTS);
        step.attr.min_rnr_timer = 21;
        step.mask |= IBV_QP_MIN_RNR_TIMER;
        CHECK_RETURNS(0, modify(pair.qp(0), step));
        ibv_qp_attr attr{};
        ibv_qp_init_attr init{};
        CHECK_RETURNS(0, ibv_query_qp(pair.qp(0), &attr, IBV_QP_MIN_RNR_TIMER, &init));
        CHECK(attr.min_rnr_timer == 21);
    });
    page("to ERR: everything posted is flushed, receives and sends", [] {
        Bench b;
        Pair pair(b);
        for (std::uint64_t i = 0; i < 3; ++i) {
            CHECK_RETURNS(0, pair.receive(0, i));
        }
        CHECK_RETURNS(0, modify(pair.qp(0), to_state(IBV_QPS_ERR)));
        CHECK_RETURNS(0, pair.post(pair.request(IBV_WR_RDMA_WRITE, 0)));
        int flushed = 0;
        for (int i = 0; i < 4; ++i) {
            flushed += wait_wc(pair.cq(0)).status == IBV_WC_WR_FLUSH_ERR ? 1 : 0;
        }
        CHECK(flushed == 4);
    });
    page("to RESET: the queues are empty, and nothing of them completes", [] {
        Bench b;
        Pair pair(b);
        for (std::uint64_t i = 0; i < 3; ++i) {
            CHECK_RETURNS(0, pair.receive(0, i));
        }
        CHECK_RETURNS(0, modify(pair.qp(0), to_state(IBV_QPS_RESET)));
        no_wc(pair.cq(0));
        CHECK(state_of(pair.qp(0)) == IBV_QPS_RESET);
    });
    page("after RESET the queue pair can be connected again, with all of its queues", [] {
        Bench b;
        Pair pair(b);
        for (int round = 0; round < 3; ++round) {
            for (const int side : {0, 1}) {
                CHECK_RETURNS(0, modify(pair.qp(side), to_state(IBV_QPS_RESET)));
            }
            for (const int side : {0, 1}) {
                connect(b, pair.qp(side), pair.qp(1 - side)->qp_num);
            }
            for (std::uint64_t i = 0; i < 16; ++i) {
                CHECK_RETURNS(0, pair.receive(1, i));
            }
            for (std::uint64_t i = 0; i < 16; ++i) {
                CHECK(pair.run(pair.request(IBV_WR_SEND)).status == IBV_WC_SUCCESS);
                CHECK(wait_wc(pair.cq(1)).wr_id == i);
            }
        }
    });
    page("SQD: what was posted before is done, what is posted then waits until RTS", [] {
        Bench b;
        Pair pair(b);
        CHECK(pair.run(pair.request(IBV_WR_RDMA_WRITE)).status == IBV_WC_SUCCESS);
        done(modify(pair.qp(0), to_state(IBV_QPS_SQD)), "state SQD");
        CHECK(state_of(pair.qp(0)) == IBV_QPS_SQD);
        CHECK_RETURNS(0, pair.post(pair.request(IBV_WR_RDMA_WRITE)));
        no_wc(pair.cq(0));
        CHECK_RETURNS(0, modify(pair.qp(0), to_state(IBV_QPS_RTS)));
        CHECK(wait_wc(pair.cq(0)).status == IBV_WC_SUCCESS);
    });
    page("a queue pair connected to itself", [] {
        Bench b;
        Cq cq = b.cq();
        Qp qp = b.qp(cq.get());
        connect(b, qp.get(), qp->qp_num);
        Region memory(b.pd.get(), 4096);
        memory.data()[0] = 42;
        ibv_sge sge = memory.sge(0, 64);
        ibv_send_wr wr{}, *bad = nullptr;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_RDMA_WRITE;
        wr.send_flags = IBV_SEND_SIGNALED;
        wr.wr.rdma = {memory.address(1024), memory.rkey()};
        CHECK_RETURNS(0, ibv_post_send(qp.get(), &wr, &bad));
        CHECK(wait_wc(cq.get()).status == IBV_WC_SUCCESS);
        CHECK(memory.data()[1024] == 42);
    });
    for (const auto mtu : {IBV_MTU_256, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048, IBV_MTU_4096}) {
        page("path MTU " + std::to_string(128 << mtu) + ": a long message arrives", [mtu] {
            Bench b;
            if (mtu > b.port.active_mtu) {
                throw Lacking("the port's MTU is smaller");
            }
            Pair pair(b);
            for (const int side : {0, 1}) {
                CHECK_RETURNS(0, modify(pair.qp(side), to_state(IBV_QPS_RESET)));
                CHECK_RETURNS(0, modify(pair.qp(side), to_init(IBV_QPT_RC)));
                Step rtr = to_rtr(b, IBV_QPT_RC, pair.qp(1 - side)->qp_num);
                rtr.attr.path_mtu = mtu;
                CHECK_RETURNS(0, modify(pair.qp(side), rtr));
                CHECK_RETURNS(0, modify(pair.qp(side), to_rts(IBV_QPT_RC)));
            }
            for (std::size_t i = 0; i < 20000; ++i) {
                pair.memory(0).data()[i] = static_cast<std::uint8_t>(i * 7);
            }
            CHECK(pair.run(pair.request(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 20000)).status ==
                  IBV_WC_SUCCESS);
            for (std::size_t i = 0; i < 20000; ++i) {
                CHECK(pair.memory(1).data()[i] == static_cast<std::uint8_t>(i * 7));
            }
        });
    }
}

}  // namespace

void add_qp_state(Promises& all) {
    add_refused(all);
    add_later(all);
}

}  // namespace verbs_promises
