// SPDX-License-Identifier: BSD-2-Clause
//
// What a responder sends: READ data and atomic results in PSN order, packet by packet, then its ACK
// or NAK.
#include <algorithm>

#include "core.h"

namespace dingo::model {

namespace syndrome = packet::syndrome;
using packet::Opcode;

void Core::start_response(Qp& qp, ReadResource& resource, std::uint32_t start, std::uint32_t stop,
                          std::uint32_t end) {
    Responder& p = qp.transport->responder;
    if (!resource.pending())
        ++p.pending;
    resource.start = resource.next = start;
    resource.stop = stop;
    resource.end = end;
    pick_response(p);  // C9-110: an earlier one interrupts the present one
    wake(qp);
}

void Core::pick_response(Responder& p) {
    const auto slots = static_cast<std::uint32_t>(p.resources.size());
    for (std::uint32_t i = 0; i < slots; ++i) {
        const std::uint32_t slot = (p.resource_next + i) % slots;  // oldest first
        if (p.resources[slot].pending()) {
            p.resource_now = slot;
            return;
        }
    }
}

bool Core::respond(Qp& qp, unsigned burst, unsigned& used) {
    Responder& p = qp.transport->responder;
    if (p.pending == 0 && !p.reply_pending)
        return false;
    if (!path_of(qp)) {  // our address has gone: the peer hears nothing
        for (ReadResource& resource : p.resources)
            resource.next = resource.stop;
        p.pending = 0;
        p.reply_pending = false;
        if (p.failed)
            enter_error(qp);
        return false;
    }
    while (used < burst) {
        if (p.pending > 0) {
            if (p.wait_deadline != kNever)
                return false;
            ReadResource& resource = p.resources[p.resource_now];
            if (const Sent sent = send_response(qp, resource); sent != Sent::kYes)
                return sent == Sent::kBusy;
            ++used;
            if (!resource.pending()) {
                resource.answered = true;
                if (--p.pending > 0)
                    pick_response(p);
            }
            continue;
        }
        if (!p.reply_pending)
            return false;
        if (send_reply(qp) == Sent::kBusy)
            return true;
        ++used;
        return false;
    }
    return p.pending > 0 || p.reply_pending;
}

Core::Sent Core::send_response(Qp& qp, ReadResource& resource) {
    packet::TransportHeaders headers;
    headers.bth.migreq = true;
    headers.bth.dest_qp = qp.attr.dest_qpn;
    headers.bth.psn = packet::psn_add(resource.first_psn, resource.next);
    headers.aeth = {syndrome::kAckNoCredits, resource.msn};
    return resource.atomic ? send_atomic_response(qp, resource, headers)
                           : send_read_response(qp, resource, headers);
}

Core::Sent Core::send_atomic_response(Qp& qp, ReadResource& resource,
                                      packet::TransportHeaders& headers) {
    headers.bth.opcode = Opcode::kRcAtomicAck;
    headers.atomic_original = resource.original;
    if (!frame_.open(qp.transport->path, headers, 0))
        return Sent::kBusy;
    frame_.send(qp);
    ++resource.next;
    return Sent::kYes;
}

Core::Sent Core::send_read_response(Qp& qp, ReadResource& resource,
                                    packet::TransportHeaders& headers) {
    Responder& p = qp.transport->responder;
    const bool first = resource.next == resource.start;
    const bool last = resource.next + 1 == resource.stop;
    headers.bth.opcode = first
                             ? (last ? Opcode::kRcReadResponseOnly : Opcode::kRcReadResponseFirst)
                             : (last ? Opcode::kRcReadResponseLast : Opcode::kRcReadResponseMiddle);
    const std::uint32_t offset = resource.next * pmtu_bytes(qp);
    const std::uint32_t bytes = std::min(pmtu_bytes(qp), resource.end - offset);
    MemoryRange range;
    const KeyVerdict verdict =
        memory_.check(qp, resource.rkey, resource.va + offset, bytes, DINGO_ACC_REMOTE_READ, range);
    if (verdict == KeyVerdict::kPaused) {
        p.wait_deadline = card_.now + kPauseRetry;
        arm(qp);
        return Sent::kNo;
    }
    std::uint8_t fault = 0;
    if (verdict != KeyVerdict::kOk) {
        fault = syndrome::kNakRemoteAccess;
    } else {
        if (!frame_.open(qp.transport->path, headers, bytes))
            return Sent::kBusy;
        const std::byte* const source = bytes >= kReferredBytes ? memory_.pointer(range) : nullptr;
        if (source) {
            frame_.refer(source);
        } else if (bytes > 0 && !memory_.read(range, 0, frame_.payload())) {
            frame_.cancel();
            fault = syndrome::kNakRemoteOperational;
        }
    }
    if (fault != 0) {  // the region went away while it was being read
        for (ReadResource& other : p.resources)
            other.next = other.stop;
        p.pending = 0;
        nak_fatal(qp, fault, headers.bth.psn, DINGO_EV_QP_ACCESS_ERR);
        return Sent::kNo;
    }
    frame_.send(qp);
    ++resource.next;
    return Sent::kYes;
}

Core::Sent Core::send_reply(Qp& qp) {
    Responder& p = qp.transport->responder;
    packet::TransportHeaders headers;
    headers.bth.opcode = Opcode::kRcAck;
    headers.bth.migreq = true;
    headers.bth.dest_qp = qp.attr.dest_qpn;
    headers.bth.psn = p.reply_psn;
    headers.aeth = {p.reply_syndrome, p.msn};
    if (!frame_.open(qp.transport->path, headers, 0))
        return Sent::kBusy;
    frame_.send(qp);
    p.reply_pending = false;
    if (syndrome::is_ack(p.reply_syndrome))
        qp.count(DINGO_QP_ACKS_SENT);
    if (p.failed)  // the fatal NAK has left
        enter_error(qp);
    return Sent::kYes;
}

void Core::send_owed_reply(Qp& qp) {
    const Responder& p = qp.transport->responder;
    if (p.reply_pending && !p.failed && p.pending == 0 && path_of(qp))
        send_reply(qp);
}

}  // namespace dingo::model
