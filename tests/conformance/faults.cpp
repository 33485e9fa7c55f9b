// SPDX-License-Identifier: BSD-2-Clause
#include "faults.h"

#include <algorithm>

#include "dingo/packet/text.h"

namespace dingo::conformance {

WireFaults::WireFaults(test::TwoCards& cards) : cards_(cards) {
    cards_.link.hook = [this](test::Frame& frame) { return hook(frame); };
}

void WireFaults::add(Fault fault, Match match, Nanoseconds delay) {
    rules_.push_back({fault, std::move(match), delay});
}

void WireFaults::add_random(const RandomFaults& faults) {
    random_ = faults;
    generator_.seed(faults.seed);
}

bool WireFaults::matches(const Match& match, const test::Frame& frame,
                         const packet::Packet& packet) {
    return (!match.from || *match.from == frame.from) &&
           (!match.opcode || *match.opcode == packet.bth.opcode) &&
           (!match.psn || *match.psn == packet.bth.psn) && (!match.kind || match.kind(packet.op()));
}

bool WireFaults::hook(test::Frame& frame) {
    ++frames;
    packet::Packet packet;
    if (packet::parse(frame.bytes, packet) != packet::ParseResult::kRoce)
        return true;
    bool pass = true;
    for (Rule& rule : rules_) {
        if (!pass || rule.match.count == 0 || !matches(rule.match, frame, packet))
            continue;
        if (rule.match.skip > 0) {
            --rule.match.skip;
            continue;
        }
        --rule.match.count;
        pass = apply(rule.fault, frame, rule.delay);
    }
    if (!random_ || !pass)
        return pass;
    const auto chance = [&](double p) {
        return p > 0 && std::uniform_real_distribution<double>()(generator_) < p;
    };
    constexpr Nanoseconds kLate = 3'000;
    if (chance(random_->drop))
        return apply(Fault::kDrop, frame, 0);
    if (chance(random_->corrupt))
        pass = apply(Fault::kCorrupt, frame, 0);
    if (chance(random_->duplicate))
        pass = apply(Fault::kDuplicate, frame, kLate) && pass;
    if (chance(random_->reorder))
        pass = apply(Fault::kDelay, frame, 1 + generator_() % kLate) && pass;
    return pass;
}

bool WireFaults::apply(Fault fault, test::Frame& frame, Nanoseconds delay) {
    ++injured;
    switch (fault) {
        case Fault::kDrop:
            return false;
        case Fault::kDuplicate: {
            test::Frame copy = frame;
            copy.delay += delay;
            cards_.link.inject(std::move(copy), cards_.now());
            return true;
        }
        case Fault::kDelay:
            frame.delay += delay;
            return true;
        case Fault::kCorrupt: {
            // After the headers below the BTH, so that the ICRC must detect it.
            constexpr std::size_t kIpVersion = 14;
            const bool ipv6 = std::to_integer<unsigned>(frame.bytes[kIpVersion]) >> 4 == 6;
            const std::size_t bth = kIpVersion + (ipv6 ? 40 : 20) + 8;
            const std::size_t at = bth + generator_() % (frame.bytes.size() - bth);
            frame.bytes[at] ^= static_cast<std::byte>(1u << (generator_() % 8));
            return true;
        }
    }
    return true;
}

FrameLog::FrameLog(test::TwoCards& cards) {
    cards.link.tap = [this](const test::Frame& frame) {
        packet::Packet packet;
        if (packet::parse(frame.bytes, packet) != packet::ParseResult::kRoce) {
            lines_.push_back(std::to_string(frame.from) + " not RoCE");
            return;
        }
        opcodes_.emplace_back(frame.from, packet.bth.opcode);
        lines_.push_back(std::to_string(frame.from) + " " + packet::to_text(packet));
    };
}

unsigned FrameLog::count(unsigned from, packet::Opcode opcode) const {
    return static_cast<unsigned>(std::ranges::count(opcodes_, std::pair(from, opcode)));
}

}  // namespace dingo::conformance
