// SPDX-License-Identifier: BSD-2-Clause
//
// The general services QP: management datagrams between cards.
#include "host/driver/gsi.h"

#include <fcntl.h>

#include <optional>

#include "dingo/packet/headers.h"
#include "two_cards.h"

namespace dingo::uverbs::test {
namespace {

MadBytes mad_of(std::uint32_t number) {
    MadBytes mad{};
    std::memcpy(mad.data(), &number, sizeof number);
    mad.back() = std::byte{0x5d};
    return mad;
}

AhAttr to(const Gid& gid, std::uint8_t sgid_index) {
    AhAttr attr;
    attr.dgid = gid;
    attr.sgid_index = sgid_index;
    attr.is_global = true;
    return attr;
}

class GsiTest : public TwoCards {
  protected:
    /// Runs until nothing is left to do, like settle().
    void run() {
        const auto take = [this](const GsiReceived& got) { received.push_back(got); };
        for (int idle = 0, rounds = 0; idle < 3 && rounds < 10'000; ++rounds) {
            bool more = a->poll(now);
            more = b->poll(now) || more;
            more = gsi_a->poll(take) || more;
            more = gsi_b->poll(take) || more;
            idle = more ? 0 : idle + 1;
        }
    }
    AhAttr to_b(std::uint8_t index) const { return to(b->driver.gids().at(index).gid, index); }

