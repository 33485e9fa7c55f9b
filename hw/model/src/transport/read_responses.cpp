// SPDX-License-Identifier: BSD-2-Clause
#include "read_responses.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "dingo/packet/aeth.h"
#include "dingo/packet/psn.h"
#include "dingo/packet/train.h"
#include "qp_math.h"

namespace dingo::model {

namespace syndrome = packet::syndrome;
using packet::Opcode;

namespace {

/// Returns the opcode for the next `packets` packets of the response.
Opcode response_opcode(const ReadResource& resource, std::uint32_t packets) {
    const bool first = resource.next == resource.start;
    const bool last = resource.next + packets == resource.stop;
    if (first)
        return last ? Opcode::kRcReadResponseOnly : Opcode::kRcReadResponseFirst;
    return last ? Opcode::kRcReadResponseLast : Opcode::kRcReadResponseMiddle;
}

}  // namespace

bool ReadResponses::has_slot(ResponderState& p) {
    if (p.resources.empty())
        return false;
    ReadResource& oldest = p.resources[p.resource_next];
    if (oldest.pending() && oldest.answered) {
        oldest.next = oldest.stop;
        --p.pending;
        pick_response(p);
    }
    return !oldest.pending();
}

ReadResource& ReadResponses::new_resource(ResponderState& p, const packet::Packet& packet) {
    ReadResource& resource = p.resources[p.resource_next];
    p.resource_next = (p.resource_next + 1) % static_cast<std::uint32_t>(p.resources.size());
    resource = {};
    resource.first_psn = packet.bth.psn;
    p.msn = packet::psn_add(p.msn, 1);
    resource.msn = p.msn;
    // A response acknowledges all requests before it.
    if (p.reply_pending && syndrome::is_ack(p.reply_syndrome))
        p.reply_pending = false;
    return resource;
}

void ReadResponses::resize(ResponderState& p, std::uint32_t slots) {
    const auto before = static_cast<std::uint32_t>(p.resources.size());
    if (slots == before)
        return;
    const std::uint32_t kept = std::min(before, slots);
    std::vector<ReadResource> resources(slots);
    p.pending = 0;
    for (std::uint32_t i = 0; i < kept; ++i) {  // the oldest of them first
        resources[i] = p.resources[(p.resource_next + before - kept + i) % before];
        p.pending += resources[i].pending() ? 1 : 0;
    }
    p.resources = std::move(resources);
    p.resource_next = kept < slots ? kept : 0;
    pick_response(p);
}

ReadResource* ReadResponses::find_resource(ResponderState& p, std::uint32_t psn) {
    // The newest first: an old request may have had the same PSNs, 2^24 packets ago.
    const auto slots = static_cast<std::uint32_t>(p.resources.size());
    for (std::uint32_t i = 1; i <= slots; ++i) {
        ReadResource& resource = p.resources[(p.resource_next + slots - i) % slots];
        if (((psn - resource.first_psn) & packet::kPsnMask) < resource.packets)
            return &resource;
    }
    return nullptr;
}

void ReadResponses::drop_all(ResponderState& p) {
    for (ReadResource& resource : p.resources)
        resource.next = resource.stop;
    p.pending = 0;
}

const ReadResource* ReadResponses::drop_behind(ResponderState& p, std::uint64_t done) {
    const ReadResource* last = nullptr;
    const auto slots = static_cast<std::uint32_t>(p.resources.size());
    for (std::uint32_t i = 0; i < slots; ++i) {
        ReadResource& resource = p.resources[(p.resource_next + i) % slots];  // oldest first
        if (!resource.pending())
            continue;
        if (resource.after <= done) {
            last = &resource;
        } else {
            resource.next = resource.stop;
            --p.pending;
        }
    }
    pick_response(p);
    return last;
}

void ReadResponses::start_response(QueuePair& qp, ReadResource& resource, std::uint32_t start,
                                   std::uint32_t stop, std::uint32_t end) {
    ResponderState& p = qp.transport->responder;
    if (!resource.pending())
        ++p.pending;
    resource.start = resource.next = start;
    resource.stop = stop;
    resource.end = end;
    resource.after = far_.begun(qp);
    resource.refused = false;
    pick_response(p);  // C9-110: an earlier response interrupts the current one
    scheduler_.add(qp);
}

void ReadResponses::pick_response(ResponderState& p) {
    const auto slots = static_cast<std::uint32_t>(p.resources.size());
    for (std::uint32_t i = 0; i < slots; ++i) {
        const std::uint32_t slot = (p.resource_next + i) % slots;  // oldest first
        if (p.resources[slot].pending()) {
            p.resource_now = slot;
            return;
        }
    }
}

Sent ReadResponses::send_response(QueuePair& qp) {
    ResponderState& p = qp.transport->responder;
    ReadResource& resource = p.resources[p.resource_now];
    if (!far_.is_done(qp, resource.after))
        return Sent::kNo;  // earlier requests have not reached memory yet
    packet::TransportHeaders headers;
    headers.bth.migreq = true;
    headers.bth.dest_qp = qp.attr.dest_qpn;
    headers.bth.psn = packet::psn_add(resource.first_psn, resource.next);
    headers.aeth = {syndrome::kAckNoCredits, resource.msn};
    const Sent sent = resource.atomic ? send_atomic_response(qp, resource, headers)
                                      : send_read_response(qp, resource, headers);
    if (sent != Sent::kYes)
        return sent;
    const bool whole = !resource.pending();
    far_.answered(qp, packet::psn_add(resource.first_psn, resource.next),
                  whole ? resource.msn : (resource.msn - 1) & packet::kPsnMask);
    if (whole) {
        resource.answered = true;
        if (--p.pending > 0)
            pick_response(p);
    }
    return sent;
}

Sent ReadResponses::send_atomic_response(QueuePair& qp, ReadResource& resource,
                                         packet::TransportHeaders& headers) {
    headers.bth.opcode = Opcode::kRcAtomicAck;
    headers.atomic_original = resource.original;
    if (!frame_.open(qp.transport->path, headers, 0))
        return Sent::kBusy;
    frame_.send(qp);
    ++resource.next;
    return Sent::kYes;
}

FarMemory::Access ReadResponses::fill(QueuePair& qp, const ReadResource& resource,
                                      const MemoryRange& range, std::uint64_t ahead) {
    const std::uint64_t message = message_of(resource.msn, resource.first_psn);
    if (range.length >= kReferredBytes) {
        if (const std::byte* const source = memory_.pointer(range)) {
            frame_.refer(source, true);  // concurrent changes were not fenced (10.8.3.3)
            return FarMemory::Access::kDone;
        }
        if (memory_.is_far(range)) {
            const auto access = far_.refer(qp, Half::kReceive, message, range, ahead, frame_);
            if (access)
                return *access;
        }
    }
    return range.length == 0
               ? FarMemory::Access::kDone
               : far_.read(qp, Half::kReceive, message, range, frame_.payload(), ahead);
}

Sent ReadResponses::send_read_response(QueuePair& qp, ReadResource& resource,
                                       packet::TransportHeaders& headers) {
    ResponderState& p = qp.transport->responder;
    const std::uint32_t pmtu = pmtu_bytes(qp);
    const std::uint32_t offset = resource.next * pmtu;
    // Only data that were not repeated may be sent as a train.
    std::uint32_t packets = 1;
    if (!resource.asked_again)
        packets =
            std::min<std::uint32_t>(resource.stop - resource.next, packet::kMaxTrainPayload / pmtu);
    const auto bytes_of = [&](std::uint32_t n) {
        return std::min(n * pmtu, resource.end - offset);
    };
    MemoryRange range;
    const KeyVerdict verdict = memory_.check(qp, resource.rkey, resource.va + offset,
                                             bytes_of(packets), DINGO_ACC_REMOTE_READ, range);
    if (verdict == KeyVerdict::kPaused) {
        if (!resource.refused &&
            ack_nak_.send_rnr(qp, headers.bth.psn, resource.msn - 1) == Sent::kBusy)
            return Sent::kBusy;
        resource.refused = true;
        deadlines_.pause_responses(qp);
        return Sent::kNo;
    }
    std::uint8_t fault = 0;
    if (verdict != KeyVerdict::kOk) {
        fault = syndrome::kNakRemoteAccess;
    } else {
        const auto headers_of = [&](std::uint32_t n) -> const packet::TransportHeaders& {
            headers.bth.opcode = response_opcode(resource, n);
            return headers;
        };
        packets = frame_.open_most(qp.transport->path, packets, headers_of, bytes_of);
        if (packets == 0)
            return Sent::kBusy;
        const std::uint32_t bytes = bytes_of(packets);
        range.length = bytes;
        switch (fill(qp, resource, range, resource.end - offset)) {
            case FarMemory::Access::kDone:
                break;
            case FarMemory::Access::kLater:
                frame_.cancel();
                return Sent::kNo;
            case FarMemory::Access::kError:
                frame_.cancel();
                fault = syndrome::kNakRemoteOperational;
                break;
        }
    }
    if (fault != 0) {  // the region was destroyed while being read
        drop_all(p);
        ack_nak_.nak_fatal(qp, fault, headers.bth.psn, DINGO_EV_QP_ACCESS_ERR);
        return Sent::kNo;
    }
    frame_.send(qp);
    resource.refused = false;
    resource.next += packets;
    return Sent::kYes;
}

}  // namespace dingo::model
