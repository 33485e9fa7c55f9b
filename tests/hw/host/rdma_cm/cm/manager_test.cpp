// SPDX-License-Identifier: BSD-2-Clause
// Two communication managers on a wire controlled by the test: connections from REQ to timewait,
// losses, duplicates, refusals, and malformed datagrams.
#include "host/rdma_cm/cm/manager.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace dingo::cm {
namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;

Gid gid_of(std::uint8_t host) {
    return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, host};
}

/// An owner that records its events.
struct Peer final : Owner {
    void on_cm(const Event& event) override {
        kinds.push_back(event.kind);
        status = event.status;
        qpn = event.parameters.qpn;
        depth = event.parameters.initiator_depth;
    }
    [[nodiscard]] bool last(Event::Kind kind) const {
        return !kinds.empty() && kinds.back() == kind;
    }
    std::vector<Event::Kind> kinds;
    int status = 0;
    std::uint32_t qpn = 0;
    std::uint8_t depth = 0;
    Communication* connection = nullptr;
};

struct Side final : CmPort, Listeners {
    Side(std::uint8_t host, Nanoseconds& clock)
        : host_(host), clock_(clock), manager(*this, *this) {}

    void send(const Path& path, const Mad& mad) override { out.push_back({path, mad}); }
    [[nodiscard]] std::uint64_t ca_guid() const override { return 0x1000U + host_; }
    [[nodiscard]] std::uint8_t ack_delay() const override { return 15; }
    [[nodiscard]] int gid_index(const Gid& gid) const override {
        return gid == gid_of(host_) ? 1 : -1;
    }
    [[nodiscard]] std::uint8_t mtu() const override { return 5; }
    std::uint32_t random() override { return static_cast<std::uint32_t>(random_()); }
    [[nodiscard]] Nanoseconds now() const override { return clock_; }
    Answer on_request(Communication& connection, const Request& request) override {
        if (answer == Answer::kTaken) {
            requests.push_back(std::make_unique<Peer>());
            requests.back()->connection = &connection;
            requests.back()->qpn = request.parameters.qpn;
            connection.set_owner(requests.back().get());
        }
        return answer;
    }

    std::uint8_t host_;
    Nanoseconds& clock_;
    std::minstd_rand random_{host_};
    Answer answer = Answer::kTaken;
    std::vector<std::unique_ptr<Peer>> requests;
    std::deque<std::pair<Path, Mad>> out;
    Manager manager;
};

class CmManager : public ::testing::Test {
  protected:
    Nanoseconds clock = kSecond;
    Side a{1, clock};
    Side b{2, clock};
    Peer peer;

    /// Delivers what `from` has sent; returns the number of datagrams.
    static unsigned deliver(Side& from, Side& to) {
        unsigned count = 0;
        for (; !from.out.empty(); ++count) {
            const auto [path, mad] = from.out.front();
            from.out.pop_front();
            to.manager.receive(path.local, path.remote, mad);
        }
        return count;
    }
    void settle() {
        for (int n = 0; n < 20 && !(a.out.empty() && b.out.empty()); ++n) {
            deliver(a, b);
            deliver(b, a);
        }
    }
    void pass(Nanoseconds time) {
        clock += time;
        a.manager.poll(clock);
        b.manager.poll(clock);
    }
    static Communication::Target target() {
        Communication::Target t;
        t.service_id = 0x1061c53;
        t.path.local = gid_of(1);
        t.path.remote = gid_of(2);
        t.path.mtu = 5;
        t.starting_psn = 100;
        return t;
    }
    static Parameters parameters(std::uint32_t qpn) {
        Parameters p;
        p.qpn = qpn;
        p.responder_resources = 3;
        p.initiator_depth = 4;
        p.retry_count = 7;
        p.rnr_retry_count = 6;
        return p;
    }
    /// Establishes a connection: both ends are in kEstablished.
    Peer& establish() { return establish(target(), 0x1234); }
    Peer& establish(const Communication::Target& to, std::uint32_t qpn) {
        peer.connection = &a.manager.create(peer);
        EXPECT_TRUE(peer.connection->connect(to, parameters(qpn)));
        deliver(a, b);
        Peer& other = *b.requests.back();
        EXPECT_TRUE(other.connection->accept(200, parameters(qpn + 0x4444)));
        deliver(b, a);
        EXPECT_TRUE(peer.last(Event::Kind::kReply));
        EXPECT_TRUE(peer.connection->ready({}));
        deliver(a, b);
        EXPECT_TRUE(other.last(Event::Kind::kEstablished));
        return other;
    }
};

