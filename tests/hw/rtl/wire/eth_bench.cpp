// SPDX-License-Identifier: BSD-2-Clause
#include "eth_bench.h"

namespace dingo::rtl {

/// Writes the descriptors of a random frame and expects what must become of it.
void EthernetBench::put_tx_frame() {
    const unsigned kind = random() % 12;
    unsigned pieces = 1 + (chance(40) ? random() % 6 : 0);
    std::size_t total = 14 + random() % 1500;
    if (kind == 0) {
        total = mtu + 10 + random() % 12;  // near the maximum frame length
    } else if (kind == 1) {
        total = 1 + random() % 20;  // near the minimum frame length
        pieces = std::min<unsigned>(pieces, static_cast<unsigned>(total));
    } else if (kind == 2) {
        pieces = 64 - random() % 3;
        total = pieces + random() % 1000;
    }
    const bool endless = kind == 3 && (1u << log[kTx][number]) >= 64;
    if (endless) {
        pieces = 64;
        total = 640;
    }
    const unsigned spoil = kind == 4 ? random() % pieces : ~0u;
    const unsigned refused = kind == 5 ? random() % pieces : ~0u;
    const bool tag = chance(50);
    Frame frame;
    bool good = up && !endless;
    bool read_error = false;
    for (unsigned i = 0; i < pieces; ++i) {
        const std::size_t left = total - frame.size();
        const std::size_t n = i + 1 == pieces
                                  ? left
                                  : std::max<std::size_t>(1, random() % (left - (pieces - 1 - i)) %
                                                                 (2 * total / pieces + 1));
        std::uint64_t addr = take(n);
        if (i == 0 && n >= 14 && tag) {
            *memory.at(addr + 12) = 0x81;
            *memory.at(addr + 13) = 0x00;
        }
        const auto* from = reinterpret_cast<const std::byte*>(memory.at(addr));
        frame.insert(frame.end(), from, from + n);
        if (i == refused) {
            addr = memory.base() - 8192;
            read_error = true;
        }
        const bool last = i + 1 == pieces && !endless;
        std::uint32_t length = static_cast<std::uint32_t>(n);
        unsigned flags = last ? 1 : 0, reserved = 0;
        if (i == spoil) {
            good = false;
            switch (random() % 4) {
                case 0:
                    length = 0;
                    break;
                case 1:
                    length = DINGO_MAX_FRAME + 1;
                    break;
                case 2:
                    flags |= 2u << random() % 7;
                    break;
                default:
                    reserved = 1u << random() % 24;
                    break;
            }
        }
        put(kTx, addr, length, flags, reserved);
    }
    good = good && total >= 14 && total <= mtu + 18;
    if (good) {
        const bool tagged = frame[12] == std::byte{0x81} && frame[13] == std::byte{0};
        good = !read_error && total <= mtu + 14 + (tagged ? 4 : 0);
        expected_out.push_back({frame, !good});
    }
    expected_done[kTx].push_back(
        {producer[kTx][number] - 1, good ? static_cast<std::uint32_t>(total) : 0,
         static_cast<unsigned>(good ? DINGO_WCS_SUCCESS : DINGO_WCS_LOC_QP_OP_ERR), number});
    if (good) {
        ++expected_card[DINGO_CARD_ETH_TX_PACKETS];
        expected_card[DINGO_CARD_ETH_TX_BYTES] += total;
    } else {
        ++expected_card[DINGO_CARD_ETH_TX_ERRORS];
    }
}

/// Appends a frame to the input and expects what must become of it.
void EthernetBench::receive(const Frame& frame, unsigned to, const Flow& flow) {
    input.push_back(frame);
    if (frame.size() < 14) {
        ++expected_card[DINGO_CARD_ETH_RX_TOO_SHORT];
        return;
    }
    packet::Mac mac;
    std::memcpy(mac.bytes.data(), frame.data(), 6);
    if (!promiscuous && mac.to_u64() != 0xffffffffffff && !addresses.in_table(mac) &&
        !(all_multicast && mac.is_multicast())) {
        ++expected_card[DINGO_CARD_ETH_RX_FILTERED];
        return;
    }
    const bool tagged = frame[12] == std::byte{0x81} && frame[13] == std::byte{0};
    if (frame.size() > mtu + 14 + (tagged ? 4 : 0)) {
        ++expected_card[DINGO_CARD_ETH_RX_TOO_LONG];
        return;
    }
    if (posted[to].empty()) {
        ++expected_card[DINGO_CARD_ETH_RX_NO_BUFFER];
        return;
    }
    const Buffer b = posted[to].front();
    if (b.good && b.length < frame.size()) {
        ++expected_card[DINGO_CARD_ETH_RX_TOO_LONG];
        return;
    }
    posted[to].pop_front();
    const std::uint32_t index = consumer[kRx][to]++;
    if (!b.good || !memory.holds(b.addr, frame.size())) {
        ++expected_card[DINGO_CARD_ETH_RX_NO_BUFFER];
        expected_done[kRx].push_back(
            {index, 0, DINGO_WCS_LOC_QP_OP_ERR, to, flow.hash, flow.ports});
        return;
    }
    ++expected_card[DINGO_CARD_ETH_RX_PACKETS];
    expected_card[DINGO_CARD_ETH_RX_BYTES] += frame.size();
    expected_card[DINGO_CARD_ETH_RX_MULTICAST] += mac.is_multicast();
    expected_done[kRx].push_back({index, static_cast<std::uint32_t>(frame.size()),
                                  DINGO_WCS_SUCCESS, to, flow.hash, flow.ports});
    stored.push_back({b.addr, frame});
}

}  // namespace dingo::rtl
