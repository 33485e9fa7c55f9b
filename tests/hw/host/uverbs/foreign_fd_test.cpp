// SPDX-License-Identifier: BSD-2-Clause
// Descriptors whose close() blocks, sent to a card: requests of other clients are answered while
// the close() still blocks.
#include "base/foreign_fd.h"
#include "base/elsewhere.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>

#include "../../base/lingering.h"
#include "running_card.h"

namespace dingo::uverbs::test {
namespace {

using dingo::test::Lingering;
using dingo::test::send_with;

/// A UNIX socket with such a connection in its queue, which is closed with it.
class Slow {
  public:
    Slow() {
        std::array<int, 2> pair{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair.data()), 0);
        const UniqueFd other(pair[0]);
        socket_.reset(pair[1]);
        EXPECT_TRUE(send_with(other.get(), "x", 1, {lingering_.sender()}));
        lingering_.forget();
    }
    void let_go() { lingering_.let_go(); }
    /// Closes our copy, so that the receiver of get() has the last one, which must exist.
    void forget() { socket_.reset(); }
    [[nodiscard]] int get() const { return socket_.get(); }

  private:
    Lingering lingering_;
    UniqueFd socket_;
};

bool wait_until_closing(bool wanted) {
    for (int i = 0; i < 5000 && (closing_elsewhere() != 0) != wanted; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return (closing_elsewhere() != 0) == wanted;
}

/// Waits until the card has closed the connection. Returns false on a timeout.
bool wait_for_end(const Client& client) {
    pollfd end{client.socket(), 0, 0};
    return ::poll(&end, 1, 10'000) == 1;
}

class UverbsForeignFd : public testing::Test {
  protected:
    UverbsForeignFd() : honest_(card_.directory), verbs_(honest_) {
        EXPECT_EQ(verbs_.get_context(), 0);
    }
    ~UverbsForeignFd() override {
        slow_.let_go();
        EXPECT_TRUE(wait_until_closing(false));
    }

    /// From now on until expect_others_served() the card handles no messages, so that all copies of
    /// a descriptor are queued before it closes the first.
    void stop_card() {
        card_.close_gate();
        Request request(DINGO_UVERBS_SYSFS);
        const std::string_view path = RunningCard::kGate;
        std::transform(path.begin(), path.end(), std::back_inserter(request.payload),
                       [](char c) { return static_cast<std::byte>(c); });
        std::array<int, 2> pair{};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()), 0);
        gate_answer_.reset(pair[0]);
        const UniqueFd theirs(pair[1]);
        honest_.send_bytes_without_answer(request.bytes(), theirs.get());
        ASSERT_TRUE(card_.wait_at_gate());
    }
    /// Sends `count` descriptors that are slow to close, including the fixture's, in one message to
    /// the stopped card. Returns the others, of which the card has the only copies.
    std::vector<std::unique_ptr<Slow>> send_slow(const Client& from, unsigned count) {
        std::vector<std::unique_ptr<Slow>> more;
        stop_card();
        std::vector<int> fds{slow_.get()};
        for (unsigned i = 1; i < count; ++i) {
            more.push_back(std::make_unique<Slow>());
            fds.push_back(more.back()->get());
        }
        EXPECT_TRUE(send_with(from.socket(), "x", 1, fds));
        for (const auto& one : more) {
            one->forget();
        }
        return more;
    }
    /// Starts the card after all copies of the slow descriptor were queued.
    void expect_others_served() {
        slow_.forget();
        card_.open_gate();
        ASSERT_TRUE(wait_until_closing(true));
        for (int i = 0; i < 20; ++i) {
            ASSERT_EQ(verbs_.alloc_pd(), 0);
            ASSERT_EQ(verbs_.destroy_pd(verbs_.handle), 0);
        }
        EXPECT_NE(closing_elsewhere(), 0U) << "close() did not wait: this proves nothing";
    }

    RunningCard card_;
    Slow slow_;
    Client honest_;
    Verbs verbs_;
    UniqueFd gate_answer_;
};

TEST_F(UverbsForeignFd, OneBeforeHelloHoldsNobodyUp) {
    Client hostile(card_.directory, false);
    stop_card();
    EXPECT_TRUE(send_with(hostile.socket(), "x", 1, {slow_.get()}));
    expect_others_served();
}

TEST_F(UverbsForeignFd, AsManyAsTheKernelTakesHoldNobodyUp) {
    Client hostile(card_.directory, false);
    stop_card();
    EXPECT_TRUE(send_with(hostile.socket(), "x", 1, std::vector<int>(253, slow_.get())));
    expect_others_served();
}

// Each slow descriptor blocks a thread that closes it; what other clients send must not wait for
// one.
TEST_F(UverbsForeignFd, ManyHoldNobodyUp) {
    constexpr unsigned kMany = 100;
    Client hostile(card_.directory, false);
    const auto more = send_slow(hostile, kMany);
    expect_others_served();
    EXPECT_GE(closing_elsewhere(), kMany);
    const std::size_t waiting = closing_elsewhere();
    for (int i = 0; i < 200; ++i) {
        ASSERT_EQ(verbs_.alloc_pd(), 0);
        ASSERT_EQ(verbs_.destroy_pd(verbs_.handle), 0);
        ASSERT_EQ(Client(card_.directory).greeting, 0);
    }
    // A descriptor left by the last client may just be handled by a thread.
    for (int i = 0; i < 5000 && closing_elsewhere() > waiting; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_LE(closing_elsewhere(), waiting) << "what honest clients sent waits, too";
    for (const auto& one : more) {
        one->let_go();
    }
}

// All closers of one client are blocked: descriptors that another client leaves are still closed.
TEST_F(UverbsForeignFd, WhatOthersLeaveIsClosedMeanwhile) {
    constexpr unsigned kMany = 100;
    Client hostile(card_.directory, false);
    const auto more = send_slow(hostile, kMany);
    expect_others_served();
    // A pipe is not a file in memory, so a thread closes it.
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    const UniqueFd reading(pipe[0]);
    UniqueFd writing(pipe[1]);
    Client other(card_.directory, false);
    EXPECT_TRUE(send_with(other.socket(), "x", 1, {writing.get()}));
    writing.reset();
    pollfd end{reading.get(), 0, 0};
    EXPECT_EQ(::poll(&end, 1, 10'000), 1) << "the card has it open";
    for (const auto& one : more) {
        one->let_go();
    }
}

TEST_F(UverbsForeignFd, WhoseDescriptorsCannotBeClosedIsNotListenedTo) {
    constexpr unsigned kEach = 100;
    constexpr unsigned kMessages = 8;
    std::vector<std::unique_ptr<Slow>> more;
    slow_.let_go();
    slow_.forget();  // closed here
    unsigned heard = 0;
    for (unsigned n = 0; n < kMessages; ++n) {
        if (n == 3) {  // until it is evident that none of them was closed
            std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        }
        std::vector<std::unique_ptr<Slow>> batch;
        std::vector<int> fds;
        for (unsigned i = 0; i < kEach; ++i) {
            batch.push_back(std::make_unique<Slow>());
            fds.push_back(batch.back()->get());
        }
        const std::size_t before = closing_elsewhere();
        Client hostile(card_.directory, false);
        stop_card();
        const bool sent = send_with(hostile.socket(), "x", 1, fds);
        for (auto& one : batch) {
            if (!sent) {
                one->let_go();  // the copy here is the last one
            }
            one->forget();
            more.push_back(std::move(one));
        }
        card_.open_gate();
        EXPECT_TRUE(wait_for_end(hostile));
        heard += closing_elsewhere() >= before + kEach ? 1 : 0;
    }
    EXPECT_GE(heard, 1U);
    EXPECT_LE(heard, 3U);
    EXPECT_EQ(verbs_.alloc_pd(), 0);
    EXPECT_EQ(verbs_.destroy_pd(verbs_.handle), 0);
    for (const auto& one : more) {
        one->let_go();
    }
}

// The client stays connected, and each of its requests may bring more descriptors.
TEST_F(UverbsForeignFd, WhoseRequestsBringThemIsHungUpOnAndAskedForNothingMore) {
    constexpr unsigned kRequests = 4;
    constexpr unsigned kEach = 25;  // a request has at most 32, including the reply socket
    Client hostile(card_.directory);
    ASSERT_EQ(hostile.greeting, 0);
    std::array<int, 2> pair{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()), 0);
    const UniqueFd mine(pair[0]);
    UniqueFd theirs(pair[1]);
    stop_card();
    std::vector<std::unique_ptr<Slow>> more;
    std::vector<int> fds{theirs.get(), slow_.get()};
    const Bytes request = Request(DINGO_UVERBS_SYSFS).bytes();
    for (unsigned n = 0; n < kRequests; ++n) {
        while (fds.size() <= kEach) {
            more.push_back(std::make_unique<Slow>());
            fds.push_back(more.back()->get());
        }
        ASSERT_TRUE(send_with(hostile.socket(), request.data(), request.size(), fds));
        fds.resize(1);
    }
    theirs.reset();
    for (const auto& one : more) {
        one->forget();
    }
    expect_others_served();
    for (unsigned n = 0; n < kRequests; ++n) {
        dingo_uverbs_reply reply{};
        ASSERT_EQ(::recv(mine.get(), &reply, sizeof reply, 0), static_cast<ssize_t>(sizeof reply));
        EXPECT_EQ(reply.result, -EINVAL) << "nobody asked for descriptors";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // none of them was closed
    EXPECT_GE(closing_elsewhere(), kRequests * kEach);
    const auto requests = [&] { return card_.stats()["host"]["requests"].get<int>(); };
    const int before = requests();
    EXPECT_TRUE(hostile.hello().closed);
    EXPECT_EQ(requests(), before) << "it was not listened to";
    EXPECT_EQ(verbs_.alloc_pd(), 0) << "others are";
    for (const auto& one : more) {
        one->let_go();
    }
}

// What a client leaves unread is closed with its connection. The client sees the end even if all
// threads that close for its user are blocked; and what it left is charged to its user as well.
TEST_F(UverbsForeignFd, WhoLeavesThemUnreadIsHungUpOnAndTurnedAway) {
    constexpr unsigned kEach = 100;
    constexpr unsigned kRounds = 3;  // more than 256 in all
    std::vector<std::unique_ptr<Slow>> more;
    slow_.let_go();
    slow_.forget();  // closed here
    for (unsigned round = 0; round < kRounds; ++round) {
        std::vector<std::unique_ptr<Client>> hostile;
        for (unsigned i = 0; i < kEach; ++i) {
            hostile.push_back(std::make_unique<Client>(card_.directory, false));
        }
        stop_card();
        for (const auto& one : hostile) {
            more.push_back(std::make_unique<Slow>());
            EXPECT_EQ(::send(one->socket(), "x", 1, MSG_NOSIGNAL), 1);  // ends the connection
            EXPECT_TRUE(send_with(one->socket(), "y", 1, {more.back()->get()}));
            more.back()->forget();
        }
        card_.open_gate();
        for (const auto& one : hostile) {
            ASSERT_TRUE(wait_for_end(*one)) << "round " << round;
        }
    }
    for (int i = 0; i < 5000 && closing_elsewhere() < kEach * kRounds; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the card disconnects before
                                                                    // it closes
    }
    EXPECT_GE(closing_elsewhere(), kEach * kRounds);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // none of them was closed
    EXPECT_NE(Client(card_.directory).greeting, 0);
    EXPECT_EQ(verbs_.alloc_pd(), 0) << "who is there goes on";
    for (const auto& one : more) {
        one->let_go();
    }
    EXPECT_TRUE(wait_until_closing(false));
    EXPECT_EQ(Client(card_.directory).greeting, 0);
}

// The card disables lingering.
TEST_F(UverbsForeignFd, SocketsThatLingerAreClosedAtOnce) {
    slow_.let_go();
    slow_.forget();  // closed here
    std::vector<std::unique_ptr<Lingering>> many;
    std::vector<int> fds;
    for (unsigned i = 0; i < 100; ++i) {
        many.push_back(std::make_unique<Lingering>());
        fds.push_back(many.back()->sender());
    }
    Client hostile(card_.directory, false);
    stop_card();
    EXPECT_TRUE(send_with(hostile.socket(), "x", 1, fds));
    for (const auto& one : many) {
        one->forget();
    }
    card_.open_gate();
    EXPECT_TRUE(wait_for_end(hostile));
    EXPECT_TRUE(wait_until_closing(false));
}

TEST_F(UverbsForeignFd, OneInTheQueueOfAReplySocketHoldsNobodyUp) {
    Client hostile(card_.directory);
    stop_card();
    std::array<int, 2> pair{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()), 0);
    const UniqueFd mine(pair[0]);
    UniqueFd theirs(pair[1]);
    EXPECT_TRUE(send_with(mine.get(), "x", 1, {slow_.get()}));
    const Request request(DINGO_UVERBS_SYSFS);
    hostile.send_bytes_without_answer(request.bytes(), theirs.get());
    theirs.reset();
    expect_others_served();
}

TEST_F(UverbsForeignFd, OneBehindAMessageThatEndsTheConnectionHoldsNobodyUp) {
    Client hostile(card_.directory);
    stop_card();
    ASSERT_EQ(::send(hostile.socket(), "x", 1, MSG_NOSIGNAL), 1);
    EXPECT_TRUE(send_with(hostile.socket(), "y", 1, {slow_.get()}));
    hostile.close();
    expect_others_served();
}

TEST(UverbsProtocol, DescriptorsThatNoAnswerAskedForAreRefused) {
    RunningCard card;
    Client client(card.directory);
    const std::string_view path = "class/known";
    Request request(DINGO_UVERBS_SYSFS);
    std::transform(path.begin(), path.end(), std::back_inserter(request.payload),
                   [](char c) { return static_cast<std::byte>(c); });
    EXPECT_EQ(client.send(request).result(), 0);
    request.fds = {0};
    EXPECT_EQ(client.send(request).result(), -EINVAL);
}

}  // namespace
}  // namespace dingo::uverbs::test
