// SPDX-License-Identifier: BSD-2-Clause
// Groups that an identifier has joined on another card. The client identifies a join by a number of
// this card, the other card by its own.
#include <cerrno>
#include <utility>

#include "host/rdma_cm/cm_service.h"
#include "host/rdma_cm/commands.h"
#include "host/rdma_cm/file.h"
#include "host/rdma_cm/id.h"
#include "host/rdma_cm/relay.h"

namespace dingo::rdma_cm {
namespace {

// Common beginning of both join commands.
static_assert(offsetof(rdma_ucm_join_ip_mcast, response) == 0 &&
              offsetof(rdma_ucm_join_mcast, response) == 0 &&
              offsetof(rdma_ucm_join_ip_mcast, uid) == offsetof(rdma_ucm_join_mcast, uid));
struct JoinHead {
    std::uint64_t response;
    std::uint64_t uid;
};
static_assert(offsetof(JoinHead, uid) == offsetof(rdma_ucm_join_mcast, uid));

void leave_there(Link& link, std::uint32_t remote) {
    rdma_ucm_destroy_id body{};
    body.id = remote;
    link.send({.number = RDMA_USER_CM_CMD_LEAVE_MCAST,
               .body = bytes_of(body),
               .response_at = offsetof(rdma_ucm_destroy_id, response),
               .room = sizeof(rdma_ucm_destroy_id_resp)},
              [](int, std::span<const std::byte>) {});
}

}  // namespace

Relay::Did Relay::join_group(Call& call) {
    if (call.entry.twins.empty()) {
        fail(EIO);  // its card has died
    }
    if (call.room < sizeof(rdma_ucm_create_id_resp)) {
        fail(ENOSPC);
    }
    const auto head = request_of<JoinHead>(call.body);
    const Twin twin = call.entry.twins.front();
    GroupJoin& join = call.id.add_join(head.uid);
    join.key = service_.next_key(join.number);
    Link::Command c = command_of(call);
    c.room = sizeof(rdma_ucm_create_id_resp);
    std::memcpy(c.body.data() + offsetof(JoinHead, uid), &join.key, sizeof join.key);
    std::memcpy(c.body.data() + call.layout.id_at, &twin.number, sizeof twin.number);
    call.entry.busy = true;
    send(*twin.link, std::move(c),
         [this, twin, number = call.id.number(), local = join.number, key = join.key,
          response_at = head.response,
          result = later(call.message)](int error, std::span<const std::byte> response) {
             GroupJoin* const made = service_.find_join(local);
             if (made == nullptr || made->key != key) {  // its identifier was destroyed
                 answer(result, -EINVAL);
                 return;
             }
             if (error == 0) {
                 std::memcpy(&made->remote, response.data(), sizeof made->remote);
                 if (!result->arguments->write(response_at,
                                               bytes_of(rdma_ucm_create_id_resp{local}))) {
                     error = -EFAULT;
                     leave_there(*twin.link, made->remote);
                 }
             }
             if (error != 0) {
                 made->id->leave(*made);
             }
             answer(result, error);
             arrived(number);
         });
    return Did::kLater;
}

Relay::Did Relay::leave_group(const Command& command, uverbs::Message& message) {
    const auto header = request_of<rdma_ucm_cmd_hdr>(command.in);
    const auto r = request_of<rdma_ucm_destroy_id>(command.in.subspan(sizeof header, header.in));
    const GroupJoin* const join = service_.find_join(r.id);
    if (join == nullptr || &join->id->file() != &file_ || join->key == 0 ||
        header.out < sizeof(rdma_ucm_destroy_id_resp)) {
        return Did::kNothing;
    }
    const auto at = entries_.find(join->id->number());
    if (at == entries_.end() || at->second.twins.empty()) {
        return Did::kNothing;
    }
    Entry& entry = at->second;
    if (entry.busy) {
        if (open_ >= kMostOpen || !uverbs::is_small_enough_to_wait(message)) {
            fail(ENOMEM);
        }
        entry.waiting.push_back(std::move(message));
        ++open_;
        return Did::kLater;
    }
    leave_there(*entry.twins.front().link, join->remote);
    return Did::kNothing;  // the rest is done by this card
}

void Relay::on_group_event(Link& link, const rdma_ucm_event_resp& event) {
    GroupJoin* const join = service_.find_join(static_cast<std::uint32_t>(event.uid));
    if (join == nullptr || join->key == 0 || join->key != event.uid) {
        return;  // the group was left meanwhile
    }
    File& file = join->id->file();
    const auto at = file.relay().entries_.find(join->id->number());
    if (at == file.relay().entries_.end() || !leads_to_twin(at->second, link)) {
        return;
    }
    if (!file.has_room_for_events()) {
        return link.give_up();  // only a client that reads none gets here
    }
    file.post_join(*join, event);
}

}  // namespace dingo::rdma_cm
