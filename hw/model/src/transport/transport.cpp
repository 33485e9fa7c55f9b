// SPDX-License-Identifier: BSD-2-Clause
//
// Entry points of the transport, and its main loop: timers, then a turn for each QP that is ready.
#include "transport.h"

#include <algorithm>

#include "cost.h"
#include "dingo/packet/psn.h"
#include "dingo/touch.h"
#include "parts.h"
#include "qp_math.h"
#include "transport_state.h"

namespace dingo::model {
namespace {

/// Blocks of the next QP's send queue to prefetch; a prefetch beyond the ring is harmless.
constexpr std::size_t kPrefetchedBlocks = 4;
/// QPs that wait for far memory are checked when an access ends, and at least at this interval.
constexpr Nanoseconds kFarLook = 100'000'000;

void prefetch_lines(const void* object, std::size_t bytes) {
    constexpr std::size_t kLine = 64;
    for (std::size_t offset = 0; offset < bytes; offset += kLine)
        __builtin_prefetch(static_cast<const std::byte*>(object) + offset);
}

void prefetch_next(const Scheduler& scheduler, CardContext& card) {
    // With thousands of active QPs, each turn begins with a context and a WQE that are not in a
    // near cache. They are prefetched during the turns of other QPs: first the QP, then the objects
    // that it points to, then the WQE.
    constexpr std::size_t kQp = 2;
    constexpr std::size_t kTransport = 1;
    if (const QueuePair* const qp = scheduler.peek(kQp))
        prefetch_lines(qp, sizeof *qp);
    if (const QueuePair* const qp = scheduler.peek(kTransport))
        prefetch_lines(qp->transport.get(), sizeof *qp->transport);
    const QueuePair* const qp = scheduler.peek(0);
    if (!qp)
        return;
    const std::uint32_t index = qp->transport->requester.next_index;
    const std::uint32_t slot = index & ((1U << qp->log_sq) - 1);
    if (index == qp->sq_producer)
        return;
    const KeepsMark prefetched;  // a prefetch causes no fault
    if (const std::byte* const wqe =
            qp->sq.pointer(card, std::uint64_t{slot} * DINGO_SQ_BLOCK, DINGO_SQ_BLOCK))
        prefetch_lines(wqe, kPrefetchedBlocks * DINGO_SQ_BLOCK);
}

}  // namespace

QueuePair::QueuePair() = default;
QueuePair::~QueuePair() = default;

Transport::Transport(CardContext& card, TransportHost& host, MemoryTable& memory, Port& port)
    : parts_(new Parts{card, host, memory, port}) {}
Transport::~Transport() = default;

void Transport::qp_created(QueuePair& qp) {
    qp.transport = std::make_unique<TransportState>();
}

void Transport::qp_destroyed(QueuePair& qp) {
    parts_->ack_nak.send_owed_reply(qp);
    parts_->datagram.send_last_datagrams(qp);
    forget(qp);
    qp.transport.reset();
}

void Transport::receive(const packet::Packet& packet, std::span<const std::byte> frame,
                        bool has_icrc) {
    parts_->dispatch.receive(packet, frame, has_icrc);
}

void Transport::fill_info(const QueuePair& qp, dingo_qp_info& info) const {
    const RequesterState& r = qp.transport->requester;
    const ResponderState& p = qp.transport->responder;
    const ReceiveRing& receive_ring = qp.srq ? qp.srq->ring : qp.rq;
    info.attr.sq_psn = r.new_psn & packet::kPsnMask;
    info.attr.rq_psn = p.expected_psn;
    info.sq_draining = qp.state == QpState::kSqd && !r.drained;
    info.sq_producer = qp.sq_producer;
    info.sq_consumer = r.consumer();
    info.rq_producer = receive_ring.producer;
    info.rq_consumer = receive_ring.consumer;
    info.oldest_psn = r.oldest_psn & packet::kPsnMask;
    info.retries_left = r.retries_left;
    info.rnr_left = r.rnr_left;
    info.msn = p.msn;
}

void Transport::sq_doorbell(QueuePair& qp, std::uint32_t producer) {
    const std::uint32_t consumer = qp.transport->requester.consumer();
    const bool in_ring = producer - consumer <= 1U << qp.log_sq;
    const bool forward = producer - consumer >= qp.sq_producer - consumer;
    if (qp.state == QpState::kReset || !in_ring || !forward) {
        parts_->card.count(DINGO_CARD_DB_DROPPED);
        return;
    }
    qp.sq_producer = producer;
    if (qp.state >= QpState::kRts)
        parts_->scheduler.add(qp);
}

void Transport::rq_doorbell(QueuePair& qp, std::uint32_t producer) {
    const bool shared = qp.rq.record != 0;  // the doorbell only announces more entries
    if (qp.state == QpState::kReset || qp.srq || (!shared && !qp.rq.ring(producer))) {
        parts_->card.count(DINGO_CARD_DB_DROPPED);
        return;
    }
    if (qp.state == QpState::kErr)
        parts_->scheduler.add(qp);
}

void Transport::srq_doorbell(SharedReceiveQueue& srq, std::uint32_t producer) {
    if (srq.error || !srq.ring.ring(producer))
        parts_->card.count(DINGO_CARD_DB_DROPPED);
}

bool Transport::send_posted(QueuePair& qp, unsigned burst) {
    if (!is_sending(qp))
        return false;
    parts_->frame.clear_busy();
    return serve(qp, burst).sends;
}

bool Transport::has_turns() const {
    return !parts_->scheduler.empty();
}

bool Transport::run(unsigned budget, bool timers) {
    const CardContext& card = parts_->card;
    Scheduler& scheduler = parts_->scheduler;
    Deadlines& deadlines = parts_->deadlines;
    FrameWriter& frame = parts_->frame;
    RoomWaits& rooms = parts_->rooms;
    frame.clear_busy();
    deadlines.begin_run();
    parts_->settling.run();
    while (timers && budget > 0) {
        QueuePair* const due = deadlines.take_due();
        if (!due)
            break;
        fire(*due);
        --budget;
    }
    rooms.look_again();
    while (budget > 0 && !frame.all_busy() && !should_leave()) {
        QueuePair* const qp = scheduler.take();
        if (!qp)
            break;
        prefetch_next(scheduler, parts_->card);
        const bool waits = !rooms.empty() && rooms.holds_back(*qp);
        const unsigned used = waits ? 0 : serve(*qp, kTurnBurst).used;
        budget -= std::min(std::max(used, 1U), budget);
    }
    deadlines.end_run();
    wire_retry_ = frame.all_busy() || !rooms.empty() ? card.now + kWireRetry : kNever;
    const bool ready = (!scheduler.empty() && !frame.all_busy()) || parts_->far.more_moved();
    return ready || deadlines.earliest() <= card.now;
}

Nanoseconds Transport::next_deadline() const {
    const Nanoseconds due = std::min(parts_->deadlines.earliest(), wire_retry_);
    return parts_->far.any_waits() ? std::min(due, parts_->card.now + kFarLook) : due;
}

void Transport::fire(QueuePair& qp) {
    RequesterState& r = qp.transport->requester;
    ResponderState& p = qp.transport->responder;
    const Nanoseconds now = parts_->card.now;
    if (r.wait_deadline <= now) {
        r.wait_deadline = kNever;
        parts_->scheduler.add(qp);
    }
    if (p.wait_deadline <= now) {
        p.wait_deadline = kNever;
        parts_->scheduler.add(qp);
    }
    if (r.ack_deadline <= now) {
        r.ack_deadline = kNever;
        parts_->retransmit.ack_timeout(qp);
    }
    parts_->deadlines.arm(qp);
}

Transport::Turn Transport::serve(QueuePair& qp, unsigned burst) {
    FrameWriter& frame = parts_->frame;
    const Turn did = turn(qp, burst);
    // A QP that only found the wire full pays nothing and keeps its turn.
    const std::int64_t cost = did.used == 0 && frame.busy() ? 0 : std::max(did.cost, cost::kStep);
    parts_->scheduler.charge(qp, cost);
    if (!frame.busy()) {
        parts_->rooms.had_room(qp, cost);
    } else if (!frame.all_busy()) {
        parts_->rooms.wait(qp, frame.full_address(), cost);
        frame.clear_busy();
    }
    return did;
}

Transport::Turn Transport::turn(QueuePair& qp, unsigned burst) {
    Parts& parts = *parts_;
    const std::int64_t before = parts.frame.cost();
    const std::uint64_t packets = parts.card.counters[DINGO_CARD_RDMA_TX_PACKETS];
    unsigned used = 0;
    bool more = false;
    bool sends = false;
    if (qp.state >= QpState::kRtr && qp.state != QpState::kErr && is_reliable(qp))
        more = parts.responder.turn(qp, kTurnBurst, used);
    if (qp.state == QpState::kErr || qp.state == QpState::kSqe) {
        more = parts.flush.turn(qp, kTurnBurst, used) || more;
    } else if (is_sending(qp) && !parts.frame.busy()) {
        unsigned sent = 0;
        const SendStop stop = is_datagram(qp) ? parts.datagram.turn(qp, burst, sent)
                                              : parts.requester.turn(qp, burst, sent);
        more = stop == SendStop::kTurnOver || more;
        sends = stop == SendStop::kTurnOver || stop == SendStop::kFetching;
        used += sent;
    }
    // If the wire is full, a QP that could send nothing keeps its place. Otherwise chance decides
    // which QP finds room, and some wait longer than their peers' timeouts. A QP without room at
    // one address waits for that address only (room_waits.h).
    if (parts.frame.all_busy() && used == 0)
        parts.scheduler.add_first(qp);
    else if (parts.frame.all_busy() || (more && !parts.frame.busy()))
        parts.scheduler.add(qp);
    const auto sent = parts.card.counters[DINGO_CARD_RDMA_TX_PACKETS] - packets;
    const auto steps = static_cast<std::int64_t>(used - std::min<std::uint64_t>(sent, used));
    const std::int64_t spent = parts.frame.cost() - before + steps * cost::kStep;
    return {used, spent, is_sending(qp) && (sends || parts.frame.busy())};
}

}  // namespace dingo::model
