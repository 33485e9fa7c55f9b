// SPDX-License-Identifier: BSD-2-Clause
//
// Random packets, and an ICRC implemented from the text of annex A17 with zlib and literal offsets:
// shares nothing with the code under test.
#pragma once

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "dingo/packet/build.h"
#include "dingo/packet/headers.h"
#include "dingo/packet/opcodes.h"
#include "dingo/packet/parse.h"

namespace dingo::packet::test {

using Random = std::mt19937_64;

inline std::uint32_t oracle_icrc(std::span<const std::byte> packet, L3Kind l3) {
    std::vector<unsigned char> bytes(8, 0xff);
    for (std::byte b : packet)
        bytes.push_back(std::to_integer<unsigned char>(b));
    unsigned char* const p = bytes.data() + 8;
    if (l3 == L3Kind::kIpv4) {
        for (int offset : {1, 8, 10, 11, 26, 27, 32})
            p[offset] = 0xff;
    } else {
        p[0] |= 0x0f;
        for (int offset : {1, 2, 3, 7, 46, 47, 52})
            p[offset] = 0xff;
    }
    return static_cast<std::uint32_t>(::crc32(0, bytes.data(), static_cast<uInt>(bytes.size())));
}

inline std::vector<Opcode> all_opcodes() {
    std::vector<Opcode> all;
    for (int i = 0; i < 256; ++i)
        if (traits(static_cast<Opcode>(i)).known())
            all.push_back(static_cast<Opcode>(i));
    return all;
}

template <typename T>
T random_value(Random& random) {
    return static_cast<T>(random());
}

/// Returns a path with random fields, except the group bits of the MAC addresses.
inline NetworkPath random_path(Random& random, L3Kind l3, bool vlan) {
    NetworkPath path;
    path.dmac = Mac::from_u64(random() & 0xfeff'ffff'ffff);
    path.smac = Mac::from_u64(random() & 0xfeff'ffff'ffff);
    path.has_vlan = vlan;
    path.vlan_tci = vlan ? random_value<std::uint16_t>(random) : 0;
    path.l3 = l3;
    if (l3 == L3Kind::kIpv4) {
        path.sgid = Gid::from_ipv4(random_value<std::uint32_t>(random));
        path.dgid = Gid::from_ipv4(random_value<std::uint32_t>(random));
    } else {
        for (auto* gid : {&path.sgid, &path.dgid})
            for (auto& byte : gid->bytes)
                byte = random_value<std::uint8_t>(random);
        path.flow_label = random() & 0xf'ffff;
    }
    path.dscp = random() & 0x3f;
    path.ecn = random() & 0x3;
    path.hop_limit = random_value<std::uint8_t>(random);
    path.udp_sport = random_value<std::uint16_t>(random);
    return path;
}

/// Returns headers with random values in all fields that the opcode has, zero in others, and the
/// right pad count.
inline TransportHeaders random_headers(Random& random, Opcode opcode, std::size_t payload_bytes) {
    TransportHeaders h;
    h.bth.opcode = opcode;
    h.bth.solicited = random() & 1;
    h.bth.migreq = random() & 1;
    h.bth.pad = pad_for(payload_bytes);
    h.bth.pkey = random_value<std::uint16_t>(random);
    h.bth.fecn = random() & 1;
    h.bth.becn = random() & 1;
    h.bth.ack_req = random() & 1;
    h.bth.dest_qp = random() & 0xff'ffff;
    h.bth.psn = random() & 0xff'ffff;
    const OpcodeTraits& op = traits(opcode);
    if (op.has_deth())
        h.deth = {random_value<std::uint32_t>(random),
                  static_cast<std::uint32_t>(random() & 0xff'ffff)};
    if (op.has_reth())
        h.reth = {random(), random_value<std::uint32_t>(random),
                  random_value<std::uint32_t>(random)};
    if (op.has_atomic_eth())
        h.atomic_eth = {random(), random_value<std::uint32_t>(random), random(), random()};
    if (op.has_aeth())
        h.aeth = {random_value<std::uint8_t>(random),
                  static_cast<std::uint32_t>(random() & 0xff'ffff)};
    if (op.has_atomic_ack_eth())
        h.atomic_original = random();
    if (op.has_imm())
        h.imm = random_value<std::uint32_t>(random);
    if (op.has_ieth())
        h.inv_rkey = random_value<std::uint32_t>(random);
    return h;
}

/// Returns a complete frame in a buffer of exactly its size, so that AddressSanitizer detects
/// overruns.
inline std::vector<std::byte> make_frame(const NetworkPath& path, const TransportHeaders& headers,
                                         std::span<const std::byte> payload,
                                         std::uint16_t ip_id = 0) {
    const HeaderTemplate headers_template(path);
    std::vector<std::byte> frame(headers_template.frame_bytes(headers.bth.opcode, payload.size()));
    FrameBuilder builder;
    if (!builder.begin(headers_template, headers, payload.size(), ip_id, frame))
        return {};
    std::copy(payload.begin(), payload.end(), builder.payload().begin());
    builder.finish();
    return frame;
}

inline std::vector<std::byte> random_bytes(Random& random, std::size_t n) {
    std::vector<std::byte> bytes(n);
    for (std::byte& b : bytes)
        b = random_value<std::byte>(random);
    return bytes;
}

/// Recomputes the IPv4 header checksum from its definition.
inline void refresh_ipv4_checksum(std::byte* ip) {
    ip[10] = ip[11] = std::byte{0};
    std::uint32_t sum = 0;
    for (int i = 0; i < 20; i += 2)
        sum +=
            std::to_integer<std::uint32_t>(ip[i]) << 8 | std::to_integer<std::uint32_t>(ip[i + 1]);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    store_be16(ip + 10, static_cast<std::uint16_t>(~sum));
}

/// Calls `check(l3, vlan)` for the four kinds of path.
template <typename Check>
void for_each_path_kind(Check check) {
    for (L3Kind l3 : {L3Kind::kIpv4, L3Kind::kIpv6})
        for (bool vlan : {false, true})
            check(l3, vlan);
}

#ifdef __SANITIZE_ADDRESS__
inline constexpr int kManyPackets = 100'000;
#else
inline constexpr int kManyPackets = 200'000;
#endif

}  // namespace dingo::packet::test
