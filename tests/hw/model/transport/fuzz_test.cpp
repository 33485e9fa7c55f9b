// SPDX-License-Identifier: BSD-2-Clause
//
// Hostile input: random packets with a correct ICRC. The card may write to its regions only. Meant
// for sanitizer builds.
#include <cstdlib>

#include "fixture.h"
#include "peer.h"

namespace dingo::test {
namespace {

/// Returns the number of rounds; DINGO_FUZZ_ROUNDS=10000000 for long runs.
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
        // CQEs, EQEs, admin completions and output of commands
        const bool in_ring = data.size() <= 128;
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
            card.driver.bring_up(qp, options.path);
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
            continue;  // 0x15 is not an opcode
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

}  // namespace
}  // namespace dingo::test
