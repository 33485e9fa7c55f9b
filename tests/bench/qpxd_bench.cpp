// SPDX-License-Identifier: BSD-2-Clause
// The rendezvous service: a full mesh of endpoints between ranks, and what an idle rank costs. The
// service is a process of its own; the ranks are threads of a few processes, as programs use
// groups.
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "qpx/group.h"
#include "service/server.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// User and system time of a process, from /proc.
double cpu_seconds(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string word;
    double ticks = 0;
    // The name in brackets has no blank here.
    for (int field = 1; file >> word; ++field) {
        if (field == 14 || field == 15) {
            ticks += std::stod(word);
        }
    }
    return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

size_t resident_bytes(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
    size_t total = 0, resident = 0;
    file >> total >> resident;
    return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

qpx::Endpoint endpoint(uint32_t from, uint32_t to) {
    qpx::Endpoint e;
    e.device = "mlx5_0";
    e.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};
    e.qpn = from + 1;
    e.psn = to;
    e.mtu = 4096;
    e.regions.push_back({uint64_t{0x7f0000000000} + from, 1 << 20, to, ""});
    return e;
}

/// In memory that all processes share: when the exchange of each rank began and ended, against one
/// clock.
struct Times {
    std::atomic<int64_t> first_begin{INT64_MAX}, last_end{0};
    std::atomic<uint32_t> wrong{0};
};

int64_t now_ns() {
    return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count();
}

void exchange_as(const std::string& url, uint32_t rank, uint32_t size, Times& times) {
    qpx::GroupOptions options;
    options.rank = rank;
    options.size = size;
    options.timeout = std::chrono::seconds(300);
    const auto group = qpx::Group::join(url, options);
    std::vector<qpx::RankEndpoint> mine;
    for (uint32_t peer = 0; peer < size; ++peer) {
        if (peer != rank) {
            mine.push_back({peer, endpoint(rank, peer)});
        }
    }
    group->barrier();
    const int64_t begin = now_ns();
    const auto theirs = group->exchange(mine);
    const int64_t end = now_ns();
    for (int64_t seen = times.first_begin; begin < seen;) {
        times.first_begin.compare_exchange_weak(seen, begin);
    }
    for (int64_t seen = times.last_end; end > seen;) {
        times.last_end.compare_exchange_weak(seen, end);
    }
    uint32_t wrong = theirs.size() != size - 1;
    for (const qpx::RankEndpoint& one : theirs) {
        wrong += one.endpoint != endpoint(one.rank, rank);
    }
    times.wrong += wrong;
    group->barrier();
    group->leave();
}

int run_members(const std::string& url, uint32_t first, uint32_t count, uint32_t size,
                Times& times) {
    std::atomic<int> failed = 0;
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < count; ++i) {
        threads.emplace_back([&, i] {
            try {
                exchange_as(url, first + i, size, times);
            } catch (const qpx::Error& error) {
                std::fprintf(stderr, "rank %u: %s\n", first + i, error.what());
                ++failed;
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    return failed ? 1 : 0;
}

struct Service {
    pid_t pid = 0;
    uint16_t port = 0;

    Service() {
        int pipe[2];
        if (::pipe(pipe) != 0 || (pid = fork()) < 0) {
            throw std::runtime_error("cannot start the service");
        }
        if (pid == 0) {
            qpx::service::ServerOptions options;
            options.address = "127.0.0.1";
            options.port = 0;
            qpx::service::Server server(options);
            const uint16_t mine = server.port();
            [[maybe_unused]] const ssize_t count = write(pipe[1], &mine, sizeof mine);
            server.run();
            _exit(0);
        }
        close(pipe[1]);
        [[maybe_unused]] const ssize_t count = read(pipe[0], &port, sizeof port);
        close(pipe[0]);
    }
    ~Service() {
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
    }
    std::string url(const std::string& job) const {
        return "qpxd://127.0.0.1:" + std::to_string(port) + "/" + job;
    }
};

/// One full mesh. @return false when an endpoint was wrong
bool mesh(uint32_t ranks, uint32_t processes) {
    const Service service;
    void* shared =
        mmap(nullptr, sizeof(Times), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    Times& times = *new (shared) Times;
    const double cpu_before = cpu_seconds(service.pid);
    std::vector<pid_t> children;
    for (uint32_t i = 0; i < processes; ++i) {
        const uint32_t first = ranks * i / processes, end = ranks * (i + 1) / processes;
        const pid_t child = fork();
        if (child == 0) {
            _exit(run_members(service.url("mesh"), first, end - first, ranks, times));
        }
        children.push_back(child);
    }
    bool good = true;
    for (pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        good = good && status == 0;
    }
    const double cpu = cpu_seconds(service.pid) - cpu_before;
    const double wall = static_cast<double>(times.last_end - times.first_begin) / 1e9;
    const double ends = static_cast<double>(ranks) * (ranks - 1);
    good = good && times.wrong == 0;
    std::printf("%6u %10.0f %9.3f %12.0f %12.3f %14.0f   %s\n", ranks, ends, wall, ends / wall, cpu,
                ends / cpu, good ? "all endpoints right" : "WRONG");
    munmap(shared, sizeof(Times));
    return good;
}

/// Members that have joined and do nothing.
void idle(uint32_t ranks) {
    const Service service;
    // The first ones pay for what the process has once.
    std::vector<std::unique_ptr<qpx::Group>> groups;
    const auto join = [&](uint32_t count) {
        for (uint32_t i = 0; i < count; ++i) {
            groups.push_back(qpx::Group::join(service.url("idle")));
            groups.back()->put("warm", "x");
        }
    };
    join(64);
    const size_t before = resident_bytes(service.pid);
    const auto start = Clock::now();
    join(ranks);
    const double time = seconds_since(start);
    const size_t after = resident_bytes(service.pid);
    std::printf("%u idle ranks: %.0f bytes resident each in the service; joined at %.0f a second\n",
                ranks, static_cast<double>(after - before) / ranks, ranks / time);
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<uint32_t> sizes = {64, 256, 1024};
    uint32_t processes = 4, idle_ranks = 8192, rounds = 1;
    CLI::App app("Measures the rendezvous service on the loopback interface.", "qpxd_bench");
    app.add_option("--ranks", sizes, "Ranks of the full meshes");
    app.add_option("--processes", processes, "Processes that the ranks are threads of");
    app.add_option("--idle", idle_ranks, "Idle ranks; 0: not measured");
    app.add_option("--rounds", rounds, "Times each mesh is made");
    CLI11_PARSE(app, argc, argv);
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    bool good = true;
    std::printf("%6s %10s %9s %12s %12s %14s\n", "ranks", "QP ends", "seconds", "ends/s",
                "service CPU", "ends/s of CPU");
    for (uint32_t ranks : sizes) {
        for (uint32_t i = 0; i < rounds; ++i) {
            good = mesh(ranks, processes) && good;
        }
    }
    if (idle_ranks != 0) {
        idle(idle_ranks);
    }
    return good ? 0 : 1;
}
