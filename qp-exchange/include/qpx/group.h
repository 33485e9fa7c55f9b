// SPDX-License-Identifier: BSD-2-Clause
// Groups of N processes that meet at a URL: ranks, small values, barriers, all-to-all exchange of
// endpoints, and events of members that join, leave and fail.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qpx/endpoint.h"
#include "qpx/error.h"
#include "qpx/security.h"

#pragma GCC visibility push(default)
namespace qpx {

/// Options of Group::join(). The URL's query overrides them: ?rank=3&size=8&name=a&shrink=1.
struct GroupOptions {
    std::string job;               ///< used if the URL has no path
    std::optional<uint32_t> rank;  ///< unset: any free rank; tcp:// needs one, rank 0 serves
    uint32_t size = 0;             ///< 0: that of the job, or an open group without a fixed size
    std::string name;              ///< unique in the job; empty: none
    /// Barriers and gathers go on without members that fail. The first member's value counts.
    bool shrink = false;
    int family = 0;  ///< AF_INET or AF_INET6 only; 0: both
    /// A signal handler that runs while a call waits ends the call with Error(Cancelled).
    bool stop_on_signal = false;
    Security security;
    /// For join(), and for each call without its own timeout. Negative: no timeout.
    std::chrono::milliseconds timeout{30'000};
};

struct GroupMember {
    enum class State : uint8_t { Here, Left, Failed };
    uint32_t rank = 0;
    uint32_t incarnation = 0;  ///< 1 for the first member with this rank
    State state = State::Here;
    std::string name{};
    std::string address{};  ///< as the service sees it, for display; may be empty
};

struct GroupEvent {
    enum class Kind : uint8_t {
        Joined,
        Left,
        Failed,
        Lost  ///< events were dropped, as this member did not read them in time: call members()
    };
    Kind kind = Kind::Joined;
    uint32_t rank = 0;
    std::string name{};
    std::string reason{};  ///< Failed: for example "connection reset by peer"
};

struct RankBytes {
    uint32_t rank = 0;
    std::vector<std::byte> bytes{};
};
struct RankEndpoint {
    uint32_t rank = 0;
    Endpoint endpoint{};
};
struct Exchanged {
    std::vector<RankBytes> items;  ///< indexed by rank
    std::vector<uint32_t> gone;    ///< ranks of peers that left, failed or gave up
};

/// A member of a group. Not thread-safe, except cancel(). Every call blocks until it is done or
/// times out. The group stays usable after Error(Timeout). All calls throw Error(PeerGone) if the
/// service is gone, Error(Refused) with the reason if it has excluded this member, and Error(Limit)
/// if an argument exceeds one of its limits.
class Group {
  public:
    using Milliseconds = std::chrono::milliseconds;
    /// Selects GroupOptions::timeout.
    static constexpr Milliseconds default_timeout = Milliseconds::min();

    /// Joins a group.
    /// @param url qpxd://host:port/job, tcp://host:port/job (rank 0 serves) or pmix:
    /// @throws Error Argument; Unsupported if the build lacks the back end, with what to install;
    /// Resolve, Refused, Timeout, Auth
    static std::unique_ptr<Group> join(const std::string& url, const GroupOptions& options = {});

    virtual ~Group() = default;  ///< leaves without waiting
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    /// This member's rank, from 0.
    virtual uint32_t rank() const = 0;
    /// Number of ranks of the job; 0: an open group.
    virtual uint32_t size() const = 0;
    /// URL with which other members join.
    virtual std::string url() const = 0;
    /// GroupOptions::timeout.
    virtual Milliseconds timeout() const = 0;

