// SPDX-License-Identifier: BSD-2-Clause
#include "duplicates.h"

#include "dingo/packet/aeth.h"
#include "dingo/packet/psn.h"
#include "qp_math.h"

namespace dingo::model {

namespace syndrome = packet::syndrome;

namespace {

/// The peer has heard nothing: if the oldest response waits for a paused region, its RNR NAK leaves
/// again.
void refuse_again(ResponderState& p) {
    if (p.pending > 0) {
        p.resources[p.resource_now].refused = false;
    }
}

}  // namespace

void Duplicates::receive_duplicate(QueuePair& qp, const packet::Packet& packet) {
    card_.count(DINGO_CARD_DUPLICATE_REQUEST, packet.packets);
    qp.count(DINGO_QP_DUPLICATES, packet.packets);
    if (packet.op().is_read_request()) {
        repeat_read(qp, packet);
    } else if (packet.op().is_atomic()) {
        repeat_atomic(qp, packet);
    } else {
        ResponderState& p = qp.transport->responder;
        refuse_again(p);  // the ACK comes behind the response; its RNR NAK acknowledges, too
        if (!(p.reply_pending && p.nak_sent))  // otherwise the owed NAK implies the ACK
            ack_nak_.reply(qp, syndrome::kAckNoCredits, p.expected_psn - 1);
    }
}

void Duplicates::repeat_read(QueuePair& qp, const packet::Packet& packet) {
    ReadResource* const resource =
        ReadResponses::find_resource(qp.transport->responder, packet.bth.psn);
    if (resource && !resource->atomic) {
        const std::uint32_t start = (packet.bth.psn - resource->first_psn) & packet::kPsnMask;
        const std::uint32_t offset = start * pmtu_bytes(qp);
        const bool within = packet.reth.rkey == resource->rkey &&
                            packet.reth.va == resource->va + offset &&
                            packet.reth.length <= resource->length - offset;
        if (within) {
            const std::uint32_t packets = packets_of(packet.reth.length, pmtu_bytes(qp));
            resource->asked_again = true;
            refuse_again(qp.transport->responder);
            responses_.start_response(qp, *resource, start, start + packets,
                                      offset + packet.reth.length);
            return;
        }
    }
    card_.count(DINGO_CARD_RX_DROP_DUPLICATE);
}

void Duplicates::repeat_atomic(QueuePair& qp, const packet::Packet& packet) {
    ReadResource* const resource =
        ReadResponses::find_resource(qp.transport->responder, packet.bth.psn);
    if (resource && resource->atomic) {
        refuse_again(qp.transport->responder);
        responses_.start_response(qp, *resource, 0, 1, 0);
    } else {
        card_.count(DINGO_CARD_RX_DROP_DUPLICATE);
    }
}

}  // namespace dingo::model
