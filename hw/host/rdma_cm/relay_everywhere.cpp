// SPDX-License-Identifier: BSD-2-Clause
// Identifiers bound to a wildcard address exist on every card.
#include <cerrno>
#include <utility>

#include "host/rdma_cm/cm_service.h"
#include "host/rdma_cm/commands.h"
#include "host/rdma_cm/file.h"
#include "host/rdma_cm/id.h"
#include "host/rdma_cm/relay.h"

namespace dingo::rdma_cm {

void Relay::bind_everywhere(Id& id, const Address& address, unsigned tries, const Then& then) {
    try {
        id.bind(address);
    } catch (const ErrnoError& error) {
        return then(-error.code());
    }
    const std::uint32_t number = id.number();
    const std::uint64_t key = entries_.at(number).key;
    const auto gathered = std::make_shared<Gathered>(Gathered{links_.size()});
    rdma_ucm_bind body{};
    body.id = DINGO_UVERBS_CM_LAST;
    sockaddr_storage storage{};
    body.addr_size = static_cast<std::uint16_t>(id.source().put(storage));
    static_assert(sizeof storage == sizeof body.addr);
    std::memcpy(&body.addr, &storage, sizeof storage);
    const Then one = [=, this](int result) {
        if (!gathered->take(result)) {
            return;
        }
        Id* const bound = service_.find_id(number);
        Entry* const entry = entry_of(number, key);
        if (gathered->error == 0 || bound == nullptr || entry == nullptr) {
            return then(gathered->error);
        }
        drop_twins(*entry);
        bound->unbind();
        // A port that is free here may be in use on another card.
        if (address.port == 0 && gathered->error == -EADDRINUSE && tries > 1) {
            bind_everywhere(*bound, address, tries - 1, then);
        } else {
            then(gathered->error);
        }
    };
    for (const auto& link : links_) {
        make_twin(id, *link, {.number = RDMA_USER_CM_CMD_BIND, .body = bytes_of(body)}, one);
    }
}

void Relay::listen_everywhere(Id& id, std::uint32_t backlog, const Then& then) {
    try {
        id.listen(backlog);
    } catch (const ErrnoError& error) {
        return then(-error.code());
    }
    const std::uint32_t number = id.number();
    const std::uint64_t key = entries_.at(number).key;
    const std::vector<Twin> twins = entries_.at(number).twins;
    if (twins.empty()) {
        return then(0);
    }
    const auto gathered = std::make_shared<Gathered>(Gathered{twins.size()});
    for (const Twin& twin : twins) {
        send(*twin.link,
             {.number = RDMA_USER_CM_CMD_LISTEN,
              .body = bytes_of(rdma_ucm_listen{twin.number, backlog})},
             [=, this](int result, std::span<const std::byte>) {
                 if (!gathered->take(result)) {
                     return;
                 }
                 Id* const listener = service_.find_id(number);
                 Entry* const entry = entry_of(number, key);
                 if (gathered->error != 0 && listener != nullptr && entry != nullptr) {
                     drop_twins(*entry);
                     listener->unbind();
                 }
                 then(gathered->error);
             });
    }
}

}  // namespace dingo::rdma_cm
