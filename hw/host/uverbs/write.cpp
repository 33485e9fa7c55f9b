// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/write.h"

#include <rdma/ib_user_verbs.h>

#include <algorithm>
#include <array>

namespace dingo::uverbs {
namespace {

#define DINGO_END_OF(type, field) (offsetof(type, field) + sizeof(type::field))

constexpr std::size_t kCommands = IB_USER_VERBS_CMD_OPEN_QP + 1;
constexpr std::size_t kExtended = IB_USER_VERBS_EX_CMD_MODIFY_CQ + 1;

// Commands not listed here give EOPNOTSUPP: the provider executes POLL, POST and REQ_NOTIFY itself,
// and the card has no XRC, flows or work queues.
constexpr auto kWriteMethods = [] {
    std::array<WriteMethod, kCommands> m{};
    m[IB_USER_VERBS_CMD_GET_CONTEXT] = {sizeof(ib_uverbs_get_context),
                                        sizeof(ib_uverbs_get_context_resp), true,
                                        handlers::get_context};
    m[IB_USER_VERBS_CMD_QUERY_DEVICE] = {sizeof(ib_uverbs_query_device),
                                         sizeof(ib_uverbs_query_device_resp), false,
                                         handlers::query_device};
    m[IB_USER_VERBS_CMD_QUERY_PORT] = {sizeof(ib_uverbs_query_port),
                                       sizeof(ib_uverbs_query_port_resp), false,
                                       handlers::query_port};
    m[IB_USER_VERBS_CMD_ALLOC_PD] = {sizeof(ib_uverbs_alloc_pd), sizeof(ib_uverbs_alloc_pd_resp),
                                     true, handlers::alloc_pd};
    m[IB_USER_VERBS_CMD_DEALLOC_PD] = {sizeof(ib_uverbs_dealloc_pd), 0, false,
                                       handlers::dealloc_pd};
    m[IB_USER_VERBS_CMD_CREATE_AH] = {sizeof(ib_uverbs_create_ah), sizeof(ib_uverbs_create_ah_resp),
                                      true, handlers::create_ah};
    m[IB_USER_VERBS_CMD_DESTROY_AH] = {sizeof(ib_uverbs_destroy_ah), 0, false,
                                       handlers::destroy_ah};
    m[IB_USER_VERBS_CMD_REG_MR] = {sizeof(ib_uverbs_reg_mr), sizeof(ib_uverbs_reg_mr_resp), true,
                                   handlers::reg_mr};
    m[IB_USER_VERBS_CMD_REREG_MR] = {sizeof(ib_uverbs_rereg_mr), sizeof(ib_uverbs_rereg_mr_resp),
                                     true, handlers::rereg_mr};
    m[IB_USER_VERBS_CMD_DEREG_MR] = {sizeof(ib_uverbs_dereg_mr), 0, false, handlers::dereg_mr};
    m[IB_USER_VERBS_CMD_ALLOC_MW] = {sizeof(ib_uverbs_alloc_mw), sizeof(ib_uverbs_alloc_mw_resp),
                                     true, handlers::alloc_mw};
    m[IB_USER_VERBS_CMD_DEALLOC_MW] = {sizeof(ib_uverbs_dealloc_mw), 0, false,
                                       handlers::dealloc_mw};
    m[IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL] = {sizeof(ib_uverbs_create_comp_channel),
                                                sizeof(ib_uverbs_create_comp_channel_resp), false,
                                                handlers::create_comp_channel};
    m[IB_USER_VERBS_CMD_CREATE_CQ] = {sizeof(ib_uverbs_create_cq), sizeof(ib_uverbs_create_cq_resp),
                                      true, handlers::create_cq};
    m[IB_USER_VERBS_CMD_RESIZE_CQ] = {sizeof(ib_uverbs_resize_cq), sizeof(ib_uverbs_resize_cq_resp),
                                      true, handlers::resize_cq};
    m[IB_USER_VERBS_CMD_DESTROY_CQ] = {sizeof(ib_uverbs_destroy_cq),
                                       sizeof(ib_uverbs_destroy_cq_resp), false,
                                       handlers::destroy_cq};
    m[IB_USER_VERBS_CMD_CREATE_QP] = {sizeof(ib_uverbs_create_qp), sizeof(ib_uverbs_create_qp_resp),
                                      true, handlers::create_qp};
    m[IB_USER_VERBS_CMD_QUERY_QP] = {sizeof(ib_uverbs_query_qp), sizeof(ib_uverbs_query_qp_resp),
                                     false, handlers::query_qp};
    m[IB_USER_VERBS_CMD_MODIFY_QP] = {sizeof(ib_uverbs_modify_qp), 0, false, handlers::modify_qp};
    m[IB_USER_VERBS_CMD_DESTROY_QP] = {sizeof(ib_uverbs_destroy_qp),
                                       sizeof(ib_uverbs_destroy_qp_resp), false,
                                       handlers::destroy_qp};
    m[IB_USER_VERBS_CMD_ATTACH_MCAST] = {sizeof(ib_uverbs_attach_mcast), 0, false,
                                         handlers::attach_mcast};
    m[IB_USER_VERBS_CMD_DETACH_MCAST] = {sizeof(ib_uverbs_detach_mcast), 0, false,
                                         handlers::detach_mcast};
    m[IB_USER_VERBS_CMD_CREATE_SRQ] = {sizeof(ib_uverbs_create_srq),
                                       sizeof(ib_uverbs_create_srq_resp), true,
                                       handlers::create_srq};
    m[IB_USER_VERBS_CMD_MODIFY_SRQ] = {sizeof(ib_uverbs_modify_srq), 0, true, handlers::modify_srq};
    m[IB_USER_VERBS_CMD_QUERY_SRQ] = {sizeof(ib_uverbs_query_srq), sizeof(ib_uverbs_query_srq_resp),
                                      false, handlers::query_srq};
    m[IB_USER_VERBS_CMD_DESTROY_SRQ] = {sizeof(ib_uverbs_destroy_srq),
                                        sizeof(ib_uverbs_destroy_srq_resp), false,
                                        handlers::destroy_srq};
    m[IB_USER_VERBS_CMD_CREATE_XSRQ] = {sizeof(ib_uverbs_create_xsrq),
                                        sizeof(ib_uverbs_create_srq_resp), true,
                                        handlers::create_xsrq};
    return m;
}();

constexpr auto kExtendedMethods = [] {
    std::array<WriteMethod, kExtended> m{};
    m[IB_USER_VERBS_EX_CMD_QUERY_DEVICE] = {
        .request_size = DINGO_END_OF(ib_uverbs_ex_query_device, reserved),
        .response_size = DINGO_END_OF(ib_uverbs_ex_query_device_resp, response_length),
        .handler = handlers::query_device_ex};
    m[IB_USER_VERBS_EX_CMD_CREATE_CQ] = {
        .request_size = DINGO_END_OF(ib_uverbs_ex_create_cq, reserved),
        .response_size = DINGO_END_OF(ib_uverbs_ex_create_cq_resp, response_length),
        .handler = handlers::create_cq_ex};
    m[IB_USER_VERBS_EX_CMD_CREATE_QP] = {
        .request_size = DINGO_END_OF(ib_uverbs_ex_create_qp, comp_mask),
        .response_size = DINGO_END_OF(ib_uverbs_ex_create_qp_resp, response_length),
        .handler = handlers::create_qp_ex};
    m[IB_USER_VERBS_EX_CMD_MODIFY_QP] = {
        .request_size = DINGO_END_OF(ib_uverbs_ex_modify_qp, base),
        .response_size = DINGO_END_OF(ib_uverbs_ex_modify_qp_resp, response_length),
        .handler = handlers::modify_qp_ex};
    m[IB_USER_VERBS_EX_CMD_MODIFY_CQ] = {.request_size = sizeof(ib_uverbs_ex_modify_cq),
                                         .handler = handlers::modify_cq_ex};
    return m;
}();

template <typename T>
T read(std::span<const std::byte> bytes, std::size_t offset = 0) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

void write_ex(Call& call, const WriteMethod& method, const ib_uverbs_cmd_hdr& hdr,
              std::span<const std::byte> rest) {
    if (rest.size() < sizeof(ib_uverbs_ex_cmd_hdr)) {
        throw ErrnoError(EINVAL);
    }
    const auto ex = read<ib_uverbs_ex_cmd_hdr>(rest);
    rest = rest.subspan(sizeof ex);
    const std::size_t in = std::size_t{hdr.in_words} * 8;
    const std::size_t out = std::size_t{hdr.out_words} * 8;
    if (in + std::size_t{ex.provider_in_words} * 8 != rest.size()) {
        throw ErrnoError(EINVAL);
    }
    if (in < method.request_size) {
        throw ErrnoError(ENOSPC);
    }
    const bool no_room = hdr.out_words == 0 && ex.provider_out_words == 0;
    if (ex.cmd_hdr_reserved != 0 || (ex.response != 0) == no_room) {
        throw ErrnoError(EINVAL);
    }
    if (ex.response != 0 && out < method.response_size) {
        throw ErrnoError(ENOSPC);
    }
    const WriteBuffers buffers{.in = rest.first(in),
                               .out_va = ex.response,
                               .out_len = out,
                               .driver_in = rest.subspan(in),
                               .driver_out_va = ex.response + out,
                               .driver_out_len = std::size_t{ex.provider_out_words} * 8};
    WriteCall c(call, buffers);
    method.handler(c);
}

void write_classic(Call& call, const WriteMethod& method, const ib_uverbs_cmd_hdr& hdr,
                   std::span<const std::byte> rest) {
    const std::size_t out = std::size_t{hdr.out_words} * 4;
    if (std::size_t{hdr.in_words} * 4 != rest.size() + sizeof hdr) {
        throw ErrnoError(EINVAL);
    }
    if (rest.size() < method.request_size) {
        // rdma-core 18 and 19 send DESTROY_CQ without its last words; the kernel accepts that.
        if (hdr.command != IB_USER_VERBS_CMD_DESTROY_CQ || rest.size() + sizeof hdr != 16) {
            throw ErrnoError(ENOSPC);
        }
        throw ErrnoError(EFAULT);  // its response address is missing
    }
    if (out < method.response_size) {
        throw ErrnoError(ENOSPC);
    }
    WriteBuffers buffers;
    buffers.in = rest;
    if (method.has_driver_data) {
        buffers.in = rest.first(method.request_size);
        buffers.driver_in = rest.subspan(method.request_size);
    }
    if (method.response_size != 0) {  // then the command begins with the response address
        buffers.out_va = read<std::uint64_t>(rest);
        buffers.out_len = out;
        if (method.has_driver_data) {
            buffers.out_len = method.response_size;
            buffers.driver_out_va = buffers.out_va + method.response_size;
            buffers.driver_out_len = out - method.response_size;
        }
    }
    WriteCall c(call, buffers);
    method.handler(c);
}

}  // namespace

const WriteMethod& write_method(std::uint32_t command) {
    if ((command & ~(IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_CMD_COMMAND_MASK)) != 0) {
        throw ErrnoError(EINVAL);
    }
    const std::uint32_t index = command & IB_USER_VERBS_CMD_COMMAND_MASK;
    const bool extended = (command & IB_USER_VERBS_CMD_FLAG_EXTENDED) != 0;
    if (index >= (extended ? kExtended : kCommands)) {
        throw ErrnoError(EOPNOTSUPP);
    }
    const WriteMethod& method = extended ? kExtendedMethods[index] : kWriteMethods[index];
    if (method.handler == nullptr) {
        throw ErrnoError(EOPNOTSUPP);
    }
    return method;
}

int execute_write(Call& call) {
    const std::span<const std::byte> all(call.message().payload);
    if (all.size() < sizeof(ib_uverbs_cmd_hdr)) {
        throw ErrnoError(EINVAL);
    }
    const auto hdr = read<ib_uverbs_cmd_hdr>(all);
    const WriteMethod& method = write_method(hdr.command);
    if ((hdr.command & IB_USER_VERBS_CMD_FLAG_EXTENDED) != 0) {
        write_ex(call, method, hdr, all.subspan(sizeof hdr));
    } else {
        write_classic(call, method, hdr, all.subspan(sizeof hdr));
    }
    return static_cast<int>(all.size());
}

void WriteCall::check_surplus(std::size_t known) const {
    if (buffers_.in.size() > known &&
        std::any_of(buffers_.in.begin() + static_cast<std::ptrdiff_t>(known), buffers_.in.end(),
                    [](std::byte b) { return b != std::byte{0}; })) {
        throw ErrnoError(EOPNOTSUPP);
    }
}

void WriteCall::respond_bytes(std::span<const std::byte> bytes) {
    const std::size_t n = std::min(bytes.size(), buffers_.out_len);
    call.copy_to(buffers_.out_va, bytes.first(n));
    call.clear(buffers_.out_va + n, buffers_.out_len - n);
    put_driver_answer(call, udata, buffers_.driver_out_va, buffers_.driver_out_len);
}

void put_driver_answer(Call& call, Udata& udata, std::uint64_t va, std::size_t length) {
    const std::span<const std::byte> out(udata.out);
    call.copy_to(va, out.first(std::min(out.size(), length)));
    for (Udata::Fd& fd : udata.fds) {
        if (fd.offset + 4 <= length) {
            call.give(std::move(fd.fd), va + fd.offset, 4, DINGO_UVERBS_FD_OTHER);
        }
    }
    udata.fds.clear();
}

}  // namespace dingo::uverbs
