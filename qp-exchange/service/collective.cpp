// SPDX-License-Identifier: BSD-2-Clause
// Barriers and gatherings, which complete when all members have entered.
#include <algorithm>
#include <utility>

#include "service/job.h"
#include "service/registry.h"

namespace qpx::service {
namespace {

constexpr size_t streamed_part = 64 << 10;
constexpr size_t overhead = 160;  // bytes of a collective, or of an entry, in tables

bool is_ready(const Job& job) {
    return job.size == 0 || job.ever == job.size;
}

bool is_broken(const Job& job) {
    return job.failed != 0 && !job.shrink;
}

std::string why_broken(const Job& job) {
    return "rank " + rank_list(job.failed_ranks) +
           " failed; restart it with the same rank, or start the job with shrink";
}

}  // namespace

void Registry::gather(Client& client, const Message& m) {
    Job& job = job_of(client);
    if (m.name.size() > limits_.max_key || m.value.size() > limits_.max_value) {
        throw RequestError(ErrorCode::Limit,
                           "a label has at most " + std::to_string(limits_.max_key) +
                               " bytes, a contribution " + std::to_string(limits_.max_value));
    }
    may_wait(client);
    const std::string label(m.name);
    const bool is_barrier = (m.options & barrier) != 0;
    auto found = job.collectives.find(label);
    if (found != job.collectives.end()) {
        if (found->second.barrier != is_barrier) {
            throw RequestError(
                ErrorCode::Argument,
                "the others are in " + std::string(is_barrier ? "a gathering, this is a barrier"
                                                              : "a barrier, this is a gathering"));
        }
        if (found->second.entered.has(client.rank)) {
            throw RequestError(ErrorCode::Argument, "this member is in '" + label + "' already");
        }
    }
    const size_t fresh = found == job.collectives.end() ? label.size() + overhead : 0;
    const size_t bytes = m.value.size() + overhead + client.rank / 8 + fresh;  // at most
    if (job.store_bytes.value() + bytes > limits_.job_store) {
        throw RequestError(ErrorCode::Limit, "the job's store is full");
    }
    check_total(bytes);
    if (found == job.collectives.end()) {
        found = job.collectives.emplace(label, Collective{}).first;
        found->second.barrier = is_barrier;
    }
    Collective& collective = found->second;
    const size_t before = collective.entered.bytes();
    collective.entered.add(client.rank);
    const size_t cost = m.value.size() + overhead + fresh + collective.entered.bytes() - before;
    collective.bytes += cost;
    job.store_bytes += cost;
    collective.entries[client.rank] = {m.request, Bytes(m.value.begin(), m.value.end())};
    count_entries(job, found, collective.entries.size() - 1);
    client.collectives.emplace(m.request, found);
    if (is_broken(job)) {
        end_collective(job, label, why_broken(job));
    } else if (is_ready(job) && collective.entries.size() == job.here) {
        end_collective(job, label, "");
    }
}

/// Updates entered_by after the number of entries has changed from `before`.
void Registry::count_entries(Job& job, Collectives::iterator at, size_t before) {
    if (const auto old = job.entered_by.find(before); old != job.entered_by.end()) {
        old->second.erase(&*at);
        if (old->second.empty()) {
            job.entered_by.erase(old);
        }
    }
    if (const size_t now = at->second.entries.size(); now != 0) {
        job.entered_by[now].insert(&*at);
    }
}

/// Called when a member has gone: completes collectives that waited only for it, or breaks all.
void Registry::evaluate_collectives(Job& job) {
    std::vector<std::string> labels;
    if (is_broken(job)) {
        for (const auto& [label, collective] : job.collectives) {
            labels.push_back(label);
        }
    } else if (const auto full = job.entered_by.find(job.here);
               is_ready(job) && full != job.entered_by.end()) {
        for (const auto* collective : full->second) {
            labels.push_back(collective->first);
        }
        std::sort(labels.begin(), labels.end());
    }
    const std::string why = is_broken(job) && !labels.empty() ? why_broken(job) : "";
    for (const std::string& label : labels) {
        end_collective(job, label, why);
    }
}

/// @param why_broken empty: the collective is complete
void Registry::end_collective(Job& job, const std::string& label, const std::string& why_broken) {
    const auto found = job.collectives.find(label);
    const bool broken = !why_broken.empty();
    const size_t size = found->second.entries.size();
    Collective done = std::move(found->second);
    found->second.entries.clear();
    count_entries(job, found, size);
    job.store_bytes -= done.bytes;
    std::vector<uint32_t> ranks;
    for (const auto& [rank, entry] : done.entries) {
        at(job.seat(rank)->client).collectives.erase(entry.request);
        ranks.push_back(rank);
    }
    job.collectives.erase(found);
    std::sort(ranks.begin(), ranks.end());
    // Pack once for all members.
    std::vector<std::shared_ptr<const Bytes>> parts;
    if (!broken && !done.barrier) {
        Bytes part;
        for (uint32_t rank : ranks) {
            append_item(part, rank, done.entries.at(rank).value);
            if (part.size() >= streamed_part) {
                parts.push_back(share(std::exchange(part, {})));
            }
        }
        if (!part.empty()) {
            parts.push_back(share(std::move(part)));
        }
    }
    for (uint32_t rank : ranks) {
        Client& client = at(job.seat(rank)->client);
        const uint32_t request = done.entries.at(rank).request;
        if (broken) {
            fail(client, request, ErrorCode::PeerGone, why_broken);
        } else {
            send_parts(client, {.type = Type::Gathered, .request = request}, parts);
        }
    }
    counters_.gathers += broken ? 0 : 1;
}

void Registry::withdraw_from_collective(Client& client, uint32_t request) {
    Job& job = *client.job;
    const auto in = client.collectives.find(request);
    const auto found = in->second;
    Collective& collective = found->second;
    const auto entry = collective.entries.find(client.rank);
    const size_t cost = entry->second.value.size() + overhead;
    collective.entries.erase(entry);
    collective.entered.remove(client.rank);
    count_entries(job, found, collective.entries.size() + 1);
    client.collectives.erase(in);
    collective.bytes -= cost;
    job.store_bytes -= cost;
    if (collective.entries.empty()) {
        job.store_bytes -= collective.bytes;
        job.collectives.erase(found);
    }
}

std::string Registry::missing_in_collective(const Job& job, const Collective& collective) const {
    const RankSet out = job.here_ranks.without(collective.entered);
    std::string text;
    if (!out.empty()) {
        text = "not in it: rank " + rank_list(out);
    }
    const RankSet absent = RankSet::below(job.size).without(job.ever_ranks);
    if (!absent.empty()) {
        text += (text.empty() ? "" : "; ") + std::string("not joined: rank ") + rank_list(absent);
    }
    return text;
}

}  // namespace qpx::service
