// SPDX-License-Identifier: BSD-2-Clause
//
// Packet trains on an shm segment.
#include "dingo/packet/train.h"
#include "shm_support.h"

namespace dingo::test {
namespace {

constexpr unsigned kPackets = 4;
constexpr std::size_t kPayload = 4 * 1024;
constexpr unsigned kPsn = 8;

/// Frames, and what came as trains.
class TrainSink final : public FrameSink {
  public:
    void on_frame(std::span<const std::byte> frame) override {
        frames.emplace_back(frame.begin(), frame.end());
    }
    void on_train(std::span<const std::byte> frame, const Elsewhere& payload,
                  unsigned packets) override {
        trains.emplace_back(frame.begin(), frame.end());
        elsewhere.push_back(payload.at);
        held.push_back(payload.held);
        counts.push_back(packets);
    }
    std::vector<Frame> frames;
    std::vector<Frame> trains;
    std::vector<const std::byte*> elsewhere;
    std::vector<Held> held;
    std::vector<unsigned> counts;
};

/// From card 1 to card 2; without ICRC.
Frame train_frame() {
    packet::NetworkPath on = path();
    on.dmac = packet::Mac::from_u64(kMac + 2);
    Frame out = roce_frame(
        fmt::format("RC_RDMA_WRITE_MIDDLE qpn=17 psn={} payload=pattern:{}", kPsn, kPayload), on);
    std::fill(out.end() - packet::kIcrcBytes, out.end(), std::byte{0});
    return out;
}

std::size_t payload_offset(const Frame& frame) {
    return frame.size() - packet::kIcrcBytes - kPayload;
}

std::span<const std::byte> payload_in(const Frame& frame) {
    return std::span(frame).subspan(payload_offset(frame), kPayload);
}

void send_train(Wire& wire) {
    const Frame frame = train_frame();
    const auto room = wire.begin_train(frame.size(), kPackets, kMac + 2);
    ASSERT_TRUE(room && room->size() == frame.size());
    std::copy(frame.begin(), frame.end(), room->begin());
    wire.end_frame_without_icrc(frame.size());
    wire.flush();
}

void send_train_referring(Wire& wire, std::span<const std::byte> payload,
                          const Held& held = nullptr) {
    Frame frame = train_frame();
    const std::size_t offset = payload_offset(frame);
    std::fill_n(frame.begin() + static_cast<std::ptrdiff_t>(offset), kPayload, std::byte{0});
    const auto room = wire.begin_train(frame.size(), kPackets, kMac + 2);
    ASSERT_TRUE(room && room->size() == frame.size());
    std::copy(frame.begin(), frame.end(), room->begin());
    wire.end_frame_referring(frame.size(), offset, payload, held);
    wire.flush();
}

TrainSink received(Wire& wire) {
    TrainSink sink;
    for (int i = 0; i < 200; i++)
        wire.receive(sink, 256);
    return sink;
}

class ShmTrains : public Shm {
  protected:
    std::unique_ptr<Wire> a = card(1);
    std::unique_ptr<Wire> b = card(2);
    ShmTrains() { settle({a.get(), b.get()}); }
    /// Sends until a train's payload stays in memory.
    TrainSink until_it_stays(std::span<const std::byte> payload) {
        for (unsigned i = 0; i < 50; i++) {
            send_train_referring(*a, payload);
            TrainSink sink = received(*b);
            EXPECT_EQ(sink.trains.size(), 1U);
            if (sink.elsewhere != std::vector<const std::byte*>{nullptr})
                return sink;
            EXPECT_TRUE(std::ranges::equal(payload_in(sink.trains.at(0)), payload));
            settle({a.get(), b.get()});
        }
        return {};
    }
    std::optional<std::span<std::byte>> ask(Wire& wire, std::uint64_t to = kMac + 2) {
        const auto room = wire.begin_train(train_frame().size(), kPackets, to);
        if (room)
            wire.end_frame(0);
        return room;
    }
};

TEST_F(ShmTrains, OneIsOneFrameThatCountsAsItsPackets) {
    send_train(*a);
    const TrainSink sink = received(*b);
    EXPECT_TRUE(sink.frames.empty());
    EXPECT_EQ(sink.trains, std::vector<Frame>{train_frame()});
    EXPECT_EQ(sink.elsewhere, std::vector<const std::byte*>{nullptr});
    EXPECT_EQ(sink.counts, std::vector<unsigned>{kPackets});
    EXPECT_EQ(a->stats().tx_frames, kPackets);
    EXPECT_EQ(b->stats().rx_frames, kPackets);
}

TEST_F(ShmTrains, WhoWantsPacketsGetsThemWhole) {
    send_train(*a);
    const std::vector<Frame> frames = take(*b);
    ASSERT_EQ(frames.size(), kPackets);
    const Frame whole = train_frame();
    for (unsigned i = 0; i < kPackets; i++) {
        packet::Packet packet;
        ASSERT_EQ(packet::parse(frames[i], packet), packet::ParseResult::kRoce);
        EXPECT_TRUE(packet::icrc_check(frames[i], packet));
        EXPECT_EQ(packet.bth.psn, kPsn + i);
        EXPECT_TRUE(std::ranges::equal(packet.payload, payload_in(whole).subspan(i * 1024, 1024)));
    }
}

TEST_F(ShmTrains, FaultsAtTheReceiverArePackets) {
    b->set_faults("drop:dir=rx,psn=9");
    send_train(*a);
    std::vector<std::uint32_t> psns;
    for (const Frame& frame : take(*b)) {
        packet::Packet packet;
        ASSERT_EQ(packet::parse(frame, packet), packet::ParseResult::kRoce);
        psns.push_back(packet.bth.psn);
    }
    EXPECT_EQ(psns, (std::vector<std::uint32_t>{8, 10, 11}));
}

TEST_F(ShmTrains, PayloadStaysWhereItIsAndIsTakenBack) {
    Exported memory;
    const Frame whole = train_frame();
    const auto payload = memory.payload(8192, kPayload);
    std::ranges::copy(payload_in(whole), payload.begin());
    const TrainSink first = until_it_stays(payload);
    ASSERT_EQ(first.elsewhere.size(), 1U);
    EXPECT_TRUE(std::equal(payload.begin(), payload.end(), first.elsewhere[0]));
    EXPECT_EQ(first.counts, std::vector<unsigned>{kPackets});
    send_train_referring(*a, payload);
    a->gather();
    std::ranges::fill(payload, std::byte{0xee});
    const TrainSink back = received(*b);
    EXPECT_EQ(back.trains, std::vector<Frame>{whole});
    EXPECT_EQ(back.elsewhere, std::vector<const std::byte*>{nullptr});
    EXPECT_EQ(back.counts, std::vector<unsigned>{kPackets});
    EXPECT_EQ(a->stats().rx_errors + b->stats().rx_errors, 0U);
}

TEST_F(ShmTrains, NoneGoesWhereItIsNotTaken) {
    EXPECT_TRUE(ask(*a));
    EXPECT_FALSE(ask(*a, kMac + 3)) << "nobody";
    EXPECT_FALSE(ask(*a, 0xffffffffffff)) << "everybody";
    a->set_faults("drop:p=0");
    EXPECT_FALSE(ask(*a)) << "faults are packets'";
    a->set_faults("");
    EXPECT_TRUE(ask(*a));
    ASSERT_TRUE(a->begin_train(kMaxTrain, 8, kMac + 2));
    a->end_frame(0);
    EXPECT_FALSE(a->begin_train(kMaxTrain + 1, 8, kMac + 2));
    b.reset();
    b = card(2, "", ",refs=off");
    settle({a.get(), b.get()});
    EXPECT_FALSE(ask(*a));
    b.reset();
    b = card(2, "", ",icrc=on");
    settle({a.get(), b.get()});
    EXPECT_FALSE(ask(*a));
}

TEST_F(ShmTrains, AFullRingTakesNoneForNow) {
    const std::size_t bytes = train_frame().size();
    for (unsigned i = 0; i < 1000; i++) {
        const auto room = a->begin_train(bytes, kPackets, kMac + 2);
        ASSERT_TRUE(room);
        if (room->empty())
            break;
        const Frame frame = train_frame();
        std::copy(frame.begin(), frame.end(), room->begin());
        a->end_frame_without_icrc(bytes);
    }
    EXPECT_EQ(a->stats().tx_full, 1U);
    const std::size_t sent = a->stats().tx_frames / kPackets;
    EXPECT_EQ(received(*b).trains.size(), sent);
    EXPECT_FALSE(ask(*a)->empty());
}

TEST_F(ShmTrains, APeerThatTakesNothingHoldsUpTheOthersOnce) {
    const auto c = card(3);  // beside another peer it is waited for 20 ms
    settle({a.get(), b.get(), c.get()});
    const Frame single = bare_frame();
    const std::size_t train_bytes = kMaxTrain - 512;
    Nanoseconds now = 1;
    Nanoseconds waited = 0;
    for (unsigned i = 0; i < 100'000 && a->stats().tx_dropped == 0; i++) {
        a->advance(now);
        const auto train = a->begin_train(train_bytes, 32, kMac + 2);
        if (train && !train->empty()) {
            std::ranges::copy(single, train->begin());
            a->end_frame_without_icrc(train_bytes);
            continue;
        }
        if (!train) {  // as an engine: a packet instead
            const auto room = a->begin_frame(single.size());
            if (!room.empty()) {
                std::ranges::copy(single, room.begin());
                a->end_frame_without_icrc(single.size());
                continue;
            }
        }
        now += 1'000'000;
        waited += 1'000'000;
    }
    EXPECT_GT(a->stats().tx_dropped, 0U);
    EXPECT_LE(waited, 25'000'000U);
    received(*b);
    ASSERT_FALSE(a->begin_frame(single.size()).empty());
    a->end_frame(0);
    const auto room = ask(*a);
    ASSERT_TRUE(room) << "it is there again";
    EXPECT_FALSE(room->empty());
}

/// What a peer that breaks the rules can do.
class ShmBadTrains : public Shm {
  protected:
    ShmBadTrains() {
        settle({a.get()});
        peer.hello(kMagic, true, kVersion, 2);
        settle({a.get()});
    }
    void push(std::uint32_t flags, std::size_t length) {
        const Frame frame = train_frame();
        const std::uint64_t mark = length | std::uint64_t{flags} << 32U;
        std::memcpy(peer.data(0), &mark, sizeof mark);
        std::copy(frame.begin(), frame.end(), peer.data(0) + 16);
        peer.ring(0).head = (16 + length + 15) / 16 * 16;
    }
    std::unique_ptr<Wire> a = card(2);
    Hostile peer{dir_ + "/net"};
};

TEST_F(ShmBadTrains, OnesThatCannotBeCutItOff) {
    const std::size_t size = train_frame().size();
    const std::vector<std::pair<std::uint32_t, std::size_t>> bad{
        {shm_train_flags(4), size},                 // with an ICRC
        {kShmNoIcrc | 1U << kShmTrainShift, size},  // of one packet
        {kShmNoIcrc | shm_train_flags(4), kMaxTrain + 1},
        {kShmNoIcrc, kMaxTrain},
    };
    for (const auto& [flags, length] : bad) {
        Hostile another(dir_ + "/net");
        another.hello(kMagic, true, kVersion, 2);
        settle({a.get()});
        const std::uint64_t mark = length | std::uint64_t{flags} << 32U;
        std::memcpy(another.data(0), &mark, sizeof mark);
        another.ring(0).head = (16 + length + 15) / 16 * 16;
        EXPECT_TRUE(received(*a).trains.empty());
        EXPECT_TRUE(another.cut_off()) << flags << ' ' << length;
    }
}

TEST_F(ShmBadTrains, ANumberOfPacketsThatIsNotThatOfItsPayloadGivesNone) {
    push(kShmNoIcrc | shm_train_flags(200), train_frame().size());
    EXPECT_TRUE(take(*a).empty());
    EXPECT_FALSE(peer.cut_off());
}

TEST_F(ShmBadTrains, OneToACardThatWantsIcrcsIsAnError) {
    a.reset();
    a = card(2, "", ",icrc=on");
    settle({a.get()});
    Hostile another(dir_ + "/net");
    another.hello(kMagic, true, kVersion, 2);
    settle({a.get()});
    const Frame frame = train_frame();
    const std::uint64_t mark = frame.size() | std::uint64_t{kShmNoIcrc | shm_train_flags(kPackets)}
                                                  << 32U;
    std::memcpy(another.data(0), &mark, sizeof mark);
    std::copy(frame.begin(), frame.end(), another.data(0) + 16);
    another.ring(0).head = (16 + frame.size() + 15) / 16 * 16;
    const TrainSink sink = received(*a);
    EXPECT_TRUE(sink.trains.empty() && sink.frames.empty());
    EXPECT_EQ(a->stats().rx_errors, 1U);
}

TEST_F(ShmLocal, TrainsOfOneThreadStayAndAreTakenBack) {
    const auto a = local(1);
    const auto b = local(2);
    settle({a.get(), b.get()});
    const Frame whole = train_frame();
    std::vector<std::byte> payload(payload_in(whole).begin(), payload_in(whole).end());
    struct Keeper final : HeldMemory {};
    const Held keeper = std::make_shared<Keeper>();
    send_train_referring(*a, payload, keeper);
    send_train_referring(*a, payload);
    a->gather();
    std::ranges::fill(payload, std::byte{0xee});
    send_train(*a);
    const TrainSink sink = received(*b);
    ASSERT_EQ(sink.trains.size(), 3U);
    EXPECT_EQ(sink.elsewhere, (std::vector<const std::byte*>{payload.data(), nullptr, nullptr}));
    EXPECT_EQ(sink.held[0], keeper);
    EXPECT_EQ(sink.trains[1], whole);
    EXPECT_EQ(sink.trains[2], whole);
    EXPECT_EQ(sink.counts, (std::vector<unsigned>{kPackets, kPackets, kPackets}));
}

}  // namespace
}  // namespace dingo::test
