// SPDX-License-Identifier: BSD-2-Clause
//
// Extended completion queues.
#include <sched.h>

#include <ctime>

#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

ibv_cq_ex* create(Bench& b, std::uint64_t wc_flags, std::uint32_t entries = 16,
                  std::uint32_t flags = 0) {
    ibv_cq_init_attr_ex attr{};
    attr.cqe = entries;
    attr.wc_flags = wc_flags;
    if (flags != 0) {
        attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
        attr.flags = flags;
    }
    return ibv_create_cq_ex(b.ctx(), &attr);
}

/// Two RC queue pairs, both on one extended CQ.
struct Extended {
    explicit Extended(std::uint64_t wc_flags, std::uint32_t entries = 64, std::uint32_t wrs = 16,
                      std::uint32_t flags = 0)
        : memory(b.pd.get(), 1 << 16),
          ex(made(create(b, wc_flags, entries, flags), "extended CQs with these fields")),
          cq(ibv_cq_ex_to_cq(ex)) {
        for (Qp& qp : qps) {
            auto init = b.init(cq.get());
            init.cap.max_send_wr = init.cap.max_recv_wr = wrs;
            qp = b.qp(init);
        }
        connect(b, qps[0].get(), qps[1]->qp_num);
        connect(b, qps[1].get(), qps[0]->qp_num);
    }
    void receive(std::uint64_t id) {
        ibv_sge sge = memory.sge(4096, 64);
        ibv_recv_wr wr{}, *bad = nullptr;
        wr.wr_id = id;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        CHECK_RETURNS(0, ibv_post_recv(qps[1].get(), &wr, &bad));
    }
    void send(std::uint64_t id, unsigned flags = IBV_SEND_SIGNALED) {
        ibv_sge sge = memory.sge(0, 48);
        ibv_send_wr wr{}, *bad = nullptr;
        wr.wr_id = id;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_SEND_WITH_IMM;
        wr.imm_data = 0x04030201;
        wr.send_flags = flags;
        CHECK_RETURNS(0, ibv_post_send(qps[0].get(), &wr, &bad));
    }
    /// Calls ibv_start_poll() until there is a completion.
    void start() {
        ibv_poll_cq_attr none{};
        const std::time_t end = std::time(nullptr) + 40;
        int rc = 0;
        while ((rc = ibv_start_poll(ex, &none)) == ENOENT) {
            CHECK(std::time(nullptr) < end);
        }
        CHECK_RETURNS(0, rc);
        polling = true;
    }
    void end() {
        polling = false;
        ibv_end_poll(ex);
    }
    ~Extended() {
        if (polling) {  // a check failed: end the poll, so that the queue pairs can be destroyed
            end();
        }
    }
    Extended(const Extended&) = delete;
    Extended& operator=(const Extended&) = delete;

    bool polling = false;
    Bench b;
    Region memory;
    ibv_cq_ex* ex;
    Cq cq;
    Qp qps[2];
};

