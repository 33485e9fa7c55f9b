// SPDX-License-Identifier: BSD-2-Clause
// A complete card with the fake engine: its loop runs in its own thread; the test is QEMU (over a
// real socket, with the doorbell page mapped) and the peer at the other end of the wire.
#include "app/card_loop.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <tuple>

#include "../host/vfio_user/client.h"
#include "dingo/packet/text.h"
#include "dingo_hw.h"
#include "fake_engine.h"
#include "host/vfio_user/attachment.h"

namespace dingo::test {
namespace {

using namespace std::chrono_literals;
using vfio_user::Command;
using vfio_user::test::Answer;
using vfio_user::test::append;
using vfio_user::test::as;
using vfio_user::test::Bytes;

/// A vfio-user client that blocks for its replies, as QEMU does.
class Client {
  public:
    explicit Client(const std::string& path) : fd_(connect_unix(path)) {
        EXPECT_TRUE(fd_) << std::strerror(errno);
        EXPECT_EQ(call(Command::kVersion, vfio_user::test::Harness::version_payload()).error(), 0);
        write<std::uint16_t>(VFIO_PCI_CONFIG_REGION_INDEX, 4, 6);
    }

    Answer call(Command command, const Bytes& payload, std::span<const int> fds = {}) {
        Bytes bytes;
        append(bytes, vfio_user::Header{++id_, static_cast<std::uint16_t>(command),
                                        static_cast<std::uint32_t>(16 + payload.size()), 0, 0});
        bytes.insert(bytes.end(), payload.begin(), payload.end());
        vfio_user::test::send_to(fd_.get(), bytes, fds);
        return receive();
    }

    Answer receive() {
        if (auto answer = vfio_user::test::receive_from(fd_.get(), MSG_WAITALL)) {
            return std::move(*answer);
        }
        Answer closed;
        closed.header.flags = vfio_user::kFlagError;
        closed.header.error = ECONNRESET;
        return closed;
    }

    template <typename T>
    void write(std::uint32_t region, std::uint64_t offset, T value) {
        Bytes payload;
        append(payload, vfio_user::RegionAccess{offset, region, sizeof value});
        append(payload, value);
        EXPECT_EQ(call(Command::kRegionWrite, payload).error(), 0);
    }
    template <typename T>
    T read(std::uint32_t region, std::uint64_t offset) {
        Bytes payload;
        append(payload, vfio_user::RegionAccess{offset, region, sizeof(T)});
        return as<T>(call(Command::kRegionRead, payload).payload, 16);
    }

    /// Maps the doorbell BAR as QEMU does for its guest; empty without memory doorbells.
    std::span<std::byte> map_doorbells() {
        Bytes ask;
        append(ask, vfio_user::RegionInfo{32, 0, VFIO_PCI_BAR2_REGION_INDEX, 0, 0, 0});
        Answer a = call(Command::kDeviceGetRegionInfo, ask);
        const auto info = as<vfio_user::RegionInfo>(a.payload);
        if (a.fds.empty()) {
            return {};
        }
        void* at =
            ::mmap(nullptr, info.size, PROT_READ | PROT_WRITE, MAP_SHARED, a.fds[0].get(), 0);
        EXPECT_NE(at, MAP_FAILED);
        return {static_cast<std::byte*>(at), info.size};
    }

  private:
    UniqueFd fd_;
    std::uint16_t id_ = 0;
};

/// A card that is not served yet.
class Seat {
  public:
    explicit Seat(bool memory_doorbells = true, std::unique_ptr<Wire> wire = nullptr) {
        static std::atomic<int> number{0};
        const auto base =
            std::filesystem::temp_directory_path() /
            ("dingo-card-test." + std::to_string(::getpid()) + "." + std::to_string(++number));
        socket_ = base.string() + ".sock";
        attachment_.emplace(socket_, server_);
        control_ = base.string() + ".ctl";
        if (wire == nullptr) {
            std::tie(wire, peer) = make_loop_pair();
        }
        wire_ = wrap_wire(std::move(wire), {});
        register_fake_engine();
        EngineConfig config;
        config.memory_doorbells = memory_doorbells;
        card_.emplace("fake", config, server_, *wire_);
        engine = FakeEngine::last;
        server_.bind(*card_, card_->identity());
        served_.emplace(control_, *card_, *attachment_, *wire_);
    }
    [[nodiscard]] const std::string& socket() const { return socket_; }
    [[nodiscard]] ServedCard& served() { return *served_; }
    [[nodiscard]] Card& card() { return *card_; }
    [[nodiscard]] const Card& card() const { return *card_; }

