// SPDX-License-Identifier: BSD-2-Clause
// What a card's loop watches of a wire: a sleeping card must notice frames, and room for its own
// frames, whichever descriptors the wire has at the time and whatever made it open them.
#include "app/served_card.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "app/card_loop.h"
#include "app/control_loop.h"
#include "fake_engine.h"

namespace dingo::test {
namespace {

using namespace std::chrono_literals;

struct NoMemory final : HostPort {
    bool dma_read(std::uint64_t /*addr*/, std::span<std::byte> /*dst*/) override { return false; }
    bool dma_write(std::uint64_t /*addr*/, std::span<const std::byte> /*src*/) override {
        return false;
    }
    std::byte* dma_pointer(std::uint64_t /*addr*/, std::size_t /*len*/) override { return nullptr; }
    void raise_msix(unsigned /*vector*/) override {}
};

struct NoHost final : HostAttachment {
    void watch(PollGroup& /*polls*/) override {}
    void unwatch() override {}
    bool settle(Nanoseconds /*now*/) override { return false; }
    bool pending(Nanoseconds /*now*/) override { return fails; }
    bool deliver() override { throw std::runtime_error("no event was delivered"); }
    void add_stats(nlohmann::json& /*all*/) const override {}
    void stop() override {}

    std::atomic<bool> fails = false;
};

/// Waits until the condition holds; it may no longer hold when it is evaluated again.
template <typename Condition>
bool wait_for(Condition&& condition) {
    for (int i = 0; i < 30'000; ++i) {
        if (condition()) {
            return true;
        }
        std::this_thread::sleep_for(1ms);
    }
    return false;
}

/// Sends bytes through a socket that is full at first, and counts calls.
struct SocketWire final : Wire {
    SocketWire() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()),
                  0);
        near.reset(ends[0]);
        far.reset(ends[1]);
        fill();
    }
    std::span<std::byte> begin_frame(std::size_t /*max_len*/) override { return {}; }
    void end_frame(std::size_t /*len*/) override {}
    int fd() const override { return receives; }
    int tx_blocked_fd() const override { return blocked ? near.get() : -1; }
    unsigned receive(FrameSink& /*sink*/, unsigned /*budget*/) override {
        ++looks;
        std::uint64_t count = 0;
        if (receives.load() != near.get() && ::read(receives, &count, sizeof count) > 0) {
            ++arrived;
        }
        return 0;
    }
    void flush() override {
        ++flushes;
        pollfd room{near.get(), POLLOUT, 0};
        blocked = ::poll(&room, 1, 0) == 0;
    }
    void advance(Nanoseconds /*now*/) override {}
    std::string describe() const override { return "socket"; }
    WireStats stats() const override { return {}; }

    void fill() const {
        const std::array<char, 4096> block{};
        while (::send(near.get(), block.data(), block.size(), MSG_NOSIGNAL) > 0) {
        }
    }
    /// Returns true when the card had rounds and has no more.
    bool rests() const {
        return wait_for([this] {
            const int before = flushes;
            std::this_thread::sleep_for(20ms);
            return before != 0 && flushes == before;
        });
    }
    /// Adds an eventfd to receive from; it lives as long as the wire, as the card's thread may read
    /// it until its end.
    int add_descriptor() {
        descriptors_.emplace_back(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        return descriptors_.back().get();
    }

    void make_room() const {
        std::array<char, 65536> block;
        while (::recv(far.get(), block.data(), block.size(), 0) > 0) {
        }
    }

    UniqueFd near, far;
    std::atomic<int> receives{-1};
    std::atomic<bool> blocked{true};
    std::atomic<int> looks{0};
    std::atomic<int> arrived{0};
    std::atomic<int> flushes{0};

  private:
    std::vector<UniqueFd> descriptors_;
};

class ServedCardTest : public testing::Test {
  protected:
    ServedCardTest() : stop_(::eventfd(0, EFD_CLOEXEC)) { register_fake_engine(); }

    void start(int receives) {
        wire.receives = receives;
        card_.emplace("fake", EngineConfig{}, memory_, wire);
        served_.emplace("", *card_, host_, wire);
        loop_.emplace(IdlePolicy::Limits{}, stop_.get());
        loop_->add(*served_);
        thread_ = std::thread([this] { loop_->run(); });
    }
    ~ServedCardTest() override {
        ::eventfd_write(stop_.get(), 1);
        thread_.join();
        loop_.reset();
    }
    bool rests() const { return wire.rests(); }

    SocketWire wire;

  private:
    NoMemory memory_;
    NoHost host_;
    UniqueFd stop_;
    std::optional<Card> card_;
    std::optional<ServedCard> served_;
    std::optional<CardLoop> loop_;
    std::thread thread_;
};

TEST_F(ServedCardTest, HearsOfRoomOnTheDescriptorThatItReceivesFrom) {
    start(wire.near.get());
    ASSERT_TRUE(rests());
    ASSERT_TRUE(wire.blocked);
    wire.make_room();
    EXPECT_TRUE(wait_for([&] { return !wire.blocked; }));
    EXPECT_TRUE(rests());
}

TEST_F(ServedCardTest, HearsOfRoomOnAnotherDescriptor) {
    start(wire.add_descriptor());
    ASSERT_TRUE(rests());
    wire.make_room();
    EXPECT_TRUE(wait_for([&] { return !wire.blocked; }));
    EXPECT_TRUE(rests());
}

