// SPDX-License-Identifier: BSD-2-Clause
//
// A peer on an shm segment that takes nothing, or little: cards that send to it wait, and no others
// do.
#include <algorithm>
#include <deque>
#include <numeric>
#include <vector>

#include "base/poller.h"
#include "shm_support.h"
#include "wire/fair_start.h"

namespace dingo::test {
namespace {

/// Cards 1, 2 and 3; the ring from 1 to 2 is full.
class ShmFull : public Shm {
  protected:
    static constexpr std::size_t kBytes = 5000;
    static constexpr Nanoseconds kMillisecond = 1'000'000;

    ShmFull() {
        settle({a.get(), slow.get(), other.get()});
        a->advance(now);
        while (send_to(2)) {
        }
        a->flush();
    }
    /// A sender that says where the frame goes.
    bool send_to(unsigned n) {
        const Frame f = frame(1, n, kBytes);
        const std::span<std::byte> room = a->begin_frame_to(f.size(), kMac + n);
        if (room.empty())
            return false;
        std::ranges::copy(f, room.begin());
        a->end_frame(f.size());
        return true;
    }
    void pass_time(Nanoseconds time) {
        a->advance(now += time);
        a->flush();
    }
    std::uint64_t dropped() const { return a->stats().tx_dropped; }

