// SPDX-License-Identifier: BSD-2-Clause
//
// rtl_bench: two cards in SystemVerilog on a stated PCIe and a 100G link, cycle by cycle: goodput,
// message rate, latency. Cycles are exact: the same on every machine.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "rtl_load.h"

namespace {

using namespace dingo;
using test::RtlLoad;
using test::RtlPair;

/// Goodput of the wire in Gb/s: docs/performance.md has 24 + 14 + 20 + 8 + 12 + 4 bytes a packet.
double ceiling(std::uint8_t path_mtu) {
    const double payload = 128U << path_mtu;
    return 100 * payload / (payload + 82);
}

/// Messages of one direction in a microsecond.
double rate(const RtlLoad& load, unsigned count, std::uint64_t cycles) {
    return 1000.0 * count / (static_cast<double>(cycles) * rtl::kCycle) / (load.both ? 2 : 1);
}

/// Completions come in clumps: a longer look where more is outstanding.
unsigned enough(const RtlLoad& load) {
    return std::max(4 * load.qps * load.outstanding * (load.both ? 2 : 1), 512U);
}

/// One measurement, chosen on the command line.
struct One {
    std::string operation;
    RtlLoad load;
    unsigned path_mtu = 4096;
    unsigned count = 0;
    rtl::Trace trace;
    unsigned trace_card = 0;
    Nanoseconds trace_length = 10'000;
};

void add_options(CLI::App& app, One& one) {
    one.load.bytes = 65536;
    auto* const operation = app.add_option("--operation", one.operation,
                                           "measure this one only, as the options below say")
                                ->check(CLI::IsMember({"read", "write", "send"}));
    const auto option = [&](const char* name, auto& value, const char* text) {
        return app.add_option(name, value, text)->capture_default_str()->needs(operation);
    };
    const auto flag = [&](const char* name, bool& value, const char* text) {
        app.add_flag(name, value, text)->needs(operation);
    };
    RtlLoad& load = one.load;
    option("--qps", load.qps, "QPs")->check(CLI::Range(1, 1000));
    option("--bytes", load.bytes, "of a message")->check(CLI::Range(1, 4 << 20));
    option("--outstanding", load.outstanding, "requests on each QP")->check(CLI::Range(1, 128));
    option("--pmtu", one.path_mtu, "path MTU")->check(CLI::IsMember({256, 512, 1024, 2048, 4096}));
    option("--count", one.count, "messages that count; 0: some");
    option("--sges", load.sges, "pieces of a message at its sender")->check(CLI::Range(1, 4));
    option("--list", load.list, "requests that a doorbell tells of")->check(CLI::Range(1, 128));
    option("--levels", load.levels, "of the peer's page list, pages of 4 KiB")
        ->check(CLI::Range(0, 2));
    option("--region", load.region, "bytes of the peer's memory")
        ->check(CLI::Range(4U << 20, 1U << 30));
    flag("--random", load.random, "to a random page of it");
    flag("--both", load.both, "in both directions");
    flag("--inline", load.inlined, "data in the work request");
    flag("--push", load.pushed, "the work request goes to the card with its doorbell");
    option("--tags", load.timing.tags, "PCIe reads outstanding")->check(CLI::Range(1, 256));
    auto* const file = option("--trace", one.trace.file,
                              "waveforms (VCD) from the first message that counts; needs a build "
                              "with -DDINGO_RTL_TRACE=ON");
    option("--trace-card", one.trace_card, "1: of the peer")->check(CLI::Range(0, 1))->needs(file);
    option("--trace-ns", one.trace_length, "so long")->needs(file);
}

void measure(One& one) {
    RtlLoad& load = one.load;
    for (load.path_mtu = 1; 128U << load.path_mtu != one.path_mtu; ++load.path_mtu) {
    }
    load.opcode = one.operation == "read"   ? DINGO_WR_READ
                  : one.operation == "send" ? DINGO_WR_SEND
                                            : DINGO_WR_WRITE;
    RtlPair pair(load);
    const unsigned count = one.count != 0 ? one.count : enough(load);
    std::function<void()> at_start;
    if (!one.trace.file.empty())
        at_start = [&] { pair.trace(one.trace_card, one.trace, one.trace_length); };
    const std::uint64_t cycles = pair.stream(count, at_start);
    const double messages = rate(load, count, cycles);
    const double gigabits = messages * 8 * load.bytes / 1000;
    std::printf("%u messages in %llu cycles: %.2f M/s, %.2f Gb/s, %.1f %% of the ceiling\n", count,
                static_cast<unsigned long long>(cycles), messages, gigabits,
                100 * gigabits / ceiling(load.path_mtu));
}

void goodput(bool quick) {
    std::printf("%-10s %-6s %6s %9s %12s %14s\n", "operation", "PMTU", "QPs", "bytes", "Gb/s",
                "of the ceiling");
    struct Row {
        const char* name;
        std::uint8_t opcode;
        bool both;
        unsigned qps = 1;
        unsigned depth = 16;
    };
    for (const std::uint8_t mtu : {std::uint8_t{5}, std::uint8_t{3}, std::uint8_t{1}}) {
        for (const Row& row :
             {Row{"WRITE", DINGO_WR_WRITE, false}, Row{"READ", DINGO_WR_READ, false},
              Row{"WRITE both", DINGO_WR_WRITE, true}, Row{"SEND", DINGO_WR_SEND, false, 16, 16},
              Row{"WRITE", DINGO_WR_WRITE, false, 1000, 1},
              Row{"READ", DINGO_WR_READ, false, 1000, 1}}) {
            for (const std::uint32_t bytes : {4096U, 8192U, 65536U}) {
                if (row.qps == 1 ? quick && bytes == 4096 : quick || bytes != 8192)
                    continue;
                if (mtu == 1 && (row.qps != 1 || row.both || bytes != 65536))
                    continue;
                RtlLoad load;
                load.opcode = row.opcode;
                load.qps = row.qps;
                load.outstanding = row.depth;
                load.bytes = bytes;
                load.path_mtu = mtu;
                load.both = row.both;
                const unsigned count =
                    row.qps > 1 ? enough(load)
                                : (quick ? 512U * 1024 : 2048U * 1024) / bytes * (row.both ? 8 : 1);
                RtlPair pair(load);
                const double gigabits = rate(load, count, pair.stream(count)) * 8 * bytes / 1000;
                std::printf("%-10s %-6u %6u %9u %12.2f %13.1f%%\n", row.name, 128U << mtu, row.qps,
                            bytes, gigabits, 100 * gigabits / ceiling(mtu));
                std::fflush(stdout);
            }
        }
    }
}

void message_rates(bool quick) {
    std::printf("\n%-24s %8s %14s %12s\n", "message rate", "QPs", "outstanding", "M/s");
    struct Row {
        const char* name;
        unsigned qps;
        unsigned depth;
        RtlLoad load;
    };
    RtlLoad plain;
    RtlLoad listed = plain;
    listed.list = 8;
    RtlLoad send = plain;
    send.opcode = DINGO_WR_SEND;
    RtlLoad read = plain;
    read.opcode = DINGO_WR_READ;
    RtlLoad add = plain;
    add.opcode = DINGO_WR_FETCH_ADD;
    add.bytes = 8;
    RtlLoad words = add;
    words.random = true;
    RtlLoad inlined = plain;
    inlined.inlined = true;
    RtlLoad pieces = plain;
    pieces.sges = 2;
    RtlLoad both = plain;
    both.both = true;
    RtlLoad random = plain;
    random.levels = 2;
    random.region = 1U << 30;
    random.random = true;
    RtlLoad random_page = random;
    random_page.bytes = 4096;
    RtlLoad few_tags = plain;
    few_tags.timing.tags = 32;
    const std::vector<Row> rows = {{"64-byte WRITE", 1, 32, plain},
                                   {"64-byte WRITE", 1, 128, plain},
                                   {"64-byte WRITE", 16, 8, plain},
                                   {"64-byte WRITE", 16, 32, plain},
                                   {"64-byte WRITE", 1000, 1, plain},
                                   {"64-byte WRITE, lists", 16, 32, listed},
                                   {"64-byte WRITE, 32 tags", 16, 32, few_tags},
                                   {"64-byte WRITE both", 16, 32, both},
                                   {"64-byte SEND", 1, 128, send},
                                   {"64-byte SEND", 16, 32, send},
                                   {"64-byte SEND", 200, 1, send},
                                   {"64-byte READ", 16, 16, read},
                                   {"FETCH_ADD, one word", 16, 16, add},
                                   {"FETCH_ADD, random words", 16, 16, words},
                                   {"64-byte inline", 1, 128, inlined},
                                   {"64-byte inline", 16, 32, inlined},
                                   {"64-byte 2 SGEs", 16, 32, pieces},
                                   {"64-byte WRITE random", 16, 32, random},
                                   {"4096-byte WRITE random", 16, 32, random_page}};
    for (const Row& row : rows) {
        if (quick && row.qps >= 200)
            continue;
        RtlLoad load = row.load;
        load.qps = row.qps;
        load.outstanding = row.depth;
        RtlPair pair(load);
        const unsigned count = quick ? 500 : 2000 + 4 * row.qps;
        std::printf("%-24s %8u %14u %12.2f\n", row.name, row.qps, row.qps * row.depth,
                    rate(load, count, pair.stream(count)));
        std::fflush(stdout);
    }
}

void latencies() {
    std::printf("\n%-24s %16s %16s\n", "latency, ns", "in memory", "completion");
    RtlPair pair(RtlLoad{});
    pair.once(DINGO_WR_WRITE, 64, false);
    const auto row = [&](const char* name, std::uint8_t opcode, bool inlined,
                         std::uint32_t bytes = 64, bool pushed = false) {
        const auto latency = pair.once(opcode, bytes, inlined, pushed);
        std::printf("%-24s %16llu %16llu\n", name, static_cast<unsigned long long>(latency.memory),
                    static_cast<unsigned long long>(latency.completion));
    };
    row("8-byte WRITE, pushed", DINGO_WR_WRITE, true, 8, true);
    row("8-byte WRITE, inline", DINGO_WR_WRITE, true, 8);
    row("64-byte WRITE, inline", DINGO_WR_WRITE, true);
    row("64-byte WRITE", DINGO_WR_WRITE, false);
    row("64-byte READ", DINGO_WR_READ, false);
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
    if (!one.operation.empty()) {
        measure(one);
        return 0;
    }
    std::printf(
        "PCIe: 550 ns read round trip, 250 ns a posted write, 256 tags, 115.8 Gb/s each way with "
        "TLP headers; wire: 100 Gb/s, 200 ns; clock 250 MHz\n\n");
    if (!rate_only)
        goodput(quick);
    message_rates(quick);
    if (!rate_only)
        latencies();
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "rtl_bench: %s\n", error.what());
    return 1;
}