TEST_F(CmManager, ConnectsAndTellsEachSideWhatItNeeds) {
    const Peer& other = establish();
    const Communication& active = *peer.connection;
    const Communication& passive = *other.connection;
    EXPECT_EQ(active.state(), State::kEstablished);
    EXPECT_EQ(passive.state(), State::kEstablished);
    EXPECT_EQ(active.remote_qpn(), 0x5678U);
    EXPECT_EQ(passive.remote_qpn(), 0x1234U);
    EXPECT_EQ(active.rq_psn(), 100U);
    EXPECT_EQ(passive.sq_psn(), 100U);
    EXPECT_EQ(active.sq_psn(), 200U);
    EXPECT_EQ(active.initiator_depth(), 3);
    EXPECT_EQ(active.responder_resources(), 4);
    EXPECT_EQ(passive.path().remote, gid_of(1));
    EXPECT_EQ(passive.retry_count(), 7);
    EXPECT_EQ(passive.timeout(), 17);
}

TEST_F(CmManager, DisconnectsOnceOnBothSides) {
    Peer& other = establish();
    ASSERT_TRUE(peer.connection->disconnect());
    deliver(a, b);
    EXPECT_TRUE(other.last(Event::Kind::kDisconnected));
    ASSERT_TRUE(other.connection->disconnect());
    deliver(b, a);
    EXPECT_TRUE(peer.last(Event::Kind::kDisconnected));
    EXPECT_EQ(peer.status, 0);
    pass(2 * kSecond);
    EXPECT_TRUE(peer.last(Event::Kind::kTimewaitExit));
    EXPECT_TRUE(other.last(Event::Kind::kTimewaitExit));
    EXPECT_EQ(a.manager.next_deadline(), kNever);
}

TEST_F(CmManager, LostRequestIsRepeatedAndItsDuplicateAnsweredByMra) {
    peer.connection = &a.manager.create(peer);
    ASSERT_TRUE(peer.connection->connect(target(), parameters(0x1234)));
    a.out.clear();
    pass(5 * kSecond);
    EXPECT_EQ(deliver(a, b), 1U);
    ASSERT_EQ(b.requests.size(), 1U);
    pass(5 * kSecond);
    EXPECT_EQ(deliver(a, b), 1U);
    EXPECT_EQ(b.requests.size(), 1U);
    EXPECT_EQ(b.manager.stats().duplicates, 1U);
    deliver(b, a);
    EXPECT_EQ(peer.connection->state(), State::kMraReqReceived);
}

TEST_F(CmManager, LostRtuIsRepeatedForARepeatedRep) {
    peer.connection = &a.manager.create(peer);
    ASSERT_TRUE(peer.connection->connect(target(), parameters(0x1234)));
    deliver(a, b);
    Peer& other = *b.requests.back();
    ASSERT_TRUE(other.connection->accept(200, parameters(0x5678)));
    deliver(b, a);
    ASSERT_TRUE(peer.connection->ready({}));
    a.out.clear();
    pass(5 * kSecond);
    settle();
    EXPECT_EQ(other.connection->state(), State::kEstablished);
    EXPECT_EQ(peer.kinds.size(), 1U);
}

TEST_F(CmManager, NobodyAnswersIsUnreachableAfterSixteenTries) {
    peer.connection = &a.manager.create(peer);
    ASSERT_TRUE(peer.connection->connect(target(), parameters(0x1234)));
    unsigned sent = 0;
    for (int n = 0; n < 100 && peer.kinds.empty(); ++n) {
        sent += static_cast<unsigned>(a.out.size());
        a.out.clear();
        pass(kSecond);
    }
    EXPECT_EQ(sent, 16U);
    EXPECT_TRUE(peer.last(Event::Kind::kUnreachable));
    EXPECT_EQ(peer.status, -ETIMEDOUT);
    a.manager.destroy(*peer.connection);
    EXPECT_EQ(a.manager.size(), 0U);
}

TEST_F(CmManager, NobodyListensIsRejectedAtOnce) {
    b.answer = Listeners::Answer::kNobody;
    peer.connection = &a.manager.create(peer);
    ASSERT_TRUE(peer.connection->connect(target(), parameters(0x1234)));
    settle();
    EXPECT_TRUE(peer.last(Event::Kind::kRejected));
    EXPECT_EQ(peer.status, static_cast<int>(Reason::kInvalidServiceId));
    EXPECT_EQ(b.manager.size(), 0U);
}

