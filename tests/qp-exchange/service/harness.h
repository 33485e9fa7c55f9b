// SPDX-License-Identifier: BSD-2-Clause
// Clients of a registry without sockets: their messages pass the encoder and the decoder.
#pragma once
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "group/messages.h"
#include "service/registry.h"
#include "wire/frame.h"

namespace qpx::service {

inline Bytes bytes_of(std::string_view text) {
    const View view = view_of(text);
    return {view.begin(), view.end()};
}

/// A received message with the frame that it points into.
struct Heard {
    std::shared_ptr<Bytes> frame;
    Message message;
};

class RegistryTest : public ::testing::Test {
  public:
    /// Opens a connection.
    ClientId open(const std::string& identity = "", uint32_t max_frame = 16 << 20) {
        const ClientId id = registry().open({"192.0.2.1:1", identity, max_frame, 100});
        next_sequence_[id] = 100;
        request_[id] = 0;
        heard_[id].clear();
        return id;
    }

    /// Opens a connection and joins; fails the test if that is refused.
    ClientId member(const std::string& job, uint32_t rank = any_rank, uint32_t size = 0,
                    const std::string& name = "", uint32_t options = 0) {
        const ClientId id = open();
        ask(id, {.type = Type::Join,
                 .rank = rank,
                 .size = size,
                 .options = options,
                 .job = job,
                 .name = name});
        EXPECT_EQ(hear(id, Type::Joined).message.request, request_[id]);
        return id;
    }

    /// Encodes, decodes and handles a request. @return its number
    uint32_t ask(ClientId id, Message message) {
        message.request = ++request_[id];
        say(id, message);
        return message.request;
    }
    void say(ClientId id, const Message& message) {
        Bytes out;
        encode(message, 1, out);
        registry().handle(
            id, decode(static_cast<uint8_t>(message.type), View(out).subspan(wire::header_size)),
            now);
    }

    /// Fetches all frames queued for the client; their sequence numbers must have no gaps.
    void pull(ClientId id, size_t wanted = 1 << 30) {
        Bytes out;
        registry().output(id, out, wanted);
        View rest(out);
        while (!rest.empty()) {
            const auto header = wire::decode_header(rest.first<wire::header_size>(), 64 << 20);
            EXPECT_EQ(header.sequence, next_sequence_[id]++);
            const View payload = rest.subspan(wire::header_size, header.length);
            auto frame = std::make_shared<Bytes>(payload.begin(), payload.end());
            heard_[id].push_back({frame, decode(static_cast<uint8_t>(header.type), *frame)});
            rest = rest.subspan(wire::header_size + header.length);
        }
    }

    /// Returns the next message; fails the test if it has another type.
    Heard hear(ClientId id, Type type) {
        pull(id);
        if (heard_[id].empty()) {
            ADD_FAILURE() << "nothing heard, wanted type " << static_cast<int>(type);
            return {};
        }
        Heard first = heard_[id].front();
        heard_[id].pop_front();
        EXPECT_EQ(static_cast<int>(first.message.type), static_cast<int>(type))
            << first.message.text;
        return first;
    }
    bool silent(ClientId id) {
        pull(id);
        return heard_[id].empty();
    }
    /// Expects FAILED with this code. @return its text
    std::string hear_failure(ClientId id, ErrorCode code) {
        const Heard heard = hear(id, Type::Failed);
        EXPECT_EQ(to_string(heard.message.code), std::string(to_string(code)));
        return std::string(heard.message.text);
    }
    /// Sends the events that are due and discards those of this client.
    void skip_events(ClientId id) {
        now += std::chrono::seconds(1);
        registry().tick(now);
        pull(id);
        std::erase_if(heard_[id], [](const Heard& h) { return h.message.type == Type::Events; });
    }

    /// Returns the items of all parts, by rank.
    std::map<uint32_t, std::string> hear_items(ClientId id, Type type,
                                               std::vector<uint32_t>* gone = nullptr) {
        std::map<uint32_t, std::string> all;
        while (true) {
            const Heard part = hear(id, type);
            if (!part.frame || part.message.type != type) {
                return all;
            }
            Items items(part.message.items);
            while (items.next()) {
                EXPECT_TRUE(all.emplace(items.rank(), text_of(items.bytes())).second);
            }
            if (gone) {
                for (uint32_t rank : read_ranks(part.message.ranks)) {
                    gone->push_back(rank);
                }
            }
            if (part.message.options & last_part) {
                return all;
            }
        }
    }

    /// Sends an exchange in one part, with item "FROM>TO" for each rank of `to`.
    uint32_t exchange(ClientId id, uint32_t from, const std::vector<uint32_t>& to,
                      uint32_t options = last_part) {
        Bytes items;
        for (uint32_t rank : to) {
            append_item(items, rank, view_of(std::to_string(from) + ">" + std::to_string(rank)));
        }
        return ask(id, {.type = Type::Exchange, .options = options, .items = items});
    }

    Registry& registry() {
        if (!registry_) {
            registry_ = std::make_unique<Registry>(limits, authorize);
        }
        return *registry_;
    }

    ServiceLimits limits;
    Authorize authorize;
    Time now{};

  private:
    std::unique_ptr<Registry> registry_;
    std::map<ClientId, uint32_t> next_sequence_, request_;
    std::map<ClientId, std::deque<Heard>> heard_;
};

}  // namespace qpx::service
