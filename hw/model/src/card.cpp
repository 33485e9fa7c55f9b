// SPDX-License-Identifier: BSD-2-Clause
#include "card.h"

#include <algorithm>

#include "capabilities.h"
#include "commands.h"
#include "dingo/model.h"
#include "dingo/packet/parse.h"
#include "dingo/packet/train.h"
#include "dingo/touch.h"

namespace dingo::model {
namespace {

// most commands in one run(): they are rare, and some take long
constexpr unsigned kAdminShare = 16;
// After a pause of this length between two run()s, work that was under way in the card is done
// first, but timers are not delayed by more than this number of run()s.
constexpr Nanoseconds kPause = 5'000'000;
constexpr unsigned kCatchesUp = 16;

}  // namespace

ModelEngine::ModelEngine(const EngineConfig& config, HostPort& host, WirePort& wire)
    : config_(config), loopback_(wire), card_{config_, host, wire, loopback_, 0, {}, {}, 0} {
    card_.random.seed(config_.seed);
    reset();
    resets_ = 0;  // power on does not count
}

void ModelEngine::reset() {
    card_.wire.gather();
    loopback_.set_port(nullptr);
    if (state_ != nullptr) {
        state_->port.groups.clear();
    }
    state_.reset();  // first, so that rings release what they are charged for
    card_.counters.fill(0);
    state_ = std::make_unique<CardState>(card_, static_cast<TransportHost&>(*this));
    state_->port.link = link_;
    state_->port.groups.set_wire(&card_.wire);
    state_->port.has_groups = (capabilities(config_) & DINGO_CAP_MCAST) != 0;
    state_->port.macs[0] = MacEntry{true, config_.mac & kBroadcastMac};
    state_->port.addresses_changed();
    loopback_.set_port(&state_->port);
    admin_ = AdminQueue{};
    push_pages_ = PushPages{};
    asq_base_ = 0;
    acq_base_ = 0;
    clock_high_ = 0;
    fatal_ = DINGO_FATAL_NONE;
    ++resets_;
}

void ModelEngine::set_link(bool up) {
    link_ = up;
    Port& port = state_->port;
    const bool was_up = port.up();
    port.link = up;
    if (port.up() != was_up && fatal_ == DINGO_FATAL_NONE) {
        state_->async.post(card_, was_up ? DINGO_EV_PORT_DOWN : DINGO_EV_PORT_UP, 1);
    }
}

void ModelEngine::memory_became_far(const std::function<bool(const std::byte*)>& there) {
    loopback_.lose_frames(there);
    state_->memory.look_for_far();
}

bool ModelEngine::send_posted(std::uint32_t qpn) {
    QueuePair* const qp = fatal_ == DINGO_FATAL_NONE ? state_->find_qp(qpn) : nullptr;
    const bool more = qp != nullptr && state_->transport.send_posted(*qp, Transport::kTurnBurst);
    loopback_.gather_frames();  // payloads are valid only during this call
    return more;
}

void ModelEngine::receive(std::span<const std::byte> frame) {
    take(frame, {}, true, 1);
}

bool ModelEngine::receive_without_icrc(std::span<const std::byte> frame, const Elsewhere& payload) {
    take(frame, payload, false, 1);
    return true;
}

bool ModelEngine::receive_train(std::span<const std::byte> frame, const Elsewhere& payload,
                                unsigned packets) {
    if (frame.size() < packet::kEthernetBytes || !state_->port.takes_roce(destination_of(frame))) {
        return false;  // for others, e.g. a capture, the train is split into packets
    }
    take(frame, payload, false, packets);
    return true;
}

void ModelEngine::take(std::span<const std::byte> frame, const Elsewhere& payload, bool has_icrc,
                       unsigned packets) {
    if (fatal_ != DINGO_FATAL_NONE) {
        return;
    }
    const Port& port = state_->port;
    if (!port.up()) {
        card_.count(DINGO_CARD_RX_PORT_DISABLED, packets);
        return;
    }
    packet::Packet packet;
    const packet::ParseResult verdict = packet::parse(frame, packet);
    if (verdict == packet::ParseResult::kNotRoce || verdict == packet::ParseResult::kRunt) {
        state_->ethernet.receive(frame);
        return;
    }
    const std::uint64_t mac = destination_of(frame);
    const bool to_group = verdict == packet::ParseResult::kRoce && port.takes_group(mac, packet);
    if (!to_group && !port.takes_roce(mac)) {
        state_->ethernet.receive(frame);  // for another host: only for promiscuous mode
        return;
    }
    if (verdict != packet::ParseResult::kRoce) {
        card_.count(verdict == packet::ParseResult::kUnknownOpcode ? DINGO_CARD_RX_DROP_OPCODE
                                                                   : DINGO_CARD_RX_DROP_MALFORMED);
        return;
    }
    if (packets > 1) {
        if (packet::train_pmtu(packet.payload.size(), packets) == 0 ||
            !packet::is_train_opcode(packet.op())) {
            card_.count(DINGO_CARD_RX_DROP_MALFORMED, packets);
            return;
        }
        packet.packets = static_cast<std::uint16_t>(packets);
    }
    if (packet::longest_wire_bytes(packet) > port.max_frame(packet.has_vlan)) {
        card_.count(DINGO_CARD_ETH_RX_TOO_LONG, packets);
    } else {
        if (payload.at != nullptr) {
            packet.payload = {payload.at, packet.payload.size()};
        }
        card_.received = {packet.payload, payload.held != nullptr ? &payload.held : nullptr};
        state_->transport.receive(packet, frame, has_icrc);
        card_.received = {};
    }
}

bool ModelEngine::run(Nanoseconds now, unsigned budget) {
    if (now >= card_.now + kPause) {
        catches_up_ = kCatchesUp;
    }
    card_.now = std::max(card_.now, now);
    if (fatal_ != DINGO_FATAL_NONE) {
        return false;
    }
    budget = std::max(budget, 1u);
    state_->moderation.begin_run();
    unsigned commands = 0;
    bool more = run_admin(std::min(budget, kAdminShare), commands);
    if (fatal_ != DINGO_FATAL_NONE) {
        return false;
    }
    // Each part gets a share of the budget in every call, so that none starves.
    budget = budget > commands ? budget - commands : 1;
    more = state_->ethernet.run(std::max(budget / 4, 1u)) || more;
    // An answer on its way in the loopback before a pause is not late.
    const bool behind = catches_up_ != 0 && (!loopback_.empty() || state_->transport.has_turns());
    catches_up_ = behind ? catches_up_ - 1 : 0;
    more = state_->transport.run(std::max(budget - budget / 4, 1u), !behind) || behind || more;
    more = run_loopback(budget) || more;
    return state_->moderation.end_run(budget) || more;
}

bool ModelEngine::run_loopback(unsigned budget) {
    const bool any = !loopback_.empty();
    while (!loopback_.empty() && budget-- > 0 && !should_leave()) {
        Loopback::Taken taken = loopback_.take();
        budget -= std::min(budget, taken.packets - 1);
        card_.looped = taken.share;
        take(taken.frame, {taken.payload.data(), std::move(taken.held)}, false, taken.packets);
    }
    card_.looped.reset();
    // Not from memory that holds the thread up; what takes it away gathers, too.
    if (!should_leave() || !card_.host.pointers_last()) {
        loopback_.gather_frames();
    }
    return any;  // a received frame may need an answer
}

Nanoseconds ModelEngine::next_deadline() const {
    if (fatal_ != DINGO_FATAL_NONE) {
        return kNever;
    }
    if (admin_.pending() && !admin_.held_since) {
        return card_.now;
    }
    const Nanoseconds admin = admin_.pending() ? admin_due_ : kNever;
    return std::min({admin, state_->ethernet.next_deadline(), state_->transport.next_deadline(),
                     state_->moderation.next_deadline()});
}

bool ModelEngine::run_admin(unsigned budget, unsigned& done) {
    while (admin_.pending() && done < budget) {
        ++done;
        AdminCommand command;
        if (!admin_.fetch(card_, command)) {
            fail(DINGO_FATAL_ADMIN_BUS);
            return false;
        }
        admin_due_ = held_until(command);
        if (admin_due_ > card_.now) {
            return false;
        }
        if (may_free_memory(command)) {
            card_.wire.gather();
            loopback_.gather_frames();
        }
        const AdminResult result = execute_command(*state_, command);
        if (!admin_.complete(card_, command, result)) {
            fail(DINGO_FATAL_ADMIN_BUS);
            return false;
        }
    }
    return admin_.pending();
}

Nanoseconds ModelEngine::held_until(const AdminCommand& command) {
    AdminFaults* const faults = config_.admin_faults;
    const std::uint16_t opcode = command.as<dingo_admin_hdr>().opcode;
    if (faults == nullptr || opcode >= faults->held.size() || faults->held[opcode] == 0) {
        admin_.held_since.reset();
        return 0;
    }
    if (!admin_.held_since) {
        admin_.held_since = card_.now;
        ++faults->met;
    }
    const Nanoseconds wait = faults->held[opcode];
    return wait < kNever - *admin_.held_since ? *admin_.held_since + wait : kNever;
}

void ModelEngine::fail(std::uint32_t reason) {
    fatal_ = reason;
    card_.wire.gather();  // the host may now unmap memory without a command
    state_->async.post(card_, DINGO_EV_DEVICE_FATAL, 0, reason);
    admin_.disable();
}

std::unique_ptr<Engine> make_model(const EngineConfig& config, HostPort& host, WirePort& wire) {
    return std::make_unique<ModelEngine>(config, host, wire);
}

void register_model_engine() {
    register_engine("model", make_model);
}

}  // namespace dingo::model