TEST_F(ServedCardTest, HearsOfFramesOnADescriptorThatIsNewSinceTheLastWait) {
    const int first = wire.add_descriptor();
    const int second = wire.add_descriptor();
    start(first);
    ASSERT_TRUE(rests());
    ::eventfd_write(first, 1);
    ASSERT_TRUE(wait_for([&] { return wire.arrived == 1; }));
    ASSERT_TRUE(rests());
    wire.receives = second;
    ::eventfd_write(first, 1);  // a round that finds the new one
    wire.make_room();
    ASSERT_TRUE(wait_for([&] { return !wire.blocked; }));
    ::eventfd_write(second, 1);
    EXPECT_TRUE(wait_for([&] { return wire.arrived == 2; }));
}

/// The card's thread is a data thread here, and the test is its visitor.
class VisitedCard : public testing::Test {
  protected:
    VisitedCard() : first(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        register_fake_engine();
        wire.receives = first.get();
        card.emplace("fake", EngineConfig{}, memory_, wire, gate);
        served_.emplace("", *card, host, wire);
        control.add(*served_);
        loop_.emplace(IdlePolicy::Limits{}, gate);
        loop_->add(*served_);
        thread_ = std::thread([this] {
            try {
                loop_->run();
            } catch (const std::exception& e) {
                what = e.what();
            }
            ended = true;
        });
    }
    ~VisitedCard() override {
        loop_->end();
        thread_.join();
        loop_->remove(*served_);
        control.remove(*served_);
        loop_.reset();
    }
    bool rests() const { return wire.rests(); }

    const std::shared_ptr<Gate> gate = std::make_shared<Gate>();
    UniqueFd first;
    SocketWire wire;
    NoHost host;
    std::optional<Card> card;
    std::string what;  ///< the exception's text that ended the thread
    std::atomic<bool> ended = false;

  private:
    NoMemory memory_;
    UniqueFd stop_{::eventfd(0, EFD_CLOEXEC)};

  protected:
    ControlLoop control{stop_.get()};

  private:
    std::optional<ServedCard> served_;
    std::optional<CardLoop> loop_;
    std::thread thread_;
};

TEST_F(VisitedCard, HearsOfFramesOnADescriptorThatAVisitorMadeTheWireOpen) {
    const int second = wire.add_descriptor();
    ASSERT_TRUE(rests());
    {
        const Gate::Hold hold(*gate);
        wire.receives = second;  // like the first multicast group of a roce wire
    }
    ASSERT_TRUE(rests());
    ::eventfd_write(second, 1);
    EXPECT_TRUE(wait_for([&] { return wire.arrived == 1; }));
}

TEST_F(VisitedCard, HearsOfRoomForFramesThatAVisitorSent) {
    wire.make_room();
    ASSERT_TRUE(wait_for([&] { return !wire.blocked; }));
    ASSERT_TRUE(rests());
    {
        const Gate::Hold hold(*gate);
        wire.fill();
        card->flush_frames();
        ASSERT_TRUE(wire.blocked);
    }
    ASSERT_TRUE(rests());
    wire.make_room();
    EXPECT_TRUE(wait_for([&] { return !wire.blocked; }));
}

TEST_F(VisitedCard, DataThreadThatFailsWithTheTurnDoesNotKeepIt) {
    host.fails = true;
    ::eventfd_write(first.get(), 1);
    ASSERT_TRUE(wait_for([&] { return ended.load(); }));
    EXPECT_EQ(what, "no event was delivered");
    EXPECT_TRUE(control.try_turn().owns_lock());
    const Gate::Hold hold(*gate);  // nor the gate
}

TEST_F(VisitedCard, DataThreadEndsWithTheTextOfWhatFailedInAVisitorsHands) {
    ASSERT_TRUE(rests());
    card->ring(0, FakeEngine::kFail);
    ASSERT_TRUE(wait_for([&] { return ended.load(); }));
    EXPECT_EQ(what, "the engine has failed");
    const Gate::Hold hold(*gate);  // visitors can still enter and leave
}

struct Counting final : Pollable {
    void ready(std::uint32_t /*events*/) override { ++told; }
    int told = 0;
};

// A wire that gives up a peer closes its socket, and the next client's socket gets the number.
TEST(ServedCard, ForgetsASenderThatMayBeClosedBeforeItsNumberIsAnothers) {
    register_fake_engine();
    const UniqueFd receives(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    NoMemory memory;
    NoHost host;
    SocketWire wire;
    wire.receives = receives.get();
    Card card("fake", EngineConfig{}, memory, wire);
    ServedCard served("", card, host, wire);
    Poller poller;
    served.watch(poller);
    ASSERT_TRUE(served.before_wait(true));  // a nap: the card is not asleep
    ::eventfd_write(receives.get(), 1);
    poller.wait(0);
    const int number = wire.near.get();
    const UniqueFd other(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    ASSERT_EQ(::dup2(other.get(), number), number);
    Counting client;
    const Poller::Id id = poller.add(number, EPOLLIN, client);
    served.after_wait();
    ::eventfd_write(other.get(), 1);
    poller.wait(0);
    EXPECT_EQ(client.told, 1);
    poller.remove(id);
    served.unwatch();
}

}  // namespace
}  // namespace dingo::test
