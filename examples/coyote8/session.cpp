// SPDX-License-Identifier: BSD-2-Clause
#include "coyote8/session.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "coyote8/transfer.h"
#include "exit.h"
#include "qpx/security.h"

namespace coyote8 {
namespace {

/// The same number as in Coyote's example.
constexpr unsigned kThroughputTransfers = 64;
constexpr unsigned kLatencyTransfers = 1;
static_assert(kThroughputTransfers <= Transfer::kDepth);

/// Timeout of a barrier while the other side finishes a run.
constexpr std::chrono::minutes kLongestRun{10};

void say(const std::string& line) {
    std::fputs((line + "\n").c_str(), stdout);
    std::fflush(stdout);
}

void say_heading(const std::string& text) {
    say(text);
    say(std::string(47, '-'));
}

void say_parameters(const Options& options) {
    say_heading("CLI PARAMETERS:");
    if (options.is_client()) {
        say("Server's TCP address: " + options.server);
    }
    say(fmt::format("Benchmark operation: {}",
                    options.operation == Operation::kWrite ? "WRITE" : "READ"));
    say(fmt::format("Number of test runs: {}", options.runs));
    say(fmt::format("Starting transfer size: {}", options.min_size));
    say(fmt::format("Ending transfer size: {}\n", options.max_size));
}

std::string endpoint_line(const char* name, const qpx::Endpoint& endpoint) {
    // Coyote's example supports IPv4 only and prints its four bytes as one number.
    const auto& gid = endpoint.gid;
    const bool mapped = gid[10] == 0xFF && gid[11] == 0xFF && gid[0] == 0;
    const std::string ip =
        mapped ? fmt::format("0x{:02x}{:02x}{:02x}{:02x}", gid[12], gid[13], gid[14], gid[15])
               : qpx::gid_text(gid);
    const qpx::Region& region = endpoint.regions.at(0);
    return fmt::format("{}: QPN 0x{:06x}, PSN 0x{:06x}, VADDR {:016x}, SIZE {:08x}, IP {}", name,
                       endpoint.qpn, endpoint.psn, region.address, region.length, ip);
}

qpx::Connection open_connection(const Options& options) {
    qpx::PeerOptions peer;
    peer.security = qpx::parse_security(options.security);
    if (options.is_client()) {
        auto connection = qpx::Connection::connect(options.server, options.tcp_port, peer);
        say("Client registered");
        return connection;
    }
    qpx::Listener listener("", options.tcp_port, peer);
    std::fprintf(stderr, "waiting for a client on port %u\n", unsigned{listener.port()});
    auto connection = listener.accept(std::chrono::milliseconds(-1));
    say("Server registered");
    return connection;
}

void agree(const Options& options, qpx::Connection& connection) {
    const std::string mine = settings(options);
    connection.send(std::as_bytes(std::span(mine)));
    const auto bytes = connection.receive();
    const std::string theirs(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (theirs != mine) {
        std::string shown;
        for (const char c : theirs.substr(0, 200)) {
            shown += c >= 0x20 && c < 0x7F ? c : '?';
        }
        throw RunError(Exit::kUsage, "both sides must have the same -o, -x, -X and -r; here " +
                                         mine + ", at the peer " + shown);
    }
}

class Benchmark {
  public:
    Benchmark(const Options& options, Transfer& transfer, qpx::Connection& connection)
        : options_(options), transfer_(transfer), connection_(connection) {}

    /// Returns the mean one-way time of a run in seconds; 0 at the server, which does not measure.
    double run(std::uint32_t size, unsigned transfers) {
        double total = 0;
        for (std::uint32_t i = 0; i < options_.runs; ++i) {
            total += one(size, transfers);
        }
        const double mean = total / options_.runs;
        return options_.operation == Operation::kWrite ? mean / 2 : mean;
    }

  private:
    double one(std::uint32_t size, unsigned transfers) {
        const bool client = options_.is_client();
        const bool writes = options_.operation == Operation::kWrite;
        ++round_;
        // First word of a run's data, which differs in all runs of a session.
        const std::uint32_t first = round_ * 0x9E3779B1U;
        transfer_.clear_landing(size);
        if (client == writes) {
            transfer_.fill_source(size, first);
        }
        if (writes) {
            transfer_.post_receive();
        }
        connection_.barrier();
        const auto start = std::chrono::steady_clock::now();
        if (client) {
            writes ? transfer_.write(size, transfers, round_, false)
                   : transfer_.read(size, transfers);
            if (writes) {
                transfer_.wait_received(connection_, round_);
            }
            transfer_.wait_sent(connection_);
        } else if (writes) {
            transfer_.wait_received(connection_, round_);
            transfer_.write(size, transfers, round_, true);
            transfer_.wait_sent(connection_);
        }
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        if (client || writes) {
            transfer_.check_landing(size, first);
        }
        // Wait until the peer has read the source, which is refilled next.
        connection_.barrier();
        return client ? taken.count() : 0;
    }

    const Options& options_;
    Transfer& transfer_;
    qpx::Connection& connection_;
    std::uint32_t round_ = 0;
};

}  // namespace

std::string settings(const Options& options) {
    return fmt::format("-o {} -x {} -X {} -r {}", options.operation == Operation::kWrite ? 1 : 0,
                       options.min_size, options.max_size, options.runs);
}

std::string size_line(std::uint32_t size, double throughput, double latency_us) {
    return fmt::format(
        "Size: {:>8}; Average throughput: {:>8.6g} MB/s; Average latency: {:>8.6g} us", size,
        throughput, latency_us);
}

void run_session(const Options& options) {
    say_parameters(options);
    Transfer transfer(options);
    qpx::Connection connection = open_connection(options);
    try {
        agree(options, connection);
        transfer.connect(connection);
        say("Queue pair:");
        say(endpoint_line("Local ", transfer.local()));
        say(endpoint_line("Remote", transfer.remote()));
        if (!connection.secure()) {
            std::fprintf(stderr, "addresses and keys were exchanged in clear (see --security)\n");
        }
        connection.set_timeout(kLongestRun);
        say_heading(options.is_client() ? "\nRDMA BENCHMARK: CLIENT" : "\nRDMA BENCHMARK: SERVER");
        Benchmark benchmark(options, transfer, connection);
        for (std::uint64_t size = options.min_size; size <= options.max_size; size *= 2) {
            const auto bytes = static_cast<std::uint32_t>(size);
            const double together = benchmark.run(bytes, kThroughputTransfers);
            const double alone = benchmark.run(bytes, kLatencyTransfers);
            if (options.is_client()) {
                constexpr double kMebibyte = 1024.0 * 1024.0;
                constexpr double kMicrosecondsPerSecond = 1e6;
                say(size_line(
                    bytes, kThroughputTransfers * static_cast<double>(size) / kMebibyte / together,
                    alone * kMicrosecondsPerSecond));
            }
        }
    } catch (const RunError& error) {
        // Send the reason to the peer, so that it does not wait.
        connection.refuse(error.what());
        throw;
    }
    connection.close();
}

}  // namespace coyote8
