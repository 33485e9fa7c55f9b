// SPDX-License-Identifier: BSD-2-Clause
#include "far_settling.h"

#include <utility>

#include "dingo/packet/aeth.h"
#include "dingo/packet/psn.h"
#include "qp_math.h"

namespace dingo::model {

void FarSettling::run() {
    for (QueuePair* const qp : far_.take_moved()) {
        settle(*qp, Half::kSend);
        settle(*qp, Half::kReceive);
        FarState& far = *qp->transport->far;
        if (std::exchange(far.wants_turn, false))
            scheduler_.add(*qp);
        if (far.wants_room && far_.has_room(*qp)) {
            far.wants_room = false;
            retransmit_.ask_again(*qp);
        }
        if (far.wants_room || far.half(Half::kSend).holds() || far.half(Half::kReceive).holds())
            far_.wait(*qp);
    }
}

void FarSettling::settle(QueuePair& qp, Half half) {
    FarHalf& h = qp.transport->far->half(half);
    if (!h.holds())
        return;
    const FarMemory::Progress progress = far_.port()->progress(FarWork::stream(qp, half));
    h.done = progress.done;
    while (!h.effects.empty() && h.effects.front().after <= h.done) {
        const FarEffect effect = h.effects.front();
        h.effects.pop_front();
        h.completions -= effect.kind == FarEffect::Kind::kCompletion ? 1 : 0;
        tell(qp, half, effect);
    }
    if (progress.failed && !std::exchange(h.failed, true))
        fail(qp, half);
    if (half == Half::kSend)
        completions_.share_consumer(qp);
    send_queue_.check_drained(qp);
    scheduler_.add(qp);  // READ responses and fenced requests may be able to continue
}

void FarSettling::tell(QueuePair& qp, Half half, const FarEffect& effect) {
    ResponderState& p = qp.transport->responder;
    switch (effect.kind) {
        case FarEffect::Kind::kCompletion:
            completions_.post_held(qp, half, effect.entry);
            break;
        case FarEffect::Kind::kReply:
            // An ACK includes that packet; a NAK only those before it.
            qp.transport->far->half(half).first_psn =
                packet::psn_add(effect.psn, packet::syndrome::is_ack(effect.syndrome) ? 1 : 0);
            qp.transport->far->half(half).msn = effect.msn;
            ack_nak_.owe(qp, effect.syndrome, effect.psn, effect.msn);
            break;
        case FarEffect::Kind::kAtomic: {
            const std::uint64_t value = far_.port()->atomic_result(FarWork::stream(qp, half));
            ReadResource* const resource = ReadResponses::find_resource(p, effect.psn);
            if (resource && resource->atomic)
                resource->original = value;
            break;
        }
    }
}

bool FarSettling::fail_completions(QueuePair& qp, Half half) {
    FarHalf& h = qp.transport->far->half(half);
    bool failed = false;
    h.completions = 0;
    for (FarEffect& effect : std::exchange(h.effects, {})) {
        if (effect.kind != FarEffect::Kind::kCompletion)
            continue;
        if (effect.entry.status == DINGO_WCS_SUCCESS) {
            effect.entry.status = failed ? DINGO_WCS_WR_FLUSH_ERR : DINGO_WCS_LOC_PROT_ERR;
            effect.entry.vendor_err = failed ? DINGO_VERR_FLUSHED : DINGO_VERR_BUS;
            failed = true;
        }
        completions_.post_held(qp, half, effect.entry);
    }
    return failed;
}

void FarSettling::fail(QueuePair& qp, Half half) {
    FarHalf& h = qp.transport->far->half(half);
    card_.count(DINGO_CARD_DMA_ERRORS);
    const bool in_error = qp.state == QpState::kErr;
    const bool told = fail_completions(qp, half);
    const std::uint64_t made = std::exchange(h.done, h.posted);  // none of the others will complete
    if (in_error)
        return;
    if (half == Half::kSend) {
        if (told)
            errors_.enter_error(qp);
        else if (qp.transport->requester.records.empty())
            errors_.fail(qp);  // a READ without a completion
        else
            send_queue_.fail_front(qp, {DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_BUS});
        return;
    }
    if (!is_reliable(qp)) {
        errors_.fail(qp);
        return;
    }
    // READs before the fault have their responses, and the NAK follows those.
    if (const ReadResource* const last = ReadResponses::drop_behind(qp.transport->responder, made))
        h.comes_behind(packet::psn_add(last->first_psn, last->packets), last->msn);
    // executed requests whose data are not in place do not count
    qp.transport->responder.msn = h.msn;
    ack_nak_.nak_fatal(qp, packet::syndrome::kNakRemoteOperational, h.first_psn,
                       told ? std::uint8_t{0} : std::uint8_t{DINGO_EV_QP_FATAL});
}

}  // namespace dingo::model
