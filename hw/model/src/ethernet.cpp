// SPDX-License-Identifier: BSD-2-Clause
//
// Rings of the Ethernet function: creation, doorbells, transmit.
#include "ethernet.h"

#include <algorithm>

namespace dingo::model {

RingMemory::Result Ethernet::create(const dingo_cmd_create_eth& command) {
    auto ring = std::make_unique<EthernetRing>();
    ring->log_size = command.log_size;
    const auto result =
        ring->memory.attach(card_, command.mem, sizeof(dingo_eth_desc) << command.log_size);
    if (result != RingMemory::Result::kOk) {
        return result;
    }
    ring->cq = cqs_.find(command.cqn);
    ++ring->cq->users;
    (command.kind == DINGO_ETH_TX ? tx_ : rx_)[command.ring] = std::move(ring);
    return result;
}

void Ethernet::destroy(std::uint8_t kind, std::uint32_t ring) {
    std::unique_ptr<EthernetRing>& slot = (kind == DINGO_ETH_TX ? tx_ : rx_)[ring];
    --slot->cq->users;
    slot.reset();
}

EthernetRing* Ethernet::find(std::uint8_t kind, std::uint32_t ring) const noexcept {
    if (ring >= kEthRings || (kind != DINGO_ETH_TX && kind != DINGO_ETH_RX)) {
        return nullptr;
    }
    return (kind == DINGO_ETH_TX ? tx_ : rx_)[ring].get();
}

bool Ethernet::doorbell(std::uint8_t kind, std::uint32_t ring, std::uint32_t producer) {
    EthernetRing* target = find(kind, ring);
    if (target == nullptr) {
        return false;
    }
    const std::uint32_t held = producer - target->consumer;
    if (held > target->size() || held < target->available()) {
        return false;
    }
    target->producer = producer;
    return true;
}

bool Ethernet::run(unsigned budget) {
    retry_at_ = kNever;
    unsigned idle = 0;
    while (budget > 0 && idle < kEthRings) {
        const std::uint32_t number = next_tx_;
        next_tx_ = (next_tx_ + 1) % kEthRings;
        EthernetRing* ring = tx_[number].get();
        const Step step = ring == nullptr ? Step::kIdle : transmit(*ring, number);
        if (step == Step::kWireBusy) {
            card_.count(DINGO_CARD_WIRE_BUSY);
            retry_at_ = card_.now + kWireRetry;
            return false;
        }
        if (step == Step::kDone) {
            --budget;
            idle = 0;
        } else {
            ++idle;
        }
    }
    return idle < kEthRings;
}

bool Ethernet::fetch(EthernetRing& ring, std::uint32_t index, dingo_eth_desc& descriptor) {
    const std::uint64_t slot = index & (ring.size() - 1);
    return ring.memory.read(card_, slot * sizeof descriptor,
                            std::as_writable_bytes(std::span(&descriptor, 1)));
}

bool Ethernet::is_good(const dingo_eth_desc& descriptor, const Pieces& before) const {
    constexpr std::uint8_t kEop = DINGO_ETH_DESC_FLAGS_EOP_MASK;
    constexpr std::uint8_t kCsum = DINGO_ETH_DESC_FLAGS_CSUM_MASK;
    constexpr std::uint8_t kTso = DINGO_ETH_DESC_FLAGS_TSO_MASK;
    const std::uint8_t offload = descriptor.flags & (kCsum | kTso);
    const bool first = before.count == 0;
    const bool tso = first ? (offload & kTso) != 0 : before.has(kTso);
    const std::uint32_t longest = tso ? DINGO_MAX_TSO : DINGO_MAX_FRAME;
    if (descriptor.length < 1 || descriptor.length > longest ||
        (descriptor.flags & ~(kEop | kCsum | kTso)) != 0) {
        return false;
    }
    if (offload == 0) {
        return descriptor.start == 0 && descriptor.arg == 0;
    }
    return first && offloads_ && offload != (kCsum | kTso);
}

bool Ethernet::find_frame(EthernetRing& ring, Pieces& pieces) {
    const std::uint32_t limit = std::min(Pieces::kMost, ring.size());
    while (pieces.count < std::min(limit, ring.available())) {
        dingo_eth_desc& descriptor = pieces.at[pieces.count];
        if (!fetch(ring, ring.consumer + pieces.count, descriptor)) {
            ring.stopped = true;
            card_.count(DINGO_CARD_ETH_TX_ERRORS);
            return false;
        }
        pieces.good = is_good(descriptor, pieces) && pieces.good;
        ++pieces.count;
        pieces.length += descriptor.length;
        if ((descriptor.flags & DINGO_ETH_DESC_FLAGS_EOP_MASK) != 0) {
            return true;
        }
    }
    pieces.good = false;  // more pieces than the limit, or than the ring holds: refused
    return pieces.count == limit;
}

Ethernet::Step Ethernet::transmit(EthernetRing& ring, std::uint32_t number) {
    if (ring.segmentation && ring.segmentation->under_way()) {
        return send_segment(ring, number);
    }
    Pieces pieces;
    if (ring.stopped || ring.available() == 0 || !find_frame(ring, pieces)) {
        return Step::kIdle;
    }
    const bool tso = pieces.has(DINGO_ETH_DESC_FLAGS_TSO_MASK);
    const std::uint64_t longest = tso ? DINGO_MAX_TSO : port_.max_frame(true);
    if (!pieces.good || pieces.length < packet::kEthernetBytes || pieces.length > longest ||
        !port_.up()) {
        sent(ring, number, pieces.count, 0, false);
        return Step::kDone;
    }
    return tso ? begin_segments(ring, number, pieces) : send_frame(ring, number, pieces);
}

bool Ethernet::gather(const Pieces& pieces, std::span<std::byte> room) {
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < pieces.count; ++i) {
        if (!card_.dma_read(pieces.at[i].addr, room.subspan(at, pieces.at[i].length))) {
            return false;
        }
        at += pieces.at[i].length;
    }
    return true;
}

