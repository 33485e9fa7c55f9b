// SPDX-License-Identifier: BSD-2-Clause
//
// Parses lines of packet scripts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "dingo/packet/aeth.h"
#include "dingo/packet/text.h"

namespace dingo::packet {
namespace {

constexpr std::size_t kMaxPayload = 65535;  // limit of an IP datagram
constexpr std::uint64_t k2Bits = 0x3;
constexpr std::uint64_t k4Bits = 0xf;
constexpr std::uint64_t k5Bits = 0x1f;
constexpr std::uint64_t k6Bits = 0x3f;
constexpr std::uint64_t k8Bits = 0xff;
constexpr std::uint64_t k16Bits = 0xffff;
constexpr std::uint64_t k20Bits = 0xf'ffff;
constexpr std::uint64_t k24Bits = 0xff'ffff;
constexpr std::uint64_t k32Bits = 0xffff'ffff;
constexpr std::uint64_t k64Bits = std::numeric_limits<std::uint64_t>::max();

struct Flag {
    std::string_view word;
    void (*set)(TextPacket&);
};

constexpr std::array kFlags = {
    Flag{"se", [](TextPacket& p) { p.bth.solicited = true; }},
    Flag{"migreq", [](TextPacket& p) { p.bth.migreq = true; }},
    Flag{"fecn", [](TextPacket& p) { p.bth.fecn = true; }},
    Flag{"becn", [](TextPacket& p) { p.bth.becn = true; }},
    Flag{"ackreq", [](TextPacket& p) { p.bth.ack_req = true; }},
    Flag{"badicrc", [](TextPacket& p) { p.bad_icrc = true; }},
};

/// A key with a number: its maximum and the extension headers that have the field (0: any packet;
/// several bits: any of them).
struct Number {
    std::string_view key;
    std::uint64_t max;
    std::uint8_t extension;
    void (*set)(TextPacket&, std::uint64_t);
};

template <auto Member>
constexpr void set_optional(TextPacket& p, std::uint64_t v) {
    using Value = typename std::remove_reference_t<decltype(p.*Member)>::value_type;
    p.*Member = static_cast<Value>(v);
}

using U8 = std::uint8_t;
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

constexpr std::array kNumbers = {
    Number{"qpn", k24Bits, 0, [](TextPacket& p, U64 v) { p.bth.dest_qp = static_cast<U32>(v); }},
    Number{"psn", k24Bits, 0, [](TextPacket& p, U64 v) { p.bth.psn = static_cast<U32>(v); }},
    Number{"pkey", k16Bits, 0, [](TextPacket& p, U64 v) { p.bth.pkey = static_cast<U16>(v); }},
    Number{"tver", k4Bits, 0, [](TextPacket& p, U64 v) { p.bth.tver = static_cast<U8>(v); }},
    Number{"pad", k2Bits, 0, set_optional<&TextPacket::pad_override>},
    Number{"opcode", k8Bits, 0, set_optional<&TextPacket::opcode_override>},
    Number{"qkey", k32Bits, ext::kDeth,
           [](TextPacket& p, U64 v) { p.deth.qkey = static_cast<U32>(v); }},
    Number{"srcqp", k24Bits, ext::kDeth,
           [](TextPacket& p, U64 v) { p.deth.src_qp = static_cast<U32>(v); }},
    Number{"va", k64Bits, ext::kReth | ext::kAtomicEth,
           [](TextPacket& p, U64 v) {
               (traits(p.bth.opcode).has_reth() ? p.reth.va : p.atomic_eth.va) = v;
           }},
    Number{"rkey", k32Bits, ext::kReth | ext::kAtomicEth,
           [](TextPacket& p, U64 v) {
               (traits(p.bth.opcode).has_reth() ? p.reth.rkey : p.atomic_eth.rkey) =
                   static_cast<U32>(v);
           }},
    Number{"len", k32Bits, ext::kReth,
           [](TextPacket& p, U64 v) { p.reth.length = static_cast<U32>(v); }},
    Number{"add", k64Bits, ext::kAtomicEth,
           [](TextPacket& p, U64 v) { p.atomic_eth.swap_add = v; }},
    Number{"swap", k64Bits, ext::kAtomicEth,
           [](TextPacket& p, U64 v) { p.atomic_eth.swap_add = v; }},
    Number{"compare", k64Bits, ext::kAtomicEth,
           [](TextPacket& p, U64 v) { p.atomic_eth.compare = v; }},
    Number{"msn", k24Bits, ext::kAeth,
           [](TextPacket& p, U64 v) { p.aeth.msn = static_cast<U32>(v); }},
    Number{"orig", k64Bits, ext::kAtomicAckEth,
           [](TextPacket& p, U64 v) { p.atomic_original = v; }},
    Number{"imm", k32Bits, ext::kImm, [](TextPacket& p, U64 v) { p.imm = static_cast<U32>(v); }},
    Number{"inv", k32Bits, ext::kIeth,
           [](TextPacket& p, U64 v) { p.inv_rkey = static_cast<U32>(v); }},
    Number{"vlan", k16Bits, 0, set_optional<&TextPacket::vlan_tci>},
    Number{"dscp", k6Bits, 0, set_optional<&TextPacket::dscp>},
    Number{"ecn", k2Bits, 0, set_optional<&TextPacket::ecn>},
    Number{"ttl", k8Bits, 0, set_optional<&TextPacket::hop_limit>},
    Number{"flow", k20Bits, 0, set_optional<&TextPacket::flow_label>},
    Number{"sport", k16Bits, 0, set_optional<&TextPacket::udp_sport>},
    Number{"ipid", k16Bits, 0, set_optional<&TextPacket::ip_id>},
};

bool read_number(std::string_view text, std::uint64_t max, std::uint64_t& value) {
    int base = 10;
    if (text.starts_with("0x") || text.starts_with("0X")) {
        base = 16;
        text.remove_prefix(2);
    }
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value, base);
    return error == std::errc() && stop == end && value <= max;
}

bool read_hex(std::string_view text, std::vector<std::byte>& bytes) {
    if (text.size() % 2 != 0 || text.size() / 2 > kMaxPayload)
        return false;
    bytes.resize(text.size() / 2);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const char* const p = text.data() + 2 * i;
        std::uint8_t value = 0;
        if (const auto [stop, error] = std::from_chars(p, p + 2, value, 16);
            error != std::errc() || stop != p + 2)
            return false;
        bytes[i] = static_cast<std::byte>(value);
    }
    return true;
}

