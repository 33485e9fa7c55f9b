// SPDX-License-Identifier: BSD-2-Clause
//
// Payloads in buffers that a card lends to a card of another process, whose copy engine reads them
// there after the frame was received.
#include "wire/shm_holds.h"

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <optional>

#include "shm_support.h"

namespace dingo::test {
namespace {

/// A copy engine that pins all.
class Pinner final : public LentMemories::Watcher {
  public:
    Pinner() { lent_memories().watch(*this); }
    ~Pinner() override { lent_memories().forget(*this); }
    void lent(const std::shared_ptr<LentMemory>& memory) override {
        memory->set_pinned(true);
        ++there;
    }
    void taken_back(const std::shared_ptr<LentMemory>& /*memory*/) override { --there; }
    int there = 0;
};

/// Buffers of a card that has read a GPU's memory into them.
struct Buffers : Exported {
    Buffers() : Exported(F_SEAL_SHRINK, kBytes, true) {}
};

class ShmHoldsTest : public Shm {
  protected:
    ShmHoldsTest() { settle({a.get(), b.get()}); }

    /// Sends a payload of the buffers, which something holds, and receives it.
    SortingSink pass(const std::shared_ptr<HeldMemory>& held, std::size_t at = 0) {
        send_referring(*a, buffers.payload(at), bare_frame(), held);
        return sorted(*b);
    }
    void offer() {
        for (int i = 0; i < 3; ++i) {
            pass(std::make_shared<HeldMemory>());
            settle({a.get(), b.get()});
        }
    }
    /// What the sender's side holds after a while.
    bool is_held(const std::weak_ptr<HeldMemory>& held) {
        settle({b.get(), a.get()});
        return !held.expired();
    }

