// SPDX-License-Identifier: BSD-2-Clause
//
// Reproducible fault injection on the wire.
//
// A specification is a list of rules, separated by `;`. A rule is an action and its selectors:
//
//     drop:p=1%                                    one frame in a hundred
//     corrupt:qpn=0x11,psn=5..9,once               the first frame to that QP with such a PSN
//     delay:us=200,opcode=rc_ack                   every ACK, 200 microseconds late
//     drop:opcode=rc_read_response_*,nth=3         the third of these
//     ecn:p=0.1 ; drop:dir=rx,type=other,p=5%
//
// Rules with no more than a probability may be separated by commas:
//
//     drop=1%,reorder=1%,corrupt=0.1%
//
// Actions
//   drop       the frame is lost
//   duplicate  it arrives twice, the copy right behind
//   reorder    it is overtaken: held back until by=N (default 3) later frames have passed, or for
//              us=T (default 1000) if they do not come
//   corrupt    bits=N (default 1) different bits are flipped in where=:
//                l4       (default) behind the IP header, except where the ICRC does not look
//                         (UDP checksum, BTH byte 4): the receiver must notice. IP frames only
//                eth      the type and VLAN tags, after the MAC addresses     ip   the IP header
//                bth      the base transport header (but byte 4)              icrc the ICRC
//                payload  between BTH and ICRC, extension headers included
//                any      everything after the MAC addresses
//              The IP header checksum is not repaired. A frame without that part is no match
//   delay      it arrives us=T or ms=T later (there is no default), plus up to jitter_us=T;
//              frames without delay overtake it
//   ecn        the ECN field of its IP header becomes CE (11), whatever it was before; the IPv4
//              header checksum stays right. IP frames only
//
// Selectors: a frame must match all of them
//   p=P           probability, 0..1 or with %; without it: always
//   dir=tx|rx|both  default tx: what the engine sends
//   type=any|roce|other  default any, or roce where qpn, psn or opcode is given
//   qpn=LIST      destination QP in the BTH. A LIST is values and ranges: 0x11, 5..9, 2+5..9
//   psn=LIST      PSN in the BTH; a range may wrap: 0xfffffe..3
//   opcode=LIST   names or numbers, `*` and `?` match in names: rc_ack, rc_write_*, rc_ack+0x81.
//                 Names are those of dingo/packet/opcodes.h, in any case; rdma_ may be left out,
//                 and ack stands for acknowledge
//   nth=LIST      only those of the frames that match everything above (p excepted): 1 is the first
//   every=N       only each N-th of them
//   count=N       at most N times; `once` is count=1
//
// Numbers are decimal or 0x hexadecimal. Rules are applied in order; each examines the frame as it
// arrived. If several match, all act; a dropped frame is not passed to later rules. A frame is held
// once, for the longest time. Each rule has a random sequence per direction, seeded by the seed and
// the rule's position in the list: the same frames in a direction meet the same faults.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dingo/engine.h"

namespace dingo {

enum class FaultAction : std::uint8_t { kDrop, kDuplicate, kReorder, kCorrupt, kDelay, kEcn };
enum class FaultPart : std::uint8_t { kL4, kEth, kIp, kBth, kPayload, kIcrc, kAny };
enum class FaultType : std::uint8_t { kAny, kRoce, kOther };

/// first..last, inclusive; wraps if first > last.
struct FaultRange {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    [[nodiscard]] bool contains(std::uint64_t value) const {
        return first <= last ? value >= first && value <= last : value >= first || value <= last;
    }
};

/// One rule of a specification.
struct FaultRule {
    FaultAction action = FaultAction::kDrop;
    double probability = 1.0;
    bool tx = true;
    bool rx = false;
    FaultType type = FaultType::kAny;
    std::vector<FaultRange> qpn;  // empty lists match every frame
    std::vector<FaultRange> psn;
    std::vector<FaultRange> nth;
    bool any_opcode = true;
    std::bitset<256> opcodes;
    std::uint64_t every = 1;
    std::uint64_t count = ~std::uint64_t{0};
    FaultPart part = FaultPart::kL4;
    unsigned bits = 1;
    unsigned by = 3;
    Nanoseconds time = 0;  // delay, or the time limit of reorder
    Nanoseconds jitter = 0;
    std::string text;  // the rule's text
};

/// Parses a specification; "" gives no rules. Throws WireError that quotes the offending word,
/// shows its position and says what is allowed there.
std::vector<FaultRule> parse_faults(std::string_view spec);

}  // namespace dingo
