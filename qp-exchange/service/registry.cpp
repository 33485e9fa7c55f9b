// SPDX-License-Identifier: BSD-2-Clause
// Connections, jobs, ranks and names.
#include "service/registry.h"

#include <algorithm>
#include <utility>

#include "service/job.h"

namespace qpx::service {

std::string rank_list(const RankSet& ranks) {
    constexpr size_t most = 8;  // runs that are listed
    std::string text;
    size_t runs = 0;
    uint32_t named = 0;
    for (uint32_t first = ranks.next(0, true); first < ranks.end();) {
        const uint32_t behind = ranks.next(first, false);
        const uint32_t last = behind - 1;
        if (++runs > most) {
            return text + " and " + std::to_string(ranks.count() - named) + " more";
        }
        text += (text.empty() ? "" : ", ") + std::to_string(first);
        if (last > first) {
            text += (last == first + 1 ? ", " : " to ") + std::to_string(last);
        }
        named += behind - first;
        first = ranks.next(behind, true);
    }
    return text;
}

Registry::Registry(const ServiceLimits& limits, Authorize authorize)
    : limits_(limits), authorize_(std::move(authorize)) {}

Registry::~Registry() {
    // First: exchanges refer to their jobs.
    clients_.clear();
}

ClientId Registry::open(Peer peer, Time now) {
    ClientId id = 0;
    if (free_.empty()) {
        id = static_cast<ClientId>(clients_.size());
        clients_.emplace_back();
    } else {
        id = free_.back();
        free_.pop_back();
    }
    clients_[id] = std::make_unique<Client>(id, std::move(peer), now, outputs_);
    ++clients_open_;
    return id;
}

std::optional<Time> Registry::jobless_since(ClientId id) const {
    const Client& client = at(id);
    return client.job != nullptr ? std::nullopt : std::optional(client.jobless_since);
}

Job& Registry::job_of(const Client& client) const {
    if (client.job == nullptr) {
        throw Error(ErrorCode::Protocol, "JOIN must come before all else");
    }
    return *client.job;
}

void Registry::handle(ClientId id, const Message& m, Time now) {
    Client& client = at(id);
    const bool further_part = m.type == Type::Exchange && m.request == client.last_request &&
                              (client.abandoned_exchange == m.request ||
                               (client.exchanging && !client.exchanging->all_sent));
    if (m.request <= client.last_request && !further_part) {
        throw Error(ErrorCode::Protocol, "request " + std::to_string(m.request) +
                                             " is not above the last one, " +
                                             std::to_string(client.last_request));
    }
    client.last_request = m.request;
    ++counters_.requests;
    try {
        switch (m.type) {
            case Type::Join:
                join(client, m, now);
                break;
            case Type::Leave:
                leave(client, m, now);
                break;
            case Type::Put:
                put(client, m);
                break;
            case Type::Get:
                get(client, m);
                break;
            case Type::Wait:
                wait(client, m);
                break;
            case Type::Add:
                add(client, m);
                break;
            case Type::Erase:
                erase(client, m);
                break;
            case Type::Gather:
                gather(client, m);
                break;
            case Type::Exchange:
                exchange(client, m);
                break;
            case Type::Members:
                members(client, m);
                break;
            case Type::Cancel:
                cancel(client, m);
                break;
            case Type::Status: {
                if (authorize_ && !authorize_(client.peer.identity, "")) {
                    ++counters_.refused_auth;
                    throw RequestError(ErrorCode::Auth, "this peer may not ask for the status");
                }
                // The JSON can be long: it is sent in parts, like gatherings.
                const std::string text = status_json();
                const View view = view_of(text);
                check_output(view.size());
                std::vector<std::shared_ptr<const Bytes>> parts;
                for (size_t at = 0; at < view.size(); at += 65536) {
                    const View part = view.subspan(at, std::min<size_t>(65536, view.size() - at));
                    parts.push_back(share(Bytes(part.begin(), part.end())));
                }
                send_parts(client, {.type = Type::Gathered, .request = m.request}, parts);
                break;
            }
            default:
                throw Error(ErrorCode::Protocol, "that is an answer, not a request");
        }
    } catch (const RequestError& error) {
        fail(client, m.request, error.code(), error.what());
    }
    if (client.overflowed) {
        throw Error(ErrorCode::Timeout,
                    "answers are not read: " + std::to_string(client.outbox.size()) +
                        " bytes wait (--client-output), of all clients " +
                        std::to_string(outputs_) + " (--total-output)");
    }
}

void Registry::close(ClientId id, std::string_view reason, Time now) {
    Client& client = at(id);
    if (client.job != nullptr) {
        vacate(client, EventKind::Failed, reason, now);
    }
    bytes_ -= client.begun_bytes;
    clients_[id].reset();
    free_.push_back(id);
    --clients_open_;
}

Job& Registry::job_for(Client& client, const Message& m) {
    if (m.job.empty() || m.job.size() > limits_.max_key) {
        throw RequestError(ErrorCode::Argument,
                           "a job's name has 1 to " + std::to_string(limits_.max_key) + " bytes");
    }
    if (m.name.size() > limits_.max_name) {
        throw RequestError(ErrorCode::Argument, "a member's name has at most " +
                                                    std::to_string(limits_.max_name) + " bytes");
    }
    if (authorize_ && !authorize_(client.peer.identity, m.job)) {
        ++counters_.refused_auth;
        throw RequestError(ErrorCode::Auth, "'" + client.peer.identity + "' may not join job '" +
                                                std::string(m.job) + "'");
    }
    if (auto found = jobs_.find(m.job); found != jobs_.end()) {
        const Job& job = *found->second;
        if (m.size != 0 && m.size != job.size) {
            throw RequestError(ErrorCode::Argument,
                               "job '" + job.name + "' " +
                                   (job.size == 0 ? "was started without a size"
                                                  : "has " + std::to_string(job.size) + " ranks") +
                                   "; this member expects " + std::to_string(m.size));
        }
        return *found->second;
    }
    if (m.size > limits_.max_ranks) {
        throw RequestError(ErrorCode::Limit, "a job has at most " +
                                                 std::to_string(limits_.max_ranks) + " ranks here");
    }
    if (jobs_.size() >= limits_.max_jobs) {
        throw RequestError(ErrorCode::Limit, "there are " + std::to_string(jobs_.size()) +
                                                 " jobs already, the most allowed (--max-jobs)");
    }
    auto job = std::make_unique<Job>(bytes_, outputs_);
    job->name = m.job;
    job->size = m.size;
    job->shrink = (m.options & shrink) != 0;
    return *(jobs_[job->name] = std::move(job));
}

uint32_t Registry::rank_for(Job& job, const Message& m) const {
    const uint32_t limit = job.size != 0 ? job.size : limits_.max_ranks;
    if (m.rank != any_rank) {
        if (m.rank >= limit) {
            throw RequestError(
                ErrorCode::Argument,
                "rank " + std::to_string(m.rank) + " is none of 0 to " + std::to_string(limit - 1));
        }
        if (const Seat* seat = job.seat(m.rank); seat && seat->state == SeatState::Here) {
            throw RequestError(ErrorCode::Refused,
                               "rank " + std::to_string(m.rank) + " of job '" + job.name +
                                   "' is taken by " + at(seat->client).peer.address +
                                   "; is the job running twice under one name?");
        }
        return m.rank;
    }
    for (uint32_t rank = job.free_hint; rank < limit; ++rank) {
        const Seat* seat = job.seat(rank);
        if (!seat || seat->state != SeatState::Here) {
            job.free_hint = rank;
            return rank;
        }
    }
    throw RequestError(ErrorCode::Limit, "all " + std::to_string(limit) + " ranks of job '" +
                                             job.name + "' are taken");
}

void Registry::join(Client& client, const Message& m, Time now) {
    if (client.job != nullptr) {
        throw Error(ErrorCode::Protocol, "this connection has joined a job already");
    }
    Job& job = job_for(client, m);
    if (job.here == 0 && job.ever == 0) {
        ++counters_.jobs_begun;
    }
    uint32_t rank = 0;
    try {
        rank = rank_for(job, m);
        if (auto named = job.names.find(std::string(m.name));
            !m.name.empty() && named != job.names.end() && named->second != rank) {
            throw RequestError(ErrorCode::Refused, "rank " + std::to_string(named->second) +
                                                       " of job '" + job.name + "' has the name '" +
                                                       std::string(m.name) + "' already");
        }
    } catch (const RequestError&) {
        if (job.here == 0) {
            jobs_.erase(jobs_.find(m.job));
            ++counters_.jobs_ended;
        }
        throw;
    }
    Seat& seat = job.make_seat(rank);
    if (seat.state == SeatState::Empty) {
        ++job.ever;
        job.ever_ranks.add(rank);
    } else if (seat.state == SeatState::Failed) {
        --job.failed;
        job.failed_ranks.remove(rank);
    }
    job.here_ranks.add(rank);
    seat.state = SeatState::Here;
    seat.client = client.id;
    ++seat.incarnation;
    seat.name = m.name;
    if (!seat.name.empty()) {
        job.names[seat.name] = rank;
    }
    ++job.here;
    ++members_;
    ++counters_.joins;
    client.job = &job;
    client.rank = rank;
    log_event(job, {EventKind::Joined, rank, seat.incarnation, seat.name, {}}, false, now);
    client.events_seen = job.events_end();
    send(client, {.type = Type::Joined,
                  .request = m.request,
                  .rank = rank,
                  .size = job.size,
                  .options = job.shrink ? uint32_t{shrink} : 0,
                  .incarnation = seat.incarnation,
                  .number = job.here});
}

void Registry::leave(Client& client, const Message& m, Time now) {
    job_of(client);
    vacate(client, EventKind::Left, "left", now);
    send(client, {.type = Type::Done, .request = m.request});
}

// Frees the client's rank, drops what it waits for, and informs the other members.
void Registry::vacate(Client& client, EventKind how, std::string_view reason, Time now) {
    Job& job = *client.job;
    Seat& seat = *job.seat(client.rank);
    const uint32_t rank = client.rank;
    while (!client.key_waits.empty()) {
        drop_wait(client, client.key_waits.back()->request);
    }
    while (!client.collectives.empty()) {
        withdraw_from_collective(client, client.collectives.begin()->first);
    }
    // Items that a member sent before it left stay valid; those that it sent before it failed do
    // not.
    drop_exchange(client, how == EventKind::Failed ? Withdraw::All : Withdraw::Nothing);
    seat.inbox.clear();
    seat.given_up.clear();
    seat.state = how == EventKind::Left ? SeatState::Left : SeatState::Failed;
    if (!seat.name.empty()) {
        job.names.erase(seat.name);
    }
    job.free_hint = std::min(job.free_hint, rank);
    --job.here;
    job.here_ranks.remove(rank);
    --members_;
    client.job = nullptr;
    client.jobless_since = now;
    client.rank = any_rank;
    if (how == EventKind::Failed) {
        ++job.failed;
        job.failed_ranks.add(rank);
        ++counters_.failures;
    } else {
        ++counters_.leaves;
    }
    if (job.here == 0) {
        ++counters_.jobs_ended;
        const std::string name = job.name;
        jobs_.erase(name);
        return;
    }
    log_event(job, {how, rank, seat.incarnation, seat.name, reason}, how == EventKind::Failed, now);
    peer_gone(job, rank);
    evaluate_collectives(job);
}

void Registry::members(Client& client, const Message& m) {
    Job& job = job_of(client);
    send_parts(client, {.type = Type::MemberList, .request = m.request, .size = job.size},
               member_list(job));
}

// Returns the packed members. Requests share one copy until the next join or leave.
std::vector<std::shared_ptr<const Bytes>> Registry::member_list(Job& job) {
    std::vector<std::shared_ptr<const Bytes>> parts;
    if (job.member_list_at == job.events_end()) {
        for (const auto& part : job.member_list) {
            if (auto kept = part.lock()) {
                parts.push_back(std::move(kept));
            }
        }
        if (!parts.empty() && parts.size() == job.member_list.size()) {
            check_output(0);
            return parts;
        }
        parts.clear();
    }
    Bytes records;
    for (uint32_t rank = 0; rank < job.seats.size(); ++rank) {
        const Seat* seat = job.seat(rank);
        if (!seat || seat->state == SeatState::Empty) {
            continue;
        }
        const EventKind kind = seat->state == SeatState::Here   ? EventKind::Joined
                               : seat->state == SeatState::Left ? EventKind::Left
                                                                : EventKind::Failed;
        const bool here = seat->state == SeatState::Here;
        append_record(records, {kind, rank, seat->incarnation, seat->name,
                                here ? std::string_view(at(seat->client).peer.address) : ""});
        if (records.size() > 32768) {
            parts.push_back(share(std::exchange(records, {})));
            check_output(0);
        }
    }
    if (!records.empty()) {
        parts.push_back(share(std::move(records)));
    }
    check_output(0);
    job.member_list.assign(parts.begin(), parts.end());
    job.member_list_at = job.events_end();
    return parts;
}

// Answers with what the cancelled request was missing. No other answer to that request follows: a
// complete exchange, whose peers have taken this member's items, is delivered first.
void Registry::cancel(Client& client, const Message& m) {
    const Job& job = job_of(client);
    ++counters_.cancels;
    const uint32_t target = m.rank;  // the request to give up
    if (client.delivery && client.delivery->request == target && client.delivery->cancel == 0) {
        client.delivery->cancel = m.request;
        return;
    }
    std::string missing;
    if (client.exchanging && client.exchanging->request == target) {
        missing = missing_in_exchange(job, client);
        drop_exchange(client, Withdraw::Current);
    } else {
        if (const auto in = client.collectives.find(target); in != client.collectives.end()) {
            missing = missing_in_collective(job, in->second->second);
            withdraw_from_collective(client, target);
        }
        for (const auto& wait : client.key_waits) {
            if (wait->request == target) {
                missing = "nobody has put '" +
                          *std::min_element(wait->missing.begin(), wait->missing.end()) + "'";
                if (wait->missing.size() > 1) {
                    missing += " and " + std::to_string(wait->missing.size() - 1) + " other keys";
                }
                break;
            }
        }
        drop_wait(client, target);
    }
    send(client, {.type = Type::Done, .request = m.request, .text = missing});
}

}  // namespace qpx::service
