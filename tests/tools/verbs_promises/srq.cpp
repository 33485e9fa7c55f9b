// SPDX-License-Identifier: BSD-2-Clause
//
// Shared receive queues.
#include <cstring>

#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

void need_srqs(const Bench& b) {
    if (b.attr.max_srq == 0) {
        throw Lacking("the device has no shared receive queues");
    }
}

ibv_srq_attr query(ibv_srq* srq) {
    ibv_srq_attr attr{};
    CHECK_RETURNS(0, ibv_query_srq(srq, &attr));
    return attr;
}

int modify(ibv_srq* srq, int mask, std::uint32_t max_wr, std::uint32_t limit) {
    ibv_srq_attr attr{max_wr, 0, limit};
    return ibv_modify_srq(srq, &attr, mask);
}

int post(ibv_srq* srq, std::uint64_t id = 0, ibv_sge* sge = nullptr) {
    ibv_recv_wr wr{}, *bad = nullptr;
    wr.wr_id = id;
    wr.sg_list = sge;
    wr.num_sge = sge != nullptr ? 1 : 0;
    return ibv_post_srq_recv(srq, &wr, &bad);
}

void add_create(Promises& all) {
    Page page(all, "ibv_create_srq.3");
    for (const std::uint32_t wrs : {1U, 7U, 600U, 1000U}) {
        page(std::to_string(wrs) +
                 " receives asked for: as many or more are said, and can be posted",
             [wrs] {
                 Bench b;
                 ibv_srq_init_attr init{};
                 init.attr = {wrs, 1, 0};
                 Srq srq(made(ibv_create_srq(b.pd.get(), &init), "shared receive queues"));
                 CHECK(init.attr.max_wr >= wrs && init.attr.max_sge >= 1);
                 for (std::uint32_t i = 0; i < init.attr.max_wr; ++i) {
                     CHECK_RETURNS(0, post(srq.get()));
                 }
                 CHECK_RETURNS(ENOMEM, post(srq.get()));
             });
    }
    page("srq_limit is irrelevant: more than max_wr is no error, and nothing is armed", [] {
        Bench b;
        for (const std::uint32_t limit : {5U, 100000U}) {
            ibv_srq_init_attr init{};
            init.attr = {16, 1, limit};
            Srq srq(made(ibv_create_srq(b.pd.get(), &init), "shared receive queues"));
            CHECK(query(srq.get()).srq_limit == 0);
        }
    });
    page("max_srq_wr receives of max_srq_sge entries can be had", [] {
        Bench b;
        need_srqs(b);
        Srq srq = b.srq(static_cast<std::uint32_t>(b.attr.max_srq_wr),
                        static_cast<std::uint32_t>(b.attr.max_srq_sge));
    });
    page("more than max_srq_wr is refused with EINVAL", [] {
        Bench b;
        need_srqs(b);
        ibv_srq_init_attr init{};
        init.attr = {static_cast<std::uint32_t>(b.attr.max_srq_wr) + 1, 1, 0};
        CHECK_NULL(EINVAL, ibv_create_srq(b.pd.get(), &init));
    });
    page("more than max_srq_sge is refused with EINVAL", [] {
        Bench b;
        need_srqs(b);
        ibv_srq_init_attr init{};
        init.attr = {16, static_cast<std::uint32_t>(b.attr.max_srq_sge) + 1, 0};
        CHECK_NULL(EINVAL, ibv_create_srq(b.pd.get(), &init));
    });
    page("0 receives are refused with EINVAL", [] {
        Bench b;
        need_srqs(b);
        ibv_srq_init_attr init{};
        init.attr = {0, 1, 0};
        CHECK_NULL(EINVAL, ibv_create_srq(b.pd.get(), &init));
    });
    page("ibv_destroy_srq() with a queue pair on it fails with EBUSY", [] {
        Bench b;
        Srq srq = b.srq();
        Cq cq = b.cq();
        Qp qp = b.qp(cq.get(), IBV_QPT_RC, srq.get());
        CHECK_RETURNS(EBUSY, ibv_destroy_srq(srq.get()));
        qp.reset();
        CHECK_RETURNS(0, ibv_destroy_srq(srq.release()));
    });
    page("ibv_destroy_srq() with receives in it returns 0", [] {
        Bench b;
        Srq srq = b.srq();
        CHECK_RETURNS(0, post(srq.get()));
        CHECK_RETURNS(0, ibv_destroy_srq(srq.release()));
    });
}

void add_query(Promises& all) {
    Page page(all, "ibv_query_srq.3");
    page("says what ibv_create_srq(3) said", [] {
        Bench b;
        for (const std::uint32_t wrs : {1U, 600U}) {
            ibv_srq_init_attr init{};
            init.attr = {wrs, 2, 0};
            Srq srq(made(ibv_create_srq(b.pd.get(), &init), "shared receive queues"));
            const ibv_srq_attr attr = query(srq.get());
            CHECK(attr.max_wr == init.attr.max_wr && attr.max_sge == init.attr.max_sge);
            CHECK(attr.srq_limit == 0);
        }
    });
    page("says an armed limit", [] {
        Bench b;
        Srq srq = b.srq();
        for (int i = 0; i < 16; ++i) {
            CHECK_RETURNS(0, post(srq.get()));
        }
        CHECK_RETURNS(0, modify(srq.get(), IBV_SRQ_LIMIT, 0, 5));
        CHECK(query(srq.get()).srq_limit == 5);
    });
    page("says 0 once the limit was reached", [] {
        Bench b;
        Srq srq = b.srq();
        CHECK_RETURNS(0, modify(srq.get(), IBV_SRQ_LIMIT, 0, 5));
        ibv_async_event event{};
        CHECK(ibv_get_async_event(b.ctx(), &event) == 0);
        CHECK(event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && event.element.srq == srq.get());
        ibv_ack_async_event(&event);
        CHECK(query(srq.get()).srq_limit == 0);
    });
}

