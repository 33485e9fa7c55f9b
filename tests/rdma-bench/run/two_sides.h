// SPDX-License-Identifier: BSD-2-Clause
// A server and a client in the test process, each with its own device, memory and QPs, connected
// on loopback.
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "loop_verbs.h"
#include "qpx/peer.h"
#include "run/clock.h"
#include "run/entry_run.h"
#include "run/link.h"
#include "run/traffic.h"

namespace rdma_bench::test {

using namespace std::chrono_literals;

/// Options as of the command line `NAME -s SIZE -q 4 --threads 2`, for a device without ibv_wr_*.
inline Options options_of(std::string_view name, std::uint64_t size = 64) {
    Options options;
    options.test = *parse_test(name);
    options.sizes = {options.test.operation == Operation::kAtomic ? 8 : size};
    options.tx_depth = options.test.latency() ? 1 : 16;
    options.rx_depth = 32;
    options.iterations = options.test.latency() ? 50 : 300;
    if (!options.test.latency()) {
        options.qps = {4};
        options.threads = 2;
    }
    return options;
}

/// One run of a table: the differences from options_of(test).
struct Case {
    const char* name;
    const char* test;
    std::function<void(Options&)> change;
};
inline void PrintTo(const Case& one, std::ostream* out) {
    *out << one.name;
}
inline std::string name_of(const ::testing::TestParamInfo<Case>& one) {
    return one.param.name;
}
inline const auto kPlain = [](Options&) {};

class EachCase : public ::testing::TestWithParam<Case> {
  protected:
    void SetUp() override { loop_verbs::set_faults({}); }
};

struct Side {
    Side(const Options& wanted, bool client, qpx::Connection connection)
        : options(as(wanted, client)),
          device("", 1),
          link(std::move(connection), 30s),
          traffic(device, options) {}

    static Options as(Options options, bool client) {
        options.host = client ? "peer" : "";
        return options;
    }
    [[nodiscard]] EntryRun::Where where() const {
        return {options.sizes.front(), options.qps.front(), 0, 1};
    }

    Options options;
    Device device;
    Link link;
    Traffic traffic;
    Sink sink;
};

class TwoSides {
  public:
    explicit TwoSides(const Options& options) {
        Interrupt::instance();
        ns_per_tick();
        qpx::PeerOptions peer;
        peer.timeout = 20s;
        qpx::Listener listener("127.0.0.1", 0, peer);
        auto connecting = std::async(std::launch::async, [&] {
            return qpx::Connection::connect("127.0.0.1", listener.port(), peer);
        });
        server = std::make_unique<Side>(options, false, listener.accept(20s));
        client = std::make_unique<Side>(options, true, connecting.get());
        const auto of_server = endpoints(*server), of_client = endpoints(*client);
        server->traffic.connect(of_client, join_by_endpoints(server->options));
        client->traffic.connect(of_server, join_by_endpoints(client->options));
    }

    /// Runs both at the same time, the server in another thread, and returns when both have ended.
    /// Rethrows an exception of either; of two, the client's.
    void both(const std::function<void(Side&)>& at_server,
              const std::function<void(Side&)>& at_client) {
        auto other = std::async(std::launch::async, [&] { at_server(*server); });
        at_client(*client);
        other.get();
    }

    std::unique_ptr<Side> server, client;

  private:
    static std::vector<qpx::Endpoint> endpoints(Side& side) {
        std::vector<qpx::Endpoint> all;
        for (const auto& local : side.traffic.describe("127.0.0.1")) {
            all.push_back(local.endpoint);
        }
        return all;
    }
};

}  // namespace rdma_bench::test