bool read_pattern(std::string_view text, std::vector<std::byte>& bytes) {
    std::uint64_t count = 0;
    std::uint64_t offset = 0;
    if (const auto at = text.find('@'); at != std::string_view::npos) {
        if (!read_number(text.substr(at + 1), k64Bits - kMaxPayload, offset))
            return false;
        text = text.substr(0, at);
    }
    if (!read_number(text, kMaxPayload, count))
        return false;
    bytes.resize(count);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = pattern_byte(offset + i);
    return true;
}

bool read_payload(std::string_view text, std::vector<std::byte>& bytes) {
    const auto colon = text.find(':');
    if (colon == std::string_view::npos)
        return read_pattern(text, bytes);
    const std::string_view kind = text.substr(0, colon);
    const std::string_view rest = text.substr(colon + 1);
    if (kind == "hex")
        return read_hex(rest, bytes);
    if (kind == "pattern")
        return read_pattern(rest, bytes);
    std::uint64_t count = 0;
    if (kind != "zero" || !read_number(rest, kMaxPayload, count))
        return false;
    bytes.assign(count, std::byte{0});
    return true;
}

bool read_syndrome(std::string_view text, std::uint8_t& out) {
    struct Named {
        std::string_view name;
        std::uint8_t value;
    };
    static constexpr std::array<Named, 6> kNames = {{
        {"ack", syndrome::kAckNoCredits},
        {"nak:psn", syndrome::kNakPsnSequence},
        {"nak:invreq", syndrome::kNakInvalidRequest},
        {"nak:access", syndrome::kNakRemoteAccess},
        {"nak:op", syndrome::kNakRemoteOperational},
        {"nak:invrd", syndrome::kNakInvalidRdRequest},
    }};
    for (const Named& named : kNames)
        if (text == named.name) {
            out = named.value;
            return true;
        }
    std::uint8_t kind = 0;
    std::uint64_t max = k8Bits;
    if (text.starts_with("ack:") || text.starts_with("rnr:")) {
        kind = text[0] == 'a' ? syndrome::kAck : syndrome::kRnr;
        max = k5Bits;
        text.remove_prefix(4);
    }
    std::uint64_t value = 0;
    if (!read_number(text, max, value))
        return false;
    out = static_cast<std::uint8_t>(kind | value);
    return true;
}

