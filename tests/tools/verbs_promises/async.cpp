// SPDX-License-Identifier: BSD-2-Clause
//
// Asynchronous events, and features that the device lacks.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

ibv_async_event next_event(ibv_context* context) {
    pollfd p{context->async_fd, POLLIN, 0};
    if (::poll(&p, 1, 40000) != 1) {
        throw Broken("no event");
    }
    ibv_async_event event{};
    CHECK(ibv_get_async_event(context, &event) == 0);
    return event;
}

bool quiet(ibv_context* context) {
    pollfd p{context->async_fd, POLLIN, 0};
    return ::poll(&p, 1, 50) == 0;
}

}  // namespace

void add_async(Promises& all) {
    Page page(all, "ibv_get_async_event.3");
    page("with a non-blocking descriptor and no event: -1 and EAGAIN", [] {
        Bench b;
        const int fd = b.ctx()->async_fd;
        CHECK(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
        ibv_async_event event{};
        CHECK_FAILS(-1, EAGAIN, ibv_get_async_event(b.ctx(), &event));
    });
    page("work that succeeds makes no event, apart from IBV_EVENT_COMM_EST", [] {
        Bench b;
        Pair pair(b);
        CHECK(pair.run(pair.request(IBV_WR_RDMA_WRITE)).status == IBV_WC_SUCCESS);
        if (!quiet(b.ctx())) {
            ibv_async_event event = next_event(b.ctx());
            ibv_ack_async_event(&event);
            CHECK(event.event_type == IBV_EVENT_COMM_EST);
        }
    });
    page("IBV_EVENT_QP_ACCESS_ERR: a peer asked for what it may not", [] {
        Bench b;
        Pair pair(b);
        ibv_send_wr wr = pair.request(IBV_WR_RDMA_WRITE);
        wr.wr.rdma.rkey ^= 0x7a7a7a00;
        CHECK(pair.run(wr).status == IBV_WC_REM_ACCESS_ERR);
        ibv_async_event event = next_event(b.ctx());
        ibv_ack_async_event(&event);
        CHECK(event.event_type == IBV_EVENT_QP_ACCESS_ERR && event.element.qp == pair.qp(1));
    });
    page("IBV_EVENT_QP_REQ_ERR: a peer sent what is no request", [] {
        Bench b;
        b.need_atomics();
        Pair pair(b);
        ibv_send_wr wr = pair.request(IBV_WR_ATOMIC_FETCH_AND_ADD);
        wr.wr.atomic.remote_addr += 1;
        CHECK(pair.run(wr).status == IBV_WC_REM_INV_REQ_ERR);
        ibv_async_event event = next_event(b.ctx());
        ibv_ack_async_event(&event);
        CHECK(event.event_type == IBV_EVENT_QP_REQ_ERR && event.element.qp == pair.qp(1));
    });
    page("each context hears of its own objects only", [] {
        Bench b, other;
        Pair pair(b);
        ibv_send_wr wr = pair.request(IBV_WR_RDMA_WRITE);
        wr.wr.rdma.rkey ^= 0x7a7a7a00;
        CHECK(pair.run(wr).status == IBV_WC_REM_ACCESS_ERR);
        ibv_async_event event = next_event(b.ctx());
        ibv_ack_async_event(&event);
        CHECK(quiet(other.ctx()));
    });
    page("ibv_destroy_qp() waits until the events are acknowledged", [] {
        Bench b;
        auto pair = std::make_unique<Pair>(b);
        ibv_send_wr wr = pair->request(IBV_WR_RDMA_WRITE);
        wr.wr.rdma.rkey ^= 0x7a7a7a00;
        CHECK(pair->run(wr).status == IBV_WC_REM_ACCESS_ERR);
        ibv_async_event event = next_event(b.ctx());
        std::atomic<bool> acknowledged{false};
        std::thread later([&] {
            usleep(100'000);
            acknowledged = true;
            ibv_ack_async_event(&event);
        });
        pair.reset();
        const bool waited = acknowledged;
        later.join();
        CHECK(waited);
    });
    page("an event of a destroyed object does not come", [] {
        Bench b;
        auto pair = std::make_unique<Pair>(b);
        ibv_send_wr wr = pair->request(IBV_WR_RDMA_WRITE);
        wr.wr.rdma.rkey ^= 0x7a7a7a00;
        CHECK(pair->run(wr).status == IBV_WC_REM_ACCESS_ERR);
        pair.reset();
        CHECK(quiet(b.ctx()));
    });
}

void add_lacking(Promises& all) {
    Page xrcd(all, "ibv_open_xrcd.3");
    xrcd("where IBV_DEVICE_XRC is not said it is refused with EOPNOTSUPP", [] {
        Bench b;
        if (b.has(IBV_DEVICE_XRC)) {
            throw Lacking("the device has XRC");
        }
        ibv_xrcd_init_attr attr{};
        attr.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
        attr.fd = -1;
        attr.oflags = O_CREAT;
        CHECK_NULL(EOPNOTSUPP, ibv_open_xrcd(b.ctx(), &attr));
    });
    Page flow(all, "ibv_create_flow.3");
    flow("on a device without raw packets it is refused", [] {
        Bench b;
        Cq cq = b.cq();
        auto init = b.init(cq.get(), IBV_QPT_RAW_PACKET);
        if (Qp raw{ibv_create_qp(b.pd.get(), &init)}; raw) {
            throw Lacking("the device has raw packets");
        }
        Qp qp = b.qp(cq.get(), IBV_QPT_UD);
        ibv_flow_attr attr{};
        attr.type = IBV_FLOW_ATTR_NORMAL;
        attr.size = sizeof attr;
        attr.port = 1;
        CHECK(ibv_create_flow(qp.get(), &attr) == nullptr);
        CHECK(errno == EOPNOTSUPP || errno == EINVAL || errno == EPERM);
    });
    Page wq(all, "ibv_create_wq.3");
    wq("where max_wq_type_rq is 0 it is refused with EOPNOTSUPP", [] {
        Bench b;
        ibv_device_attr_ex attr{};
        CHECK_RETURNS(0, ibv_query_device_ex(b.ctx(), nullptr, &attr));
        if (attr.max_wq_type_rq != 0) {
            throw Lacking("the device has receive work queues");
        }
        Cq cq = b.cq();
        ibv_wq_init_attr init{};
        init.wq_type = IBV_WQT_RQ;
        init.max_wr = 4;
        init.max_sge = 1;
        init.pd = b.pd.get();
        init.cq = cq.get();
        CHECK_NULL(EOPNOTSUPP, ibv_create_wq(b.ctx(), &init));
    });
    Page null(all, "ibv_alloc_null_mr.3");
    null("gives a region, or EOPNOTSUPP", [] {
        Bench b;
        errno = 0;
        Mr mr(ibv_alloc_null_mr(b.pd.get()));
        CHECK(mr != nullptr || errno == EOPNOTSUPP);
    });
    Page advise(all, "ibv_advise_mr.3");
    advise("without on-demand paging it is refused with EOPNOTSUPP", [] {
        Bench b;
        ibv_device_attr_ex attr{};
        CHECK_RETURNS(0, ibv_query_device_ex(b.ctx(), nullptr, &attr));
        if ((attr.odp_caps.general_caps & IBV_ODP_SUPPORT) != 0) {
            throw Lacking("the device has on-demand paging");
        }
        Region region(b.pd.get(), 4096);
        ibv_sge sge = region.sge(0, 4096);
        CHECK_RETURNS(EOPNOTSUPP,
                      ibv_advise_mr(b.pd.get(), IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1));
    });
    Page odp(all, "ibv_reg_mr.3");
    odp("IBV_ACCESS_ON_DEMAND without on-demand paging is refused", [] {
        Bench b;
        ibv_device_attr_ex attr{};
        CHECK_RETURNS(0, ibv_query_device_ex(b.ctx(), nullptr, &attr));
        if ((attr.odp_caps.general_caps & IBV_ODP_SUPPORT) != 0) {
            throw Lacking("the device has on-demand paging");
        }
        std::vector<char> memory(4096);
        CHECK(ibv_reg_mr(b.pd.get(), memory.data(), 4096,
                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND) == nullptr);
        CHECK(errno == EOPNOTSUPP || errno == EINVAL);
    });
    Page rate(all, "ibv_modify_qp_rate_limit.3");
    rate("without packet pacing it is refused with EOPNOTSUPP", [] {
        Bench b;
        ibv_device_attr_ex attr{};
        CHECK_RETURNS(0, ibv_query_device_ex(b.ctx(), nullptr, &attr));
        if (attr.packet_pacing_caps.supported_qpts != 0) {
            throw Lacking("the device has packet pacing");
        }
        Pair pair(b);
        ibv_qp_rate_limit_attr limit{};
        limit.rate_limit = 1000;
        CHECK_RETURNS(EOPNOTSUPP, ibv_modify_qp_rate_limit(pair.qp(0), &limit));
    });
    Page counters(all, "ibv_create_counters.3");
    counters("gives counters, or EOPNOTSUPP", [] {
        Bench b;
        ibv_counters_init_attr attr{};
        errno = 0;
        ibv_counters* const c = ibv_create_counters(b.ctx(), &attr);
        CHECK(c != nullptr || errno == EOPNOTSUPP || errno == ENOSYS);
        if (c != nullptr) {
            CHECK_RETURNS(0, ibv_destroy_counters(c));
        }
    });
    Page ece(all, "ibv_query_ece.3");
    ece("returns the options, or EOPNOTSUPP", [] {
        Bench b;
        Cq cq = b.cq();
        Qp qp = b.qp(cq.get());
        ibv_ece options{};
        const int rc = ibv_query_ece(qp.get(), &options);
        CHECK(rc == 0 || rc == EOPNOTSUPP);
    });
    Page set(all, "ibv_set_ece.3");
    set("takes the options, or returns EOPNOTSUPP", [] {
        Bench b;
        Cq cq = b.cq();
        Qp qp = b.qp(cq.get());
        ibv_ece options{};
        const int rc = ibv_set_ece(qp.get(), &options);
        CHECK(rc == 0 || rc == EOPNOTSUPP);
    });
    Page order(all, "ibv_query_qp_data_in_order.3");
    order("says 0 or 1", [] {
        Bench b;
        Pair pair(b);
        const int said = ibv_query_qp_data_in_order(pair.qp(0), IBV_WR_RDMA_WRITE, 0);
        CHECK(said == 0 || said == 1);
    });
    Page dmabuf(all, "ibv_reg_dmabuf_mr.3");
    dmabuf("a descriptor that is no DMABuf is refused", [] {
        Bench b;
        int fds[2];
        CHECK(pipe(fds) == 0);
        CHECK(ibv_reg_dmabuf_mr(b.pd.get(), 0, 4096, 0, fds[0], kAllAccess) == nullptr);
        CHECK(ibv_reg_dmabuf_mr(b.pd.get(), 0, 4096, 0, -1, kAllAccess) == nullptr);
    });
    Page raw(all, "ibv_create_qp.3");
    raw("IBV_QPT_RAW_PACKET is made, or refused with EOPNOTSUPP or EPERM", [] {
        Bench b;
        Cq cq = b.cq();
        auto init = b.init(cq.get(), IBV_QPT_RAW_PACKET);
        errno = 0;
        Qp qp(ibv_create_qp(b.pd.get(), &init));
        CHECK(qp != nullptr || errno == EOPNOTSUPP || errno == EPERM);
    });
}

}  // namespace verbs_promises
