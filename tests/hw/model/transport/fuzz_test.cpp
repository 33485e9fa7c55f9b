// SPDX-License-Identifier: BSD-2-Clause
//
// Hostile input: random packets with a right ICRC, random bytes in rings, wild doorbells. The card
// stays within the regions, comes to rest, and serves its other QPs. Meant for the sanitizers.
#include <cstdlib>

#include "fixture.h"
#include "peer.h"

namespace dingo::test {
namespace {

/// More rounds for long runs: DINGO_FUZZ_ROUNDS=10000000.
unsigned rounds(unsigned normal) {
    const char* const wanted = std::getenv("DINGO_FUZZ_ROUNDS");
    return wanted ? static_cast<unsigned>(std::strtoul(wanted, nullptr, 10)) : normal;
}

class HostileWire : public Peer {};

TEST_F(HostileWire, RandomPacketsReachNoMemoryOutsideTheRegions) {
    Options options = defaults();
    start(options);
    const std::uint64_t guard = card.host.alloc(4096);
    Chance chance(99);
    const auto pick = [&](std::uint64_t n) { return chance.next() % n; };
    const std::uint64_t allowed_end = mr.bus + (1 << 20);
    bool escaped = false;
    card.host.on_write = [&](std::uint64_t addr, std::span<const std::byte> data) {
        const bool in_region = addr >= mr.bus && addr + data.size() <= allowed_end;
        const bool in_ring =
            data.size() <= 128;  // CQEs, EQEs, admin completions and what commands give
        escaped = escaped || (!in_region && !in_ring);
    };
    for (unsigned round = 0; round < rounds(20'000); ++round) {
        if (state() == DINGO_QPS_ERR) {
            while (poll()) {
            }
            while (event()) {
            }
            card.driver.ring_eq(card.driver.async_eq);
            card.driver.to_state(qp, DINGO_QPS_RESET);
            qp.sq_producer = qp.rq_producer = 0;
            card.driver.to_init(qp, options.path);
            card.driver.to_rtr(qp, options.path);
            card.driver.to_rts(qp, options.path);
            for (unsigned i = 0; i < 8; ++i) {
                post_recv(i, static_cast<std::uint32_t>(pick(1000)));
                post(request(pick(2) == 0 ? DINGO_WR_READ : DINGO_WR_WRITE,
                             static_cast<std::uint32_t>(pick(2000))));
            }
        }
        packet::TextPacket out;
        out.bth.opcode = static_cast<packet::Opcode>(pick(0x18));
        out.bth.dest_qp = qp.qpn;
        const dingo_qp_info info = card.driver.query_qp(qp.qpn);
        const bool response = packet::traits(out.bth.opcode).is_response();
        out.bth.psn = packet::psn_add(response ? info.oldest_psn : info.attr.rq_psn,
                                      static_cast<int>(pick(5)) - 2);
        out.bth.ack_req = pick(2) == 0;
        out.reth.va = mr.iova + pick(1 << 20) - pick(3) * 64;
        out.reth.rkey = pick(20) == 0 ? mr.key ^ 1 : mr.key;
        out.reth.length = static_cast<std::uint32_t>(pick(4) == 0 ? chance.next() : pick(600));
        out.atomic_eth.va = (mr.iova + pick(1 << 20)) & ~7ULL;
        out.atomic_eth.rkey = out.reth.rkey;
        out.aeth.syndrome = pick(3) == 0 ? static_cast<std::uint8_t>(chance.next()) : 0x1F;
        out.aeth.msn = static_cast<std::uint32_t>(pick(1 << 24));
        out.payload.resize(pick(3) == 0 ? pick(300) : 256 * pick(2));
        std::vector<std::byte> bytes = packet::build_text(path, out);
        if (bytes.empty())
            continue;  // 0x15 is no opcode
        if (pick(50) == 0)
            bytes.resize(pick(bytes.size()));
        if (!bytes.empty() && pick(50) == 0)
            bytes[pick(bytes.size())] ^= std::byte{1};
        card.receive(bytes);
        card.wire.sent.clear();
        if (pick(100) == 0)
            let_pass(100'000'000);
        ASSERT_FALSE(escaped);
    }
    for (unsigned i = 0; i < 4096; ++i)
        ASSERT_EQ(card.host.load<std::uint8_t>(guard + i), 0);
}

class HostileHost : public Connected {};

TEST_F(HostileHost, RandomRingBytesAndDoorbells) {
    connect();
    TwoCards::Connection other = cards.connect();
    Chance chance(5);
    const auto pick = [&](std::uint64_t n) { return chance.next() % n; };
    for (unsigned round = 0; round < rounds(3'000); ++round) {
        if (state(0) == DINGO_QPS_ERR || state(1) == DINGO_QPS_ERR) {
            for (unsigned i = 0; i < 2; ++i) {
                driver(i).to_state(qp(i), DINGO_QPS_RESET);
                qp(i).sq_producer = qp(i).rq_producer = 0;
            }
            for (unsigned i = 0; i < 2; ++i) {
                const auto path = cards.path_to(1 - i, qp(1 - i).qpn);
                driver(i).to_init(qp(i), path);
                driver(i).to_rtr(qp(i), path);
                driver(i).to_rts(qp(i), path);
            }
        }
        SendWr wr = rdma(static_cast<std::uint8_t>(pick(12)), pick(1000), pick(1000),
                         static_cast<std::uint32_t>(pick(3000)));
        if (pick(3) == 0)
            wr.sges.push_back(mr[0].sge(pick(1000), static_cast<std::uint32_t>(pick(3000))));
        std::vector<std::byte> wqe = encode(wr, false);
        for (unsigned k = 0; k < pick(4); ++k)
            wqe[pick(wqe.size())] ^= static_cast<std::byte>(chance.next());
        driver(0).post_blocks(qp(0), wqe);
        auto ring = cards.host(1).bytes(qp(1).rq, 64 << 8);
        for (unsigned k = 0; k < 64; ++k)
            ring[pick(ring.size())] = static_cast<std::byte>(pick(4) == 0 ? chance.next() : 0);
        qp(1).rq_producer += static_cast<std::uint32_t>(pick(3));
        const std::uint32_t word0 = DINGO_PREP(DINGO_DOORBELL_WORD0_OBJECT_MASK, qp(1).qpn) |
                                    DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, DINGO_DB_RQ);
        driver(1).doorbell(1, word0, qp(1).rq_producer);
        if (pick(20) == 0) {
            driver(0).doorbell(static_cast<std::uint32_t>(pick(4)),
                               static_cast<std::uint32_t>(chance.next()),
                               static_cast<std::uint32_t>(chance.next()));
        }
        cards.run_for(50'000);
        for (unsigned i = 0; i < 2; ++i) {
            while (poll(i)) {
            }
            while (event(i)) {
            }
            driver(i).ring_eq(driver(i).async_eq);
        }
    }
    // The neighbour never noticed.
    driver(0).post_send(other.qp[0], rdma(DINGO_WR_WRITE, 0, 0, 5000));
    EXPECT_EQ(cards.wait_cq(0, other.cq[0]).status, DINGO_WCS_SUCCESS);
}

}  // namespace
}  // namespace dingo::test
