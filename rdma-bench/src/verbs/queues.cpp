// SPDX-License-Identifier: BSD-2-Clause
#include "verbs/queues.h"

#include <algorithm>
#include <cerrno>

#include "exit.h"
#include "verbs/explain.h"

namespace rdma_bench {
namespace {

[[noreturn]] void fail(const std::string& verb, int error) {
    throw RunError(Exit::kDevice, explain_errno(verb, error));
}

ibv_qp_type type_of(Connection connection) {
    return connection == Connection::kRc   ? IBV_QPT_RC
           : connection == Connection::kUc ? IBV_QPT_UC
                                           : IBV_QPT_UD;
}

std::uint64_t send_ops(Operation operation) {
    switch (operation) {
        case Operation::kWrite:
            return IBV_QP_EX_WITH_RDMA_WRITE;
        case Operation::kWriteImm:
            return IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
        case Operation::kRead:
            return IBV_QP_EX_WITH_RDMA_READ;
        case Operation::kSend:
            return IBV_QP_EX_WITH_SEND;
        case Operation::kAtomic:
            return IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
    }
    return 0;
}

ibv_qp_init_attr_ex attributes(const Device& device, const QpRequest& request,
                               unsigned inline_size) {
    ibv_qp_init_attr_ex attr{};
    attr.qp_type = type_of(request.connection);
    attr.send_cq = request.send_cq;
    attr.recv_cq = request.recv_cq;
    attr.srq = request.srq;
    attr.cap.max_send_wr = request.send_depth;
    attr.cap.max_recv_wr = request.srq ? 0 : request.recv_depth;
    attr.cap.max_send_sge = 1;
    attr.cap.max_recv_sge = request.srq ? 0 : 1;
    attr.cap.max_inline_data = inline_size;
    attr.comp_mask = IBV_QP_INIT_ATTR_PD;
    attr.pd = device.pd();
    return attr;
}

}  // namespace

CompletionQueue::~CompletionQueue() {
    if (cq && unacknowledged) {
        ibv_ack_cq_events(cq.get(), unacknowledged);
    }
}

void CompletionQueue::arm() {
    if (!armed) {
        ibv_req_notify_cq(cq.get(), 0);
        armed = true;
    }
}

std::unique_ptr<CompletionQueue> make_cq(const Device& device, unsigned depth, bool events,
                                         unsigned vector) {
    auto queue = std::make_unique<CompletionQueue>();
    if (events) {
        queue->channel.reset(ibv_create_comp_channel(device.context()));
        if (!queue->channel) {
            fail("ibv_create_comp_channel", errno);
        }
    }
    const auto vectors = static_cast<unsigned>(device.context()->num_comp_vectors);
    if (vector >= std::max(1U, vectors)) {
        throw RunError(Exit::kDevice, "-X " + std::to_string(vector) + ": " + device.name() +
                                          " has completion vectors 0 to " +
                                          std::to_string(std::max(1U, vectors) - 1));
    }
    const auto most = static_cast<unsigned>(device.limits().max_cqe);
    if (depth > most) {
        throw RunError(Exit::kDevice,
                       "a completion queue of " + std::to_string(depth) +
                           " entries, -t or -r for each QP of a thread: " + device.name() +
                           " has at most " + std::to_string(most) +
                           "; take a smaller -t and -r, fewer QPs or more --threads");
    }
    queue->cq.reset(ibv_create_cq(device.context(), static_cast<int>(depth), nullptr,
                                  queue->channel.get(), static_cast<int>(vector)));
    if (!queue->cq) {
        fail("ibv_create_cq of " + std::to_string(depth) + " entries", errno);
    }
    return queue;
}

SrqPtr make_srq(const Device& device, unsigned depth) {
    ibv_srq_init_attr attr{};
    attr.attr.max_wr = depth;
    attr.attr.max_sge = 1;
    SrqPtr srq(ibv_create_srq(device.pd(), &attr));
    if (!srq) {
        fail("ibv_create_srq of " + std::to_string(depth) + " entries (--use-srq)", errno);
    }
    return srq;
}

MadeQp make_qp(const Device& device, const QpRequest& request) {
    unsigned inline_size = request.inline_size;
    for (;;) {
        auto attr = attributes(device, request, inline_size);
        MadeQp made;
        if (request.extended) {
            attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
            attr.send_ops_flags = send_ops(request.operation);
            made.qp.reset(ibv_create_qp_ex(device.context(), &attr));
            made.extended = made.qp ? ibv_qp_to_qp_ex(made.qp.get()) : nullptr;
        }
        if (!made.qp) {
            attr = attributes(device, request, inline_size);
            made.qp.reset(ibv_create_qp_ex(device.context(), &attr));
        }
        if (made.qp) {
            made.inline_size = std::min(inline_size, attr.cap.max_inline_data);
            return made;
        }
        const int error = errno;
        if (!request.inline_optional || inline_size == 0) {
            fail("ibv_create_qp with " + std::to_string(request.send_depth) + " sends, " +
                     std::to_string(request.recv_depth) + " receives and " +
                     std::to_string(inline_size) + " inline bytes",
                 error);
        }
        inline_size = inline_size > 16 ? inline_size * 3 / 4 : 0;
    }
}

}  // namespace rdma_bench
