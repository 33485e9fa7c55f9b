// SPDX-License-Identifier: BSD-2-Clause
//
// Extended queue pairs: ibv_create_qp_ex(3) and ibv_wr_post(3).
#include <cstring>

#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

ibv_qp_init_attr_ex extended(Bench& b, ibv_cq* cq, std::uint64_t operations,
                             ibv_qp_type type = IBV_QPT_RC) {
    ibv_qp_init_attr_ex init{};
    init.send_cq = init.recv_cq = cq;
    init.qp_type = type;
    init.cap = {16, 16, 2, 2, 64};
    init.pd = b.pd.get();
    init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init.send_ops_flags = operations;
    return init;
}

/// A queue pair connected to itself, with all operations of its type that the device supports.
struct Posting {
    explicit Posting(std::uint64_t operations, ibv_qp_type type = IBV_QPT_RC)
        : cq(b.cq(64)), memory(b.pd.get(), 8192, kAllAccess | atomic()) {
        auto init = extended(b, cq.get(), operations, type);
        qp.reset(made(ibv_create_qp_ex(b.ctx(), &init), "these operations"));
        connect(b, qp.get(), qp->qp_num, kAllAccess | atomic());
        ex = ibv_qp_to_qp_ex(qp.get());
        CHECK(ex != nullptr);
    }
    int atomic() const {
        return b.attr.atomic_cap == IBV_ATOMIC_NONE ? 0 : IBV_ACCESS_REMOTE_ATOMIC;
    }
    void start(std::uint64_t id, unsigned flags = IBV_SEND_SIGNALED) {
        ibv_wr_start(ex);
        ex->wr_id = id;
        ex->wr_flags = flags;
    }
    void receive(std::uint64_t id) {
        ibv_sge sge = memory.sge(4096, 1024);
        ibv_recv_wr wr{}, *bad = nullptr;
        wr.wr_id = id;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        CHECK_RETURNS(0, ibv_post_recv(qp.get(), &wr, &bad));
    }
    Bench b;
    Cq cq;
    Region memory;
    Qp qp;
    ibv_qp_ex* ex = nullptr;
};

constexpr std::uint64_t kBasic = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                                 IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |
                                 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;

}  // namespace

void add_qp_ex(Promises& all) {
    Page page(all, "ibv_create_qp_ex.3");
    page("without a PD it is refused with EINVAL", [] {
        Bench b;
        Cq cq = b.cq();
        auto init = extended(b, cq.get(), 0);
        init.comp_mask = 0;
        CHECK_NULL(EINVAL, ibv_create_qp_ex(b.ctx(), &init));
    });
    page("an unknown bit of comp_mask is refused", [] {
        Bench b;
        Cq cq = b.cq();
        auto init = extended(b, cq.get(), 0);
        init.comp_mask = IBV_QP_INIT_ATTR_PD | 1U << 30;
        CHECK(ibv_create_qp_ex(b.ctx(), &init) == nullptr);
        CHECK(errno == EOPNOTSUPP || errno == EINVAL);
    });
    page("create_flags that the device lacks are refused", [] {
        Bench b;
        Cq cq = b.cq();
        auto init = extended(b, cq.get(), 0);
        init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
        init.create_flags = 1U << 31;
        CHECK(ibv_create_qp_ex(b.ctx(), &init) == nullptr);
        CHECK(errno == EOPNOTSUPP || errno == EINVAL);
    });
    page("create_flags 0 are like none", [] {
        Bench b;
        Cq cq = b.cq();
        auto init = extended(b, cq.get(), 0);
        init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
        Qp qp(made(ibv_create_qp_ex(b.ctx(), &init), "QP"));
    });
    page("without IBV_QP_INIT_ATTR_SEND_OPS_FLAGS ibv_qp_to_qp_ex() is NULL", [] {
        Bench b;
        Cq cq = b.cq();
        auto init = extended(b, cq.get(), 0);
        init.comp_mask = IBV_QP_INIT_ATTR_PD;
        Qp qp(made(ibv_create_qp_ex(b.ctx(), &init), "QP"));
        CHECK(ibv_qp_to_qp_ex(qp.get()) == nullptr);
        Qp old = b.qp(cq.get());
        CHECK(ibv_qp_to_qp_ex(old.get()) == nullptr);
    });
    page("operations that the type has not are refused", [] {
        Bench b;
        Cq cq = b.cq();
        for (const std::uint64_t operation :
             {std::uint64_t{IBV_QP_EX_WITH_RDMA_READ}, std::uint64_t{IBV_QP_EX_WITH_RDMA_WRITE},
              std::uint64_t{IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD}}) {
            auto init = extended(b, cq.get(), operation, IBV_QPT_UD);
            CHECK(ibv_create_qp_ex(b.ctx(), &init) == nullptr);
            CHECK(errno == EOPNOTSUPP || errno == EINVAL);
        }
    });
    page("operations that do not exist are refused", [] {
        Bench b;
        Cq cq = b.cq();
        auto init = extended(b, cq.get(), std::uint64_t{1} << 60);
        CHECK(ibv_create_qp_ex(b.ctx(), &init) == nullptr);
        CHECK(errno == EOPNOTSUPP || errno == EINVAL);
    });
    page("the older ibv_post_send() works on it too", [] {
        Posting p(kBasic);
        ibv_sge sge = p.memory.sge(0, 8);
        ibv_send_wr wr{}, *bad = nullptr;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_RDMA_WRITE;
        wr.send_flags = IBV_SEND_SIGNALED;
        wr.wr.rdma = {p.memory.address(64), p.memory.rkey()};
        CHECK_RETURNS(0, ibv_post_send(p.qp.get(), &wr, &bad));
        CHECK(wait_wc(p.cq.get()).status == IBV_WC_SUCCESS);
    });
}

