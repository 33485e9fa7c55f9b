// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/uverbs_file.h"
#include "host/uverbs/verbs.h"
#include "host/uverbs/write.h"

namespace dingo::uverbs::handlers {
namespace {

void create(WriteCall& c, SrqParams params, std::uint32_t pd_handle) {
    (void)c.call.context();
    auto& pd = c.call.objects().get<PdObject>(pd_handle);
    auto& srq = make_srq(c.call, params, pd, c.call.file().default_async(), c.udata);
    ib_uverbs_create_srq_resp answer{};
    answer.srq_handle = srq.handle();
    answer.max_wr = params.max_wr;
    answer.max_sge = params.max_sge;
    c.respond(answer);  // srqn is for XRC only
}

}  // namespace

void create_srq(WriteCall& c) {
    const auto r = c.request<ib_uverbs_create_srq>();
    create(c, {.user_handle = r.user_handle, .max_wr = r.max_wr, .max_sge = r.max_sge},
           r.pd_handle);
}

void create_xsrq(WriteCall& c) {
    const auto r = c.request<ib_uverbs_create_xsrq>();
    create(c,
           {.user_handle = r.user_handle,
            .type = r.srq_type,
            .max_wr = r.max_wr,
            .max_sge = r.max_sge},
           r.pd_handle);
}

void modify_srq(WriteCall& c) {
    const auto r = c.request<ib_uverbs_modify_srq>();
    auto& srq = c.call.objects().get<SrqObject>(r.srq_handle);
    srq.srq->modify(r.attr_mask, r.max_wr, r.srq_limit, c.udata);
}

void query_srq(WriteCall& c) {
    const auto r = c.request<ib_uverbs_query_srq>();
    auto& srq = c.call.objects().get<SrqObject>(r.srq_handle);
    const Srq::Attr attr = srq.srq->query();
    c.respond(ib_uverbs_query_srq_resp{attr.max_wr, attr.max_sge, attr.limit, 0});
}

void destroy_srq(WriteCall& c) {
    const auto r = c.request<ib_uverbs_destroy_srq>();
    const auto gone = destroy(c.call, SrqObject::kType, r.srq_handle);
    c.respond(ib_uverbs_destroy_srq_resp{static_cast<const SrqObject&>(*gone).async_reported()});
}

}  // namespace dingo::uverbs::handlers
