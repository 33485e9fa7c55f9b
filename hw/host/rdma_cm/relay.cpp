// SPDX-License-Identifier: BSD-2-Clause
//
// Links, twins and events of a relay.
#include "host/rdma_cm/relay.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "host/rdma_cm/cm_service.h"
#include "host/rdma_cm/commands.h"
#include "host/rdma_cm/file.h"
#include "host/rdma_cm/id.h"

namespace dingo::rdma_cm {

Relay::~Relay() {
    for (const auto& link : links_) {
        link->abandon();
    }
    // Identifiers that have not arrived stay where they are.
    for (const auto& [key, number] : migrating_) {
        Id* const id = service_.find_id(number);
        if (id != nullptr && id->file().relay().entry_of(number, key) != nullptr) {
            id->file().relay().arrived(number);
        }
    }
}

void Relay::join(ForeignSocket socket, Later& later) {
    if (links_.size() >= kMostLinks) {
        fail(ENOSPC);
    }
    Link::Owner& self = *this;
    links_.push_back(std::make_shared<Link>(self, service_.poller(), std::move(socket)));
    const Result result = std::make_shared<Later>(std::move(later));
    ++open_;
    Link& link = *links_.back();
    link.start([this, &link, result](int error) {
        const std::uint64_t guid = link.node_guid();
        const auto same = [guid](const auto& other) { return other->node_guid() == guid; };
        if (error == 0 && (guid == service_.node_guid() ||
                           std::count_if(links_.begin(), links_.end(), same) != 1)) {
            error = -EEXIST;
        }
        if (error != 0) {
            link.give_up();
        }
        answer(result, error);
    });
}

Relay::Result Relay::later(uverbs::Message& message) {
    ++open_;
    message.arguments->forget_inputs();
    return std::make_shared<Later>(Later{std::move(message.reply), message.arguments,
                                         static_cast<int>(message.payload.size())});
}

void Relay::answer(const Result& result, int error) {
    --open_;
    file_.answer(*result, error);
}

void Relay::arrived(std::uint32_t id) {
    const auto at = entries_.find(id);
    if (at == entries_.end()) {
        return;
    }
    at->second.busy = false;
    open_ -= at->second.waiting.size();
    for (uverbs::Message& message : std::exchange(at->second.waiting, {})) {
        file_.serve(message);
    }
}

Relay::Entry* Relay::entry_of(std::uint32_t id, std::uint64_t key) {
    const auto at = entries_.find(id);
    return at == entries_.end() || at->second.key != key ? nullptr : &at->second;
}

bool Relay::expects(std::uint64_t key, const Link& link) const {
    const auto at = coming_.find(key);
    return at != coming_.end() &&
           std::any_of(at->second.begin(), at->second.end(),
                       [&link](const Twin& twin) { return twin.link.get() == &link; });
}

void Relay::forget(const Id& id) {
    const auto at = entries_.find(id.number());
    if (at != entries_.end()) {
        drop_twins(at->second);
        open_ -= at->second.waiting.size();
        entries_.erase(at);
    }
}

void Relay::adopt(Relay& from, const Id& id) {
    const auto at = from.entries_.find(id.number());
    if (at == from.entries_.end()) {
        return;
    }
    Entry entry = std::move(at->second);
    from.open_ -= entry.waiting.size();
    open_ += entry.waiting.size();
    from.entries_.erase(at);
    if (const auto moved = coming_.find(entry.key); moved != coming_.end()) {
        entry.twins = std::move(moved->second);
        coming_.erase(moved);
    }
    entries_[id.number()] = std::move(entry);
}

bool Relay::owns(const Address& address) const {
    return service_.routes().gid_index(address.gid) >= 0 || owner_of(address) != nullptr;
}

Link* Relay::owner_of(const Address& address) const {
    if (service_.routes().gid_index(address.gid) >= 0) {
        return nullptr;
    }
    for (const auto& link : links_) {
        if (!link->lost() && link->routes().gid_index(address.gid) >= 0) {
            return link.get();
        }
    }
    return nullptr;
}

Link* Relay::way_to(const Address& destination) const {
    if (!destination.is_ip() || destination.is_any()) {
        return nullptr;
    }
    Link* best = nullptr;
    int longest = service_.routes().match(destination);
    for (const auto& link : links_) {
        const int match = link->lost() ? -1 : link->routes().match(destination);
        if (match > longest) {
            longest = match;
            best = link.get();
        }
    }
    return best;
}

Link* Relay::link_to(std::uint64_t node_guid) const {
    for (const auto& link : links_) {
        if (!link->lost() && link->node_guid() == node_guid) {
            return link.get();
        }
    }
    return nullptr;
}

void Relay::send(Link& link, Link::Command command, Link::Done done) {
    link.send(std::move(command), [here = std::weak_ptr<char>(here_), done = std::move(done)](
                                      int error, std::span<const std::byte> response) {
        if (!here.expired()) {
            done(error, response);
        }
    });
}

void Relay::make_twin(const Id& id, Link& link, Link::Command last, Then then) {
    const std::uint32_t number = id.number();
    Entry& entry = entries_.at(number);
    struct Making {
        std::optional<std::uint32_t> number;
        int error = 0;
    };
    const auto making = std::make_shared<Making>();
    rdma_ucm_create_id create{};
    create.uid = entry.key;
    create.ps = id.space();
    create.qp_type = id.qp_type();
    Link::Command first{.number = RDMA_USER_CM_CMD_CREATE_ID,
                        .body = bytes_of(create),
                        .response_at = offsetof(rdma_ucm_create_id, response),
                        .room = sizeof(rdma_ucm_create_id_resp)};
    send(link, std::move(first), [making](int error, std::span<const std::byte> response) {
        making->error = error;
        if (error == 0) {
            rdma_ucm_create_id_resp made{};
            std::memcpy(&made, response.data(), sizeof made);
            making->number = made.id;
        }
    });
    for (const Link::Command& option : entry.options) {
        send(link, option, [making](int error, std::span<const std::byte>) {
            making->error = making->error != 0 ? making->error : error;
        });
    }
    send(link, std::move(last),
         [this, making, number, key = entry.key, &link, then = std::move(then)](
             int error, std::span<const std::byte>) {
             error = making->error != 0 ? making->error : error;
             Entry* const known = entry_of(number, key);
             if (error == 0 && known != nullptr) {
                 known->twins.push_back({link.shared_from_this(), *making->number});
             } else if (making->number) {
                 destroy_twin({link.shared_from_this(), *making->number});
             }
             then(error);
         });
}

void Relay::destroy_twin(const Twin& twin, Then then) {
    rdma_ucm_destroy_id body{};
    body.id = twin.number;
    send(*twin.link,
         {.number = RDMA_USER_CM_CMD_DESTROY_ID,
          .body = bytes_of(body),
          .response_at = offsetof(rdma_ucm_destroy_id, response),
          .room = sizeof(rdma_ucm_destroy_id_resp)},
         [then = std::move(then)](int error, std::span<const std::byte>) {
             if (then) {
                 then(error);
             }
         });
}

void Relay::drop_twins(Entry& entry, const Link* but) {
    for (const Twin& twin : std::exchange(entry.twins, {})) {
        if (twin.link.get() == but) {
            entry.twins.push_back(twin);
        } else {
            destroy_twin(twin);
        }
    }
}

bool Relay::leads_to_twin(const Entry& entry, const Link& link) const {
    return expects(entry.key, link) ||
           std::any_of(entry.twins.begin(), entry.twins.end(),
                       [&link](const Twin& twin) { return twin.link.get() == &link; });
}

void Relay::on_event(Link& link, const rdma_ucm_event_resp& event) {
    if (event.event == static_cast<std::uint32_t>(EventType::kMulticastJoin) ||
        event.event == static_cast<std::uint32_t>(EventType::kMulticastError)) {
        return on_group_event(link, event);
    }
    const auto number = static_cast<std::uint32_t>(event.uid);
    const bool request = event.event == static_cast<std::uint32_t>(EventType::kConnectRequest);
    Id* const id = service_.find_id(number);
    // An identifier that is being migrated still belongs to the other descriptor.
    Relay* const of = id == nullptr ? nullptr : &id->file().relay();
    const Entry* const entry = of == nullptr ? nullptr : of->entry_of(number, event.uid);
    if (entry == nullptr || !leads_to_twin(*entry, link)) {
        if (request) {
            destroy_twin({link.shared_from_this(), event.id});
        }
    } else if (request) {
        of->on_request(link, *id, event);
    } else if (id->file().has_room_for_events()) {
        id->file().post(*id, event);
    } else {
        link.give_up();  // only a client that reads none gets here
    }
}

void Relay::on_request(Link& link, Id& listener, rdma_ucm_event_resp event) {
    Id* const id = listener.reserve_place()
                       ? service_.make_id(file_, 0, listener.space(), listener.qp_type())
                       : nullptr;
    if (id == nullptr) {
        return destroy_twin({link.shared_from_this(), event.id});
    }
    Entry& entry = entries_[id->number()];
    entry.key = service_.next_key(id->number());
    entry.away = true;
    entry.twins.push_back({link.shared_from_this(), event.id});
    file_.post_request(listener, *id, event);
}

void Relay::on_lost(Link& link) {
    for (auto& [number, entry] : entries_) {
        const auto gone = std::erase_if(
            entry.twins, [&link](const Twin& twin) { return twin.link.get() == &link; });
        Id* const id = service_.find_id(number);
        if (gone != 0 && entry.away && id != nullptr) {
            rdma_ucm_event_resp event{};
            event.event = static_cast<std::uint32_t>(EventType::kDeviceRemoval);
            file_.post(*id, event);
        }
    }
}

}  // namespace dingo::rdma_cm
