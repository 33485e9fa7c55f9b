// SPDX-License-Identifier: BSD-2-Clause
//
// verbs_load: uses of verbs that break implementations.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "modes.h"
#include "self_link.h"

namespace {

using verbs_load::SelfLink;

constexpr const char* kUsage =
    "usage: verbs_load many CLIENTS QPS      processes with QPS each, all at once, data checked\n"
    "       verbs_load churn QPS             so many created, connected and destroyed one after "
    "another\n"
    "       verbs_load churn-for MS          how many in a second\n"
    "       verbs_load wait-with N           for ever: N threads whose requests wait for a "
    "neighbour\n"
    "       verbs_load take-regions          for ever: all regions that there are\n"
    "       verbs_load take-memory MIB       for ever: a region that is never touched\n"
    "       verbs_load punch-region N        for ever: holes in a region in use that it has mapped "
    "N times\n"
    "       verbs_load punch-file N          the same in a region that is a file\n"
    "       verbs_load punch-doorbells N     the same in its doorbells\n"
    "       verbs_load flow QPS MS [BYTES]   Gb/s of WRITEs (of 64 KiB), one in flight on each\n"
    "       verbs_load neighbour             reads numbers of milliseconds; prints what it got: "
    "Gb/s of 64 KiB WRITEs, median us of requests, requests\n"
    "       verbs_load fork                  parent and child both work, before and after the "
    "fork\n"
    "       verbs_load threads N             N threads with contexts of their own, and N on one\n"
    "       verbs_load import                a process uses device, PD and MR of another one\n"
    "       verbs_load allocators            a parent domain's own, with traffic\n"
    "       verbs_load dm                    device memory\n"
    "       verbs_load events                more requests for events than events read\n"
    "       verbs_load shared-cq             one QP's completions do not keep another one's back\n"
    "       verbs_load wallclock             time of day of completions\n"
    "       verbs_load hold PHASE            goes to context|pd|mr|cq|qp|rts, says so and waits to "
    "be killed\n"
    "       verbs_load stream                posts for ever\n"
    "       verbs_load watch                 waits for an async event; then ibv_poll_cq and "
    "ibv_alloc_pd must fail\n";

void many(unsigned clients, unsigned qps) {
    std::vector<pid_t> children;
    for (unsigned c = 0; c < clients; ++c) {
        const pid_t pid = ::fork();
        if (pid == 0) {
            try {
                SelfLink link("", qps, qps * 8192);
                for (unsigned round = 0; round < 4; ++round)
                    for (unsigned q = 0; q < qps; ++q)
                        link.check(q, static_cast<std::uint8_t>(c + round));
            } catch (const std::exception& e) {
                std::fprintf(stderr, "client %u: %s\n", c, e.what());
                ::_exit(1);
            }
            ::_exit(0);
        }
        children.push_back(pid);
    }
    unsigned bad = 0;
    for (const pid_t pid : children) {
        int status = 0;
        ::waitpid(pid, &status, 0);
        bad += status != 0 ? 1 : 0;
    }
    if (bad != 0)
        throw std::runtime_error(std::to_string(bad) + " clients failed");
}

void churn(unsigned count) {
    SelfLink link("", 1, 8192);
    for (unsigned i = 0; i < count; ++i) {
        ibv_qp* qp = link.create_qp();
        if (i % 16 == 0)
            link.connect(qp);
        if (ibv_destroy_qp(qp) != 0)
            throw std::runtime_error("ibv_destroy_qp");
    }
    link.check(0, 1);
}

void wait_child(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (status != 0)
        throw std::runtime_error("the child failed");
}

void fork_test() {
    ibv_fork_init();
    SelfLink link("", 2, 65536);
    link.check(0, 1);
    const pid_t pid = ::fork();
    if (pid == 0) {
        try {
            SelfLink own("", 2, 65536);
            for (unsigned i = 0; i < 20; ++i)
                own.check(i % 2, static_cast<std::uint8_t>(i));
        } catch (const std::exception& e) {
            std::fprintf(stderr, "child: %s\n", e.what());
            ::_exit(1);
        }
        ::_exit(0);
    }
    for (unsigned i = 0; i < 20; ++i)
        link.check(i % 2, static_cast<std::uint8_t>(i));
    wait_child(pid);
    link.check(1, 77);
    const int rc = std::system("true");  // fork and exec with a device open
    if (rc != 0)
        throw std::runtime_error("system() failed");
    link.check(0, 78);
}

void threads(unsigned n) {
    std::atomic<unsigned> bad{0};
    auto work = [&](unsigned t) {
        try {
            SelfLink link("", 2, 65536);
            for (unsigned i = 0; i < 50; ++i)
                link.check(i % 2, static_cast<std::uint8_t>(t + i));
        } catch (const std::exception& e) {
            std::fprintf(stderr, "thread %u: %s\n", t, e.what());
            ++bad;
        }
    };
    std::vector<std::thread> all;
    for (unsigned t = 0; t < n; ++t)
        all.emplace_back(work, t);
    for (auto& t : all)
        t.join();
    all.clear();
    SelfLink shared("", 1, 8192);
    for (unsigned t = 0; t < n; ++t)
        all.emplace_back([&] {
            for (unsigned i = 0; i < 50; ++i) {
                ibv_qp* qp = shared.create_qp();
                shared.connect(qp);
                ibv_destroy_qp(qp);
            }
        });
    for (auto& t : all)
        t.join();
    shared.check(0, 5);
    if (bad != 0)
        throw std::runtime_error(std::to_string(bad) + " threads failed");
}

void hold(const std::string& phase) {
    SelfLink link("", 4, 65536, SelfLink::phase_of(phase));
    if (phase == "rts")
        for (unsigned q = 0; q < link.qps(); ++q)
            link.post(q);
    std::puts("holding");
    std::fflush(stdout);
    ::pause();
}

/// Waits for events and polls, while the test kills the card.
void watch() {
    SelfLink link("", 1, 8192);
    std::puts("holding");
    std::fflush(stdout);
    ibv_async_event event{};
    if (ibv_get_async_event(link.context(), &event) != 0)
        throw std::runtime_error("no event");
    std::printf("event: %s\n", ibv_event_type_str(event.event_type));
    ibv_wc wc{};
    if (ibv_poll_cq(link.cq(), 1, &wc) >= 0)
        throw std::runtime_error("ibv_poll_cq still works");
    errno = 0;
    if (ibv_alloc_pd(link.context()) != nullptr)
        throw std::runtime_error("ibv_alloc_pd works");
    std::printf("ibv_alloc_pd: errno %d\n", errno);
    std::fflush(stdout);
    ::_exit(0);
}

int run(const std::vector<std::string>& args) {
    auto number = [&](std::size_t i) { return static_cast<unsigned>(std::stoul(args.at(i))); };
    if (args.empty())
        return 2;
    const std::string& what = args[0];
    if (what == "many")
        many(number(1), number(2));
    else if (what == "churn")
        churn(number(1));
    else if (what == "churn-for")
        verbs_load::churn_for(number(1));
    else if (what == "wait-with")
        verbs_load::wait_with(number(1));
    else if (what == "take-regions")
        verbs_load::take_regions();
    else if (what == "take-memory")
        verbs_load::take_memory(number(1));
    else if (what == "punch-region")
        verbs_load::punch_region(number(1), false);
    else if (what == "punch-file")
        verbs_load::punch_region(number(1), true);
    else if (what == "punch-doorbells")
        verbs_load::punch_doorbells(number(1));
    else if (what == "flow")
        verbs_load::flow(number(1), number(2), args.size() > 3 ? number(3) : 65536);
    else if (what == "neighbour")
        verbs_load::neighbour();
    else if (what == "fork")
        fork_test();
    else if (what == "threads")
        threads(number(1));
    else if (what == "import")
        verbs_load::import_test();
    else if (what == "allocators")
        verbs_load::allocators_test();
    else if (what == "dm")
        verbs_load::device_memory_test();
    else if (what == "events")
        verbs_load::events_test();
    else if (what == "shared-cq")
        verbs_load::shared_cq_test();
    else if (what == "wallclock")
        verbs_load::wallclock_test();
    else if (what == "hold")
        hold(args.at(1));
    else if (what == "stream")
        SelfLink("", 4, 1 << 20).stream();
    else if (what == "watch")
        watch();
    else
        return 2;
    std::puts("ok");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const int rc = run({argv + 1, argv + argc});
        if (rc == 2)
            std::fputs(kUsage, stderr);
        return rc;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "verbs_load: %s\n", e.what());
        return 1;
    }
}
