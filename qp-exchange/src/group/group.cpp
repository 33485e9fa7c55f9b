// SPDX-License-Identifier: BSD-2-Clause
// Parts common to all kinds of groups: joining by URL, exchange of endpoints as bytes.
#include "qpx/group.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <thread>
#include <utility>

#include "backend/pmix/pmix_group.h"
#include "group/service_group.h"
#include "qpx/peer.h"
#include "qpx/url.h"

namespace qpx {
namespace {

uint32_t number(const std::string& name, const std::string& text) {
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
        throw Error(ErrorCode::Argument, name + "=" + text + " in the URL is not a number");
    }
    return value;
}

// Returns the options overridden by the URL's query.
GroupOptions with_query(const Url& url, GroupOptions options) {
    for (const auto& [name, value] : url.query) {
        if (name == "rank") {
            options.rank = number(name, value);
        } else if (name == "size") {
            options.size = number(name, value);
        } else if (name == "name") {
            options.name = value;
        } else if (name == "shrink") {
            options.shrink = number(name, value) != 0;
        } else if (name == "timeout") {
            options.timeout = std::chrono::seconds(number(name, value));
        } else {
            throw Error(ErrorCode::Argument,
                        "'" + name + "' in the URL is none of rank, size, name, shrink, timeout");
        }
    }
    if (options.size != 0 && options.rank && *options.rank >= options.size) {
        throw Error(ErrorCode::Argument, "rank " + std::to_string(*options.rank) +
                                             " is none of 0 to " +
                                             std::to_string(options.size - 1));
    }
    return options;
}

Endpoint unpack(uint32_t rank, std::span<const std::byte> bytes) {
    try {
        return qpx::unpack(bytes);
    } catch (const Error& error) {
        throw Error(error.code(), "from rank " + std::to_string(rank) + ": " + error.what());
    }
}

std::vector<RankEndpoint> unpack(const std::vector<RankBytes>& items) {
    std::vector<RankEndpoint> endpoints;
    endpoints.reserve(items.size());
    for (const RankBytes& item : items) {
        endpoints.push_back({item.rank, unpack(item.rank, item.bytes)});
    }
    return endpoints;
}

}  // namespace

std::unique_ptr<Group> Group::join(const std::string& text, const GroupOptions& options) {
    const Url url = parse_url(text);
    const GroupOptions asked = with_query(url, options);
    if (url.scheme == "qpxd" || url.scheme == "tcp") {
        return service::join_service(url, asked);
    }
    if (url.scheme == "pmix") {
        return backend::join_pmix(url, asked);
    }
    if (url.scheme == "redis" || url.scheme == "rediss") {
        throw Error(ErrorCode::Unsupported,
                    url.scheme +
                        "://: a group cannot use a Redis server; use qpxd://host:port/job, or "
                        "store the result of pack() there under a key");
    }
    throw Error(
        ErrorCode::Argument,
        "'" + url.scheme + "' in " + to_string(url) +
            " is no way to join a group: use qpxd://host:port/job, tcp://host:port/job or pmix:");
}

void Group::put(std::string_view key, std::string_view value) {
    put(key, std::as_bytes(std::span(value.data(), value.size())));
}

std::string Group::get_text(std::string_view key, Milliseconds timeout) {
    const auto value = get(key, timeout);
    return {reinterpret_cast<const char*>(value.data()), value.size()};
}

std::vector<RankEndpoint> Group::exchange_some(std::span<const RankEndpoint> mine,
                                               std::vector<uint32_t>& gone, Milliseconds timeout) {
    std::vector<RankBytes> packed;
    packed.reserve(mine.size());
    for (const RankEndpoint& item : mine) {
        packed.push_back({item.rank, pack(item.endpoint)});
    }
    Exchanged got = exchange_bytes(packed, timeout);
    gone = std::move(got.gone);
    return unpack(got.items);
}

std::vector<RankEndpoint> Group::exchange(std::span<const RankEndpoint> mine,
                                          Milliseconds timeout) {
    std::vector<uint32_t> gone;
    auto got = exchange_some(mine, gone, timeout);
    if (!gone.empty()) {
        std::string list;
        for (size_t i = 0; i < gone.size() && i < 8; ++i) {
            list += (i ? ", " : "") + std::to_string(gone[i]);
        }
        throw Error(ErrorCode::PeerGone,
                    "exchange: rank " + list +
                        (gone.size() > 8 ? " and " + std::to_string(gone.size() - 8) + " more"
                                         : std::string()) +
                        (gone.size() == 1 ? " has" : " have") +
                        " left, failed or given up; the other endpoints came");
    }
    return got;
}

std::vector<RankEndpoint> Group::all_gather(const Endpoint& mine, Milliseconds timeout) {
    auto all = all_gather(std::span<const std::byte>(pack(mine)), timeout);
    std::erase_if(all, [this](const RankBytes& item) { return item.rank == rank(); });
    return unpack(all);
}

uint32_t Group::find(std::string_view name, Milliseconds timeout) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    std::chrono::milliseconds pause{5};
    while (true) {
        for (const GroupMember& member : members()) {
            if (member.state == GroupMember::State::Here && member.name == name) {
                return member.rank;
            }
        }
        const Milliseconds limit = timeout == default_timeout ? this->timeout() : timeout;
        if (limit.count() >= 0 && Clock::now() - start >= limit) {
            throw Error(ErrorCode::Timeout,
                        "find: nobody has joined under the name '" + std::string(name) + "'");
        }
        this->pause(pause);
        pause = std::min(pause * 2, std::chrono::milliseconds(200));
    }
}

void Group::pause(Milliseconds time) {
    std::this_thread::sleep_for(time);
}

std::optional<RankAndSize> rank_from_environment() {
    constexpr std::array<std::pair<const char*, const char*>, 5> variables = {{
        {"RANK", "WORLD_SIZE"},
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
        {"PMI_RANK", "PMI_SIZE"},
        {"SLURM_PROCID", "SLURM_NTASKS"},
        {"PALS_RANKID", "PALS_SIZE"},
    }};
    for (const auto& [rank_name, size_name] : variables) {
        const char* rank = std::getenv(rank_name);
        const char* size = std::getenv(size_name);
        if (rank && size) {
            return RankAndSize{number(rank_name, rank), number(size_name, size)};
        }
    }
    return std::nullopt;
}

}  // namespace qpx
