// SPDX-License-Identifier: BSD-2-Clause
// Tests the group interface with several processes and the back end that the URL selects. Started
// once for each rank, by a launcher or by hand, all on one machine.
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

#include "qpx/group.h"

namespace {

using Bytes = std::vector<std::byte>;

#define CHECK(condition)                                                                    \
    do {                                                                                    \
        if (!(condition)) {                                                                 \
            std::fprintf(stderr, "store_check.cpp:%d: not so: %s\n", __LINE__, #condition); \
            std::exit(1);                                                                   \
        }                                                                                   \
    } while (false)

Bytes bytes(const std::string& text) {
    const auto view = std::as_bytes(std::span(text.data(), text.size()));
    return {view.begin(), view.end()};
}

// Returns false if the back end refuses the call with Unsupported.
template <typename Call>
bool supported(Call call) {
    try {
        call();
        return true;
    } catch (const qpx::Error& error) {
        if (error.code() != qpx::ErrorCode::Unsupported) {
            throw;
        }
        std::printf("unsupported here: %s\n", error.what());
        return false;
    }
}

void values(qpx::Group& group) {
    const uint32_t me = group.rank(), size = group.size();
    const std::string mine = "value-" + std::to_string(me);
    if (!supported([&] { group.put(mine, "v" + std::to_string(me)); })) {
        return;
    }
    for (uint32_t rank = 0; rank < size; ++rank) {
        CHECK(group.get_text("value-" + std::to_string(rank)) == "v" + std::to_string(rank));
    }
    CHECK(!group.try_get("nobody puts this"));
    try {
        group.get("nobody puts this", std::chrono::milliseconds(50));
        CHECK(false);
    } catch (const qpx::Error& error) {
        CHECK(error.code() == qpx::ErrorCode::Timeout);
    }
    std::vector<std::string> keys;
    for (uint32_t rank = 0; rank < size; ++rank) {
        keys.push_back("value-" + std::to_string(rank));
    }
    group.wait(keys);
    bool first = false;
    if (supported([&] { first = group.put_once("once", bytes(std::to_string(me))); })) {
        group.barrier();
        CHECK(first == (group.get_text("once") == std::to_string(me)));
    }
    const Bytes zeros(70'000);
    if (me == 0) {
        group.put("large", zeros);
        group.put("changed", "before");
        group.put("changed", "after");
    }
    group.barrier();
    CHECK(group.get("large") == zeros);
    CHECK(group.get_text("changed") == "after");
    group.barrier();
    if (me == 0) {
        CHECK(group.erase("large"));
    }
    group.barrier();
    CHECK(!group.try_get("large"));
    if (supported([&] { group.add("sum", me + 1); })) {
        group.barrier();
        CHECK(group.add("sum", 0) == int64_t{size} * (size + 1) / 2);
    }
}

// Reads a clock that is common to all processes of the machine.
int64_t now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

int64_t number_in(const Bytes& value) {
    int64_t number = 0;
    CHECK(value.size() == sizeof number);
    std::memcpy(&number, value.data(), sizeof number);
    return number;
}

// Each rank in turn is late: no rank may leave the barrier before the late rank has entered it.
void barriers(qpx::Group& group) {
    for (uint32_t late = 0; late < group.size(); ++late) {
        if (late == group.rank()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
        }
        const int64_t before = now();
        group.barrier();
        const int64_t after = now();
        int64_t last_in = 0, first_out = INT64_MAX;
        for (const auto& item : group.all_gather(std::as_bytes(std::span(&before, 1)))) {
            last_in = std::max(last_in, number_in(item.bytes));
        }
        for (const auto& item : group.all_gather(std::as_bytes(std::span(&after, 1)))) {
            first_out = std::min(first_out, number_in(item.bytes));
        }
        CHECK(last_in <= first_out);
    }
}

void collectives(qpx::Group& group) {
    const uint32_t me = group.rank(), size = group.size();
    for (int round = 0; round < 3; ++round) {
        const auto all = group.all_gather(bytes(std::string(me, 'x') + std::to_string(round)));
        CHECK(all.size() == size);
        for (uint32_t rank = 0; rank < size; ++rank) {
            CHECK(all[rank].rank == rank);
            CHECK(all[rank].bytes == bytes(std::string(rank, 'x') + std::to_string(round)));
        }
        std::vector<qpx::RankBytes> items;
        for (uint32_t peer = 0; peer < size; ++peer) {
            if (peer != me) {
                items.push_back({peer, bytes(std::to_string(me) + ">" + std::to_string(peer))});
            }
        }
        const qpx::Exchanged got = group.exchange_bytes(items);
        CHECK(got.gone.empty());
        CHECK(got.items.size() == size - 1);
        for (const qpx::RankBytes& item : got.items) {
            CHECK(item.bytes == bytes(std::to_string(item.rank) + ">" + std::to_string(me)));
        }
    }
    const auto members = group.members();
    CHECK(members.size() == size);
    for (const auto& member : members) {
        CHECK(member.state == qpx::GroupMember::State::Here);
    }
    group.barrier();
}

// A member that times out in a call and repeats it joins the same round as the other, late members.
template <typename Call>
void impatient(qpx::Group& group, Call call) {
    if (group.rank() != 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        call(qpx::Group::default_timeout);
        return;
    }
    try {
        call(std::chrono::milliseconds(20));
    } catch (const qpx::Error& error) {
        CHECK(error.code() == qpx::ErrorCode::Timeout);
        call(qpx::Group::default_timeout);
    }
}

void retries(qpx::Group& group) {
    const Bytes mine = bytes("retry-" + std::to_string(group.rank()));
    for (int round = 0; round < 2; ++round) {
        impatient(group, [&](qpx::Group::Milliseconds timeout) { group.barrier(timeout); });
        impatient(group, [&](qpx::Group::Milliseconds timeout) {
            const auto all = group.all_gather(mine, timeout);
            CHECK(all.size() == group.size());
            for (const auto& item : all) {
                CHECK(item.bytes == bytes("retry-" + std::to_string(item.rank)));
            }
        });
    }
    barriers(group);
}

// A member fails: the calls of the others end and name the failed member.
void failure(qpx::Group& group, uint32_t failing, bool dies) {
    group.barrier();
    if (group.rank() == failing) {
        if (dies) {
            std::raise(SIGKILL);
        }
        std::this_thread::sleep_for(std::chrono::seconds(6));
        return;
    }
    const std::string name = "rank " + std::to_string(failing);
    try {
        while (true) {
            group.barrier();
        }
    } catch (const qpx::Error& error) {
        std::printf("barrier: %s\n", error.what());
        CHECK(error.code() == qpx::ErrorCode::PeerGone);
    }
    // The event may arrive after the call that waited for the failed member has ended.
    std::optional<qpx::GroupEvent> event;
    while (!(event = group.poll_event()) || event->kind != qpx::GroupEvent::Kind::Failed) {
        pollfd ready = {group.fd(), POLLIN, 0};
        CHECK(event || poll(&ready, 1, 10'000) == 1);
    }
    CHECK(event->rank == failing);
    CHECK(group.members().at(failing).state == qpx::GroupMember::State::Failed);
    try {
        group.barrier();
        CHECK(false);
    } catch (const qpx::Error& error) {
        CHECK(error.code() == qpx::ErrorCode::PeerGone);
        CHECK(std::string(error.what()).find(name) != std::string::npos);
    }
    std::printf("store: rank %u is told of %s: %s\n", group.rank(), name.c_str(),
                event->reason.c_str());
}

// A member of a group that may shrink fails: the others continue.
void shrinks(qpx::Group& group, uint32_t failing) {
    group.barrier();
    if (group.rank() == failing) {
        // PMIx completes a fence without the failed member only if the others are in it already.
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        std::raise(SIGKILL);
    }
    for (int round = 0; round < 3; ++round) {
        group.barrier();
        const auto all = group.all_gather(bytes(std::to_string(round)));
        CHECK(all.size() == group.size() - 1);
        for (const auto& item : all) {
            CHECK(item.rank != failing && item.bytes == bytes(std::to_string(round)));
        }
    }
    std::printf("store: rank %u goes on without rank %u\n", group.rank(), failing);
}

}  // namespace

int main(int argc, char** argv) {
    std::string mode;
    uint32_t failing = 0;
    if (argc > 3 && argv[1][0] == '-') {
        mode = argv[1];
        failing = static_cast<uint32_t>(std::atol(argv[2]));
        argv += 2;
        argc -= 2;
    }
    if (argc < 2) {
        std::fprintf(stderr,
                     "usage: qpx_store_check [--kill|--hang|--shrink RANK] URL [SIZE RANK]\n"
                     "--kill: this rank kills itself, --hang: it waits, and the others must hear "
                     "that it has failed; --shrink: it kills itself, and the others go on\n");
        return 2;
    }
    try {
        const std::string url = argv[1];
        qpx::GroupOptions options;
        if (argc == 4) {
            options.size = static_cast<uint32_t>(std::atoi(argv[2]));
            options.rank = static_cast<uint32_t>(std::atoi(argv[3]));
        } else if (const auto launched = qpx::rank_from_environment(); launched) {
            options.size = launched->size;
            options.rank = launched->rank;
        }
        options.shrink = mode == "--shrink";
        const auto group = qpx::Group::join(url, options);
        if (mode == "--shrink") {
            shrinks(*group, failing);
        } else if (!mode.empty()) {
            failure(*group, failing, mode == "--kill");
        }
        if (!mode.empty()) {
            group->leave();
            return 0;
        }
        values(*group);
        barriers(*group);
        retries(*group);
        collectives(*group);
        group->leave();
        std::printf("store: all is well\n");
        return 0;
    } catch (const qpx::Error& error) {
        std::fprintf(stderr, "qpx_store_check: %s\n", error.what());
        return 1;
    }
}
