// SPDX-License-Identifier: BSD-2-Clause
// The interface of a group with several processes, whatever is behind the URL. Started once for
// each rank, by a launcher or by hand; all on one machine.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

// What a back end lacks must be said as Unsupported, not done wrongly.
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

// The clock that all processes of a machine share.
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

// Each rank in turn is late: nobody may be through before it has come.
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

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: qpx_store_check URL [SIZE RANK]\n");
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
        const auto group = qpx::Group::join(url, options);
        values(*group);
        barriers(*group);
        collectives(*group);
        group->leave();
        std::printf("store: all is well\n");
        return 0;
    } catch (const qpx::Error& error) {
        std::fprintf(stderr, "qpx_store_check: %s\n", error.what());
        return 1;
    }
}
