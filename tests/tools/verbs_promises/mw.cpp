// SPDX-License-Identifier: BSD-2-Clause
//
// Memory windows.
#include <cstring>

#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

constexpr int kWindowAccess = kAllAccess | IBV_ACCESS_MW_BIND;

/// A pair whose side 1 has a region to which windows can be bound.
struct Windows {
    explicit Windows(ibv_mw_type type)
        : mw(made(ibv_alloc_mw(b.pd.get(), type), "memory windows")),
          pair(b, IBV_QPT_RC),
          region(b.pd.get(), 4096, kWindowAccess) {}

    /// Binds a window by the QP of side 1; returns the completion's status.
    ibv_wc_status bind(std::size_t offset, std::size_t bytes, unsigned access) {
        ibv_mw_bind bind{};
        bind.wr_id = 5;
        bind.send_flags = IBV_SEND_SIGNALED;
        bind.bind_info = {region.mr(), region.address(offset), bytes, access};
        CHECK_RETURNS(0, ibv_bind_mw(pair.qp(1), mw.get(), &bind));
        return wait_wc(pair.cq(1)).status;
    }
    /// Binds a window of type 2 by a work request, which sets its key.
    void bind_by_request() {
        ibv_send_wr wr{};
        wr.opcode = IBV_WR_BIND_MW;
        wr.send_flags = IBV_SEND_SIGNALED;
        wr.bind_mw.mw = mw.get();
        wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
        wr.bind_mw.bind_info = {region.mr(), region.address(), 4096, IBV_ACCESS_REMOTE_READ};
        ibv_send_wr* bad = nullptr;
        CHECK_RETURNS(0, ibv_post_send(pair.qp(1), &wr, &bad));
        CHECK(wait_wc(pair.cq(1)).status == IBV_WC_SUCCESS);
        mw->rkey = wr.bind_mw.rkey;
    }
    ibv_wc_status access(ibv_wr_opcode opcode, std::size_t offset, std::uint32_t bytes) {
        ibv_send_wr wr = pair.request(opcode, IBV_SEND_SIGNALED, bytes);
        wr.wr.rdma.remote_addr = region.address(offset);
        wr.wr.rdma.rkey = mw->rkey;
        return pair.run(wr).status;
    }

    Bench b;
    Mw mw;
    Pair pair;
    Region region;
};

void add_alloc(Promises& all) {
    Page alloc(all, "ibv_alloc_mw.3");
    for (const auto type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
        const std::string name = "type " + std::to_string(type);
        alloc(name + ": returns a window with a key; ibv_dealloc_mw() returns 0", [type] {
            Bench b;
            Mw mw(made(ibv_alloc_mw(b.pd.get(), type), "memory windows"));
            CHECK(mw->type == type && mw->pd == b.pd.get());
            CHECK_RETURNS(0, ibv_dealloc_mw(mw.release()));
        });
    }
    alloc("a type that does not exist is refused", [] {
        Bench b;
        Mw mw(made(ibv_alloc_mw(b.pd.get(), IBV_MW_TYPE_1), "memory windows"));
        CHECK(ibv_alloc_mw(b.pd.get(), static_cast<ibv_mw_type>(9)) == nullptr);
    });
    alloc("ibv_dereg_mr() of a region with a bound window fails with EBUSY", [] {
        Windows w(IBV_MW_TYPE_1);
        CHECK(w.bind(0, 4096, IBV_ACCESS_REMOTE_READ) == IBV_WC_SUCCESS);
        CHECK_RETURNS(EBUSY, ibv_dereg_mr(w.region.mr()));
        w.mw.reset();
    });
}

