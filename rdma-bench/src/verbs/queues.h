// SPDX-License-Identifier: BSD-2-Clause
// Owners of completion queues, shared receive queues and QPs. All functions throw RunError(kDevice)
// with the name of the verb that failed.
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

/// A completion queue, with a channel if the test waits for events.
struct CompletionQueue {
    ChannelPtr channel;
    CqPtr cq;
    unsigned unacknowledged = 0;  ///< events, acknowledged together before the CQ is destroyed
    bool armed = false;           ///< an event was requested and has not been read yet
    ~CompletionQueue();
    /// Requests an event unless one is pending already: each further request could add an event.
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
    unsigned inline_size = 0;      ///< required inline bytes
    bool inline_optional = false;  ///< fewer inline bytes are acceptable
    bool extended = false;         ///< with ibv_wr_*(), if the device supports it
};
struct MadeQp {
    QpPtr qp;
    ibv_qp_ex* extended = nullptr;  ///< null: post by ibv_post_send()
    unsigned inline_size = 0;       ///< available inline bytes, at most the requested number
};
MadeQp make_qp(const Device& device, const QpRequest& request);

}  // namespace rdma_bench
