// SPDX-License-Identifier: BSD-2-Clause
//
// TestDriver: rings and doorbells.
#include <algorithm>
#include <cstring>

#include "driver.h"

namespace dingo::test {
namespace {

std::uint32_t word0(std::uint32_t type, std::uint32_t object) {
    return DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, type) |
           DINGO_PREP(DINGO_DOORBELL_WORD0_OBJECT_MASK, object);
}

std::uint8_t phase(std::uint32_t index, unsigned log_size) {
    return (index >> log_size & 1) == 0 ? 1 : 0;
}

}  // namespace

std::uint32_t TestDriver::post_blocks(TestQp& qp, std::span<const std::byte> blocks, bool ring) {
    const std::uint32_t first = qp.sq_producer;
    const std::uint32_t mask = (1u << qp.log_sq) - 1;
    for (std::size_t at = 0; at < blocks.size(); at += DINGO_SQ_BLOCK) {
        const std::uint64_t slot = qp.sq_producer++ & mask;
        std::ranges::copy(blocks.subspan(at, DINGO_SQ_BLOCK),
                          host_.at(qp.sq + slot * DINGO_SQ_BLOCK, DINGO_SQ_BLOCK));
    }
    if (ring) {
        ring_sq(qp);
    }
    return first;
}

std::uint32_t TestDriver::post_send(TestQp& qp, const SendWr& wr, bool ring) {
    return post_blocks(qp, encode(wr, qp.datagram()), ring);
}

void TestDriver::ring_sq(const TestQp& qp) {
    doorbell(qp.db_page, word0(DINGO_DB_SQ, qp.qpn), qp.sq_producer);
}

void TestDriver::store_push(std::uint32_t page, std::span<const std::byte> blocks) {
    // Read once: a read would let the card run.
    if (db_pages_ == 0)
        db_pages_ = read32(DINGO_REG_DB_PAGES);
    const std::uint64_t first = (std::uint64_t{db_pages_} + page) * DINGO_DB_PAGE_SIZE;
    for (std::size_t at = 0; at < blocks.size(); at += 8) {
        std::uint64_t value = 0;
        std::memcpy(&value, blocks.data() + at, sizeof value);
        engine_.mmio_write(Bar::kDoorbells, first + at, value, 8);
    }
}

std::uint32_t TestDriver::post_pushed(TestQp& qp, const SendWr& wr) {
    const std::vector<std::byte> blocks = encode(wr, qp.datagram());
    const std::uint32_t first = post_blocks(qp, blocks, false);
    store_push(qp.db_page, blocks);
    ring_pushed(qp, static_cast<std::uint32_t>(blocks.size() / DINGO_SQ_BLOCK));
    return first;
}

void TestDriver::ring_pushed(const TestQp& qp, std::uint32_t blocks) {
    doorbell(qp.db_page,
             word0(DINGO_DB_SQ, qp.qpn) | DINGO_PREP(DINGO_DOORBELL_WORD0_PUSHED_MASK, blocks),
             qp.sq_producer);
}

void TestDriver::post_recv(TestQp& qp, std::uint32_t tag, const std::vector<dingo_sge>& sges) {
    const auto entry = encode_receive(tag, sges, qp.log_stride);
    const std::uint64_t slot = qp.rq_producer++ & ((1u << qp.log_rq) - 1);
    std::ranges::copy(entry, host_.at(qp.rq + (slot << qp.log_stride), entry.size()));
    doorbell(qp.db_page, word0(DINGO_DB_RQ, qp.qpn), qp.rq_producer);
}

void TestDriver::post_recv(Srq& srq, std::uint32_t tag, const std::vector<dingo_sge>& sges) {
    const auto entry = encode_receive(tag, sges, srq.log_stride);
    const std::uint64_t slot = srq.producer++ & ((1u << srq.log_size) - 1);
    std::ranges::copy(entry, host_.at(srq.ring + (slot << srq.log_stride), entry.size()));
    doorbell(srq.db_page, word0(DINGO_DB_SRQ, srq.srqn), srq.producer);
}

void TestDriver::post_eth(EthRing& ring, std::uint64_t addr, std::uint32_t length,
                          std::uint8_t flags, bool doorbell_now) {
    dingo_eth_desc descriptor{};
    descriptor.addr = addr;
    descriptor.length = length;
    descriptor.flags = flags;
    post_eth(ring, descriptor, doorbell_now);
}

void TestDriver::post_eth(EthRing& ring, const dingo_eth_desc& descriptor, bool doorbell_now) {
    const std::uint64_t slot = ring.producer++ & ((1u << ring.log_size) - 1);
    host_.store(ring.ring + slot * sizeof descriptor, descriptor);
    if (doorbell_now) {
        ring_eth(ring);
    }
}

void TestDriver::ring_eth(const EthRing& ring) {
    const std::uint32_t type = ring.kind == DINGO_ETH_TX ? DINGO_DB_ETH_TX : DINGO_DB_ETH_RX;
    doorbell(DINGO_DB_PAGE_KERNEL, word0(type, ring.number), ring.producer);
}

std::optional<dingo_cqe> TestDriver::poll_cq(Cq& cq) {
    const std::uint64_t slot = cq.consumer & ((1u << cq.log_size) - 1);
    const auto entry = host_.load<dingo_cqe>(cq.ring + slot * DINGO_CQE_SIZE);
    if ((entry.owner & 1) != phase(cq.consumer, cq.log_size)) {
        return std::nullopt;
    }
    ++cq.consumer;
    if (cq.consumer - cq.rung >= std::max(1u, (1u << cq.log_size) / 2)) {
        ring_cq(cq);
    }
    return entry;
}

void TestDriver::ring_cq(Cq& cq) {
    cq.rung = cq.consumer;
    doorbell(cq.db_page,
             word0(DINGO_DB_CQ, cq.cqn) | DINGO_PREP(DINGO_DOORBELL_WORD0_ARM_SN_MASK, cq.arm_sn),
             cq.consumer);
}

void TestDriver::arm_cq(Cq& cq, bool solicited_only) {
    cq.arm_sn = (cq.arm_sn + 1) & 3;
    cq.rung = cq.consumer;
    doorbell(cq.db_page,
             word0(DINGO_DB_CQ, cq.cqn) | DINGO_PREP(DINGO_DOORBELL_WORD0_ARM_SN_MASK, cq.arm_sn) |
                 (solicited_only ? DINGO_DOORBELL_WORD0_ARM_SOLICITED_MASK : 0),
             cq.consumer);
}

std::optional<dingo_eqe> TestDriver::poll_eq(Eq& eq) {
    const std::uint64_t slot = eq.consumer & ((1u << eq.log_size) - 1);
    const auto entry = host_.load<dingo_eqe>(eq.ring + slot * DINGO_EQE_SIZE);
    if ((entry.owner & 1) != phase(eq.consumer, eq.log_size)) {
        return std::nullopt;
    }
    ++eq.consumer;
    return entry;
}

void TestDriver::ring_eq(Eq& eq, bool arm) {
    doorbell(DINGO_DB_PAGE_KERNEL,
             word0(DINGO_DB_EQ, eq.eqn) | (arm ? DINGO_DOORBELL_WORD0_ARM_MASK : 0), eq.consumer);
}

}  // namespace dingo::test
