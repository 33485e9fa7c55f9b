// SPDX-License-Identifier: BSD-2-Clause
//
// The context of one queue pair. The admin commands own the first two groups, the transport owns
// the rest.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "completion_queue.h"
#include "compute/kernels.h"
#include "push_pages.h"
#include "receive_queue.h"
#include "ring_memory.h"

namespace dingo::model {

enum class QpType : std::uint8_t {
    kRc = DINGO_QPT_RC,
    kUc = DINGO_QPT_UC,
    kUd = DINGO_QPT_UD,
    kGsi = DINGO_QPT_GSI
};

enum class QpState : std::uint8_t {
    kReset = DINGO_QPS_RESET,
    kInit = DINGO_QPS_INIT,
    kRtr = DINGO_QPS_RTR,
    kRts = DINGO_QPS_RTS,
    kSqd = DINGO_QPS_SQD,
    kSqe = DINGO_QPS_SQE,
    kErr = DINGO_QPS_ERR,
};

struct TransportState;  // requester and responder of one QP: transport/transport_state.h

struct QueuePair {
    QueuePair();
    ~QueuePair();
    QueuePair(const QueuePair&) = delete;
    QueuePair& operator=(const QueuePair&) = delete;

    // --- set at creation
    std::uint32_t qpn = 0;  ///< all 24 bits
    QpType type = QpType::kRc;
    std::uint32_t pdn = 0;
    std::uint32_t db_page = 0;
    std::uint32_t share = 0;  ///< the share that pays for the QP's turns: transport/scheduler.h
    /// GID domain: the QP may use only entries of this domain; 0: all
    std::uint16_t domain = 0;
    bool signal_all = false;
    bool privileged = false;
    CompletionQueue* send_cq = nullptr;
    CompletionQueue* recv_cq = nullptr;
    SharedReceiveQueue* srq = nullptr;  ///< if set, `rq` is unused
    RingMemory sq;
    unsigned log_sq = 0;
    std::uint64_t indexes = 0;  ///< bus address (SHARE_INDEXES); 0: none
    ReceiveRing rq;

    // --- attributes, changed by commands only (state also by transport/error_flow.h)
    QpState state = QpState::kReset;
    dingo_qp_attr attr{};            ///< as set by MODIFY_QP; PSNs are not advanced
    compute::Config kernel;          ///< set by SET_COMPUTE before anything is sent
    compute::Config receive_kernel;  ///< the same for received payload

    // --- transport
    std::uint32_t sq_producer = 0;         ///< from the doorbell, in blocks
    std::unique_ptr<PushedBlocks> pushed;  ///< nullptr: none
    std::unique_ptr<TransportState> transport;
    std::array<std::uint64_t, DINGO_QP_COUNTERS> counters{};

    void count(dingo_qp_counter counter, std::uint64_t by = 1) noexcept { counters[counter] += by; }
    [[nodiscard]] ReceiveRing& receive_ring() noexcept { return srq ? srq->ring : rq; }
};

}  // namespace dingo::model