TEST_F(CmManager, RejectionOfTheApplicationCarriesItsData) {
    peer.connection = &a.manager.create(peer);
    ASSERT_TRUE(peer.connection->connect(target(), parameters(0x1234)));
    deliver(a, b);
    ASSERT_TRUE(b.requests[0]->connection->reject(Reason::kConsumerDefined, {}));
    deliver(b, a);
    EXPECT_TRUE(peer.last(Event::Kind::kRejected));
    EXPECT_EQ(peer.status, static_cast<int>(Reason::kConsumerDefined));
}

TEST_F(CmManager, WhoeverVanishesSaysSo) {
    Peer& other = establish();
    a.manager.destroy(*peer.connection);
    deliver(a, b);
    EXPECT_TRUE(other.last(Event::Kind::kDisconnected));
    b.manager.destroy(*other.connection);
    settle();
    pass(5 * kSecond);
    EXPECT_EQ(a.manager.size(), 0U);
    EXPECT_EQ(b.manager.size(), 0U);
}

// The owner's identifier ends its charge at once.
TEST_F(CmManager, WhatIsReleasedIsKeptForSecondsAndInLimitedNumber) {
    constexpr std::size_t kRounds = Manager::kMaxReleased + 10;
    Communication::Target slow = target();
    slow.path.packet_life_time = 30;  // RDMA_OPTION_ID_ACK_TIMEOUT 31
    for (std::uint32_t n = 0; n < kRounds; ++n) {
        Peer& other = establish(slow, 0x1000 + n);
        a.manager.destroy(*peer.connection);
        b.manager.destroy(*other.connection);
        a.out.clear();
        b.out.clear();
        b.requests.clear();
    }
    EXPECT_EQ(a.manager.size(), Manager::kMaxReleased);
    EXPECT_EQ(b.manager.size(), Manager::kMaxReleased);
    const auto requests_of = [&](std::uint32_t qpn) {
        Communication& asks = a.manager.create(peer);
        EXPECT_TRUE(asks.connect(slow, parameters(qpn)));
        deliver(a, b);
        for (const auto& request : b.requests) {
            b.manager.destroy(*request->connection);
        }
        a.manager.destroy(asks);
        a.out.clear();
        b.out.clear();
        return std::exchange(b.requests, {}).size();
    };
    EXPECT_EQ(requests_of(0x1000), 1U) << "the oldest one has ended";
    EXPECT_EQ(requests_of(0x1000 + kRounds - 1), 0U) << "the newest one has not";
    pass(9 * kSecond);
    EXPECT_EQ(a.manager.size(), 0U);
    EXPECT_EQ(b.manager.size(), 0U);
}

TEST_F(CmManager, WithdrawnRequestIsToldToWhoHasIt) {
    peer.connection = &a.manager.create(peer);
    ASSERT_TRUE(peer.connection->connect(target(), parameters(0x1234)));
    deliver(a, b);
    a.manager.destroy(*peer.connection);
    deliver(a, b);
    EXPECT_TRUE(b.requests[0]->last(Event::Kind::kRejected));
    EXPECT_EQ(b.requests[0]->status, static_cast<int>(Reason::kTimeout));
    EXPECT_FALSE(b.requests[0]->connection->accept(1, parameters(7)));
}

TEST_F(CmManager, QpnThatIsUsedAgainEndsTheOldConnection) {
    const Peer& other = establish();
    Peer second;
    second.connection = &a.manager.create(second);
    ASSERT_TRUE(second.connection->connect(target(), parameters(0x1234)));
    deliver(a, b);
    EXPECT_EQ(other.connection->state(), State::kDreqSent);
    deliver(b, a);
    EXPECT_TRUE(second.last(Event::Kind::kRejected));
    EXPECT_EQ(second.status, static_cast<int>(Reason::kStaleConnection));
    EXPECT_TRUE(peer.last(Event::Kind::kDisconnected));
}

// Otherwise an unrelated host that claims another card's GUID and QPN could end its connections, or
// have its requests refused.
TEST_F(CmManager, AStrangerThatSaysAnothersGuidEndsNothing) {
    const auto as_stranger = [&] {
        for (; !a.out.empty(); a.out.pop_front()) {
            b.manager.receive(gid_of(9), gid_of(2), a.out.front().second);
        }
        b.out.clear();
    };
    const Peer& other = establish();
    Peer second;
    second.connection = &a.manager.create(second);
    ASSERT_TRUE(second.connection->connect(target(), parameters(0x1234)));
    as_stranger();
    EXPECT_EQ(other.connection->state(), State::kEstablished);

    Peer third;
    third.connection = &a.manager.create(third);
    ASSERT_TRUE(third.connection->connect(target(), parameters(0x77)));
    const auto request = a.out.front();
    as_stranger();
    const auto known = b.requests.size();
    a.out.push_back(request);
    deliver(a, b);
    EXPECT_EQ(b.requests.size(), known + 1) << "the request itself is none that is repeated";
}