    std::optional<Gsi> gsi_a{a->driver}, gsi_b{b->driver};
    std::vector<GsiReceived> received;
};

TEST_F(GsiTest, DatagramsOfBothProtocolsTellWhoSentThem) {
    for (const std::uint8_t index : {1, 2}) {  // IPv4, IPv6
        received.clear();
        gsi_a->send(to_b(index), mad_of(index));
        run();
        ASSERT_EQ(received.size(), 1U) << "it waited for the neighbour's answer, and left once";
        EXPECT_EQ(received[0].source, a->driver.gids().at(index).gid);
        EXPECT_EQ(received[0].destination, b->driver.gids().at(index).gid);
        EXPECT_EQ(received[0].qpn, 1U);
        EXPECT_EQ(received[0].mad, mad_of(index));
        EXPECT_EQ(gsi_a->stats().sent, index);
        EXPECT_EQ(gsi_b->stats().received, index);
    }
    EXPECT_EQ(gsi_a->stats().unsent, 0U);
}

// The queues wrap around many times; an old entry must not be taken for a new one.
TEST_F(GsiTest, EachOfThousandsIsReceivedOnce) {
    constexpr std::uint32_t kBurst = 100;  // more than the send queue holds
    constexpr std::uint32_t kAll = 3000;
    for (std::uint32_t n = 0; n < kAll; n += kBurst) {
        for (std::uint32_t i = n; i < n + kBurst; ++i) {
            gsi_a->send(to_b(1), mad_of(i));
        }
        run();
        ASSERT_EQ(received.size(), n + kBurst);
    }
    for (std::uint32_t n = 0; n < kAll; ++n) {
        ASSERT_EQ(received[n].mad, mad_of(n));
    }
    EXPECT_EQ(gsi_a->stats().sent, kAll);
    EXPECT_EQ(gsi_b->stats().received, kAll);
    EXPECT_EQ(gsi_b->stats().wrong_length, 0U);
    EXPECT_FALSE(gsi_b->poll([](const GsiReceived&) {})) << "nothing is left";
}

// A card with management traffic must not sleep before it is done, nor stay awake afterwards.
TEST_F(GsiTest, PollTellsWhetherSomethingWasDone) {
    const auto take = [this](const GsiReceived& got) { received.push_back(got); };
    gsi_a->send(to_b(1), mad_of(0));
    EXPECT_FALSE(gsi_a->poll(take)) << "it waits for the neighbour";
    settle();  // the answer has arrived
    EXPECT_TRUE(gsi_a->poll(take)) << "now it leaves";
    run();
    ASSERT_EQ(received.size(), 1U);
    constexpr std::size_t kMany = 20;
    for (std::uint32_t n = 1; n <= kMany; ++n) {
        gsi_a->send(to_b(1), mad_of(n));
    }
    settle();
    EXPECT_TRUE(gsi_b->poll(take));
    EXPECT_EQ(received.size(), 1 + kMany) << "all that came are taken in one turn";
    EXPECT_FALSE(gsi_b->poll(take));
    EXPECT_TRUE(gsi_a->poll(take)) << "they have been sent";
    EXPECT_FALSE(gsi_a->poll(take));
}

// A sender that is faster than address resolution must not take unlimited memory.
TEST_F(GsiTest, TooManyForANeighbourThatIsNotFoundYetAreCountedAndLeftOut) {
    constexpr std::uint32_t kAll = 5000;
    for (std::uint32_t n = 0; n < kAll; ++n) {
        gsi_a->send(to_b(1), mad_of(n));
    }
    const std::uint64_t unsent = gsi_a->stats().unsent;
    EXPECT_GT(unsent, kAll / 2);
    EXPECT_LT(unsent, kAll - 100);
    run();
    EXPECT_EQ(received.size(), kAll - unsent);
    EXPECT_EQ(gsi_a->stats().sent, kAll - unsent);
    EXPECT_EQ(gsi_a->stats().unsent, unsent);
}

TEST_F(GsiTest, ThereIsOneAndASecondLeavesItAsItWas) {
    Driver& d = a->driver;
    const std::size_t regions = d.keys().indexes().in_use();
    const std::size_t windows = d.bus().size();
    EXPECT_NE(errno_of([&] { const Gsi second(a->driver); }), 0);
    EXPECT_EQ(d.keys().indexes().in_use(), regions);
    EXPECT_EQ(d.bus().size(), windows);
    gsi_a->send(to_b(1), mad_of(1));
    run();
    EXPECT_EQ(received.size(), 1U);
    gsi_b->send(to(a->driver.gids().at(1).gid, 1), mad_of(2));
    run();
    EXPECT_EQ(received.size(), 2U);
}

// Anybody may send to QP1, whose Q_Key is well known (IBTA 10.2.5): datagrams that are not MADs
// must not use up its buffers.
TEST_F(GsiTest, DatagramsOfAnyLengthLeaveItsBuffersToOthers) {
    constexpr std::uint32_t kQkey = 0x80010000;
    constexpr std::uint8_t kUd = 4;
    Client stranger(*a);
    auto qp = stranger.make_qp(kUd);
    Udata none;
    QpAttr attr;
    attr.port_num = 1;
    attr.qkey = kQkey;
    attr.qp_state = DINGO_QPS_INIT;
    qp.qp->modify(attr, DINGO_QPM_STATE | DINGO_QPM_PORT | DINGO_QPM_PKEY_INDEX | DINGO_QPM_QKEY,
                  none);
    attr.qp_state = DINGO_QPS_RTR;
    qp.qp->modify(attr, DINGO_QPM_STATE, none);
    attr.qp_state = DINGO_QPS_RTS;
    qp.qp->modify(attr, DINGO_QPM_STATE | DINGO_QPM_SQ_PSN, none);
    gsi_a->send(to_b(1), mad_of(1));  // resolves the neighbour
    run();
    ASSERT_EQ(received.size(), 1U);
    auto memory = std::make_shared<ClientMemory>(
        ::getpid(), ForeignFd(::open("/proc/self/mem", O_RDWR | O_CLOEXEC)));
    std::vector<std::byte> data(1000);
    const auto va = reinterpret_cast<std::uint64_t>(data.data());
    const Mr mr(a->driver, *stranger.pd, {memory, va, data.size(), va, {}}, 1, none);
    const AddressVector av = make_address_vector(a->driver, to_b(1), 0, 0);
    const auto post = [&](std::uint32_t length) {
        dingo_wqe_ctrl ctrl{};
        ctrl.opcode = DINGO_WR_SEND;
        ctrl.flags = DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK;
        ctrl.blocks = 2;
        ctrl.num_sge = 1;
        dingo_wqe_ud ud{};
        ud.dest_qpn = DINGO_QPN_GSI;
        ud.qkey = kQkey;
        std::ranges::copy(av.dgid, ud.dgid);
        std::ranges::copy(av.dmac, ud.dmac);
        ud.sgid_index = av.sgid_index;
        ud.udp_sport = av.udp_sport;
        ud.hop_limit = av.hop_limit;
        dingo_sge sge{};
        sge.addr = va;
        sge.lkey = mr.key();
        sge.length = length;
        std::byte* const at =
            qp.sq.memory.data() + (qp.producer % (1U << qp.sq.map.log_size)) * DINGO_SQ_BLOCK;
        std::memset(at, 0, 2 * DINGO_SQ_BLOCK);
        std::memcpy(at, &ctrl, sizeof ctrl);
        std::memcpy(at + sizeof ctrl, &ud, sizeof ud);
        std::memcpy(at + DINGO_SQ_BLOCK, &sge, sizeof sge);
        qp.producer += 2;
        qp.sq.ring(DINGO_DB_SQ, qp.qp->number(), qp.producer);
        stranger.kick();
        ASSERT_EQ(wait_cqe(stranger).status, DINGO_WCS_SUCCESS);
        run();
        stranger.arm_cq();
        stranger.kick();
    };
    for (int n = 0; n < 300; ++n) {  // more than the number of buffers
        post(n % 2 == 0 ? 8 : 1000);
    }
    EXPECT_EQ(received.size(), 1U);
    EXPECT_EQ(gsi_b->stats().wrong_length, 150U);
    post(256);
    EXPECT_EQ(received.size(), 2U) << "as long as a MAD: it is one";
    for (std::uint32_t n = 0; n < 300; ++n) {
        gsi_a->send(to_b(1), mad_of(n));
    }
    run();
    EXPECT_EQ(received.size(), 302U);
}

TEST_F(GsiTest, ANeighbourThatDoesNotAnswerHoldsUpNobody) {
    const Gid nobody = packet::parse_gid("10.77.0.9").value().bytes;
    gsi_a->send(to(nobody, 1), mad_of(1));
    gsi_a->send(to_b(1), mad_of(2));
    run();
    ASSERT_EQ(received.size(), 1U);
    EXPECT_EQ(received[0].mad, mad_of(2));
    EXPECT_EQ(gsi_a->stats().unsent, 0U) << "it still waits";
    for (unsigned second = 0; second <= Neighbours::kTries; ++second) {
        now += Neighbours::kRetry;
        run();
    }
    EXPECT_EQ(gsi_a->stats().unsent, 1U);
    EXPECT_EQ(gsi_a->stats().sent, 1U);
    EXPECT_EQ(received.size(), 1U);
    gsi_a->send(to(packet::parse_gid("192.0.2.1").value().bytes, 1), mad_of(3));
    EXPECT_EQ(gsi_a->stats().unsent, 2U) << "no way there";
}

TEST_F(GsiTest, ObjectsGoWithIt) {
    Driver& d = a->driver;
    const std::size_t windows = d.bus().size();
    const std::size_t regions = d.keys().indexes().in_use();
    gsi_a.reset();
    EXPECT_LT(d.bus().size(), windows);
    EXPECT_EQ(d.keys().indexes().in_use(), regions - 1);
    gsi_a.emplace(a->driver);
    EXPECT_EQ(d.bus().size(), windows);
    gsi_a->send(to_b(1), mad_of(1));
    run();
    EXPECT_EQ(received.size(), 1U);
}

struct LastFrame final : FrameSink {
    void on_frame(std::span<const std::byte> got) override { frame.assign(got.begin(), got.end()); }
    std::vector<std::byte> frame;
};

TEST(GsiFrames, LeaveWithWhatTheAddressVectorSays) {
    auto wires = make_loop_pair();
    Host host(*wires.first, 0x02'44'49'00'00'0A, {});
    Gsi gsi(host.driver);
    const auto sent = [&](const char* peer, std::uint8_t hop_limit) {
        AhAttr attr = to(packet::parse_gid(peer).value().bytes, 0);
        attr.traffic_class = 0x68;
        attr.flow_label = 0x12345;
        attr.hop_limit = hop_limit;
        gsi.send(attr, mad_of(1));
        for (int n = 0; n < 8; ++n) {
            host.poll(1'000'000);
        }
        LastFrame sink;
        wires.second->receive(sink, 100);
        EXPECT_GT(sink.frame.size(), packet::kEthernetBytes + packet::kIpv6Bytes);
        sink.frame.resize(packet::kMinEthernetFrameBytes);
        return packet::Ipv6Header::load(&sink.frame[packet::kEthernetBytes]);
    };
    const auto ip = sent("fe80::44:49ff:fe00:b", 7);
    EXPECT_EQ(ip.hop_limit, 64) << "the route's: a host next to us";
    EXPECT_EQ(ip.traffic_class, 0x68);
    EXPECT_EQ(ip.flow_label, 0x12345U);
    EXPECT_EQ(sent("ff02::1", 3).hop_limit, 3) << "a group has no route";
}

TEST(GsiFrames, ACardWithoutDatagramsIsNotAsked) {
    auto wires = make_loop_pair();
    Host host(*wires.first, 0x02'44'49'00'00'0A, {}, DINGO_CAP_UD);
    const auto commands = [&] {
        for (const auto& [name, value] : host.driver.card_counters()) {
            if (name == "admin_errors") {
                return value;
            }
        }
        return ~std::uint64_t{0};
    };
    const std::uint64_t before = commands();
    EXPECT_EQ(errno_of([&] { Gsi gsi(host.driver); }), EOPNOTSUPP);
    EXPECT_EQ(commands(), before);
}

}  // namespace
}  // namespace dingo::uverbs::test
