// SPDX-License-Identifier: BSD-2-Clause
//
// Transfers data from one GPU buffer to another, posted by the GPU: the steps of MORI's example
// simple_gpu_interchange, on Dingo cards.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "cli/program.h"
#include "device.h"
#include "endpoint.h"
#include "interchange.h"

using namespace gpu_interchange;

namespace {

constexpr std::uint32_t kMostBytes = 1U << 30;

struct Options {
    std::string memory = "host";
    std::uint32_t bytes = 1024;
    unsigned value = 42;
};

Options parse(int argc, char** argv) {
    Options o;
    CLI::App app{
        "Sends a buffer from one Dingo card to another, or the same, by a kernel that posts "
        "itself.",
        "gpu_interchange"};
    app.add_option("-m,--mem", o.memory,
                   "host: a thread of the processor is the GPU; pinned: a CUDA kernel, buffers in "
                   "host memory; cuda: a CUDA kernel, buffers in the GPU's memory")
        ->type_name("")
        ->check(CLI::IsMember({"host", "pinned", "cuda"}))
        ->capture_default_str();
    app.add_option("-s,--size", o.bytes, "bytes")
        ->check(CLI::Range(1U, kMostBytes))
        ->capture_default_str();
    app.add_option("-v,--value", o.value, "value of each byte")
        ->check(CLI::Range(0, UINT8_MAX))
        ->capture_default_str();
    app.footer("Exit status: 0 all data right, 1 failed or data wrong, 2 wrong usage.");
    cli::parse(app, argc, argv);
    return o;
}

std::unique_ptr<Device> device(const std::string& memory) {
    if (memory == "host")
        return host_device();
    auto cuda = cuda_device(memory == "pinned");
    if (cuda == nullptr)
        throw std::runtime_error("this program was built without nvcc and has --mem host only");
    return cuda;
}

bool run(const Options& options) {
    std::printf("=== Simple GPU Data Interchange Example ===\n");
    std::printf("Transferring %u bytes with value %u\n\n", options.bytes, options.value);

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
    transfer.value = static_cast<std::uint8_t>(options.value);
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
        return run(parse(argc, argv)) ? 0 : 1;
    } catch (const std::exception& error) {
        std::fflush(stdout);
        std::fprintf(stderr, "gpu_interchange: %s\n", error.what());
        return 1;
    }
}
