// SPDX-License-Identifier: BSD-2-Clause
//
// rdma_cm connections from the request to the disconnect.
#include <poll.h>

#include <cstring>
#include <numeric>

#include "cm.h"
#include "pages.h"

namespace verbs_promises {
namespace {

bool quiet(rdma_event_channel* channel) {
    pollfd p{channel->fd, POLLIN, 0};
    return ::poll(&p, 1, 50) == 0;
}

/// Returns true if the data begin with `text`: a message's private data may be padded with zeros.
bool begins(const std::vector<std::uint8_t>& data, const char* text) {
    return data.size() >= std::strlen(text) &&
           std::memcmp(data.data(), text, std::strlen(text)) == 0;
}

void add_established(Promises& all) {
    Page page(all, "rdma_connect.3");
    page("RC: both sides are established, their queue pairs are in RTS", [] {
        Dialog d;
        d.ask();
        d.accept();
        CHECK(state_of(d.client->qp) == IBV_QPS_RTS && state_of(d.server->qp) == IBV_QPS_RTS);
    });
    page("private data reaches the server with the request", [] {
        Dialog d;
        d.ask("from the client", 15);
        CHECK(begins(d.asked_with, "from the client"));
    });
    page("56 bytes of private data are as much as RDMA_PS_TCP takes", [] {
        std::vector<std::uint8_t> data(56);
        std::iota(data.begin(), data.end(), std::uint8_t{1});
        Dialog d;
        d.ask(data.data(), 56);
        CHECK(d.asked_with.size() >= 56 && std::memcmp(d.asked_with.data(), data.data(), 56) == 0);
    });
    page("more private data than there is space for is refused with EINVAL", [] {
        const std::vector<std::uint8_t> data(200);
        Dialog d;
        d.make_qp(d.client.get());
        auto param = Dialog::parameters(data.data(), 200);
        CHECK_FAILS(-1, EINVAL, rdma_connect(d.client.get(), &param));
    });
    Page accept(all, "rdma_accept.3");
    accept("private data reaches the client with the answer", [] {
        Dialog d;
        d.ask();
        d.accept("from the server", 15);
        CHECK(begins(d.answered_with, "from the server"));
    });
    accept("data can be sent when both are established", [] {
        Dialog d;
        d.ask();
        d.accept();
        Region to(d.server->pd, 4096), from(d.client->pd, 4096);
        std::memset(from.data(), 'c', 64);
        ibv_sge sge = to.sge(0, 64);
        ibv_recv_wr receive{}, *bad_receive = nullptr;
        receive.sg_list = &sge;
        receive.num_sge = 1;
        CHECK_RETURNS(0, ibv_post_recv(d.server->qp, &receive, &bad_receive));
        ibv_sge source = from.sge(0, 64);
        ibv_send_wr send{}, *bad = nullptr;
        send.sg_list = &source;
        send.num_sge = 1;
        send.opcode = IBV_WR_SEND;
        send.send_flags = IBV_SEND_SIGNALED;
        CHECK_RETURNS(0, ibv_post_send(d.client->qp, &send, &bad));
        CHECK(wait_wc(d.client->send_cq).status == IBV_WC_SUCCESS);
        CHECK(wait_wc(d.server->recv_cq).status == IBV_WC_SUCCESS);
        CHECK(std::memcmp(to.data(), from.data(), 64) == 0);
    });
    accept("UD: the client learns queue pair number and Q_Key", [] {
        Dialog d(RDMA_PS_UDP, IBV_QPT_UD);
        d.make_qp(d.client.get());
        auto param = Dialog::parameters(nullptr, 0);
        CHECK(rdma_connect(d.client.get(), &param) == 0);
        {
            const Event request(d.listening.get(), RDMA_CM_EVENT_CONNECT_REQUEST);
            d.server = request->id;
        }
        d.make_qp(d.server);
        param.qp_num = d.server->qp->qp_num;
        CHECK(rdma_accept(d.server, &param) == 0);
        const Event event(d.asking.get(), RDMA_CM_EVENT_ESTABLISHED);
        CHECK(event->param.ud.qp_num == d.server->qp->qp_num);
        CHECK(event->param.ud.qkey != 0 && event->param.ud.ah_attr.is_global == 1);
        Ah ah(made(ibv_create_ah(d.client->pd, &event->param.ud.ah_attr), "AH"));
    });
    Page peer(all, "rdma_get_peer_addr.3");
    peer("the server sees the client's address and port", [] {
        Dialog d;
        d.ask();
        CHECK(rdma_get_dst_port(d.server) == rdma_get_src_port(d.client.get()));
        CHECK(rdma_get_src_port(d.server) == rdma_get_src_port(d.listener.get()));
        sockaddr_in here{}, there{};
        std::memcpy(&here, rdma_get_local_addr(d.client.get()), sizeof here);
        std::memcpy(&there, rdma_get_peer_addr(d.server), sizeof there);
        CHECK(here.sin_addr.s_addr == there.sin_addr.s_addr);
    });
}

void add_refused(Promises& all) {
    Page reject(all, "rdma_reject.3");
    reject("the client gets RDMA_CM_EVENT_REJECTED with the private data", [] {
        Dialog d;
        d.ask();
        CHECK(rdma_reject(d.server, "no", 2) == 0);
        const Event event(d.asking.get(), RDMA_CM_EVENT_REJECTED);
        CHECK(event->status != 0 && event->id == d.client.get());
        CHECK(event->param.conn.private_data_len >= 2);
        CHECK(std::memcmp(event->param.conn.private_data, "no", 2) == 0);
    });
    Page page(all, "rdma_connect.3");
    page("nobody listens: RDMA_CM_EVENT_REJECTED", [] {
        Dialog d;
        d.listener.reset();
        d.make_qp(d.client.get());
        auto param = Dialog::parameters(nullptr, 0);
        CHECK(rdma_connect(d.client.get(), &param) == 0);
        Event(d.asking.get(), RDMA_CM_EVENT_REJECTED);
    });
    Page destroy(all, "rdma_destroy_id.3");
    destroy("a server that goes instead of answering: RDMA_CM_EVENT_REJECTED", [] {
        Dialog d;
        d.ask();
        rdma_destroy_id(d.server);
        d.server = nullptr;
        Event(d.asking.get(), RDMA_CM_EVENT_REJECTED);
    });
    destroy("a connected side that goes: the other gets RDMA_CM_EVENT_DISCONNECTED", [] {
        Dialog d;
        d.ask();
        d.accept();
        rdma_destroy_qp(d.server);
        rdma_destroy_id(d.server);
        d.server = nullptr;
        Event(d.asking.get(), RDMA_CM_EVENT_DISCONNECTED);
    });
}

void add_end(Promises& all) {
    Page page(all, "rdma_disconnect.3");
    page("both get RDMA_CM_EVENT_DISCONNECTED, and what is posted is flushed", [] {
        Dialog d;
        d.ask();
        d.accept();
        ibv_recv_wr receive{}, *bad = nullptr;
        CHECK_RETURNS(0, ibv_post_recv(d.client->qp, &receive, &bad));
        CHECK(rdma_disconnect(d.client.get()) == 0);
        Event(d.listening.get(), RDMA_CM_EVENT_DISCONNECTED);
        CHECK(rdma_disconnect(d.server) == 0);  // sends the reply
        Event(d.asking.get(), RDMA_CM_EVENT_DISCONNECTED);
        CHECK(wait_wc(d.client->recv_cq).status == IBV_WC_WR_FLUSH_ERR);
    });
    page("on an identifier that was never connected it is refused with EINVAL", [] {
        EventChannel c = event_channel();
        CmId id = cm_id(c.get());
        CHECK_FAILS(-1, EINVAL, rdma_disconnect(id.get()));
    });
    Page migrate(all, "rdma_migrate_id.3");
    migrate("later events come on the new channel, and the old one is quiet", [] {
        Dialog d;
        d.ask();
        EventChannel other = event_channel();
        CHECK(rdma_migrate_id(d.client.get(), other.get()) == 0);
        CHECK(d.client->channel == other.get());
        CHECK(rdma_reject(d.server, nullptr, 0) == 0);
        Event(other.get(), RDMA_CM_EVENT_REJECTED);
        CHECK(quiet(d.asking.get()));
        d.client.reset();
    });
    migrate("an event that waits goes along, and the old channel is not readable", [] {
        Dialog d;
        d.ask();
        CHECK(rdma_reject(d.server, nullptr, 0) == 0);
        pollfd p{d.asking->fd, POLLIN, 0};
        CHECK(::poll(&p, 1, 40000) == 1);
        EventChannel other = event_channel();
        CHECK(rdma_migrate_id(d.client.get(), other.get()) == 0);
        CHECK(quiet(d.asking.get()));
        Event(other.get(), RDMA_CM_EVENT_REJECTED);
        d.client.reset();
    });
    Page establish(all, "rdma_establish.3");
    establish("is for queue pairs of the caller's own: with rdma_create_qp() EINVAL", [] {
        Dialog d;
        d.ask();
        d.accept();
        CHECK_FAILS(-1, EINVAL, rdma_establish(d.client.get()));
    });
    Page init(all, "rdma_init_qp_attr.3");
    init("says attributes and mask of each step", [] {
        Dialog d;
        d.ask();
        ibv_qp_attr attr{};
        int mask = 0;
        attr.qp_state = IBV_QPS_INIT;
        CHECK(rdma_init_qp_attr(d.server, &attr, &mask) == 0);
        CHECK((mask & (IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX)) ==
              (IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX));
        attr.qp_state = IBV_QPS_RTR;
        CHECK(rdma_init_qp_attr(d.server, &attr, &mask) == 0);
        CHECK((mask & IBV_QP_DEST_QPN) != 0 && attr.dest_qp_num == d.client->qp->qp_num);
    });
    Page multicast(all, "rdma_join_multicast.3");
    multicast("on an identifier without a device it is refused", [] {
        EventChannel c = event_channel();
        CmId id = cm_id(c.get(), RDMA_PS_UDP);
        sockaddr_in group{};
        group.sin_family = AF_INET;
        group.sin_addr.s_addr = htonl(0xe0000117);
        CHECK(rdma_join_multicast(id.get(), generic(group), nullptr) == -1);
    });
    multicast("its event brings what to send to, until rdma_leave_multicast()", [] {
        const Bench b;
        EventChannel c = event_channel();
        CmId id = cm_id(c.get(), RDMA_PS_UDP);
        sockaddr_in own = own_address();
        CHECK(rdma_bind_addr(id.get(), generic(own)) == 0);
        sockaddr_in group{};
        group.sin_family = AF_INET;
        group.sin_addr.s_addr = htonl(0xe0000117);
        int context = 0;
        if (b.attr.max_mcast_grp == 0) {
            return;
        }
        CHECK(rdma_join_multicast(id.get(), generic(group), &context) == 0);
        {
            const Event joined(c.get(), RDMA_CM_EVENT_MULTICAST_JOIN);
            const rdma_ud_param& ud = joined->param.ud;
            CHECK(joined->id == id.get() && ud.private_data == &context);
            CHECK(ud.qp_num == 0xffffff && ud.qkey == RDMA_UDP_QKEY && ud.ah_attr.is_global == 1);
            CHECK(std::memcmp(&ud.ah_attr.grh.dgid.raw[12], &group.sin_addr, 4) == 0);
        }
        CHECK(rdma_leave_multicast(id.get(), generic(group)) == 0);
        CHECK_FAILS(-1, EADDRNOTAVAIL, rdma_leave_multicast(id.get(), generic(group)));
    });
}

}  // namespace

void add_cm_connect(Promises& all) {
    add_established(all);
    add_refused(all);
    add_end(all);
}

}  // namespace verbs_promises
