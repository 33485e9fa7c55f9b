// SPDX-License-Identifier: BSD-2-Clause
#include "group/service_group.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "service/server.h"

namespace qpx::service {

HostedService::HostedService(const Url& url, const GroupOptions& options) {
    ServerOptions server;
    server.address = url.host;
    server.port = url.port;
    server.family = options.family;
    server.security = options.security;
    server_ = std::make_unique<Server>(std::move(server));
    // The service's thread must not receive the application's signals.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] {
        try {
            server_->run();
        } catch (const Error&) {
            // All members, including this process, see their connections end.
            return;
        }
    });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

HostedService::~HostedService() {
    server_->stop();
    thread_.join();
}

uint16_t HostedService::port() const {
    return server_->port();
}

std::unique_ptr<Group> join_service(const Url& asked, const GroupOptions& options) {
    Url url = asked;
    if (url.host.empty()) {
        throw Error(ErrorCode::Argument, to_string(url) + ": a host is missing, as in " +
                                             url.scheme + "://head:18516/job");
    }
    if (url.port == 0) {
        url.port = default_port;
    }
    std::unique_ptr<HostedService> hosted;
    if (url.scheme == "tcp") {
        if (!options.rank) {
            throw Error(ErrorCode::Argument,
                        to_string(url) +
                            ": with tcp:// each member must be given its rank; rank 0 "
                            "serves the others (?rank=N)");
        }
        if (*options.rank == 0) {
            hosted = std::make_unique<HostedService>(url, options);
        }
    }
    return std::make_unique<ServiceGroup>(url, options, std::move(hosted));
}

ServiceGroup::ServiceGroup(Url url, const GroupOptions& options,
                           std::unique_ptr<HostedService> hosted)
    : url_(std::move(url)),
      timeout_(options.timeout),
      hosted_(std::move(hosted)),
      channel_(url_, options.security, options.family, options.timeout, url_.scheme == "tcp",
               options.stop_on_signal) {
    std::string job = !url_.path.empty() ? url_.path : options.job;
    if (job.empty()) {
        job = "default";
    }
    Message join{.type = Type::Join};
    join.job = job;
    join.rank = options.rank.value_or(any_rank);
    join.size = options.size;
    join.name = options.name;
    join.options = options.shrink ? uint32_t{shrink} : 0;
    channel_.call(join, timeout_, "join", [&](const Message& m) {
        rank_ = m.rank;
        size_ = m.size;
        return true;
    });
}

ServiceGroup::~ServiceGroup() {
    if (!left_) {
        channel_.send_last({.type = Type::Leave});
    }
}

void ServiceGroup::put(std::string_view key, std::span<const std::byte> value) {
    channel_.call({.type = Type::Put, .keys = {key}, .value = value}, timeout_, "put",
                  [](const Message&) { return true; });
}

bool ServiceGroup::put_once(std::string_view key, std::span<const std::byte> value) {
    bool fresh = false;
    channel_.call({.type = Type::Put, .options = once, .keys = {key}, .value = value}, timeout_,
                  "put_once", [&](const Message& m) {
                      fresh = (m.options & exists) == 0;
                      return true;
                  });
    return fresh;
}

std::vector<std::byte> ServiceGroup::get(std::string_view key, Milliseconds timeout) {
    std::vector<std::byte> value;
    channel_.call({.type = Type::Get, .keys = {key}}, time(timeout), "get", [&](const Message& m) {
        value.assign(m.value.begin(), m.value.end());
        return true;
    });
    return value;
}

std::optional<std::vector<std::byte>> ServiceGroup::try_get(std::string_view key) {
    std::optional<std::vector<std::byte>> value;
    channel_.call({.type = Type::Get, .options = no_wait, .keys = {key}}, timeout_, "try_get",
                  [&](const Message& m) {
                      if (m.options & exists) {
                          value.emplace(m.value.begin(), m.value.end());
                      }
                      return true;
                  });
    return value;
}