Ethernet::Step Ethernet::send_frame(EthernetRing& ring, std::uint32_t number,
                                    const Pieces& pieces) {
    std::span<std::byte> room = card_.loopback.begin_frame(pieces.length);
    if (room.size() < pieces.length) {
        if (!room.empty()) {
            card_.loopback.end_frame(0);
        }
        return Step::kWireBusy;
    }
    room = room.first(pieces.length);
    bool good = gather(pieces, room);
    good = good && room.size() <= port_.max_frame(packet::load_be16(room.data() + 12) ==
                                                  packet::kEtherTypeVlan);
    if (good && pieces.has(DINGO_ETH_DESC_FLAGS_CSUM_MASK)) {
        good = fill_in_checksum(room, pieces.start(), pieces.at[0].arg);
    }
    card_.loopback.end_frame(good ? room.size() : 0);
    if (good) {
        count_sent(room.size());
    }
    sent(ring, number, pieces.count, pieces.length, good);
    return Step::kDone;
}

Ethernet::Step Ethernet::begin_segments(EthernetRing& ring, std::uint32_t number,
                                        const Pieces& pieces) {
    if (!ring.segmentation) {
        ring.segmentation = std::make_unique<Segmentation>();
    }
    Segmentation& cut = *ring.segmentation;
    if (!gather(pieces, cut.begin(pieces.length)) ||
        !cut.accept(pieces.start(), pieces.at[0].arg)) {
        sent(ring, number, pieces.count, 0, false);
        return Step::kDone;
    }
    ring.segmented_pieces = pieces.count;
    ring.segmented_length = pieces.length;
    return send_segment(ring, number);
}

Ethernet::Step Ethernet::send_segment(EthernetRing& ring, std::uint32_t number) {
    Segmentation& cut = *ring.segmentation;
    const std::size_t bytes = cut.next_bytes();
    if (!port_.up() || bytes > port_.max_frame(cut.tagged())) {
        cut.end();
        sent(ring, number, ring.segmented_pieces, 0, false);
        return Step::kDone;
    }
    const std::span<std::byte> room = card_.loopback.begin_frame(bytes);
    if (room.size() < bytes) {
        if (!room.empty()) {
            card_.loopback.end_frame(0);
        }
        return Step::kWireBusy;
    }
    cut.next(room);
    card_.loopback.end_frame(bytes);
    count_sent(bytes);
    if (!cut.under_way()) {
        sent(ring, number, ring.segmented_pieces, ring.segmented_length, true);
    }
    return Step::kDone;
}

void Ethernet::count_sent(std::uint64_t bytes) {
    card_.count(DINGO_CARD_ETH_TX_PACKETS);
    card_.count(DINGO_CARD_ETH_TX_BYTES, bytes);
}

void Ethernet::sent(EthernetRing& ring, std::uint32_t number, std::uint32_t pieces,
                    std::uint64_t length, bool good) {
    dingo_cqe entry{};
    ring.consumer += pieces;
    entry.wqe_index = ring.consumer - 1;
    if (good) {
        entry.byte_len = static_cast<std::uint32_t>(length);
    } else {
        card_.count(DINGO_CARD_ETH_TX_ERRORS);
        entry.status = DINGO_WCS_LOC_QP_OP_ERR;
    }
    entry.qpn_op = DINGO_PREP(DINGO_CQE_QPN_OP_OPCODE_MASK, DINGO_WC_ETH_TX);
    complete(ring, number, entry);
}

void Ethernet::complete(EthernetRing& ring, std::uint32_t number, dingo_cqe entry) {
    entry.qpn_op |= DINGO_PREP(DINGO_CQE_QPN_OP_QPN_MASK, number);
    if (!ring.cq->post(card_, entry)) {
        ring.stopped = true;
    }
}

}  // namespace dingo::model
