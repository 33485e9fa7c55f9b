// SPDX-License-Identifier: BSD-2-Clause
//
// Internal to the wire `roce`: the card's multicast groups. A socket bound to an address of the
// host receives no datagrams to groups, so each group has its own socket for each interface. These
// sockets only receive.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/poller.h"
#include "wire/roce_socket.h"

namespace dingo {

class RoceGroups {
  public:
    RoceGroups(std::uint64_t mac, WireStats& stats) : mac_(mac), stats_(stats) {}

    /// Joins `group` at the interface of `bind`: the named one, the one with its address, or all
    /// with an address of its family. `sender` is the wire's socket of that family. Errors are
    /// explained on stderr only: the card's queue pairs are attached in any case.
    void join(const IpBytes& group, const RoceBind& bind, RoceSocket& sender);
    void leave(const IpBytes& group);

    /// Readable when a datagram to a group is queued; -1 before the first join().
    [[nodiscard]] int fd() const { return poller_ ? poller_->fd() : -1; }
    unsigned receive(FrameSink& sink, unsigned budget);
    [[nodiscard]] std::uint64_t overruns() const;

    /// Source addresses of the card's own datagrams. The kernel loops them back to all members on
    /// this host; they are dropped, as the card has already delivered them to its own queue pairs.
    [[nodiscard]] std::set<IpBytes>& own_sources() { return own_sources_; }

  private:
    /// A socket of a group at one interface.
    class Member final : public Pollable {
      public:
        Member(RoceGroups& groups, const RoceBind& at);
        ~Member() override { groups_.poller_->remove(id_); }
        void ready(std::uint32_t events) override;
        RoceSocket socket;

      private:
        RoceGroups& groups_;
        const Poller::Id id_;
    };

    const std::uint64_t mac_;
    WireStats& stats_;
    std::optional<Poller> poller_;
    std::set<IpBytes> own_sources_;
    std::map<IpBytes, std::vector<std::unique_ptr<Member>>> members_;
    Member* unfinished_ = nullptr;  // has fetched more than the last budget allowed
    FrameSink* sink_ = nullptr;     // the sink of receive() while that runs
    unsigned left_ = 0;             // what is left of the budget of receive()
    std::uint64_t overruns_of_left_ = 0;
};

}  // namespace dingo
