// SPDX-License-Identifier: BSD-2-Clause
//
// rdma_cm before a connection: channels, identifiers, addresses, routes.
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>

#include <cstring>
#include <set>

#include "cm.h"
#include "pages.h"

namespace verbs_promises {
namespace {

void add_ids(Promises& all) {
    Page channel(all, "rdma_create_event_channel.3");
    channel("returns a channel with a descriptor that is not readable", [] {
        EventChannel c = event_channel();
        pollfd p{c->fd, POLLIN, 0};
        CHECK(c->fd >= 0 && ::poll(&p, 1, 50) == 0);
    });
    Page get(all, "rdma_get_cm_event.3");
    get("with a non-blocking descriptor and no event: -1 and EAGAIN", [] {
        EventChannel c = event_channel();
        CHECK(fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) | O_NONBLOCK) == 0);
        rdma_cm_event* event = nullptr;
        CHECK_FAILS(-1, EAGAIN, rdma_get_cm_event(c.get(), &event));
    });
    Page create(all, "rdma_create_id.3");
    for (const auto space : {RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IB}) {
        create("port space " + std::to_string(space) + ": an identifier with context and channel",
               [space] {
                   EventChannel c = event_channel();
                   int mark = 0;
                   CmId id = cm_id(c.get(), space, &mark);
                   CHECK(id->context == &mark && id->channel == c.get() && id->ps == space);
                   CHECK(id->verbs == nullptr && id->qp == nullptr);
               });
    }
    create("a port space that does not exist is refused", [] {
        EventChannel c = event_channel();
        rdma_cm_id* id = nullptr;
        CHECK(rdma_create_id(c.get(), &id, nullptr, static_cast<rdma_port_space>(0x999)) == -1);
    });
    create("without a channel calls are synchronous", [] {
        sockaddr_in address = own_address();
        CmId id = cm_id(nullptr);
        CHECK(rdma_bind_addr(id.get(), generic(address)) == 0);
    });
    Page devices(all, "rdma_get_devices.3");
    devices("returns a NULL-terminated array of contexts and its length", [] {
        int count = 0;
        ibv_context** const list = rdma_get_devices(&count);
        CHECK(list != nullptr && count > 0 && list[count] == nullptr);
        ibv_device_attr attr{};
        CHECK_RETURNS(0, ibv_query_device(list[0], &attr));
        rdma_free_devices(list);
    });
    Page text(all, "rdma_event_str.3");
    text("each event has a text of its own", [] {
        std::set<std::string> texts;
        for (int e = RDMA_CM_EVENT_ADDR_RESOLVED; e <= RDMA_CM_EVENT_TIMEWAIT_EXIT; ++e) {
            texts.insert(rdma_event_str(static_cast<rdma_cm_event_type>(e)));
        }
        CHECK(texts.size() == RDMA_CM_EVENT_TIMEWAIT_EXIT + 1);
    });
}

void add_bind(Promises& all) {
    Page page(all, "rdma_bind_addr.3");
    page("the device's address binds to the device", [] {
        EventChannel c = event_channel();
        CmId id = cm_id(c.get());
        sockaddr_in address = own_address();
        CHECK(rdma_bind_addr(id.get(), generic(address)) == 0);
        CHECK(id->verbs != nullptr && id->port_num == 1);
    });
    page("the wildcard binds to no device, and has a port", [] {
        EventChannel c = event_channel();
        CmId id = cm_id(c.get());
        sockaddr_in address{};
        address.sin_family = AF_INET;
        CHECK(rdma_bind_addr(id.get(), generic(address)) == 0);
        CHECK(id->verbs == nullptr && rdma_get_src_port(id.get()) != 0);
    });
    page("port 0 is replaced by a free one, of its own for each", [] {
        EventChannel c = event_channel();
        CmId one = cm_id(c.get()), two = cm_id(c.get());
        sockaddr_in address = own_address();
        CHECK(rdma_bind_addr(one.get(), generic(address)) == 0);
        CHECK(rdma_bind_addr(two.get(), generic(address)) == 0);
        CHECK(rdma_get_src_port(one.get()) != 0);
        CHECK(rdma_get_src_port(one.get()) != rdma_get_src_port(two.get()));
    });
    page("a port that is in use is refused with EADDRINUSE", [] {
        EventChannel c = event_channel();
        CmId one = cm_id(c.get()), two = cm_id(c.get());
        sockaddr_in address = own_address();
        CHECK(rdma_bind_addr(one.get(), generic(address)) == 0);
        address.sin_port = rdma_get_src_port(one.get());
        CHECK_FAILS(-1, EADDRINUSE, rdma_bind_addr(two.get(), generic(address)));
    });
    page("an address that no device has is refused with ENODEV or EADDRNOTAVAIL", [] {
        EventChannel c = event_channel();
        CmId id = cm_id(c.get());
        sockaddr_in address{};
        address.sin_family = AF_INET;
        inet_pton(AF_INET, "192.0.2.77", &address.sin_addr);
        errno = 0;
        CHECK(rdma_bind_addr(id.get(), generic(address)) == -1);
        CHECK(errno == ENODEV || errno == EADDRNOTAVAIL);
    });
    page("binding twice is refused with EINVAL", [] {
        EventChannel c = event_channel();
        CmId id = cm_id(c.get());
        sockaddr_in address = own_address();
        CHECK(rdma_bind_addr(id.get(), generic(address)) == 0);
        CHECK_FAILS(-1, EINVAL, rdma_bind_addr(id.get(), generic(address)));
    });
    Page local(all, "rdma_get_local_addr.3");
    local("is the address that was bound", [] {
        EventChannel c = event_channel();
        CmId id = cm_id(c.get());
        sockaddr_in address = own_address();
        CHECK(rdma_bind_addr(id.get(), generic(address)) == 0);
        sockaddr_in said{};
        std::memcpy(&said, rdma_get_local_addr(id.get()), sizeof said);
        CHECK(said.sin_family == AF_INET && said.sin_addr.s_addr == address.sin_addr.s_addr);
        CHECK(said.sin_port == rdma_get_src_port(id.get()));
    });
    Page listen(all, "rdma_listen.3");
    listen("an identifier that is not bound listens on a port of its own", [] {
        EventChannel c = event_channel();
        CmId id = cm_id(c.get());
        CHECK(rdma_listen(id.get(), 1) == 0);
        CHECK(rdma_get_src_port(id.get()) != 0);
    });
}

