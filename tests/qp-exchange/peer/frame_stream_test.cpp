// SPDX-License-Identifier: BSD-2-Clause
// Tests of frames over a stream that reads and writes in pieces of any size.
#include "peer/frame_stream.h"

#include "bytes.h"
#include "scripted_stream.h"

namespace qpx::peer {
namespace {

using test::expect_error;
using test::Script;

std::vector<std::byte> frame(std::uint32_t sequence, std::size_t payload = 0,
                             wire::Type type = wire::Type::Data) {
    std::vector<std::byte> bytes;
    wire::FrameWriter writer(bytes, type);
    writer.raw(std::vector<std::byte>(payload));
    writer.finish(sequence);
    return bytes;
}

class Frames : public ::testing::Test {
  protected:
    static constexpr std::uint32_t first = 0xffffffff;  // numbers wrap after the first frame

    Frames() {
        Session session;
        session.stream = std::make_unique<test::ScriptedStream>(script);
        session.reader.set_max_payload(1 << 20);
        session.next_send = 5;
        session.next_receive = first;
        frames = FrameStream(std::move(session));
    }
    void comes(const std::vector<std::byte>& bytes) {
        script.incoming.insert(script.incoming.end(), bytes.begin(), bytes.end());
    }
    void read_all() {
        while (frames.read_some() > 0) {
        }
    }
    Script script;
    FrameStream frames;
};

TEST_F(Frames, WritingTellsWhatTheSocketTook) {
    EXPECT_EQ(frames.write_queued(), 0U);
    frames.out() = frame(frames.take_sequence(), 84);
    EXPECT_EQ(frames.take_sequence(), 6U);
    const auto whole = frames.out();
    for (const auto& [takes, piece, left] :
         {std::array<std::size_t, 3>{30, 7, 70}, {0, 7, 70}, {69, 100, 1}, {100, 100, 0}}) {
        const std::size_t before = frames.unsent();
        script.takes = takes;
        script.piece = piece;
        EXPECT_EQ(frames.write_queued(), before - left);
        EXPECT_EQ(frames.unsent(), left);
    }
    EXPECT_EQ(script.sent, whole);
    EXPECT_TRUE(frames.out().empty());
    frames.out() = frame(6);
    EXPECT_EQ(frames.write_queued(), wire::header_size) << "the next one begins at its beginning";
}

TEST_F(Frames, ReadingTellsBytesAndTheEnd) {
    comes(frame(first, 10));
    script.piece = 20;
    EXPECT_EQ(frames.read_some(), 20U);
    EXPECT_EQ(frames.partial(), 20U);
    EXPECT_FALSE(frames.has_something());
    EXPECT_FALSE(frames.next());
    EXPECT_EQ(frames.read_some(), 6U);
    EXPECT_TRUE(frames.has_something());
    ASSERT_TRUE(frames.next());
    EXPECT_EQ(frames.partial(), 0U);
    EXPECT_FALSE(frames.has_something());
    script.more_pending = true;
    EXPECT_TRUE(frames.has_something()) << "the descriptor does not tell of it";
    script.more_pending = false;
    EXPECT_EQ(frames.read_some(), 0U);
    EXPECT_FALSE(frames.closed());
    script.ended = true;
    EXPECT_EQ(frames.read_some(), 0U);
    EXPECT_TRUE(frames.closed());
    EXPECT_TRUE(frames.has_something());
}

TEST_F(Frames, NumbersGoUpByOneAndRefusalsHaveNone) {
    comes(frame(first));
    comes(frame(0));
    comes(frame(77, 0, wire::Type::Refuse));
    comes(frame(1));
    comes(frame(1));
    read_all();
    for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(frames.next()) << i;
    }
    EXPECT_EQ(expect_error(ErrorCode::Protocol, "out of order", [&] { frames.next(); }),
              static_cast<int>(wire::Reason::Replay));
}

TEST_F(Frames, WhoIsIdleHoldsNoBuffers) {
    constexpr std::uint32_t limit = 50'000;
    comes(frame(first, limit));
    read_all();
    ASSERT_TRUE(frames.next());
    read_all();
    ASSERT_GT(script.space, limit);
    frames.out() = frame(5, limit);
    frames.release_memory(limit);
    EXPECT_EQ(frames.unsent(), limit + wire::header_size) << "what is not sent stays";
    frames.write_queued();
    frames.release_memory(limit);
    EXPECT_EQ(frames.out().capacity(), 0U);
    comes(frame(0, limit));
    script.piece = 100;
    frames.read_some();
    EXPECT_LE(script.space, 4096U);
    frames.release_memory(limit);
    EXPECT_EQ(frames.partial(), 100U) << "a part of a frame stays";
    script.piece = limit;
    read_all();
    EXPECT_TRUE(frames.next());
    comes(frame(1, limit + 1));
    read_all();
    expect_error(ErrorCode::Limit, "at most 50000", [&] { frames.next(); });
}

TEST_F(Frames, TheEndSendsWhatIsQueuedAndTakesWhatLiesThere) {
    frames.out() = frame(5, 3);
    const auto whole = frames.out();
    comes(frame(first, 3));
    frames.finish();
    EXPECT_EQ(script.sent, whole);
    EXPECT_EQ(script.shutdowns, 1);
    EXPECT_TRUE(script.incoming.empty()) << "unread bytes would make the kernel send a reset";
}

}  // namespace
}  // namespace qpx::peer
