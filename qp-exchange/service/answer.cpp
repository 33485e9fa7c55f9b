// SPDX-License-Identifier: BSD-2-Clause
// What goes from the registry to a client.
#include <algorithm>
#include <utility>

#include "service/job.h"
#include "service/registry.h"

namespace qpx::service {

void Registry::mark_ready(Client& client) {
    if (!client.ready) {
        client.ready = true;
        ready_.push_back(client.id);
    }
}

std::vector<ClientId> Registry::take_ready() {
    std::vector<ClientId> ready = std::exchange(ready_, {});
    std::erase_if(ready, [this](ClientId id) {
        if (id >= clients_.size() || !clients_[id]) {
            return true;
        }
        return !std::exchange(clients_[id]->ready, false);
    });
    return ready;
}

void Registry::send(Client& client, const Message& message) {
    client.outbox.push(message);
    client.overflowed = client.outbox.size() > limits_.client_output;
    mark_ready(client);
}

void Registry::send_parts(Client& client, Message message,
                          const std::vector<std::shared_ptr<const Bytes>>& parts) {
    static const auto nothing = std::make_shared<const Bytes>();
    const uint32_t options = message.options;
    for (size_t i = 0; i < std::max<size_t>(parts.size(), 1); ++i) {
        const auto& part = parts.empty() ? nothing : parts[i];
        message.options = options | (i + 1 >= parts.size() ? uint32_t{last_part} : 0);
        if (message.type == Type::MemberList) {
            message.records = *part;
            client.outbox.push(message);
        } else {
            client.outbox.push(message, part);
        }
    }
    client.overflowed = client.outbox.size() > limits_.client_output;
    mark_ready(client);
}

void Registry::fail(Client& client, uint32_t request, ErrorCode code, std::string_view text) {
    ++counters_.requests_failed;
    send(client, {.type = Type::Failed, .request = request, .code = code, .text = text});
}

uint32_t Registry::next_sequence(ClientId id) {
    return at(id).outbox.take_sequence();
}

bool Registry::has_output(ClientId id) const {
    const Client& client = at(id);
    return !client.outbox.empty() || client.delivery ||
           (client.job && !client.job->events_listed &&
            client.events_seen < client.job->events_end());
}

void Registry::output(ClientId id, Bytes& out, size_t wanted) {
    Client& client = at(id);
    client.outbox.pull(out, wanted);
    if (!client.outbox.empty()) {
        return;
    }
    client.overflowed = false;
    while (client.delivery && out.size() < wanted) {
        next_delivery_frame(client, out);
    }
    // Events that were held back while the client did not read.
    if (client.job && !client.job->events_listed && !client.delivery && out.size() < wanted) {
        send_events(client);
        client.outbox.pull(out, wanted);
    }
}

}  // namespace qpx::service