void add_resolve(Promises& all) {
    Page page(all, "rdma_resolve_addr.3");
    page("RDMA_CM_EVENT_ADDR_RESOLVED, and the identifier has a device", [] {
        EventChannel c = event_channel();
        CmId id = cm_id(c.get());
        sockaddr_in address = own_address(7471);
        CHECK(rdma_resolve_addr(id.get(), nullptr, generic(address), kMs) == 0);
        const Event event(c.get(), RDMA_CM_EVENT_ADDR_RESOLVED);
        CHECK(event->id == id.get() && event->status == 0);
        CHECK(id->verbs != nullptr && id->port_num == 1);
        CHECK(rdma_get_dst_port(id.get()) == htons(7471));
        sockaddr_in peer{};
        std::memcpy(&peer, rdma_get_peer_addr(id.get()), sizeof peer);
        CHECK(peer.sin_addr.s_addr == address.sin_addr.s_addr);
    });
    page("with a source address of a device", [] {
        EventChannel c = event_channel();
        CmId id = cm_id(c.get());
        sockaddr_in source = own_address(), address = own_address(7471);
        CHECK(rdma_resolve_addr(id.get(), generic(source), generic(address), kMs) == 0);
        Event(c.get(), RDMA_CM_EVENT_ADDR_RESOLVED);
    });
    page("on an identifier without a channel it returns when it is done", [] {
        CmId id = cm_id(nullptr);
        sockaddr_in address = own_address(7471);
        CHECK(rdma_resolve_addr(id.get(), nullptr, generic(address), kMs) == 0);
        CHECK(id->verbs != nullptr && id->event != nullptr);
    });
    Page route(all, "rdma_resolve_route.3");
    route("RDMA_CM_EVENT_ROUTE_RESOLVED, and there is a path", [] {
        EventChannel c = event_channel();
        CmId id = cm_id(c.get());
        sockaddr_in address = own_address(7471);
        CHECK(rdma_resolve_addr(id.get(), nullptr, generic(address), kMs) == 0);
        Event(c.get(), RDMA_CM_EVENT_ADDR_RESOLVED);
        CHECK(rdma_resolve_route(id.get(), kMs) == 0);
        Event(c.get(), RDMA_CM_EVENT_ROUTE_RESOLVED);
        CHECK(id->route.num_paths == 1);
    });
    route("before the address is resolved it is refused with EINVAL", [] {
        EventChannel c = event_channel();
        CmId id = cm_id(c.get());
        sockaddr_in address = own_address();
        CHECK(rdma_bind_addr(id.get(), generic(address)) == 0);
        CHECK_FAILS(-1, EINVAL, rdma_resolve_route(id.get(), kMs));
    });
    Page connect_page(all, "rdma_connect.3");
    connect_page("before the route is resolved it is refused with EINVAL", [] {
        EventChannel c = event_channel();
        CmId id = cm_id(c.get());
        sockaddr_in address = own_address();
        CHECK(rdma_bind_addr(id.get(), generic(address)) == 0);
        rdma_conn_param param{};
        CHECK_FAILS(-1, EINVAL, rdma_connect(id.get(), &param));
    });
    Page option(all, "rdma_set_option.3");
    option("type of service, reuse of addresses and IPv6 only are taken", [] {
        EventChannel c = event_channel();
        CmId id = cm_id(c.get());
        std::uint8_t tos = 0x20;
        int one = 1;
        CHECK(rdma_set_option(id.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof tos) == 0);
        CHECK(rdma_set_option(id.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &one,
                              sizeof one) == 0);
        CHECK(rdma_set_option(id.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &one, sizeof one) ==
              0);
    });
    option("a level or a name that does not exist is refused", [] {
        EventChannel c = event_channel();
        CmId id = cm_id(c.get());
        int one = 1;
        CHECK(rdma_set_option(id.get(), 77, RDMA_OPTION_ID_TOS, &one, sizeof one) == -1);
        CHECK(rdma_set_option(id.get(), RDMA_OPTION_ID, 77, &one, sizeof one) == -1);
    });
    Page notify(all, "rdma_notify.3");
    // EISCONN: the call has an effect only before that. Linux does so, and the man page allows it.
    notify("IBV_EVENT_COMM_EST on an established connection: EISCONN", [] {
        Dialog d;
        d.ask();
        d.accept();
        CHECK_FAILS(-1, EISCONN, rdma_notify(d.server, IBV_EVENT_COMM_EST));
        CHECK_FAILS(-1, EISCONN, rdma_notify(d.client.get(), IBV_EVENT_COMM_EST));
    });
}

}  // namespace

void add_cm_id(Promises& all) {
    add_ids(all);
    add_bind(all);
    add_resolve(all);
}

}  // namespace verbs_promises
