// SPDX-License-Identifier: BSD-2-Clause
// The C interface of groups.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "c/convert.h"
#include "c/guard.h"
#include "qpx/group.h"
#include "qpx/qpx_group.h"

struct qpx_group {
    std::unique_ptr<qpx::Group> group;
};

namespace {

using qpx::c::copy_text;
using qpx::c::guarded;
using qpx::c::guarded_bool;
using qpx::c::want;

std::string text_or_empty(const char* text) {
    return text != nullptr ? text : "";
}

qpx::Group::Milliseconds timeout_of(int ms) {
    return ms == 0 ? qpx::Group::default_timeout : qpx::Group::Milliseconds(ms);
}

std::span<const std::byte> view(const void* data, size_t length, const char* what) {
    if (length != 0) {
        want(data, what);
    }
    return {static_cast<const std::byte*>(data), length};
}

void* allocate(size_t bytes) {
    void* memory = std::calloc(1, std::max<size_t>(bytes, 1));
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}

// Allocates the list and all bytes in one piece.
qpx_rank_bytes* to_c(const std::vector<qpx::RankBytes>& items) {
    size_t bytes = items.size() * sizeof(qpx_rank_bytes);
    for (const qpx::RankBytes& item : items) {
        bytes += item.bytes.size();
    }
    auto* list = static_cast<qpx_rank_bytes*>(allocate(bytes));
    auto* data = reinterpret_cast<std::byte*>(list + items.size());
    for (size_t i = 0; i < items.size(); ++i) {
        list[i] = {items[i].rank, data, items[i].bytes.size()};
        data = std::copy(items[i].bytes.begin(), items[i].bytes.end(), data);
    }
    return list;
}

}  // namespace

int qpx_rank_from_environment(uint32_t* rank, uint32_t* size) {
    return guarded_bool([&] {
        want(rank, "rank");
        want(size, "size");
        const auto given = qpx::rank_from_environment();
        if (given) {
            *rank = given->rank;
            *size = given->size;
        }
        return given.has_value();
    });
}

int qpx_group_join(const char* url, const qpx_group_options* given, qpx_group** group) {
    return guarded([&] {
        want(url, "url");
        want(group, "group");
        qpx::GroupOptions join;
        if (given != nullptr) {
            const qpx_group_options all =
                qpx::c::sized(*given, offsetof(qpx_group_options, stop_on_signal));
            const qpx_group_options* options = &all;
            join.stop_on_signal = options->stop_on_signal != 0;
            if (options->rank != QPX_ANY_RANK) {
                join.rank = options->rank;
            }
            join.size = options->size;
            join.family = options->family;
            join.shrink = options->shrink != 0;
            join.job = text_or_empty(options->job);
            join.name = text_or_empty(options->name);
            if (options->timeout_ms != 0) {
                join.timeout = std::chrono::milliseconds(options->timeout_ms);
            }
            if (options->security != nullptr) {
                join.security = qpx::parse_security(options->security);
            }
        }
        *group = new qpx_group{qpx::Group::join(url, join)};
    });
}

uint32_t qpx_group_rank(const qpx_group* group) {
    return group->group->rank();
}
uint32_t qpx_group_size(const qpx_group* group) {
    return group->group->size();
}
int qpx_group_secure(const qpx_group* group) {
    return group->group->secure() ? 1 : 0;
}
int qpx_group_fd(const qpx_group* group) {
    int fd = -1;
    guarded([&] { fd = group->group->fd(); });
    return fd;
}

int qpx_group_put(qpx_group* group, const char* key, const void* value, size_t length) {
    return guarded([&] {
        want(group, "group");
        want(key, "key");
        group->group->put(key, view(value, length, "value"));
    });
}

int qpx_group_get(qpx_group* group, const char* key, int timeout_ms, void** value, size_t* length) {
    return guarded([&] {
        want(group, "group");
        want(key, "key");
        want(value, "value");
        want(length, "length");
        const auto got = group->group->get(key, timeout_of(timeout_ms));
        *value = nullptr;
        *length = got.size();
        if (!got.empty()) {
            *value = allocate(got.size());
            std::memcpy(*value, got.data(), got.size());
        }
    });
}