void add_create(Promises& all) {
    Page page(all, "ibv_create_cq_ex.3");
    struct Field {
        const char* name;
        std::uint64_t flag;
    };
    for (const Field& field :
         {Field{"no field", 0}, Field{"IBV_WC_EX_WITH_BYTE_LEN", IBV_WC_EX_WITH_BYTE_LEN},
          Field{"IBV_WC_EX_WITH_IMM", IBV_WC_EX_WITH_IMM},
          Field{"IBV_WC_EX_WITH_QP_NUM", IBV_WC_EX_WITH_QP_NUM},
          Field{"IBV_WC_EX_WITH_SRC_QP", IBV_WC_EX_WITH_SRC_QP},
          Field{"IBV_WC_EX_WITH_SLID", IBV_WC_EX_WITH_SLID},
          Field{"IBV_WC_EX_WITH_SL", IBV_WC_EX_WITH_SL},
          Field{"IBV_WC_EX_WITH_DLID_PATH_BITS", IBV_WC_EX_WITH_DLID_PATH_BITS},
          Field{"IBV_WC_STANDARD_FLAGS", IBV_WC_STANDARD_FLAGS}}) {
        page(std::string("wc_flags ") + field.name + " can be had", [field] {
            Bench b;
            Cq cq(ibv_cq_ex_to_cq(made(create(b, field.flag), "extended CQs")));
            CHECK(cq->cqe >= 16);
        });
    }
    page("wc_flags that are unknown are refused", [] {
        Bench b;
        errno = 0;
        CHECK(create(b, std::uint64_t{1} << 40) == nullptr);
        CHECK(errno == EOPNOTSUPP || errno == EINVAL);
    });
    page("comp_mask bits that are unknown are refused", [] {
        Bench b;
        ibv_cq_init_attr_ex attr{};
        attr.cqe = 4;
        attr.comp_mask = 1U << 30;
        CHECK(ibv_create_cq_ex(b.ctx(), &attr) == nullptr);
        CHECK(errno == EOPNOTSUPP || errno == EINVAL);
    });
    page("flags that are unknown are refused", [] {
        Bench b;
        CHECK(create(b, 0, 4, 1U << 30) == nullptr);
        CHECK(errno == EOPNOTSUPP || errno == EINVAL);
    });
    page("0 entries are refused with EINVAL", [] {
        Bench b;
        CHECK_NULL(EINVAL, create(b, 0, 0));
    });
    page("IBV_CREATE_CQ_ATTR_SINGLE_THREADED works like another", [] {
        Extended e(0, 16, 16, IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
        e.receive(1);
        e.send(2);
        e.start();
        e.end();
    });
}

void add_polling(Promises& all) {
    Page page(all, "ibv_create_cq_ex.3");
    page("ibv_start_poll() on an empty CQ returns ENOENT", [] {
        Bench b;
        ibv_cq_ex* const ex = made(create(b, 0), "extended CQs");
        Cq cq(ibv_cq_ex_to_cq(ex));
        ibv_poll_cq_attr none{};
        CHECK_RETURNS(ENOENT, ibv_start_poll(ex, &none));
        CHECK_RETURNS(ENOENT, ibv_start_poll(ex, &none));
    });
    page("ibv_start_poll() refuses an unknown bit of comp_mask with EINVAL", [] {
        Bench b;
        ibv_cq_ex* const ex = made(create(b, 0), "extended CQs");
        Cq cq(ibv_cq_ex_to_cq(ex));
        ibv_poll_cq_attr attr{1};
        CHECK_RETURNS(EINVAL, ibv_start_poll(ex, &attr));
    });
    page("ibv_next_poll() behind the last returns ENOENT, ibv_end_poll() ends it", [] {
        Extended e(0);
        e.receive(1);
        e.send(2, 0);
        e.start();
        CHECK(e.ex->wr_id == 1 && e.ex->status == IBV_WC_SUCCESS);
        CHECK_RETURNS(ENOENT, ibv_next_poll(e.ex));
        e.end();
        ibv_poll_cq_attr none{};
        CHECK_RETURNS(ENOENT, ibv_start_poll(e.ex, &none));
    });
    page("ibv_req_notify_cq() may be called before ibv_end_poll()", [] {
        Extended e(0);
        e.receive(1);
        e.send(2, 0);
        e.start();
        CHECK_RETURNS(ENOENT, ibv_next_poll(e.ex));
        CHECK_RETURNS(0, ibv_req_notify_cq(e.cq.get(), 0));
        e.end();
    });
    page("the fields that were asked for are those of the completion", [] {
        Extended e(IBV_WC_STANDARD_FLAGS);
        e.receive(1);
        e.send(2, 0);
        e.start();
        CHECK(ibv_wc_read_opcode(e.ex) == IBV_WC_RECV);
        CHECK((ibv_wc_read_wc_flags(e.ex) & IBV_WC_WITH_IMM) != 0);
        CHECK(ibv_wc_read_imm_data(e.ex) == 0x04030201);
        CHECK(ibv_wc_read_byte_len(e.ex) == 48);
        CHECK(ibv_wc_read_qp_num(e.ex) == e.qps[1]->qp_num);
        CHECK(ibv_wc_read_vendor_err(e.ex) == 0);
        CHECK(ibv_wc_read_slid(e.ex) == 0 && ibv_wc_read_dlid_path_bits(e.ex) == 0);
        e.end();
    });
    page("the older ibv_poll_cq() works on it too", [] {
        Extended e(0);
        e.receive(1);
        e.send(2);
        const std::uint64_t ids = wait_wc(e.cq.get()).wr_id + wait_wc(e.cq.get()).wr_id;
        CHECK(ids == 3);
    });
    page("receives posted again between ibv_next_poll() calls: no overrun, however long", [] {
        constexpr int kDepth = 64;
        Extended e(0, kDepth * 3 / 2, kDepth);
        int posted = 0, sent = 0, received = 0;
        for (; posted < kDepth; ++posted) {
            e.receive(static_cast<std::uint64_t>(posted));
        }
        const auto fill = [&] {
            for (; sent < posted && sent - received < kDepth / 4; ++sent) {
                e.send(1000, sent % 4 == 3 ? IBV_SEND_SIGNALED : 0);
            }
        };
        fill();
        e.start();
        const std::time_t end = std::time(nullptr) + 50;
        for (;;) {
            CHECK(e.ex->status == IBV_WC_SUCCESS);
            if (e.ex->wr_id != 1000) {
                CHECK(e.ex->wr_id == static_cast<std::uint64_t>(received));
                ++received;
                e.receive(static_cast<std::uint64_t>(posted++));
                fill();
            }
            if (received == 1000) {
                break;
            }
            int rc = 0;
            while ((rc = ibv_next_poll(e.ex)) == ENOENT && std::time(nullptr) < end) {
                sched_yield();
            }
            CHECK_RETURNS(0, rc);
        }
        e.end();
        CHECK(state_of(e.qps[1].get()) == IBV_QPS_RTS);
    });
}

void add_clocks(Promises& all) {
    Page page(all, "ibv_create_cq_ex.3");
    page("time stamps of the card's clock do not go back", [] {
        Extended e(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
        std::uint64_t before = 0;
        for (std::uint64_t i = 0; i < 10; ++i) {
            e.receive(i);
            e.send(0, 0);
            e.start();
            const std::uint64_t now = ibv_wc_read_completion_ts(e.ex);
            e.end();
            CHECK(now >= before);
            before = now;
        }
    });
    page("wall clock time stamps are the time of day", [] {
        Extended e(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
        const std::time_t before = std::time(nullptr);
        e.receive(1);
        e.send(0, 0);
        e.start();
        const auto seconds =
            static_cast<std::time_t>(ibv_wc_read_completion_wallclock_ns(e.ex) / 1000000000U);
        e.end();
        CHECK(seconds >= before - 1 && seconds <= std::time(nullptr) + 1);
    });
}

}  // namespace

void add_cq_ex(Promises& all) {
    add_create(all);
    add_polling(all);
    add_clocks(all);
}

}  // namespace verbs_promises