void ServiceGroup::wait(std::span<const std::string> keys, Milliseconds timeout) {
    if (keys.empty()) {
        return;
    }
    channel_.call({.type = Type::Wait, .keys = {keys.begin(), keys.end()}}, time(timeout), "wait",
                  [](const Message&) { return true; });
}

int64_t ServiceGroup::add(std::string_view key, int64_t delta) {
    int64_t sum = 0;
    channel_.call({.type = Type::Add, .number = delta, .keys = {key}}, timeout_, "add",
                  [&](const Message& m) {
                      sum = m.number;
                      return true;
                  });
    return sum;
}

bool ServiceGroup::erase(std::string_view key) {
    bool there = false;
    channel_.call({.type = Type::Erase, .keys = {key}}, timeout_, "erase", [&](const Message& m) {
        there = (m.options & exists) != 0;
        return true;
    });
    return there;
}

void ServiceGroup::barrier(Milliseconds timeout) {
    channel_.call({.type = Type::Gather, .options = service::barrier, .name = ""}, time(timeout),
                  "barrier", [](const Message&) { return true; });
}

std::vector<RankBytes> ServiceGroup::all_gather(std::span<const std::byte> mine,
                                                Milliseconds timeout) {
    std::vector<RankBytes> all;
    channel_.call(
        {.type = Type::Gather, .name = "", .value = mine}, time(timeout), "all_gather",
        [&](const Message& m) {
            Items items(m.items);
            while (items.next()) {
                all.push_back({items.rank(), {items.bytes().begin(), items.bytes().end()}});
            }
            return (m.options & last_part) != 0;
        });
    return all;
}

Exchanged ServiceGroup::exchange_bytes(std::span<const RankBytes> mine, Milliseconds timeout) {
    Bytes packed;
    for (const RankBytes& item : mine) {
        append_item(packed, item.rank, item.bytes);
    }
    Exchanged result;
    result.items.reserve(mine.size());
    channel_.call_with_items(
        {.type = Type::Exchange}, packed, time(timeout), "exchange", [&](const Message& m) {
            Items items(m.items);
            while (items.next()) {
                result.items.push_back(
                    {items.rank(), {items.bytes().begin(), items.bytes().end()}});
            }
            const auto gone = read_ranks(m.ranks);
            result.gone.insert(result.gone.end(), gone.begin(), gone.end());
            return (m.options & last_part) != 0;
        });
    std::sort(result.items.begin(), result.items.end(),
              [](const RankBytes& a, const RankBytes& b) { return a.rank < b.rank; });
    return result;
}

std::vector<GroupMember> ServiceGroup::members() {
    std::vector<GroupMember> all;
    channel_.call({.type = Type::Members}, timeout_, "members", [&](const Message& m) {
        for (const Record& record : read_records(m.records)) {
            all.push_back({.rank = record.rank,
                           .incarnation = record.incarnation,
                           .state = record.kind == EventKind::Joined ? GroupMember::State::Here
                                    : record.kind == EventKind::Left ? GroupMember::State::Left
                                                                     : GroupMember::State::Failed,
                           .name = std::string(record.name),
                           .address = std::string(record.text)});
        }
        return (m.options & last_part) != 0;
    });
    return all;
}

std::optional<GroupEvent> ServiceGroup::poll_event() {
    return channel_.next_event();
}

void ServiceGroup::leave() {
    if (left_) {
        return;
    }
    if (hosted_) {
        wait_for_others();
    }
    left_ = true;
    channel_.call({.type = Type::Leave}, timeout_, "leave", [](const Message&) { return true; });
}

// The member that serves leaves last.
void ServiceGroup::wait_for_others() {
    const net::Deadline deadline = net::Deadline::in(timeout_);
    while (!deadline.passed()) {
        const auto all = members();
        if (std::none_of(all.begin(), all.end(), [this](const GroupMember& member) {
                return member.rank != rank_ && member.state == GroupMember::State::Here;
            })) {
            return;
        }
        channel_.wait_readable(std::chrono::milliseconds(200));
    }
}

}  // namespace qpx::service
