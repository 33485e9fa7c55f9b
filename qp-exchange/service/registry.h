// SPDX-License-Identifier: BSD-2-Clause
// Jobs, their members and the messages between them
// (docs/reference/qpxd.md). A state machine without sockets and without a clock, for a single
// thread.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "group/messages.h"
#include "service/counters.h"
#include "service/limits.h"

namespace qpx::service {

struct Client;
struct Collective;
struct Job;
struct KeyWait;
struct Parcel;
struct Seat;
class Shared;
using Collectives = std::map<std::string, Collective, std::less<>>;

/// Number of a connection. Reused after close().
using ClientId = uint32_t;
using Time = std::chrono::steady_clock::time_point;

/// Returns true if the peer may join the job. @param identity as authenticated by TLS, else empty
using Authorize = std::function<bool(std::string_view identity, std::string_view job)>;

class Registry {
  public:
    explicit Registry(const ServiceLimits& limits, Authorize authorize = {});
    ~Registry();

    struct Peer {
        std::string address;          ///< for status and reasons
        std::string identity;         ///< authenticated by TLS
        uint32_t max_frame = 65536;   ///< payload bytes that the peer accepts
        uint32_t first_sequence = 0;  ///< sequence number of the first frame sent to the peer
    };
    ClientId open(Peer peer, Time now = {});
    /// Returns the time since which a client has been in no job; nullopt while it is in one.
    std::optional<Time> jobless_since(ClientId client) const;

    /// Handles one message of a client. Errors of the request itself are answered by FAILED.
    /// @throws Error if the client must be refused and closed: Protocol, or Timeout if it does not
    /// read its answers
    void handle(ClientId client, const Message& message, Time now);

    /// Removes a closed connection. A member that had not left has failed, with this reason.
    void close(ClientId client, std::string_view reason, Time now);

    /// Moves frames for a client into `out` until `out` holds `wanted` bytes or none are left.
    void output(ClientId client, Bytes& out, size_t wanted);
    bool has_output(ClientId client) const;

    /// Sets the number of bytes from output() that are not sent yet; they count against the limits.
    void set_unsent(ClientId client, size_t bytes);
    /// Sets the bytes received of an incomplete message; they count against --total.
    /// @throws Error(Limit) if the message is long and the total is used up
    void set_begun(ClientId client, size_t bytes);
    /// Returns the length of the longest message that the client may send now; before JOIN that of
    /// a JOIN.
    uint32_t longest_message(ClientId client) const;

    /// Takes the sequence number for a frame sent after all queued ones.
    uint32_t next_sequence(ClientId client);

    /// Returns clients with new output since the last call. Some may be closed already.
    std::vector<ClientId> take_ready();

    /// Sends the events that are due. Call it after each batch of messages and at next_tick().
    void tick(Time now);
    std::optional<Time> next_tick() const { return next_tick_; }

    /// Jobs, members and limits as JSON.
    std::string status_json() const;

    Counters& counters() { return counters_; }
    const ServiceLimits& limits() const { return limits_; }
    uint32_t clients() const { return clients_open_; }
    uint32_t jobs() const { return static_cast<uint32_t>(jobs_.size()); }
    uint32_t members() const { return members_; }
    /// Bytes held by all jobs: values, endpoints in transit, ranks.
    size_t bytes() const { return bytes_; }
    /// Bytes of unread answers; shared bytes count once.
    size_t unread_bytes() const { return outputs_; }

    /// Delay of events for joined and left members, which are sent in batches.
    static constexpr std::chrono::milliseconds event_delay{20};
    /// Pause between two rounds of events of a job, per member, as each round costs that much.
    static constexpr std::chrono::microseconds event_pause{50};

  private:
    // registry.cpp: connections, jobs, ranks, names
    void join(Client& client, const Message& m, Time now);
    void leave(Client& client, const Message& m, Time now);
    void vacate(Client& client, EventKind how, std::string_view reason, Time now);
    void members(Client& client, const Message& m);
    std::vector<std::shared_ptr<const Bytes>> member_list(Job& job);
    void cancel(Client& client, const Message& m);
    Job& job_for(Client& client, const Message& m);
    uint32_t rank_for(Job& job, const Message& m) const;
    Client& at(ClientId id) const { return *clients_[id]; }
    Job& job_of(const Client& client) const;

    // answer.cpp: messages to a client
    void send(Client& client, const Message& message);
    void mark_overflow(Client& client);
    void send_value(Client& client, uint32_t request, const std::shared_ptr<Shared>& value);
    void send_parts(Client& client, Message message,
                    const std::vector<std::shared_ptr<const Bytes>>& parts);
    std::shared_ptr<const Bytes> share(Bytes part);
    void check_output(size_t more);
    void fail(Client& client, uint32_t request, ErrorCode code, std::string_view text);
    void mark_ready(Client& client);

    // store.cpp: keys
    void put(Client& client, const Message& m);
    void get(Client& client, const Message& m);
    void wait(Client& client, const Message& m);
    void add(Client& client, const Message& m);
    void erase(Client& client, const Message& m);
    void store(Job& job, std::string_view key, View value);
    void key_appeared(Job& job, const std::string& key);
    void start_wait(Client& client, const Message& m, std::set<std::string> missing, bool get);
    void end_wait(Client& client, const std::shared_ptr<KeyWait>& wait);
    void drop_wait(Client& client, uint32_t request);
    void may_wait(const Client& client);
    void check_key(std::string_view key) const;
    void check_total(size_t more) const;

    // collective.cpp: barrier, gather
    void gather(Client& client, const Message& m);
    void evaluate_collectives(Job& job);
    void end_collective(Job& job, const std::string& label, const std::string& why_broken);
    void count_entries(Job& job, Collectives::iterator at, size_t before);
    void withdraw_from_collective(Client& client, uint32_t request);
    std::string missing_in_collective(const Job& job, const Collective& collective) const;

    // exchange.cpp: all to all
    void exchange(Client& client, const Message& m);
    void deliver_if_complete(Client& client);
    void peer_gone(Job& job, uint32_t rank);
    bool resume_half(Client& client, uint32_t rank, View item);
    void note_half(Client& client, const Parcel& taken);
    void give_up_halves(Client& client);
    void next_delivery_frame(Client& client, Bytes& out);
    enum class Withdraw { Nothing, Current, All };
    void drop_exchange(Client& client, Withdraw what);
    std::string missing_in_exchange(const Job& job, const Client& client) const;

    // events.cpp
    void log_event(Job& job, const Record& record, bool urgent, Time now);
    void flush_events(Job& job);
    void send_events(Client& client);

    ServiceLimits limits_;
    Authorize authorize_;
    Counters counters_;
    size_t outputs_ = 0;  ///< bytes of all clients' output; must outlive clients and jobs
    std::vector<std::unique_ptr<Client>> clients_;
    std::vector<ClientId> free_;
    std::vector<ClientId> ready_;
    std::vector<std::string> jobs_with_events_;
    std::optional<Time> next_tick_;
    size_t bytes_ = 0;  ///< bytes of all jobs; must outlive them
    std::map<std::string, std::unique_ptr<Job>, std::less<>> jobs_;
    uint32_t clients_open_ = 0;
    uint32_t members_ = 0;
    uint64_t exchanges_begun_ = 0;
};

}  // namespace qpx::service
