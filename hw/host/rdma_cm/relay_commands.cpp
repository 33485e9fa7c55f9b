// SPDX-License-Identifier: BSD-2-Clause
//
// Commands on identifiers that may exist on several cards.
#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "host/rdma_cm/cm_service.h"
#include "host/rdma_cm/commands.h"
#include "host/rdma_cm/file.h"
#include "host/rdma_cm/id.h"
#include "host/rdma_cm/relay.h"

namespace dingo::rdma_cm {
namespace {

constexpr unsigned kPortTries = 16;

void put_number(Bytes& body, std::size_t at, std::uint32_t number) {
    std::memcpy(body.data() + at, &number, sizeof number);
}

}  // namespace

const Relay::Layout Relay::kLayouts[] = {
    {RDMA_USER_CM_CMD_DESTROY_ID, offsetof(rdma_ucm_destroy_id, id), {}},
    {RDMA_USER_CM_CMD_BIND_IP, offsetof(rdma_ucm_bind_ip, id), {}},
    {RDMA_USER_CM_CMD_RESOLVE_IP, offsetof(rdma_ucm_resolve_ip, id), {}},
    {RDMA_USER_CM_CMD_RESOLVE_ROUTE, offsetof(rdma_ucm_resolve_route, id), {}},
    {RDMA_USER_CM_CMD_QUERY_ROUTE, offsetof(rdma_ucm_query, id),
     offsetof(rdma_ucm_query, response)},
    {RDMA_USER_CM_CMD_CONNECT, offsetof(rdma_ucm_connect, id), {}},
    {RDMA_USER_CM_CMD_LISTEN, offsetof(rdma_ucm_listen, id), {}},
    {RDMA_USER_CM_CMD_ACCEPT, offsetof(rdma_ucm_accept, id), {}},
    {RDMA_USER_CM_CMD_REJECT, offsetof(rdma_ucm_reject, id), {}},
    {RDMA_USER_CM_CMD_DISCONNECT, offsetof(rdma_ucm_disconnect, id), {}},
    {RDMA_USER_CM_CMD_INIT_QP_ATTR, offsetof(rdma_ucm_init_qp_attr, id),
     offsetof(rdma_ucm_init_qp_attr, response)},
    {RDMA_USER_CM_CMD_SET_OPTION, offsetof(rdma_ucm_set_option, id), {}},
    {RDMA_USER_CM_CMD_NOTIFY, offsetof(rdma_ucm_notify, id), {}},
    {RDMA_USER_CM_CMD_JOIN_IP_MCAST, offsetof(rdma_ucm_join_ip_mcast, id),
     offsetof(rdma_ucm_join_ip_mcast, response)},
    {RDMA_USER_CM_CMD_QUERY, offsetof(rdma_ucm_query, id), offsetof(rdma_ucm_query, response)},
    {RDMA_USER_CM_CMD_BIND, offsetof(rdma_ucm_bind, id), {}},
    {RDMA_USER_CM_CMD_RESOLVE_ADDR, offsetof(rdma_ucm_resolve_addr, id), {}},
    {RDMA_USER_CM_CMD_JOIN_MCAST, offsetof(rdma_ucm_join_mcast, id),
     offsetof(rdma_ucm_join_mcast, response)},
};

Relay::Did Relay::execute(Command& command, uverbs::Message& message) {
    const auto header = request_of<rdma_ucm_cmd_hdr>(command.in);
    if (command.in.size() < sizeof header || command.in.size() - sizeof header < header.in) {
        return Did::kNothing;
    }
    if (header.cmd == RDMA_USER_CM_CMD_MIGRATE_ID) {
        return migrate(command, message);  // the other descriptor may have links
    }
    if (links_.empty()) {
        return Did::kNothing;
    }
    if (header.cmd == RDMA_USER_CM_CMD_LEAVE_MCAST) {
        return leave_group(command, message);
    }
    const auto body = command.in.subspan(sizeof header, header.in);
    const auto* const layout =
        std::find_if(std::begin(kLayouts), std::end(kLayouts),
                     [&header](const Layout& known) { return known.number == header.cmd; });
    std::uint32_t number = 0;
    if (layout == std::end(kLayouts) || body.size() < layout->id_at + sizeof number) {
        return Did::kNothing;
    }
    if (open_ >= kMostOpen || !uverbs::is_small_enough_to_wait(message)) {
        fail(ENOMEM);
    }
    std::memcpy(&number, body.data() + layout->id_at, sizeof number);
    Id& id = file_.id(number);
    Entry& entry = entries_[number];
    if (entry.key == 0) {
        entry.key = service_.next_key(number);
    }
    if (entry.busy) {
        entry.waiting.push_back(std::move(message));
        ++open_;
        return Did::kLater;
    }
    Call call{command, message, *layout, body, header.out, id, entry};
    return handle(call);
}

Relay::Did Relay::handle(Call& call) {
    switch (call.layout.number) {
        case RDMA_USER_CM_CMD_DESTROY_ID:
            return destroy(call);
        case RDMA_USER_CM_CMD_SET_OPTION:
            return set_option(call);
        case RDMA_USER_CM_CMD_LISTEN:
            return listen(call);
        case RDMA_USER_CM_CMD_BIND_IP: {
            const auto r = request_of<rdma_ucm_bind_ip>(call.body);
            return bind(call, address_of(&r.addr, sizeof r.addr));
        }
        case RDMA_USER_CM_CMD_BIND: {
            const auto r = request_of<rdma_ucm_bind>(call.body);
            return bind(call, sized_address(r.addr, r.addr_size));
        }
        case RDMA_USER_CM_CMD_RESOLVE_IP: {
            const auto r = request_of<rdma_ucm_resolve_ip>(call.body);
            return resolve(call, address_of(&r.src_addr, sizeof r.src_addr),
                           address_of(&r.dst_addr, sizeof r.dst_addr));
        }
        case RDMA_USER_CM_CMD_RESOLVE_ADDR: {
            const auto r = request_of<rdma_ucm_resolve_addr>(call.body);
            return resolve(call,
                           r.src_size != 0 ? sized_address(r.src_addr, r.src_size) : Address{},
                           sized_address(r.dst_addr, r.dst_size));
        }
        case RDMA_USER_CM_CMD_ACCEPT: {
            if (!call.entry.away) {
                return Did::kNothing;
            }
            const auto r = request_of<rdma_ucm_accept>(call.body);
            return forward(
                call, [this, number = call.id.number(), key = call.entry.key, r](int error) {
                    Id* const id = service_.find_id(number);
                    if (error == 0 && r.conn_param.valid != 0 && entry_of(number, key) != nullptr) {
                        id->set_uid(r.uid);
                    }
                });
        }
        case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
        case RDMA_USER_CM_CMD_JOIN_MCAST:
            return call.entry.away ? join_group(call) : Did::kNothing;
        default:
            return call.entry.away ? forward(call) : Did::kNothing;
    }
}

Link::Command Relay::command_of(const Call& call) {
    Link::Command c{.number = call.layout.number,
                    .body = Bytes(call.body.begin(), call.body.end())};
    if (call.layout.response_at) {
        c.response_at = call.layout.response_at;
        c.room = call.room;
    }
    put_number(c.body, call.layout.id_at, DINGO_UVERBS_CM_LAST);
    if (call.layout.number == RDMA_USER_CM_CMD_SET_OPTION) {
        const auto r = request_of<rdma_ucm_set_option>(call.body);
        if (r.optlen > Link::kMostData) {
            fail(EINVAL);
        }
        c.data_at = offsetof(rdma_ucm_set_option, optval);
        c.data.resize(r.optlen);
        if (!c.data.empty() && !call.message.arguments->read(r.optval, c.data)) {
            fail(EFAULT);
        }
    } else if (call.layout.number == RDMA_USER_CM_CMD_ACCEPT) {
        std::memcpy(c.body.data() + offsetof(rdma_ucm_accept, uid), &call.entry.key,
                    sizeof call.entry.key);
    }
    return c;
}

Relay::Did Relay::forward(Call& call, Then then) {
    if (call.entry.twins.empty()) {
        fail(EIO);  // its card has died
    }
    const Twin twin = call.entry.twins.front();
    Link::Command c = command_of(call);
    put_number(c.body, call.layout.id_at, twin.number);
    std::uint64_t response_at = 0;
    if (call.layout.response_at) {
        std::memcpy(&response_at, call.body.data() + *call.layout.response_at, sizeof response_at);
    }
    send(*twin.link, std::move(c),
         [this, then = std::move(then), response_at, result = later(call.message)](
             int error, std::span<const std::byte> response) {
             if (error == 0 && !response.empty() &&
                 !result->arguments->write(response_at, response)) {
                 error = -EFAULT;
             }
             if (then) {
                 then(error);
             }
             answer(result, error);
         });
    return Did::kLater;
}

Relay::Did Relay::bind(Call& call, const Address& address) {
    if (call.entry.away) {
        return forward(call);
    }
    if (call.id.state() != IdState::kIdle || !address.is_ip()) {
        return Did::kNothing;
    }
    const bool any = address.is_any() || (address.is_loopback() && !owns(address));
    Link* const link = any ? nullptr : owner_of(address);
    if (!any && link == nullptr) {
        return Did::kNothing;
    }
    call.entry.busy = true;
    const Then then = [this, number = call.id.number(), key = call.entry.key, any,
                       result = later(call.message)](int error) {
        Entry* const entry = entry_of(number, key);
        if (error == 0 && entry != nullptr) {
            entry->away = !any;
        }
        answer(result, error);
        arrived(number);
    };
    if (any) {
        bind_everywhere(call.id, address, kPortTries, then);
    } else {
        make_twin(call.id, *link, command_of(call), then);
    }
    return Did::kLater;
}

Relay::Did Relay::resolve(Call& call, const Address& source, const Address& destination) {
    if (call.entry.away) {
        return forward(call);
    }
    const std::uint32_t number = call.id.number();
    const std::uint64_t key = call.entry.key;
    if (call.id.state() == IdState::kIdle) {
        const bool from_here =
            source.is_ip() && !source.is_any() && (!source.is_loopback() || owns(source));
        Link* const link = from_here ? owner_of(source) : way_to(destination);
        if (link == nullptr) {
            return Did::kNothing;
        }
        call.entry.busy = true;
        make_twin(call.id, *link, command_of(call),
                  [this, number, key, result = later(call.message)](int error) {
                      Entry* const entry = entry_of(number, key);
                      if (error == 0 && entry != nullptr) {
                          entry->away = true;
                      }
                      answer(result, error);
                      arrived(number);
                  });
        return Did::kLater;
    }
    if (call.entry.twins.empty()) {
        return Did::kNothing;
    }
    Link* const link = way_to(destination);
    const auto twin = std::find_if(call.entry.twins.begin(), call.entry.twins.end(),
                                   [link](const Twin& known) { return known.link.get() == link; });
    if (twin == call.entry.twins.end()) {
        execute_command(call.command);
        drop_twins(call.entry);
        return Did::kAll;
    }
    Link::Command c = command_of(call);
    put_number(c.body, call.layout.id_at, twin->number);
    call.entry.busy = true;
    send(*link, std::move(c),
         [this, number, key, link, result = later(call.message)](int error,
                                                                 std::span<const std::byte>) {
             Id* const id = service_.find_id(number);
             Entry* const entry = entry_of(number, key);
             if (error == 0 && id != nullptr && entry != nullptr) {
                 drop_twins(*entry, link);
                 id->unbind();
                 entry->away = true;
             }
             answer(result, error);
             arrived(number);
         });
    return Did::kLater;
}

Relay::Did Relay::listen(Call& call) {
    const auto r = request_of<rdma_ucm_listen>(call.body);
    const std::uint32_t number = call.id.number();
    const std::uint64_t key = call.entry.key;
    if (call.entry.away) {
        // Set before the first request can arrive.
        call.id.expect(r.backlog);
        return forward(call);
    }
    const bool idle = call.id.state() == IdState::kIdle;
    if (!idle && call.entry.twins.empty()) {
        return Did::kNothing;
    }
    call.entry.busy = true;
    const Then done = [this, number, result = later(call.message)](int error) {
        answer(result, error);
        arrived(number);
    };
    const Then bound = [this, number, key, backlog = r.backlog, done](int error) {
        Id* const id = service_.find_id(number);
        if (error != 0 || id == nullptr || entry_of(number, key) == nullptr) {
            return done(error != 0 ? error : -EINVAL);
        }
        listen_everywhere(*id, backlog, done);
    };
    if (idle) {
        bind_everywhere(call.id, Address::any(AF_INET), kPortTries, bound);
    } else {
        bound(0);
    }
    return Did::kLater;
}

Relay::Did Relay::set_option(Call& call) {
    if (call.entry.away) {
        return forward(call);
    }
    Link::Command c = command_of(call);
    execute_command(call.command);
    for (const Twin& twin : call.entry.twins) {
        Link::Command same = c;
        put_number(same.body, call.layout.id_at, twin.number);
        send(*twin.link, std::move(same), [](int, std::span<const std::byte>) {});
    }
    if (call.id.state() == IdState::kIdle) {
        const auto r = request_of<rdma_ucm_set_option>(call.body);
        std::erase_if(call.entry.options, [&r](const Link::Command& old) {
            const auto o = request_of<rdma_ucm_set_option>(old.body);
            return o.level == r.level && o.optname == r.optname;
        });
        call.entry.options.push_back(std::move(c));
    }
    return Did::kAll;
}

Relay::Did Relay::destroy(Call& call) {
    std::vector<Twin> twins = std::exchange(call.entry.twins, {});
    try {
        execute_command(call.command);
    } catch (const ErrnoError&) {
        call.entry.twins = std::move(twins);
        throw;
    }
    if (twins.empty()) {
        return Did::kAll;
    }
    // Answer after the twins have released their ports.
    const auto gathered = std::make_shared<Gathered>(Gathered{twins.size()});
    const Result result = later(call.message);
    for (const Twin& twin : twins) {
        destroy_twin(twin, [this, gathered, result](int error) {
            if (gathered->take(error)) {
                answer(result, 0);
            }
        });
    }
    return Did::kLater;
}

}  // namespace dingo::rdma_cm
