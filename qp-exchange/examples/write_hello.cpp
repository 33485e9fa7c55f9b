// SPDX-License-Identifier: BSD-2-Clause
// Two processes: the client writes into the server's memory.
// docs/tutorials/connect-two-processes.md explains it.
#include <infiniband/verbs.h>

#include <cstring>
#include <iostream>
#include <memory>
#include <stdexcept>

#include "qpx/peer.h"
#include "qpx/verbs.h"

namespace {

template <class T>
using Verbs = std::unique_ptr<T, int (*)(T*)>;

/// What a verbs call gave, or an exception.
template <class T>
T* need(T* object, const char* what) {
    if (object == nullptr) {
        throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
    }
    return object;
}

ibv_context* open_device(const char* wanted) {
    int count = 0;
    const Verbs<ibv_device*> list(need(ibv_get_device_list(&count), "ibv_get_device_list"),
                                  [](ibv_device** l) {
                                      ibv_free_device_list(l);
                                      return 0;
                                  });
    for (int i = 0; i < count; ++i) {
        if (wanted == nullptr || std::strcmp(ibv_get_device_name(list.get()[i]), wanted) == 0) {
            return need(ibv_open_device(list.get()[i]), "ibv_open_device");
        }
    }
    throw std::runtime_error("no such RDMA device");
}

int run(const char* host, const char* device) {
    constexpr std::uint16_t port = 18600;
    // Plain verbs: a device, a completion queue, memory, a queue pair.
    const Verbs<ibv_context> context(open_device(device), ibv_close_device);
    const Verbs<ibv_pd> pd(need(ibv_alloc_pd(context.get()), "ibv_alloc_pd"), ibv_dealloc_pd);
    const Verbs<ibv_cq> cq(
        need(ibv_create_cq(context.get(), 16, nullptr, nullptr, 0), "ibv_create_cq"),
        ibv_destroy_cq);
    char memory[4096] = {};
    const Verbs<ibv_mr> mr(need(ibv_reg_mr(pd.get(), memory, sizeof(memory),
                                           IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
                                "ibv_reg_mr"),
                           ibv_dereg_mr);
    ibv_qp_init_attr wanted = {};
    wanted.send_cq = wanted.recv_cq = cq.get();
    wanted.cap = {.max_send_wr = 16,
                  .max_recv_wr = 1,
                  .max_send_sge = 1,
                  .max_recv_sge = 1,
                  .max_inline_data = 0};
    wanted.qp_type = IBV_QPT_RC;
    const Verbs<ibv_qp> qp(need(ibv_create_qp(pd.get(), &wanted), "ibv_create_qp"), ibv_destroy_qp);

    // qp-exchange: find the peer, tell it of the queue pair, take it to RTS.
    qpx::PeerOptions options;
    options.retry_refused = true;
    qpx::Connection peer = host != nullptr
                               ? qpx::Connection::connect(host, port, options)
                               : qpx::Listener("", port, options).accept(options.timeout);
    const qpx::Local local = qpx::describe(
        qp.get(), {.gid = {.peer = peer.peer_address(), .local = peer.local_address()},
                   .regions = {qpx::describe(mr.get(), "inbox")}});
    const qpx::Endpoint remote = peer.exchange(local.endpoint);
    qpx::connect(qp.get(), local, remote);
    peer.barrier();

    // And write.
    if (host != nullptr) {
        std::strcpy(memory, "hello from the client's memory");
        ibv_sge sge = {reinterpret_cast<std::uintptr_t>(memory), sizeof(memory), mr->lkey};
        ibv_send_wr wr = {}, *bad = nullptr;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_RDMA_WRITE;
        wr.send_flags = IBV_SEND_SIGNALED;
        wr.wr.rdma.remote_addr = remote.regions.at(0).address;
        wr.wr.rdma.rkey = remote.regions.at(0).rkey;
        if (ibv_post_send(qp.get(), &wr, &bad) != 0) {
            throw std::runtime_error("ibv_post_send failed");
        }
        ibv_wc done = {};
        while (ibv_poll_cq(cq.get(), 1, &done) == 0) {
        }
        if (done.status != IBV_WC_SUCCESS) {
            throw std::runtime_error(ibv_wc_status_str(done.status));
        }
    }
    peer.barrier();  // the client's completion came before: the bytes are there
    std::cout << (host != nullptr ? "written to " : "from ") << peer.peer_name() << " ("
              << peer.security_text() << "): " << memory << "\n";
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const char* host = argc > 1 && *argv[1] != '\0' ? argv[1] : nullptr;
    try {
        return run(host, argc > 2 ? argv[2] : nullptr);
    } catch (const std::exception& error) {
        std::cerr << "write_hello: " << error.what() << "\n";
        return 1;
    }
}