    nlohmann::json control(const std::string& line) const {
        const UniqueFd fd = connect_unix(control_);
        const std::string text = line + "\n";
        EXPECT_EQ(::send(fd.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
        std::string reply;
        char c = 0;
        while (::recv(fd.get(), &c, 1, 0) == 1 && c != '\n') {
            reply += c;
        }
        return nlohmann::json::parse(reply, nullptr, false);
    }

    std::unique_ptr<Wire> peer;
    FakeEngine* engine = nullptr;

  private:
    std::string control_;
    std::string socket_;
    std::unique_ptr<Wire> wire_;
    vfio_user::Server server_;
    std::optional<vfio_user::VfioUserAttachment> attachment_;
    std::optional<Card> card_;
    std::optional<ServedCard> served_;
};

/// A loop in its own thread.
class RunningLoop {
  public:
    explicit RunningLoop(std::initializer_list<Seat*> seats)
        : stop_(::eventfd(0, EFD_CLOEXEC)), loop(IdlePolicy::Limits{}, stop_.get()) {
        for (Seat* const seat : seats) {
            loop.add(seat->served());
        }
        thread_ = std::thread([this] { loop.run(); });
    }
    ~RunningLoop() {
        const std::uint64_t one = 1;
        EXPECT_EQ(::write(stop_.get(), &one, sizeof one), 8);
        thread_.join();
    }

  private:
    UniqueFd stop_;

  public:
    CardLoop loop;

  private:
    std::thread thread_;
};

class RunningCard : public Seat {
  public:
    explicit RunningCard(bool memory_doorbells = true) : Seat(memory_doorbells), loop_({this}) {}

  private:
    RunningLoop loop_;
};

/// Rings as a driver does with its own doorbell page.
void ring(Client& client, std::span<std::byte> doorbells, std::size_t page, std::uint64_t value) {
    std::byte* const at = doorbells.data() + page * 4096;
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at + 256)).store(value);
    std::atomic_ref(*reinterpret_cast<std::uint8_t*>(at + 64 + 256 / 64)).store(1);
    if (std::atomic_ref(*reinterpret_cast<std::uint32_t*>(at)).load() != 0) {
        client.write<std::uint32_t>(VFIO_PCI_BAR0_REGION_INDEX, 0x3000, 1);
    }
}

struct Host {
    explicit Host(Seat& card) : client(card.socket()), fd(vfio_user::test::make_memfd(1 << 20)) {
        memory = static_cast<std::byte*>(
            ::mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
        Bytes map;
        append(map, vfio_user::DmaMap{32, 3, 0, 0x100000, 1 << 20});
        const int fds[] = {fd.get()};
        EXPECT_EQ(client.call(Command::kDmaMap, map, fds).error(), 0);
        std::vector<int> raw;
        for (auto& e : events) {
            e.reset(::eventfd(0, EFD_CLOEXEC));
            raw.push_back(e.get());
        }
        Bytes irqs;
        append(irqs, vfio_user::IrqSet{20, 36, VFIO_PCI_MSIX_IRQ_INDEX, 0, 8});
        EXPECT_EQ(client.call(Command::kDeviceSetIrqs, irqs, raw).error(), 0);
        doorbells = client.map_doorbells();
    }
    ~Host() { ::munmap(memory, 1 << 20); }
    void wait_for(unsigned vector) {
        pollfd p{events[vector].get(), POLLIN, 0};
        ASSERT_EQ(::poll(&p, 1, 30'000), 1) << "no interrupt " << vector;
        std::uint64_t n = 0;
        ASSERT_EQ(::read(p.fd, &n, sizeof n), 8);
    }

    Client client;
    UniqueFd fd;
    std::byte* memory = nullptr;
    std::array<UniqueFd, 8> events;
    std::span<std::byte> doorbells;
};

TEST(CardLoop, TheClockThatIsReadFirstAfterASleepIsOfNow) {
    RunningCard card;
    Host host(card);
    for (int i = 0; i < 3; ++i) {
        std::this_thread::sleep_for(20ms);  // much longer than a card spins
        const auto before =
            std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch());
        const auto clock =
            host.client.read<std::uint64_t>(VFIO_PCI_BAR0_REGION_INDEX, DINGO_REG_CLOCK);
        EXPECT_GE(clock, static_cast<std::uint64_t>(before.count()));
    }
}

TEST(CardLoop, DoorbellInMemoryWakesTheCardWhichDoesDmaAndInterrupts) {
    RunningCard card;
    Host host(card);
    for (int i = 1; i <= 20; ++i) {
        std::memset(host.memory, i, 64);
        ring(host.client, host.doorbells, 3 + i % 2,
             static_cast<std::uint64_t>(i) << 48 | std::uint64_t{0x100000} << 8 | 1);
        host.wait_for(1);
        EXPECT_EQ(std::memcmp(host.memory, host.memory + 64, 64), 0) << i;
        if (i % 5 == 0) {
            std::this_thread::sleep_for(5ms);  // lets the card fall asleep
        }
    }
}

TEST(CardLoop, AWatchedSlotReachesACardThatHasBeenIdle) {
    RunningCard card;
    Host host(card);
    constexpr std::uint32_t kSlot = 256 / 8;
    host.client.write<std::uint32_t>(VFIO_PCI_BAR0_REGION_INDEX, DINGO_REG_DB_WATCH,
                                     DINGO_DB_WATCH_ON_MASK | kSlot << 16 | 3);
    for (int i = 1; i <= 10; ++i) {
        std::memset(host.memory, i, 64);
        std::atomic_ref(*reinterpret_cast<std::uint64_t*>(host.doorbells.data() + 3 * 4096 + 256))
            .store(static_cast<std::uint64_t>(i) << 48 | std::uint64_t{0x100000} << 8 | 1);
        host.wait_for(1);
        EXPECT_EQ(std::memcmp(host.memory, host.memory + 64, 64), 0) << i;
        if (i % 5 == 0) {
            std::this_thread::sleep_for(std::chrono::nanoseconds(2 * DoorbellScanner::kWatchSpin));
        }
    }
}

TEST(CardLoop, TrappedDoorbellWorksWithoutMemory) {
    RunningCard card(false);
    Host host(card);
    EXPECT_TRUE(host.doorbells.empty());
    std::memset(host.memory, 7, 64);
    host.client.write<std::uint64_t>(VFIO_PCI_BAR2_REGION_INDEX, 4096 + 128,
                                     std::uint64_t{0x100000} << 8 | 1);
    host.wait_for(1);
    EXPECT_EQ(std::memcmp(host.memory, host.memory + 64, 64), 0);
}

TEST(CardLoop, TimerOfTheEngineFiresThoughNothingElseHappens) {
    RunningCard card;
    Host host(card);
    ring(host.client, host.doorbells, 1, std::uint64_t{3'000'000} << 8 | 3);
    host.wait_for(2);
}

TEST(CardLoop, LongWorkDoesNotKeepTheHostWaiting) {
    RunningCard card;
    Host host(card);
    ring(host.client, host.doorbells, 1, (std::uint64_t{1} << 39) << 8 | 4);
    EXPECT_EQ(host.client.read<std::uint32_t>(VFIO_PCI_BAR0_REGION_INDEX, 0), 0x4F474E44u);
    EXPECT_EQ(host.client.call(Command::kDeviceReset, {}).error(), 0);
    host.client.write<std::uint16_t>(VFIO_PCI_CONFIG_REGION_INDEX, 4, 6);
    ring(host.client, host.doorbells, 1, std::uint64_t{1000} << 8 | 4);
    host.wait_for(3);
}

TEST(CardLoop, FramesGoBothWays) {
    RunningCard card;
    Host host(card);
    struct Sink final : FrameSink {
        void on_frame(std::span<const std::byte> f) override { frame.assign(f.begin(), f.end()); }
        Bytes frame;
    } sink;
    std::memset(host.memory, 0x5A, 64);
    ring(host.client, host.doorbells, 1, std::uint64_t{0x100000} << 8 | 2);
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    while (sink.frame.empty() && std::chrono::steady_clock::now() < deadline) {
        card.peer->receive(sink, 1);
    }
    EXPECT_EQ(sink.frame, Bytes(64, std::byte{0x5A}));
}

TEST(CardLoop, ClientsComeOneAfterTheOtherAndNotTogether) {
    RunningCard card;
    for (int i = 0; i < 3; ++i) {
        Host host(card);
        ring(host.client, host.doorbells, 1, std::uint64_t{0x100000} << 8 | 1);
        host.wait_for(1);
        const UniqueFd second = connect_unix(card.socket());
        char c = 0;
        EXPECT_EQ(::recv(second.get(), &c, 1, 0), 0) << "a second client is turned away";
        EXPECT_EQ(host.client.read<std::uint32_t>(VFIO_PCI_BAR0_REGION_INDEX, 0), 0x4F474E44u);
    }
}

TEST(CardLoop, ResetClearsTheDoorbellPages) {
    RunningCard card;
    Host host(card);
    ring(host.client, host.doorbells, 1, 0xFF);
    EXPECT_EQ(host.client.call(Command::kDeviceReset, {}).error(), 0);
    EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(host.doorbells.data() + 4096 + 256), 0u);
    EXPECT_EQ(*reinterpret_cast<std::uint32_t*>(host.doorbells.data() + 4096), 1u);
}

TEST(CardLoop, ControlSocketAnswersAndExplains) {
    RunningCard card;
    const auto stats = card.control(R"({"cmd":"stats"})");
    EXPECT_EQ(stats["ok"], true);
    EXPECT_EQ(stats["engine"], "fake");
    EXPECT_TRUE(stats["wire"].contains("tx_frames"));
    EXPECT_EQ(card.control(R"({"cmd":"faults","spec":"drop=1%"})")["ok"], true);
    EXPECT_EQ(card.control(R"({"cmd":"faults","spec":"nonsense"})")["ok"], false);
    EXPECT_EQ(card.control(R"({"cmd":"link","up":false})")["up"], false);
    EXPECT_EQ(card.control(R"({"cmd":"stats"})")["link"], false);
    EXPECT_EQ(card.control(R"({"cmd":"link"})")["ok"], false);
    for (const char* bad : {"", "{", "[]", "5", R"({"cmd":"x"})", R"({"cmd":5})", "\xff\xfe"}) {
        const auto reply = card.control(bad);
        EXPECT_EQ(reply["ok"], false) << bad;
        EXPECT_TRUE(reply["error"].is_string()) << bad;
    }
}

TEST(CardLoop, SpeedOfASimulatedClockIsToldAndOfNoOther) {
    const auto told = [](std::optional<SimulatedClock> clock) {
        FakeEngine::clock = clock;
        auto all = RunningCard().control(R"({"cmd":"stats"})");
        FakeEngine::clock.reset();
        return all;
    };
    EXPECT_FALSE(told(std::nullopt).contains("simulation"));
    const auto stats = told(SimulatedClock{.cycles = 300, .busy = 2'000'000, .processor = 7});
    EXPECT_EQ(stats["simulation"]["clock_cycles"], 300);
    EXPECT_EQ(stats["simulation"]["busy_ns"], 2'000'000);
    EXPECT_EQ(stats["simulation"]["processor_ns"], 7);
    EXPECT_DOUBLE_EQ(stats["simulation"]["clock_khz"].get<double>(), 150);
    EXPECT_EQ(told(SimulatedClock{})["simulation"]["clock_khz"], 0) << "it had no work yet";
}

TEST(CardLoop, FramesAreDroppedWhileTheLinkIsDown) {
    RunningCard card;
    card.control(R"({"cmd":"link","up":false})");
    const auto room = card.peer->begin_frame(64);
    ASSERT_EQ(room.size(), 64u);
    std::fill(room.begin(), room.end(), std::byte{1});
    card.peer->end_frame(64);
    card.peer->flush();
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    while (card.control(R"({"cmd":"stats"})")["card"]["link_down_drops"] != 1 &&
           std::chrono::steady_clock::now() < deadline) {
    }
    EXPECT_EQ(card.control(R"({"cmd":"stats"})")["card"]["link_down_drops"], 1);
}

TEST(CardLoop, CardThatSleepsBesideABusyOneHearsDoorbellsTimersAndItsSockets) {
    Seat busy;
    Seat quiet;
    RunningLoop loop({&busy, &quiet});
    Host busy_host(busy);
    Host host(quiet);
    ring(busy_host.client, busy_host.doorbells, 1, (std::uint64_t{1} << 39) << 8 | 4);
    for (int i = 1; i <= 5; ++i) {
        std::this_thread::sleep_for(10ms);  // lets the card fall asleep
        std::memset(host.memory, i, 64);
        ring(host.client, host.doorbells, 3,
             static_cast<std::uint64_t>(i) << 48 | std::uint64_t{0x100000} << 8 | 1);
        host.wait_for(1);
        EXPECT_EQ(std::memcmp(host.memory, host.memory + 64, 64), 0) << i;
    }
    EXPECT_GT(quiet.control(R"({"cmd":"stats"})")["doorbells"]["kicks"], 1) << "it never slept";
    ring(host.client, host.doorbells, 1, std::uint64_t{8'000'000} << 8 | 3);
    host.wait_for(2);
    std::this_thread::sleep_for(10ms);
    EXPECT_EQ(host.client.read<std::uint32_t>(VFIO_PCI_BAR0_REGION_INDEX, 0), 0x4F474E44u);
    std::this_thread::sleep_for(10ms);
    EXPECT_EQ(quiet.control(R"({"cmd":"link","up":false})")["up"], false);
    // The busy card becomes idle: now both sleep, and both still answer.
    EXPECT_EQ(busy_host.client.call(Command::kDeviceReset, {}).error(), 0);
    busy_host.client.write<std::uint16_t>(VFIO_PCI_CONFIG_REGION_INDEX, 4, 6);
    std::this_thread::sleep_for(10ms);
    std::uint64_t n = 0;
    for (Host* const one : {&host, &busy_host, &host}) {
        ring(one->client, one->doorbells, 5, ++n << 50 | std::uint64_t{100} << 8 | 4);
        one->wait_for(3);
    }
}

TEST(CardLoop, CardWithWorkLeftDoesNotSleepHoweverLateItsNextTurnIs) {
    Seat seat;
    ServedCard& served = seat.served();
    constexpr Nanoseconds kLate = 50'000'000;
    Nanoseconds now = kLate;
    served.round(now);
    seat.card().write(Bar::kDoorbells, 4096 + 256, std::uint64_t{1000} << 8 | 4, 8);
    unsigned turns = 0;
    while (served.round(now)) {
        now += kLate;  // the thread was descheduled
        ASSERT_FALSE(served.sleeps_on(now)) << "after " << turns << " turns";
        ASSERT_LT(++turns, 1000U);
    }
    EXPECT_GT(turns, 3U);
    EXPECT_FALSE(served.sleeps_on(now + 1000));
    EXPECT_TRUE(served.sleeps_on(now + kLate));
    served.woke();
    EXPECT_FALSE(served.sleeps_on(now + 2 * kLate)) << "it has not looked at what woke it";
}

/// Rings as a client that has just read need_kick as 0: the card is awake and will scan.
void ring_quietly(const Seat& seat, std::uint64_t value) {
    std::byte* const at = seat.card().doorbell_memory().data() + 4096;
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at + 256)).store(value);
    std::atomic_ref(*reinterpret_cast<std::uint8_t*>(at + 64 + 256 / 64)).store(1);
}

TEST(CardLoop, DoorbellThatKeepsACardAwakeIsServedHoweverLateTheNextRoundIs) {
    Seat seat;
    ServedCard& served = seat.served();
    constexpr Nanoseconds kLate = 50'000'000;
    Nanoseconds now = kLate;
    ring_quietly(seat, std::uint64_t{1} << 48);
    seat.card().write(Bar::kRegisters, DINGO_KICK_PAGE_OFFSET, 1, 4);  // the page becomes active
    while (served.round(now)) {
        now += 1000;
    }
    // The round has found nothing; the doorbell arrives before the card asks for kicks.
    ring_quietly(seat, std::uint64_t{1000} << 8 | FakeEngine::kWork);
    ASSERT_FALSE(served.prepare_sleep(now));
    EXPECT_EQ(seat.engine->doorbells.size(), 2U);
    EXPECT_FALSE(served.prepare_sleep(now)) << "the engine has not had its turn";
    now += kLate;  // the thread was descheduled
    ASSERT_FALSE(served.sleeps_on(now));
    unsigned rounds = 0;
    while (served.round(now)) {
        ASSERT_LT(++rounds, 1000U);
    }
    EXPECT_GT(rounds, 3U);
    EXPECT_TRUE(served.prepare_sleep(now));
}

TEST(CardLoop, WhateverTheOrderOfRoundsAndRingsACardSleepsWithoutWork) {
    std::minstd_rand random(1);
    const auto roll = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
    Seat seat;
    ServedCard& served = seat.served();
    const std::atomic_ref need_kick(
        *reinterpret_cast<std::uint32_t*>(seat.card().doorbell_memory().data() + 4096));
    std::uint64_t rung = 0;
    const auto ring_some = [&] {
        ring_quietly(seat, ++rung << 48 | std::uint64_t{roll(200)} << 8 | FakeEngine::kWork);
        if (need_kick.load() != 0) {
            served.woke();
            seat.card().doorbell_page_kicked(1);
        }
    };
    Nanoseconds now = 1'000'000;
    unsigned slept = 0;
    for (unsigned step = 0; step < 20'000; ++step) {
        now += roll(4) == 0 ? roll(3'000'000) : roll(1000);  // the thread may be descheduled
        if (roll(3) == 0) {
            ring_some();
        }
        // As CardLoop, which asks the card to sleep only if no other card is busy.
        bool asleep = served.sleeps_on(now);
        if (!asleep && !served.round(now) && roll(2) == 0) {
            if (roll(2) == 0) {
                ring_some();  // between the card's scans
            }
            asleep = served.prepare_sleep(now);
        }
        if (!asleep) {
            continue;
        }
        ++slept;
        ASSERT_FALSE(seat.engine->run(now, 0)) << "step " << step;
        ASSERT_EQ(seat.engine->doorbells.size(), rung) << "step " << step;
        ASSERT_NE(need_kick.load(), 0U) << "step " << step;
    }
    EXPECT_GT(slept, 100U);
}

TEST(CardLoop, WhatTheHostGaveTheEngineAfterItsTurnKeepsTheCardAwake) {
    Seat seat;
    ServedCard& served = seat.served();
    constexpr Nanoseconds kNow = 50'000'000;
    while (served.round(kNow)) {
    }
    seat.card().ring(4096 + 256, std::uint64_t{100} << 8 | FakeEngine::kWork);
    EXPECT_FALSE(served.prepare_sleep(kNow)) << "a doorbell of the driver";
    seat.card().run_engine();
    EXPECT_FALSE(served.prepare_sleep(kNow)) << "work that the driver left to the engine";
    seat.card().run_engine();
    EXPECT_TRUE(served.prepare_sleep(kNow));
}

/// A wire without a peer that reports when its card may sleep.
class NotedWire final : public Wire {
  public:
    std::span<std::byte> begin_frame(std::size_t len) override {
        return std::span(room_).first(len);
    }
    void end_frame(std::size_t len) override { queued += len != 0 ? 1 : 0; }
    [[nodiscard]] int fd() const override { return -1; }
    unsigned receive(FrameSink& /*sink*/, unsigned /*budget*/) override { return 0; }
    void flush() override { left += std::exchange(queued, 0); }
    [[nodiscard]] bool prepare_sleep() override { return !std::exchange(restless, false); }
    void advance(Nanoseconds /*now*/) override {}
    [[nodiscard]] std::string describe() const override { return "noted"; }
    [[nodiscard]] WireStats stats() const override { return {}; }

