// SPDX-License-Identifier: BSD-2-Clause
#include "cm.h"

#include <arpa/inet.h>
#include <poll.h>

#include <cstring>

namespace verbs_promises {

sockaddr_in own_address(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (!options().address.empty()) {
        if (inet_pton(AF_INET, options().address.c_str(), &address.sin_addr) != 1) {
            throw Broken(options().address + " is no IPv4 address");
        }
        return address;
    }
    const Bench b;
    const std::uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (std::memcmp(b.gid.raw, mapped, sizeof mapped) != 0) {
        throw Lacking("the port has no IPv4 address");
    }
    std::memcpy(&address.sin_addr, b.gid.raw + 12, 4);
    return address;
}

EventChannel event_channel() {
    return EventChannel(made(rdma_create_event_channel(), "rdma_create_event_channel"));
}

CmId cm_id(rdma_event_channel* channel, rdma_port_space space, void* context) {
    rdma_cm_id* id = nullptr;
    if (rdma_create_id(channel, &id, context, space) != 0) {
        throw Broken("rdma_create_id: " + error_text(errno));
    }
    return CmId(id);
}

Event::Event(rdma_event_channel* channel, rdma_cm_event_type type) {
    pollfd p{channel->fd, POLLIN, 0};
    if (::poll(&p, 1, 40000) != 1) {
        throw Broken(std::string("no event, ") + rdma_event_str(type) + " was to come");
    }
    if (rdma_get_cm_event(channel, &event_) != 0) {
        throw Broken("rdma_get_cm_event: " + error_text(errno));
    }
    if (event_->event != type) {
        const std::string text = std::string(rdma_event_str(event_->event)) + " with status " +
                                 std::to_string(event_->status) + ", not " + rdma_event_str(type);
        rdma_ack_cm_event(event_);
        throw Broken(text);
    }
}

Event::~Event() {
    rdma_ack_cm_event(event_);
}

namespace {

std::vector<std::uint8_t> private_data(rdma_cm_event* event, ibv_qp_type type) {
    const bool ud = type == IBV_QPT_UD;
    const void* const data = ud ? event->param.ud.private_data : event->param.conn.private_data;
    const std::size_t bytes =
        ud ? event->param.ud.private_data_len : event->param.conn.private_data_len;
    const auto* const at = static_cast<const std::uint8_t*>(data);
    return at == nullptr ? std::vector<std::uint8_t>() : std::vector<std::uint8_t>(at, at + bytes);
}

}  // namespace

Dialog::Dialog(rdma_port_space space, ibv_qp_type qp_type)
    : type(qp_type), listening(event_channel()), asking(event_channel()) {
    sockaddr_in address = own_address();
    listener = cm_id(listening.get(), space);
    CHECK(rdma_bind_addr(listener.get(), generic(address)) == 0);
    CHECK(rdma_listen(listener.get(), 8) == 0);
    address.sin_port = rdma_get_src_port(listener.get());
    client = cm_id(asking.get(), space);
    CHECK(rdma_resolve_addr(client.get(), nullptr, generic(address), kMs) == 0);
    Event(asking.get(), RDMA_CM_EVENT_ADDR_RESOLVED);
    CHECK(rdma_resolve_route(client.get(), kMs) == 0);
    Event(asking.get(), RDMA_CM_EVENT_ROUTE_RESOLVED);
}

Dialog::~Dialog() {
    for (rdma_cm_id* const id : {client.get(), server}) {
        if (id != nullptr && id->qp != nullptr) {
            rdma_destroy_qp(id);
        }
    }
    if (server != nullptr) {
        rdma_destroy_id(server);
    }
}

void Dialog::make_qp(rdma_cm_id* id) {
    ibv_qp_init_attr init{};
    init.qp_type = type;
    init.cap = {4, 4, 1, 1, 0};
    if (rdma_create_qp(id, nullptr, &init) != 0) {
        throw Broken("rdma_create_qp: " + error_text(errno));
    }
}

rdma_conn_param Dialog::parameters(const void* data, std::uint8_t bytes) {
    rdma_conn_param param{};
    param.private_data = data;
    param.private_data_len = bytes;
    param.responder_resources = param.initiator_depth = 1;
    param.retry_count = param.rnr_retry_count = 7;
    return param;
}

void Dialog::ask(const void* data, std::uint8_t bytes) {
    make_qp(client.get());
    auto param = parameters(data, bytes);
    CHECK(rdma_connect(client.get(), &param) == 0);
    const Event event(listening.get(), RDMA_CM_EVENT_CONNECT_REQUEST);
    CHECK(event->listen_id == listener.get() && event->id != listener.get());
    server = event->id;
    asked_with = private_data(event.operator->(), type);
}

void Dialog::accept(const void* data, std::uint8_t bytes) {
    make_qp(server);
    auto param = parameters(data, bytes);
    if (type == IBV_QPT_UD) {
        param.qp_num = server->qp->qp_num;
    }
    CHECK(rdma_accept(server, &param) == 0);
    {
        const Event event(asking.get(), RDMA_CM_EVENT_ESTABLISHED);
        CHECK(event->id == client.get());
        answered_with = private_data(event.operator->(), type);
    }
    if (type != IBV_QPT_UD) {
        Event(listening.get(), RDMA_CM_EVENT_ESTABLISHED);
    }
}

}  // namespace verbs_promises
