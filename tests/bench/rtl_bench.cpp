// SPDX-License-Identifier: BSD-2-Clause
//
// rtl_bench: two cards in SystemVerilog on a stated PCIe and a 100G link, cycle by cycle: goodput,
// message rate, latency. Cycles are exact: the same on every machine.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <deque>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "dingo/rtl.h"
#include "two_cards.h"

namespace {

using namespace dingo;

constexpr Nanoseconds kWire = 200;  // MAC, PHY and fibre of both ends
constexpr double kGigabit = 1.0;    // bits per nanosecond
constexpr Nanoseconds kGiveUp = 4'000'000;

/// Two connected cards whose clocks run together.
class Bench {
  public:
    Bench(unsigned qps, std::uint8_t path_mtu) : cards_("rtl", "rtl") {
        test::TwoCards::ConnectOptions options;
        options.path.path_mtu = path_mtu;
        options.path.max_rd_atomic = 16;
        options.qp.log_sq = 7;
        options.log_cq = 8;
        for (unsigned i = 0; i < qps; ++i)
            links_.push_back(cards_.connect(options));
        for (unsigned c = 0; c < 2; ++c) {
            mr_[c] = cards_.driver(c).create_mr(
                4U << 20, DINGO_ACC_LOCAL_WRITE | DINGO_ACC_REMOTE_WRITE | DINGO_ACC_REMOTE_READ);
        }
        now_ = cards_.now() + 1000;
        for (unsigned c = 0; c < 2; ++c) {
            cards_.card(c).engine->run(now_, 1000);
            cards_.card(c).wire.sink = [this, c](std::span<const std::byte> frame) {
                wire_.push_back({now_ + kWire, 1 - c, {frame.begin(), frame.end()}});
            };
            rtl::set_timing(*cards_.card(c).engine, {});
        }
    }

    /// `depth` requests of `bytes` are kept outstanding on every QP of the sending cards; result:
    /// nanoseconds that `count` completions took after as many to warm up.
    /// `at_start`: called when they begin to count.
    double stream(std::uint8_t opcode, std::uint32_t bytes, unsigned depth, unsigned count,
                  bool both, const std::function<void()>& at_start = {}) {
        unsigned done = 0;
        const unsigned total = 2 * count;
        Nanoseconds start = 0;
        for (unsigned c = 0; c <= (both ? 1U : 0U); ++c)
            for (auto& link : links_)
                for (unsigned i = 0; i < depth; ++i)
                    post(c, link, opcode, bytes);
        const Nanoseconds end = now_ + kGiveUp * 40;
        while (done < total && now_ < end) {
            tick();
            for (unsigned c = 0; c <= (both ? 1U : 0U); ++c) {
                for (auto& link : links_) {
                    while (const auto cqe = cards_.driver(c).poll_cq(link.cq[c])) {
                        if (cqe->status != DINGO_WCS_SUCCESS) {
                            std::fprintf(stderr, "completion with status %u\n", cqe->status);
                            return -1;
                        }
                        if (++done == count) {
                            start = now_;
                            if (at_start)
                                at_start();
                        }
                        if (done + depth * links_.size() * (both ? 2 : 1) <= total + count)
                            post(c, link, opcode, bytes);
                    }
                }
            }
        }
        return done < total ? -1 : static_cast<double>(now_ - start);
    }

    /// Nanoseconds from the doorbell to the last byte in the peer's memory (WRITE), or to the
    /// completion's entry in host memory.
    struct Latency {
        Nanoseconds memory = 0;
        Nanoseconds completion = 0;
    };
    Latency once(std::uint8_t opcode, std::uint32_t bytes, bool inlined) {
        Latency latency;
        auto& link = links_.front();
        const Nanoseconds start = now_;
        test::TestHost& far = cards_.host(opcode == DINGO_WR_READ ? 0 : 1);
        far.on_write = [&](std::uint64_t addr, std::span<const std::byte>) {
            const test::Mr& mr = mr_[opcode == DINGO_WR_READ ? 0 : 1];
            if (addr >= mr.bus && addr < mr.bus + mr.length)
                latency.memory = now_ - start;
        };
        post(0, link, opcode, bytes, inlined);
        while (now_ < start + kGiveUp) {
            tick();
            if (cards_.driver(0).poll_cq(link.cq[0])) {
                latency.completion = now_ - start;
                break;
            }
        }
        far.on_write = nullptr;
        for (unsigned i = 0; i < 2000; ++i)
            tick();
        return latency;
    }