    std::unique_ptr<Wire> a = card(1);
    std::unique_ptr<Wire> slow = card(2);
    std::unique_ptr<Wire> other = card(3);
    Nanoseconds now = 1'000'000'000;
};

TEST_F(ShmFull, WhoSendsElsewhereGoesOn) {
    EXPECT_TRUE(a->full_by_address());
    const std::vector<Frame> expected(100, frame(1, 3, kBytes));
    for (unsigned i = 0; i < 100; i++) {
        EXPECT_FALSE(send_to(2));
        ASSERT_TRUE(send_to(3)) << i;
    }
    a->flush();
    EXPECT_EQ(take(*other), expected);
    EXPECT_EQ(dropped(), 0U) << "who sends to the full ring waits";
}

TEST_F(ShmFull, ATrainElsewhereGoesOn) {
    const auto room = [&](unsigned n) { return a->begin_train(kBytes, 4, kMac + n); };
    const auto none = room(2);
    ASSERT_TRUE(none.has_value());
    EXPECT_TRUE(none->empty());
    const auto there = room(3);
    ASSERT_TRUE(there.has_value());
    EXPECT_FALSE(there->empty());
}

TEST_F(ShmFull, APeerThatTakesLittleIsWaitedForByItsOwnSendersOnly) {
    KeepingSink sink;
    unsigned elsewhere = 0;
    for (unsigned i = 0; i < 50; i++) {
        pass_time(19 * kMillisecond);  // less than it takes to be given up on
        slow->receive(sink, 1);
        while (send_to(2)) {
        }
        elsewhere += send_to(3) ? 1 : 0;
        a->flush();
        take(*other);
    }
    EXPECT_EQ(elsewhere, 50U);
    EXPECT_EQ(dropped(), 0U);
}

TEST_F(ShmFull, WhoDoesNotSayWhereIsHeldUpForAPartOfTheTime) {
    ASSERT_TRUE(send(*a, frame(1, 2, kBytes)));  // held
    EXPECT_FALSE(send(*a, frame(1, 3, kBytes)));
    EXPECT_TRUE(send_to(3)) << "others are not";
    EXPECT_EQ(a->next_deadline(), now + 2 * kMillisecond);
    pass_time(2 * kMillisecond);
    EXPECT_EQ(dropped(), 1U);
    EXPECT_TRUE(send(*a, frame(1, 3, kBytes)));

    // From then on a tenth of the time.
    unsigned held_up = 0;
    constexpr unsigned kRounds = 1000;
    KeepingSink sink;
    for (unsigned i = 0; i < kRounds; i++) {
        pass_time(kMillisecond / 10);
        if (i % 100 == 0)
            slow->receive(sink, 1);  // it is not given up on
        send(*a, frame(1, 2, kBytes));
        held_up += send(*a, frame(1, 3, kBytes)) ? 0 : 1;
        a->flush();
        take(*other);
    }
    EXPECT_LT(held_up, kRounds / 5);
    EXPECT_GT(held_up, kRounds / 50);
    EXPECT_GT(dropped(), 500U);
}

// Senders that say where a frame goes, and senders that do not, as the RTL.
TEST_F(ShmFull, EveryFrameIsReceivedOrCountedAsLost) {
    std::uint64_t begun = a->stats().tx_frames;  // in the full ring
    std::uint64_t received = 0;
    KeepingSink sink;
    const auto take_some = [&](Wire& wire, unsigned most) { received += wire.receive(sink, most); };
    constexpr unsigned kRounds = 3000;
    for (unsigned i = 0; i < kRounds; i++) {
        const unsigned to = 2 + i % 2;
        begun += (i % 3 == 0 ? send_to(to) : send(*a, frame(1, to, kBytes))) ? 1 : 0;
        if (i % 7 == 0)
            pass_time(kMillisecond / 2);
        if (i % 50 == 0)
            take_some(*slow, 2);
        take_some(*other, 100);
    }
    for (unsigned i = 0; i < 1000; i++) {
        a->flush();
        take_some(*slow, 100);
        take_some(*other, 100);
    }
    const auto lost = [&] { return a->stats().tx_dropped + a->stats().tx_no_peer; };
    EXPECT_GT(dropped(), 0U);
    EXPECT_EQ(begun, received + lost());
    EXPECT_EQ(a->stats().tx_frames, received);
}

TEST_F(ShmFull, AFrameThatIsHeldForACardThatGoesIsCountedAsLost) {
    const std::uint64_t before = a->stats().tx_frames;
    ASSERT_TRUE(send(*a, frame(1, 2, kBytes)));
    slow.reset();
    KeepingSink sink;
    for (unsigned i = 0; i < 10; i++) {
        pass_time(kMillisecond / 10);
        a->receive(sink, 1);
    }
    EXPECT_EQ(a->stats().tx_frames, before);
    EXPECT_EQ(a->stats().tx_dropped + a->stats().tx_no_peer, 1U);
}

TEST_F(ShmFull, TheOnlyPeerIsWaitedForBeforeAnythingIsLost) {
    other.reset();
    take(*a);
    pass_time(kMillisecond);
    EXPECT_FALSE(send(*a, frame(1, 2, kBytes)));
    pass_time(19 * kMillisecond);
    EXPECT_FALSE(send(*a, frame(1, 2, kBytes)));
    EXPECT_EQ(dropped(), 0U);
}

TEST_F(ShmFull, AGroupGoesToThoseWhoHaveRoom) {
    const Frame f = frame(1, 0xff, kBytes);
    const std::span<std::byte> room = a->begin_frame_to(f.size(), 0xff'ff'ff'ff'ff'ff);
    ASSERT_FALSE(room.empty());
    std::ranges::copy(f, room.begin());
    a->end_frame(f.size());
    a->flush();
    EXPECT_EQ(take(*other), std::vector<Frame>{f});
    EXPECT_EQ(dropped(), 1U);
}

TEST_F(ShmFull, FaultsAndCapturesLeaveItSo) {
    WireOptions options;
    options.wire = "shm:" + dir_ + "/net";
    options.mac = kMac + 4;
    options.pcap = dir_ + "/capture";
    const auto layered = make_wire(options);
    EXPECT_TRUE(layered->full_by_address());
    settle({layered.get()});
    const auto send_from_it = [&](unsigned n) {
        const std::span<std::byte> room = layered->begin_frame_to(kBytes, kMac + n);
        if (room.empty())
            return false;
        std::ranges::copy(frame(4, n, kBytes), room.begin());
        layered->end_frame(kBytes);
        return true;
    };
    take(*slow);
    take(*other);
    take(*layered);
    unsigned sent = 0;
    while (send_from_it(2) && sent < 10'000)
        sent++;
    EXPECT_LT(sent, 10'000U);
    EXPECT_TRUE(send_from_it(3));
}

// epoll tells of Poller::kMost ready sockets at once and puts them behind the others.
TEST(FairStartTest, AllSocketsHaveTheirTurn) {
    constexpr std::size_t kPasses = 4000;
    constexpr std::size_t kServed = 4;  // of a pass, when all use their shares
    for (const std::size_t sockets : {2, 100, 128, 129, 130, 161, 172, 192}) {
        std::deque<std::size_t> list(sockets);
        std::iota(list.begin(), list.end(), 0U);
        std::vector<std::size_t> served(sockets);
        FairStart start;
        for (std::size_t pass = 0; pass < kPasses; ++pass) {
            const std::size_t count = std::min(sockets, Poller::kMost);
            const std::size_t first = start.among(count);
            ASSERT_LT(first, count);
            for (std::size_t i = 0; i < std::min(kServed, count); ++i) {
                ++served[list[(first + i) % count]];
            }
            std::rotate(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count),
                        list.end());
        }
        const std::size_t fair = kPasses * std::min(kServed, sockets) / sockets;
        EXPECT_GE(*std::ranges::min_element(served), fair / 3) << sockets;
    }
}

}  // namespace
}  // namespace dingo::test
