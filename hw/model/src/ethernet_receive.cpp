// SPDX-License-Identifier: BSD-2-Clause
//
// The receive side of the Ethernet function: filter, ring by hash, descriptor, completion.
#include <cstring>

#include "ethernet.h"

namespace dingo::model {
namespace {

std::uint16_t load_be16(const std::byte* p) noexcept {
    return static_cast<std::uint16_t>(std::to_integer<unsigned>(p[0]) << 8 |
                                      std::to_integer<unsigned>(p[1]));
}

/// FNV-1a spreads flows well, needs no key, and gives the same result in every run.
std::uint32_t hash_bytes(std::uint32_t hash, std::span<const std::byte> bytes) noexcept {
    for (const std::byte b : bytes) {
        hash = (hash ^ std::to_integer<std::uint32_t>(b)) * 16777619u;
    }
    return hash;
}

/// Hash of IP addresses and, for TCP and UDP without fragmentation, ports. 0 for everything else,
/// so that what is not IP stays in order on one ring.
std::uint32_t flow_hash(std::span<const std::byte> frame) noexcept {
    std::size_t l3 = kEthernetHeader;
    std::uint16_t type = load_be16(frame.data() + 12);
    if (type == 0x8100 && frame.size() >= l3 + 4) {
        type = load_be16(frame.data() + 16);
        l3 += 4;
    }
    std::size_t l4 = 0;
    std::byte protocol{};
    std::uint32_t hash = 2166136261u;
    if (type == 0x0800 && frame.size() >= l3 + 20) {
        hash = hash_bytes(hash, frame.subspan(l3 + 12, 8));
        const bool fragment = (load_be16(frame.data() + l3 + 6) & 0x3fff) != 0;
        protocol = frame[l3 + 9];
        l4 = fragment ? 0 : l3 + 4 * (std::to_integer<std::size_t>(frame[l3]) & 0xf);
    } else if (type == 0x86dd && frame.size() >= l3 + 40) {
        hash = hash_bytes(hash, frame.subspan(l3 + 8, 32));
        protocol = frame[l3 + 6];
        l4 = l3 + 40;
    } else {
        return 0;
    }
    const bool has_ports = protocol == std::byte{6} || protocol == std::byte{17};
    if (l4 != 0 && has_ports && frame.size() >= l4 + 4) {
        hash = hash_bytes(hash, frame.subspan(l4, 4));
    }
    return hash ^ hash >> 16;
}

}  // namespace

EthernetRing* Ethernet::pick_rx(std::span<const std::byte> frame, std::uint32_t& number) {
    std::array<std::uint32_t, kEthRings> usable;
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < kEthRings; ++i) {
        if (rx_[i] && !rx_[i]->stopped) {
            usable[count++] = i;
        }
    }
    if (count == 0) {
        return nullptr;
    }
    number = usable[count == 1 ? 0 : flow_hash(frame) % count];
    return rx_[number].get();
}

void Ethernet::receive(std::span<const std::byte> frame) {
    if (frame.size() < kEthernetHeader) {
        card_.count(DINGO_CARD_ETH_RX_TOO_SHORT);
        return;
    }
    const std::uint64_t mac = destination_of(frame);
    const bool wanted = port_.promiscuous || mac == kBroadcastMac || port_.in_mac_table(mac) ||
                        (port_.all_multicast && is_multicast(mac));
    if (!wanted) {
        card_.count(DINGO_CARD_ETH_RX_FILTERED);
        return;
    }
    if (frame.size() > port_.max_frame(load_be16(frame.data() + 12) == 0x8100)) {
        card_.count(DINGO_CARD_ETH_RX_TOO_LONG);
        return;
    }
    std::uint32_t number = 0;
    EthernetRing* ring = pick_rx(frame, number);
    if (ring == nullptr || ring->available() == 0) {
        card_.count(DINGO_CARD_ETH_RX_NO_BUFFER);
        return;
    }
    dingo_eth_desc descriptor;
    if (!fetch(*ring, ring->consumer, descriptor)) {
        ring->stopped = true;
        card_.count(DINGO_CARD_ETH_RX_NO_BUFFER);
        return;
    }
    dingo_cqe entry{};
    entry.wqe_index = ring->consumer;
    entry.qpn_op = DINGO_PREP(DINGO_CQE_QPN_OP_OPCODE_MASK, DINGO_WC_ETH_RX);
    const bool good = descriptor.length >= 1 && descriptor.length <= DINGO_MAX_FRAME &&
                      descriptor.flags == 0 &&
                      std::memcmp(descriptor.rsvd, "\0\0\0", sizeof descriptor.rsvd) == 0;
    if (good && descriptor.length < frame.size()) {
        card_.count(DINGO_CARD_ETH_RX_TOO_LONG);  // the buffer stays for a frame that fits
        return;
    }
    ++ring->consumer;
    if (!good || !card_.dma_write(descriptor.addr, frame)) {
        card_.count(DINGO_CARD_ETH_RX_NO_BUFFER);
        entry.status = DINGO_WCS_LOC_QP_OP_ERR;  // the driver learns which descriptor was wrong
        complete(*ring, number, entry);
        return;
    }
    card_.count(DINGO_CARD_ETH_RX_PACKETS);
    card_.count(DINGO_CARD_ETH_RX_BYTES, frame.size());
    if (is_multicast(mac)) {
        card_.count(DINGO_CARD_ETH_RX_MULTICAST);
    }
    entry.byte_len = static_cast<std::uint32_t>(frame.size());
    complete(*ring, number, entry);
}

}  // namespace dingo::model