void add_modify(Promises& all) {
    Page page(all, "ibv_modify_srq.3");
    page("a limit up to the max_wr that was given is taken", [] {
        Bench b;
        ibv_srq_init_attr init{};
        init.attr = {600, 1, 0};
        Srq srq(made(ibv_create_srq(b.pd.get(), &init), "shared receive queues"));
        for (std::uint32_t i = 0; i < init.attr.max_wr; ++i) {
            CHECK_RETURNS(0, post(srq.get()));
        }
        CHECK_RETURNS(0, modify(srq.get(), IBV_SRQ_LIMIT, 0, init.attr.max_wr));
        CHECK(query(srq.get()).srq_limit == init.attr.max_wr);
    });
    page("a limit above max_wr is refused with EINVAL, and the armed one stays", [] {
        Bench b;
        ibv_srq_init_attr init{};
        init.attr = {16, 1, 0};
        Srq srq(made(ibv_create_srq(b.pd.get(), &init), "shared receive queues"));
        for (std::uint32_t i = 0; i < init.attr.max_wr; ++i) {
            CHECK_RETURNS(0, post(srq.get()));
        }
        CHECK_RETURNS(0, modify(srq.get(), IBV_SRQ_LIMIT, 0, 3));
        CHECK_RETURNS(EINVAL, modify(srq.get(), IBV_SRQ_LIMIT, 0, init.attr.max_wr + 1));
        CHECK(query(srq.get()).srq_limit == 3);
    });
    page("resizing where IBV_DEVICE_SRQ_RESIZE is not said is an error, and the size stays", [] {
        Bench b;
        Srq srq = b.srq();
        if (b.has(IBV_DEVICE_SRQ_RESIZE)) {
            throw Lacking("the device resizes");
        }
        const std::uint32_t before = query(srq.get()).max_wr;
        CHECK(modify(srq.get(), IBV_SRQ_MAX_WR, 1000, 0) != 0);
        CHECK(query(srq.get()).max_wr == before);
    });
    page("limit 0 disarms", [] {
        Bench b;
        Srq srq = b.srq();
        for (int i = 0; i < 16; ++i) {
            CHECK_RETURNS(0, post(srq.get()));
        }
        CHECK_RETURNS(0, modify(srq.get(), IBV_SRQ_LIMIT, 0, 5));
        CHECK_RETURNS(0, modify(srq.get(), IBV_SRQ_LIMIT, 0, 0));
        CHECK(query(srq.get()).srq_limit == 0);
    });
}

void add_ex(Promises& all) {
    Page page(all, "ibv_create_srq_ex.3");
    page("without a type it is a basic SRQ", [] {
        Bench b;
        ibv_srq_init_attr_ex init{};
        init.attr = {16, 1, 0};
        init.comp_mask = IBV_SRQ_INIT_ATTR_PD;
        init.pd = b.pd.get();
        Srq srq(made(ibv_create_srq_ex(b.ctx(), &init), "shared receive queues"));
        CHECK_RETURNS(0, post(srq.get()));
    });
    page("IBV_SRQT_BASIC is the same", [] {
        Bench b;
        ibv_srq_init_attr_ex init{};
        init.attr = {16, 1, 0};
        init.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE;
        init.srq_type = IBV_SRQT_BASIC;
        init.pd = b.pd.get();
        Srq srq(made(ibv_create_srq_ex(b.ctx(), &init), "shared receive queues"));
    });
    page("without a PD it is refused with EINVAL", [] {
        Bench b;
        need_srqs(b);
        ibv_srq_init_attr_ex init{};
        init.attr = {16, 1, 0};
        CHECK_NULL(EINVAL, ibv_create_srq_ex(b.ctx(), &init));
    });
    for (const auto type : {IBV_SRQT_XRC, IBV_SRQT_TM}) {
        page(std::string(type == IBV_SRQT_XRC ? "IBV_SRQT_XRC" : "IBV_SRQT_TM") +
                 ", which the device lacks, is refused",
             [type] {
                 Bench b;
                 ibv_device_attr_ex attr{};
                 CHECK_RETURNS(0, ibv_query_device_ex(b.ctx(), nullptr, &attr));
                 if ((type == IBV_SRQT_XRC && b.has(IBV_DEVICE_XRC)) ||
                     (type == IBV_SRQT_TM && attr.tm_caps.max_num_tags != 0)) {
                     throw Lacking("the device has it");
                 }
                 Cq cq = b.cq();
                 ibv_srq_init_attr_ex init{};
                 init.attr = {16, 1, 0};
                 init.comp_mask =
                     IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_CQ;
                 init.srq_type = type;
                 init.pd = b.pd.get();
                 init.cq = cq.get();
                 CHECK(ibv_create_srq_ex(b.ctx(), &init) == nullptr);
                 CHECK(errno == EOPNOTSUPP || errno == EINVAL);
             });
    }
    Page number(all, "ibv_get_srq_num.3");
    number("returns 0 and a number of its own for each", [] {
        Bench b;
        Srq one = b.srq(), two = b.srq();
        std::uint32_t first = 0, second = 0;
        done(ibv_get_srq_num(one.get(), &first), "numbers of shared receive queues");
        CHECK_RETURNS(0, ibv_get_srq_num(two.get(), &second));
        CHECK(first != second);
    });
}

}  // namespace

void add_srq(Promises& all) {
    add_create(all);
    add_query(all);
    add_modify(all);
    add_ex(all);
}

}  // namespace verbs_promises
