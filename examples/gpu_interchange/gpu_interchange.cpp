// SPDX-License-Identifier: BSD-2-Clause
//
// Data goes from one GPU buffer to another, posted by the GPU: the steps of MORI's example
// simple_gpu_interchange, on Dingo cards.
#include <getopt.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "device.h"
#include "endpoint.h"
#include "interchange.h"

using namespace gpu_interchange;

namespace {

constexpr unsigned long kMostBytes = 1UL << 30;

struct Options {
    std::string memory = "host";
    std::uint32_t bytes = 1024;
    std::uint8_t value = 42;
};

void usage(std::FILE* to) {
    std::fputs(
        "usage: gpu_interchange [--mem host|pinned|cuda] [--size BYTES] [--value 0..255]\n"
        "Sends a buffer from one Dingo card to another (or the same) by a kernel that posts itself.\n"
        "  host    a thread of the processor is the GPU (default)\n"
        "  pinned  a CUDA kernel, buffers in host memory\n"
        "  cuda    a CUDA kernel, buffers in the GPU's memory\n",
        to);
}

unsigned long number(const char* text, unsigned long most) {
    char* end = nullptr;
    const unsigned long value = std::strtoul(text, &end, 0);
    if (end == text || *end != '\0' || value > most)
        throw std::runtime_error(std::string("'") + text + "' is no number from 0 to " +
                                 std::to_string(most));
    return value;
}

/// False: it was --help.
bool parse(int argc, char** argv, Options& options) {
    static const option known[] = {{"mem", required_argument, nullptr, 'm'},
                                   {"size", required_argument, nullptr, 's'},
                                   {"value", required_argument, nullptr, 'v'},
                                   {"help", no_argument, nullptr, 'h'},
                                   {}};
    for (int c; (c = getopt_long(argc, argv, "m:s:v:h", known, nullptr)) != -1;) {
        switch (c) {
            case 'm':
                options.memory = optarg;
                break;
            case 's':
                options.bytes = static_cast<std::uint32_t>(number(optarg, kMostBytes));
                break;
            case 'v':
                options.value = static_cast<std::uint8_t>(number(optarg, UINT8_MAX));
                break;
            case 'h':
                usage(stdout);
                return false;
            default:
                usage(stderr);
                std::exit(2);
        }
    }
    if (optind != argc || options.bytes == 0) {
        usage(stderr);
        std::exit(2);
    }
    return true;
}

std::unique_ptr<Device> device(const std::string& memory) {
    if (memory == "host")
        return host_device();
    if (memory != "cuda" && memory != "pinned")
        throw std::runtime_error("--mem is host, pinned or cuda");
    auto cuda = cuda_device(memory == "pinned");
    if (cuda == nullptr)
        throw std::runtime_error("built where there was no nvcc: only --mem host");
    return cuda;
}

bool run(const Options& options) {
    std::printf("=== Simple GPU Data Interchange Example ===\n");
    std::printf("Transferring %u bytes with value %d\n\n", options.bytes, options.value);

    std::printf("Step 1: Initializing RDMA context...\n");
    const std::unique_ptr<Device> gpu = device(options.memory);
    const RdmaContext rdma;
    std::printf("  Found %zu RDMA device(s)\n", rdma.devices().size());

    std::printf("Step 2: Getting RDMA devices...\n");
    const std::vector<ActiveDevicePort> ports = rdma.active_ports();
    std::printf("  Found %zu active device port(s)\n", ports.size());
    if (ports.empty())
        throw std::runtime_error("no Dingo card here: start one, or use `dingo run`");

    std::printf("Step 3: Creating device contexts...\n");
    const Owned<dingo_gda, dingo_gda_close> gda(dingo_gda_open(gpu->kind(), 0));
    if (gda == nullptr)
        fail("dingo_gda_open", errno);
    RdmaDeviceContext send_context(ports.front(), gda.get());
    RdmaDeviceContext recv_context(ports.back(), gda.get());
    std::printf("  Device contexts created\n");

    std::printf("Step 4: Creating RDMA endpoints...\n");
    RdmaEndpoint send = send_context.create_endpoint();
    RdmaEndpoint recv = recv_context.create_endpoint();
    std::printf("  Endpoints created (QPN: send=%u, recv=%u)\n", send.handle.qpn, recv.handle.qpn);

    std::printf("Step 5: Connecting endpoints...\n");
    send_context.connect(send, recv.handle);
    recv_context.connect(recv, send.handle);
    std::printf("  Endpoints connected\n");

    std::printf("Step 6: Allocating and registering GPU buffers...\n");
    const RdmaMemoryRegion from =
        send_context.register_memory(gpu->alloc(options.bytes), options.bytes);
    const RdmaMemoryRegion to =
        recv_context.register_memory(gpu->alloc(options.bytes), options.bytes);
    std::printf("  Buffers allocated and registered\n");

    std::printf("Step 7: Launching GPU kernel for data interchange...\n");
    std::fflush(stdout);
    dingo_gda_qp* const qp = dingo_gda_device_qp(send.queue.get());
    Transfer transfer{};
    transfer.wq = {qp};
    transfer.cq = {qp};
    transfer.qpn = send.handle.qpn;
    transfer.send = static_cast<std::uint8_t*>(from.addr);
    transfer.send_key = from.lkey;
    transfer.recv = static_cast<std::uint8_t*>(to.addr);
    transfer.recv_key = to.rkey;
    transfer.bytes = options.bytes;
    transfer.value = options.value;
    gpu->run(transfer);
    std::printf("  Kernel execution completed\n");

    std::printf("Step 8: Cleaning up resources...\n");
    send.queue.reset();
    recv.queue.reset();
    std::printf("  Resources cleaned up\n\n");
    if (transfer.wrong == 0)
        std::printf("=== Example completed successfully! ===\n");
    return transfer.wrong == 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        Options options;
        if (!parse(argc, argv, options))
            return 0;
        return run(options) ? 0 : 1;
    } catch (const std::exception& error) {
        std::fflush(stdout);
        std::fprintf(stderr, "gpu_interchange: %s\n", error.what());
        return 1;
    }
}
