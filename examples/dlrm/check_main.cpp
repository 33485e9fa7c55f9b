// SPDX-License-Identifier: BSD-2-Clause
//
// dlrm-check: receives batches like a trainer and compares every tensor, bit for bit, with the
// CPU's preprocessing of the same records.
#include <CLI/CLI.hpp>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "dlrm/dlrm_feed.h"
#include "dlrm/record.h"
#include "dlrm/reference.h"
#include "dlrm/schedule.h"

namespace {

struct Options {
    std::string file;
    std::vector<std::uint32_t> sizes = {4096};
    std::uint32_t modulus = 0;
    std::uint64_t batches = 0;
    std::uint64_t first = 0;
    std::uint64_t stop = UINT64_MAX;
    bool sender = false;
    bool fast = false;
    std::uint16_t port = 18490;
    std::string device, memory = "host";
    std::int32_t timeout_ms = 20'000;
};

Options parse(int argc, char** argv, CLI::App& app) {
    Options o;
    app.add_option("FILE", o.file, "the same records file as that of the storage process")
        ->type_name("FILE")
        ->required();
    app.add_option("-b,--batch", o.sizes, "records in a batch")->type_name("N,...")->delimiter(',');
    app.add_option("-n,--batches", o.batches, "batches to receive")->required();
    app.add_option("-m,--modulus", o.modulus, "modulus of the categories; 0: no preprocessing")
        ->required();
    app.add_flag("--fast", o.fast, "receive the batches without checking them, to measure");
    app.add_flag("--sender", o.sender,
                 "the card of the storage process preprocesses, not this one");
    app.add_option("--first", o.first, "number of the first batch");
    app.add_option("--stop", o.stop, "stop before this batch, as if killed");
    app.add_option("-p,--port", o.port, "TCP port to listen on")->capture_default_str();
    app.add_option("-d,--ib-dev", o.device, "RDMA device (default: the first)");
    app.add_option("--mem", o.memory, "host, huge, hip[:n] or cuda[:n]")->capture_default_str();
    app.add_option("--timeout", o.timeout_ms, "milliseconds to wait for a batch");
    app.parse(argc, argv);
    return o;
}

std::vector<dlrm::Record> records_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::vector<dlrm::Record> records;
    dlrm::Record record;
    while (in.read(reinterpret_cast<char*>(record.data()), sizeof record))
        records.push_back(record);
    if (records.empty())
        throw std::runtime_error(file + ": no records");
    return records;
}

[[noreturn]] void fail(const std::string& step) {
    throw std::runtime_error(step + ": " + dlrm_feed_error());
}

/// Words of a record that a tensor contains.
struct Part {
    dlrm_columns columns;
    std::size_t first, count;
};
constexpr Part kParts[] = {{DLRM_LABEL, dlrm::kLabel, 1},
                           {DLRM_DENSE, dlrm::kFirstDense, dlrm::kDenseColumns},
                           {DLRM_SPARSE, dlrm::kFirstSparse, dlrm::kSparseColumns}};

/// Compares a tensor, walking it by its shape and strides; for GPU memory in `copy`, a copy of the
/// batch.
void compare(dlrm_feed* feed, const dlrm_batch& batch, const Part& part,
             const std::vector<dlrm::Record>& records, dlrm::Span span,
             const std::vector<dlrm::Record>& copy) {
    dlpack_managed* managed = nullptr;
    if (dlrm_feed_tensor(feed, &batch, part.columns, &managed) < 0)
        fail("tensor");
    const dlpack_tensor& t = managed->tensor;
    const bool there = t.device.type != DLPACK_CPU;
    bool good = t.shape[0] == span.count && there == !copy.empty();
    const auto* base = static_cast<const std::byte*>(t.data) + t.byte_offset;
    if (there)
        base = reinterpret_cast<const std::byte*>(copy.data()) +
               (reinterpret_cast<std::uint64_t>(base) - batch.address);
    std::string where;
    for (std::uint64_t row = 0; good && row < span.count; ++row) {
        const dlrm::Record& expected = records[(span.first + row) % records.size()];
        for (std::size_t column = 0; good && column < part.count; ++column) {
            const std::int64_t at = static_cast<std::int64_t>(row) * t.strides[0] +
                                    static_cast<std::int64_t>(column) * t.strides[1];
            std::uint32_t word;
            std::memcpy(&word, base + 4 * at, sizeof word);
            good = word == expected[part.first + column];
            if (!good)
                where = "row " + std::to_string(row) + ", word " +
                        std::to_string(part.first + column) + " is " + std::to_string(word) +
                        " instead of " + std::to_string(expected[part.first + column]);
        }
    }
    managed->deleter(managed);
    if (!good)
        throw std::runtime_error("batch " + std::to_string(batch.number) + ": " + where);
}

void run(const Options& o) {
    std::vector<dlrm::Record> records = records_of(o.file);
    if (o.modulus != 0 && !o.fast)
        dlrm::preprocess(records, o.modulus);
    const dlrm::Schedule schedule(records.size(), o.sizes);
    dlrm_feed_options options{};
    options.struct_size = sizeof options;
    options.device = o.device.c_str();
    options.memory = o.memory.c_str();
    options.records = schedule.largest();
    options.modulus = o.sender ? 0 : o.modulus;
    options.first_batch = o.first;
    options.timeout_ms = o.timeout_ms;
    options.port = o.port;
    dlrm_feed* feed = nullptr;
    if (dlrm_feed_open(&options, &feed) < 0)
        fail("open");
    const bool on_gpu = o.memory.starts_with("cuda") || o.memory.starts_with("hip");
    std::vector<dlrm::Record> copy;
    dlrm_batch batch{};
    std::uint64_t number = o.first;
    std::uint64_t rows = 0;
    int got = 1;
    for (; number != o.stop && (got = dlrm_feed_next(feed, &batch)) > 0; ++number) {
        const dlrm::Span span = schedule.at(number);
        if (batch.number != number || batch.records != span.count)
            throw std::runtime_error("batch " + std::to_string(batch.number) + " of " +
                                     std::to_string(batch.records) + " records instead of " +
                                     std::to_string(number) + " of " + std::to_string(span.count));
        if (on_gpu) {
            copy.resize(batch.records);
            if (dlrm_feed_copy(feed, &batch, copy.data()) < 0)
                fail("copy");
        }
        if (!o.fast)
            for (const Part& part : kParts)
                compare(feed, batch, part, records, span, copy);
        rows += span.count;
        if (dlrm_feed_release(feed, &batch) < 0)
            fail("release");
    }
    if (got < 0)
        fail("batch " + std::to_string(number));
    if (number != o.stop && number != o.batches)
        throw std::runtime_error(std::to_string(number) + " batches came");
    std::printf("batches %" PRIu64 " to %" PRIu64 ", %" PRIu64 " records, %" PRIu64 " sessions%s\n",
                o.first, number, rows, dlrm_feed_sessions(feed),
                o.fast ? "" : ": every word right");
    dlrm_feed_close(feed);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Compares what lands in a trainer's buffers with the CPU's preprocessing.",
                 "dlrm-check");
    try {
        run(parse(argc, argv, app));
        return 0;
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "dlrm-check: %s\n", error.what());
        return 1;
    }
}
