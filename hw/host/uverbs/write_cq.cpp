// SPDX-License-Identifier: BSD-2-Clause
#include <infiniband/verbs.h>

#include "host/uverbs/uverbs_file.h"
#include "host/uverbs/verbs.h"
#include "host/uverbs/write.h"

namespace dingo::uverbs::handlers {
namespace {

CqObject& create(WriteCall& c, const CqParams& params, std::int32_t channel_number) {
    const UverbsFile& file = c.call.file();
    (void)c.call.context();
    HeldChannel channel;
    if (channel_number >= 0) {
        const int copy = c.call.descriptors({channel_number}).front();
        return make_cq(c.call, params, file.channel(EventChannel::Kind::kCompletion, copy),
                       file.default_async(), c.udata);
    }
    return make_cq(c.call, params, {}, file.default_async(), c.udata);
}

}  // namespace

void create_cq(WriteCall& c) {
    const auto r = c.request<ib_uverbs_create_cq>();
    auto& cq = create(c, {.user_handle = r.user_handle, .cqe = r.cqe, .comp_vector = r.comp_vector},
                      r.comp_channel);
    ib_uverbs_create_cq_resp answer{};
    answer.cq_handle = cq.handle();
    answer.cqe = cq.cq->entries();
    c.respond(answer);
}

void create_cq_ex(WriteCall& c) {
    const auto r = c.request<ib_uverbs_ex_create_cq>();
    if (r.comp_mask != 0 || r.reserved != 0) {
        throw ErrnoError(EINVAL);
    }
    auto& cq = create(c,
                      {.user_handle = r.user_handle,
                       .cqe = r.cqe,
                       .comp_vector = r.comp_vector,
                       .flags = r.flags},
                      r.comp_channel);
    ib_uverbs_ex_create_cq_resp answer{};
    answer.base.cq_handle = cq.handle();
    answer.base.cqe = cq.cq->entries();
    answer.response_length = c.response_length<ib_uverbs_ex_create_cq_resp>();
    c.respond(answer);
}

void resize_cq(WriteCall& c) {
    const auto r = c.request<ib_uverbs_resize_cq>();
    auto& cq = c.call.objects().get<CqObject>(r.cq_handle);
    cq.cq->resize(r.cqe, c.udata);
    ib_uverbs_resize_cq_resp answer{};
    answer.cqe = cq.cq->entries();
    c.respond(answer);
}

void modify_cq_ex(WriteCall& c) {
    const auto r = c.request<ib_uverbs_ex_modify_cq>();
    if (r.attr_mask == 0 || r.reserved != 0) {
        throw ErrnoError(EINVAL);
    }
    if (r.attr_mask != IBV_CQ_ATTR_MODERATE) {
        throw ErrnoError(EOPNOTSUPP);
    }
    auto& cq = c.call.objects().get<CqObject>(r.cq_handle);
    cq.cq->moderate(r.attr.cq_count, r.attr.cq_period);
}

void destroy_cq(WriteCall& c) {
    const auto r = c.request<ib_uverbs_destroy_cq>();
    const auto gone = destroy(c.call, CqObject::kType, r.cq_handle);
    const auto& cq = static_cast<const CqObject&>(*gone);
    c.respond(ib_uverbs_destroy_cq_resp{cq.completion_events, cq.async_reported()});
}

}  // namespace dingo::uverbs::handlers
