// SPDX-License-Identifier: BSD-2-Clause
#include "flush.h"

#include <utility>

#include "transport_state.h"

namespace dingo::model {
namespace {

constexpr WqeFault kFlushed{DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED};

}  // namespace

bool Flush::turn(QueuePair& qp, unsigned burst, unsigned& used) {
    bool more = flush_sends(qp, burst, used);
    if (qp.state == QpState::kErr)
        more = flush_receives(qp, burst, used) || more;
    return more;
}

bool Flush::flush_sends(QueuePair& qp, unsigned burst, unsigned& used) {
    RequesterState& r = qp.transport->requester;
    while (r.next_index != qp.sq_producer) {
        if (far_.is_full(qp, Half::kSend))
            return false;
        if (used >= burst)
            return true;
        ++used;
        const std::uint32_t index = r.next_index;
        wqe_.load(card_, qp, index);  // only for opcode and size; faults no longer matter
        r.next_index += wqe_.blocks();
        completions_.send_error(qp, index, wqe_.opcode(), kFlushed);
        completions_.share_consumer(qp);
    }
    return false;
}

bool Flush::flush_receives(QueuePair& qp, unsigned burst, unsigned& used) {
    TransportState& t = *qp.transport;
    receives_.abandon_held(qp, kFlushed);
    if (qp.srq) {
        if (!far_.holds(qp, Half::kReceive) && !std::exchange(t.last_wqe_reached, true))
            host_.async_event(DINGO_EV_QP_LAST_WQE, qp.qpn);
        return false;
    }
    qp.rq.load(card_);
    while (qp.rq.available() > 0) {
        if (far_.is_full(qp, Half::kReceive))
            return false;
        if (used >= burst)
            return true;
        ++used;
        receives_.abandon_next(qp, kFlushed);
    }
    return false;
}

}  // namespace dingo::model
