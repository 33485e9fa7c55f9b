// SPDX-License-Identifier: BSD-2-Clause
//
// librdmacm's synchronous calls and its wrappers of verbs (rdma_verbs.h).
#include <arpa/inet.h>
#include <rdma/rdma_verbs.h>

#include <cstring>
#include <thread>

#include "cm.h"
#include "pages.h"

namespace verbs_promises {
namespace {

using Info = std::unique_ptr<rdma_addrinfo, Destroyer<&rdma_freeaddrinfo>>;

Info info_for(const std::string& address, const std::string& port, int flags,
              ibv_qp_type type = IBV_QPT_RC) {
    rdma_addrinfo hints{};
    hints.ai_port_space = type == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
    hints.ai_flags = flags;
    hints.ai_qp_type = type;
    rdma_addrinfo* found = nullptr;
    if (rdma_getaddrinfo(address.c_str(), port.c_str(), &hints, &found) != 0) {
        throw Broken("rdma_getaddrinfo: " + error_text(errno));
    }
    return Info(found);
}

std::string own_text() {
    const sockaddr_in address = own_address();
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
    return text;
}

/// A connected server and client, made by rdma_create_ep().
struct Ends {
    Ends() {
        ibv_qp_init_attr init{};
        init.cap = {8, 8, 2, 2, 64};
        init.sq_sig_all = 1;
        const std::string address = own_text();
        Info passive = info_for(address, "0", RAI_PASSIVE);
        CHECK(rdma_create_ep(&listener, passive.get(), nullptr, &init) == 0);
        CHECK(rdma_listen(listener, 1) == 0);
        Info active = info_for(address, std::to_string(ntohs(rdma_get_src_port(listener))), 0);
        CHECK(rdma_create_ep(&client, active.get(), nullptr, &init) == 0);
        int accepted = -1;
        std::thread serve([&] {
            accepted = rdma_get_request(listener, &server);
            if (accepted == 0) {
                accepted = rdma_accept(server, nullptr);
            }
        });
        const int connected = rdma_connect(client, nullptr);
        serve.join();
        CHECK(connected == 0 && accepted == 0);
    }
    ~Ends() {
        std::thread answer([this] {  // each waits for the other
            if (server != nullptr) {
                rdma_disconnect(server);
            }
        });
        rdma_disconnect(client);
        answer.join();
        for (rdma_cm_id* const id : {client, server, listener}) {
            if (id != nullptr) {
                rdma_destroy_ep(id);
            }
        }
    }
    rdma_cm_id *listener = nullptr, *client = nullptr, *server = nullptr;
    char from[256] = "some text for the other side", to[256] = {};
};

using Registered = std::unique_ptr<ibv_mr, Destroyer<&rdma_dereg_mr>>;

void add_addresses(Promises& all) {
    Page page(all, "rdma_getaddrinfo.3");
    page("a server's address is a source, a client's is a destination", [] {
        const std::string address = own_text();
        Info passive = info_for(address, "7471", RAI_PASSIVE);
        CHECK(passive->ai_src_addr != nullptr && passive->ai_src_len >= sizeof(sockaddr_in));
        Info active = info_for(address, "7471", 0);
        CHECK(active->ai_dst_addr != nullptr && active->ai_qp_type == IBV_QPT_RC);
        CHECK(active->ai_port_space == RDMA_PS_TCP);
    });
    page("a port that is no number and no service is an error", [] {
        rdma_addrinfo hints{};
        hints.ai_port_space = RDMA_PS_TCP;
        rdma_addrinfo* found = nullptr;
        CHECK(rdma_getaddrinfo("127.0.0.1", "no-such-service", &hints, &found) != 0);
    });
    Page create(all, "rdma_create_ep.3");
    create("a client's endpoint has device, PD, queue pair and CQs", [] {
        Ends e;
        CHECK(e.client->verbs != nullptr && e.client->pd != nullptr && e.client->qp != nullptr);
        CHECK(e.client->send_cq != nullptr && e.client->recv_cq != nullptr);
        CHECK(e.client->qp->qp_type == IBV_QPT_RC);
    });
    create("without attributes of a queue pair there is none", [] {
        Info passive = info_for(own_text(), "0", RAI_PASSIVE);
        rdma_cm_id* id = nullptr;
        CHECK(rdma_create_ep(&id, passive.get(), nullptr, nullptr) == 0);
        CHECK(id->qp == nullptr);
        rdma_destroy_ep(id);
    });
}

void add_messages(Promises& all) {
    Page reg(all, "rdma_reg_msgs.3");
    reg("memory for messages is registered; rdma_dereg_mr() returns 0", [] {
        Ends e;
        Registered mr(made(rdma_reg_msgs(e.client, e.from, sizeof e.from), "rdma_reg_msgs"));
        CHECK(mr->addr == e.from && mr->length == sizeof e.from);
        CHECK(rdma_dereg_mr(mr.release()) == 0);
    });
    Page send(all, "rdma_post_send.3");
    send("rdma_post_recv(), rdma_post_send(), rdma_get_send_comp(), rdma_get_recv_comp()", [] {
        Ends e;
        Registered out(made(rdma_reg_msgs(e.client, e.from, sizeof e.from), "rdma_reg_msgs"));
        Registered in(made(rdma_reg_msgs(e.server, e.to, sizeof e.to), "rdma_reg_msgs"));
        int mark = 0;
        CHECK(rdma_post_recv(e.server, &mark, e.to, sizeof e.to, in.get()) == 0);
        CHECK(rdma_post_send(e.client, &e, e.from, 100, out.get(), 0) == 0);
        ibv_wc wc{};
        CHECK(rdma_get_send_comp(e.client, &wc) == 1);
        CHECK(wc.status == IBV_WC_SUCCESS && wc.wr_id == reinterpret_cast<std::uintptr_t>(&e));
        CHECK(rdma_get_recv_comp(e.server, &wc) == 1);
        CHECK(wc.status == IBV_WC_SUCCESS && wc.byte_len == 100);
        CHECK(wc.wr_id == reinterpret_cast<std::uintptr_t>(&mark));
        CHECK(std::memcmp(e.from, e.to, 100) == 0);
    });
    send("IBV_SEND_INLINE needs no region", [] {
        Ends e;
        Registered in(made(rdma_reg_msgs(e.server, e.to, sizeof e.to), "rdma_reg_msgs"));
        CHECK(rdma_post_recv(e.server, nullptr, e.to, sizeof e.to, in.get()) == 0);
        CHECK(rdma_post_send(e.client, nullptr, e.from, 28, nullptr, IBV_SEND_INLINE) == 0);
        ibv_wc wc{};
        CHECK(rdma_get_recv_comp(e.server, &wc) == 1 && wc.byte_len == 28);
        CHECK(std::memcmp(e.from, e.to, 28) == 0);
    });
    Page sendv(all, "rdma_post_sendv.3");
    sendv("gathers its entries; rdma_post_recvv() scatters", [] {
        Ends e;
        Registered out(made(rdma_reg_msgs(e.client, e.from, sizeof e.from), "rdma_reg_msgs"));
        Registered in(made(rdma_reg_msgs(e.server, e.to, sizeof e.to), "rdma_reg_msgs"));
        const auto at = [](char* p) { return reinterpret_cast<std::uintptr_t>(p); };
        ibv_sge to[2] = {{at(e.to), 3, in->lkey}, {at(e.to + 100), 50, in->lkey}};
        CHECK(rdma_post_recvv(e.server, nullptr, to, 2) == 0);
        ibv_sge from[2] = {{at(e.from), 4, out->lkey}, {at(e.from + 5), 4, out->lkey}};
        CHECK(rdma_post_sendv(e.client, nullptr, from, 2, 0) == 0);
        ibv_wc wc{};
        CHECK(rdma_get_recv_comp(e.server, &wc) == 1 && wc.byte_len == 8);
        CHECK(std::memcmp(e.to, "som", 3) == 0 && std::memcmp(e.to + 100, "etext", 5) == 0);
    });
    Page write(all, "rdma_post_write.3");
    write("writes into memory of rdma_reg_write()", [] {
        Ends e;
        Registered out(made(rdma_reg_msgs(e.client, e.from, sizeof e.from), "rdma_reg_msgs"));
        Registered in(made(rdma_reg_write(e.server, e.to, sizeof e.to), "rdma_reg_write"));
        CHECK(rdma_post_write(e.client, nullptr, e.from, 64, out.get(), 0,
                              reinterpret_cast<std::uintptr_t>(e.to), in->rkey) == 0);
        ibv_wc wc{};
        CHECK(rdma_get_send_comp(e.client, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
        CHECK(std::memcmp(e.from, e.to, 64) == 0);
    });
    Page read(all, "rdma_post_read.3");
    read("reads from memory of rdma_reg_read()", [] {
        Ends e;
        Registered source(made(rdma_reg_read(e.server, e.from, sizeof e.from), "rdma_reg_read"));
        Registered in(made(rdma_reg_msgs(e.client, e.to, sizeof e.to), "rdma_reg_msgs"));
        CHECK(rdma_post_read(e.client, nullptr, e.to, 64, in.get(), 0,
                             reinterpret_cast<std::uintptr_t>(e.from), source->rkey) == 0);
        ibv_wc wc{};
        CHECK(rdma_get_send_comp(e.client, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
        CHECK(std::memcmp(e.from, e.to, 64) == 0);
    });
    read("memory of rdma_reg_write() grants no READ", [] {
        Ends e;
        Registered target(made(rdma_reg_write(e.server, e.from, sizeof e.from), "rdma_reg_write"));
        Registered in(made(rdma_reg_msgs(e.client, e.to, sizeof e.to), "rdma_reg_msgs"));
        CHECK(rdma_post_read(e.client, nullptr, e.to, 64, in.get(), 0,
                             reinterpret_cast<std::uintptr_t>(e.from), target->rkey) == 0);
        ibv_wc wc{};
        CHECK(rdma_get_send_comp(e.client, &wc) == 1 && wc.status == IBV_WC_REM_ACCESS_ERR);
    });
    Page srq(all, "rdma_create_srq.3");
    srq("the identifier's queue pair uses it", [] {
        {
            Bench b;
            b.srq();
        }
        EventChannel c = event_channel();
        CmId id = cm_id(c.get());
        sockaddr_in address = own_address(7471);
        CHECK(rdma_resolve_addr(id.get(), nullptr, generic(address), kMs) == 0);
        Event(c.get(), RDMA_CM_EVENT_ADDR_RESOLVED);
        ibv_srq_init_attr attr{};
        attr.attr = {8, 1, 0};
        CHECK(rdma_create_srq(id.get(), nullptr, &attr) == 0);
        CHECK(id->srq != nullptr);
        ibv_qp_init_attr init{};
        init.qp_type = IBV_QPT_RC;
        init.cap = {4, 4, 1, 1, 0};
        init.srq = id->srq;
        CHECK(rdma_create_qp(id.get(), nullptr, &init) == 0);
        CHECK(id->qp->srq == id->srq);
        rdma_destroy_qp(id.get());
        rdma_destroy_srq(id.get());
        CHECK(id->srq == nullptr);
    });
    Page qp(all, "rdma_create_qp.3");
    qp("makes PD, CQs and queue pair of the identifier's device; rdma_destroy_qp() ends them", [] {
        EventChannel c = event_channel();
        CmId id = cm_id(c.get());
        sockaddr_in address = own_address();
        CHECK(rdma_bind_addr(id.get(), generic(address)) == 0);
        ibv_qp_init_attr init{};
        init.qp_type = IBV_QPT_RC;
        init.cap = {4, 4, 1, 1, 0};
        CHECK(rdma_create_qp(id.get(), nullptr, &init) == 0);
        CHECK(id->qp != nullptr && id->send_cq != nullptr && id->recv_cq != nullptr);
        CHECK(id->qp->context == id->verbs && state_of(id->qp) == IBV_QPS_INIT);
        rdma_destroy_qp(id.get());
        CHECK(id->qp == nullptr);
    });
}

}  // namespace

void add_cm_endpoint(Promises& all) {
    add_addresses(all);
    add_messages(all);
}

}  // namespace verbs_promises
