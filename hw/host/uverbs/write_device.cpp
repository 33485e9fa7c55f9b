// SPDX-License-Identifier: BSD-2-Clause
#include <endian.h>

#include <cstddef>

#include "host/uverbs/uverbs_file.h"
#include "host/uverbs/verbs.h"
#include "host/uverbs/write.h"

namespace dingo::uverbs::handlers {
namespace {

ib_uverbs_query_device_resp device_answer(const DeviceAttr& a) {
    ib_uverbs_query_device_resp r{};
    r.fw_ver = a.fw_ver;
    r.node_guid = htobe64(a.node_guid);
    r.sys_image_guid = htobe64(a.sys_image_guid);
    r.max_mr_size = a.max_mr_size;
    r.page_size_cap = a.page_size_cap;
    r.vendor_id = a.vendor_id;
    r.vendor_part_id = a.vendor_part_id;
    r.hw_ver = a.hw_ver;
    r.max_qp = a.max_qp;
    r.max_qp_wr = a.max_qp_wr;
    r.device_cap_flags = static_cast<std::uint32_t>(a.device_cap_flags);
    r.max_sge = a.max_sge;
    r.max_sge_rd = a.max_sge_rd;
    r.max_cq = a.max_cq;
    r.max_cqe = a.max_cqe;
    r.max_mr = a.max_mr;
    r.max_pd = a.max_pd;
    r.max_qp_rd_atom = a.max_qp_rd_atom;
    r.max_res_rd_atom = a.max_res_rd_atom;
    r.max_qp_init_rd_atom = a.max_qp_init_rd_atom;
    r.atomic_cap = a.atomic_cap;
    r.max_mw = a.max_mw;
    r.max_ah = a.max_ah;
    r.max_srq = a.max_srq;
    r.max_srq_wr = a.max_srq_wr;
    r.max_srq_sge = a.max_srq_sge;
    r.max_mcast_grp = a.max_mcast_grp;
    r.max_mcast_qp_attach = a.max_mcast_qp_attach;
    r.max_total_mcast_qp_attach = a.max_total_mcast_qp_attach;
    r.max_pkeys = static_cast<std::uint16_t>(a.max_pkeys);
    r.local_ca_ack_delay = static_cast<std::uint8_t>(a.local_ca_ack_delay);
    r.phys_port_cnt = 1;
    return r;
}

}  // namespace

void get_context(WriteCall& c) {
    (void)c.request<ib_uverbs_get_context>();
    make_context(c.call, c.udata);
    UniqueFd async = make_channel(c.call, EventChannel::Kind::kAsync);
    ib_uverbs_get_context_resp answer{};
    answer.async_fd = UINT32_MAX;  // replaced by the client with the descriptor's number
    answer.num_comp_vectors = c.call.driver().num_comp_vectors();
    c.respond(answer);
    c.give(std::move(async), offsetof(ib_uverbs_get_context_resp, async_fd), DINGO_UVERBS_FD_ASYNC);
}

void query_device(WriteCall& c) {
    (void)c.request<ib_uverbs_query_device>();
    (void)c.call.context();
    c.respond(device_answer(c.call.driver().query_device()));
}

void query_device_ex(WriteCall& c) {
    const auto request = c.request<ib_uverbs_ex_query_device>();
    (void)c.call.context();
    if (request.comp_mask != 0 || request.reserved != 0) {
        throw ErrnoError(EINVAL);
    }
    const DeviceAttr attr = c.call.driver().query_device();
    c.call.driver().query_compute(c.udata);
    ib_uverbs_ex_query_device_resp r{};
    r.base = device_answer(attr);
    r.response_length = c.response_length<ib_uverbs_ex_query_device_resp>();
    r.timestamp_mask = attr.timestamp_mask;
    r.hca_core_clock = attr.hca_core_clock;
    r.device_cap_flags_ex = attr.device_cap_flags;
    r.cq_moderation_caps.max_cq_moderation_count = attr.max_cq_count;
    r.cq_moderation_caps.max_cq_moderation_period = attr.max_cq_period;
    r.max_dm_size = attr.max_dm_size;
    c.respond(r);
}

void query_port(WriteCall& c) {
    const auto request = c.request<ib_uverbs_query_port>();
    (void)c.call.context();
    check_port(request.port_num);
    c.respond(port_answer(c.call.driver().query_port()));
}

void create_comp_channel(WriteCall& c) {
    (void)c.request<ib_uverbs_create_comp_channel>();
    (void)c.call.context();
    UniqueFd end = make_channel(c.call, EventChannel::Kind::kCompletion);
    c.respond(ib_uverbs_create_comp_channel_resp{UINT32_MAX});
    c.give(std::move(end), offsetof(ib_uverbs_create_comp_channel_resp, fd), DINGO_UVERBS_FD_COMP);
}

}  // namespace dingo::uverbs::handlers
