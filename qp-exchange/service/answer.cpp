// SPDX-License-Identifier: BSD-2-Clause
// Messages from the registry to a client.
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

// Unread bytes that a client may always have, even if all clients together exceed total_output.
constexpr size_t small_output = 64 << 10;

void Registry::mark_overflow(Client& client) {
    const size_t unread = client.outbox.size();
    client.overflowed = unread > limits_.client_output ||
                        (outputs_ > limits_.total_output && unread > small_output);
}

void Registry::send(Client& client, const Message& message) {
    client.outbox.push(message);
    mark_overflow(client);
    mark_ready(client);
}

// Sends a value that is shared with the store.
void Registry::send_value(Client& client, uint32_t request, const std::shared_ptr<Shared>& value) {
    client.outbox.push({.type = Type::Value, .request = request, .options = exists},
                       bytes_in(value));
    mark_overflow(client);
    mark_ready(client);
}

// Makes a part of an answer that several clients receive.
std::shared_ptr<const Bytes> Registry::share(Bytes part) {
    const auto shared = std::make_shared<Shared>(std::move(part));
    shared->count_as_output(outputs_);
    return bytes_in(shared);
}

void Registry::check_output(size_t more) {
    if (more > limits_.total_output || outputs_ > limits_.total_output - more) {
        ++counters_.refused_output;
        throw RequestError(ErrorCode::Limit, "answers of " + std::to_string(outputs_) +
                                                 " bytes are not read, no more are allowed "
                                                 "(--total-output)");
    }
}

void Registry::send_parts(Client& client, Message message,
                          const std::vector<std::shared_ptr<const Bytes>>& parts) {
    static const auto nothing = std::make_shared<const Bytes>();
    const uint32_t options = message.options;
    for (size_t i = 0; i < std::max<size_t>(parts.size(), 1); ++i) {
        message.options = options | (i + 1 >= parts.size() ? uint32_t{last_part} : 0);
        client.outbox.push(message, parts.empty() ? nothing : parts[i]);
    }
    mark_overflow(client);
    mark_ready(client);
}

void Registry::set_unsent(ClientId id, size_t bytes) {
    at(id).outbox.set_unsent(bytes);
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
    // Events that were withheld while the client did not read.
    if (client.job && !client.job->events_listed && !client.delivery && out.size() < wanted) {
        send_events(client);
    }
    client.outbox.pull(out, wanted);
}

}  // namespace qpx::service
