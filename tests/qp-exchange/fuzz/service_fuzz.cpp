// SPDX-License-Identifier: BSD-2-Clause
// Fuzz target of the service's message decoder and of its registry, with a few clients that send
// arbitrary messages. For libFuzzer; without libFuzzer, replay.cpp's main() reads files.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "group/messages.h"
#include "service/registry.h"
#include "wire/frame.h"

namespace {

using qpx::Error;
using namespace qpx::service;
namespace wire = qpx::wire;

void must(bool condition, const char* what) {
    if (!condition) {
        std::fprintf(stderr, "broken: %s\n", what);
        std::abort();
    }
}

/// The input, consumed from front to back; zeros follow its end.
class Input {
  public:
    explicit Input(View bytes) : rest_(bytes) {}
    [[nodiscard]] bool ended() const { return rest_.empty(); }
    std::uint8_t byte() { return rest_.empty() ? 0 : std::to_integer<std::uint8_t>(take(1)[0]); }
    View take(std::size_t count) {
        const View taken = rest_.first(std::min(count, rest_.size()));
        rest_ = rest_.subspan(taken.size());
        return taken;
    }

  private:
    View rest_;
};

/// Checks that packed fields decode, or throw as malformed, and never exceed their bytes.
void read_packed(const Message& m) {
    try {
        for (Items items(m.items); items.next();) {
            must(items.bytes().size() <= m.items.size(), "an item longer than all of them");
        }
        must(read_ranks(m.ranks).size() * sizeof(std::uint32_t) == m.ranks.size(), "ranks");
        Bytes again;
        for (const auto& record : read_records(m.records)) {
            append_record(again, record);
        }
        must(std::equal(again.begin(), again.end(), m.records.begin(), m.records.end()),
             "records differ after another way through the encoder");
    } catch (const Error&) {
        return;  // broken packing
    }
}

View payload_of(const Bytes& frame) {
    return View(frame).subspan(wire::header_size);
}

void decode_any(Input input) {
    const std::uint8_t type = input.byte();
    const Message m = decode(type, input.take(SIZE_MAX));
    read_packed(m);
    Bytes once, twice;
    encode(m, 1, once);
    encode(decode(type, payload_of(once)), 1, twice);
    must(once == twice, "a message differs after another way through the encoder");
}

/// Small limits, so that short inputs reach them.
constexpr ServiceLimits kLimits = {.max_clients = 4,
                                   .max_clients_per_address = 4,
                                   .max_jobs = 2,
                                   .max_ranks = 4,
                                   .max_keys = 3,
                                   .max_waits = 3,
                                   .max_key = 8,
                                   .max_name = 8,
                                   .max_value = 32,
                                   .job_store = 96,
                                   .job_exchange = 128,
                                   .client_exchange = 96,
                                   .client_output = 2048,
                                   .total = 4096,
                                   .event_log = 128};

/// Clients of one registry. Each must receive whole frames, numbered without gaps.
class Clients {
  public:
    void act(Input& input) {
        const std::uint8_t what = input.byte();
        Client& client = clients_[what & 3U];
        switch (what >> 2U & 7U) {
            case 0:
                hang_up(client);
                break;
            case 1:
                hear(client, input.byte());
                break;
            case 2:
                now_ += std::chrono::milliseconds(input.byte());
                registry_.tick(now_);
                break;
            case 3:
                say_bytes(client, input);
                break;
            default:
                say_message(client, input);
        }
        must(registry_.members() <= registry_.clients(), "more members than clients");
        must(registry_.jobs() <= kLimits.max_jobs, "more jobs than allowed");
        must(registry_.bytes() <= kLimits.total, "more bytes than allowed");
        registry_.take_ready();
    }

    /// Closes all clients and checks that the registry is empty.
    void end() {
        must(!registry_.status_json().empty(), "a status");
        for (auto& client : clients_) {
            hear(client, SIZE_MAX);
            hang_up(client);
        }
        must(registry_.clients() == 0, "clients are left");
        must(registry_.members() == 0, "members are left");
        must(registry_.jobs() == 0, "jobs are left");
        must(registry_.bytes() == 0, "bytes are left");
    }

