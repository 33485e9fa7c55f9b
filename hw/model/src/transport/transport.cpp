// SPDX-License-Identifier: BSD-2-Clause
//
// The outside of the transport, and its main loop: timers, then a turn for each QP that is ready.
#include "transport.h"

#include "core.h"

namespace dingo::model {
namespace {

/// Packets that a QP may send in one turn.
constexpr unsigned kBurst = 16;
/// Blocks of the next QP's send queue that are fetched ahead; a prefetch beyond the ring does
/// nothing.
constexpr std::size_t kPrefetchedBlocks = 4;

void prefetch_lines(const void* object, std::size_t bytes) {
    constexpr std::size_t kLine = 64;
    for (std::size_t offset = 0; offset < bytes; offset += kLine)
        __builtin_prefetch(static_cast<const std::byte*>(object) + offset);
}

}  // namespace

Qp::Qp() = default;
Qp::~Qp() = default;

struct Transport::Impl : Core {
    using Core::Core;
};

Transport::Transport(CardContext& card, TransportHost& host, MemoryTable& memory, Port& port)
    : impl_(std::make_unique<Impl>(card, host, memory, port)) {}
Transport::~Transport() = default;

void Transport::qp_created(Qp& qp) {
    impl_->qp_created(qp);
}
void Transport::qp_destroyed(Qp& qp) {
    impl_->qp_destroyed(qp);
}
void Transport::qp_modified(Qp& qp, QpState old_state, std::uint32_t mask) {
    impl_->qp_modified(qp, old_state, mask);
}
void Transport::fill_info(const Qp& qp, dingo_qp_info& info) const {
    impl_->fill_info(qp, info);
}
void Transport::sq_doorbell(Qp& qp, std::uint32_t producer) {
    impl_->sq_doorbell(qp, producer);
}
void Transport::rq_doorbell(Qp& qp, std::uint32_t producer) {
    impl_->rq_doorbell(qp, producer);
}
void Transport::srq_doorbell(SharedReceiveQueue& srq, std::uint32_t producer) {
    impl_->srq_doorbell(srq, producer);
}
void Transport::receive(const packet::Packet& packet, std::span<const std::byte> frame,
                        bool looped) {
    impl_->receive(packet, frame, looped);
}
bool Transport::run(unsigned budget) {
    return impl_->run(budget);
}
Nanoseconds Transport::next_deadline() const {
    return impl_->next_deadline();
}
void Transport::fail(Qp& qp) {
    impl_->fail(qp);
}
void Transport::reset() {
    impl_->reset();
}

void Core::qp_created(Qp& qp) {
    qp.transport = std::make_unique<TransportState>();
}

void Core::qp_destroyed(Qp& qp) {
    send_owed_reply(qp);
    send_last_datagrams(qp);
    forget(qp);
    qp.transport.reset();
}

void Core::reset() {
    scheduler_.clear();
    timers_.clear();
    stale_.clear();
    response_qp_ = nullptr;
    last_gid_ = 0;
    wire_retry_ = kNever;
}

void Core::fill_info(const Qp& qp, dingo_qp_info& info) const {
    const Requester& r = qp.transport->requester;
    const Responder& p = qp.transport->responder;
    const ReceiveRing& receive_ring = qp.srq ? qp.srq->ring : qp.rq;
    info.attr.sq_psn = r.new_psn & packet::kPsnMask;
    info.attr.rq_psn = p.expected_psn;
    info.sq_draining = qp.state == QpState::kSqd && !r.drained;
    info.sq_producer = qp.sq_producer;
    info.sq_consumer = r.records.empty() ? r.next_index : r.records.front().index;
    info.rq_producer = receive_ring.producer;
    info.rq_consumer = receive_ring.consumer;
    info.oldest_psn = r.oldest_psn & packet::kPsnMask;
    info.retries_left = r.retries_left;
    info.rnr_left = r.rnr_left;
    info.msn = p.msn;
}

void Core::sq_doorbell(Qp& qp, std::uint32_t producer) {
    const Requester& r = qp.transport->requester;
    const std::uint32_t consumer = r.records.empty() ? r.next_index : r.records.front().index;
    const bool in_ring = producer - consumer <= 1U << qp.log_sq;
    const bool forward = producer - consumer >= qp.sq_producer - consumer;
    if (qp.state == QpState::kReset || !in_ring || !forward) {
        card_.count(DINGO_CARD_DB_DROPPED);
        return;
    }
    qp.sq_producer = producer;
    if (qp.state >= QpState::kRts)
        wake(qp);
}

void Core::rq_doorbell(Qp& qp, std::uint32_t producer) {
    if (qp.state == QpState::kReset || qp.srq || !qp.rq.ring(producer)) {
        card_.count(DINGO_CARD_DB_DROPPED);
        return;
    }
    if (qp.state == QpState::kErr)
        wake(qp);
}

void Core::srq_doorbell(SharedReceiveQueue& srq, std::uint32_t producer) {
    if (srq.error || !srq.ring.ring(producer))
        card_.count(DINGO_CARD_DB_DROPPED);
}

bool Core::run(unsigned budget) {
    frame_.clear_busy();
    correct_times();
    running_ = true;
    while (budget > 0) {
        Qp* const due = timers_.take_due(card_.now);
        if (!due)
            break;
        fire(*due);
        --budget;
    }
    while (budget > 0 && !frame_.busy()) {
        Qp* const qp = scheduler_.take();
        if (!qp)
            break;
        prefetch_next();
        const unsigned used = std::max(turn(*qp), 1U);
        budget -= std::min(used, budget);
    }
    running_ = false;
    timers_.settle();
    wire_retry_ = frame_.busy() ? card_.now + kWireRetry : kNever;
    const bool ready = !scheduler_.empty() && !frame_.busy();
    return ready || timers_.earliest() <= card_.now;
}

void Core::prefetch_next() const {
    // With thousands of active QPs every turn begins with a context, and a WQE, that are in no near
    // cache. They are fetched while other QPs have their turns: the QP first, then what it points
    // to, then the WQE.
    constexpr std::size_t kQp = 2;
    constexpr std::size_t kTransport = 1;
    if (const Qp* const qp = scheduler_.peek(kQp))
        prefetch_lines(qp, sizeof *qp);
    if (const Qp* const qp = scheduler_.peek(kTransport))
        prefetch_lines(qp->transport.get(), sizeof *qp->transport);
    const Qp* const qp = scheduler_.peek(0);
    if (!qp)
        return;
    const std::uint32_t index = qp->transport->requester.next_index;
    const std::uint32_t slot = index & ((1U << qp->log_sq) - 1);
    if (index == qp->sq_producer)
        return;
    if (const std::byte* const wqe =
            qp->sq.pointer(card_, std::uint64_t{slot} * DINGO_SQ_BLOCK, DINGO_SQ_BLOCK))
        prefetch_lines(wqe, kPrefetchedBlocks * DINGO_SQ_BLOCK);
}

unsigned Core::turn(Qp& qp) {
    unsigned used = 0;
    bool more = false;
    if (qp.state >= QpState::kRtr && qp.state != QpState::kErr && is_reliable(qp))
        more = respond(qp, kBurst, used);
    if (qp.state == QpState::kErr || qp.state == QpState::kSqe) {
        more = flush(qp, kBurst, used) || more;
    } else if ((qp.state == QpState::kRts || qp.state == QpState::kSqd) && !frame_.busy()) {
        unsigned sent = 0;
        const SendStop stop =
            is_datagram(qp) ? send_datagrams(qp, kBurst, sent) : send(qp, kBurst, sent);
        more = stop == SendStop::kTurnOver || more;
        used += sent;
    }
    // A full wire says so to whose turn it is. Who could send nothing keeps the place: else chance,
    // and not the order, decides who finds room, and some wait for longer than their peers'
    // timeouts.
    if (frame_.busy() && used == 0)
        scheduler_.add_first(qp);
    else if (more || frame_.busy())
        wake(qp);
    return used;
}

}  // namespace dingo::model
