// SPDX-License-Identifier: BSD-2-Clause
//
// Whatever a hostile driver, application or peer does, the card does not crash, hang, or access
// memory that it was not given. Random, seeded, bounded; with smaller counts under sanitizers.
#include <random>

#include "admin_samples.h"
#include "conformance.h"
#include "faults.h"

namespace dingo::conformance {
namespace {

/// A card with objects of all kinds, and commands similar to those that created them.
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
        to_rts();
        mr = driver.create_mr(1u << 16, kAllAccess);
    }
    /// Brings the QP back to RTS; recreates the objects if that is impossible.
    void revive() {
        try {
            if ((driver.read32(DINGO_REG_STATUS) & DINGO_STATUS_FATAL_MASK) == 0) {
                if (driver.query_qp(qp.qpn).state == DINGO_QPS_RTS)
                    return;
                ++revivals;
                driver.to_state(qp, DINGO_QPS_RESET);
                qp.sq_producer = qp.rq_producer = 0;
                to_rts();
                return;
            }
        } catch (const test::AdminError&) {  // the QP was destroyed
        }
        prepare();
    }
    void to_rts() {
        test::TestDriver::PathOptions path;
        path.dest_qpn = 0x22;
        path.dgid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 2};
        path.dmac = {2, 0, 0, 0, 0, 2};
        path.timeout = 1;
        path.retry_cnt = 1;
        driver.bring_up(qp, path);
    }
    void drain() {
        while (driver.poll_cq(cq)) {
        }
        driver.ring_cq(cq);
        while (driver.poll_eq(driver.async_eq)) {
        }
        driver.ring_eq(driver.async_eq);
    }
    /// Returns true if the card still answers; throws if it does not.
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
    unsigned revivals = 0;
    std::uint64_t memory = 0;
    test::Cq cq;
    test::TestQp qp;
    test::Mr mr;
};

/// A value that is sometimes small, sometimes at a boundary, sometimes arbitrary.
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
    // Half of them start as valid commands.
    Target card(engine(), 1);
    std::vector<Sample> good = admin_samples(card.host, card.driver.read64(DINGO_REG_CAPS));
    std::array<unsigned, DINGO_ST_UNSUPPORTED + 1> seen{};
    for (unsigned i = 0; i < repeats(1'000'000, 10'000); ++i) {
        std::array<std::byte, DINGO_ADMIN_CMD_SIZE> bytes{};
        unsigned words = card.random() % 8;
        if (card.random() % 2 == 0) {
            std::ranges::copy(good[card.random() % good.size()].bytes, bytes.begin());
            words %= 3;
        }
        for (; words > 0; --words) {
            const std::uint64_t value = card.random() % 3 == 0
                                            ? card.memory + card.random() % 4096 * 8
                                            : odd_value(card.random);
            const std::size_t width = std::size_t{1} << (card.random() % 4);
            const std::size_t at = 8 + card.random() % 13 * 8 + card.random() % 8 / width * width;
            std::memcpy(bytes.data() + at, &value, std::min(width, bytes.size() - at));
        }
        if (card.random() % 4 == 0) {  // another opcode, usually a known one: those are below 0x80
            const auto opcode = static_cast<std::uint16_t>(
                card.random() % (card.random() % 8 == 0 ? 0x10000 : 0x72));
            std::memcpy(bytes.data(), &opcode, sizeof opcode);
        }
        const auto completion = card.driver.execute_raw(bytes);
        ASSERT_LE(completion.status, unsigned{DINGO_ST_UNSUPPORTED});
        ASSERT_LT(completion.detail, unsigned{DINGO_ADMIN_CMD_SIZE});
        ++seen[completion.status];
        if (i % 64 == 0)
            card.breathe();
        if (i % 1'000 == 999) {  // start again: by now the numbers are used up or destroyed
            card.prepare();
            if (i % 100'000 == 99'999)
                good = admin_samples(card.host, card.driver.read64(DINGO_REG_CAPS));
        }
    }
    EXPECT_TRUE(card.alive());
    for (const std::uint32_t status : {DINGO_ST_OK, DINGO_ST_BAD_OPCODE, DINGO_ST_BAD_FIELD,
                                       DINGO_ST_BAD_ID, DINGO_ST_IN_USE, DINGO_ST_BUS_ERROR})
        EXPECT_GT(seen[status], repeats(500, 5))
            << "status " << status << " was hardly ever reached";
}

