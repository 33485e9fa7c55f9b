// SPDX-License-Identifier: BSD-2-Clause
#include "duplicates.h"

#include "dingo/packet/aeth.h"
#include "dingo/packet/psn.h"
#include "qp_math.h"

namespace dingo::model {

namespace syndrome = packet::syndrome;

void Duplicates::receive_duplicate(QueuePair& qp, const packet::Packet& packet) {
    card_.count(DINGO_CARD_DUPLICATE_REQUEST, packet.packets);
    qp.count(DINGO_QP_DUPLICATES, packet.packets);
    if (packet.op().is_read_request()) {
        repeat_read(qp, packet);
    } else if (packet.op().is_atomic()) {
        repeat_atomic(qp, packet);
    } else {
        ResponderState& p = qp.transport->responder;
        if (p.pending > 0)  // the ACK comes behind this response; its RNR NAK acknowledges, too
            p.resources[p.resource_now].refused = false;
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
    if (resource && resource->atomic)
        responses_.start_response(qp, *resource, 0, 1, 0);
    else
        card_.count(DINGO_CARD_RX_DROP_DUPLICATE);
}

}  // namespace dingo::model
