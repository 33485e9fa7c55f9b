// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "dingo-abi.h"
#include "host/uverbs/ioctl.h"
#include "host/uverbs/uverbs_file.h"
#include "host/uverbs/verbs.h"
#include "host/uverbs/write.h"

namespace dingo::uverbs {
namespace {

using namespace spec;

constexpr std::uint64_t kCoreSupport = IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS;

void invoke_write(IoctlCall& c) {
    const auto command = static_cast<std::uint32_t>(c.constant(UVERBS_ATTR_WRITE_CMD, UINT32_MAX));
    const WriteMethod& method = write_method(command);
    const auto in = c.bytes(UVERBS_ATTR_CORE_IN);
    const IoctlCall::Room out = c.room(UVERBS_ATTR_CORE_OUT);
    const IoctlCall::Room driver_out = c.room(UVERBS_ATTR_UHW_OUT);
    if (in.size() < method.request_size || out.length < method.response_size) {
        throw ErrnoError(ENOSPC);
    }
    const WriteBuffers buffers{.in = in,
                               .out_va = out.va,
                               .out_len = out.length,
                               .driver_in = c.udata.in,
                               .driver_out_va = driver_out.va,
                               .driver_out_len = driver_out.length};
    WriteCall w(c.call, buffers);
    method.handler(w);
    if (method.response_size != 0) {
        c.mark_valid(UVERBS_ATTR_CORE_OUT);
    }
}

void info_handles(IoctlCall& c) {
    const std::size_t room = c.length(UVERBS_ATTR_INFO_HANDLES_LIST);
    if (room == 0 || room % sizeof(std::uint32_t) != 0) {
        throw ErrnoError(EINVAL);
    }
    const auto type = static_cast<ObjectType>(c.constant(UVERBS_ATTR_INFO_OBJECT_ID, UINT16_MAX));
    if (type > UVERBS_OBJECT_ASYNC_EVENT) {
        throw ErrnoError(EINVAL);
    }
    auto handles = c.call.objects().handles(type);
    handles.resize(std::min(handles.size(), room / sizeof(std::uint32_t)));
    c.write(UVERBS_ATTR_INFO_HANDLES_LIST, std::as_bytes(std::span(handles)));
    c.out(UVERBS_ATTR_INFO_TOTAL_HANDLES, static_cast<std::uint32_t>(handles.size()));
}

// ib_uverbs_query_port_resp_ex of newer headers.
struct PortAnswer {
    ib_uverbs_query_port_resp legacy;
    std::uint16_t port_cap_flags2;
    std::uint8_t reserved[2];
    std::uint32_t active_speed_ex;
};
static_assert(sizeof(PortAnswer) == sizeof(ib_uverbs_query_port_resp_ex));

void query_port(IoctlCall& c) {
    (void)c.call.context();
    check_port(c.constant(UVERBS_ATTR_QUERY_PORT_PORT_NUM, UINT8_MAX));
    const PortAttr attr = c.call.driver().query_port();
    PortAnswer answer{};
    answer.legacy = port_answer(attr);
    answer.active_speed_ex = attr.active_speed;
    c.out(UVERBS_ATTR_QUERY_PORT_RESP, answer);
}

void get_context(IoctlCall& c) {
    c.out(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, c.call.driver().num_comp_vectors());
    c.out(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, kCoreSupport);
    make_context(c.call, c.udata);
}

void query_context(IoctlCall& c) {
    const Context& context = c.call.context();
    c.out(UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, c.call.driver().num_comp_vectors());
    c.out(UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, kCoreSupport);
    if (c.has(DINGO_ATTR_QUERY_CONTEXT_RESP)) {
        const IoctlCall::Room room = c.room(DINGO_ATTR_QUERY_CONTEXT_RESP);
        Udata answer;
        context.describe(answer);
        put_driver_answer(c.call, answer, room.va, room.length);
        c.mark_valid(DINGO_ATTR_QUERY_CONTEXT_RESP);
    }
}

/// From now on peers can see regions of the context.
void device_direct(IoctlCall& c) {
    DirectContext& direct = c.call.file().start_direct();
    dingo_device_direct_resp resp{};
    resp.context = direct.number();
    resp.directory_mmap = direct.directory_mmap();
    resp.directory_bytes = direct.directory_bytes();
    const std::string card = direct.card().socket_of(c.call.driver().mac());
    if (card.size() >= sizeof resp.card) {
        throw ErrnoError(EOPNOTSUPP);
    }
    std::memcpy(resp.card, card.data(), card.size());
    c.out(DINGO_ATTR_DEVICE_DIRECT_RESP, resp);
}

ib_uverbs_gid_entry entry_of(const GidEntry& gid) {
    ib_uverbs_gid_entry entry{};
    static_assert(sizeof entry.gid == sizeof gid.gid);
    std::memcpy(entry.gid, gid.gid.data(), sizeof entry.gid);
    entry.gid_index = gid.index;
    entry.port_num = 1;
    entry.gid_type = IB_UVERBS_GID_TYPE_ROCE_V2;
    return entry;
}

void query_gid_table(IoctlCall& c) {
    (void)c.flags(UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, 0);
    const std::uint64_t size = c.constant(UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, UINT64_MAX);
    const std::size_t room = c.length(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES);
    if (size == 0 || room % size != 0) {
        throw ErrnoError(EINVAL);
    }
    (void)c.call.context();
    const auto& gids = c.call.driver().gids();
    if (gids.size() > room / size) {
        throw ErrnoError(EINVAL);
    }
    std::vector<std::byte> table(gids.size() * size);
    for (std::size_t i = 0; i < gids.size(); ++i) {
        const ib_uverbs_gid_entry entry = entry_of(gids[i]);
        std::memcpy(table.data() + i * size, &entry, std::min<std::size_t>(size, sizeof entry));
    }
    c.write(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, table);
    c.out(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, std::uint64_t{gids.size()});
}

void query_gid_entry(IoctlCall& c) {
    (void)c.flags(UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 0);
    const std::uint64_t index = c.constant(UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, UINT32_MAX);
    const std::uint64_t port = c.constant(UVERBS_ATTR_QUERY_GID_ENTRY_PORT, UINT32_MAX);
    (void)c.call.context();
    check_port(port);
    if (index >= c.call.driver().gid_table_size()) {
        throw ErrnoError(EINVAL);
    }
    const auto& gids = c.call.driver().gids();
    const auto at = std::find_if(gids.begin(), gids.end(),
                                 [&](const GidEntry& gid) { return gid.index == index; });
    if (at == gids.end()) {
        throw ErrnoError(ENODATA);
    }
    c.out(UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, entry_of(*at));
}

void alloc_async(IoctlCall& c) {
    (void)c.call.context();
    c.put_fd(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE,
             make_channel(c.call, EventChannel::Kind::kAsync), DINGO_UVERBS_FD_ASYNC);
}

AttributeSpec struct_out(std::uint16_t id, std::size_t min, std::size_t known) {
    return {id,
            AttributeKind::kOut,
            kMandatory,
            static_cast<std::uint16_t>(min),
            static_cast<std::uint16_t>(known),
            true};
}

}  // namespace

std::vector<IoctlMethod> device_methods() {
    constexpr std::uint16_t kDevice = UVERBS_OBJECT_DEVICE;
    return {
        {kDevice,
         UVERBS_METHOD_INVOKE_WRITE,
         true,
         {constant(UVERBS_ATTR_WRITE_CMD),
          {UVERBS_ATTR_CORE_IN, AttributeKind::kIn, kOptional, 4, UINT16_MAX},
          out_array(UVERBS_ATTR_CORE_OUT, 0, kOptional)},
         invoke_write},
        {kDevice,
         UVERBS_METHOD_INFO_HANDLES,
         false,
         {constant(UVERBS_ATTR_INFO_OBJECT_ID),
          out<std::uint32_t>(UVERBS_ATTR_INFO_TOTAL_HANDLES, kOptional),
          out_array(UVERBS_ATTR_INFO_HANDLES_LIST, sizeof(std::uint32_t), kOptional)},
         info_handles},
        {kDevice,
         UVERBS_METHOD_QUERY_PORT,
         false,
         {constant(UVERBS_ATTR_QUERY_PORT_PORT_NUM),
          struct_out(UVERBS_ATTR_QUERY_PORT_RESP, offsetof(PortAnswer, reserved),
                     sizeof(PortAnswer))},
         query_port},
        {kDevice,
         UVERBS_METHOD_GET_CONTEXT,
         true,
         {out<std::uint32_t>(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, kOptional),
          out<std::uint64_t>(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, kOptional)},
         get_context},
        {kDevice,
         UVERBS_METHOD_QUERY_CONTEXT,
         false,
         {out<std::uint32_t>(UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, kOptional),
          out<std::uint64_t>(UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, kOptional),
          out_array(DINGO_ATTR_QUERY_CONTEXT_RESP, offsetof(dingo_alloc_ucontext_resp, kick_mmap),
                    kOptional)},
         query_context},
        {kDevice,
         DINGO_METHOD_DEVICE_DIRECT,
         false,
         {out<dingo_device_direct_resp>(DINGO_ATTR_DEVICE_DIRECT_RESP, kMandatory)},
         device_direct},
        {kDevice,
         UVERBS_METHOD_QUERY_GID_TABLE,
         false,
         {constant(UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE),
          flags(UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, kMandatory),
          out_array(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, 0, kMandatory),
          out<std::uint64_t>(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, kMandatory)},
         query_gid_table},
        {kDevice,
         UVERBS_METHOD_QUERY_GID_ENTRY,
         false,
         {constant(UVERBS_ATTR_QUERY_GID_ENTRY_PORT),
          constant(UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX),
          flags(UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, kMandatory),
          struct_out(UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, sizeof(ib_uverbs_gid_entry),
                     sizeof(ib_uverbs_gid_entry))},
         query_gid_entry},
        {UVERBS_OBJECT_ASYNC_EVENT,
         UVERBS_METHOD_ASYNC_EVENT_ALLOC,
         false,
         {{UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, AttributeKind::kNewFd, kMandatory}},
         alloc_async},
    };
}

}  // namespace dingo::uverbs
