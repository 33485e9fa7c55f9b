// SPDX-License-Identifier: BSD-2-Clause
#include <rdma/ib_user_ioctl_verbs.h>

#include "host/rdma_cm/commands.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "host/rdma_cm/cm_service.h"
#include "host/rdma_cm/file.h"
#include "host/rdma_cm/id.h"

namespace dingo::rdma_cm {
namespace {

constexpr std::uint8_t kRc = IB_UVERBS_QPT_RC;
constexpr std::uint8_t kUc = IB_UVERBS_QPT_UC;
constexpr std::uint8_t kUd = IB_UVERBS_QPT_UD;
constexpr std::size_t kMaxOption = 4096;

std::uint8_t qp_type_of(const rdma_ucm_create_id& r) {
    switch (r.ps) {
        case RDMA_PS_TCP:
            return kRc;
        case RDMA_PS_UDP:
        case RDMA_PS_IPOIB:
            return kUd;
        case RDMA_PS_IB:
            if (r.qp_type != kRc && r.qp_type != kUc && r.qp_type != kUd) {
                throw ErrnoError(EINVAL);
            }
            return r.qp_type;
        default:
            throw ErrnoError(EINVAL);
    }
}

void create_id(Command& c) {
    const auto r = c.request<rdma_ucm_create_id>();
    Id* const id = c.service.make_id(c.file, r.uid, r.ps, qp_type_of(r));
    if (id == nullptr) {
        throw ErrnoError(ENOMEM);
    }
    try {
        c.respond(r.response, rdma_ucm_create_id_resp{id->number()});
    } catch (const ErrnoError&) {
        c.file.destroy(*id);
        throw;
    }
    c.file.made(*id);
}

void destroy_id(Command& c) {
    const auto r = c.request<rdma_ucm_destroy_id>();
    Id& id = c.file.id(r.id);
    if (c.out_length < sizeof(rdma_ucm_destroy_id_resp)) {
        throw ErrnoError(ENOSPC);
    }
    const rdma_ucm_destroy_id_resp answer{id.events_reported};
    c.file.destroy(id);
    c.respond(r.response, answer);
}

void bind_ip(Command& c) {
    const auto r = c.request<rdma_ucm_bind_ip>();
    c.file.id(r.id).bind(address_of(&r.addr, sizeof r.addr));
}

void bind(Command& c) {
    const auto r = c.request<rdma_ucm_bind>();
    if (r.reserved != 0) {
        throw ErrnoError(EINVAL);
    }
    c.file.id(r.id).bind(sized_address(r.addr, r.addr_size));
}

/// Returns the identifier for a command that leads to an event and may be repeated. Throws
/// ErrnoError(ENOMEM) if too many events are unread.
Id& id_for_event(Command& c, std::uint32_t number) {
    if (!c.file.has_room_for_events()) {
        throw ErrnoError(ENOMEM);
    }
    return c.file.id(number);
}

void resolve_ip(Command& c) {
    const auto r = c.request<rdma_ucm_resolve_ip>();
    id_for_event(c, r.id).resolve_address(address_of(&r.src_addr, sizeof r.src_addr),
                                          address_of(&r.dst_addr, sizeof r.dst_addr), r.timeout_ms);
}

void resolve_addr(Command& c) {
    const auto r = c.request<rdma_ucm_resolve_addr>();
    if (r.reserved != 0) {
        throw ErrnoError(EINVAL);
    }
    const Address source = r.src_size != 0 ? sized_address(r.src_addr, r.src_size) : Address{};
    id_for_event(c, r.id).resolve_address(source, sized_address(r.dst_addr, r.dst_size),
                                          r.timeout_ms);
}

void resolve_route(Command& c) {
    c.file.id(c.request<rdma_ucm_resolve_route>().id).resolve_route();
}

void connect(Command& c) {
    const auto r = c.request<rdma_ucm_connect>();
    id_for_event(c, r.id).connect(r.conn_param);
}

void listen(Command& c) {
    const auto r = c.request<rdma_ucm_listen>();
    c.file.id(r.id).listen(r.backlog);
}

void accept(Command& c) {
    const auto r = c.request<rdma_ucm_accept>();
    c.file.id(r.id).accept(r.uid, r.conn_param);
}

void reject(Command& c) {
    const auto r = c.request<rdma_ucm_reject>();
    c.file.id(r.id).reject(r.reason, std::span(r.private_data).first(r.private_data_len));
}

void disconnect(Command& c) {
    c.file.id(c.request<rdma_ucm_disconnect>().id).disconnect();
}

void init_qp_attr(Command& c) {
    const auto r = c.request<rdma_ucm_init_qp_attr>();
    c.respond(r.response, c.file.id(r.id).qp_attr(r.qp_state));
}

void get_event(Command& c) {
    const auto r = c.request<rdma_ucm_get_event>();
    const File::Entry* const entry = c.file.front();
    if (entry == nullptr) {
        throw ErrnoError(EAGAIN);
    }
    // Older libraries lack ECE, and 32-bit ones the padding before it.
    constexpr std::size_t kLeast = offsetof(rdma_ucm_event_resp, reserved);
    c.respond(r.response, entry->event, kLeast);
    c.file.taken();
}

void set_option(Command& c) {
    const auto r = c.request<rdma_ucm_set_option>();
    Id& id = c.file.id(r.id);
    if (r.optlen > kMaxOption) {
        throw ErrnoError(EINVAL);
    }
    std::vector<std::byte> value(r.optlen);
    if (!value.empty() && !c.arguments.read(r.optval, value)) {
        throw ErrnoError(EFAULT);
    }
    if (r.level == RDMA_OPTION_ID) {
        id.set_option(r.optname, value);
    } else if (r.level == RDMA_OPTION_IB && r.optname == RDMA_OPTION_IB_PATH) {
        id.set_path(value);
    } else {
        throw ErrnoError(ENOSYS);
    }
}

void notify(Command& c) {
    const auto r = c.request<rdma_ucm_notify>();
    c.file.id(r.id).notify(r.event);
}

void migrate_id(Command& c) {
    const auto r = c.request<rdma_ucm_migrate_id>();
    Id* const id = c.service.find_id(r.id);
    // The descriptor's number has no meaning here; what counts is that the process has used that
    // descriptor.
    if (id == nullptr || !c.file.may_take(*id, c.process)) {
        throw ErrnoError(EINVAL);
    }
    if (c.out_length < sizeof(rdma_ucm_migrate_resp)) {
        throw ErrnoError(ENOSPC);
    }
    const rdma_ucm_migrate_resp answer{id->events_reported};
    c.respond(r.response, answer);
    c.left = &id->file();
    c.file.adopt(*id);
}

void join_group(Command& c, std::uint64_t response, std::uint64_t uid, std::uint32_t number,
                const Address& group, std::uint16_t flags) {
    if (flags >= RDMA_MC_JOIN_FLAG_RESERVED) {
        throw ErrnoError(EINVAL);
    }
    Id& id = c.file.id(number);
    GroupJoin& join = id.join(uid, group, flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER);
    try {
        c.respond(response, rdma_ucm_create_id_resp{join.number});
    } catch (const ErrnoError&) {
        id.leave(join);
        throw;
    }
    id.joined(join, group);
}

template <typename Response>
void need_room(const Command& c) {
    if (c.out_length < sizeof(Response)) {
        throw ErrnoError(ENOSPC);
    }
}

void join_ip_mcast(Command& c) {
    need_room<rdma_ucm_create_id_resp>(c);
    const auto r = c.request<rdma_ucm_join_ip_mcast>();
    join_group(c, r.response, r.uid, r.id, address_of(&r.addr, sizeof r.addr),
               RDMA_MC_JOIN_FLAG_FULLMEMBER);
}

void join_mcast(Command& c) {
    need_room<rdma_ucm_create_id_resp>(c);
    const auto r = c.request<rdma_ucm_join_mcast>();
    join_group(c, r.response, r.uid, r.id, sized_address(r.addr, r.addr_size), r.join_flags);
}

void leave_mcast(Command& c) {
    need_room<rdma_ucm_destroy_id_resp>(c);
    const auto r = c.request<rdma_ucm_destroy_id>();  // the number is that of a join
    GroupJoin* const join = c.service.find_join(r.id);
    if (join == nullptr) {
        throw ErrnoError(ENOENT);
    }
    if (&join->id->file() != &c.file) {
        throw ErrnoError(EINVAL);
    }
    const rdma_ucm_destroy_id_resp answer{join->events_reported};
    join->id->leave(*join);
    c.respond(r.response, answer);
}

using Handler = void (*)(Command&);

constexpr Handler kHandlers[] = {
    create_id,  // RDMA_USER_CM_CMD_*, in order
    destroy_id, bind_ip,      resolve_ip,    resolve_route, query_route,  connect,
    listen,     accept,       reject,        disconnect,    init_qp_attr, get_event,
    nullptr,  // GET_OPTION: not implemented by any kernel
    set_option, notify,       join_ip_mcast, leave_mcast,   migrate_id,   query,
    bind,       resolve_addr, join_mcast,
};
static_assert(std::size(kHandlers) == RDMA_USER_CM_CMD_JOIN_MCAST + 1);

}  // namespace

Address address_of(const void* storage, std::size_t size) {
    const auto address = parse_address({static_cast<const std::byte*>(storage), size});
    if (!address) {
        throw ErrnoError(EINVAL);
    }
    return *address;
}

Address sized_address(const __kernel_sockaddr_storage& storage, std::size_t size) {
    if (size == 0 || size > sizeof storage) {
        throw ErrnoError(EINVAL);
    }
    const Address address = address_of(&storage, size);
    sockaddr_storage scratch{};
    if (address.family == AF_UNSPEC || address.put(scratch) != size) {
        throw ErrnoError(EINVAL);
    }
    return address;
}

void Command::respond_bytes(std::uint64_t va, std::span<const std::byte> bytes,
                            std::size_t least) const {
    if (out_length < least) {
        throw ErrnoError(ENOSPC);
    }
    if (!arguments.write(va, bytes.first(std::min(bytes.size(), out_length)))) {
        throw ErrnoError(EFAULT);
    }
}

void execute_command(Command& command) {
    rdma_ucm_cmd_hdr header;
    if (command.in.size() < sizeof header) {
        throw ErrnoError(EINVAL);
    }
    std::memcpy(&header, command.in.data(), sizeof header);
    command.in = command.in.subspan(sizeof header);
    if (header.cmd >= std::size(kHandlers) || header.in > command.in.size()) {
        throw ErrnoError(EINVAL);
    }
    if (kHandlers[header.cmd] == nullptr) {
        throw ErrnoError(ENOSYS);
    }
    command.in = command.in.first(header.in);
    command.out_length = header.out;
    kHandlers[header.cmd](command);
}

}  // namespace dingo::rdma_cm