void add_wr_post(Promises& all) {
    Page page(all, "ibv_wr_post.3");
    page("ibv_wr_complete() of nothing returns 0", [] {
        Posting p(kBasic);
        ibv_wr_start(p.ex);
        CHECK_RETURNS(0, ibv_wr_complete(p.ex));
        no_wc(p.cq.get());
    });
    page("ibv_wr_rdma_write() with ibv_wr_set_sge() writes", [] {
        Posting p(kBasic);
        std::memset(p.memory.data(), 'w', 100);
        p.start(1);
        ibv_wr_rdma_write(p.ex, p.memory.rkey(), p.memory.address(1024));
        ibv_wr_set_sge(p.ex, p.memory.mr()->lkey, p.memory.address(), 100);
        CHECK_RETURNS(0, ibv_wr_complete(p.ex));
        const ibv_wc wc = wait_wc(p.cq.get());
        CHECK(wc.wr_id == 1 && wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RDMA_WRITE);
        CHECK(std::memcmp(p.memory.data() + 1024, p.memory.data(), 100) == 0);
    });
    page("ibv_wr_rdma_read() with ibv_wr_set_sge_list() scatters", [] {
        Posting p(kBasic);
        std::memset(p.memory.data() + 1024, 'r', 100);
        ibv_sge sges[2] = {p.memory.sge(0, 30), p.memory.sge(512, 70)};
        p.start(1);
        ibv_wr_rdma_read(p.ex, p.memory.rkey(), p.memory.address(1024));
        ibv_wr_set_sge_list(p.ex, 2, sges);
        CHECK_RETURNS(0, ibv_wr_complete(p.ex));
        CHECK(wait_wc(p.cq.get()).status == IBV_WC_SUCCESS);
        CHECK(p.memory.data()[29] == 'r' && p.memory.data()[30] == 0);
        CHECK(p.memory.data()[512 + 69] == 'r' && p.memory.data()[512 + 70] == 0);
    });
    page("ibv_wr_send_imm() with ibv_wr_set_inline_data() copies before it returns", [] {
        Posting p(kBasic);
        char text[] = "inline text";
        p.receive(9);
        p.start(1, 0);
        ibv_wr_send_imm(p.ex, 0x01020304);
        ibv_wr_set_inline_data(p.ex, text, sizeof text);
        CHECK_RETURNS(0, ibv_wr_complete(p.ex));
        std::memset(text, 0, sizeof text);
        const ibv_wc wc = wait_wc(p.cq.get());
        CHECK(wc.wr_id == 9 && wc.imm_data == 0x01020304 && wc.byte_len == 12);
        CHECK(std::strcmp(reinterpret_cast<char*>(p.memory.data() + 4096), "inline text") == 0);
    });
    page("ibv_wr_set_inline_data_list() joins its pieces", [] {
        Posting p(kBasic);
        char one[] = "joi", two[] = "ned";
        const ibv_data_buf pieces[2] = {{one, 3}, {two, 4}};
        p.start(1);
        ibv_wr_rdma_write(p.ex, p.memory.rkey(), p.memory.address(1024));
        ibv_wr_set_inline_data_list(p.ex, 2, pieces);
        CHECK_RETURNS(0, ibv_wr_complete(p.ex));
        CHECK(wait_wc(p.cq.get()).status == IBV_WC_SUCCESS);
        CHECK(std::strcmp(reinterpret_cast<char*>(p.memory.data() + 1024), "joined") == 0);
    });
    page("many requests between start and complete are posted together, in their order", [] {
        Posting p(kBasic);
        ibv_wr_start(p.ex);
        for (std::uint64_t i = 0; i < 8; ++i) {
            p.ex->wr_id = i;
            p.ex->wr_flags = IBV_SEND_SIGNALED;
            ibv_wr_rdma_write(p.ex, p.memory.rkey(), p.memory.address(1024));
            ibv_wr_set_sge(p.ex, p.memory.mr()->lkey, p.memory.address(), 8);
        }
        no_wc(p.cq.get());
        CHECK_RETURNS(0, ibv_wr_complete(p.ex));
        for (std::uint64_t i = 0; i < 8; ++i) {
            CHECK(wait_wc(p.cq.get()).wr_id == i);
        }
    });
    page("ibv_wr_abort() posts nothing, and the queue is as before", [] {
        Posting p(kBasic);
        for (int round = 0; round < 40; ++round) {  // more than the queue holds
            p.start(7);
            ibv_wr_rdma_write(p.ex, p.memory.rkey(), p.memory.address(1024));
            ibv_wr_set_sge(p.ex, p.memory.mr()->lkey, p.memory.address(), 8);
            ibv_wr_abort(p.ex);
        }
        no_wc(p.cq.get());
        p.start(8);
        ibv_wr_rdma_write(p.ex, p.memory.rkey(), p.memory.address(1024));
        ibv_wr_set_sge(p.ex, p.memory.mr()->lkey, p.memory.address(), 8);
        CHECK_RETURNS(0, ibv_wr_complete(p.ex));
        CHECK(wait_wc(p.cq.get()).wr_id == 8);
    });
    page("too many requests: ibv_wr_complete() returns ENOMEM, and none is posted", [] {
        Posting p(kBasic);
        ibv_wr_start(p.ex);
        for (int i = 0; i < 10000; ++i) {
            p.ex->wr_id = 3;
            p.ex->wr_flags = IBV_SEND_SIGNALED;
            ibv_wr_rdma_write(p.ex, p.memory.rkey(), p.memory.address(1024));
            ibv_wr_set_sge(p.ex, p.memory.mr()->lkey, p.memory.address(), 8);
        }
        CHECK_RETURNS(ENOMEM, ibv_wr_complete(p.ex));
        no_wc(p.cq.get());
    });
    page("too much inline data: ibv_wr_complete() returns an error, and nothing is posted", [] {
        Posting p(kBasic);
        std::vector<char> much(100000);
        p.start(1);
        ibv_wr_rdma_write(p.ex, p.memory.rkey(), p.memory.address(1024));
        ibv_wr_set_inline_data(p.ex, much.data(), much.size());
        CHECK(ibv_wr_complete(p.ex) != 0);
        no_wc(p.cq.get());
    });
    page("ibv_wr_atomic_fetch_add() and ibv_wr_atomic_cmp_swp()", [] {
        {
            Bench b;
            b.need_atomics();
        }
        Posting p(IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP);
        auto* const word = reinterpret_cast<std::uint64_t*>(p.memory.data() + 1024);
        auto* const old = reinterpret_cast<std::uint64_t*>(p.memory.data());
        *word = 40;
        p.start(1);
        ibv_wr_atomic_fetch_add(p.ex, p.memory.rkey(), p.memory.address(1024), 2);
        ibv_wr_set_sge(p.ex, p.memory.mr()->lkey, p.memory.address(), 8);
        CHECK_RETURNS(0, ibv_wr_complete(p.ex));
        CHECK(wait_wc(p.cq.get()).status == IBV_WC_SUCCESS);
        CHECK(*old == 40 && *word == 42);
        p.start(2);
        ibv_wr_atomic_cmp_swp(p.ex, p.memory.rkey(), p.memory.address(1024), 42, 7);
        ibv_wr_set_sge(p.ex, p.memory.mr()->lkey, p.memory.address(), 8);
        CHECK_RETURNS(0, ibv_wr_complete(p.ex));
        CHECK(wait_wc(p.cq.get()).status == IBV_WC_SUCCESS);
        CHECK(*old == 42 && *word == 7);
    });
    page("UD: ibv_wr_set_ud_addr() says whom", [] {
        Posting p(IBV_QP_EX_WITH_SEND, IBV_QPT_UD);
        auto self = p.b.self();
        Ah ah(made(ibv_create_ah(p.b.pd.get(), &self), "AH"));
        p.receive(9);
        p.start(1, 0);
        ibv_wr_send(p.ex);
        ibv_wr_set_ud_addr(p.ex, ah.get(), p.qp->qp_num, kQkey);
        ibv_wr_set_sge(p.ex, p.memory.mr()->lkey, p.memory.address(), 16);
        CHECK_RETURNS(0, ibv_wr_complete(p.ex));
        const ibv_wc wc = wait_wc(p.cq.get());
        CHECK(wc.wr_id == 9 && wc.byte_len == 40 + 16);
    });
}

}  // namespace verbs_promises
