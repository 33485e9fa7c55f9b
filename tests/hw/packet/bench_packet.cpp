// SPDX-License-Identifier: BSD-2-Clause
//
// Time per packet of parsing with ICRC check and of building with ICRC, IPv4 RC WRITE ONLY.
#include <benchmark/benchmark.h>

#include <vector>

#include "dingo/packet/build.h"
#include "dingo/packet/icrc.h"
#include "dingo/packet/parse.h"

namespace dingo::packet {
namespace {

TransportHeaders write_headers(std::size_t payload_bytes) {
    TransportHeaders headers;
    headers.bth.opcode = Opcode::kRcWriteOnly;
    headers.bth.dest_qp = 0x11;
    headers.reth = {0x1000, 0x1234, static_cast<std::uint32_t>(payload_bytes)};
    return headers;
}

HeaderTemplate template_for(benchmark::State& state) {
    NetworkPath path;
    path.l3 = state.range(1) == 4 ? L3Kind::kIpv4 : L3Kind::kIpv6;
    path.sgid = Gid::from_ipv4(0x0a4d0001);
    path.dgid = Gid::from_ipv4(0x0a4d0002);
    return HeaderTemplate(path);
}

void count(benchmark::State& state, std::size_t payload_bytes) {
    state.SetItemsProcessed(state.iterations());
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(payload_bytes));
}

void build_and_icrc(benchmark::State& state) {
    const auto n = static_cast<std::size_t>(state.range(0));
    const HeaderTemplate path = template_for(state);
    TransportHeaders headers = write_headers(n);
    std::vector<std::byte> buffer(kMaxRoceFrameBytes);
    FrameBuilder builder;
    for (auto _ : state) {
        ++headers.bth.psn;
        builder.begin(path, headers, n, static_cast<std::uint16_t>(headers.bth.psn), buffer);
        benchmark::DoNotOptimize(builder.finish().data());
        benchmark::ClobberMemory();
    }
    count(state, n);
}

void parse_and_icrc(benchmark::State& state) {
    const auto n = static_cast<std::size_t>(state.range(0));
    std::vector<std::byte> buffer(kMaxRoceFrameBytes);
    FrameBuilder builder;
    builder.begin(template_for(state), write_headers(n), n, 1, buffer);
    const auto frame = builder.finish();
    Packet packet;
    for (auto _ : state) {
        bool good = parse(frame, packet) == ParseResult::kRoce && icrc_check(frame, packet);
        benchmark::DoNotOptimize(good);
        benchmark::ClobberMemory();
    }
    count(state, n);
}

void parse_only(benchmark::State& state) {
    const auto n = static_cast<std::size_t>(state.range(0));
    std::vector<std::byte> buffer(kMaxRoceFrameBytes);
    FrameBuilder builder;
    builder.begin(template_for(state), write_headers(n), n, 1, buffer);
    const auto frame = builder.finish();
    Packet packet;
    for (auto _ : state) {
        benchmark::DoNotOptimize(parse(frame, packet));
        benchmark::ClobberMemory();
    }
    count(state, n);
}

void sizes(benchmark::internal::Benchmark* b) {
    b->ArgNames({"payload", "ip"});
    for (int ip : {4, 6})
        for (int payload : {0, 8, 64, 128, 256, 1024, 4096})
            b->Args({payload, ip});
}

BENCHMARK(build_and_icrc)->Apply(sizes);
BENCHMARK(parse_and_icrc)->Apply(sizes);
BENCHMARK(parse_only)->Args({64, 4})->Args({64, 6})->ArgNames({"payload", "ip"});

}  // namespace
}  // namespace dingo::packet