int qpx_group_put_once(qpx_group* group, const char* key, const void* value, size_t length) {
    return guarded_bool([&] {
        want(group, "group");
        want(key, "key");
        return group->group->put_once(key, view(value, length, "value"));
    });
}

int qpx_group_try_get(qpx_group* group, const char* key, void** value, size_t* length) {
    return guarded_bool([&] {
        want(group, "group");
        want(key, "key");
        want(value, "value");
        want(length, "length");
        const auto got = group->group->try_get(key);
        if (got) {
            *value = got->empty() ? nullptr : qpx::c::copy_out(got->data(), got->size());
            *length = got->size();
        }
        return got.has_value();
    });
}

int qpx_group_members(qpx_group* group, qpx_group_member** members, size_t* count) {
    return guarded([&] {
        want(group, "group");
        want(members, "members");
        want(count, "count");
        const auto all = group->group->members();
        auto* list =
            static_cast<qpx_group_member*>(allocate(all.size() * sizeof(qpx_group_member)));
        for (size_t i = 0; i < all.size(); ++i) {
            list[i].rank = all[i].rank;
            list[i].incarnation = all[i].incarnation;
            list[i].state = static_cast<uint32_t>(all[i].state);
            copy_text(list[i].name, all[i].name);
            copy_text(list[i].address, all[i].address);
        }
        *members = list;
        *count = all.size();
    });
}

int qpx_group_find(qpx_group* group, const char* name, int timeout_ms, uint32_t* rank) {
    return guarded([&] {
        want(group, "group");
        want(name, "name");
        want(rank, "rank");
        *rank = group->group->find(name, timeout_of(timeout_ms));
    });
}

int qpx_group_cancel(qpx_group* group) {
    return group->group->cancel() ? 0 : -QPX_EUNSUPPORTED;
}

int qpx_group_wait(qpx_group* group, const char* const* keys, size_t count, int timeout_ms) {
    return guarded([&] {
        want(group, "group");
        if (count != 0) {
            want(keys, "keys");
        }
        std::vector<std::string> all;
        for (const char* key : std::span(keys, count)) {
            want(key, "a key");
            all.emplace_back(key);
        }
        group->group->wait(all, timeout_of(timeout_ms));
    });
}

int qpx_group_add(qpx_group* group, const char* key, int64_t delta, int64_t* sum) {
    return guarded([&] {
        want(group, "group");
        want(key, "key");
        want(sum, "sum");
        *sum = group->group->add(key, delta);
    });
}

int qpx_group_erase(qpx_group* group, const char* key) {
    bool there = false;
    const int status = guarded([&] {
        want(group, "group");
        want(key, "key");
        there = group->group->erase(key);
    });
    return status != 0 ? status : static_cast<int>(there);
}

int qpx_group_barrier(qpx_group* group, int timeout_ms) {
    return guarded([&] {
        want(group, "group");
        group->group->barrier(timeout_of(timeout_ms));
    });
}

int qpx_group_all_gather(qpx_group* group, const void* mine, size_t length, int timeout_ms,
                         qpx_rank_bytes** all, size_t* count) {
    return guarded([&] {
        want(group, "group");
        want(all, "all");
        want(count, "count");
        const auto got =
            group->group->all_gather(view(mine, length, "mine"), timeout_of(timeout_ms));
        *all = to_c(got);
        *count = got.size();
    });
}

int qpx_group_exchange_bytes(qpx_group* group, const qpx_rank_bytes* mine, size_t count,
                             int timeout_ms, qpx_rank_bytes** theirs, size_t* their_count) {
    return guarded([&] {
        want(group, "group");
        want(theirs, "theirs");
        want(their_count, "their_count");
        if (count != 0) {
            want(mine, "mine");
        }
        std::vector<qpx::RankBytes> items;
        for (const qpx_rank_bytes& item : std::span(mine, count)) {
            const auto bytes = view(item.data, item.length, "data");
            items.push_back({item.rank, {bytes.begin(), bytes.end()}});
        }
        const qpx::Exchanged got = group->group->exchange_bytes(items, timeout_of(timeout_ms));
        if (!got.gone.empty()) {
            throw qpx::Error(qpx::ErrorCode::PeerGone, "exchange: rank " +
                                                           std::to_string(got.gone.front()) +
                                                           " has left, failed or given up");
        }
        *theirs = to_c(got.items);
        *their_count = got.items.size();
    });
}

