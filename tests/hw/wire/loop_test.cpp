// SPDX-License-Identifier: BSD-2-Clause
#include <random>
#include <thread>

#include "support.h"

namespace dingo::test {
namespace {

TEST(Loop, FramesOfRandomSizesCrossTheEndOfTheRingIntact) {
    const auto [a, b] = make_loop_pair(64 * 1024);
    std::mt19937 random(3);
    std::vector<Frame> frames;
    for (unsigned i = 0; i < 5000; i++)
        frames.push_back(plain_frame(14 + random() % (kMaxFrame - 13), i));
    EXPECT_EQ(pass(*a, *b, frames), frames);
}

TEST(Loop, FullRingRefusesUntilTheReceiverTakes) {
    const auto [a, b] = make_loop_pair(64 * 1024);
    unsigned sent = 0;
    while (send(*a, plain_frame(4158, sent)))
        sent++;
    EXPECT_GT(sent, 10U);
    EXPECT_LT(sent, 17U);
    EXPECT_EQ(a->stats().tx_full, 1U);
    KeepingSink sink;
    EXPECT_EQ(b->receive(sink, 2), 2U);
    EXPECT_TRUE(send(*a, plain_frame(4158, sent)));
    while (b->receive(sink, 64) != 0) {
    }
    ASSERT_EQ(sink.frames.size(), sent + 1);
    for (unsigned i = 0; i <= sent; i++)
        EXPECT_EQ(sink.frames[i], plain_frame(4158, i));
}

TEST(Loop, FrameMayBeShorterThanItsRoom) {
    const auto [a, b] = make_loop_pair();
    for (unsigned i = 0; i < 1000; i++) {
        const Frame frame = plain_frame(14 + i % 90, i);
        const std::span<std::byte> room = a->begin_frame(kMaxFrame);
        ASSERT_EQ(room.size(), kMaxFrame);
        std::copy(frame.begin(), frame.end(), room.begin());
        a->end_frame(i % 3 == 0 ? 0 : frame.size());
        KeepingSink sink;
        EXPECT_EQ(b->receive(sink, 8), i % 3 == 0 ? 0U : 1U);
        if (i % 3 != 0) {
            EXPECT_EQ(sink.frames.at(0), frame);
        }
    }
}

TEST(Loop, EndsMayLiveOnTwoThreads) {
    const auto [a, b] = make_loop_pair(64 * 1024);
    constexpr unsigned kFrames = 20'000;
    std::jthread sender([wire = a.get()] {
        for (unsigned i = 0; i < kFrames;) {
            if (send(*wire, plain_frame(14 + i % 500, i)))
                i++;
            else
                std::this_thread::yield();
        }
    });
    class Checker final : public FrameSink {
      public:
        void on_frame(std::span<const std::byte> frame) override {
            const Frame expected = plain_frame(14 + count % 500, count);
            good += std::equal(frame.begin(), frame.end(), expected.begin(), expected.end());
            count++;
        }
        unsigned count = 0;
        unsigned good = 0;
    } checker;
    while (checker.count < kFrames) {
        if (b->receive(checker, 64) == 0)
            std::this_thread::yield();
    }
    EXPECT_EQ(checker.good, kFrames);
}

TEST(Loop, EndOutlivesTheOther) {
    auto [a, b] = make_loop_pair();
    const Frame frame = plain_frame(60, 1);
    ASSERT_TRUE(send(*a, frame));
    a.reset();
    KeepingSink sink;
    EXPECT_EQ(b->receive(sink, 8), 1U);
    EXPECT_TRUE(send(*b, frame));
}

}  // namespace
}  // namespace dingo::test
