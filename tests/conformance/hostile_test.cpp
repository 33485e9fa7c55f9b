// SPDX-License-Identifier: BSD-2-Clause
//
// Whatever a hostile driver, application or peer does, the card neither crashes nor hangs nor
// touches memory that it was not given. Random, seeded, bounded; runs under the sanitizers with
// smaller counts.
#include <random>

#include "conformance.h"
#include "faults.h"

namespace dingo::conformance {
namespace {

constexpr unsigned kScale = kSanitized ? 10 : 1;

/// A card with something of everything on it, and commands near those that made it.
class Target : public test::OneCard {
  public:
    explicit Target(const std::string& name, std::uint64_t seed) : OneCard(name), random(seed) {
        prepare();
    }
    void prepare() {
        driver.start();
        driver.set_ipv4(0, 0x0a4d0001);
        driver.enable_port();
        memory = host.alloc(1u << 16);
        cq = driver.create_cq(6);
        qp = driver.create_qp(cq, cq, {});
        test::TestDriver::PathOptions path;
        path.dest_qpn = 0x22;
        path.dgid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 2};
        path.dmac = {2, 0, 0, 0, 0, 2};
        path.timeout = 1;
        path.retry_cnt = 1;
        driver.to_init(qp, path);
        driver.to_rtr(qp, path);
        driver.to_rts(qp, path);
        mr = driver.create_mr(1u << 16, kAllAccess);
    }
    /// The card still answers; throws when it does not.
    bool alive() {
        if ((driver.read32(DINGO_REG_STATUS) & DINGO_STATUS_READY_MASK) == 0)
            return false;
        driver.start();
        return driver.query_limits().max_qp > 0;
    }
    void breathe() {
        now += random() % 10'000;
        settle();
        wire.sent.clear();
    }

    std::mt19937_64 random;
    std::uint64_t memory = 0;
    test::Cq cq;
    test::TestQp qp;
    test::Mr mr;
};

/// A value that is sometimes small, sometimes an edge, sometimes anything.
std::uint64_t odd_value(std::mt19937_64& random) {
    switch (random() % 4) {
        case 0:
            return random() % 16;
        case 1:
            return std::uint64_t{1} << (random() % 64);
        case 2:
            return (std::uint64_t{1} << (random() % 64)) - 1;
        default:
            return random();
    }
}

}  // namespace

CONFORMANCE_SUITE(Hostile);

TEST_P(Hostile, RandomAdminCommands) {
    // 10^6 of them with the register writes below, in the two builds together.
    Target card(engine(), 1);
    constexpr std::uint16_t kOpcodes[] = {
        DINGO_OP_NOP,         DINGO_OP_QUERY_DEVICE, DINGO_OP_QUERY_STATS, DINGO_OP_SET_PORT,
        DINGO_OP_SET_MAC,     DINGO_OP_SET_GID,      DINGO_OP_CREATE_EQ,   DINGO_OP_DESTROY_EQ,
        DINGO_OP_CREATE_CQ,   DINGO_OP_DESTROY_CQ,   DINGO_OP_RESIZE_CQ,   DINGO_OP_CREATE_MR,
        DINGO_OP_DESTROY_MR,  DINGO_OP_REREG_MR,     DINGO_OP_PAUSE_MR,    DINGO_OP_CREATE_QP,
        DINGO_OP_DESTROY_QP,  DINGO_OP_MODIFY_QP,    DINGO_OP_QUERY_QP,    DINGO_OP_CREATE_SRQ,
        DINGO_OP_DESTROY_SRQ, DINGO_OP_MODIFY_SRQ,   DINGO_OP_QUERY_SRQ,   DINGO_OP_CREATE_ETH,
        DINGO_OP_DESTROY_ETH};
    for (unsigned i = 0; i < 500'000 / kScale; ++i) {
        std::array<std::byte, DINGO_ADMIN_CMD_SIZE> bytes{};
        const std::uint16_t opcode = card.random() % 50 == 0
                                         ? static_cast<std::uint16_t>(card.random())
                                         : kOpcodes[card.random() % std::size(kOpcodes)];
        // Mostly zero with a few odd words, so that some commands get far.
        for (unsigned words = card.random() % 8; words > 0; --words) {
            const std::uint64_t value = card.random() % 3 == 0
                                            ? card.memory + card.random() % 4096 * 8
                                            : odd_value(card.random);
            const std::size_t width = std::size_t{1} << (card.random() % 4);
            const std::size_t at = 8 + card.random() % 13 * 8 + card.random() % 8 / width * width;
            std::memcpy(bytes.data() + at, &value, std::min(width, bytes.size() - at));
        }
        std::memcpy(bytes.data(), &opcode, sizeof opcode);
        const auto completion = card.driver.execute_raw(bytes);
        ASSERT_LE(completion.status, unsigned{DINGO_ST_UNSUPPORTED});
        ASSERT_LT(completion.detail, unsigned{DINGO_ADMIN_CMD_SIZE});
        if (i % 64 == 0)
            card.breathe();
        if (i % 20'000 == 19'999)
            card.prepare();  // a fresh start: most objects have been destroyed by now
    }
    EXPECT_TRUE(card.alive());
}

