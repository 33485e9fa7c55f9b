// SPDX-License-Identifier: BSD-2-Clause
//
// Payloads that stay in memory of clients between cards of two processes.
#include <sys/resource.h>

#include <chrono>
#include <memory>
#include <vector>

#include "shm_support.h"

namespace dingo::test {
namespace {

constexpr std::size_t kBytes = Exported::kBytes;
constexpr std::uint32_t kReferring = kShmNoIcrc | kShmHandedOver;

class ShmReferences : public Shm {
  protected:
    /// Sends until a payload stays in memory; empty sink: it never does.
    SortingSink until_it_stays(Wire& from, Wire& to, std::span<const std::byte> payload) {
        for (unsigned i = 0; i < 50; i++) {
            send_referring(from, payload);
            SortingSink sink = sorted(to);
            EXPECT_EQ(sink.without.size(), 1U);
            if (sink.elsewhere != std::vector<const std::byte*>{nullptr})
                return sink;
            EXPECT_EQ(payload_of(sink.without.at(0)), Frame(payload.begin(), payload.end()));
            settle({&from, &to});
        }
        return {};
    }

    std::unique_ptr<Wire> a = card(1);
    std::unique_ptr<Wire> b = card(2);
    ShmReferences() { settle({a.get(), b.get()}); }
};

TEST_F(ShmReferences, PayloadStaysWhereItIsOnceThePeerHasMappedIt) {
    Exported memory;
    const Frame pattern = payload_of(bare_frame());
    std::copy(pattern.begin(), pattern.end(), memory.payload(4096).begin());
    const SortingSink sink = until_it_stays(*a, *b, memory.payload(4096));
    ASSERT_EQ(sink.elsewhere.size(), 1U);
    // Another mapping of the same bytes: of this process, as both cards are here.
    EXPECT_NE(sink.elsewhere[0], memory.payload(4096).data());
    EXPECT_TRUE(std::equal(pattern.begin(), pattern.end(), sink.elsewhere[0]));
    memory.payload(4096)[7] = std::byte{0x5a};
    EXPECT_EQ(sink.elsewhere[0][7], std::byte{0x5a});
    for (unsigned i = 0; i < 3000; i++) {  // more than the ring holds
        send_referring(*a, memory.payload(i % 60 * 1024));
        SortingSink one;
        b->receive(one, 16);
        ASSERT_EQ(one.elsewhere.size(), 1U);
        ASSERT_EQ(one.elsewhere[0] - sink.elsewhere[0],
                  static_cast<std::ptrdiff_t>(i % 60 * 1024) - 4096);
    }
    EXPECT_EQ(b->stats().rx_errors, 0U);
}

TEST_F(ShmReferences, MemoryThatNobodyExportsIsCopied) {
    const Frame payload = payload_of(bare_frame());
    EXPECT_TRUE(until_it_stays(*a, *b, payload).elsewhere.empty());
}

TEST_F(ShmReferences, MemoryThatCouldShrinkIsCopied) {
    Exported memory(0);
    EXPECT_TRUE(until_it_stays(*a, *b, memory.payload()).elsewhere.empty());
    EXPECT_EQ(b->stats().rx_errors, 0U);
}

TEST_F(ShmReferences, CardThatWantsNoReferencesGetsWholeFrames) {
    b.reset();
    b = card(2, "", ",refs=off");
    settle({a.get(), b.get()});
    ASSERT_FALSE(a->begin_frame(100).empty());
    EXPECT_FALSE(a->takes_references());
    a->end_frame(0);
    ASSERT_FALSE(b->begin_frame(100).empty());
    EXPECT_FALSE(b->takes_references());
    b->end_frame(0);
    EXPECT_NE(b->describe().find("refs=off"), std::string::npos);
}

TEST_F(ShmReferences, WhatWasTakenBackIsInItsFrame) {
    Exported memory;
    const Frame pattern = payload_of(bare_frame());
    std::copy(pattern.begin(), pattern.end(), memory.payload().begin());
    ASSERT_EQ(until_it_stays(*a, *b, memory.payload()).elsewhere.size(), 1U);
    SortingSink sink;
    for (unsigned i = 0; i < 20; i++) {
        send_referring(*a, memory.payload());
        if (i < 7)
            b->receive(sink, 1);
    }
    a->gather();
    std::ranges::fill(memory.payload(), std::byte{0xee});
    memory.forget();
    sink = sorted(*b);
    EXPECT_EQ(sink.without, std::vector<Frame>(13, bare_frame()));
    EXPECT_EQ(sink.elsewhere, std::vector<const std::byte*>(13, nullptr));
}

TEST_F(ShmReferences, WhatIsHeldIsNotTakenBackButLetGo) {
    Exported memory;
    ASSERT_EQ(until_it_stays(*a, *b, memory.payload()).elsewhere.size(), 1U);
    auto held = std::make_shared<HeldMemory>();
    send_referring(*a, memory.payload(), bare_frame(), held);
    send_referring(*a, memory.payload(1024), bare_frame(), held);
    a->gather();
    SortingSink sink;
    b->receive(sink, 1);
    EXPECT_NE(sink.elsewhere.at(0), nullptr);
    const std::weak_ptr<HeldMemory> alive = held;
    held.reset();
    EXPECT_FALSE(alive.expired());
    sink = sorted(*b);
    for (unsigned i = 0; i < 100; i++) {
        send_referring(*a, memory.payload());
        take(*b);
    }
    EXPECT_TRUE(alive.expired());
    // A card that goes takes all its memory with it.
    held = std::make_shared<HeldMemory>();
    const Frame pattern = payload_of(bare_frame());
    std::copy(pattern.begin(), pattern.end(), memory.payload().begin());
    send_referring(*a, memory.payload(), bare_frame(), held);
    a.reset();
    std::ranges::fill(memory.payload(), std::byte{0});
    sink = sorted(*b);
    EXPECT_EQ(sink.without, std::vector<Frame>{bare_frame()});
}

// Buffers of a pool, and a share of what a client may have fetched.
TEST_F(ShmReferences, WhatIsHeldIsLetGoThoughNothingIsSentAfterIt) {
    Exported memory;
    ASSERT_EQ(until_it_stays(*a, *b, memory.payload()).elsewhere.size(), 1U);
    auto held = std::make_shared<HeldMemory>();
    send_referring(*a, memory.payload(), bare_frame(), held);
    const std::weak_ptr<HeldMemory> alive = std::exchange(held, nullptr);
    settle({a.get()});
    EXPECT_FALSE(alive.expired()) << "the frame is in the ring";
    EXPECT_EQ(sorted(*b).without.size(), 1U);
    settle({a.get()});
    EXPECT_TRUE(alive.expired());
}

TEST_F(ShmReferences, CardWithoutDescriptorsHasPayloadsCopied) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "UBSan looks at memory through a pipe, for which there are no descriptors";
#endif
    Exported memory;
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    rlimit low = limit;
    {
        const UniqueFd next(::dup(memory.fd()));
        low.rlim_cur = static_cast<rlim_t>(next.get());
    }
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    const SortingSink sink = until_it_stays(*a, *b, memory.payload());
    ::setrlimit(RLIMIT_NOFILE, &limit);
    EXPECT_TRUE(sink.elsewhere.empty());
    EXPECT_EQ(b->stats().rx_errors, 0U) << "the connection stays";
}

TEST_F(ShmReferences, SlotsOfMemoryThatIsGoneAreUsedAgain) {
    for (unsigned i = 0; i < 3 * kShmSlots; i++) {
        Exported memory;
        ASSERT_EQ(until_it_stays(*a, *b, memory.payload()).elsewhere.size(), 1U) << i;
        a->gather();
        memory.forget();
        for (unsigned k = 0; k < 3; k++)
            settle({a.get(), b.get()});
    }
    EXPECT_EQ(b->stats().rx_errors, 0U);
}

TEST_F(ShmReferences, MemoryBeyondTheSlotsIsCopied) {
    std::vector<std::unique_ptr<Exported>> memories;
    for (unsigned i = 0; i < kShmSlots; i++) {
        memories.push_back(std::make_unique<Exported>());
        ASSERT_EQ(until_it_stays(*a, *b, memories.back()->payload()).elsewhere.size(), 1U) << i;
    }
    Exported more;
    EXPECT_TRUE(until_it_stays(*a, *b, more.payload()).elsewhere.empty());
}

TEST_F(ShmReferences, ReceiversRulesAndOtherCardsGetWholeFrames) {
    Exported memory;
    const Frame pattern = payload_of(bare_frame());
    std::copy(pattern.begin(), pattern.end(), memory.payload().begin());
    ASSERT_EQ(until_it_stays(*a, *b, memory.payload()).elsewhere.size(), 1U);
    b->set_faults("drop:dir=rx,psn=9");
    send_referring(*a, memory.payload());
    const SortingSink sink = sorted(*b);
    ASSERT_EQ(sink.with.size(), 1U);
    EXPECT_EQ(payload_of(sink.with[0]), pattern);
}

TEST_F(ShmReferences, TwoThreadsAndMemoryThatIsTakenBackAllTheTime) {
    Exported memory;
    const Frame pattern = payload_of(bare_frame());
    std::copy(pattern.begin(), pattern.end(), memory.payload().begin());
    ASSERT_EQ(until_it_stays(*a, *b, memory.payload()).elsewhere.size(), 1U);
    constexpr unsigned kFrames = 20'000;
    std::atomic<bool> failed = false;
    std::thread receiver([&] {
        class Check final : public FrameSink {
          public:
            explicit Check(const Frame& pattern) : pattern_(pattern) {}
            void on_frame(std::span<const std::byte>) override { wrong++; }
            void on_frame_without_icrc(std::span<const std::byte> frame,
                                       const Elsewhere& where) override {
                const std::byte* const payload = where.at;
                const std::byte* const at =
                    payload != nullptr ? payload : &frame[frame.size() - packet::kIcrcBytes - 1024];
                wrong += std::equal(pattern_.begin(), pattern_.end(), at) ? 0 : 1;
                (payload != nullptr ? stayed : copied)++;
            }
            unsigned wrong = 0, stayed = 0, copied = 0;

          private:
            const Frame& pattern_;
        } check(pattern);
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (check.stayed + check.copied < kFrames && std::chrono::steady_clock::now() < until)
            b->receive(check, 16);
        failed = check.wrong != 0 || check.stayed + check.copied != kFrames;
    });
    for (unsigned i = 0; i < kFrames;) {
        const std::span<std::byte> room = a->begin_frame(bare_frame().size());
        if (room.empty()) {
            std::this_thread::yield();
            continue;
        }
        const Frame frame = bare_frame();
        std::copy(frame.begin(), frame.end(), room.begin());
        a->end_frame_referring(frame.size(), frame.size() - packet::kIcrcBytes - 1024,
                               memory.payload(), nullptr);
        a->flush();
        if (++i % 16 == 0) {
            a->gather();  // from here on the frames have their own
            std::ranges::fill(memory.payload(), std::byte{0xee});
            std::copy(pattern.begin(), pattern.end(), memory.payload().begin());
        }
    }
    receiver.join();
    EXPECT_FALSE(failed);
}

/// As an engine whose queue pair fails by the frame that it receives.
class TakingBack final : public FrameSink {
  public:
    TakingBack(Wire& wire, std::atomic<unsigned>& reading) : wire_(wire), reading_(reading) {}
    void on_frame(std::span<const std::byte> /*frame*/) override {}
    void on_frame_without_icrc(std::span<const std::byte> /*frame*/,
                               const Elsewhere& payload) override {
        stayed = payload.at != nullptr;
        reading_++;
        for (unsigned i = 0; i < 10'000 && reading_ < 2; i++)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        wire_.gather();
    }
    void receive() {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (wire_.receive(*this, 16) == 0 && std::chrono::steady_clock::now() < until) {
        }
    }
    bool stayed = false;

  private:
    Wire& wire_;
    std::atomic<unsigned>& reading_;
};

TEST_F(ShmReferences, TwoThatTakeBackWhileTheyReadDoNotWaitForEachOther) {
    Exported of_a;
    Exported of_b;
    ASSERT_EQ(until_it_stays(*a, *b, of_a.payload()).elsewhere.size(), 1U);
    Frame to_a = bare_frame();
    to_a[5] = std::byte{1};
    bool stays = false;
    for (unsigned i = 0; i < 50 && !stays; i++) {
        send_referring(*b, of_b.payload(), to_a);
        stays = sorted(*a).elsewhere != std::vector<const std::byte*>{nullptr};
        settle({a.get(), b.get()});
    }
    ASSERT_TRUE(stays);
    send_referring(*a, of_a.payload());
    send_referring(*b, of_b.payload(), to_a);
    std::atomic<unsigned> reading = 0;
    TakingBack at_a(*a, reading);
    TakingBack at_b(*b, reading);
    std::thread other([&] { at_b.receive(); });
    at_a.receive();
    other.join();
    EXPECT_TRUE(at_a.stayed && at_b.stayed);
    EXPECT_EQ(a->stats().rx_errors + b->stats().rx_errors, 0U) << "nobody is cut off";
}

// A queue pair's key may be invalidated by the very frame that is read.
TEST_F(ShmReferences, WhatNobodyReadsIsTakenBackWhileAnotherFrameIsRead) {
    Exported of_a;
    Exported of_b;
    const Frame pattern = payload_of(bare_frame());
    std::ranges::copy(pattern, of_a.payload().begin());
    std::ranges::copy(pattern, of_b.payload().begin());
    Frame to_a = bare_frame();
    to_a[5] = std::byte{1};
    for (unsigned i = 0; i < 50; i++) {
        send_referring(*b, of_b.payload(), to_a);
        if (sorted(*a).elsewhere != std::vector<const std::byte*>{nullptr})
            break;
        settle({a.get(), b.get()});
    }
    ASSERT_EQ(until_it_stays(*a, *b, of_a.payload()).elsewhere.size(), 1U);
    send_referring(*a, of_a.payload());
    send_referring(*b, of_b.payload(), to_a);
    class Invalidates final : public FrameSink {
      public:
        Invalidates(Wire& wire, std::span<std::byte> memory) : wire_(wire), memory_(memory) {}
        void on_frame(std::span<const std::byte> /*frame*/) override {}
        void on_frame_without_icrc(std::span<const std::byte> /*frame*/,
                                   const Elsewhere& payload) override {
            stayed = payload.at != nullptr;
            wire_.gather();
            std::ranges::fill(memory_, std::byte{0xee});
        }
        bool stayed = false;

      private:
        Wire& wire_;
        std::span<std::byte> memory_;
    } sink(*a, of_a.payload());
    for (unsigned i = 0; i < 200; i++)
        a->receive(sink, 16);
    EXPECT_TRUE(sink.stayed);
    const SortingSink got = sorted(*b);
    ASSERT_EQ(got.without.size(), 1U);
    EXPECT_EQ(got.elsewhere[0], nullptr);
    EXPECT_EQ(payload_of(got.without[0]), pattern);
}

/// What a peer that breaks the rules can do.
class ShmBadReferences : public Shm {
  protected:
    ShmBadReferences() {
        settle({a.get()});
        peer.hello(kMagic, true, kVersion, 2);
        settle({a.get()});
    }
    void push(std::uint32_t flags, std::uint64_t word) {
        const Frame frame = bare_frame();
        const std::uint64_t mark = frame.size() | std::uint64_t{flags} << 32U;
        std::memcpy(peer.data(0), &mark, sizeof mark);
        std::memcpy(peer.data(0) + 8, &word, sizeof word);
        std::copy(frame.begin(), frame.end(), peer.data(0) + 16);
        peer.ring(0).head = (16 + frame.size() + 15) / 16 * 16;
    }
    std::unique_ptr<Wire> a = card(2);
    Hostile peer{dir_ + "/net"};
};

TEST_F(ShmBadReferences, ReferenceToNothingCutsItOff) {
    push(kReferring, ShmReference{3, 0}.word());
    EXPECT_TRUE(take(*a).empty());
    EXPECT_TRUE(peer.cut_off());
    EXPECT_EQ(a->stats().rx_errors, 1U);
}

TEST_F(ShmBadReferences, ReferencePastItsMemoryCutsItOff) {
    Exported memory;
    peer.say({ShmSlotMessage::kOffer, 3, 0, kBytes}, memory.fd());
    settle({a.get()});
    EXPECT_EQ(peer.hear(), ShmSlotMessage::kTaken);
    push(kReferring, ShmReference{3, kBytes + 1}.word());
    EXPECT_TRUE(take(*a).empty());
    EXPECT_TRUE(peer.cut_off());
}

TEST_F(ShmBadReferences, ReferenceToTheEndReadsZeros) {
    Exported memory;
    peer.say({ShmSlotMessage::kOffer, 3, 0, kBytes}, memory.fd());
    settle({a.get()});
    push(kReferring, ShmReference{3, kBytes}.word());
    SortingSink sink;
    a->receive(sink, 1);
    ASSERT_EQ(sink.elsewhere.size(), 1U);
    ASSERT_NE(sink.elsewhere[0], nullptr);
    for (std::size_t i = 0; i < kMaxTrain; i++)
        ASSERT_EQ(sink.elsewhere[0][i], std::byte{0});
}

TEST_F(ShmBadReferences, OffersThatCannotBeAreRefusedOrCutItOff) {
    Exported memory;
    Exported shrinks(0);
    peer.say({ShmSlotMessage::kOffer, 1, 0, 2 * kBytes}, memory.fd());  // more than there is
    peer.say({ShmSlotMessage::kOffer, 2, 0, kBytes}, shrinks.fd());
    peer.say({ShmSlotMessage::kOffer, 3, 0, std::uint64_t{1} << 50}, memory.fd());
    settle({a.get()});
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(peer.hear(), ShmSlotMessage::kRefused);
    EXPECT_FALSE(peer.cut_off());
    const std::vector<ShmSlotMessage> bad{
        {ShmSlotMessage::kOffer, kShmSlots, 0, kBytes},
        {ShmSlotMessage::kOffer, 1, 0, 0},
        {ShmSlotMessage::kOffer, 1, 1, kBytes},
        {ShmSlotMessage::kWithdraw, 1, 0, 0},
        {ShmSlotMessage::kTaken, 1, 0, 0},
        {ShmSlotMessage::kReturned, 1, 0, 0},
        {ShmSlotMessage::kReturned, kShmSlots, 0, 0},
        {77, 0, 0, 0},
    };
    for (const ShmSlotMessage& message : bad) {
        Hostile another(dir_ + "/net");
        another.hello(kMagic, true, kVersion, 2);
        settle({a.get()});
        another.say(message, memory.fd());
        settle({a.get()});
        EXPECT_TRUE(another.cut_off()) << message.kind << " " << message.slot;
    }
}

TEST_F(ShmBadReferences, OfferWithoutADescriptorCutsItOff) {
    peer.say({ShmSlotMessage::kOffer, 1, 0, kBytes});
    settle({a.get()});
    EXPECT_TRUE(peer.cut_off());
}

TEST_F(Shm, CardThatWasLostIsConnectedToAgain) {
    std::filesystem::create_directory(dir_ + "/net");
    const UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0));
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::strcpy(at.sun_path, (dir_ + "/net/1-0").c_str());
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    ASSERT_EQ(::listen(listener.get(), 4), 0);
    const auto a = card(1);
    const std::array<std::uint64_t, 4> hello{kMagic | std::uint64_t{kVersion} << 32U, kMac + 9,
                                             kShmRingBytes, 0};
    Nanoseconds now = 1;
    for (unsigned i = 0; i < 3; i++) {
        {
            const UniqueFd peer(::accept(listener.get(), nullptr, nullptr));
            ASSERT_TRUE(peer) << i;
            ASSERT_EQ(::send(peer.get(), hello.data(), sizeof hello, 0), 32);
            take(*a);
        }
        take(*a);
        EXPECT_LT(::accept(listener.get(), nullptr, nullptr), 0) << "not at once";
        a->advance(now += 2'000'000'000);
        take(*a);
    }
    const UniqueFd stranger(::accept(listener.get(), nullptr, nullptr));
    ASSERT_TRUE(stranger);
}

TEST_F(ShmBadReferences, OneThatDiesWhileItGathersIsForgotten) {
    push(kReferring | kShmGathering, ShmReference{3, 0}.word());
    EXPECT_TRUE(take(*a).empty());
    EXPECT_FALSE(peer.cut_off());
    ::shutdown(peer.fd(), SHUT_RDWR);
    take(*a);
    EXPECT_TRUE(a->prepare_sleep()) << "nothing is left to wait for";
}

/// One that was offered memory.
class ShmBadTaker : public ShmBadReferences {
  protected:
    ShmBadTaker() {
        for (unsigned i = 0; i < 5 && heard != ShmSlotMessage::kOffer; i++) {
            send_referring(*a, memory.payload(), to_peer());
            settle({a.get()});
            heard = peer.hear();
        }
    }
    static Frame to_peer() {
        Frame frame = bare_frame();
        frame[5] = std::byte{66};
        return frame;
    }
    void takes() {
        peer.say({ShmSlotMessage::kTaken, 0, 0, 0});
        settle({a.get()});
    }
    /// Sends a frame, which the taker reads for ever.
    void send_what_it_reads() { send_what_it_reads(peer); }
    void send_what_it_reads(Hostile& taker) {
        std::byte* const record = taker.data(1) + taker.ring(1).head;
        send_referring(*a, memory.payload(), to_peer());
        std::uint64_t mark = 0;
        std::memcpy(&mark, record, sizeof mark);
        ASSERT_EQ(mark >> 32U, kReferring);
        mark |= std::uint64_t{kShmReading} << 32U;
        std::memcpy(record, &mark, sizeof mark);
    }
    Exported memory;
    std::uint32_t heard = 0;
};

TEST_F(ShmBadTaker, OneThatStaysAtAFrameIsCutOff) {
    takes();
    send_what_it_reads();
    a->gather();
    take(*a);
    EXPECT_TRUE(peer.cut_off());
    EXPECT_EQ(a->stats().rx_errors, 1U);
}

// Each could stay at a frame for half a second, and come again.
TEST_F(ShmBadTaker, ManyThatStayAtFramesAreWaitedForAPartOfTheTime) {
    constexpr Nanoseconds kSecond = 1'000'000'000;
    const auto time_of_gather = [&] {
        const auto begin = std::chrono::steady_clock::now();
        a->gather();
        const auto took = std::chrono::steady_clock::now() - begin;
        take(*a);
        return took;
    };
    a->advance(kSecond);
    settle({a.get()});
    takes();
    send_what_it_reads(peer);
    time_of_gather();
    ASSERT_TRUE(peer.cut_off());

    std::vector<std::unique_ptr<Hostile>> more;
    for (unsigned i = 0; i < 2; i++) {
        more.push_back(std::make_unique<Hostile>(dir_ + "/net"));
        more.back()->hello(kMagic, true, kVersion, 2);
        settle({a.get()});
    }
    EXPECT_FALSE(a->begin_frame(100).empty());
    EXPECT_FALSE(a->takes_references()) << "newcomers have payloads copied now";
    a->end_frame(0);
    a->advance(15 * kSecond);
    for (; !more.empty(); more.pop_back()) {  // frames for this address go to the last one
        const auto& other = more.back();
        for (unsigned i = 0; i < 5 && other->hear() != ShmSlotMessage::kOffer; i++) {
            send_referring(*a, memory.payload(), to_peer());
            settle({a.get()});
        }
        other->say({ShmSlotMessage::kTaken, 0, 0, 0});
        settle({a.get()});
        send_what_it_reads(*other);
        const auto took = time_of_gather();
        EXPECT_TRUE(other->cut_off());
        EXPECT_LT(took, std::chrono::milliseconds(more.size() == 2 ? 2000 : 250));
    }
}

TEST_F(ShmBadTaker, OneThatDiesAtAFrameIsNotWaitedFor) {
    takes();
    send_what_it_reads();
    ::shutdown(peer.fd(), SHUT_RDWR);
    a->gather();
    take(*a);
    EXPECT_EQ(a->stats().rx_errors, 0U) << "it has gone before it was cut off";
}

// Else this takes as long as the frames are many.
TEST_F(ShmBadTaker, OneThatIsAtManyFramesIsWaitedForOnce) {
    takes();
    for (unsigned i = 0; i < 1'000; i++)
        send_what_it_reads();
    a->gather();
    take(*a);
    EXPECT_TRUE(peer.cut_off());
}

TEST_F(ShmBadTaker, OneThatAnswersNothingKeepsNoDescriptor) {
    ASSERT_EQ(heard, ShmSlotMessage::kOffer);
    const auto part = exported_memory().find(memory.payload());
    ASSERT_TRUE(part.has_value());
    const std::weak_ptr<const UniqueFd> file = part->file;
    const long others = file.use_count() - 2;  // the part's and the process's
    memory.forget();
    settle({a.get()});
    EXPECT_EQ(others, 0);
}

TEST_F(ShmBadTaker, OneWhosePositionGoesBackKeepsNoMoreThanARing) {
    takes();
    const auto held = std::make_shared<HeldMemory>();
    const Frame frame = to_peer();
    for (unsigned i = 0; i < 6'000; i++) {
        peer.ring(1).tail = peer.ring(1).head.load();
        const std::span<std::byte> room = a->begin_frame(frame.size());
        ASSERT_FALSE(room.empty());
        peer.ring(1).tail = 0;
        std::copy(frame.begin(), frame.end(), room.begin());
        a->end_frame_referring(frame.size(), frame.size() - packet::kIcrcBytes - 1024,
                               memory.payload(), held);
        a->flush();
    }
    EXPECT_LE(held.use_count(), static_cast<long>(kShmRingBytes / 1024));
    peer.ring(1).tail = peer.ring(1).head.load();
    a.reset();
}

}  // namespace
}  // namespace dingo::test