TEST_F(CmManager, DreqOfAForgottenConnectionIsAnswered) {
    Peer& other = establish();
    b.manager.destroy(*other.connection);
    b.out.clear();
    pass(2 * kSecond);  // its timewait has ended
    EXPECT_EQ(b.manager.size(), 0U);
    ASSERT_TRUE(peer.connection->disconnect());
    settle();
    EXPECT_TRUE(peer.last(Event::Kind::kDisconnected));
    EXPECT_EQ(peer.status, 0);
}

TEST_F(CmManager, DatagramServiceIsResolvedAndItsLostAnswerRepeated) {
    peer.connection = &a.manager.create(peer);
    ASSERT_TRUE(peer.connection->ask(target(), {}));
    deliver(a, b);
    ASSERT_EQ(b.requests.size(), 1U);
    ASSERT_TRUE(b.requests[0]->connection->answer(SidrStatus::kSuccess, parameters(0x99)));
    b.out.clear();
    pass(5 * kSecond);
    settle();
    EXPECT_EQ(b.requests.size(), 1U);
    EXPECT_TRUE(peer.last(Event::Kind::kSidrReply));
    EXPECT_EQ(peer.qpn, 0x99U);
}

TEST_F(CmManager, DatagramServiceThatNobodyOffersIsUnreachable) {
    b.answer = Listeners::Answer::kNobody;
    peer.connection = &a.manager.create(peer);
    ASSERT_TRUE(peer.connection->ask(target(), {}));
    settle();
    EXPECT_TRUE(peer.last(Event::Kind::kUnreachable));
    EXPECT_EQ(peer.status, static_cast<int>(SidrStatus::kUnsupported));
    EXPECT_EQ(b.manager.size(), 0U);
}

TEST_F(CmManager, NonsenseIsCountedAndChangesNothing) {
    const Peer& other = establish();
    Req bad;
    bad.local_id = 5;
    bad.qpn = 7;
    bad.path_mtu = 9;
    b.manager.receive(gid_of(1), gid_of(2), encode(bad, 0));
    EXPECT_EQ(b.manager.stats().malformed, 1U);
    bad.path_mtu = 5;
    bad.transport = Transport::kRd;
    bad.remote_gid = gid_of(2);
    b.manager.receive(gid_of(1), gid_of(2), encode(bad, 0));
    EXPECT_EQ(b.manager.stats().refused, 1U);
    for (const auto& mad : {encode(Rtu{}, 0), encode(Rep{}, 0), encode(Rej{}, 0), encode(Drep{}, 0),
                            encode(Mra{}, 0), encode(SidrRep{}, 0)}) {
        b.manager.receive(gid_of(1), gid_of(2), mad);
    }
    EXPECT_EQ(b.manager.stats().unmatched, 6U);
    Mad other_class = encode(Rtu{}, 0);
    other_class[1] = std::byte{3};
    b.manager.receive(gid_of(1), gid_of(2), other_class);
    EXPECT_EQ(b.manager.stats().malformed, 2U);
    EXPECT_EQ(other.connection->state(), State::kEstablished);
}

TEST_F(CmManager, RandomDatagramsNeitherCrashNorStay) {
    std::minstd_rand random(7);
    Peer& other = establish();
    for (int n = 0; n < 20000; ++n) {
        Mad mad{};
        for (std::byte& byte : mad) {
            byte = static_cast<std::byte>(random());
        }
        mad[0] = std::byte{1};
        mad[1] = std::byte{7};
        mad[2] = std::byte{2};
        mad[3] = std::byte{3};
        mad[16] = std::byte{0};
        mad[17] = static_cast<std::byte>(0x10 + random() % 11);
        b.manager.receive(gid_of(1), gid_of(2), mad);
        b.out.clear();
    }
    EXPECT_EQ(other.connection->state(), State::kEstablished);
    for (const auto& request : b.requests) {
        b.manager.destroy(*request->connection);
    }
    b.requests.clear();
    b.out.clear();
    pass(10'000 * kSecond);
    EXPECT_EQ(b.manager.size(), 0U);
}

}  // namespace
}  // namespace dingo::cm
