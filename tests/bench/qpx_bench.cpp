// SPDX-License-Identifier: BSD-2-Clause
// qp-exchange between two processes on loopback: what one exchange takes, warm and cold, plain and
// with TLS.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "qpx/peer.h"

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

qpx::Endpoint endpoint() {
    qpx::Endpoint e;
    e.device = "bench0";
    e.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
    e.qpn = 0x123;
    e.psn = 0x456789;
    e.regions = {{0x7f0000000000, 1 << 20, 0xcafe, "inbox"}};
    return e;
}

/// Microseconds of COUNT calls, sorted.
std::vector<double> measure(int count, const std::function<void()>& call) {
    std::vector<double> times;
    times.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
        const auto start = Clock::now();
        call();
        times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    }
    std::sort(times.begin(), times.end());
    return times;
}

void print(const char* what, const std::vector<double>& times, double ends = 1) {
    const auto at = [&](double part) {
        return times[std::min(times.size() - 1,
                              static_cast<std::size_t>(part * static_cast<double>(times.size())))];
    };
    std::printf("%-44s %9zu %9.1f %9.1f %9.1f %12.0f\n", what, times.size(), at(0.5), at(0.99),
                at(0.999), ends * 1e6 / at(0.5));
}

/// A child that accepts and serves for ever; the parent ends it.
class Server {
  public:
    Server(const qpx::PeerOptions& options, std::size_t ends)
        : listener_("127.0.0.1", 0, options), child_(fork()) {
        if (child_ != 0) {
            return;
        }
        const std::vector<qpx::Endpoint> list(ends, endpoint());
        for (;;) {
            try {
                qpx::Connection peer = listener_.accept(-1ms);
                for (;;) {
                    peer.exchange(list);
                }
            } catch (const qpx::Error&) {
                continue;  // the client has closed
            }
        }
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    ~Server() {
        kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
    }
    qpx::Connection connect(const qpx::PeerOptions& options) const {
        return qpx::Connection::connect("127.0.0.1", listener_.port(), options);
    }

  private:
    qpx::Listener listener_;
    pid_t child_;
};

void warm(const char* what, const qpx::PeerOptions& options, int count, std::size_t ends = 1) {
    const Server server(options, ends);
    qpx::Connection peer = server.connect(options);
    const std::vector<qpx::Endpoint> list(ends, endpoint());
    measure(count / 10 + 1, [&] { peer.exchange(list); });
    print(what, measure(count, [&] { peer.exchange(list); }), static_cast<double>(ends));
}

void cold(const char* what, const qpx::PeerOptions& options, int count) {
    const Server server(options, 1);
    const auto call = [&] {
        qpx::Connection peer = server.connect(options);
        peer.exchange(endpoint());
    };
    measure(count / 10 + 1, call);
    print(what, measure(count, call));
}

}  // namespace

int main(int argc, char** argv) {
    const int count = argc > 1 ? std::atoi(argv[1]) : 20000;
    if (count < 100) {
        std::fprintf(stderr, "usage: qpx_bench [EXCHANGES]\nat least 100 (default 20000)\n");
        return 2;
    }
    qpx::PeerOptions plain, secure;
    secure.security.mode = qpx::Security::Mode::Psk;
    secure.security.psk = {{"bench", std::vector<std::byte>(32, std::byte{7})}};
    std::printf("%-44s %9s %9s %9s %9s %12s\n", "microseconds", "samples", "p50", "p99", "p99.9",
                "ends/s (p50)");
    warm("warm exchange of one QP", plain, count);
    warm("warm exchange of one QP, TLS 1.3", secure, count);
    warm("warm exchange of 64 QPs at once", plain, count / 10, 64);
    warm("warm exchange of 1024 QPs at once", plain, count / 100, 1024);
    cold("connect, HELLO, exchange, close", plain, count / 10);
    cold("the same with TLS 1.3 (pre-shared key)", secure, count / 100);
    return 0;
}
