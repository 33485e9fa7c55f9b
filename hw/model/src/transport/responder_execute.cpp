// SPDX-License-Identifier: BSD-2-Clause
//
// Executes requests that passed all checks: memory first, then the completion, then the
// acknowledgement.
#include "responder.h"

#include "dingo/packet/aeth.h"
#include "dingo/packet/psn.h"
#include "qp_math.h"

namespace dingo::model {

namespace syndrome = packet::syndrome;

namespace {

/// Returns the PSN of a packet, or of the last packet of a train.
std::uint32_t last_psn(const packet::Packet& packet) {
    return packet::psn_add(packet.bth.psn, packet.packets - 1);
}

}  // namespace

void Responder::execute(QueuePair& qp, const packet::Packet& packet) {
    const packet::OpcodeTraits& op = packet.op();
    if (op.is_read_request()) {
        execute_read(qp, packet);
        return;
    }
    if (op.is_atomic()) {
        execute_atomic(qp, packet);
        return;
    }
    const bool done = op.is_write() ? execute_write(qp, packet) : execute_send(qp, packet);
    if (done && packet.bth.ack_req)
        ack_nak_.reply(qp, syndrome::kAckNoCredits, last_psn(packet));
}

bool Responder::execute_send(QueuePair& qp, const packet::Packet& packet) {
    ResponderState& p = qp.transport->responder;
    const packet::OpcodeTraits& op = packet.op();
    if (op.first)
        p.receive_bytes = 0;
    WqeFault fault;
    // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): SENDs have taken a receive
    switch (payload_.scatter(qp, receives_.current(), p.receive_bytes,
                             payload_.received(qp, p.receive_bytes, packet.payload), fault)) {
        case Move::kDone:
            break;
        case Move::kLater:
        case Move::kPaused:
            receives_.put_back(qp);
            rnr_.nak_not_ready(qp);
            return false;
        case Move::kFault:
            receives_.fail(qp, fault);
            ack_nak_.nak_fatal(qp, syndrome::kNakRemoteOperational, packet.bth.psn, 0);
            return false;
    }
    if (op.first)
        card_.count(DINGO_CARD_RX_SEND_REQUESTS);
    p.receive_bytes += static_cast<std::uint32_t>(packet.payload.size());
    p.expected_psn = packet::psn_add(p.expected_psn, packet.packets);
    if (op.last)
        return finish_message(qp, packet, p.receive_bytes);
    receives_.hold(qp);
    p.message = ResponderState::Message::kSend;
    return true;
}

bool Responder::execute_write(QueuePair& qp, const packet::Packet& packet) {
    ResponderState& p = qp.transport->responder;
    const packet::OpcodeTraits& op = packet.op();
    const std::uint64_t va = op.first ? packet.reth.va : p.write_va;
    const std::uint32_t rkey = op.first ? packet.reth.rkey : p.write_rkey;
    const std::uint32_t remaining = op.first ? packet.reth.length : p.remaining;
    const auto bytes = static_cast<std::uint32_t>(packet.payload.size());
    const std::uint32_t offset = op.first ? 0 : p.receive_bytes - remaining;
    if (bytes > 0) {
        MemoryRange range;
        // Checked for each packet: the region may have been destroyed since the first one.
        if (!check_remote(qp, memory_.check(qp, rkey, va, bytes, DINGO_ACC_REMOTE_WRITE, range)))
            return false;
        const FarMemory::Access access = far_.write(qp, Half::kReceive, op.first, range,
                                                    payload_.received(qp, offset, packet.payload));
        if (access == FarMemory::Access::kLater)
            return check_remote(qp, KeyVerdict::kPaused);
        if (access == FarMemory::Access::kError) {
            receives_.put_back(qp);
            ack_nak_.nak_fatal(qp, syndrome::kNakRemoteOperational, packet.bth.psn,
                               DINGO_EV_QP_FATAL);
            return false;
        }
    }
    if (op.first) {
        card_.count(DINGO_CARD_RX_WRITE_REQUESTS);
        p.write_rkey = rkey;
        p.receive_bytes = packet.reth.length;
    }
    p.write_va = va + bytes;
    p.remaining = remaining - bytes;
    p.expected_psn = packet::psn_add(p.expected_psn, packet.packets);
    if (op.last)
        return finish_message(qp, packet, p.receive_bytes);
    p.message = ResponderState::Message::kWrite;
    return true;
}

bool Responder::finish_message(QueuePair& qp, const packet::Packet& packet, std::uint32_t bytes) {
    ResponderState& p = qp.transport->responder;
    p.message = ResponderState::Message::kNone;
    p.msn = packet::psn_add(p.msn, 1);
    if (!receives_.taken())
        return true;  // WRITE without immediate data: no completion
    if (packet.op().has_ieth()) {
        const KeyVerdict verdict = memory_.invalidate(qp, packet.inv_rkey);
        if (verdict != KeyVerdict::kOk) {
            receives_.fail(qp, {DINGO_WCS_LOC_ACCESS_ERR, static_cast<std::uint8_t>(verdict)});
            ack_nak_.nak_fatal(qp, syndrome::kNakRemoteAccess, last_psn(packet),
                               DINGO_EV_QP_ACCESS_ERR);
            return false;
        }
    }
    return receives_.complete(qp, packet, bytes);
}

void Responder::execute_read(QueuePair& qp, const packet::Packet& packet) {
    ResponderState& p = qp.transport->responder;
    card_.count(DINGO_CARD_RX_READ_REQUESTS);
    ReadResource& resource = ReadResponses::new_resource(p, packet);
    resource.va = packet.reth.va;
    resource.rkey = packet.reth.rkey;
    resource.length = packet.reth.length;
    resource.packets = packets_of(resource.length, pmtu_bytes(qp));
    p.expected_psn = packet::psn_add(p.expected_psn, resource.packets);
    responses_.start_response(qp, resource, 0, resource.packets, resource.length);
}

void Responder::execute_atomic(QueuePair& qp, const packet::Packet& packet) {
    const packet::AtomicEth& request = packet.atomic_eth;
    std::uint64_t original = 0;
    MemoryRange range;
    if (!check_remote(qp, memory_.check(qp, request.rkey, request.va, sizeof original,
                                        DINGO_ACC_REMOTE_ATOMIC, range)))
        return;
    if (far_.concerns(qp, Half::kReceive, range)) {
        execute_far_atomic(qp, packet, range);
        return;
    }
    if (!memory_.atomic(range, {packet.op().is_cmp_swap(), request.compare, request.swap_add},
                        original)) {
        ack_nak_.nak_fatal(qp, syndrome::kNakRemoteOperational, packet.bth.psn, DINGO_EV_QP_FATAL);
        return;
    }
    answer_atomic(qp, packet, original);
}

void Responder::execute_far_atomic(QueuePair& qp, const packet::Packet& packet,
                                   const MemoryRange& range) {
    const packet::AtomicEth& request = packet.atomic_eth;
    switch (
        far_.atomic(qp, range, {packet.op().is_cmp_swap(), request.compare, request.swap_add})) {
        case FarMemory::Access::kDone:
            answer_atomic(qp, packet, 0);
            far_.hold_atomic(qp, packet.bth.psn);
            break;
        case FarMemory::Access::kLater:
            check_remote(qp, KeyVerdict::kPaused);
            break;
        case FarMemory::Access::kError:
            ack_nak_.nak_fatal(qp, syndrome::kNakRemoteOperational, packet.bth.psn,
                               DINGO_EV_QP_FATAL);
            break;
    }
}

void Responder::answer_atomic(QueuePair& qp, const packet::Packet& packet, std::uint64_t original) {
    ResponderState& p = qp.transport->responder;
    card_.count(DINGO_CARD_RX_ATOMIC_REQUESTS);
    ReadResource& resource = ReadResponses::new_resource(p, packet);
    resource.atomic = true;
    resource.original = original;
    resource.packets = 1;
    p.expected_psn = packet::psn_add(p.expected_psn, 1);
    responses_.start_response(qp, resource, 0, 1, 0);
}

}  // namespace dingo::model