TEST_P(Hostile, MutatedGoodCommands) {
    Target card(engine(), 2);
    for (unsigned i = 0; i < 100'000 / kScale; ++i) {
        dingo_cmd_modify_qp modify{};
        modify.hdr.opcode = DINGO_OP_MODIFY_QP;
        modify.qpn = card.qp.qpn;
        modify.mask = static_cast<std::uint32_t>(card.random() & 0x1fffff);
        modify.next_state = card.random() % 8;
        random_bytes(std::as_writable_bytes(std::span(&modify.attr, 1)), card.random());
        dingo_cmd_create_mr region{};
        region.hdr.opcode = DINGO_OP_CREATE_MR;
        region.key = static_cast<std::uint32_t>(card.random() % 64) << 16 | 7;
        region.pdn = 1;
        region.access = card.random() % 64;
        region.kind = card.random() % 6;
        region.mem.addr = card.memory;
        region.mem.levels = card.random() % 4;
        region.mem.page_shift = card.random() % 64;
        region.iova = odd_value(card.random);
        region.length = odd_value(card.random);
        card.driver.execute_raw(std::as_bytes(std::span(&modify, 1)));
        card.driver.execute_raw(std::as_bytes(std::span(&region, 1)));
        card.driver.destroy(DINGO_OP_DESTROY_MR, region.key);
        if (i % 16 == 0)
            card.breathe();
    }
    EXPECT_TRUE(card.alive());
}

TEST_P(Hostile, RandomRegisterAccess) {
    Target card(engine(), 3);
    for (unsigned i = 0; i < 500'000 / kScale; ++i) {
        const Bar bar =
            std::array{Bar::kRegisters, Bar::kDoorbells, Bar::kMemory}[card.random() % 3];
        const unsigned size = 1u << (card.random() % 4);
        std::uint64_t offset =
            card.random() % 3 == 0 ? odd_value(card.random) : card.random() % 0x100;
        offset = offset / size * size;
        if (card.random() % 4 == 0)
            card.engine->mmio_read(bar, offset, size);
        else
            card.engine->mmio_write(bar, offset, odd_value(card.random), size);
        if (i % 32 == 0)
            card.breathe();
    }
    EXPECT_TRUE(card.alive());
}

TEST_P(Hostile, RandomDoorbells) {
    Target card(engine(), 4);
    for (unsigned i = 0; i < 300'000 / kScale; ++i) {
        const std::uint32_t object =
            std::array{card.qp.qpn, card.cq.cqn, 0u, 1u,
                       static_cast<std::uint32_t>(card.random() & 0xffffff)}[card.random() % 5];
        const auto word0 =
            static_cast<std::uint32_t>(object | card.random() % 16 << 24 |
                                       (card.random() % 8 == 0 ? card.random() % 16 << 28 : 0));
        card.driver.doorbell(static_cast<std::uint32_t>(card.random() % 3), word0,
                             static_cast<std::uint32_t>(odd_value(card.random)));
        if (i % 16 == 0)
            card.breathe();
    }
    EXPECT_TRUE(card.alive());
}

