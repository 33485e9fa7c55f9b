// SPDX-License-Identifier: BSD-2-Clause
// Tells members which ranks joined, left and failed: failures at once, the rest in batches.
#include <algorithm>

#include "service/job.h"
#include "service/registry.h"

namespace qpx::service {
namespace {

constexpr size_t largest_record_part = 32768;

}  // namespace

void Registry::log_event(Job& job, const Record& record, bool urgent, Time now) {
    append_record(job.events, record);
    const Time due =
        std::max(urgent ? now : now + event_delay, job.events_sent + event_pause * job.here);
    if (!job.events_listed) {
        job.events_listed = true;
        job.events_due = due;
        jobs_with_events_.push_back(job.name);
    } else {
        job.events_due = std::min(job.events_due, due);
    }
    next_tick_ = next_tick_ ? std::min(*next_tick_, job.events_due) : job.events_due;
}

void Registry::tick(Time now) {
    if (!next_tick_ || now < *next_tick_) {
        return;
    }
    next_tick_.reset();
    std::vector<std::string> later;
    for (const std::string& name : jobs_with_events_) {
        const auto found = jobs_.find(name);
        if (found == jobs_.end() || !found->second->events_listed) {
            continue;  // the job has ended; another one may have begun under its name
        }
        Job& job = *found->second;
        if (job.events_due > now) {
            next_tick_ = next_tick_ ? std::min(*next_tick_, job.events_due) : job.events_due;
            later.push_back(name);
            continue;
        }
        job.events_listed = false;
        job.events_sent = now;
        flush_events(job);
    }
    jobs_with_events_ = std::move(later);
}

// Announces new events to the members. output() copies them from the log as each member reads, so
// there is one copy in memory. Events that all have seen are removed at the next round.
void Registry::flush_events(Job& job) {
    uint64_t oldest = job.events_end();
    for (const auto& seat : job.seats) {
        if (!seat || seat->state != SeatState::Here) {
            continue;
        }
        Client& client = at(seat->client);
        if (client.events_seen < job.events_end()) {
            mark_ready(client);
        }
        oldest = std::min(oldest, client.events_seen);
    }
    if (job.events_end() - oldest > limits_.event_log) {
        // Members that do not read lose the events from before this round.
        oldest = std::max(oldest, job.events_told);
    }
    job.events_told = job.events_end();
    job.events.erase(job.events.begin(),
                     job.events.begin() + static_cast<ptrdiff_t>(oldest - job.events_from));
    job.events_from = oldest;
    if (job.events.empty()) {
        Bytes().swap(job.events);
    }
}

void Registry::send_events(Client& client) {
    const Job& job = *client.job;
    if (client.events_seen >= job.events_end()) {
        return;
    }
    const bool lost = client.events_seen < job.events_from;
    const uint64_t from = std::max(client.events_seen, job.events_from);
    const View records = View(job.events).subspan(from - job.events_from);
    client.events_seen = job.events_end();
    counters_.events_lost += lost ? 1 : 0;
    if (records.empty() && !lost) {
        return;
    }
    uint32_t options = lost ? uint32_t{events_lost} : 0;
    if (records.size() <= largest_record_part) {
        send(client, {.type = Type::Events, .options = options, .records = records});
        return;
    }
    Bytes part;
    for (const Record& record : read_records(records)) {
        append_record(part, record);
        if (part.size() > largest_record_part / 2) {
            send(client, {.type = Type::Events, .options = options, .records = part});
            part.clear();
            options = 0;
        }
    }
    if (!part.empty() || options != 0) {
        send(client, {.type = Type::Events, .options = options, .records = part});
    }
}

}  // namespace qpx::service
