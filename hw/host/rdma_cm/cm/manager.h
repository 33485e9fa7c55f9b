// SPDX-License-Identifier: BSD-2-Clause
// The communication manager of one port: all communications, their identification by peers, and
// their timers. Independent of sockets and clocks.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "host/rdma_cm/cm/communication.h"

namespace dingo::cm {

/// Functions of the card that the manager needs.
class CmPort {
  public:
    virtual ~CmPort() = default;
    /// Sends a datagram, which may be lost.
    virtual void send(const Path& path, const Mad& mad) = 0;
    [[nodiscard]] virtual std::uint64_t ca_guid() const = 0;
    [[nodiscard]] virtual std::uint8_t ack_delay() const = 0;  ///< 4.096 us * 2^n
    /// Returns the index of one of our addresses, or -1.
    [[nodiscard]] virtual int gid_index(const Gid& gid) const = 0;
    [[nodiscard]] virtual std::uint8_t mtu() const = 0;  ///< 1..5
    virtual std::uint32_t random() = 0;
    /// Current time on the clock of poll().
    [[nodiscard]] virtual Nanoseconds now() const = 0;
};

/// A REQ or SIDR_REQ received from a peer.
struct Request {
    bool datagram = false;  ///< SIDR
    std::uint64_t service_id = 0;
    Gid source{};  ///< the sender
    Transport transport = Transport::kRc;
    Parameters parameters;
};

/// The identifiers that listen.
class Listeners {
  public:
    enum class Answer : std::uint8_t { kTaken, kNobody, kRefused };
    virtual ~Listeners() = default;
    /// Returns kTaken if `connection` now has an owner.
    virtual Answer on_request(Communication& connection, const Request& request) = 0;
};

struct Stats {
    std::uint64_t malformed = 0;   ///< datagrams of another class, or with invalid values
    std::uint64_t unmatched = 0;   ///< no such communication
    std::uint64_t unexpected = 0;  ///< the state does not allow the datagram
    std::uint64_t duplicates = 0;
    std::uint64_t retries = 0;
    std::uint64_t timeouts = 0;     ///< communications that have timed out
    std::uint64_t unsupported = 0;  ///< LAP and others
    std::uint64_t refused = 0;      ///< refused requests: no listener, or no room
};

class Manager {
  public:
    Manager(CmPort& port, Listeners& listeners) : port_(port), listeners_(listeners) {}
    ~Manager();
    Manager(const Manager&) = delete;
    Manager& operator=(const Manager&) = delete;

    /// Communications in timewait that have no owner, and so are charged to nobody.
    static constexpr std::size_t kMaxReleased = 16'384;

    Communication& create(Owner& owner);
    /// Releases a communication of its owner: tells the peer what its state requires. The
    /// communication may remain in timewait for a while, until kMaxReleased others follow it.
    void destroy(Communication& connection);

    /// Handles a datagram from `source` to our address `destination`.
    void receive(const Gid& source, const Gid& destination, const Mad& mad);

    /// Does all work due by `now`.
    void poll(Nanoseconds now);
    [[nodiscard]] Nanoseconds next_deadline() const {
        return timers_.empty() ? kNever : timers_.begin()->first;
    }
    [[nodiscard]] const Stats& stats() const { return stats_; }
    [[nodiscard]] std::size_t size() const { return by_id_.size(); }

  private:
    friend class Communication;
    /// The sender's GID is part of the key, as another card's GUID may be forged.
    using RemoteKey = std::tuple<Gid, std::uint64_t, std::uint32_t>;
    using SidrKey = std::pair<Gid, std::uint32_t>;
    static RemoteKey id_of(const Communication& connection);
    static RemoteKey qpn_of(const Communication& connection);

    Communication& make();
    void remove(Communication& connection);
    void keep_released(Communication& connection);
    void forget_remote(Communication& connection);
    void arm(Communication& connection, std::uint64_t in_ms);
    void disarm(Communication& connection);
    void send(Communication& connection, const Mad& mad);
    void send_with_retries(Communication& connection, const Mad& mad, std::uint64_t timeout_ms);
    void expire(Communication& connection);
    bool insert_remote_id(Communication& connection);
    bool insert_remote_qpn(Communication& connection);
    [[nodiscard]] Communication* find(std::uint32_t local_id) const;
    [[nodiscard]] Communication* find(std::uint32_t local_id, std::uint32_t remote_id) const;
    [[nodiscard]] Communication* find_rejected(const Gid& source, const Rej& rej) const;

    /// A received datagram and the path back to its sender.
    struct Arrival {
        Header header;
        Path back;
    };
    void on_req(const Arrival& from, const Req& req);
    void on_duplicate_req(const Arrival& from, Communication& connection, const Req& req);
    void on_mra(const Mra& mra);
    void on_rej(const Gid& source, const Rej& rej);
    void on_rep(const Arrival& from, const Rep& rep);
    void on_rtu(const Rtu& rtu);
    void on_dreq(const Arrival& from, const Dreq& dreq);
    void on_drep(const Drep& drep);
    void on_sidr_req(const Arrival& from, const SidrReq& req);
    void on_sidr_rep(const SidrRep& rep);
    void refuse(const Arrival& from, std::uint32_t remote_id, std::uint32_t local_id,
                Answered answered, Reason reason);
    void end_stale(Communication& connection);

    CmPort& port_;
    Listeners& listeners_;
    std::unordered_map<std::uint32_t, std::unique_ptr<Communication>> by_id_;
    std::map<RemoteKey, Communication*> by_remote_id_;
    std::map<RemoteKey, Communication*> by_remote_qpn_;
    std::map<SidrKey, Communication*> requests_;
    std::set<std::pair<Nanoseconds, std::uint32_t>> timers_;
    std::map<std::uint64_t, Communication*> released_;  ///< oldest first
    std::uint64_t last_released_ = 0;
    Stats stats_;
};

}  // namespace dingo::cm