void add_bind(Promises& all) {
    Page bind(all, "ibv_bind_mw.3");
    bind("completes with IBV_WC_BIND_MW and the wr_id", [] {
        Windows w(IBV_MW_TYPE_1);
        ibv_mw_bind info{};
        info.wr_id = 4711;
        info.send_flags = IBV_SEND_SIGNALED;
        info.bind_info = {w.region.mr(), w.region.address(), 4096, IBV_ACCESS_REMOTE_READ};
        CHECK_RETURNS(0, ibv_bind_mw(w.pair.qp(1), w.mw.get(), &info));
        const ibv_wc wc = wait_wc(w.pair.cq(1));
        CHECK(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_BIND_MW && wc.wr_id == 4711);
    });
    bind("changes the key of the window", [] {
        Windows w(IBV_MW_TYPE_1);
        const std::uint32_t before = w.mw->rkey;
        CHECK(w.bind(0, 4096, IBV_ACCESS_REMOTE_READ) == IBV_WC_SUCCESS);
        CHECK(w.mw->rkey != before);
    });
    bind("a window whose bind has failed can be bound again", [] {
        Windows w(IBV_MW_TYPE_1);
        CHECK(w.bind(1024, 4096, IBV_ACCESS_REMOTE_READ) == IBV_WC_MW_BIND_ERR);
        Pair other(w.b, IBV_QPT_RC);  // the failure ended the first QP
        ibv_mw_bind info{};
        info.send_flags = IBV_SEND_SIGNALED;
        info.bind_info = {w.region.mr(), w.region.address(), 4096, IBV_ACCESS_REMOTE_READ};
        CHECK_RETURNS(0, ibv_bind_mw(other.qp(1), w.mw.get(), &info));
        CHECK(wait_wc(other.cq(1)).status == IBV_WC_SUCCESS);
    });
    bind("the window grants what it says, where it says", [] {
        Windows w(IBV_MW_TYPE_1);
        CHECK(w.bind(1024, 1024, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE) ==
              IBV_WC_SUCCESS);
        CHECK(w.access(IBV_WR_RDMA_WRITE, 1024, 1024) == IBV_WC_SUCCESS);
        CHECK(w.access(IBV_WR_RDMA_READ, 1500, 100) == IBV_WC_SUCCESS);
    });
    bind("bytes beside the window are refused", [] {
        Windows w(IBV_MW_TYPE_1);
        CHECK(w.bind(1024, 1024, IBV_ACCESS_REMOTE_READ) == IBV_WC_SUCCESS);
        CHECK(w.access(IBV_WR_RDMA_READ, 1023, 2) == IBV_WC_REM_ACCESS_ERR);
    });
    bind("a right that the window does not grant is refused", [] {
        Windows w(IBV_MW_TYPE_1);
        CHECK(w.bind(0, 4096, IBV_ACCESS_REMOTE_READ) == IBV_WC_SUCCESS);
        CHECK(w.access(IBV_WR_RDMA_WRITE, 0, 64) == IBV_WC_REM_ACCESS_ERR);
    });
    bind("length 0 unbinds: the window grants nothing", [] {
        Windows w(IBV_MW_TYPE_1);
        CHECK(w.bind(0, 4096, IBV_ACCESS_REMOTE_READ) == IBV_WC_SUCCESS);
        ibv_mw_bind info{};
        info.send_flags = IBV_SEND_SIGNALED;
        CHECK_RETURNS(0, ibv_bind_mw(w.pair.qp(1), w.mw.get(), &info));
        CHECK(wait_wc(w.pair.cq(1)).status == IBV_WC_SUCCESS);
        CHECK(w.access(IBV_WR_RDMA_READ, 0, 64) == IBV_WC_REM_ACCESS_ERR);
    });
    bind("a region without IBV_ACCESS_MW_BIND cannot be bound to", [] {
        Windows w(IBV_MW_TYPE_1);
        Region plain(w.b.pd.get(), 4096);
        ibv_mw_bind info{};
        info.send_flags = IBV_SEND_SIGNALED;
        info.bind_info = {plain.mr(), plain.address(), 4096, IBV_ACCESS_REMOTE_READ};
        const int rc = ibv_bind_mw(w.pair.qp(1), w.mw.get(), &info);
        CHECK(rc != 0 || wait_wc(w.pair.cq(1)).status != IBV_WC_SUCCESS);
    });
    bind("more than the region has cannot be bound", [] {
        Windows w(IBV_MW_TYPE_1);
        ibv_mw_bind info{};
        info.send_flags = IBV_SEND_SIGNALED;
        info.bind_info = {w.region.mr(), w.region.address(), 4097, IBV_ACCESS_REMOTE_READ};
        const int rc = ibv_bind_mw(w.pair.qp(1), w.mw.get(), &info);
        CHECK(rc != 0 || wait_wc(w.pair.cq(1)).status != IBV_WC_SUCCESS);
    });
    bind("a window of type 2 is for ibv_post_send(3): EINVAL", [] {
        Windows w(IBV_MW_TYPE_2);
        ibv_mw_bind info{};
        info.bind_info = {w.region.mr(), w.region.address(), 4096, IBV_ACCESS_REMOTE_READ};
        CHECK_RETURNS(EINVAL, ibv_bind_mw(w.pair.qp(1), w.mw.get(), &info));
    });
    bind("a window of another PD is refused with EPERM", [] {
        Windows w(IBV_MW_TYPE_1);
        Pd other(made(ibv_alloc_pd(w.b.ctx()), "PD"));
        Mw foreign(made(ibv_alloc_mw(other.get(), IBV_MW_TYPE_1), "memory windows"));
        ibv_mw_bind info{};
        info.bind_info = {w.region.mr(), w.region.address(), 4096, IBV_ACCESS_REMOTE_READ};
        CHECK_RETURNS(EPERM, ibv_bind_mw(w.pair.qp(1), foreign.get(), &info));
    });
}

