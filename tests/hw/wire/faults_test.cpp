// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <bit>
#include <numeric>

#include "dingo/packet/icrc.h"
#include "support.h"

namespace dingo::test {
namespace {

/// An in-process wire with a fault injector at the sending end, and optionally at the other.
struct FaultyWire {
    explicit FaultyWire(const std::string& faults, std::uint64_t seed = 1,
                        std::size_t ring = 1024 * 1024) {
        auto [first, second] = make_loop_pair(ring);
        WireOptions options;
        options.faults = faults;
        options.seed = seed;
        a = wrap_wire(std::move(first), options);
        b = wrap_wire(std::move(second), {});
    }
    /// Sends the frames and gives what is at the other end then.
    std::vector<Frame> pass(const std::vector<Frame>& frames) {
        for (const Frame& frame : frames)
            EXPECT_TRUE(send(*a, frame));
        return take();
    }
    std::vector<Frame> take() {
        a->flush();
        KeepingSink sink;
        while (b->receive(sink, 64) != 0) {
        }
        return sink.frames;
    }
    std::unique_ptr<Wire> a;
    std::unique_ptr<Wire> b;
};

std::vector<Frame> writes(unsigned count, unsigned qpn = 0x11, unsigned first_psn = 0) {
    std::vector<Frame> out;
    for (unsigned i = 0; i < count; i++)
        out.push_back(write_frame(qpn, (first_psn + i) & 0xffffff));
    return out;
}

std::size_t differing_bits(const Frame& a, const Frame& b) {
    EXPECT_EQ(a.size(), b.size());
    return std::inner_product(
        a.begin(), a.end(), b.begin(), std::size_t{0}, std::plus<>(),
        [](std::byte x, std::byte y) { return std::popcount(std::to_integer<unsigned>(x ^ y)); });
}

std::size_t first_difference(const Frame& a, const Frame& b) {
    return static_cast<std::size_t>(
        std::distance(a.begin(), std::mismatch(a.begin(), a.end(), b.begin()).first));
}

using Psns = std::vector<unsigned>;

TEST(Faults, NoneMeansUntouched) {
    FaultyWire wire("");
    const auto frames = writes(100);
    EXPECT_EQ(wire.pass(frames), frames);
    EXPECT_EQ(wire.a->next_deadline(), kNever);
}

TEST(Faults, DropLosesAboutTheGivenShare) {
    FaultyWire wire("drop=10%");
    const std::size_t arrived = wire.pass(writes(5000)).size();
    EXPECT_NEAR(static_cast<double>(arrived), 4500, 150);
    EXPECT_EQ(wire.a->stats().faults.dropped, 5000 - arrived);
    EXPECT_EQ(wire.a->stats().tx_frames, arrived);
}

TEST(Faults, DuplicateSendsTheCopyRightBehind) {
    FaultyWire wire("duplicate:nth=2");
    EXPECT_EQ(psns(wire.pass(writes(3))), (Psns{0, 1, 1, 2}));
    EXPECT_EQ(wire.a->stats().faults.duplicated, 1U);
}

TEST(Faults, ReorderLetsTheGivenNumberOfFramesOvertake) {
    FaultyWire wire("reorder:nth=2,by=3");
    EXPECT_EQ(psns(wire.pass(writes(7))), (Psns{0, 2, 3, 4, 1, 5, 6}));
    EXPECT_EQ(wire.a->stats().faults.reordered, 1U);
}

TEST(Faults, ReorderedFrameDoesNotWaitForeverForOthers) {
    FaultyWire wire("reorder:nth=1,by=3,us=100");
    wire.a->advance(1'000'000);
    EXPECT_TRUE(wire.pass(writes(1)).empty());
    EXPECT_EQ(wire.a->next_deadline(), 1'100'000U);
    wire.a->advance(1'099'999);
    EXPECT_TRUE(wire.take().empty());
    wire.a->advance(1'100'000);
    EXPECT_EQ(psns(wire.take()), (Psns{0}));
    EXPECT_EQ(wire.a->next_deadline(), kNever);
}

TEST(Faults, ReorderingEverythingLosesNothing) {
    FaultyWire wire("reorder:p=50%,by=4", 3);
    auto arrived = psns(wire.pass(writes(1000)));
    wire.a->advance(10'000'000);
    for (const unsigned psn : psns(wire.take()))
        arrived.push_back(psn);
    EXPECT_FALSE(std::is_sorted(arrived.begin(), arrived.end()));
    std::sort(arrived.begin(), arrived.end());
    EXPECT_EQ(arrived, psns(writes(1000)));
}

TEST(Faults, DelayHoldsForTheGivenTimeAndOthersOvertake) {
    FaultyWire wire("delay:us=200,psn=1");
    wire.a->advance(5'000'000);
    EXPECT_EQ(psns(wire.pass(writes(4))), (Psns{0, 2, 3}));
    EXPECT_EQ(wire.a->next_deadline(), 5'200'000U);
    wire.a->advance(5'199'999);
    EXPECT_TRUE(wire.take().empty());
    wire.a->advance(5'200'000);
    EXPECT_EQ(psns(wire.take()), (Psns{1}));
}

TEST(Faults, DelayedFramesKeepTheirOrder) {
    FaultyWire wire("delay:ms=1");
    EXPECT_TRUE(wire.pass(writes(50)).empty());
    wire.a->advance(1'000'000);
    EXPECT_EQ(psns(wire.take()), psns(writes(50)));
}

TEST(Faults, JitterStaysWithinItsBound) {
    FaultyWire wire("delay:us=100,jitter_us=50");
    EXPECT_TRUE(wire.pass(writes(200)).empty());
    EXPECT_GE(wire.a->next_deadline(), 100'000U);
    wire.a->advance(125'000);
    const std::size_t half = wire.take().size();
    EXPECT_GT(half, 50U);
    EXPECT_LT(half, 150U);
    wire.a->advance(150'000);
    EXPECT_EQ(wire.take().size(), 200 - half);
}

TEST(Faults, CorruptFlipsOneBitThatTheReceiverMustNotice) {
    for (const std::string_view ip : {"4", "6"}) {
        const auto on = ip == "4" ? path() : path("fd77::1", "fd77::2");
        const Frame frame = roce_frame("RC_SEND_ONLY qpn=0x11 psn=7 payload=pattern:5", on);
        FaultyWire wire("corrupt");
        const auto arrived = wire.pass(std::vector<Frame>(3000, frame));
        ASSERT_EQ(arrived.size(), 3000U);
        for (const Frame& bad : arrived) {
            EXPECT_EQ(differing_bits(bad, frame), 1U);
            packet::Packet p;
            const bool accepted =
                packet::parse(bad, p) == packet::ParseResult::kRoce && packet::icrc_check(bad, p);
            EXPECT_FALSE(accepted) << "byte " << first_difference(bad, frame) << " IPv" << ip;
        }
        EXPECT_EQ(wire.a->stats().faults.corrupted, 3000U);
    }
}

TEST(Faults, CorruptStaysInThePartAskedFor) {
    const Frame frame = roce_frame("RC_SEND_ONLY qpn=0x11 psn=7 payload=pattern:64");
    struct Range {
        const char* where;
        std::size_t first, end;
    };
    // Ethernet 14, IPv4 20, UDP 8, BTH 12, payload 64, ICRC 4.
    for (const auto& [where, first, end] :
         {Range{"eth", 12, 14}, Range{"ip", 14, 34}, Range{"l4", 34, 122}, Range{"bth", 42, 54},
          Range{"payload", 54, 118}, Range{"icrc", 118, 122}, Range{"any", 12, 122}}) {
        FaultyWire wire(fmt::format("corrupt:where={}", where));
        std::size_t low = frame.size(), high = 0;
        for (const Frame& bad : wire.pass(std::vector<Frame>(3000, frame))) {
            low = std::min(low, first_difference(bad, frame));
            high = std::max(high, first_difference(bad, frame));
        }
        EXPECT_EQ(low, first) << where;
        EXPECT_EQ(high, end - 1) << where;
    }
}

TEST(Faults, CorruptFlipsAsManyBitsAsAsked) {
    const Frame frame = write_frame(1, 2);
    FaultyWire wire("corrupt:bits=20");
    for (const Frame& bad : wire.pass(std::vector<Frame>(50, frame)))
        EXPECT_EQ(differing_bits(bad, frame), 20U);
}

TEST(Faults, CorruptLeavesFramesAloneThatLackThePart) {
    FaultyWire wire("corrupt:once");
    const std::vector<Frame> frames = {plain_frame(60, 1), plain_frame(14, 2)};
    EXPECT_EQ(wire.pass(frames), frames);
    EXPECT_EQ(wire.a->stats().faults.corrupted, 0U);
    EXPECT_NE(wire.pass({write_frame(1, 1)}).at(0), write_frame(1, 1)) << "once was used up";
}

TEST(Faults, EcnMarksBothIpVersionsAndKeepsTheChecksumsRight) {
    for (const bool v6 : {false, true}) {
        for (const unsigned before : {0U, 1U, 2U, 3U}) {
            auto on = v6 ? path("fd77::1", "fd77::2") : path();
            on.ecn = static_cast<std::uint8_t>(before);
            on.dscp = 26;
            FaultyWire wire("ecn");
            const auto arrived =
                wire.pass({roce_frame("RC_SEND_ONLY qpn=3 psn=7 payload=pattern:9 ipid=77", on)});
            packet::Packet p;
            ASSERT_EQ(packet::parse(arrived.at(0), p), packet::ParseResult::kRoce);
            EXPECT_TRUE(packet::icrc_check(arrived[0], p));
            EXPECT_EQ(p.ecn, 3U);
            EXPECT_EQ(p.dscp, 26U);
        }
    }
}

TEST(Faults, VlanFramesAreSelectedToo) {
    FaultyWire wire("drop:qpn=9");
    auto on = path();
    on.has_vlan = true;
    on.vlan_tci = 100;
    EXPECT_TRUE(wire.pass({roce_frame("RC_SEND_ONLY qpn=9 psn=7 payload=4", on)}).empty());
}

TEST(Faults, QpnSelects) {
    FaultyWire wire("drop:qpn=0x11+3..4");
    std::vector<Frame> frames;
    for (const unsigned qpn : {2U, 3U, 4U, 5U, 0x11U})
        frames.push_back(write_frame(qpn, qpn));
    EXPECT_EQ(psns(wire.pass(frames)), (Psns{2, 5}));
}

TEST(Faults, PsnSelectsAndRangesWrap) {
    FaultyWire wire("drop:psn=0xfffffe..1");
    EXPECT_EQ(psns(wire.pass(writes(6, 1, 0xfffffd))), (Psns{0xfffffd, 2}));
}

TEST(Faults, OpcodeSelects) {
    FaultyWire wire("drop:opcode=rc_ack+rc_send_*");
    const Frame ack = roce_frame("RC_ACKNOWLEDGE qpn=1 psn=1 syndrome=ack msn=1");
    const Frame read = roce_frame("RC_RDMA_READ_REQUEST qpn=1 psn=2 va=0 rkey=1 len=8");
    EXPECT_EQ(psns(wire.pass({ack, read, roce_frame("RC_SEND_ONLY qpn=1 psn=3 payload=8")})),
              (Psns{2}));
}

TEST(Faults, TypeSelects) {
    const std::vector<Frame> frames = {plain_frame(60, 1), write_frame(1, 1)};
    EXPECT_EQ(FaultyWire("drop:type=roce").pass(frames), std::vector<Frame>{frames[0]});
    EXPECT_EQ(FaultyWire("drop:type=other").pass(frames), std::vector<Frame>{frames[1]});
    EXPECT_TRUE(FaultyWire("drop").pass(frames).empty());
}

TEST(Faults, NthEveryAndCountSelectAmongTheMatchingFrames) {
    EXPECT_EQ(psns(FaultyWire("drop:nth=3..4").pass(writes(6))), (Psns{0, 1, 4, 5}));
    EXPECT_EQ(psns(FaultyWire("drop:every=3").pass(writes(7))), (Psns{0, 1, 3, 4, 6}));
    EXPECT_EQ(psns(FaultyWire("drop:count=2").pass(writes(5))), (Psns{2, 3, 4}));
    EXPECT_EQ(psns(FaultyWire("drop:once").pass(writes(3))), (Psns{1, 2}));
    EXPECT_EQ(psns(FaultyWire("drop:psn=5..9,nth=2").pass(writes(8))), (Psns{0, 1, 2, 3, 4, 5, 7}));
}

TEST(Faults, DirectionSelects) {
    const auto frames = writes(3);
    FaultyWire tx("drop:dir=tx,nth=1");
    EXPECT_EQ(psns(tx.pass(frames)), (Psns{1, 2}));
    EXPECT_EQ(psns(pass(*tx.b, *tx.a, frames)), (Psns{0, 1, 2}));
    FaultyWire both("drop:dir=both,nth=2");
    EXPECT_EQ(psns(both.pass(frames)), (Psns{0, 2}));
    EXPECT_EQ(psns(pass(*both.b, *both.a, frames, 2)), (Psns{0, 2}));
}

TEST(Faults, EveryActionWorksOnTheReceivingSide) {
    FaultyWire wire(
        "drop:dir=rx,psn=0;duplicate:dir=rx,psn=1;reorder:dir=rx,psn=2,by=2;"
        "delay:dir=rx,psn=3,us=10;ecn:dir=rx,psn=4");
    auto& near = *wire.b;  // sends without faults
    const auto arrived = pass(near, *wire.a, writes(7), 6);
    EXPECT_EQ(psns(arrived), (Psns{1, 1, 4, 5, 2, 6}));
    packet::Packet p;
    ASSERT_EQ(packet::parse(arrived[2], p), packet::ParseResult::kRoce);
    EXPECT_EQ(p.ecn, 3U);
    EXPECT_EQ(wire.a->next_deadline(), 10'000U);
    wire.a->advance(10'000);
    KeepingSink sink;
    wire.a->receive(sink, 8);
    EXPECT_EQ(psns(sink.frames), (Psns{3}));
}

TEST(Faults, SeveralRulesActOnOneFrame) {
    FaultyWire wire("ecn:psn=1;duplicate:psn=1;reorder:psn=1,by=1");
    const auto arrived = wire.pass(writes(4));
    EXPECT_EQ(psns(arrived), (Psns{0, 2, 1, 1, 3}));
}

TEST(Faults, SameSeedAndFramesGiveTheSameFaults) {
    const std::string spec =
        "drop=5%,duplicate=5%,reorder=5%;corrupt:p=5%,where=any;delay:p=5%,us=10;ecn:p=5%";
    const auto run = [&](std::uint64_t seed) {
        FaultyWire wire(spec, seed);
        std::vector<Frame> all;
        for (unsigned i = 0; i < 20; i++) {
            wire.a->advance(i * 7'000);
            for (Frame& frame : wire.pass(writes(50, 1, i * 50)))
                all.push_back(std::move(frame));
        }
        return all;
    };
    EXPECT_EQ(run(1), run(1));
    EXPECT_NE(run(1), run(2));
}

TEST(Faults, WhatIsReceivedDoesNotChangeTheFaultsOfWhatIsSent) {
    const auto run = [&](bool with_traffic) {
        FaultyWire wire("drop:p=20%,dir=both", 5);
        std::vector<Frame> all;
        for (unsigned i = 0; i < 200; i++) {
            if (with_traffic)
                pass(*wire.b, *wire.a, {write_frame(2, i)}, 0);
            for (Frame& frame : wire.pass({write_frame(1, i)}))
                all.push_back(std::move(frame));
        }
        return all;
    };
    EXPECT_EQ(run(false), run(true));
}

TEST(Faults, RulesAreReplacedAtRunTime) {
    FaultyWire wire("drop");
    EXPECT_TRUE(wire.pass(writes(2)).empty());
    wire.a->set_faults("delay:ms=50");
    EXPECT_TRUE(wire.pass(writes(2)).empty());
    EXPECT_THROW(wire.a->set_faults("nonsense"), WireError);
    EXPECT_TRUE(wire.pass(writes(1, 1, 2)).empty()) << "a bad spec must not end the old rules";
    wire.a->set_faults("");
    EXPECT_EQ(psns(wire.take()), (Psns{0, 1, 2})) << "held frames must come free";
    EXPECT_EQ(wire.pass(writes(2)).size(), 2U);
    EXPECT_EQ(wire.a->next_deadline(), kNever);
}

TEST(Faults, DueFramesWaitWhileTheWireIsFull) {
    FaultyWire wire("delay:psn=0,us=10", 1, 64 * 1024);
    ASSERT_TRUE(send(*wire.a, write_frame(1, 0, 1024)));
    unsigned psn = 1;
    while (send(*wire.a, write_frame(1, psn, 1024)))
        psn++;
    wire.a->advance(10'000);
    const std::size_t first = wire.take().size();
    EXPECT_EQ(first, psn - 1);
    EXPECT_EQ(psns(wire.take()), (Psns{0}));
}

TEST(Faults, MemoryForHeldFramesIsBounded) {
    FaultyWire wire("delay:ms=100");
    const Frame frame = plain_frame(kMaxFrame, 1);
    std::size_t passed = 0;
    for (unsigned i = 0; i < 10'000; i++)
        passed += wire.pass({frame}).size();
    EXPECT_GT(passed, 0U);
    EXPECT_EQ(wire.a->stats().faults.overflowed, passed);
    EXPECT_GT(10'000 - passed, 1'000U);
}

TEST(Faults, MalformedFramesAreHandled) {
    FaultyWire wire("drop:qpn=5;corrupt:where=any,p=50%;ecn:p=50%;duplicate:type=roce,p=10%");
    const Frame good = write_frame(1, 2);
    for (std::size_t size = 14; size < good.size(); size++)
        wire.pass({Frame(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size))});
    std::uint64_t state = 1;
    for (unsigned i = 0; i < 20'000; i++) {
        Frame frame = good;
        for (unsigned n = 0; n < 4; n++) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            frame[12 + (state >> 33) % 60] = static_cast<std::byte>(state >> 56);
        }
        wire.pass({frame});
    }
}

}  // namespace
}  // namespace dingo::test
