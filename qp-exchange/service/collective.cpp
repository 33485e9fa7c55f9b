// SPDX-License-Identifier: BSD-2-Clause
// Barrier and gathering: complete when all members have entered.
#include <algorithm>
#include <utility>

#include "service/job.h"
#include "service/registry.h"

namespace qpx::service {
namespace {

constexpr size_t streamed_part = 64 << 10;

bool is_complete(const Job& job, const Collective& collective) {
    return collective.entries.size() == job.here && (job.size == 0 || job.ever == job.size);
}

std::vector<uint32_t> ranks_that(const Job& job, SeatState state) {
    std::vector<uint32_t> ranks;
    const uint32_t end = job.size != 0 ? job.size : static_cast<uint32_t>(job.seats.size());
    for (uint32_t rank = 0; rank < end; ++rank) {
        const Seat* seat = job.seat(rank);
        if ((seat ? seat->state : SeatState::Empty) == state) {
            ranks.push_back(rank);
        }
    }
    return ranks;
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
    check_total(m.value.size());
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
    if (job.store_bytes.value() + m.value.size() > limits_.job_store) {
        throw RequestError(ErrorCode::Limit, "the job's store is full");
    }
    if (found == job.collectives.end()) {
        found = job.collectives.emplace(label, Collective{}).first;
        found->second.barrier = is_barrier;
    }
    Collective& collective = found->second;
    collective.entered.add(client.rank);
    collective.entries.push_back({client.rank, m.request, Bytes(m.value.begin(), m.value.end())});
    job.store_bytes += m.value.size();
    ++client.in_collectives;
    evaluate(job, label);
}

void Registry::evaluate_collectives(Job& job) {
    std::vector<std::string> labels;
    for (const auto& [label, collective] : job.collectives) {
        labels.push_back(label);
    }
    for (const std::string& label : labels) {
        evaluate(job, label);
    }
}

void Registry::evaluate(Job& job, const std::string& label) {
    const auto found = job.collectives.find(label);
    const bool broken = job.failed != 0 && !job.shrink;
    if (!broken && !is_complete(job, found->second)) {
        return;
    }
    Collective done = std::move(found->second);
    job.collectives.erase(found);
    auto& entries = done.entries;
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.rank < b.rank; });
    // Packed once, sent to all.
    std::vector<std::shared_ptr<const Bytes>> parts;
    if (!broken && !done.barrier) {
        Bytes part;
        for (const auto& entry : entries) {
            append_item(part, entry.rank, entry.value);
            if (part.size() >= streamed_part) {
                parts.push_back(share(std::exchange(part, {})));
            }
        }
        if (!part.empty()) {
            parts.push_back(share(std::move(part)));
        }
    }
    std::string why;
    if (broken) {
        why = "rank " + rank_list(ranks_that(job, SeatState::Failed)) +
              " failed; start it again under its rank, or begin the job with shrink";
    }
    for (const auto& entry : entries) {
        Client& client = at(job.seat(entry.rank)->client);
        --client.in_collectives;
        job.store_bytes -= entry.value.size();
        if (broken) {
            fail(client, entry.request, ErrorCode::PeerGone, why);
        } else {
            send_parts(client, {.type = Type::Gathered, .request = entry.request}, parts);
        }
    }
    counters_.gathers += broken ? 0 : 1;
}

// @param request 0: from all
void Registry::withdraw_from_collectives(Client& client, uint32_t request) {
    Job& job = *client.job;
    if (client.in_collectives == 0) {
        return;
    }
    for (auto it = job.collectives.begin(); it != job.collectives.end();) {
        auto& entries = it->second.entries;
        const auto entry = std::find_if(entries.begin(), entries.end(), [&](const auto& e) {
            return e.rank == client.rank && (request == 0 || e.request == request);
        });
        if (entry != entries.end()) {
            job.store_bytes -= entry->value.size();
            entries.erase(entry);
            it->second.entered.remove(client.rank);
            --client.in_collectives;
        }
        it = entries.empty() ? job.collectives.erase(it) : std::next(it);
    }
}

std::string Registry::missing_in_collective(const Job& job, const std::string& label) const {
    const Collective& collective = job.collectives.at(label);
    std::vector<uint32_t> out = ranks_that(job, SeatState::Here);
    std::erase_if(out, [&](uint32_t rank) { return collective.entered.has(rank); });
    std::string text;
    if (!out.empty()) {
        text = "not in it: rank " + rank_list(out);
    }
    if (const auto absent = ranks_that(job, SeatState::Empty); job.size != 0 && !absent.empty()) {
        text += (text.empty() ? "" : "; ") + std::string("not joined: rank ") + rank_list(absent);
    }
    return text;
}

}  // namespace qpx::service
