// SPDX-License-Identifier: BSD-2-Clause
//
// Payloads that stay in clients' memory (docs/reference/shm-references.md): limits of lending, and
// taking them back.
#include <algorithm>
#include <utility>

#include "wire/shm_wire.h"

namespace dingo {

void ShmWire::gather() {
    for (const auto& peer : peers_) {
        if (!peer->ready() || !peer->tx().has_references() || peer->gone())
            continue;
        // Two cards that read each other's frames would wait for each other.
        if (reads_ && !peer->tx().local()) {
            gather_due_ = !peer->gather_unread() || gather_due_;
            continue;
        }
        gather_from(*peer, false);
        any_gone_ |= peer->gone();
    }
}

bool ShmWire::holds_enough() {
    if (target_ == nullptr || target_->tx().local() || !may_refer(*target_) ||
        !target_->tx().lends_enough())
        return false;
    any_wait_ = true;
    target_->lent_since = std::min(target_->lent_since, now_);
    return !target_->keeps_lent;
}

bool ShmWire::has_let_go() {
    bool any = false;
    if (!std::exchange(any_wait_, false))
        return false;
    for (const auto& peer : peers_) {
        if (peer->lent_since == kNever)
            continue;
        const bool more = peer->tx().lends_enough();
        const bool keeps = more && now_ - peer->lent_since >= kLentPatience;
        any |= !more || keeps != peer->keeps_lent;
        peer->keeps_lent = keeps;
        peer->lent_since = more ? peer->lent_since : kNever;
        any_wait_ |= more;
    }
    return any;
}

bool ShmWire::may_refer(const ShmPeer& peer) const {
    return peer.takes_references() && patience_.trusts(peer, now_);
}

void ShmWire::gather_from(ShmPeer& peer, bool all) {
    peer.gather(patience_.most(now_), all);
    patience_.waited(peer.tx().take_waited());
    if (peer.bad())
        patience_.cut_one_off(now_);
}

}  // namespace dingo
