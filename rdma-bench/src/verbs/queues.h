// SPDX-License-Identifier: BSD-2-Clause
// Completion queues, shared receive queues and QPs with their ends. Everything throws
// RunError(kDevice) that names the verb.
#pragma once
#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>

#include "options/options.h"
#include "verbs/device.h"

namespace rdma_bench {

struct DestroyVerbs {
    void operator()(ibv_comp_channel* channel) const { ibv_destroy_comp_channel(channel); }
    void operator()(ibv_cq* cq) const { ibv_destroy_cq(cq); }
    void operator()(ibv_srq* srq) const { ibv_destroy_srq(srq); }
    void operator()(ibv_qp* qp) const { ibv_destroy_qp(qp); }
    void operator()(ibv_ah* ah) const { ibv_destroy_ah(ah); }
    void operator()(ibv_mr* mr) const { ibv_dereg_mr(mr); }
};
using ChannelPtr = std::unique_ptr<ibv_comp_channel, DestroyVerbs>;
using CqPtr = std::unique_ptr<ibv_cq, DestroyVerbs>;
using SrqPtr = std::unique_ptr<ibv_srq, DestroyVerbs>;
using QpPtr = std::unique_ptr<ibv_qp, DestroyVerbs>;
using AhPtr = std::unique_ptr<ibv_ah, DestroyVerbs>;
using MrPtr = std::unique_ptr<ibv_mr, DestroyVerbs>;

/// A completion queue, with a channel when the test sleeps on it.
struct CompletionQueue {
    ChannelPtr channel;
    CqPtr cq;
    unsigned unacknowledged = 0;  ///< events; acknowledged together before the queue goes
    bool armed = false;           ///< its event was asked for and has not been read yet
    ~CompletionQueue();
    /// Asks for an event unless one is due already: each time more would leave one more to read.
    void arm();
    CompletionQueue() = default;
    CompletionQueue(const CompletionQueue&) = delete;
    CompletionQueue& operator=(const CompletionQueue&) = delete;
};
std::unique_ptr<CompletionQueue> make_cq(const Device& device, unsigned depth, bool events,
                                         unsigned vector);

SrqPtr make_srq(const Device& device, unsigned depth);

struct QpRequest {
    Connection connection = Connection::kRc;
    Operation operation = Operation::kSend;
    ibv_cq* send_cq = nullptr;
    ibv_cq* recv_cq = nullptr;
    ibv_srq* srq = nullptr;
    unsigned send_depth = 1, recv_depth = 1;
    unsigned inline_size = 0;      ///< at least this much, or
    bool inline_optional = false;  ///< as much of it as the device can
    bool extended = false;         ///< with ibv_wr_* when the device has it
};
struct MadeQp {
    QpPtr qp;
    ibv_qp_ex* extended = nullptr;  ///< null: post by ibv_post_send
    unsigned inline_size = 0;       ///< what is promised: never more than was asked for
};
MadeQp make_qp(const Device& device, const QpRequest& request);

}  // namespace rdma_bench