    /// Waveforms of a card, from now on. @throws std::runtime_error
    void trace(unsigned card, rtl::Trace window, Nanoseconds length) {
        window.from = now_;
        window.to = now_ + length;
        rtl::set_trace(*cards_.card(card).engine, window);
    }

  private:
    struct Travelling {
        Nanoseconds due;
        unsigned to;
        std::vector<std::byte> bytes;
    };

    void post(unsigned card, test::TwoCards::Connection& link, std::uint8_t opcode,
              std::uint32_t bytes, bool inlined = false) {
        test::SendWr wr;
        wr.opcode = opcode;
        wr.flags = DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK;
        wr.raddr = mr_[1 - card].iova;
        wr.rkey = mr_[1 - card].key;
        if (inlined) {
            wr.inline_data.resize(bytes);
            wr.force_inline = true;
        } else {
            wr.sges = {mr_[card].sge(0, bytes)};
        }
        cards_.driver(card).post_send(link.qp[card], wr);
    }

    void tick() {
        now_ += rtl::kCycle;
        while (!wire_.empty() && wire_.front().due <= now_) {
            cards_.card(wire_.front().to).engine->receive(wire_.front().bytes);
            wire_.pop_front();
        }
        for (unsigned c = 0; c < 2; ++c)
            cards_.card(c).engine->run(now_, 1);
    }

    test::TwoCards cards_;
    std::vector<test::TwoCards::Connection> links_;
    test::Mr mr_[2];
    std::deque<Travelling> wire_;
    Nanoseconds now_ = 0;
};

double ceiling(std::uint8_t path_mtu) {
    const double payload = 128U << path_mtu;
    return 100 * payload /
           (payload + 82);  // docs/performance.md: 24 + 14 + 20 + 8 + 12 + 4 bytes a packet
}

/// One measurement, chosen on the command line.
struct One {
    std::string operation;
    unsigned qps = 1;
    unsigned bytes = 65536;
    unsigned outstanding = 16;  // on each QP
    unsigned path_mtu = 4096;
    unsigned count = 0;
    bool both = false;
    rtl::Trace trace;
    unsigned trace_card = 0;
    Nanoseconds trace_length = 10'000;
};

void add_options(CLI::App& app, One& one) {
    auto* const operation = app.add_option("--operation", one.operation,
                                           "measure this one only, as the options below say")
                                ->check(CLI::IsMember({"read", "write"}));
    const auto option = [&](const char* name, auto& value, const char* text) {
        return app.add_option(name, value, text)->capture_default_str()->needs(operation);
    };
    option("--qps", one.qps, "QPs")->check(CLI::Range(1, 1000));
    option("--bytes", one.bytes, "of a message")->check(CLI::Range(1, 4 << 20));
    option("--outstanding", one.outstanding, "requests on each QP")->check(CLI::Range(1, 128));
    option("--pmtu", one.path_mtu, "path MTU")->check(CLI::IsMember({256, 512, 1024, 2048, 4096}));
    option("--count", one.count, "messages that count; 0: some");
    app.add_flag("--both", one.both, "in both directions")->needs(operation);
    auto* const file = option("--trace", one.trace.file,
                              "waveforms (VCD) from the first message that counts; needs a build "
                              "with -DDINGO_RTL_TRACE=ON");
    option("--trace-card", one.trace_card, "1: of the peer")->check(CLI::Range(0, 1))->needs(file);
    option("--trace-ns", one.trace_length, "so long")->needs(file);
}

int measure(const One& one) {
    std::uint8_t mtu = 0;
    while (128U << ++mtu != one.path_mtu) {
    }
    Bench bench(one.qps, mtu);
    const unsigned atonce = one.qps * one.outstanding;
    const unsigned count = one.count != 0 ? one.count : std::max(4 * atonce, 512U);
    std::function<void()> at_start;
    if (!one.trace.file.empty())
        at_start = [&] { bench.trace(one.trace_card, one.trace, one.trace_length); };
    const double ns = bench.stream(one.operation == "read" ? DINGO_WR_READ : DINGO_WR_WRITE,
                                   one.bytes, one.outstanding, count, one.both, at_start);
    if (ns < 0)
        return 1;
    const double rate = count / ns / (one.both ? 2 : 1);
    std::printf("%u messages in %.0f cycles: %.2f M/s, %.2f Gb/s, %.1f %% of the ceiling\n", count,
                ns / rtl::kCycle, rate * 1000, rate * 8 * one.bytes,
                100 * rate * 8 * one.bytes / ceiling(mtu));
    return 0;
}

}  // namespace