    unsigned queued = 0;
    unsigned left = 0;      ///< frames that were flushed
    bool restless = false;  ///< prevents sleep once

  private:
    std::array<std::byte, 64> room_{};
};

class MemorylessHost final : public HostPort {
  public:
    bool dma_read(std::uint64_t /*addr*/, std::span<std::byte> /*dst*/) override { return true; }
    bool dma_write(std::uint64_t /*addr*/, std::span<const std::byte> /*src*/) override {
        return true;
    }
    std::byte* dma_pointer(std::uint64_t /*addr*/, std::size_t /*len*/) override { return nullptr; }
    void raise_msix(unsigned /*vector*/) override {}
};

TEST(CardLoop, EngineThatWantsIcrcsGetsThemThoughNoneWasSent) {
    MemorylessHost host;
    NotedWire wire;
    register_fake_engine();
    Card card("fake", {}, host, wire);
    std::string error;
    const auto text =
        packet::parse_text("RC_RDMA_WRITE_MIDDLE qpn=17 psn=5 payload=pattern:256", error);
    ASSERT_TRUE(text) << error;
    const std::vector<std::byte> whole = packet::build_text({}, *text);
    std::vector<std::byte> bare = whole;
    std::fill(bare.end() - packet::kIcrcBytes, bare.end(), std::byte{0});
    card.on_frame_without_icrc(bare, {});
    ASSERT_EQ(FakeEngine::last->frames.size(), 1U);
    EXPECT_EQ(FakeEngine::last->frames[0], whole);
    card.set_link(false);
    card.on_frame_without_icrc(bare, {});
    EXPECT_EQ(FakeEngine::last->frames.size(), 1U);
    EXPECT_EQ(card.stats().link_down_drops, 1U);
}

TEST(CardLoop, FramesOfAnEngineThatTheDriverRanLeaveThoughTheCardSleeps) {
    MemorylessHost host;
    NotedWire wire;
    register_fake_engine();
    EngineConfig config;
    config.memory_doorbells = true;
    Card card("fake", config, host, wire);
    while (card.poll(1000)) {
    }
    card.ring(4096 + 256, FakeEngine::kSend);
    card.run_engine();
    ASSERT_TRUE(card.prepare_sleep(1000));
    EXPECT_EQ(wire.left, 1U);
}

TEST(CardLoop, CardThatItsWireKeepsAwakeHasARoundBeforeItSleeps) {
    auto owned = std::make_unique<NotedWire>();
    NotedWire& wire = *owned;
    Seat seat(true, std::move(owned));
    ServedCard& served = seat.served();
    constexpr Nanoseconds kLate = 50'000'000;
    Nanoseconds now = kLate;
    while (served.round(now)) {
    }
    wire.restless = true;
    EXPECT_FALSE(served.prepare_sleep(now));
    now += kLate;
    EXPECT_FALSE(served.sleeps_on(now));
    served.round(now);
    EXPECT_TRUE(served.sleeps_on(now + kLate));
}

TEST(CardLoop, SocketInUseAndSocketThatIsNoSocketAreExplained) {
    RunningCard card;
    EXPECT_THROW(UnixListener{card.socket()}, std::runtime_error);
    EXPECT_THROW(UnixListener{"/dev/null"}, std::runtime_error);
    EXPECT_THROW(UnixListener{std::string(200, 'x')}, std::runtime_error);
    EXPECT_THROW(UnixListener{""}, std::runtime_error);
}

}  // namespace
}  // namespace dingo::test