    Buffers buffers;
    std::unique_ptr<Wire> a = card(1);
    std::unique_ptr<Wire> b = card(2);
};

TEST_F(ShmHoldsTest, BufferStaysWhileTheReceiverReadsIt) {
    const Pinner pinner;
    offer();
    EXPECT_EQ(pinner.there, 1);
    auto held = std::make_shared<HeldMemory>();
    SortingSink sink = pass(held);
    ASSERT_EQ(sink.held.size(), 1U);
    ASSERT_NE(sink.held[0], nullptr);
    EXPECT_TRUE(sink.held[0]->is_pinned());
    EXPECT_GE(b->stats().rx_held, 1U);
    const std::weak_ptr<HeldMemory> weak = std::exchange(held, nullptr);
    EXPECT_TRUE(is_held(weak));
    // Others come and go meanwhile.
    for (int i = 0; i < 200; ++i)
        pass(std::make_shared<HeldMemory>(), 32 * 1024);
    EXPECT_TRUE(is_held(weak));
    sink.held.clear();
    EXPECT_FALSE(is_held(weak));
}

TEST_F(ShmHoldsTest, NeighboursAreHeldAsOne) {
    const Pinner pinner;
    offer();
    SortingSink sink;
    for (std::size_t at = 0; at < 8 * 1024; at += 1024)
        send_referring(*a, buffers.payload(at), bare_frame(), std::make_shared<HeldMemory>());
    b->receive(sink, 256);
    ASSERT_EQ(sink.held.size(), 8U);
    EXPECT_EQ(sink.held, std::vector<Held>(8, sink.held[0]));
    const Held first = sink.held[0];
    send_referring(*a, buffers.payload(0), bare_frame(), std::make_shared<HeldMemory>());
    sink = sorted(*b);
    EXPECT_NE(sink.held.at(0), first) << "it is not behind the last one";
}

TEST_F(ShmHoldsTest, NeighboursOfMessagesThatComeAtOnceAreHeldAsOneEach) {
    const Pinner pinner;
    offer();
    SortingSink sink;
    for (std::size_t at = 0; at < 8 * 1024; at += 1024)
        for (const std::size_t message : {3, 0, 2, 1})
            send_referring(*a, buffers.payload(message * 8 * 1024 + at), bare_frame(),
                           std::make_shared<HeldMemory>());
    b->receive(sink, 256);
    ASSERT_EQ(sink.held.size(), 32U);
    for (std::size_t i = 0; i < sink.held.size(); ++i)
        EXPECT_EQ(sink.held[i], sink.held[i % 4]) << i;
    EXPECT_NE(sink.held[0], sink.held[1]);
}

TEST_F(ShmHoldsTest, WithoutACopyEngineABufferIsReadAtOnce) {
    offer();
    auto held = std::make_shared<HeldMemory>();
    const SortingSink sink = pass(held);
    ASSERT_EQ(sink.elsewhere.size(), 1U);
    EXPECT_NE(sink.elsewhere[0], nullptr) << "where it lies";
    EXPECT_EQ(sink.held[0], nullptr);
    EXPECT_EQ(b->stats().rx_held, 0U);
    const std::weak_ptr<HeldMemory> weak = std::exchange(held, nullptr);
    EXPECT_FALSE(is_held(weak));
}

TEST_F(ShmHoldsTest, PayloadThatNothingHoldsIsCopied) {
    const Pinner pinner;
    offer();
    send_referring(*a, buffers.payload(), bare_frame());
    const SortingSink sink = sorted(*b);
    EXPECT_EQ(sink.elsewhere, std::vector<const std::byte*>{nullptr});
}

TEST_F(ShmHoldsTest, BuffersOfACardThatHasGoneStayMapped) {
    auto pinner = std::make_unique<Pinner>();
    offer();
    const Frame pattern = payload_of(bare_frame());
    std::copy(pattern.begin(), pattern.end(), buffers.payload().begin());
    SortingSink sink = pass(std::make_shared<HeldMemory>());
    ASSERT_NE(sink.held.at(0), nullptr);
    a.reset();
    buffers.forget();
    settle({b.get()});
    EXPECT_EQ(pinner->there, 0) << "its copy engine is told";
    EXPECT_TRUE(std::equal(pattern.begin(), pattern.end(), sink.elsewhere[0]));
}

TEST_F(ShmHoldsTest, BuffersAreNotUsedAgainAtOnceWhenTheirReaderIsCutOff) {
    const Pinner pinner;
    offer();
    auto held = std::make_shared<HeldMemory>();
    const SortingSink sink = pass(held);
    const std::weak_ptr<HeldMemory> weak = std::exchange(held, nullptr);
    a.reset();
    EXPECT_FALSE(weak.expired()) << "it may still be read";
}

TEST_F(ShmHoldsTest, WhoLetsGoOfNothingGetsCopies) {
    const Pinner pinner;
    offer();
    std::vector<Held> kept;
    std::uint64_t copies = 0;
    for (int i = 0; i < 9000; ++i) {
        // From back to front: none is behind another.
        SortingSink one;
        send_referring(*a, buffers.payload((9000 - i) % 60 * 1024), bare_frame(),
                       std::make_shared<HeldMemory>());
        b->receive(one, 16);
        ASSERT_EQ(one.without.size(), 1U);
        copies += one.elsewhere[0] == nullptr ? 1 : 0;
        kept.push_back(one.held[0]);
    }
    EXPECT_GT(copies, 0U);
    kept.clear();
    settle({b.get(), a.get()});
    SortingSink sink = pass(std::make_shared<HeldMemory>());
    EXPECT_NE(sink.elsewhere.at(0), nullptr) << "as before";
}

/// Sends what is held until the wire says that this is enough. What the receiver holds.
class ShmLentTest : public ShmHoldsTest {
  protected:
    void lend_enough() {
        offer();
        a->advance(now);
        for (int i = 0; i < 9000; ++i) {
            ASSERT_FALSE(a->begin_frame(2048).empty());
            const bool enough = a->holds_enough();
            a->end_frame(0);
            if (enough)
                return;
            SortingSink one;
            // From back to front: none is behind another.
            send_referring(*a, buffers.payload((9000 - i) % 7 * kLent, kLent), bare_frame(kLent),
                           std::make_shared<HeldMemory>());
            b->receive(one, 16);
            kept.push_back(one.held.at(0));
        }
        FAIL() << "nothing is enough";
    }
    static Frame bare_frame(std::size_t payload) {
        Frame frame = test::bare_frame();
        frame.resize(frame.size() - 1024 + payload);
        return frame;
    }

    static constexpr std::size_t kLent = 8UL * 1024;
    Nanoseconds now = 1'000'000'000;
    const Pinner pinner;
    std::vector<Held> kept;
};

TEST_F(ShmLentTest, SendersOfWhatIsHeldWaitUntilThePeerLetsGo) {
    lend_enough();
    EXPECT_LE(kept.size() * kLent, 9UL << 20);
    EXPECT_FALSE(a->has_let_go());
    kept.erase(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(kept.size() / 2));
    SortingSink none;
    b->receive(none, 16);
    EXPECT_TRUE(a->has_let_go());
    EXPECT_FALSE(a->has_let_go()) << "once";
    ASSERT_FALSE(a->begin_frame(2048).empty());
    EXPECT_FALSE(a->holds_enough());
    a->end_frame(0);
}

TEST_F(ShmLentTest, SenderThatSleepsIsWokenWhenThePeerLetsGo) {
    lend_enough();
    ASSERT_TRUE(a->prepare_sleep());
    pollfd wait{a->fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&wait, 1, 20), 0);
    kept.clear();
    SortingSink none;
    b->receive(none, 16);
    EXPECT_EQ(::poll(&wait, 1, 1000), 1);
    a->woke();
    EXPECT_TRUE(a->has_let_go());
    // One that lets go between the look and the sleep is seen.
    lend_enough();
    kept.clear();
    b->receive(none, 16);
    EXPECT_FALSE(a->prepare_sleep());
}

TEST_F(ShmLentTest, PeerThatLetsGoOfNothingIsWaitedForOnce) {
    lend_enough();
    EXPECT_LE(a->next_deadline(), now + 100'000'000);
    now = a->next_deadline();
    a->advance(now);
    EXPECT_TRUE(a->has_let_go());
    EXPECT_FALSE(a->has_let_go());
    ASSERT_FALSE(a->begin_frame(2048).empty());
    EXPECT_FALSE(a->holds_enough()) << "from now on it is copied";
    a->end_frame(0);
    EXPECT_EQ(a->next_deadline(), kNever);
    EXPECT_TRUE(a->prepare_sleep());
    a->woke();
    // It is waited for again when it goes on.
    kept.clear();
    SortingSink none;
    b->receive(none, 16);
    EXPECT_TRUE(a->has_let_go());
    lend_enough();
}

/// A ring between processes, of which one end is here and the other, too.
struct BareRing {
    std::vector<std::byte> memory = std::vector<std::byte>(kShmDirectionBytes + 64);
    std::byte* const at = memory.data() + (-reinterpret_cast<std::uintptr_t>(memory.data()) & 63);
    std::optional<ShmProducer> tx{std::in_place, at};
    ShmConsumer rx{at};
    std::vector<std::byte> buffer = std::vector<std::byte>(1024, std::byte{7});