/// Reads keys whose value is not a number. Returns false if the key is not one of them; a value
/// that cannot be parsed sets `bad`.
bool read_other(std::string_view key, std::string_view value, TextPacket& packet, bool& bad) {
    if (key == "payload")
        bad = !read_payload(value, packet.payload);
    else if (key == "syndrome")
        bad = !read_syndrome(value, packet.aeth.syndrome);
    else if (key == "src")
        bad = !(packet.src = parse_gid(value));
    else if (key == "dst")
        bad = !(packet.dst = parse_gid(value));
    else if (key == "smac")
        bad = !(packet.smac = parse_mac(value));
    else if (key == "dmac")
        bad = !(packet.dmac = parse_mac(value));
    else
        return false;
    return true;
}

/// Applies one word. Returns an error, or "".
std::string apply_word(std::string_view word, TextPacket& packet) {
    const OpcodeTraits& op = traits(packet.bth.opcode);
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) {
        const auto flag = std::find_if(kFlags.begin(), kFlags.end(),
                                       [&](const Flag& f) { return f.word == word; });
        if (flag == kFlags.end())
            return fmt::format("unknown flag '{}'", word);
        flag->set(packet);
        return {};
    }

    const std::string_view key = word.substr(0, equals);
    const std::string_view text = word.substr(equals + 1);
    if (key == "syndrome" && !op.has_aeth())
        return fmt::format("'{}' has no field '{}'", op.name, key);
    bool bad = false;
    if (!read_other(key, text, packet, bad)) {
        const auto number = std::find_if(kNumbers.begin(), kNumbers.end(),
                                         [&](const Number& n) { return n.key == key; });
        if (number == kNumbers.end())
            return fmt::format("unknown key '{}'", key);
        if (number->extension != 0 && !op.has(number->extension))
            return fmt::format("'{}' has no field '{}'", op.name, key);
        std::uint64_t value = 0;
        bad = !read_number(text, number->max, value);
        if (!bad)
            number->set(packet, value);
    }
    return bad ? fmt::format("bad value '{}' for '{}'", text, key) : std::string{};
}

/// Removes the next word from `line` and returns it; empty at the end.
std::string_view next_word(std::string_view& line) {
    constexpr std::string_view kBlanks = " \t\r\n";
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
    line.remove_prefix(word.size());
    return word;
}

}  // namespace

std::optional<TextPacket> parse_text(std::string_view line, std::string& error) {
    TextPacket packet;
    const std::string_view name = next_word(line);
    const auto opcode = opcode_from_name(name);
    if (!opcode) {
        error = fmt::format("unknown opcode '{}'", name);
        return std::nullopt;
    }
    packet.bth.opcode = *opcode;

    std::vector<std::string_view> seen;
    for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
        const std::string_view key = word.substr(0, word.find('='));
        if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
            error = fmt::format("'{}' is given twice", key);
            return std::nullopt;
        }
        seen.push_back(key);
        error = apply_word(word, packet);
        if (!error.empty())
            return std::nullopt;
    }
    error.clear();
    return packet;
}

}  // namespace dingo::packet