int main(int argc, char** argv) try {
    CLI::App app{"Measures the SystemVerilog card, cycle by cycle"};
    bool quick = false;
    app.add_flag("--quick", quick, "fewer sizes and messages");
    bool rate_only = false;
    app.add_flag("--rate", rate_only, "only the message rate");
    One one;
    add_options(app, one);
    CLI11_PARSE(app, argc, argv);
    test::register_engines();
    if (!one.operation.empty())
        return measure(one);

    std::printf(
        "PCIe: 550 ns read round trip, 105.9 Gb/s each way; wire: 100 Gb/s, 200 ns; clock 250 "
        "MHz\n\n");
    std::printf("%-10s %-6s %6s %9s %12s %14s\n", "operation", "PMTU", "QPs", "bytes", "Gb/s",
                "of the ceiling");
    struct Row {
        const char* name;
        std::uint8_t opcode;
        bool both;
        unsigned qps = 1;
        unsigned depth = 16;
    };
    for (const std::uint8_t mtu : {std::uint8_t{5}, std::uint8_t{3}}) {
        if (rate_only)
            break;
        for (const Row& row :
             {Row{"WRITE", DINGO_WR_WRITE, false}, Row{"READ", DINGO_WR_READ, false},
              Row{"WRITE both", DINGO_WR_WRITE, true}, Row{"WRITE", DINGO_WR_WRITE, false, 1000, 1},
              Row{"READ", DINGO_WR_READ, false, 1000, 1}}) {
            for (const std::uint32_t bytes : {4096U, 8192U, 65536U}) {
                if (row.qps == 1 ? quick && bytes == 4096 : quick || bytes != 8192)
                    continue;
                Bench bench(row.qps, mtu);
                // Completions come in clumps: a longer look where more is outstanding.
                const unsigned count =
                    row.qps > 1 ? 4 * row.qps
                                : (quick ? 512U * 1024 : 2048U * 1024) / bytes * (row.both ? 8 : 1);
                const double ns = bench.stream(row.opcode, bytes, row.depth, count, row.both);
                const double rate =
                    ns < 0 ? 0 : count * 8.0 * bytes / ns * kGigabit / (row.both ? 2 : 1);
                std::printf("%-10s %-6u %6u %9u %12.2f %13.1f%%\n", row.name, 128U << mtu, row.qps,
                            bytes, rate, 100 * rate / ceiling(mtu));
                std::fflush(stdout);
            }
        }
    }
    std::printf("\n%-24s %8s %14s %12s\n", "message rate", "QPs", "outstanding", "M/s");
    struct Depth {
        unsigned qps, depth;  // depth: requests outstanding on each
    };
    for (const auto& [qps, depth] :
         {Depth{1, 32}, Depth{1, 128}, Depth{16, 8}, Depth{16, 32}, Depth{1000, 1}}) {
        if (quick && qps == 1000)
            continue;
        Bench bench(qps, 5);
        const unsigned count = quick ? 500 : 2000 + 4 * qps;
        const double ns = bench.stream(DINGO_WR_WRITE, 64, depth, count, false);
        std::printf("%-24s %8u %14u %12.2f\n", "64-byte WRITE", qps, qps * depth,
                    ns < 0 ? 0 : count / ns * 1000);
        std::fflush(stdout);
    }
    if (rate_only)
        return 0;
    std::printf("\n%-24s %16s %16s\n", "latency, ns", "in memory", "completion");
    Bench bench(1, 5);
    bench.once(DINGO_WR_WRITE, 64, false);
    const auto inlined = bench.once(DINGO_WR_WRITE, 64, true);
    const auto fetched = bench.once(DINGO_WR_WRITE, 64, false);
    const auto read = bench.once(DINGO_WR_READ, 64, false);
    std::printf("%-24s %16llu %16llu\n", "64-byte WRITE, inline",
                static_cast<unsigned long long>(inlined.memory),
                static_cast<unsigned long long>(inlined.completion));
    std::printf("%-24s %16llu %16llu\n", "64-byte WRITE",
                static_cast<unsigned long long>(fetched.memory),
                static_cast<unsigned long long>(fetched.completion));
    std::printf("%-24s %16llu %16llu\n", "64-byte READ",
                static_cast<unsigned long long>(read.memory),
                static_cast<unsigned long long>(read.completion));
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "rtl_bench: %s\n", error.what());
    return 1;
}
