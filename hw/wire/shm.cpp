// SPDX-License-Identifier: BSD-2-Clause
//
// The shm wire's options, construction, destruction and sleep.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "wire/factory.h"
#include "wire/shm_net.h"
#include "wire/shm_wire.h"

namespace dingo {
namespace {

/// Returns the value of an option of the wire: false for auto, true for `other`.
bool is_other(std::string_view option, std::string_view name, std::string_view other) {
    const std::string_view value = option.substr(name.size() + 1);
    if (value != "auto" && value != other)
        throw WireError(
            fmt::format("shm wire: '{}': {} is auto or {}; write "
                        "shm[:NET][,icrc=auto|on][,refs=auto|off]",
                        option, name, other));
    return value == other;
}

}  // namespace

ShmWire::ShmWire(std::string_view net, const ShmCard& own, LocalSegments* local)
    : net_(net), own_(own), local_(local) {
    join(shm_net_directory(net));
}

ShmWire::~ShmWire() {
    for (const auto& peer : peers_)
        if (peer->ready() && !peer->tx().local() && !peer->gone())
            gather_from(*peer, true);
    if (local_ != nullptr) {
        local_->remove(*this);
        const Gate::Hold hold(local_->gate());
        std::erase_if(peers_, [](const auto& peer) { return peer->fd() < 0; });
    }
    ::unlink(path_.c_str());
}

bool ShmWire::prepare_sleep() {
    bool quiet = true;
    for (const auto& peer : peers_) {
        if (!peer->ready() || !peer->met())
            continue;
        quiet &= peer->rx().arm() || peer->bad();
        quiet &= peer->lent_since == kNever || peer->keeps_lent || peer->tx().arm_lent();
        // Refused frames wait until there is room or the peer is given up on. This is reported
        // once, as the QP may be destroyed by then and would not ask for room again.
        if (peer->full_since == kNever || peer->stuck)
            continue;
        if (!peer->tx().arm()) {
            peer->full_since = kNever;
            quiet = false;
        } else if (now_ - peer->full_since >= patience()) {
            peer->give_up();
            quiet = false;
        }
    }
    sleeps_ = quiet;
    if (!quiet)
        woke();
    return quiet;
}

void ShmWire::woke() {
    for (const auto& peer : peers_) {
        if (!peer->ready())
            continue;
        peer->clear_kick();
        peer->rx().disarm();
        if (peer->full_since != kNever || peer->lent_since != kNever)
            peer->tx().disarm();
    }
    service_due_ = true;
    sleeps_ = false;
}

bool ShmWire::kicked() const {
    return std::any_of(peers_.begin(), peers_.end(), [](const auto& p) { return p->kicked(); });
}

std::string ShmWire::meeting_place() const {
    return own_.wants_icrc || !own_.references ? std::string() : path_.parent_path().string();
}

Nanoseconds ShmWire::next_deadline() const {
    Nanoseconds due = kNever;
    for (const auto& peer : peers_)
        if (peer->lent_since != kNever && !peer->keeps_lent)
            due = std::min(due, peer->lent_since + kLentPatience);
    for (const auto& peer : peers_)
        if (peer->full_since != kNever && !peer->stuck)
            due = std::min(due, peer->full_since + patience());
    if (held_len_ != 0 && ready_peers() > 1)
        due = std::min(due, held_since_ + hold_left_);
    return due;
}

std::string ShmWire::describe() const {
    return fmt::format("shm {} ({}){}{}", net_, path_.parent_path().string(),
                       own_.wants_icrc ? ", icrc=on" : "", own_.references ? "" : ", refs=off");
}

std::unique_ptr<Wire> make_shm_wire(std::string_view args, const WireOptions& options) {
    ShmCard own;
    own.mac = options.mac;
    for (std::size_t at; (at = args.rfind(',')) != args.npos; args = args.substr(0, at)) {
        const std::string_view option = args.substr(at + 1);
        if (option.starts_with("icrc="))
            own.wants_icrc = is_other(option, "icrc", "on");
        else if (option.starts_with("refs="))
            own.references = !is_other(option, "refs", "off");
        else
            break;  // part of the net's name
    }
    return std::make_unique<ShmWire>(args.empty() ? "default" : args, own, options.local);
}

}  // namespace dingo
