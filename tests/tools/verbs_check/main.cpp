// SPDX-License-Identifier: BSD-2-Clause
//
// verbs_check: WRITE, READ, SEND, WRITE with immediate and atomics (if both sides have them)
// between two processes, with every byte verified. Plain libibverbs, any RDMA device.
#include <getopt.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "operations.h"

namespace {

constexpr const char* kUsage =
    "usage: verbs_check [options]          server\n"
    "       verbs_check [options] HOST     client: drives, prints the result\n"
    "  -d NAME   device (first found)      -x N     GID index (first RoCE v2 of the family)\n"
    "  -6        IPv6 GID                  -m N     path MTU (the port's)\n"
    "  -k KIND   memory: host, udmabuf, heap (host)\n"
    "  -s N      buffer bytes, same on both sides (1048576)\n"
    "  -n N      rounds (1)                -S N     seed (1)      -p N   TCP port (18600)\n";

int run(int argc, char** argv) {
    using namespace verbs_check;
    DeviceOptions options;
    std::string kind = "host";
    std::size_t bytes = 1 << 20;
    unsigned rounds = 1;
    std::uint64_t seed = 1;
    std::uint16_t port = 18600;
    int option = 0;
    while ((option = getopt(argc, argv, "d:x:6m:k:s:n:S:p:h")) != -1) {
        switch (option) {
            case 'd':
                options.device = optarg;
                break;
            case 'x':
                options.gid_index = std::atoi(optarg);
                break;
            case '6':
                options.ipv6 = true;
                break;
            case 'm':
                options.mtu = std::atoi(optarg);
                break;
            case 'k':
                kind = optarg;
                break;
            case 's':
                bytes = std::strtoul(optarg, nullptr, 0);
                break;
            case 'n':
                rounds = static_cast<unsigned>(std::atoi(optarg));
                break;
            case 'S':
                seed = std::strtoull(optarg, nullptr, 0);
                break;
            case 'p':
                port = static_cast<std::uint16_t>(std::atoi(optarg));
                break;
            default:
                std::fputs(kUsage, option == 'h' ? stdout : stderr);
                return option == 'h' ? 0 : 2;
        }
    }
    if (bytes < 4096 || optind + 1 < argc) {
        std::fputs(kUsage, stderr);
        return 2;
    }
    Device device(options);
    Buffer buffer(device.pd(), kind, bytes,
                  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                      IBV_ACCESS_REMOTE_ATOMIC);
    const bool client = optind < argc;
    Channel channel = client ? Channel::connect(argv[optind], port) : Channel::listen(port);
    Endpoint local = device.endpoint();
    local.rkey = buffer.rkey();
    local.iova = buffer.iova();
    local.bytes = bytes;
    channel.send(local);
    const auto remote = channel.receive<Endpoint>();
    device.connect(remote);
    channel.send(Message{});  // both are in RTS before either sends
    channel.receive<Message>();
    if (!client) {
        serve(channel, device, buffer);
        std::printf("verbs_check: served on %s\n", device.name());
        return 0;
    }
    const unsigned checked = run_client(channel, device, buffer, remote, rounds, seed);
    std::printf("verbs_check: %u transfers on %s, every byte right%s\n", checked, device.name(),
                remote.atomics != 0 && local.atomics != 0 ? "" : ", without atomics");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "verbs_check: %s\n", error.what());
        return 1;
    }
}