void add_type2(Promises& all) {
    Page post(all, "ibv_post_send.3");
    post("IBV_WR_BIND_MW gives a window of type 2 the key that the request names", [] {
        Windows w(IBV_MW_TYPE_2);
        w.bind_by_request();
        CHECK(w.access(IBV_WR_RDMA_READ, 0, 64) == IBV_WC_SUCCESS);
    });
    post("IBV_WR_LOCAL_INV invalidates a window of type 2", [] {
        Windows w(IBV_MW_TYPE_2);
        w.bind_by_request();
        ibv_send_wr invalidate{};
        invalidate.opcode = IBV_WR_LOCAL_INV;
        invalidate.send_flags = IBV_SEND_SIGNALED;
        invalidate.invalidate_rkey = w.mw->rkey;
        ibv_send_wr* bad = nullptr;
        CHECK_RETURNS(0, ibv_post_send(w.pair.qp(1), &invalidate, &bad));
        const ibv_wc wc = wait_wc(w.pair.cq(1));
        CHECK(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_LOCAL_INV);
        CHECK(w.access(IBV_WR_RDMA_READ, 0, 64) == IBV_WC_REM_ACCESS_ERR);
    });
    post("IBV_WR_SEND_WITH_INV invalidates the peer's window and says so", [] {
        Windows w(IBV_MW_TYPE_2);
        w.bind_by_request();
        CHECK_RETURNS(0, w.pair.receive(1, 1));
        ibv_send_wr send = w.pair.request(IBV_WR_SEND_WITH_INV);
        send.invalidate_rkey = w.mw->rkey;
        CHECK(w.pair.run(send).status == IBV_WC_SUCCESS);
        const ibv_wc wc = wait_wc(w.pair.cq(1));
        CHECK(wc.status == IBV_WC_SUCCESS && (wc.wc_flags & IBV_WC_WITH_INV) != 0);
        CHECK(wc.invalidated_rkey == w.mw->rkey);
    });
}

}  // namespace

void add_mw(Promises& all) {
    add_alloc(all);
    add_bind(all);
    add_type2(all);
}

}  // namespace verbs_promises
