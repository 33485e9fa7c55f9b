// SPDX-License-Identifier: BSD-2-Clause
#include "dingo/packet/icrc.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "crc_copy.h"

namespace dingo::packet {
namespace {

/// CRC-32 (IEEE, reflected) of bytes 0xff, one bit at a time; for constants only.
constexpr std::uint32_t crc_of_ones(std::size_t bytes) noexcept {
    constexpr std::uint32_t kPolynomial = 0xedb88320;
    std::uint32_t crc = ~0U;
    for (std::size_t i = 0; i < bytes; ++i) {
        crc ^= 0xff;
        for (int bit = 0; bit < 8; ++bit)
            crc = crc >> 1 ^ ((crc & 1) != 0 ? kPolynomial : 0);
    }
    return ~crc;
}

/// Each ICRC begins with the eight bytes that stand for the LRH.
constexpr std::uint32_t kCrcOfDummyLrh = crc_of_ones(8);

constexpr std::byte kOnes{0xff};

/// Length from which ISA-L uses its vectorised loop; 256 bytes take it less time than 100 without.
constexpr std::size_t kVectorBytes = 256;
/// Up to this length the short loop is as fast.
constexpr std::size_t kShortBytes = 72;

void mask_ipv4(std::byte* p) noexcept {
    p[Ipv4Header::kTosOffset] = kOnes;
    p[Ipv4Header::kTtlOffset] = kOnes;
    std::memset(p + Ipv4Header::kChecksumOffset, 0xff, 2);
}

void mask_ipv6(std::byte* p) noexcept {
    store_be32(p, load_be32(p) | Ipv6Header::TrafficClass::kMask | Ipv6Header::FlowLabel::kMask);
    p[Ipv6Header::kHopLimitOffset] = kOnes;
}

void mask_transport(std::byte* udp) noexcept {
    std::memset(udp + UdpHeader::kChecksumOffset, 0xff, 2);
    udp[kUdpBytes + Bth::kResv8aOffset] = kOnes;
}

/// ISA-L leaves the upper halves of the vector registers dirty, which makes each later SSE
/// instruction slow on Intel: 250 ns per packet (Xeon, measured).
void clear_upper_halves() noexcept {
#if defined(__x86_64__)
    static const bool has_avx = __builtin_cpu_supports("avx") != 0;
    if (has_avx)
        asm volatile("vzeroupper");
#endif
}

std::uint32_t crc32(std::uint32_t seed, const std::byte* p, std::size_t n) noexcept {
    const std::uint32_t crc = crc32_gzip_refl(seed, reinterpret_cast<const unsigned char*>(p), n);
    clear_upper_halves();
    return crc;
}

/// Copies the first `n` bytes of a packet and sets the masked fields to ones.
template <std::size_t IpBytes>
void copy_masked(std::byte* to, const std::byte* from, std::size_t n) noexcept {
    std::memcpy(to, from, n);
    if constexpr (IpBytes == kIpv4Bytes)
        mask_ipv4(to);
    else
        mask_ipv6(to);
    mask_transport(to + IpBytes);
}

/// ICRC of a packet of at most kVectorBytes, moved to the end of a zeroed block. Leading zeros do
/// not change a CRC register of zero; the register after the dummy LRH is XORed into the first four
/// bytes.
template <std::size_t IpBytes>
std::uint32_t icrc_in_block(std::span<const std::byte> packet) noexcept {
    alignas(64) std::array<std::byte, kVectorBytes> block{};
    std::byte* const copy = block.data() + kVectorBytes - packet.size();
    copy_masked<IpBytes>(copy, packet.data(), packet.size());
    store_le32(copy, load_le32(copy) ^ ~kCrcOfDummyLrh);
    constexpr std::uint32_t kZeroRegister = ~0U;
    return crc32(kZeroRegister, block.data(), block.size());
}

template <std::size_t IpBytes>
std::uint32_t icrc_with(std::span<const std::byte> packet) noexcept {
    if (packet.size() > kShortBytes && packet.size() <= kVectorBytes)
        return icrc_in_block<IpBytes>(packet);
    constexpr std::size_t kMaskedBytes = IpBytes + kUdpBytes + kBthBytes;
    alignas(64) std::array<std::byte, std::max(kShortBytes, kMaskedBytes)> copy;
    const bool whole = packet.size() <= kShortBytes;
    const std::size_t copied = whole ? packet.size() : kMaskedBytes;
    copy_masked<IpBytes>(copy.data(), packet.data(), copied);
    const std::uint32_t crc = crc32(kCrcOfDummyLrh, copy.data(), copied);
    if (whole)
        return crc;
    return crc32(crc, packet.data() + copied, packet.size() - copied);
}

}  // namespace

std::uint32_t icrc(std::span<const std::byte> packet, L3Kind l3) noexcept {
    return l3 == L3Kind::kIpv4 ? icrc_with<kIpv4Bytes>(packet) : icrc_with<kIpv6Bytes>(packet);
}

bool icrc_check(std::span<const std::byte> frame, const Packet& packet) noexcept {
    const auto covered = frame.subspan(packet.l3_offset, packet.icrc_offset - packet.l3_offset);
    return load_le32(frame.data() + packet.icrc_offset) == icrc(covered, packet.l3);
}

void icrc_append(std::span<std::byte> frame, std::size_t l3_offset, L3Kind l3) noexcept {
    const std::size_t icrc_offset = frame.size() - kIcrcBytes;
    const auto covered = frame.subspan(l3_offset, icrc_offset - l3_offset);
    store_le32(frame.data() + icrc_offset, icrc(covered, l3));
}

void icrc_append_copying(std::span<std::byte> frame, std::size_t l3_offset, L3Kind l3,
                         std::span<std::byte> payload, const std::byte* source) noexcept {
    if (payload.size() < kCrcCopyBytes || !can_crc_copy()) {
        std::memcpy(payload.data(), source, payload.size());
        icrc_append(frame, l3_offset, l3);
        return;
    }
    // The buffer holds the headers of the longest packet: IPv6, UDP, BTH, AtomicETH.
    alignas(64) std::array<std::byte, 128> headers;
    const std::byte* const l3_at = frame.data() + l3_offset;
    const auto header_bytes = static_cast<std::size_t>(payload.data() - l3_at);
    if (l3 == L3Kind::kIpv4)
        copy_masked<kIpv4Bytes>(headers.data(), l3_at, header_bytes);
    else
        copy_masked<kIpv6Bytes>(headers.data(), l3_at, header_bytes);
    std::uint32_t crc = crc32(kCrcOfDummyLrh, headers.data(), header_bytes);

    const std::size_t whole = payload.size() / kCrcCopyBytes * kCrcCopyBytes;
    crc = crc_copy(crc, payload.data(), source, whole);
    std::byte* const rest = payload.data() + whole;
    std::memcpy(rest, source + whole, payload.size() - whole);
    std::byte* const end = frame.data() + frame.size() - kIcrcBytes;
    if (rest != end)
        crc = crc32(crc, rest, static_cast<std::size_t>(end - rest));
    store_le32(end, crc);
}

}  // namespace dingo::packet
