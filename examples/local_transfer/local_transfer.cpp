// SPDX-License-Identifier: BSD-2-Clause
//
// Moves data from host memory through a compute kernel of the card and back, checks it and prints
// the throughput and latency.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "check.h"
#include "cli/program.h"
#include "transfer.h"

namespace local_transfer {
namespace {

struct Options {
    std::string device;
    std::string kernel = "add_one";
    std::uint32_t param = 0;
    bool has_param = false;
    std::string side = "send";
    std::uint32_t min_size = 0;
    std::uint32_t max_size = 0;
    std::uint32_t runs = 100;
    bool list = false;
    std::string memory = "host";
};

struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

Options parse(int argc, char** argv) {
    constexpr std::uint32_t kMost = UINT32_MAX;
    Options o;
    CLI::App app{
        "Moves data from host memory through a compute kernel of a Dingo card and back to host "
        "memory, checks every word.",
        "local_transfer"};
    app.set_version_flag("--version", "local_transfer " LOCAL_TRANSFER_VERSION);
    app.footer(
        "Throughput is that of 32 transfers at once, latency that of one alone.\n"
        "Exit status: 0 all data right, 1 failed or data wrong, 2 wrong usage.");
    app.add_option("-d,--device", o.device, "the card; default: the first one")->type_name("NAME");
    app.add_option("-k,--kernel", o.kernel, "compute kernel")
        ->type_name("NAME")
        ->capture_default_str();
    const CLI::Option* const param =
        app.add_option("-p,--param", o.param, "its parameter; dlrm: the modulus, default 8192");
    app.add_option("-s,--side", o.side, "where the kernel is")
        ->type_name("")
        ->check(CLI::IsMember({"send", "receive"}))
        ->capture_default_str();
    app.add_option("-x,--min_size", o.min_size, "bytes; default: 64, or a record of the kernel")
        ->check(CLI::Range(1U, kMost));
    app.add_option("-X,--max_size", o.max_size,
                   "bytes; default: what doubling reaches below 4 MiB; sizes double each step")
        ->check(CLI::Range(1U, kMost));
    app.add_option("-r,--runs", o.runs, "runs of each size")
        ->check(CLI::Range(1U, kMost))
        ->capture_default_str();
    app.add_option("--mem", o.memory,
                   "host, or cuda[:n]: memory of GPU n, registered by its address with ibv_reg_mr")
        ->type_name("KIND")
        ->capture_default_str();
    app.add_flag("-l,--list", o.list, "only list the card's kernels");
    cli::parse(app, argc, argv,
               {{"--mem", "host cuda cuda:0", ""},
                {"-k --kernel", "", "local_transfer --list | cut -d ' ' -f 1"}});
    o.has_param = param->count() != 0;
    return o;
}

void list(const std::vector<dingodv_kernel>& kernels) {
    for (const dingodv_kernel& kernel : kernels) {
        std::printf("%-16s record of %u bytes, ", kernel.name, kernel.record_bytes);
        if (kernel.smallest_param == 0)
            std::puts("no parameter");
        else
            std::printf("parameter %u to %u\n", kernel.smallest_param, kernel.largest_param);
    }
}

/// Returns nullptr for host memory.
std::unique_ptr<rdma_bench::Gpu> open_memory(const std::string& kind) {
    constexpr std::string_view kGpu = "cuda";
    if (kind == "host")
        return nullptr;
    if (kind == kGpu)
        return rdma_bench::open_cuda(0);
    int number = 0;
    if (!kind.starts_with("cuda:") ||
        !CLI::detail::lexical_cast(kind.substr(kGpu.size() + 1), number) || number < 0)
        throw UsageError("--mem: '" + kind + "' is neither host nor cuda[:n]");
    return rdma_bench::open_cuda(number);
}

/// Returns the time of `times` transfers of `bytes` in microseconds.
double timed(Transfer& transfer, std::size_t bytes, unsigned times) {
    const auto start = std::chrono::steady_clock::now();
    transfer.run(bytes, times);
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
        .count();
}

void measure(Transfer& transfer, const Options& options, std::uint32_t bytes) {
    const auto source = transfer.source().first(bytes);
    const auto target = transfer.target().first(bytes);
    double many = 0;
    double one = 0;
    for (std::uint32_t run = 0; run < options.runs; ++run) {
        for (const unsigned times : {Transfer::kDepth, 1U}) {
            fill(source, 2 * run + times);
            std::ranges::fill(target, std::byte{0});
            transfer.put(bytes);
            (times == 1 ? one : many) += timed(transfer, bytes, times);
            transfer.fetch(bytes);
            const std::string error = first_error(options.kernel, options.param, source, target);
            if (!error.empty())
                throw std::runtime_error("wrong data at size " + std::to_string(bytes) + ", " +
                                         error);
        }
    }
    // bytes/us = MB/s
    std::printf("Size: %u; Average throughput: %.2f MB/s; Average latency: %.2f us\n", bytes,
                1.0 * bytes * Transfer::kDepth * options.runs / many, one / options.runs);
    std::fflush(stdout);
}

void run(Options options) {
    std::unique_ptr<rdma_bench::Gpu> memory = open_memory(options.memory);
    const Context context = open_device(options.device);
    const auto kernels = kernels_of(context.get());
    if (options.list) {
        list(kernels);
        return;
    }
    const auto kernel = std::ranges::find_if(
        kernels, [&](const dingodv_kernel& k) { return options.kernel == k.name; });
    if (kernel == kernels.end())
        throw std::runtime_error("the card has no kernel '" + options.kernel +
                                 "': --list shows them");
    constexpr std::uint32_t kModulus = 8192;
    if (!options.has_param && kernel->smallest_param != 0)
        options.param = kModulus;
    constexpr std::uint32_t kMinSize = 64;
    constexpr std::uint32_t kMaxSize = 4U << 20;
    if (options.min_size == 0)
        options.min_size = std::max(kMinSize, kernel->record_bytes);
    if (options.max_size == 0)
        options.max_size = std::max(kMaxSize, options.min_size);
    if (options.min_size > options.max_size)
        throw UsageError("--min_size is larger than --max_size");

    std::puts("-- CLI PARAMETERS:\n-----------------------------------");
    std::printf("Device: %s\n", ibv_get_device_name(context->device));
    std::printf("Kernel: %s\n", kernel->name);
    if (kernel->smallest_param != 0)
        std::printf("Parameter: %u\n", options.param);
    std::printf("Side: %s\n", options.side == "receive" ? "receive" : "send");
    if (memory)
        std::printf("Memory: %s\n", memory->description().c_str());
    std::printf("Number of runs: %u\nStarting transfer size: %u\nEnding transfer size: %u\n\n",
                options.runs, options.min_size, options.max_size);
    Transfer transfer(context.get(), kernel->id, options.param, options.side == "receive",
                      options.max_size, std::move(memory));
    for (std::uint64_t bytes = options.min_size; bytes <= options.max_size; bytes *= 2)
        measure(transfer, options, static_cast<std::uint32_t>(bytes));
    std::puts("Every word of every transfer is right.");
}

}  // namespace
}  // namespace local_transfer

int main(int argc, char** argv) {
    try {
        local_transfer::run(local_transfer::parse(argc, argv));
    } catch (const local_transfer::UsageError& error) {
        std::fprintf(stderr, "local_transfer: %s\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "local_transfer: %s\n", error.what());
        return 1;
    }
    return 0;
}