TEST_P(Hostile, RandomWorkRequestsTouchOnlyTheirRegions) {
    const unsigned rounds = 20'000 / kScale;
    Pair pair(engine(), PairOptions().timeout(1, 1));
    std::mt19937_64 random(5);
    // Everything outside rings and regions is watched.
    std::array<bool, 2> stray{};
    for (unsigned c = 0; c < 2; ++c) {
        pair.cards.host(c).pointers = false;
        const std::uint64_t forbidden = pair.cards.host(c).alloc(1u << 20);
        pair.cards.host(c).on_write = [&stray, c, forbidden](std::uint64_t addr, auto) {
            stray[c] |= addr >= forbidden && addr < forbidden + (1u << 20);
        };
    }
    for (unsigned i = 0; i < rounds; ++i) {
        const unsigned c = random() % 2;
        if (pair.state(c) != DINGO_QPS_RTS) {  // both sides anew
            for (unsigned k = 0; k < 2; ++k) {
                pair.driver(k).to_state(pair.qp(k), DINGO_QPS_RESET);
                pair.qp(k).sq_producer = pair.qp(k).rq_producer = 0;
            }
            for (unsigned k = 0; k < 2; ++k) {
                auto path = pair.cards.path_to(1 - k, pair.qp(1 - k).qpn);
                path.timeout = path.retry_cnt = 1;
                pair.driver(k).to_init(pair.qp(k), path);
                pair.driver(k).to_rtr(pair.qp(k), path);
                pair.driver(k).to_rts(pair.qp(k), path);
            }
        }
        // A good request with a few bytes changed, or plain noise.
        test::SendWr wr = pair.write(random() % 1000, random() % 1000, random() % 2000);
        wr.opcode = random() % 12;
        std::vector<std::byte> blocks = test::encode(wr, false);
        if (random() % 4 == 0)
            random_bytes(blocks, random());
        for (unsigned k = random() % 4; k > 0; --k)
            blocks[random() % blocks.size()] = static_cast<std::byte>(random());
        pair.driver(c).post_blocks(pair.qp(c), blocks);
        if (random() % 2 == 0) {
            auto entry =
                test::encode_receive(i, {pair.mr[c].sge(random() % 100, random() % 3000)}, 8);
            for (unsigned k = random() % 3; k > 0; --k)
                entry[random() % entry.size()] = static_cast<std::byte>(random());
            test::TestQp& qp = pair.qp(c);
            const std::uint64_t slot = qp.rq_producer++ & 63;
            std::ranges::copy(entry, pair.cards.host(c).at(qp.rq + (slot << 8), entry.size()));
            pair.driver(c).doorbell(
                1, DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, DINGO_DB_RQ) | qp.qpn,
                qp.rq_producer);
        }
        pair.cards.run_for(50'000);
        for (unsigned k = 0; k < 2; ++k) {
            while (pair.driver(k).poll_cq(pair.cq(k))) {
            }
            pair.driver(k).ring_cq(pair.cq(k));
        }
    }
    EXPECT_FALSE(stray[0] || stray[1]) << "the card wrote where nothing was registered";
    EXPECT_GT(pair.driver(0).query_limits().max_qp, 0u);
}