  private:
    struct Client {
        std::optional<ClientId> id;
        std::uint32_t request = 0, sequence = 0;
    };

    ClientId id_of(Client& client) {
        if (!client.id) {
            client.sequence = 0xfffffffe;  // so that it wraps
            client.request = 0;
            client.id = registry_.open({"192.0.2.1:1", "", wire::max_hello, client.sequence});
        }
        return *client.id;
    }

    void hang_up(Client& client) {
        if (client.id) {
            registry_.close(*client.id, "gone", now_);
            client.id.reset();
        }
    }

    void handle(Client& client, const Message& message) {
        try {
            registry_.handle(id_of(client), message, now_);
        } catch (const Error&) {
            hang_up(client);  // as service/link does, after a refusal
        }
    }

    void say_bytes(Client& client, Input& input) {
        const std::uint8_t type = input.byte();
        const View payload = input.take(input.byte());
        try {
            handle(client, decode(type, payload));
        } catch (const Error&) {
            hang_up(client);
        }
    }

    /// Sends a well-formed, correctly numbered request whose content comes from the input.
    void say_message(Client& client, Input& input) {
        static constexpr std::array kTypes = {
            Type::Join,  Type::Leave,  Type::Put,      Type::Get,     Type::Wait,   Type::Add,
            Type::Erase, Type::Gather, Type::Exchange, Type::Members, Type::Cancel, Type::Status};
        static constexpr std::array<std::string_view, 5> kNames = {"a", "b", "", "long-name",
                                                                   "too-long-a-name"};
        const std::uint8_t first = input.byte(), second = input.byte(), third = input.byte();
        Message m;
        m.type = kTypes.at(first % kTypes.size());
        id_of(client);
        m.request = ++client.request;
        m.rank = second % 8 == 7 ? any_rank : second % 8;
        m.size = second / 8 % 8;
        m.options = third;
        m.job = kNames.at(second / 64);
        m.name = kNames.at(third % kNames.size());
        m.number = static_cast<std::int8_t>(input.byte());
        if (m.type == Type::Cancel) {
            m.rank = m.request - std::min<std::uint32_t>(m.request, 1U + second % 8);
        }
        for (unsigned i = 0; i <= (m.type == Type::Wait ? third / 64U : 0U); ++i) {
            m.keys.push_back(kNames.at((first + i) % kNames.size()));
        }
        Bytes items;
        for (unsigned i = 0; i < second % 4U; ++i) {
            append_item(items, input.byte() % 6, input.take(input.byte() % 64));
        }
        m.items = items;
        m.value = input.take(input.byte() % 64);
        // Every request passes the decoder, however it was made.
        Bytes frame;
        encode(m, 1, frame);
        try {
            const Message decoded = decode(static_cast<std::uint8_t>(m.type), payload_of(frame));
            handle(client, decoded);
        } catch (const Error&) {
            hang_up(client);
        }
    }

    void hear(Client& client, std::size_t wanted) {
        if (!client.id) {
            return;
        }
        Bytes out;
        registry_.output(*client.id, out, wanted);
        for (View rest(out); !rest.empty();) {
            must(rest.size() >= wire::header_size, "a part of a header");
            const auto header =
                wire::decode_header(rest.first<wire::header_size>(), wire::max_hello);
            must(header.sequence == client.sequence++, "sequence numbers with a gap");
            must(rest.size() >= wire::header_size + header.length, "a part of a frame");
            read_packed(decode(static_cast<std::uint8_t>(header.type),
                               rest.subspan(wire::header_size, header.length)));
            rest = rest.subspan(wire::header_size + header.length);
        }
    }

    Registry registry_{kLimits};
    std::array<Client, 4> clients_;
    Time now_{};
};

void converse(Input input) {
    Clients clients;
    while (!input.ended()) {
        clients.act(input);
    }
    clients.end();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const Input input(std::as_bytes(std::span(data + 1, size - 1)));
    if (data[0] % 4 != 0) {
        converse(input);
        return 0;
    }
    try {
        decode_any(input);
    } catch (const Error&) {
        return 0;  // what a hostile client gets
    }
    return 0;
}