namespace {

std::vector<qpx::RankEndpoint> from_c(const qpx_rank_endpoint* mine, size_t count) {
    if (count != 0) {
        want(mine, "mine");
    }
    std::vector<qpx::RankEndpoint> items;
    for (const qpx_rank_endpoint& item : std::span(mine, count)) {
        items.push_back({item.rank, qpx::c::from_c(item.endpoint)});
    }
    return items;
}

qpx_rank_endpoint* to_c(const std::vector<qpx::RankEndpoint>& got) {
    std::vector<qpx::Endpoint> endpoints;
    endpoints.reserve(got.size());
    for (const qpx::RankEndpoint& item : got) {
        endpoints.push_back(item.endpoint);
    }
    auto* list = static_cast<qpx_rank_endpoint*>(allocate(got.size() * sizeof(qpx_rank_endpoint)));
    qpx_endpoint* converted = nullptr;
    try {
        converted = qpx::c::to_c(endpoints);
    } catch (...) {
        std::free(list);
        throw;
    }
    for (size_t i = 0; i < got.size(); ++i) {
        list[i] = {got[i].rank, converted[i]};
    }
    // The list has taken over the memory that the endpoints point to.
    std::free(converted);
    return list;
}

}  // namespace

int qpx_group_exchange(qpx_group* group, const qpx_rank_endpoint* mine, size_t count,
                       int timeout_ms, qpx_rank_endpoint** theirs, size_t* their_count) {
    return guarded([&] {
        want(group, "group");
        want(theirs, "theirs");
        want(their_count, "their_count");
        const auto got = group->group->exchange(from_c(mine, count), timeout_of(timeout_ms));
        *theirs = to_c(got);
        *their_count = got.size();
    });
}

int qpx_group_exchange_some(qpx_group* group, const qpx_rank_endpoint* mine, size_t count,
                            int timeout_ms, qpx_rank_endpoint** theirs, size_t* their_count,
                            uint32_t** gone, size_t* gone_count) {
    return guarded([&] {
        want(group, "group");
        want(theirs, "theirs");
        want(their_count, "their_count");
        want(gone, "gone");
        want(gone_count, "gone_count");
        std::vector<uint32_t> absent;
        const auto got =
            group->group->exchange_some(from_c(mine, count), absent, timeout_of(timeout_ms));
        auto* list = qpx::c::copy_out(absent.data(), absent.size() * sizeof(uint32_t));
        try {
            *theirs = to_c(got);
        } catch (...) {
            std::free(list);
            throw;
        }
        *their_count = got.size();
        *gone = static_cast<uint32_t*>(list);
        *gone_count = absent.size();
    });
}

void qpx_rank_endpoints_free(qpx_rank_endpoint* endpoints, size_t count) {
    if (endpoints == nullptr) {
        return;
    }
    for (const qpx_rank_endpoint& item : std::span(endpoints, count)) {
        std::free(item.endpoint.regions);
        std::free(item.endpoint.application);
    }
    std::free(endpoints);
}

int qpx_group_poll_event(qpx_group* group, qpx_group_event* event) {
    bool some = false;
    const int status = guarded([&] {
        want(group, "group");
        want(event, "event");
        if (const auto got = group->group->poll_event()) {
            some = true;
            *event = {};
            event->kind = static_cast<uint32_t>(got->kind) + QPX_JOINED;
            event->rank = got->rank;
            copy_text(event->name, got->name);
            copy_text(event->reason, got->reason);
        }
    });
    return status != 0 ? status : static_cast<int>(some);
}

int qpx_group_leave(qpx_group* group) {
    return guarded([&] {
        want(group, "group");
        group->group->leave();
    });
}

void qpx_group_free(qpx_group* group) {
    delete group;
}
