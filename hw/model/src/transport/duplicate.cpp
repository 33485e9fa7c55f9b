// SPDX-License-Identifier: BSD-2-Clause
//
// Requests that were executed before. SEND and WRITE: acknowledged again, not executed (C9-105).
// READ: read again, as far as a saved resource allows. Atomic: the saved result. Anything older is
// dropped silently.
#include "core.h"

namespace dingo::model {
namespace {

namespace syndrome = packet::syndrome;

ReadResource* find_resource(Responder& p, std::uint32_t psn) {
    for (ReadResource& resource : p.resources)
        if (((psn - resource.first_psn) & packet::kPsnMask) < resource.packets)
            return &resource;
    return nullptr;
}

}  // namespace

void Core::receive_duplicate(Qp& qp, const packet::Packet& packet) {
    card_.count(DINGO_CARD_DUPLICATE_REQUEST);
    qp.count(DINGO_QP_DUPLICATES);
    if (packet.op().is_read_request()) {
        repeat_read(qp, packet);
    } else if (packet.op().is_atomic()) {
        repeat_atomic(qp, packet);
    } else {
        Responder& p = qp.transport->responder;
        if (!(p.reply_pending && p.nak_sent))  // a NAK on its way says as much
            reply(qp, syndrome::kAckNoCredits, p.expected_psn - 1);
    }
}

void Core::repeat_read(Qp& qp, const packet::Packet& packet) {
    ReadResource* const resource = find_resource(qp.transport->responder, packet.bth.psn);
    if (resource && !resource->atomic) {
        const std::uint32_t start = (packet.bth.psn - resource->first_psn) & packet::kPsnMask;
        const std::uint32_t offset = start * pmtu_bytes(qp);
        const bool within = packet.reth.rkey == resource->rkey &&
                            packet.reth.va == resource->va + offset &&
                            packet.reth.length <= resource->length - offset;
        if (within) {
            const std::uint32_t packets = packets_of(packet.reth.length, pmtu_bytes(qp));
            start_response(qp, *resource, start, start + packets, offset + packet.reth.length);
            return;
        }
    }
    drop(DINGO_CARD_RX_DROP_DUPLICATE);
}

void Core::repeat_atomic(Qp& qp, const packet::Packet& packet) {
    ReadResource* const resource = find_resource(qp.transport->responder, packet.bth.psn);
    if (resource && resource->atomic)
        start_response(qp, *resource, 0, 1, 0);
    else
        drop(DINGO_CARD_RX_DROP_DUPLICATE);
}

}  // namespace dingo::model