    void send(const Held& held, bool lent = true) {
        ASSERT_FALSE(tx->reserve(100 + buffer.size()).empty());
        tx->commit_referring(100 + buffer.size(), 100, buffer, held, {0, 0, lent});
        static_cast<void>(tx->publish());
    }
};

// A card that had stopped delivers what is in the ring of a peer that has cut it off.
TEST(ShmRing, FramesThatNobodyHasReadHaveTheirLentPayloadsWhenTheOwnerGoes) {
    BareRing ring;
    auto held = std::make_shared<HeldMemory>();
    ring.send(held);
    const std::weak_ptr<HeldMemory> weak = std::exchange(held, nullptr);
    ring.tx.reset();
    std::ranges::fill(ring.buffer, std::byte{9});
    const std::span<const std::byte> frame = ring.rx.front();
    ASSERT_EQ(frame.size(), 100 + ring.buffer.size());
    EXPECT_EQ(ring.rx.flags(), kShmNoIcrc) << "the payload is in the frame";
    EXPECT_EQ(frame.back(), std::byte{7});
    EXPECT_TRUE(weak.expired());
}

TEST(ShmRing, WhatIsTakenBackKeepsALentPayloadThatIsRead) {
    BareRing ring;
    auto held = std::make_shared<HeldMemory>();
    ring.send(held);
    const std::weak_ptr<HeldMemory> weak = std::exchange(held, nullptr);
    ASSERT_FALSE(ring.rx.front().empty());
    EXPECT_TRUE(ring.tx->gather(true, std::chrono::milliseconds(500), [&] {
        ring.rx.pop();
        return true;
    }));
    EXPECT_FALSE(weak.expired()) << "its reader has not let go of it";
    static_cast<void>(ring.rx.release());
    static_cast<void>(ring.rx.let_go(ring.rx.tail()));
    ring.tx->forget_received();
    EXPECT_TRUE(weak.expired());
}

TEST(ShmRing, PayloadsBehindOneThatIsNeverLetGoOfHaveABound) {
    BareRing ring;
    for (unsigned i = 0; !ring.tx->refers_enough(); ++i) {
        ASSERT_LT(i, 10'000U);
        ring.send(i == 0 ? std::make_shared<HeldMemory>() : nullptr, i == 0);
        ASSERT_FALSE(ring.rx.front().empty());
        ring.rx.pop();
        static_cast<void>(ring.rx.release());
    }
    static_cast<void>(ring.rx.let_go(ring.rx.tail()));
    ring.tx->forget_received();
    EXPECT_FALSE(ring.tx->refers_enough());
}

TEST(ShmHolds, TheOldestOneCountsAndAllIsSaidOnce) {
    const auto memory = std::make_shared<LentMemory>(
        static_cast<std::byte*>(
            ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        4096, 4096);
    const std::byte* const at = memory->bytes().data();
    ShmHolds holds;
    std::uint64_t position = 0;
    EXPECT_FALSE(holds.let_go(10, position)) << "nothing was lent";
    EXPECT_EQ(holds.hold(memory, at, 1024, 10), nullptr) << "it is not pinned";
    EXPECT_TRUE(holds.let_go(20, position));
    EXPECT_EQ(position, 20U);
    memory->set_pinned(true);
    Held first = holds.hold(memory, at + 2048, 1024, 20);
    Held second = holds.hold(memory, at, 1024, 30);
    EXPECT_NE(first, second);
    EXPECT_FALSE(holds.let_go(40, position)) << "that is what it has said";
    second.reset();
    EXPECT_FALSE(holds.let_go(40, position)) << "the first one is still read";
    first.reset();
    EXPECT_TRUE(holds.let_go(50, position));
    EXPECT_EQ(position, 50U);
    EXPECT_FALSE(holds.let_go(60, position));
}

}  // namespace
}  // namespace dingo::test
