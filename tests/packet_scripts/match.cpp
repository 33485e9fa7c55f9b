// SPDX-License-Identifier: BSD-2-Clause
#include "match.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <vector>

#include "dingo/packet/icrc.h"
#include "dingo/packet/text.h"
#include "script.h"

namespace dingo::wire {
namespace {

using packet::Packet;
using packet::ParseResult;

constexpr std::array<std::string_view, 5> kFlags = {"se", "migreq", "fecn", "becn", "ackreq"};

/// key=value words and flags of a canonical line.
std::map<std::string, std::string> fields_of(const std::string& text) {
    std::map<std::string, std::string> fields;
    std::istringstream in(text);
    std::string word;
    in >> word;
    fields["opcode name"] = word;
    while (in >> word) {
        const auto equals = word.find('=');
        fields[word.substr(0, equals)] =
            equals == std::string::npos ? "set" : word.substr(equals + 1);
    }
    return fields;
}

/// What the line says of the network part, in the words of to_text(Packet).
std::map<std::string, std::string> network_fields(const packet::TextPacket& want) {
    std::map<std::string, std::string> fields;
    const auto put = [&](const char* key, const auto& value, const char* format) {
        if (value)
            fields[key] = fmt::format(fmt::runtime(format), *value);
    };
    if (want.src)
        fields["src"] = packet::to_string(*want.src);
    if (want.dst)
        fields["dst"] = packet::to_string(*want.dst);
    if (want.smac)
        fields["smac"] = packet::to_string(*want.smac);
    if (want.dmac)
        fields["dmac"] = packet::to_string(*want.dmac);
    put("vlan", want.vlan_tci, "{:#x}");
    put("dscp", want.dscp, "{}");
    put("ecn", want.ecn, "{}");
    put("ttl", want.hop_limit, "{}");
    put("flow", want.flow_label, "{:#x}");
    put("sport", want.udp_sport, "{}");
    put("ipid", want.ip_id, "{:#x}");
    return fields;
}

struct Expected {
    packet::TextPacket packet;
    std::vector<std::string> keys;    ///< words that the line has
    std::vector<std::string> absent;  ///< !flags
    bool any_payload = false;
};

Expected read_expected(std::string_view line) {
    Expected expected;
    std::istringstream in{std::string(line)};
    std::string text, word;
    while (in >> word) {
        if (word.starts_with('!')) {
            expected.absent.push_back(word.substr(1));
            if (std::ranges::find(kFlags, expected.absent.back()) == kFlags.end())
                throw ScriptError(fmt::format("'{}' is no flag", word));
            continue;
        }
        if (word == "payload=any") {
            expected.any_payload = true;
            continue;
        }
        if (!text.empty())
            expected.keys.push_back(word.substr(0, word.find('=')));
        text += (text.empty() ? "" : " ") + word;
    }
    std::string error;
    auto packet = packet::parse_text(text, error);
    if (!packet)
        throw ScriptError(error);
    expected.packet = std::move(*packet);
    return expected;
}

std::string payload_mismatch(std::span<const std::byte> got, std::span<const std::byte> want) {
    if (got.size() != want.size())
        return fmt::format("payload has {} bytes, expected {}", got.size(), want.size());
    const auto at = std::ranges::mismatch(got, want);
    if (at.in1 == got.end())
        return {};
    return fmt::format("payload byte {} is {:#04x}, expected {:#04x}", at.in1 - got.begin(),
                       std::to_integer<unsigned>(*at.in1), std::to_integer<unsigned>(*at.in2));
}

std::string path_mismatch(const Packet& got, const packet::NetworkPath& path,
                          const packet::TextPacket& want) {
    if (!want.src && got.sgid != path.sgid)
        return fmt::format("source address is {}, expected {}", to_string(got.sgid),
                           to_string(path.sgid));
    if (!want.dst && got.dgid != path.dgid)
        return fmt::format("destination address is {}, expected {}", to_string(got.dgid),
                           to_string(path.dgid));
    if (!want.smac && got.smac != path.smac)
        return fmt::format("source MAC is {}, expected {}", to_string(got.smac),
                           to_string(path.smac));
    if (!want.dmac && got.dmac != path.dmac)
        return fmt::format("destination MAC is {}, expected {}", to_string(got.dmac),
                           to_string(path.dmac));
    if (!want.vlan_tci && got.has_vlan != path.has_vlan)
        return got.has_vlan ? "an unexpected VLAN tag" : "the VLAN tag is missing";
    return {};
}

}  // namespace

std::string describe(std::span<const std::byte> frame) {
    Packet packet;
    const ParseResult result = packet::parse(frame, packet);
    if (result != ParseResult::kRoce)
        return fmt::format("a frame of {} bytes that is '{}'", frame.size(),
                           packet::to_string(result));
    return packet::to_text(packet);
}

std::string mismatch(std::span<const std::byte> frame, std::string_view line,
                     const packet::NetworkPath& path) {
    const Expected expected = read_expected(line);
    const packet::TextPacket& want = expected.packet;
    Packet got;
    if (const ParseResult result = packet::parse(frame, got); result != ParseResult::kRoce)
        return fmt::format("not a RoCE packet: {}", packet::to_string(result));
    if (!packet::icrc_check(frame, got))
        return "the ICRC is wrong";

    auto got_fields = fields_of(packet::to_text(got));
    auto want_fields = fields_of(packet::to_text(want, want.payload));
    want_fields.merge(network_fields(want));
    if (got_fields["opcode name"] != want_fields["opcode name"])
        return fmt::format("opcode is {}, expected {}", got_fields["opcode name"],
                           want_fields["opcode name"]);
    for (const std::string& key : expected.keys) {
        if (key == "payload")
            continue;
        const auto value = [&](auto& fields) -> std::string {
            const auto it = fields.find(key);
            return it == fields.end() ? "absent" : it->second;
        };
        if (value(got_fields) != value(want_fields))
            return fmt::format("{} is {}, expected {}", key, value(got_fields), value(want_fields));
    }
    for (const std::string& flag : expected.absent)
        if (got_fields.contains(flag))
            return fmt::format("{} is set", flag);
    if (std::string text = path_mismatch(got, path, want); !text.empty())
        return text;
    return expected.any_payload ? std::string{} : payload_mismatch(got.payload, want.payload);
}

}  // namespace dingo::wire
