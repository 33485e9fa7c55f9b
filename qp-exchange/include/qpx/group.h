// SPDX-License-Identifier: BSD-2-Clause
// N processes that find each other by a URL: ranks, small values, barriers, all-to-all exchange of
// endpoints, and news of members that come, leave and fail.
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

/// How a group is joined. What the URL's query says comes first: ?rank=3&size=8&name=a&shrink=1.
struct GroupOptions {
    std::string job;               ///< when the URL has no path
    std::optional<uint32_t> rank;  ///< unset: any that is free; tcp:// needs it, rank 0 serves
    uint32_t size = 0;             ///< 0: the job's, or an open group without a fixed size
    std::string name;              ///< unique in the job; empty: none
    /// members that fail are left out, barriers go on; the first member decides
    bool shrink = false;
    int family = 0;  ///< AF_INET or AF_INET6 only; 0: both
    /// A signal whose handler runs while a call waits ends that call with Error(Cancelled).
    bool stop_on_signal = false;
    Security security;
    /// For join(), and for each call without a timeout of its own. Negative: waits for ever.
    std::chrono::milliseconds timeout{30'000};
};

struct GroupMember {
    enum class State : uint8_t { Here, Left, Failed };
    uint32_t rank = 0;
    uint32_t incarnation = 0;  ///< 1 for the first that had this rank
    State state = State::Here;
    std::string name{};
    std::string address{};  ///< as the service sees it, for people; may be empty
};

struct GroupEvent {
    enum class Kind : uint8_t {
        Joined,
        Left,
        Failed,
        Lost  ///< this member did not read for so long that events were dropped: ask members()
    };
    Kind kind = Kind::Joined;
    uint32_t rank = 0;
    std::string name{};
    std::string reason{};  ///< of a failure: "connection reset by peer"
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
    std::vector<uint32_t> gone;    ///< peers that left, failed or gave up instead
};

/// A member of a group. Use it from one thread at a time, but for cancel(). Every call blocks until
/// it is done or its time is over. After Error(Timeout) the group can be used on. All calls throw
/// Error(PeerGone) when the service is gone, Error(Refused) with its reason when it has excluded
/// this member, and Error(Limit) when something is too large for it.
class Group {
  public:
    using Milliseconds = std::chrono::milliseconds;
    /// Stands for GroupOptions::timeout.
    static constexpr Milliseconds default_timeout = Milliseconds::min();

    /// Joins a group.
    /// @param url qpxd://host:port/job, tcp://host:port/job (rank 0 serves) or pmix:
    /// @throws Error Argument; Unsupported with what to install when the build lacks the back end;
    /// Resolve, Refused, Timeout, Auth
    static std::unique_ptr<Group> join(const std::string& url, const GroupOptions& options = {});

    virtual ~Group() = default;  ///< leaves, without waiting
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
    /// Sets a value unless the key exists. @return false: the key exists and keeps its value
    virtual bool put_once(std::string_view key, std::span<const std::byte> value) = 0;
    /// Waits until the key is set. @return its value. @throws Error Timeout
    virtual std::vector<std::byte> get(std::string_view key,
                                       Milliseconds timeout = default_timeout) = 0;
    /// The value, or nothing when the key is not set. Does not wait.
    virtual std::optional<std::vector<std::byte>> try_get(std::string_view key) = 0;
    /// get() of a value that is text.
    std::string get_text(std::string_view key, Milliseconds timeout = default_timeout);
    /// Waits until all keys are set. @throws Error Timeout
    virtual void wait(std::span<const std::string> keys,
                      Milliseconds timeout = default_timeout) = 0;
    /// Adds to a number, which is 0 at first and kept as decimal text. @return the sum
    virtual int64_t add(std::string_view key, int64_t delta) = 0;
    /// Removes a key. @return whether it was set
    virtual bool erase(std::string_view key) = 0;

    /// Waits until all members have called it. @throws Error PeerGone: a member failed; Timeout,
    /// which names the missing ranks
    virtual void barrier(Milliseconds timeout = default_timeout) = 0;
    /// Each member gives bytes and gets those of all. @return by rank. @throws as barrier()
    virtual std::vector<RankBytes> all_gather(std::span<const std::byte> mine,
                                              Milliseconds timeout = default_timeout) = 0;

    /// Gives each named peer its bytes and gets what it has for this member. Each peer must name
    /// this member, too; calls of two members match in order. In a job with a size peers need not
    /// have joined yet. After Error(Timeout) a peer may have got its bytes and be done: repeating
    /// the call with the same bytes resumes that pair, other bytes wait for that peer's next
    /// exchange.
    /// @param mine one item for each peer
    /// @throws Error Timeout
    virtual Exchanged exchange_bytes(std::span<const RankBytes> mine,
                                     Milliseconds timeout = default_timeout) = 0;
    /// The same with endpoints, for example of an RC QP for each peer. @throws Error Timeout;
    /// PeerGone, which names the peers that are gone
    std::vector<RankEndpoint> exchange(std::span<const RankEndpoint> mine,
                                       Milliseconds timeout = default_timeout);
    /// The same, but a peer that is gone is no error. @param gone ranks of such peers
    std::vector<RankEndpoint> exchange_some(std::span<const RankEndpoint> mine,
                                            std::vector<uint32_t>& gone,
                                            Milliseconds timeout = default_timeout);
    /// Gives one endpoint to all members (UD). @return those of the others, by rank
    std::vector<RankEndpoint> all_gather(const Endpoint& mine,
                                         Milliseconds timeout = default_timeout);

    /// All members that ever joined, by rank; of a rank that was taken again, the last member.
    virtual std::vector<GroupMember> members() = 0;
    /// Waits for the member with this name. @return its rank. @throws Error Timeout
    uint32_t find(std::string_view name, Milliseconds timeout = default_timeout);

    /// The next event since the last call, or nothing. Does not wait.
    virtual std::optional<GroupEvent> poll_event() = 0;
    /// For poll(), select(), epoll: readable when poll_event() may have something; -1 when the back
    /// end has no such descriptor. Not to be read.
    virtual int fd() const = 0;

    /// The call that waits now, or else the next that would, throws Error(Cancelled); the group can
    /// be used on, as after a timeout. From any thread and from signal handlers.
    /// @return false: this kind of group cannot (pmix:)
    virtual bool cancel() noexcept { return false; }

    /// Leaves, once the other members have got what they wait for from this one. Rank 0 of a tcp://
    /// group serves until the others have left or the timeout is over.
    virtual void leave() = 0;

    /// With TLS. False: tell the user that keys and addresses cross the network in clear.
    virtual bool secure() const = 0;
    /// As Connection::security_text().
    virtual std::string security_text() const = 0;

  protected:
    Group() = default;
    /// For find(): lets time pass, unless cancel() was called.
    virtual void pause(Milliseconds time);
};

/// Rank and size that a launcher gave this process: RANK and WORLD_SIZE, OMPI_COMM_WORLD_*, PMI_*,
/// SLURM_PROCID and SLURM_NTASKS, PALS_*. Empty when there is none.
struct RankAndSize {
    uint32_t rank = 0;
    uint32_t size = 0;
};
std::optional<RankAndSize> rank_from_environment();

}  // namespace qpx
#pragma GCC visibility pop
