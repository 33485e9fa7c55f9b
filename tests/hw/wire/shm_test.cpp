// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

#include "base/log.h"
#include "shm_support.h"

namespace dingo::test {
namespace {

TEST_F(Shm, FramesOfAllSizesArriveIntactAndInOrder) {
    const auto a = card(1);
    const auto b = card(2);
    settle({a.get(), b.get()});
    std::vector<Frame> frames;
    for (unsigned i = 0; i < 3000; i++)
        frames.push_back(frame(1, 2, i % 3 == 0 ? kMaxFrame : 14 + i * 7 % 5000, i));
    EXPECT_EQ(pass(*a, *b, frames), frames);
    EXPECT_EQ(pass(*b, *a, frames), frames);
    EXPECT_EQ(a->stats().tx_frames, frames.size());
    EXPECT_EQ(b->stats().rx_frames, frames.size());
    EXPECT_EQ(a->stats().tx_dropped, 0U);
}

TEST_F(Shm, SegmentOfFourDeliversUnicastToOneAndBroadcastToAll) {
    std::vector<std::unique_ptr<Wire>> cards;
    for (unsigned n = 1; n <= 4; n++)
        cards.push_back(card(n));
    settle({cards[0].get(), cards[1].get(), cards[2].get(), cards[3].get()});
    for (unsigned from = 1; from <= 4; from++) {
        for (const unsigned to : {1U, 2U, 3U, 4U, 0xffU, 9U}) {
            if (to == from)
                continue;
            const Frame f = frame(from, to);
            ASSERT_TRUE(send(*cards[from - 1], f));
            cards[from - 1]->flush();
            for (unsigned n = 1; n <= 4; n++) {
                // An unknown address (9) goes to all, as a switch would send it.
                const bool mine = n != from && (to == n || to == 0xff || to == 9);
                EXPECT_EQ(take(*cards[n - 1]),
                          (mine ? std::vector<Frame>{f} : std::vector<Frame>{}))
                    << from << " to " << to << " at " << n;
            }
        }
    }
}

TEST_F(Shm, FullRingHoldsTheSenderBackAndNothingIsLost) {
    const auto a = card(1);
    const auto b = card(2);
    settle({a.get(), b.get()});
    std::vector<Frame> frames;
    for (;;) {
        const Frame f = frame(1, 2, 1000, static_cast<unsigned>(frames.size()));
        if (!send(*a, f))
            break;
        frames.push_back(f);
        ASSERT_LT(frames.size(), 10'000U);
    }
    a->flush();
    EXPECT_GT(a->stats().tx_full, 0U);
    // Room wakes a sleeping sender.
    ASSERT_TRUE(a->prepare_sleep());
    pollfd p{a->fd(), POLLIN, 0};
    while (::poll(&p, 1, 0) == 1) {  // hellos from before
        a->woke();
        take(*a);
        ASSERT_TRUE(a->prepare_sleep());
    }
    KeepingSink sink;
    b->receive(sink, 50);
    EXPECT_EQ(::poll(&p, 1, 1000), 1);
    a->woke();
    EXPECT_TRUE(send(*a, frames[0]));
    frames.push_back(frames[0]);
    a->flush();
    const auto rest = take(*b);
    sink.frames.insert(sink.frames.end(), rest.begin(), rest.end());
    EXPECT_EQ(sink.frames, frames);
}

TEST_F(Shm, SenderThatLostInterestInAFullRingSleepsAgain) {
    const auto a = card(1);
    const auto b = card(2);
    settle({a.get(), b.get()});
    a->advance(1'000'000'000);
    while (send(*a, frame(1, 2, 1000))) {
    }
    a->flush();
    KeepingSink sink;
    b->receive(sink, 50);  // there is room again, but no sender needs it
    for (int i = 0; i < 3 && !a->prepare_sleep(); i++) {
        a->woke();
        take(*a);
    }
    a->woke();
    EXPECT_TRUE(a->prepare_sleep());
    EXPECT_EQ(a->next_deadline(), kNever);
}

TEST_F(Shm, PatienceWithAFullRingEndsThoughNobodyAsksForRoom) {
    const auto a = card(1);
    const auto deaf = card(2);
    settle({a.get(), deaf.get()});
    a->advance(1'000'000'000);
    while (send(*a, frame(1, 2, 1000))) {
    }
    a->flush();
    ASSERT_NE(a->next_deadline(), kNever);
    a->advance(a->next_deadline());
    EXPECT_FALSE(a->prepare_sleep()) << "what was held back may be dropped now";
    EXPECT_TRUE(a->prepare_sleep());
    EXPECT_EQ(a->next_deadline(), kNever);
}

TEST_F(Shm, PeerThatTakesNothingDoesNotHoldUpTheOthers) {
    const auto a = card(1);
    const auto deaf = card(2);
    const auto c = card(3);
    settle({a.get(), deaf.get(), c.get()});
    Nanoseconds now = 1'000'000'000;
    a->advance(now);
    while (send(*a, frame(1, 2, 5000))) {
    }
    EXPECT_NE(a->next_deadline(), kNever);
    EXPECT_FALSE(send(*a, frame(1, 3, 5000)));
    a->advance(now = a->next_deadline());
    EXPECT_TRUE(send(*a, frame(1, 3, 5000)));
    EXPECT_TRUE(send(*a, frame(1, 2, 5000)));
    EXPECT_GT(a->stats().tx_dropped, 0U);
    a->flush();
    EXPECT_EQ(take(*c).size(), 1U);
    // It comes back to life.
    EXPECT_GT(take(*deaf).size(), 100U);
    EXPECT_TRUE(send(*a, frame(1, 2)));
    a->flush();
    EXPECT_EQ(take(*deaf).size(), 1U);
}

TEST_F(Shm, SleeperIsWokenAndOneThatIsAwakeIsNot) {
    const auto a = card(1);
    const auto b = card(2);
    settle({a.get(), b.get()});
    pollfd p{b->fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&p, 1, 0), 0);
    send(*a, frame(1, 2));
    a->flush();
    EXPECT_EQ(::poll(&p, 1, 0), 0) << "a system call was made for nothing";
    EXPECT_FALSE(b->prepare_sleep()) << "a frame is here";
    EXPECT_EQ(take(*b).size(), 1U);
    ASSERT_TRUE(b->prepare_sleep());
    EXPECT_EQ(::poll(&p, 1, 0), 0);
    send(*a, frame(1, 2));
    EXPECT_EQ(::poll(&p, 1, 0), 0) << "not flushed yet";
    a->flush();
    EXPECT_EQ(::poll(&p, 1, 1000), 1);
    b->woke();
    EXPECT_EQ(take(*b).size(), 1U);
    EXPECT_EQ(::poll(&p, 1, 0), 0);
}

TEST_F(Shm, PeersComeAndGo) {
    const auto a = card(1);
    send(*a, frame(1, 2));
    EXPECT_EQ(a->stats().tx_no_peer, 1U);
    for (int life = 0; life < 3; life++) {
        auto b = card(2);
        settle({a.get(), b.get()});
        const std::vector<Frame> frames = {frame(1, 2)};
        EXPECT_EQ(pass(*a, *b, frames), frames);
        // What it sent last arrives though it has gone.
        send(*b, frame(2, 1));
        b->flush();
        b.reset();
        EXPECT_EQ(take(*a).size(), 1U);
        settle({a.get()});
        send(*a, frame(1, 2));
        EXPECT_EQ(a->stats().tx_no_peer, 2U + static_cast<unsigned>(life));
    }
}

TEST_F(Shm, KilledPeerIsForgottenAndItsSocketFileRemoved) {
    const auto a = card(1);
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const auto b = card(2);
        [[maybe_unused]] const auto n = ::write(ready[1], "x", 1);
        ::pause();
        ::_exit(0);
    }
    char byte;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    settle({a.get()});
    EXPECT_TRUE(send(*a, frame(1, 2)));
    EXPECT_EQ(a->stats().tx_frames, 1U);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    settle({a.get()});
    EXPECT_TRUE(send(*a, frame(1, 2)));
    EXPECT_EQ(a->stats().tx_no_peer, 1U);
    const auto files = [&] {
        std::size_t n = 0;
        for (const auto& entry : std::filesystem::directory_iterator(dir_ + "/net"))
            n += entry.is_socket() ? 1 : 0;
        return n;
    };
    EXPECT_EQ(files(), 2U);
    const auto c = card(3);
    EXPECT_EQ(files(), 2U);
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST_F(Shm, MemoryThatCouldShrinkOrIsTooSmallIsRefused) {
    const auto a = card(1);
    for (const int seals : {0, F_SEAL_GROW}) {
        Hostile peer(dir_ + "/net", seals);
        peer.hello();
        settle({a.get()});
        EXPECT_TRUE(peer.cut_off());
    }
    Hostile small(dir_ + "/net", F_SEAL_SHRINK, 4096);
    small.hello();
    settle({a.get()});
    EXPECT_TRUE(small.cut_off());
}

TEST_F(Shm, BadHellosAreCutOff) {
    const auto a = card(1);
    Hostile wrong(dir_ + "/net");
    wrong.hello(1);
    settle({a.get()});
    EXPECT_TRUE(wrong.cut_off());
    Hostile bare(dir_ + "/net");
    bare.hello(kMagic, false);
    settle({a.get()});
    EXPECT_TRUE(bare.cut_off());
    Hostile earlier(dir_ + "/net");
    earlier.hello(kMagic, true, 1);
    settle({a.get()});
    EXPECT_TRUE(earlier.cut_off());
    Hostile later(dir_ + "/net");
    later.hello(kMagic, true, kVersion, 1U << 31);
    settle({a.get()});
    EXPECT_TRUE(later.cut_off()) << "it wants what this card does not know";
    Hostile noise(dir_ + "/net");
    ASSERT_EQ(::send(noise.fd(), "kick", 4, 0), 4);
    settle({a.get()});
    EXPECT_TRUE(noise.cut_off());
    Hostile twice(dir_ + "/net");
    twice.hello();
    settle({a.get()});
    EXPECT_FALSE(twice.cut_off());
    twice.hello();
    settle({a.get()});
    EXPECT_TRUE(twice.cut_off());
}

/// The lines that this thread logs.
class Lines {
  public:
    Lines() : fd_(::memfd_create("log", MFD_CLOEXEC)) {
        start_log("warning");
        set_log(fd_.get());
    }
    ~Lines() { set_log(STDERR_FILENO); }
    std::string text() const {
        std::string all(4096, '\0');
        all.resize(static_cast<std::size_t>(
            std::max<ssize_t>(::pread(fd_.get(), all.data(), all.size(), 0), 0)));
        return all;
    }
    std::size_t count(std::string_view what) const {
        const std::string all = text();
        std::size_t n = 0;
        for (std::size_t at = 0; (at = all.find(what, at)) != std::string::npos; ++at)
            ++n;
        return n;
    }

  private:
    UniqueFd fd_;
};

// A card that runs on after an upgrade: before, nothing said why it met no new one.
TEST_F(Shm, CardOfAnotherVersionIsToldOursAndTheLogSaysIt) {
    const Lines lines;
    const auto a = card(1);
    Hostile first(dir_ + "/net");
    first.hello(kMagic, true, 1, 0, 24);  // as long as version 1's
    settle({a.get()});
    std::array<std::uint32_t, 8> answer{};
    ASSERT_EQ(::recv(first.fd(), answer.data(), sizeof answer, MSG_DONTWAIT), 32);
    EXPECT_EQ(answer[1], kVersion);
    EXPECT_TRUE(first.cut_off());
    EXPECT_EQ(lines.count("version 1 of the shm wire"), 1U) << lines.text();
    Hostile later(dir_ + "/net");
    later.hello(kMagic, true, kVersion + 1);
    settle({a.get()});
    EXPECT_TRUE(later.cut_off());
    EXPECT_EQ(lines.count("version 7 of the shm wire"), 1U) << lines.text();
}

// The later card connects. One of version 1 closes at once, a newer one says its version.
TEST_F(Shm, CardThatAnotherVersionTurnsAwayLogsIt) {
    const Lines lines;
    std::filesystem::create_directory(dir_ + "/net");
    const UniqueFd old(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0));
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::strcpy(at.sun_path, (dir_ + "/net/1-0").c_str());
    ASSERT_EQ(::bind(old.get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    ASSERT_EQ(::listen(old.get(), 4), 0);
    for (const bool answers : {false, true}) {
        const auto a = card(1);
        {
            const UniqueFd peer(::accept(old.get(), nullptr, nullptr));
            ASSERT_TRUE(peer);
            const std::array<std::uint32_t, 9> hello{kMagic, kVersion + 1};
            if (answers) {
                ASSERT_EQ(::send(peer.get(), hello.data(), sizeof hello, 0), 36);
            }
        }
        settle({a.get()});
        EXPECT_EQ(lines.count("closed the connection without a hello"), 1U) << lines.text();
        EXPECT_EQ(lines.count("version 7 of the shm wire"), answers ? 1U : 0U) << lines.text();
    }
    const auto a = card(1);
    const auto b = card(2);
    settle({a.get(), b.get()});
    EXPECT_EQ(lines.count("process"), 2U) << "cards of one version have nothing to say";
}

TEST_F(Shm, RingsFullOfGarbageHurtNobody) {
    const auto a = card(1);
    std::mt19937_64 random(1);
    for (int round = 0; round < 400; round++) {
        Hostile peer(dir_ + "/net");
        peer.hello();
        KeepingSink sink;
        for (int i = 0; i < 100; i++)
            a->receive(sink, 64);
        for (std::size_t at = 0; at < 65'536; at += 16) {
            const std::uint32_t lengths[] = {static_cast<std::uint32_t>(random()),
                                             static_cast<std::uint32_t>(random() % 200), ~0U, 0,
                                             static_cast<std::uint32_t>(random() % 10'000)};
            const std::uint32_t value = lengths[random() % 5];
            std::memcpy(peer.data(0) + at, &value, sizeof value);
        }
        peer.ring(0).head = round % 4 == 0 ? random() : random() % (kShmRingBytes * 2) / 16 * 16;
        peer.ring(1).tail = round % 3 == 0 ? 0 : random() >> random() % 64;
        for (int i = 0; i < 100; i++) {
            a->receive(sink, 64);
            send(*a, frame(1, 66, 5000));
            a->flush();
        }
        for (const Frame& f : sink.frames)
            EXPECT_LE(f.size(), kMaxFrame);
    }
    // An honest peer is served as before.
    const auto b = card(2);
    settle({a.get(), b.get()});
    EXPECT_EQ(pass(*a, *b, {frame(1, 2)}).size(), 1U);
}

TEST_F(Shm, TwoThreadsExchangeManyFrames) {
    const auto a = card(1);
    const auto b = card(2);
    settle({a.get(), b.get()});
    static constexpr unsigned kFrames = 200'000;
    const auto work = [](Wire& wire, unsigned from, unsigned to) {
        class Counter final : public FrameSink {
          public:
            void on_frame(std::span<const std::byte> f) override {
                std::uint32_t tag = 0;
                std::memcpy(&tag, &f[14], sizeof tag);
                in_order &= tag == count++;
            }
            std::uint32_t count = 0;
            bool in_order = true;
        } sink;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(300);
        std::uint32_t sent = 0;
        Frame f = frame(from, to);
        while ((sent < kFrames || sink.count < kFrames) && std::chrono::steady_clock::now() < end) {
            bool busy = wire.receive(sink, 64) != 0;
            for (int i = 0; i < 32 && sent < kFrames; i++) {
                std::memcpy(&f[14], &sent, sizeof sent);
                f.resize(64 + sent % 3000);
                if (!send(wire, f))
                    break;
                sent++;
                busy = true;
            }
            wire.flush();
            if (!busy && wire.prepare_sleep()) {
                pollfd p{wire.fd(), POLLIN, 0};
                ::poll(&p, 1, 5000);
                wire.woke();
            }
        }
        EXPECT_EQ(sink.count, kFrames);
        EXPECT_TRUE(sink.in_order);
    };
    std::thread other([&] { work(*b, 2, 1); });
    work(*a, 1, 2);
    other.join();
}

TEST_F(ShmLocal, FramesPassInOrderThroughAnEmptyAndAFullRingWithoutDescriptors) {
    const auto a = local(1);
    const auto b = local(2);
    pollfd p{a->fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&p, 1, 0), 0) << "they met through a socket";
    std::vector<Frame> sent;
    KeepingSink sink;
    // Bursts that end before, at and far beyond the position where an empty ring starts again.
    for (const unsigned burst : {1U, 3U, 40U, 65U, 200U, 600U, 1U, 300U, 7U}) {
        for (unsigned i = 0; i < burst; i++) {
            const Frame f = frame(1, 2, 14 + (i * 997 + burst) % (kMaxFrame - 13), i);
            if (!send(*a, f))
                break;
            sent.push_back(f);
        }
        a->flush();
        while (b->receive(sink, 16) != 0) {
        }
    }
    EXPECT_EQ(sink.frames, sent);
    EXPECT_GT(a->stats().tx_full, 0U) << "no burst filled the ring";
    EXPECT_EQ(b->stats().rx_frames, sent.size());
    EXPECT_EQ(b->stats().rx_errors, 0U);
    EXPECT_EQ(a->stats().tx_dropped, 0U);
}

TEST_F(ShmLocal, SegmentHasCardsOfThisThreadAndOfOtherProcesses) {
    const auto foreign_before = card(4);
    const auto a = local(1);
    const auto b = local(2);
    const auto elsewhere = local(5, "other");
    const auto foreign_after = card(3);
    const std::vector<Wire*> all{a.get(), b.get(), foreign_after.get(), foreign_before.get()};
    settle({a.get(), b.get(), foreign_after.get(), foreign_before.get(), elsewhere.get()});
    for (unsigned from = 1; from <= 4; from++) {
        for (unsigned to = 1; to <= 4; to++) {
            if (from != to) {
                EXPECT_EQ(pass(*all[from - 1], *all[to - 1], {frame(from, to)}).size(), 1U)
                    << from << " to " << to;
            }
        }
        ASSERT_TRUE(send(*all[from - 1], frame(from, 0xff)));
        all[from - 1]->flush();
        for (unsigned n = 1; n <= 4; n++)
            EXPECT_EQ(take(*all[n - 1]).size(), n == from ? 0U : 1U) << from << " at " << n;
    }
    EXPECT_TRUE(take(*elsewhere).empty());
}

TEST_F(ShmLocal, CardThatGoesIsForgottenAfterItsLastFrames) {
    const auto a = local(1);
    for (unsigned life = 0; life < 3; life++) {
        auto b = local(2);
        EXPECT_EQ(pass(*a, *b, {frame(1, 2)}).size(), 1U);
        send(*b, frame(2, 1));
        b->flush();
        ASSERT_TRUE(send(*a, frame(1, 2)));  // it is never received
        a->flush();
        b.reset();
        EXPECT_EQ(take(*a).size(), 1U);
        send(*a, frame(1, 2));
        EXPECT_EQ(a->stats().tx_no_peer, 1U + life);
        EXPECT_EQ(a->stats().rx_errors, 0U);
    }
}

TEST_F(ShmLocal, SleeperHearsOfACardThatComes) {
    const auto a = local(1);
    ASSERT_TRUE(a->prepare_sleep());
    const auto b = local(2);
    ASSERT_TRUE(send(*b, frame(2, 1)));
    b->flush();
    EXPECT_TRUE(a->kicked());
}

// The thread that serves the cards which are there holds the gate while it is awake.
TEST_F(ShmLocal, CardsComeAndGoWhileOthersAreServed) {
    const auto a = local(1);
    const auto b = local(2);
    std::atomic<bool> stop = false;
    std::thread server([&] {
        gate_->close();
        while (!stop) {
            for (Wire* const wire : {a.get(), b.get()}) {
                KeepingSink sink;
                send(*wire, frame(wire == a.get() ? 1 : 2, 0xff));
                wire->flush();
                wire->receive(sink, 16);
            }
            gate_->give_way();
        }
        gate_->open();
    });
    for (unsigned life = 0; life < 200 && !HasFailure(); life++) {
        const auto c = local(3);
        KeepingSink sink;
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (sink.frames.empty() && std::chrono::steady_clock::now() < deadline) {
            const Gate::Hold hold(*gate_);
            c->receive(sink, 16);
        }
        EXPECT_FALSE(sink.frames.empty()) << life;
    }
    stop = true;
    server.join();
}

TEST_F(ShmLocal, SleeperIsKickedWithoutASystemCallAndOneThatIsAwakeIsNot) {
    const auto a = local(1);
    const auto b = local(2);
    settle({a.get(), b.get()});
    send(*a, frame(1, 2));
    a->flush();
    EXPECT_FALSE(b->kicked());
    EXPECT_FALSE(b->prepare_sleep()) << "a frame is here";
    EXPECT_EQ(take(*b).size(), 1U);
    ASSERT_TRUE(b->prepare_sleep());
    send(*a, frame(1, 2));
    EXPECT_FALSE(b->kicked()) << "not flushed yet";
    a->flush();
    EXPECT_TRUE(b->kicked());
    b->woke();
    EXPECT_FALSE(b->kicked());
    EXPECT_EQ(take(*b).size(), 1U);
    // Room wakes a sender.
    while (send(*a, frame(1, 2, 1000))) {
    }
    a->flush();
    ASSERT_TRUE(a->prepare_sleep());
    EXPECT_FALSE(a->kicked());
    KeepingSink sink;
    b->receive(sink, 50);
    EXPECT_TRUE(a->kicked());
}

TEST_F(Shm, BadNamesSayWhatToDo) {
    expect_contains(error_of([] { make("shm:net,icrc=off"); }), "icrc is auto or on");
    expect_contains(error_of([] { make("shm:a/b"); }), "not a valid name of a network");
    expect_contains(error_of([] { make("shm:/proc/x"); }), "cannot make /proc/x");
    expect_contains(error_of([&] { make("shm:" + dir_ + "/" + std::string(120, 'x')); }),
                    "too long for a socket");
}

}  // namespace
}  // namespace dingo::test
