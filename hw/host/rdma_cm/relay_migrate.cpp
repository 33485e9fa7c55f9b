// SPDX-License-Identifier: BSD-2-Clause
// Moving an identifier to another descriptor: its twins are moved first.
#include <cerrno>
#include <utility>

#include "host/rdma_cm/cm_service.h"
#include "host/rdma_cm/commands.h"
#include "host/rdma_cm/file.h"
#include "host/rdma_cm/id.h"
#include "host/rdma_cm/relay.h"

namespace dingo::rdma_cm {

Relay::Did Relay::migrate(Command& command, uverbs::Message& message) {
    const auto header = request_of<rdma_ucm_cmd_hdr>(command.in);
    const auto r = request_of<rdma_ucm_migrate_id>(command.in.subspan(sizeof header, header.in));
    Id* const id = service_.find_id(r.id);
    if (id == nullptr || &id->file() == &file_ || !file_.may_take(*id, command.process) ||
        header.out < sizeof(rdma_ucm_migrate_resp)) {
        return Did::kNothing;
    }
    Relay& from = id->file().relay();
    const auto entry = from.entries_.find(r.id);
    if (entry == from.entries_.end()) {
        return Did::kNothing;
    }
    if (open_ >= kMostOpen) {
        fail(ENOMEM);
    }
    if (entry->second.busy) {
        fail(EBUSY);
    }
    entry->second.busy = true;
    migrating_.emplace(entry->second.key, r.id);
    migrate_rest(r.id, entry->second.key, r.response, later(message));
    return Did::kLater;
}

void Relay::migrate_rest(std::uint32_t number, std::uint64_t key, std::uint64_t response,
                         const Result& result) {
    Id* const id = service_.find_id(number);
    Relay* const from = id == nullptr ? nullptr : &id->file().relay();
    if (from == nullptr || from->entry_of(number, key) == nullptr) {
        migrating_.erase(key);
        return answer(result, -EINVAL);
    }
    struct Rest {
        std::uint32_t number;
        std::uint64_t key;
        Twin twin;
    };
    std::vector<Rest> rest;
    for (const std::uint32_t one : id->file().with_unread_requests(*id)) {
        const auto entry = from->entries_.find(one);
        if (entry == from->entries_.end()) {
            continue;
        }
        for (const Twin& twin : entry->second.twins) {
            const Link* const to = link_to(twin.link->node_guid());
            if (to == nullptr || !expects(entry->second.key, *to)) {
                rest.push_back({one, entry->second.key, twin});
            }
        }
    }
    if (rest.empty()) {
        migrating_.erase(key);
        File& left = id->file();
        const int error =
            result->arguments->write(response, bytes_of(rdma_ucm_migrate_resp{id->events_reported}))
                ? 0
                : -EFAULT;
        file_.adopt(*id);
        result->left = left.has_idle_token() ? DINGO_UVERBS_IDLE_LEFT : 0;
        answer(result, error);
        return arrived(number);
    }
    const auto gathered = std::make_shared<Gathered>(Gathered{rest.size()});
    for (const Rest& one : rest) {
        migrate_twin(one.number, one.key, one.twin, [=, this](int error) {
            if (!gathered->take(error)) {
                return;
            }
            if (gathered->error == 0) {
                return migrate_rest(number, key, response, result);
            }
            migrating_.erase(key);
            answer(result, gathered->error);
            if (Id* const still = service_.find_id(number)) {
                still->file().relay().arrived(number);
            }
        });
    }
}

void Relay::migrate_twin(std::uint32_t number, std::uint64_t key, const Twin& twin, Then then) {
    Link* const to = link_to(twin.link->node_guid());
    if (to == nullptr) {
        return then(-EINVAL);
    }
    rdma_ucm_migrate_id body{};
    body.id = twin.number;
    send(*to,
         {.number = RDMA_USER_CM_CMD_MIGRATE_ID,
          .body = bytes_of(body),
          .response_at = offsetof(rdma_ucm_migrate_id, response),
          .room = sizeof(rdma_ucm_migrate_resp)},
         [this, number, key, twin, to, then = std::move(then)](int error,
                                                               std::span<const std::byte>) {
             const auto owner = [&]() -> Entry* {
                 Id* const id = service_.find_id(number);
                 return id == nullptr ? nullptr : id->file().relay().entry_of(number, key);
             };
             if (error == 0 && owner() != nullptr) {
                 // Receive what the other card sent before this answer.
                 twin.link->take_answers();
             }
             if (error == 0 && owner() != nullptr) {
                 coming_[key].push_back({to->shared_from_this(), twin.number});
             } else if (error == 0) {
                 destroy_twin({to->shared_from_this(), twin.number});
             }
             then(error);
         });
}

}  // namespace dingo::rdma_cm
