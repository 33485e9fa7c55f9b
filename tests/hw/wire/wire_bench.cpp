// SPDX-License-Identifier: BSD-2-Clause
//
// Frames per second of the wires that join two cards on one host. One thread plays both ends, so
// the figure is the cost of sending and receiving a frame together; with `threads`, each end has a
// thread of its own and the figure is what arrives.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "wire/wire.h"

namespace dingo {
namespace {

constexpr unsigned kBatch = 60;

using Pair = std::pair<std::unique_ptr<Wire>, std::unique_ptr<Wire>>;

/// Reads every byte, as a card that checks the ICRC does.
class CountingSink final : public FrameSink {
  public:
    void on_frame(std::span<const std::byte> frame) override {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i + 8 <= frame.size(); i += 8) {
            std::uint64_t word;
            std::memcpy(&word, &frame[i], sizeof word);
            sum += word;
        }
        benchmark::DoNotOptimize(sum);
        frames++;
        bytes += frame.size();
    }
    std::uint64_t frames = 0;
    std::uint64_t bytes = 0;
};

Pair make_pair_of(const std::string& kind) {
    if (kind == "loop") {
        Pair raw = make_loop_pair();
        return {wrap_wire(std::move(raw.first), {}), wrap_wire(std::move(raw.second), {})};
    }
    if (kind == "shm") {
        WireOptions a_end;
        a_end.wire = fmt::format("shm:/tmp/dingo-wire-bench-{}", ::getpid());
        WireOptions b_end = a_end;
        b_end.mac = a_end.mac + 1;
        Pair pair{make_wire(a_end), make_wire(b_end)};
        CountingSink nobody;
        pair.first->receive(nobody, 1);  // takes the other's hello
        return pair;
    }
    if (kind == "roce") {
        WireOptions a_end;
        a_end.wire = "roce:127.9.0.1";
        WireOptions b_end;
        b_end.wire = "roce:127.9.0.2";
        return {make_wire(a_end), make_wire(b_end)};
    }
    std::string a = fmt::format("127.0.0.1:{}", 20'000 + ::getpid() % 10'000);
    std::string b = fmt::format("127.0.0.1:{}", 30'000 + ::getpid() % 10'000);
    if (kind == "unix") {
        a = fmt::format("/tmp/dingo-wire-bench-{}.a", ::getpid());
        b = fmt::format("/tmp/dingo-wire-bench-{}.b", ::getpid());
    }
    WireOptions first;
    first.wire = fmt::format("{}:{},{}", kind, a, b);
    WireOptions second;
    second.wire = fmt::format("{}:{},{}", kind, b, a);
    return {make_wire(first), make_wire(second)};
}

/// Ethernet, IPv4 and UDP headers of a RoCE v2 packet, as far as the wire `roce` looks at them.
void put_headers(std::span<std::byte> frame) {
    const auto put16 = [&](std::size_t at, std::size_t value) {
        frame[at] = static_cast<std::byte>(value >> 8);
        frame[at + 1] = static_cast<std::byte>(value & 0xff);
    };
    const unsigned char ip[] = {0x45, 0, 0,   0, 0, 0, 0x40, 0, 64, 17,
                                0,    0, 127, 9, 0, 1, 127,  9, 0,  2};
    frame[0] = std::byte{2};  // no group address
    put16(12, 0x0800);
    std::memcpy(&frame[14], ip, sizeof ip);
    put16(16, frame.size() - 14);
    put16(34, 4791);
    put16(36, 4791);
    put16(38, frame.size() - 34);
}

unsigned send_batch(Wire& wire, std::size_t size, unsigned count) {
    unsigned sent = 0;
    for (; sent < count; sent++) {
        const std::span<std::byte> room = wire.begin_frame(size);
        if (room.empty())
            break;
        std::memset(room.data(), static_cast<int>(sent), size);
        put_headers(room);
        wire.end_frame(size);
    }
    wire.flush();
    return sent;
}

void set_rates(benchmark::State& state, const CountingSink& sink) {
    state.SetItemsProcessed(static_cast<std::int64_t>(sink.frames));
    state.SetBytesProcessed(static_cast<std::int64_t>(sink.bytes));
}

void one_thread(benchmark::State& state, const std::string& kind) {
    const auto [a, b] = make_pair_of(kind);
    const auto size = static_cast<std::size_t>(state.range(0));
    CountingSink sink;
    for (auto _ : state) {
        send_batch(*a, size, kBatch);
        while (b->receive(sink, 256) != 0)
            a->flush();
    }
    set_rates(state, sink);
}

void two_threads(benchmark::State& state, const std::string& kind) {
    const auto [a, b] = make_pair_of(kind);
    const auto size = static_cast<std::size_t>(state.range(0));
    // The credit keeps what is on the wire below what a card would have in flight.
    constexpr std::uint64_t kCredit = 1024;
    std::atomic<std::uint64_t> received{0};
    std::atomic<bool> stop{false};
    std::jthread sender([&, wire = a.get()] {
        std::uint64_t sent = 0;
        while (!stop.load(std::memory_order_relaxed)) {
            if (sent - received.load(std::memory_order_acquire) + kBatch > kCredit ||
                wire->tx_blocked_fd() >= 0) {
                wire->flush();
                std::this_thread::yield();
                continue;
            }
            sent += send_batch(*wire, size, kBatch);
        }
    });
    CountingSink sink;
    for (auto _ : state) {
        const std::uint64_t goal = sink.frames + kBatch;
        while (sink.frames < goal) {
            if (b->receive(sink, 256) == 0) {
                pollfd p{b->polled() ? -1 : b->fd(), POLLIN, 0};
                if (p.fd >= 0 && ::poll(&p, 1, 100) == 0 && b->stats().rx_overrun != 0) {
                    state.SkipWithError("frames were lost: the receiver is too slow");
                    break;
                }
                if (p.fd < 0)
                    std::this_thread::yield();
            }
            received.store(sink.frames, std::memory_order_release);
        }
        if (sink.frames < goal)
            break;
    }
    stop = true;
    set_rates(state, sink);
}

void add(const std::string& kind) {
    for (const bool threads : {false, true})
        benchmark::RegisterBenchmark(
            fmt::format("{}/{}", kind, threads ? "threads" : "one_thread").c_str(),
            [=](benchmark::State& s) { (threads ? two_threads : one_thread)(s, kind); })
            ->Arg(98)
            ->Arg(1082)
            ->Arg(4158)
            ->UseRealTime();
}

}  // namespace
}  // namespace dingo

int main(int argc, char** argv) {
    for (const char* kind : {"shm", "roce", "udp", "unix", "loop"})
        dingo::add(kind);
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
