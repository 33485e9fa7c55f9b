// SPDX-License-Identifier: BSD-2-Clause
//
// Stages of docs/dlrm.md that need no card: lines to records, the CPU's preprocessing, and the
// model's compute kernel, which is what the card of a kernel-less machine spends on it. One thread.
#include <benchmark/benchmark.h>

#include <span>
#include <string>
#include <vector>

#include "compute/kernels.h"
#include "dlrm/criteo.h"
#include "dlrm/generate.h"
#include "dlrm/reference.h"

namespace dlrm {
namespace {

constexpr std::size_t kRecords = 4096;
constexpr std::uint32_t kModulus = 8192;

std::vector<Record> clicks() {
    Generator generator(1);
    std::vector<Record> records(kRecords);
    for (Record& record : records)
        record = generator.next();
    return records;
}

void count(benchmark::State& state) {
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRecords));
    state.SetBytesProcessed(state.iterations() *
                            static_cast<std::int64_t>(kRecords * kRecordBytes));
}

void parse_lines(benchmark::State& state) {
    std::vector<std::string> lines;
    for (const Record& record : clicks())
        lines.push_back(format_line(record));
    Record record;
    for (auto _ : state) {
        for (const std::string& line : lines)
            benchmark::DoNotOptimize(parse_line(line, record));
    }
    count(state);
}
BENCHMARK(parse_lines);

// Data that was preprocessed once has other values: each round begins with a copy, as the card's
// does.
void cpu_reference(benchmark::State& state) {
    const std::vector<Record> records = clicks();
    std::vector<Record> out(records.size());
    for (auto _ : state) {
        out = records;
        preprocess(out, kModulus);
        benchmark::ClobberMemory();
    }
    count(state);
}
BENCHMARK(cpu_reference);

void model_kernel(benchmark::State& state) {
    namespace compute = dingo::model::compute;
    const compute::Config config = compute::configure(DINGO_KERNEL_DLRM, kModulus);
    const std::vector<Record> records = clicks();
    std::vector<Record> out(records.size());
    for (auto _ : state) {
        out = records;
        compute::transform(config, 0, std::as_writable_bytes(std::span(out)));
        benchmark::ClobberMemory();
    }
    count(state);
}
BENCHMARK(model_kernel);

void copy_only(benchmark::State& state) {
    const std::vector<Record> records = clicks();
    std::vector<Record> out(records.size());
    for (auto _ : state) {
        out = records;
        benchmark::ClobberMemory();
    }
    count(state);
}
BENCHMARK(copy_only);

}  // namespace
}  // namespace dlrm

BENCHMARK_MAIN();
