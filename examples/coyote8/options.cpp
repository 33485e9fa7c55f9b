// SPDX-License-Identifier: BSD-2-Clause
#include "coyote8/options.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace coyote8 {
namespace {

constexpr std::uint32_t kLargest = 1U << 30U;

}  // namespace

Options parse_options(std::span<const std::string> arguments) {
    Options options;
    int operation = 0;
    CLI::App app(
        "Latency and throughput of RDMA READ or WRITE between a client and a server, as Coyote's "
        "example 8 measures "
        "and prints them, over plain verbs. Every run's data is checked. Start the server first, "
        "with the same "
        "options but -i.",
        "coyote8");
    app.add_option("-i,--ip_address", options.server,
                   "the server's address or name; without it this is the server");
    app.add_option("-o,--operation", operation,
                   "0: READ, 1: WRITE (the server writes back; half of the time counts)")
        ->capture_default_str()
        ->check(CLI::Range(0, 1));
    app.add_option("-x,--min_size", options.min_size, "starting transfer size, bytes")
        ->capture_default_str()
        ->check(CLI::Range(1U, kLargest));
    app.add_option("-X,--max_size", options.max_size, "ending transfer size, bytes; sizes double")
        ->capture_default_str()
        ->check(CLI::Range(1U, kLargest));
    app.add_option("-r,--runs", options.runs, "how often each test is repeated")
        ->capture_default_str()
        ->check(CLI::Range(1U, 1000000U));
    app.add_option("-d,--ib-dev", options.device, "RDMA device (default: the first)");
    app.add_option("--ib-port", options.ib_port, "port of the device")
        ->capture_default_str()
        ->check(CLI::Range(1, 255));
    app.add_option("--gid-index", options.gid_index,
                   "GID (default: the one that fits the connection)")
        ->check(CLI::Range(0, 65535));
    app.add_option("-p,--port", options.tcp_port, "TCP port of the exchange")
        ->capture_default_str()
        ->check(CLI::Range(1, 65535));
    app.add_option("--mem", options.memory, "host, huge, hip[:n], cuda[:n] or dmabuf:PATH")
        ->capture_default_str();
    app.add_option("--security", options.security, "none, psk:FILE or tls:CERT,KEY,CA[,ALLOWED...]")
        ->capture_default_str();
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    try {
        app.parse(reversed);
    } catch (const CLI::CallForHelp&) {
        throw HelpWanted(app.help());
    } catch (const CLI::ParseError& error) {
        throw std::invalid_argument(error.what());
    }
    if (app.count("--ip_address") != 0 && options.server.empty()) {
        throw std::invalid_argument("--ip_address: the value is empty");
    }
    if (options.min_size > options.max_size) {
        throw std::invalid_argument("--min_size " + std::to_string(options.min_size) +
                                    " is larger than --max_size " +
                                    std::to_string(options.max_size));
    }
    options.operation = operation == 0 ? Operation::kRead : Operation::kWrite;
    return options;
}

}  // namespace coyote8
