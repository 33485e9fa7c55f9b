// SPDX-License-Identifier: BSD-2-Clause
//
// Lost, duplicated, late and damaged frames: the data still arrive, once, with few retransmissions.
#include "conformance.h"
#include "dingo/packet/aeth.h"
#include "faults.h"

namespace dingo::conformance {
namespace {

using packet::Opcode;

/// Runs a mix of all RC operations in both directions and checks every byte. Returns the bytes
/// moved.
std::uint64_t run_mix(Pair& pair, unsigned rounds, std::uint32_t bytes, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uint64_t moved = 0;
    const std::uint32_t area = 4 * bytes;
    const bool atomics = (pair.driver(1).read64(DINGO_REG_CAPS) & DINGO_CAP_ATOMIC) != 0;
    for (unsigned round = 0; round < rounds; ++round) {
        const auto size = static_cast<std::uint32_t>(bytes / 2 + random() % (bytes / 2));
        pair.fill(0, 0, size, random());
        pair.fill(1, area, size, random());
        pair.fill(0, 2 * area, size, random());
        pair.post_recv(round, 2 * area, size);
        pair.post(pair.write(0, 0, size));
        pair.post(pair.read(area, area, size));
        pair.post(pair.send(2 * area, size));
        if (atomics)
            pair.post(pair.fetch_add(3 * area, 3 * area, 1));
        for (int i = 0; i < (atomics ? 4 : 3); ++i)
            EXPECT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS) << "round " << round << ", " << i;
        const dingo_cqe recv = pair.wait(1);
        EXPECT_EQ(recv.status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(recv.wqe_index, round);
        EXPECT_EQ(recv.byte_len, size);
        EXPECT_TRUE(pair.same(0, 0, size)) << "WRITE of round " << round;
        EXPECT_TRUE(pair.same(area, area, size)) << "READ of round " << round;
        EXPECT_TRUE(pair.same(2 * area, 2 * area, size)) << "SEND of round " << round;
        const auto counter = pair.cards.host(1).load<std::uint64_t>(pair.mr[1].bus + 3 * area);
        EXPECT_EQ(counter, atomics ? round + 1u : 0u)
            << "an atomic was executed twice or not at all";
        moved += 3ull * size;
        if (testing::Test::HasFailure())
            break;
    }
    EXPECT_TRUE(pair.idle(0));
    EXPECT_TRUE(pair.idle(1));
    return moved;
}

}  // namespace

CONFORMANCE_SUITE(LossRecovery);

TEST_P(LossRecovery, LostMiddleIsAskedForByOneNak) {
    Pair pair(engine());
    WireFaults faults(pair.cards);
    FrameLog log(pair.cards);
    faults.add(Fault::kDrop, {.from = 0, .opcode = Opcode::kRcWriteMiddle, .skip = 2});
    pair.fill(0, 0, 8192, 1);
    EXPECT_EQ(pair.complete(pair.write(0, 0, 8192)).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(0, 0, 8192));
    EXPECT_EQ(pair.driver(1).qp_stats(pair.qp(1).qpn)[DINGO_QP_SEQ_NAK_SENT], 1u);
    EXPECT_EQ(pair.stat(0, DINGO_CARD_PACKET_SEQ_ERR), 1u);
    EXPECT_EQ(pair.stat(0, DINGO_CARD_LOCAL_ACK_TIMEOUT_ERR), 0u);
    EXPECT_GE(pair.stat(0, DINGO_CARD_RETRANSMITS), 1u);
}

TEST_P(LossRecovery, LostFirstAndLostLast) {
    for (Opcode lost : {Opcode::kRcWriteFirst, Opcode::kRcWriteLast}) {
        Pair pair(engine());
        WireFaults faults(pair.cards);
        faults.add(Fault::kDrop, {.from = 0, .opcode = lost});
        pair.fill(0, 0, 8192, 1);
        EXPECT_EQ(pair.complete(pair.write(0, 0, 8192)).status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(pair.same(0, 0, 8192));
        EXPECT_EQ(faults.injured, 1u);
    }
}

TEST_P(LossRecovery, LostAckCostsATimeoutAndIsNotExecutedTwice) {
    Pair pair(engine());
    WireFaults faults(pair.cards);
    faults.add(Fault::kDrop, {.from = 1, .opcode = Opcode::kRcAck});
    pair.post_recv(1, 0, 64);
    pair.post_recv(2, 64, 64);
    const Nanoseconds start = pair.cards.now();
    EXPECT_EQ(pair.complete(pair.send(0, 64)).status, DINGO_WCS_SUCCESS);
    const Nanoseconds passed = pair.cards.now() - start;
    EXPECT_GE(passed, packet::ack_timeout_ns(14));
    EXPECT_LE(passed, 4 * packet::ack_timeout_ns(14) + 1'000'000);
    EXPECT_EQ(pair.wait(1).wqe_index, 1u);
    EXPECT_TRUE(pair.idle(1));
    EXPECT_EQ(pair.stat(1, DINGO_CARD_DUPLICATE_REQUEST), 1u);
    EXPECT_EQ(pair.stat(0, DINGO_CARD_LOCAL_ACK_TIMEOUT_ERR), 1u);
}

TEST_P(LossRecovery, LostReadRequestAndEachLostResponse) {
    for (Opcode lost : {Opcode::kRcReadRequest, Opcode::kRcReadResponseFirst,
                        Opcode::kRcReadResponseMiddle, Opcode::kRcReadResponseLast}) {
        Pair pair(engine(), PairOptions().timeout(8));
        WireFaults faults(pair.cards);
        faults.add(Fault::kDrop, {.opcode = lost});
        pair.fill(1, 0, 6000, 2);
        EXPECT_EQ(pair.complete(pair.read(0, 0, 6000)).status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(pair.same(0, 0, 6000)) << packet::name(lost);
    }
}

TEST_P(LossRecovery, EveryFrameOfAMixLostOnce) {
    // First a run without faults to count the frames, then one run per frame.
    std::uint64_t frames = 0;
    {
        Pair pair(engine());
        WireFaults faults(pair.cards);
        run_mix(pair, 1, 3000, 7);
        frames = faults.frames;
    }
    ASSERT_GE(frames, 8u);
    for (unsigned lost = 0; lost < frames; ++lost) {
        Pair pair(engine(), PairOptions().timeout(8));
        WireFaults faults(pair.cards);
        faults.add(Fault::kDrop, {.skip = lost});
        run_mix(pair, 1, 3000, 7);
        EXPECT_EQ(faults.injured, 1u);
        if (HasFailure()) {
            ADD_FAILURE() << "with frame " << lost << " lost";
            break;
        }
    }
}

TEST_P(LossRecovery, EveryFrameOfAMixDuplicatedOrLate) {
    for (const Fault fault : {Fault::kDuplicate, Fault::kDelay, Fault::kCorrupt}) {
        for (unsigned at = 0; at < 16; at += thorough() ? 1 : 3) {
            Pair pair(engine(), PairOptions().timeout(8));
            WireFaults faults(pair.cards);
            faults.add(fault, {.skip = at}, 20'000);
            run_mix(pair, 1, 3000, 7);
            if (HasFailure()) {
                ADD_FAILURE() << "fault " << int(fault) << " at frame " << at;
                return;
            }
        }
    }
}

TEST_P(LossRecovery, DuplicatedRequestsAreCountedAndHarmless) {
    Pair pair(engine());
    WireFaults faults(pair.cards);
    faults.add_random({.duplicate = 1.0});
    run_mix(pair, 20, 5000, 3);
    EXPECT_GT(pair.stat(1, DINGO_CARD_DUPLICATE_REQUEST), 0u);
}

TEST_P(LossRecovery, RandomLossAtThreeRates) {
    struct Point {
        double drop;
        unsigned rounds;
        std::uint32_t bytes;
    };
    const unsigned scale = kSanitized ? 1 : effort(4, 1);
    for (const Point& point : {Point{0.001, 40 * scale, 200'000}, Point{0.01, 40 * scale, 100'000},
                               Point{0.05, 20 * scale, 40'000}}) {
        PairOptions options;
        options.bytes = 4u << 20;
        Pair pair(engine(), options.timeout(8));
        WireFaults faults(pair.cards);
        faults.add_random({.drop = point.drop, .seed = 42});
        const std::uint64_t moved =
            run_mix(pair, thorough() ? point.rounds : point.rounds / 3, point.bytes, 1);
        RecordProperty("moved_at_" + std::to_string(point.drop), std::to_string(moved));
        EXPECT_GT(faults.injured, 0u);
        EXPECT_EQ(pair.state(0), DINGO_QPS_RTS) << "at " << point.drop;
    }
}

TEST_P(LossRecovery, ThirtyPercentLossArrivesIntactOrFailsCleanly) {
    // Eight attempts are not always enough at this rate: then the QP fails and reports it.
    unsigned arrived = 0;
    unsigned failed = 0;
    for (unsigned seed = 1; seed <= (kSanitized ? 20u : repeats(100, 40)); ++seed) {
        Pair pair(engine(), PairOptions().timeout(8));
        WireFaults faults(pair.cards);
        faults.add_random({.drop = 0.3, .seed = seed});
        pair.fill(0, 0, 4000, seed);
        pair.fill(1, 10'000, 4000, seed);
        pair.post_recv(1, 20'000, 4000);
        pair.post(pair.write(0, 0, 4000));
        pair.post(pair.read(10'000, 10'000, 4000));
        pair.post(pair.send(0, 4000));
        constexpr std::array<std::array<std::uint64_t, 2>, 3> kPlaces = {
            {{0, 0}, {10'000, 10'000}, {0, 20'000}}};
        for (const auto& [local, remote] : kPlaces) {
            const dingo_cqe cqe = pair.wait();
            if (cqe.status == DINGO_WCS_SUCCESS) {
                EXPECT_TRUE(pair.same(local, remote, 4000)) << "seed " << seed;
                ++arrived;
            } else {
                EXPECT_TRUE(cqe.status == DINGO_WCS_RETRY_EXC_ERR ||
                            cqe.status == DINGO_WCS_WR_FLUSH_ERR)
                    << int(cqe.status);
                ++failed;
            }
        }
        EXPECT_TRUE(pair.idle(0));
    }
    EXPECT_GT(arrived, failed);
}

TEST_P(LossRecovery, DropReorderDuplicateAndCorruptTogether) {
    PairOptions options;
    options.bytes = 2u << 20;
    Pair pair(engine(), options.timeout(8));
    WireFaults faults(pair.cards);
    faults.add_random(
        {.drop = 0.01, .duplicate = 0.01, .reorder = 0.02, .corrupt = 0.01, .seed = 9});
    run_mix(pair, kSanitized ? 40 : repeats(200, 60), 60'000, 5);
    EXPECT_GT(pair.stat(0, DINGO_CARD_RX_ICRC_ENCAPSULATED) +
                  pair.stat(1, DINGO_CARD_RX_ICRC_ENCAPSULATED),
              0u);
}

TEST_P(LossRecovery, DamagedFramesAreDroppedAndCounted) {
    Pair pair(engine());
    WireFaults faults(pair.cards);
    faults.add(Fault::kCorrupt, {.from = 0, .opcode = Opcode::kRcWriteOnly});
    pair.fill(0, 0, 512, 1);
    EXPECT_EQ(pair.complete(pair.write(0, 0, 512)).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(0, 0, 512));
    EXPECT_EQ(pair.stat(1, DINGO_CARD_RX_ICRC_ENCAPSULATED), 1u);
}

TEST_P(LossRecovery, VanishedPeerEndsInRetryExceededAfterTheRightTime) {
    Pair pair(engine(), PairOptions().timeout(10, 3));
    WireFaults faults(pair.cards);
    FrameLog log(pair.cards);
    faults.add(Fault::kDrop, {.count = 1'000'000});
    const Nanoseconds start = pair.cards.now();
    pair.post(pair.write(0, 0, 64));
    pair.post(pair.write(0, 0, 64));
    EXPECT_EQ(pair.wait().status, DINGO_WCS_RETRY_EXC_ERR);
    EXPECT_EQ(pair.wait().status, DINGO_WCS_WR_FLUSH_ERR);
    const Nanoseconds t_tr = packet::ack_timeout_ns(10);
    EXPECT_GE(pair.cards.now() - start, 4 * t_tr);
    EXPECT_LE(pair.cards.now() - start, 4 * 4 * t_tr);
    EXPECT_EQ(log.count(0, Opcode::kRcWriteOnly), 2u * 4);
    EXPECT_EQ(pair.state(0), DINGO_QPS_ERR);
    EXPECT_EQ(pair.stat(0, DINGO_CARD_REQ_TRANSPORT_RETRIES_EXCEEDED), 1u);
}

TEST_P(LossRecovery, WirePulledForAShortTimeIsSurvived) {
    Pair pair(engine(), PairOptions().timeout(10));
    pair.fill(0, 0, 1'000'000, 1);
    pair.post(pair.write(0, 0, 1'000'000));
    pair.cards.run_for(2'500);
    ASSERT_TRUE(pair.idle(0)) << "the message had time to finish";
    for (unsigned card = 0; card < 2; ++card)
        pair.cards.card(card).engine->set_link(false);
    pair.cards.run_for(6'000'000);
    for (unsigned card = 0; card < 2; ++card)
        pair.cards.card(card).engine->set_link(true);
    EXPECT_EQ(pair.wait().status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(0, 0, 1'000'000));
}

TEST_P(LossRecovery, BusyWireLosesNothing) {
    Pair pair(engine());
    pair.fill(0, 0, 100'000, 1);
    pair.cards.card(0).wire.busy = pair.cards.card(1).wire.busy = true;
    pair.post(pair.write(0, 0, 100'000));
    pair.cards.run_for(50'000);
    pair.cards.card(0).wire.busy = pair.cards.card(1).wire.busy = false;
    EXPECT_EQ(pair.wait().status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(0, 0, 100'000));
    EXPECT_EQ(pair.stat(0, DINGO_CARD_RETRANSMITS), 0u);
}

}  // namespace dingo::conformance
