// SPDX-License-Identifier: BSD-2-Clause
//
// What stays out of frames within one host: the ICRC, and payloads between cards of one process.
#include "shm_support.h"

namespace dingo::test {
namespace {

bool icrc_fits(const Frame& frame) {
    packet::Packet p;
    return packet::parse(frame, p) == packet::ParseResult::kRoce && packet::icrc_check(frame, p);
}

void send_bare(Wire& wire, const Frame& frame) {
    const std::span<std::byte> room = wire.begin_frame(frame.size());
    ASSERT_FALSE(room.empty());
    ASSERT_FALSE(wire.needs_icrc());
    std::copy(frame.begin(), frame.end(), room.begin());
    wire.end_frame_without_icrc(frame.size());
    wire.flush();
}

TEST_F(Shm, CardsOfOneHostLeaveTheIcrcOut) {
    const auto a = card(1);
    const auto b = card(2);
    EXPECT_TRUE(b->needs_icrc()) << "what the peer wants is not known yet";
    settle({a.get(), b.get()});
    ASSERT_TRUE(send(*a, write_frame(1, 1)));
    for (unsigned psn = 0; psn < 300; psn++)
        send_bare(*a, bare_frame(psn));
    ASSERT_TRUE(send(*a, frame(1, 2)));
    a->flush();
    const SortingSink sink = sorted(*b);
    EXPECT_EQ(sink.with, (std::vector<Frame>{write_frame(1, 1), frame(1, 2)}));
    ASSERT_EQ(sink.without.size(), 300U);
    for (unsigned psn = 0; psn < 300; psn++)
        EXPECT_EQ(sink.without[psn], bare_frame(psn));
}

TEST_F(Shm, FlagGoesWithAFrameToAll) {
    const auto a = card(1);
    const auto b = card(2);
    const auto c = card(3);
    settle({a.get(), b.get(), c.get()});
    Frame to_all = bare_frame();
    to_all[0] = std::byte{3};
    send_bare(*a, to_all);
    EXPECT_EQ(sorted(*b).without, std::vector<Frame>{to_all});
    EXPECT_EQ(sorted(*c).without, std::vector<Frame>{to_all});
}

TEST_F(Shm, FlagGoesWithAFrameThatIsCopiedOrHeld) {
    const auto a = card(1);
    const auto b = card(2);
    const auto c = card(3);
    settle({a.get(), b.get(), c.get()});
    // Each frame for b is built in c's ring; the last one finds b's ring too full for it.
    std::size_t sent = 0;
    for (; send(*a, frame(1, 3)); sent++) {
        send_bare(*a, bare_frame());
        ASSERT_EQ(sorted(*c).with.size(), 1U);
        ASSERT_LT(sent, 10'000U);
    }
    EXPECT_EQ(sorted(*b).without.size(), sent - 1);
    a->flush();
    EXPECT_EQ(sorted(*b).without, std::vector<Frame>{bare_frame()});
}

TEST_F(Shm, CardThatWantsIcrcsGetsThemFromAll) {
    const auto a = card(1);
    const auto b = card(2);
    settle({a.get(), b.get()});
    EXPECT_FALSE(a->needs_icrc());
    auto strict = card(3, "", ",icrc=on");
    EXPECT_TRUE(strict->needs_icrc());
    settle({a.get(), b.get(), strict.get()});
    EXPECT_TRUE(a->needs_icrc());
    EXPECT_TRUE(b->needs_icrc());
    expect_contains(strict->describe(), "icrc=on");
    strict.reset();
    settle({a.get(), b.get()});
    EXPECT_FALSE(a->needs_icrc());
    EXPECT_FALSE(card(4, "", ",icrc=auto")->describe().ends_with("icrc=on"));
}

TEST_F(Shm, FlagIsNotHonouredByACardThatWantsIcrcs) {
    const auto strict = card(2, "", ",icrc=on");
    Hostile peer(dir_ + "/net");
    peer.hello();
    settle({strict.get()});
    const Frame bare = bare_frame();
    const std::uint32_t mark[2] = {static_cast<std::uint32_t>(bare.size()), kShmNoIcrc};
    std::memcpy(peer.data(0), mark, sizeof mark);
    std::memcpy(peer.data(0) + 16, bare.data(), bare.size());
    peer.ring(0).head = 16 + (bare.size() + 15) / 16 * 16;
    const SortingSink sink = sorted(*strict);
    EXPECT_TRUE(sink.without.empty());
    ASSERT_EQ(sink.with, std::vector<Frame>{bare});
    EXPECT_FALSE(icrc_fits(sink.with[0])) << "so the engine drops it";
}

TEST_F(Shm, FlagThatNobodyKnowsCutsThePeerOff) {
    const auto a = card(1);
    Hostile peer(dir_ + "/net");
    peer.hello();
    settle({a.get()});
    const std::uint32_t mark[2] = {100, 2};
    std::memcpy(peer.data(0), mark, sizeof mark);
    peer.ring(0).head = 128;
    settle({a.get()});
    EXPECT_TRUE(peer.cut_off());
    EXPECT_EQ(a->stats().rx_errors, 1U);
}

TEST_F(Shm, SinkThatKnowsNoFlagGetsAWholeFrame) {
    const auto a = card(1);
    const auto b = card(2);
    settle({a.get(), b.get()});
    send_bare(*a, bare_frame());
    const auto frames = take(*b);
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_TRUE(icrc_fits(frames[0]));
    Frame expected = bare_frame();
    std::copy(frames[0].end() - packet::kIcrcBytes, frames[0].end(),
              expected.end() - packet::kIcrcBytes);
    EXPECT_EQ(frames[0], expected) << "only the ICRC is new";
}

TEST_F(Shm, DisturbedSenderMakesIcrcsWhileItsRulesLast) {
    const auto a = card(1, "delay:ms=50,count=1");
    const auto b = card(2);
    a->advance(1);
    settle({b.get(), a.get()});
    EXPECT_TRUE(a->needs_icrc());
    EXPECT_FALSE(b->needs_icrc());
    ASSERT_TRUE(send(*a, write_frame(1, 1)));
    a->set_faults("");
    EXPECT_FALSE(a->needs_icrc());
    a->set_faults("corrupt:dir=rx,where=payload");
    EXPECT_FALSE(a->needs_icrc()) << "what it sends is not disturbed";
}

TEST_F(Shm, DamageDoneByTheReceiversRulesIsFoundThoughNoIcrcWasSent) {
    const auto a = card(1);
    const auto b = card(2);
    settle({a.get(), b.get()});
    send_bare(*a, bare_frame(1));
    b->set_faults("corrupt:dir=rx,psn=1,where=payload");  // the frame is on its way already
    send_bare(*a, bare_frame(2));
    const SortingSink sink = sorted(*b);
    EXPECT_TRUE(sink.without.empty());
    ASSERT_EQ(sink.with.size(), 2U);
    EXPECT_FALSE(icrc_fits(sink.with[0]));
    EXPECT_TRUE(icrc_fits(sink.with[1]));
}

TEST_F(Shm, CaptureAtEitherEndHasRightIcrcs) {
    WireOptions options;
    options.wire = "shm:" + dir_ + "/net";
    options.mac = kMac + 2;
    options.pcap = dir_ + "/b.pcap";
    const auto a = card(1);
    {
        const auto b = make_wire(options);
        settle({a.get(), b.get()});
        EXPECT_TRUE(b->needs_icrc()) << "what it sends is captured, too";
        send_bare(*a, bare_frame());
        const SortingSink sink = sorted(*b);
        ASSERT_EQ(sink.with.size(), 1U);
        EXPECT_TRUE(icrc_fits(sink.with[0]));
    }
    std::ifstream file(options.pcap, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    constexpr std::size_t kHeaders = 24 + 16;  // of file and record
    ASSERT_EQ(bytes.size(), kHeaders + bare_frame().size());
    const auto* const recorded = reinterpret_cast<const std::byte*>(bytes.data()) + kHeaders;
    EXPECT_TRUE(icrc_fits(Frame(recorded, recorded + bare_frame().size())));
}

TEST_F(ShmLocal, CardsOfOneThreadLeaveTheIcrcOutUnlessOneWantsIt) {
    const auto a = local(1);
    const auto b = local(2);
    send_bare(*a, bare_frame());
    EXPECT_EQ(sorted(*b).without.size(), 1U);
    auto strict = local(3, "net,icrc=on");
    EXPECT_TRUE(a->needs_icrc());
    EXPECT_TRUE(b->needs_icrc());
    strict.reset();
    settle({a.get(), b.get()});
    EXPECT_FALSE(a->needs_icrc());
}

/// Sends bare_frame() with its payload left in `payload`.
TEST_F(ShmLocal, PayloadsStayInMemoryUntilTheyAreReceived) {
    const auto a = local(1);
    const auto b = local(2);
    const Frame payload = payload_of(bare_frame());
    for (unsigned i = 0; i < 3000; i++) {  // more than the ring holds
        send_referring(*a, payload);
        const SortingSink sink = [&] {
            SortingSink out;
            b->receive(out, 16);
            return out;
        }();
        ASSERT_EQ(sink.elsewhere, std::vector<const std::byte*>{payload.data()});
    }
    EXPECT_EQ(a->stats().tx_frames, 3000U);
    EXPECT_EQ(b->stats().rx_errors, 0U);
}

TEST_F(ShmLocal, PayloadsThatWereGatheredAreInTheirFrames) {
    const auto a = local(1);
    const auto b = local(2);
    Frame payload = payload_of(bare_frame());
    SortingSink sink;
    for (unsigned i = 0; i < 20; i++) {
        send_referring(*a, payload);
        if (i < 7)
            b->receive(sink, 1);
    }
    a->gather();
    std::fill(payload.begin(), payload.end(), std::byte{0xee});
    sink = sorted(*b);
    EXPECT_EQ(sink.without, std::vector<Frame>(13, bare_frame()));
    EXPECT_EQ(sink.elsewhere, std::vector<const std::byte*>(13, nullptr));
}

TEST_F(ShmLocal, WhoReceivesGetsTheHolderOfAPayload) {
    auto a = local(1);
    const auto b = local(2);
    const Frame payload = payload_of(bare_frame());
    auto held = std::make_shared<HeldMemory>();
    send_referring(*a, payload);
    send_referring(*a, payload, bare_frame(), held);
    send_referring(*a, payload, bare_frame(), held);
    send_referring(*a, payload);
    a->gather();
    SortingSink sink = sorted(*b);
    EXPECT_EQ(sink.held, (std::vector<Held>{nullptr, held, held, nullptr}));
    EXPECT_EQ(sink.elsewhere,
              (std::vector<const std::byte*>{nullptr, payload.data(), payload.data(), nullptr}));
    send_referring(*a, payload, bare_frame(), held);
    a.reset();
    sink = sorted(*b);
    EXPECT_EQ(sink.without, std::vector<Frame>{bare_frame()});
    EXPECT_EQ(held.use_count(), 1);
}

TEST_F(ShmLocal, CardThatGoesLeavesNoFrameWithoutItsPayload) {
    auto a = local(1);
    const auto b = local(2);
    {
        const Frame payload = payload_of(bare_frame());
        send_referring(*a, payload);
        a.reset();
    }
    EXPECT_EQ(sorted(*b).without, std::vector<Frame>{bare_frame()});
}

TEST_F(ShmLocal, LayersAndOtherCardsGetWholeFrames) {
    const auto a = local(1);
    const auto b = local(2);
    const auto c = local(3);
    const Frame payload = payload_of(bare_frame());
    b->set_faults("drop:dir=rx,psn=9");
    send_referring(*a, payload);
    const SortingSink sink = sorted(*b);
    ASSERT_EQ(sink.with.size(), 1U);
    EXPECT_TRUE(icrc_fits(sink.with[0]));
    EXPECT_EQ(payload_of(sink.with[0]), payload);
    // Built in b's ring, but for c, and for all.
    Frame other = bare_frame();
    other[5] = std::byte{3};
    send_referring(*a, payload, other);
    EXPECT_EQ(sorted(*c).without, std::vector<Frame>{other});
    other[0] = std::byte{3};
    send_referring(*a, payload, other);
    EXPECT_EQ(sorted(*c).without, std::vector<Frame>{other});
    EXPECT_EQ(sorted(*b).with.size(), 1U);
}

}  // namespace
}  // namespace dingo::test