TEST_P(Hostile, MutatedGoodCommands) {
    Target card(engine(), 2);
    unsigned modified = 0;
    unsigned registered = 0;
    for (unsigned i = 0; i < repeats(100'000, 8'000); ++i) {
        dingo_cmd_modify_qp modify{};
        modify.hdr.opcode = DINGO_OP_MODIFY_QP;
        modify.qpn = card.qp.qpn;
        modify.mask = static_cast<std::uint32_t>(card.random() & 0x1fffff);
        modify.next_state = card.random() % 8;
        if (card.random() % 2 == 0) {  // otherwise valid transitions with a few extra bits
            random_bytes(std::as_writable_bytes(std::span(&modify.attr, 1)), card.random());
        } else {
            modify.mask = DINGO_QPM_STATE | (card.random() % 4 == 0 ? 1u << card.random() % 21 : 0);
            modify.next_state =
                std::array{DINGO_QPS_RTS, DINGO_QPS_SQD, DINGO_QPS_ERR}[card.random() % 3];
        }
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
        modified += card.driver.execute_raw(std::as_bytes(std::span(&modify, 1))).status == 0;
        registered += card.driver.execute_raw(std::as_bytes(std::span(&region, 1))).status == 0;
        card.driver.destroy(DINGO_OP_DESTROY_MR, region.key);
        if (i % 16 == 0) {
            card.breathe();
            card.revive();
        }
    }
    EXPECT_TRUE(card.alive());
    EXPECT_GT(modified, repeats(1'000, 20));
    EXPECT_GT(registered, repeats(200, 5));
}

TEST_P(Hostile, RandomRegisterAccess) {
    Target card(engine(), 3);
    unsigned fatal = 0;
    for (unsigned i = 0; i < repeats(1'000'000, 20'000); ++i) {
        const Bar bar = card.random() % 4 != 0   ? Bar::kRegisters
                        : card.random() % 2 == 0 ? Bar::kDoorbells
                                                 : Bar::kMemory;
        const unsigned size = 1u << (card.random() % 4);
        std::uint64_t offset =
            card.random() % 4 == 0 ? odd_value(card.random) : card.random() % 0x60;
        offset = offset / size * size;
        if (card.random() % 4 == 0) {
            card.engine->mmio_read(bar, offset, size);
        } else if (card.random() % 4 == 0) {  // a plausible admin queue at a random address
            const std::uint64_t base =
                card.random() % 2 == 0 ? card.memory + 8192 : odd_value(card.random) << 12;
            card.driver.write64(card.random() % 2 == 0 ? DINGO_REG_ASQ_BASE : DINGO_REG_ACQ_BASE,
                                base);
            card.driver.write32(
                DINGO_REG_AQ_CTRL,
                DINGO_AQ_CTRL_ENABLE_MASK | static_cast<std::uint32_t>(card.random() % 10));
            card.driver.write32(DINGO_REG_ASQ_DB, static_cast<std::uint32_t>(card.random() % 4));
        } else {
            card.engine->mmio_write(bar, offset, odd_value(card.random), size);
        }
        if (i % 32 == 0)
            card.breathe();
        if (i % 100 == 99) {  // recreate the objects
            fatal += (card.driver.read32(DINGO_REG_STATUS) & DINGO_STATUS_FATAL_MASK) != 0;
            card.prepare();
        }
    }
    EXPECT_TRUE(card.alive());
    EXPECT_GT(fatal, 10u) << "the admin queue was never led astray";
    EXPECT_LT(fatal, 10'000u) << "the card was dead all the time";
}

TEST_P(Hostile, RandomDoorbells) {
    Target card(engine(), 4);
    const auto fill = [&](std::uint64_t ring, std::uint64_t bytes) {
        random_bytes(card.host.bytes(ring, bytes), card.random());
    };
    for (unsigned i = 0; i < repeats(300'000, 6'000); ++i) {
        const std::uint32_t type = static_cast<std::uint32_t>(card.random() % 9);
        std::uint32_t object = type == DINGO_DB_CQ   ? card.cq.cqn
                               : type == DINGO_DB_EQ ? static_cast<std::uint32_t>(card.random() % 2)
                                                     : card.qp.qpn;
        if (card.random() % 8 == 0)
            object = static_cast<std::uint32_t>(card.random() & 0xffffff);
        const std::uint32_t extra =
            card.random() % 8 == 0 ? static_cast<std::uint32_t>(card.random() % 16) << 28 : 0;
        // Usually a step forward, sometimes an arbitrary index.
        auto index = static_cast<std::uint32_t>(odd_value(card.random));
        if (card.random() % 3 != 0)
            index = type == DINGO_DB_SQ   ? card.qp.sq_producer += card.random() % 6
                    : type == DINGO_DB_RQ ? card.qp.rq_producer += card.random() % 4
                                          : index % 64;
        card.driver.doorbell(card.random() % 16 == 0 ? 2
                             : type == DINGO_DB_EQ   ? 0
                                                     : 1,
                             object | type << 24 | extra, index);
        if (i % 16 == 0) {
            card.breathe();
            card.drain();
            fill(card.qp.sq, 64 * DINGO_SQ_BLOCK);
            fill(card.qp.rq, 4096);
            for (unsigned block = 0; block < 64; ++block) {  // plausible opcodes and sizes
                dingo_wqe_ctrl ctrl{};
                ctrl.opcode = static_cast<std::uint8_t>(card.random() % 12);
                ctrl.flags = static_cast<std::uint8_t>(card.random() % 16);
                ctrl.blocks = static_cast<std::uint8_t>(1 + card.random() % 3);
                ctrl.num_sge = static_cast<std::uint8_t>(card.random() % 3);
                ctrl.inline_len = static_cast<std::uint16_t>(card.random() % 96);
                card.host.store(card.qp.sq + block * DINGO_SQ_BLOCK, ctrl);
            }
            card.revive();
        }
        if (i % 5'000 == 4'999)
            card.prepare();
    }
    EXPECT_GT(card.revivals, repeats(1'000, 10)) << "the requests were hardly ever looked at";
    EXPECT_TRUE(card.alive());
}

TEST_P(Hostile, RandomWorkRequestsTouchOnlyTheirRegions) {
    const unsigned rounds = repeats(100'000, 2'000);
    Pair pair(engine(), PairOptions().timeout(1, 1));
    std::mt19937_64 random(5);
    // Watches all memory outside rings and regions.
    std::array<bool, 2> stray{};
    for (unsigned c = 0; c < 2; ++c) {
        pair.cards.host(c).pointers = false;
        const std::uint64_t forbidden = pair.cards.host(c).alloc(1u << 20);
        pair.cards.host(c).on_write = [&stray, c, forbidden](std::uint64_t addr, auto) {
            stray[c] |= addr >= forbidden && addr < forbidden + (1u << 20);
        };
    }
    std::array<unsigned, 256> statuses{};
    for (unsigned i = 0; i < rounds; ++i) {
        const unsigned c = random() % 2;
        if (pair.state(c) != DINGO_QPS_RTS) {  // reset both sides
            for (unsigned k = 0; k < 2; ++k) {
                pair.driver(k).to_state(pair.qp(k), DINGO_QPS_RESET);
                pair.qp(k).sq_producer = pair.qp(k).rq_producer = 0;
            }
            for (unsigned k = 0; k < 2; ++k) {
                auto path = pair.cards.path_to(1 - k, pair.qp(1 - k).qpn);
                path.timeout = path.retry_cnt = 1;
                pair.driver(k).bring_up(pair.qp(k), path);
            }
        }
        // A valid request with a few bytes changed, or random bytes.
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
            while (const auto cqe = pair.driver(k).poll_cq(pair.cq(k)))
                ++statuses[cqe->status];
            pair.driver(k).ring_cq(pair.cq(k));
        }
    }
    EXPECT_FALSE(stray[0] || stray[1]) << "the card wrote where nothing was registered";
    EXPECT_GT(pair.driver(0).query_limits().max_qp, 0u);
    for (const std::uint8_t status :
         std::initializer_list<std::uint8_t>{DINGO_WCS_SUCCESS, DINGO_WCS_LOC_QP_OP_ERR,
                                             DINGO_WCS_LOC_PROT_ERR, DINGO_WCS_REM_ACCESS_ERR})
        EXPECT_GT(statuses[status], repeats(100, 5))
            << test::status_name(status) << " was hardly ever reached";
}

TEST_P(Hostile, RandomFrames) {
    Target card(engine(), 6);
    const std::vector<std::byte> before(card.host.bytes(card.memory, 4096).begin(),
                                        card.host.bytes(card.memory, 4096).end());
    // Valid frames of each opcode with random fields; a third of them damaged, most of these in the
    // ICRC.
    std::uint32_t expected = 0;
    for (unsigned i = 0; i < effort(300'000, 6'000); ++i) {
        packet::TextPacket text;
        text.bth.opcode = static_cast<packet::Opcode>(card.random() % 0x66);
        if (!packet::traits(text.bth.opcode).known())
            text.bth.opcode = packet::Opcode::kRcSendOnly;
        text.bth.dest_qp = card.random() % 8 == 0
                               ? static_cast<std::uint32_t>(card.random() & 0xffffff)
                               : card.qp.qpn;
        if (card.random() % 2 == 0)
            expected = card.driver.query_qp(card.qp.qpn).attr.rq_psn;
        text.bth.psn = card.random() % 4 == 0
                           ? static_cast<std::uint32_t>(odd_value(card.random)) & 0xffffff
                           : expected;
        text.bth.ack_req = card.random() % 2 == 0;
        text.reth = {odd_value(card.random), card.random() % 2 == 0 ? card.mr.key : 7,
                     static_cast<std::uint32_t>(odd_value(card.random))};
        if (card.random() % 2 == 0) {  // a request inside its region
            text.reth = {card.mr.iova + card.random() % 1024, card.mr.key, 0};
            text.atomic_eth.va = card.mr.iova;
        }
        text.aeth = {static_cast<std::uint8_t>(card.random()), 5};
        text.atomic_eth = {card.mr.iova + card.random() % 16, card.mr.key, 1, 2};
        if (card.random() % 2 == 0)
            text.atomic_eth.va &= ~7ULL;
        text.payload.resize(packet::traits(text.bth.opcode).carries_payload ? card.random() % 1100
                                                                            : 0);
        if (text.reth.length == 0)
            text.reth.length = static_cast<std::uint32_t>(
                text.payload.size() + (packet::traits(text.bth.opcode).last ? 0 : 1024));
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
        if (i % 8 == 0) {
            card.drain();
            card.revive();
            card.driver.post_recv(card.qp, i, {card.mr.sge(0, 1024)});
        }
    }
    EXPECT_TRUE(std::ranges::equal(before, card.host.bytes(card.memory, 4096)));
    for (const dingo_card_counter counter :
         {DINGO_CARD_RX_WRITE_REQUESTS, DINGO_CARD_RX_SEND_REQUESTS, DINGO_CARD_RX_READ_REQUESTS,
          DINGO_CARD_RX_ATOMIC_REQUESTS, DINGO_CARD_DUPLICATE_REQUEST, DINGO_CARD_OUT_OF_SEQUENCE,
          DINGO_CARD_RESP_INVALID_REQUESTS, DINGO_CARD_RESP_REMOTE_ACCESS_ERRORS,
          DINGO_CARD_RX_ICRC_ENCAPSULATED, DINGO_CARD_RX_DROP_MALFORMED, DINGO_CARD_RX_DROP_OPCODE,
          DINGO_CARD_RX_DROP_RESPONSE}) {
        if (counter == DINGO_CARD_RX_ATOMIC_REQUESTS &&
            (card.driver.read64(DINGO_REG_CAPS) & DINGO_CAP_ATOMIC) == 0)
            continue;
        EXPECT_GT(card.driver.card_stat(counter), effort(100, 1)) << "counter " << counter;
    }
    EXPECT_TRUE(card.alive());
}

TEST_P(Hostile, PureNoiseOnTheWire) {
    Target card(engine(), 7);
    for (unsigned i = 0; i < repeats(200'000, 10'000); ++i) {
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
    for (unsigned i = 0; i < 310; ++i) {
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
