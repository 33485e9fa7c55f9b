// SPDX-License-Identifier: BSD-2-Clause
//
// Rings of the Ethernet function: creation, doorbells, transmit.
#include "ethernet.h"

#include <cstring>

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

Ethernet::Step Ethernet::transmit(EthernetRing& ring, std::uint32_t number) {
    if (ring.stopped || ring.available() == 0) {
        return Step::kIdle;
    }
    // First pass: find the end of the frame and check it; nothing is consumed before that.
    constexpr std::uint32_t kMaxPieces = 64;
    std::array<dingo_eth_desc, kMaxPieces> pieces;
    const std::uint32_t limit = std::min(kMaxPieces, ring.size());
    std::uint32_t count = 0;
    std::uint64_t length = 0;
    bool good = true;
    bool complete_frame = false;
    while (!complete_frame && count < std::min(limit, ring.available())) {
        dingo_eth_desc descriptor;
        if (!fetch(ring, ring.consumer + count, descriptor)) {
            ring.stopped = true;
            card_.count(DINGO_CARD_ETH_TX_ERRORS);
            return Step::kIdle;
        }
        good = good && descriptor.length >= 1 && descriptor.length <= DINGO_MAX_FRAME &&
               (descriptor.flags & ~DINGO_ETH_DESC_FLAGS_EOP_MASK) == 0 &&
               std::memcmp(descriptor.rsvd, "\0\0\0", sizeof descriptor.rsvd) == 0;
        pieces[count++] = descriptor;
        length += descriptor.length;
        complete_frame = (descriptor.flags & DINGO_ETH_DESC_FLAGS_EOP_MASK) != 0;
    }
    if (!complete_frame) {
        if (count < limit) {
            return Step::kIdle;  // the rest of the frame has not been rung yet
        }
        good = false;  // a frame of more pieces than this, or than the ring holds, is refused
    }
    good = good && length >= kEthernetHeader && length <= port_.max_frame(true) && port_.up();

    if (good) {
        std::span<std::byte> room = card_.loopback.begin_frame(length);
        if (room.size() < length) {
            if (!room.empty()) {
                card_.loopback.end_frame(0);
            }
            return Step::kWireBusy;
        }
        std::size_t at = 0;
        for (std::uint32_t i = 0; i < count && good; ++i) {
            good = card_.dma_read(pieces[i].addr, room.subspan(at, pieces[i].length));
            at += pieces[i].length;
        }
        const bool tagged = good && room[12] == std::byte{0x81} && room[13] == std::byte{0x00};
        good = good && length <= port_.max_frame(tagged);
        card_.loopback.end_frame(good ? length : 0);
    }
    const std::uint32_t last = ring.consumer + count - 1;
    ring.consumer += count;
    if (good) {
        card_.count(DINGO_CARD_ETH_TX_PACKETS);
        card_.count(DINGO_CARD_ETH_TX_BYTES, length);
    } else {
        card_.count(DINGO_CARD_ETH_TX_ERRORS);
    }
    dingo_cqe entry{};
    entry.wqe_index = last;
    entry.byte_len = good ? static_cast<std::uint32_t>(length) : 0;
    entry.status = good ? DINGO_WCS_SUCCESS : DINGO_WCS_LOC_QP_OP_ERR;
    entry.qpn_op = DINGO_PREP(DINGO_CQE_QPN_OP_OPCODE_MASK, DINGO_WC_ETH_TX);
    complete(ring, number, entry);
    return Step::kDone;
}

void Ethernet::complete(EthernetRing& ring, std::uint32_t number, dingo_cqe entry) {
    entry.qpn_op |= DINGO_PREP(DINGO_CQE_QPN_OP_QPN_MASK, number);
    if (!ring.cq->post(card_, entry)) {
        ring.stopped = true;
    }
}

}  // namespace dingo::model