TEST_P(Hostile, RandomFrames) {
    Target card(engine(), 6);
    const std::vector<std::byte> before(card.host.bytes(card.memory, 4096).begin(),
                                        card.host.bytes(card.memory, 4096).end());
    // A good frame of each opcode, damaged: wrong ICRC mostly, so many get a right one.
    for (unsigned i = 0; i < 300'000 / kScale; ++i) {
        packet::TextPacket text;
        text.bth.opcode = static_cast<packet::Opcode>(card.random() % 0x66);
        if (!packet::traits(text.bth.opcode).known())
            text.bth.opcode = packet::Opcode::kRcSendOnly;
        text.bth.dest_qp = card.random() % 8 == 0
                               ? static_cast<std::uint32_t>(card.random() & 0xffffff)
                               : card.qp.qpn;
        text.bth.psn =
            static_cast<std::uint32_t>(card.random() % 4 == 0 ? odd_value(card.random) : i) &
            0xffffff;
        text.bth.ack_req = card.random() % 2 == 0;
        text.reth = {odd_value(card.random), card.random() % 2 == 0 ? card.mr.key : 7,
                     static_cast<std::uint32_t>(odd_value(card.random))};
        text.aeth = {static_cast<std::uint8_t>(card.random()), 5};
        text.atomic_eth = {card.mr.iova + card.random() % 16, card.mr.key, 1, 2};
        text.payload.resize(packet::traits(text.bth.opcode).carries_payload ? card.random() % 1100
                                                                            : 0);
        packet::NetworkPath path;
        path.dmac = packet::Mac::from_u64(0x024449000001);
        path.smac = packet::Mac::from_u64(0x020000000002);
        path.sgid = packet::Gid::from_ipv4(0x0a4d0002);
        path.dgid = packet::Gid::from_ipv4(0x0a4d0001);
        std::vector<std::byte> frame = packet::build_text(path, text);
        if (card.random() % 3 == 0)
            for (unsigned k = 1 + card.random() % 4; k > 0; --k)
                frame[card.random() % frame.size()] ^=
                    static_cast<std::byte>(1u << card.random() % 8);
        if (card.random() % 10 == 0)
            frame.resize(card.random() % (frame.size() + 1));
        card.engine->receive(frame);
        if (i % 16 == 0)
            card.breathe();
        if (i % 256 == 0 && card.driver.query_qp(card.qp.qpn).state != DINGO_QPS_RTS)
            card.prepare();
    }
    EXPECT_TRUE(std::ranges::equal(before, card.host.bytes(card.memory, 4096)));
    EXPECT_TRUE(card.alive());
}

TEST_P(Hostile, PureNoiseOnTheCable) {
    Target card(engine(), 7);
    for (unsigned i = 0; i < 200'000 / kScale; ++i) {
        std::vector<std::byte> frame(card.random() % 300);
        random_bytes(frame, card.random());
        if (frame.size() >= 44 && card.random() % 2 == 0) {
            const std::uint8_t start[] = {0x02, 0x44, 0x49, 0, 0,    1, 2,   0,
                                          0,    0,    0,    2, 0x08, 0, 0x45};
            std::memcpy(frame.data(), start, sizeof start);
        }
        card.engine->receive(frame);
    }
    card.breathe();
    EXPECT_TRUE(card.alive());
}

TEST_P(Hostile, MemoryThatComesAndGoes) {
    Pair pair(engine(), PairOptions().timeout(4, 2));
    std::mt19937_64 random(8);
    for (unsigned i = 0; i < 300 / kScale + 10; ++i) {
        auto link = pair.cards.connect();
        const unsigned victim = random() % 2;
        const std::uint64_t target =
            std::array{link.qp[victim].sq, link.qp[victim].rq, link.cq[victim].ring,
                       pair.mr[victim].bus}[random() % 4];
        for (unsigned k = 0; k < 4; ++k) {
            pair.driver(1).post_recv(link.qp[1], k, {pair.mr[1].sge(0, 4096)});
            pair.driver(0).post_send(link.qp[0],
                                     k % 2 == 0 ? pair.send(0, 3000) : pair.write(0, 0, 3000));
        }
        pair.cards.host(victim).break_range(target, 4096);
        pair.cards.run_for(5'000'000);
        pair.cards.host(victim).break_range(target, 4096, false);
        for (unsigned c = 0; c < 2; ++c) {
            EXPECT_EQ(pair.driver(c).destroy(DINGO_OP_DESTROY_QP, link.qp[c].qpn).status,
                      DINGO_ST_OK);
            EXPECT_EQ(pair.driver(c).destroy(DINGO_OP_DESTROY_CQ, link.cq[c].cqn).status,
                      DINGO_ST_OK);
        }
    }
    EXPECT_EQ(pair.complete(pair.write(0, 0, 3000)).status, DINGO_WCS_SUCCESS);
}

}  // namespace dingo::conformance
