// SPDX-License-Identifier: BSD-2-Clause
//
// The receive side of the Ethernet function: filter, ring by hash, descriptor, completion.
#include "ethernet.h"

namespace dingo::model {

EthernetRing* Ethernet::pick_rx(const FrameHeaders& headers, std::span<const std::byte> frame,
                                std::uint32_t& number, dingo_cqe& entry) {
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
    if (!rss_.enabled()) {
        number = usable[count == 1 ? 0 : flow_hash(headers, frame) % count];
        return rx_[number].get();
    }
    number = usable[0];
    if (headers.ip != FrameHeaders::Ip::kNone) {
        const auto hash = rss_.hash(headers, frame);
        const std::uint8_t ring = rss_.ring(hash);
        number = rx_[ring] && !rx_[ring]->stopped ? ring : number;
        entry.src_qpn = hash.value;
        entry.flags |= hash.has_ports ? DINGO_CQE_FLAGS_HASH_L4_MASK : 0;
    }
    return rx_[number].get();
}

void Ethernet::receive(std::span<const std::byte> frame) {
    if (frame.size() < packet::kEthernetBytes) {
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
    if (frame.size() >
        port_.max_frame(packet::load_be16(frame.data() + 12) == packet::kEtherTypeVlan)) {
        card_.count(DINGO_CARD_ETH_RX_TOO_LONG);
        return;
    }
    const FrameHeaders headers = headers_of(frame);
    std::uint32_t number = 0;
    dingo_cqe entry{};
    EthernetRing* ring = pick_rx(headers, frame, number, entry);
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
    entry.wqe_index = ring->consumer;
    entry.qpn_op = DINGO_PREP(DINGO_CQE_QPN_OP_OPCODE_MASK, DINGO_WC_ETH_RX);
    const bool good = descriptor.length >= 1 && descriptor.length <= DINGO_MAX_FRAME &&
                      descriptor.flags == 0 && descriptor.start == 0 && descriptor.arg == 0;
    if (good && descriptor.length < frame.size()) {
        card_.count(DINGO_CARD_ETH_RX_TOO_LONG);  // the buffer is kept for a frame that fits
        return;
    }
    ++ring->consumer;
    if (!good || !card_.dma_write(descriptor.addr, frame)) {
        card_.count(DINGO_CARD_ETH_RX_NO_BUFFER);
        entry.status = DINGO_WCS_LOC_QP_OP_ERR;  // tells the driver which descriptor was wrong
        complete(*ring, number, entry);
        return;
    }
    card_.count(DINGO_CARD_ETH_RX_PACKETS);
    card_.count(DINGO_CARD_ETH_RX_BYTES, frame.size());
    if (is_multicast(mac)) {
        card_.count(DINGO_CARD_ETH_RX_MULTICAST);
    }
    entry.byte_len = static_cast<std::uint32_t>(frame.size());
    if (offloads_ && checksums_are_right(headers, frame)) {
        entry.flags |= DINGO_CQE_FLAGS_CSUM_OK_MASK;
    }
    complete(*ring, number, entry);
}

}  // namespace dingo::model