    /// Sets a value that all members can read.
    virtual void put(std::string_view key, std::span<const std::byte> value) = 0;
    void put(std::string_view key, std::string_view value);
    /// Sets a value unless the key exists. @return false if it exists and keeps its value
    virtual bool put_once(std::string_view key, std::span<const std::byte> value) = 0;
    /// Waits until the key is set. @return its value. @throws Error Timeout
    virtual std::vector<std::byte> get(std::string_view key,
                                       Milliseconds timeout = default_timeout) = 0;
    /// Returns the value, or nullopt if the key is not set. Does not wait.
    virtual std::optional<std::vector<std::byte>> try_get(std::string_view key) = 0;
    /// Like get(), for a value that is text.
    std::string get_text(std::string_view key, Milliseconds timeout = default_timeout);
    /// Waits until all keys are set. @throws Error Timeout
    virtual void wait(std::span<const std::string> keys,
                      Milliseconds timeout = default_timeout) = 0;
    /// Adds to a number, initially 0 and stored as decimal text. @return the sum
    virtual int64_t add(std::string_view key, int64_t delta) = 0;
    /// Removes a key. @return true if it was set
    virtual bool erase(std::string_view key) = 0;

    /// Waits until all members have called it. @throws Error PeerGone: a member failed; Timeout,
    /// with the missing ranks
    virtual void barrier(Milliseconds timeout = default_timeout) = 0;
    /// Gathers bytes of all members at all members. @return items by rank. @throws as barrier()
    virtual std::vector<RankBytes> all_gather(std::span<const std::byte> mine,
                                              Milliseconds timeout = default_timeout) = 0;

    /// Sends bytes to each named peer and receives its bytes for this member. Each peer must name
    /// this member, too; calls of two members match in order. In a job with a size peers need not
    /// have joined yet. After Error(Timeout) a peer may have received its bytes and be done:
    /// repeating the call with the same bytes resumes that pair, other bytes wait for that peer's
    /// next exchange.
    /// @param mine one item for each peer
    /// @throws Error Timeout
    virtual Exchanged exchange_bytes(std::span<const RankBytes> mine,
                                     Milliseconds timeout = default_timeout) = 0;
    /// Like exchange_bytes(), with endpoints, for example of one RC QP for each peer.
    /// @throws Error Timeout; PeerGone, with the peers that are gone
    std::vector<RankEndpoint> exchange(std::span<const RankEndpoint> mine,
                                       Milliseconds timeout = default_timeout);
    /// Like exchange(), but without an error for peers that are gone. @param gone their ranks
    std::vector<RankEndpoint> exchange_some(std::span<const RankEndpoint> mine,
                                            std::vector<uint32_t>& gone,
                                            Milliseconds timeout = default_timeout);
    /// Gathers one endpoint of each member (UD). @return those of the others, by rank
    std::vector<RankEndpoint> all_gather(const Endpoint& mine,
                                         Milliseconds timeout = default_timeout);

    /// Returns all members that ever joined, by rank; for a reused rank the last member.
    virtual std::vector<GroupMember> members() = 0;
    /// Waits for the member with this name. @return its rank. @throws Error Timeout
    uint32_t find(std::string_view name, Milliseconds timeout = default_timeout);

    /// Returns the next event, or nullopt if there is none. Does not wait.
    virtual std::optional<GroupEvent> poll_event() = 0;
    /// Descriptor for poll(), select(), epoll: readable if poll_event() may have an event; -1 if
    /// the back end has none. Do not read from it.
    virtual int fd() const = 0;

    /// Makes the waiting call, or else the next one that would wait, throw Error(Cancelled); the
    /// group stays usable, as after a timeout. Thread-safe and async-signal-safe.
    /// @return false if this kind of group cannot cancel (pmix:)
    virtual bool cancel() noexcept { return false; }

    /// Leaves, once the other members have received what they expect from this one. Rank 0 of a
    /// tcp:// group serves until the others have left or the call times out.
    virtual void leave() = 0;

    /// Returns true with TLS. If false, warn the user that keys and addresses are sent in clear.
    virtual bool secure() const = 0;
    /// Like Connection::security_text().
    virtual std::string security_text() const = 0;

  protected:
    Group() = default;
    /// Sleeps between the polls of find(); ended by cancel().
    virtual void pause(Milliseconds time);
};

/// Rank and size from the launcher's environment variables: RANK and WORLD_SIZE, OMPI_COMM_WORLD_*,
/// PMI_*, SLURM_PROCID and SLURM_NTASKS, PALS_*. nullopt if none are set.
struct RankAndSize {
    uint32_t rank = 0;
    uint32_t size = 0;
};
std::optional<RankAndSize> rank_from_environment();

}  // namespace qpx
#pragma GCC visibility pop
