// SPDX-License-Identifier: BSD-2-Clause
//
// Inside the wire `roce`: the multicast groups of the card. A socket that is bound to an address
// of the host gets no datagrams to groups, so each group has one of its own for each interface.
// They only receive.
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

    /// Joins `group` at the interface of `bind`: the one that it names, the one with its address,
    /// or all with an address of its family. `sender` is the wire's socket there. What fails is
    /// explained on stderr: the card's queue pairs are attached whatever the network says.
    void join(const IpBytes& group, const RoceBind& bind, RoceSocket& sender);
    void leave(const IpBytes& group);

    /// Readable when a datagram to a group is here; -1 before the first join().
    [[nodiscard]] int fd() const { return poller_ ? poller_->fd() : -1; }
    unsigned receive(FrameSink& sink, unsigned budget);
    [[nodiscard]] std::uint64_t overruns() const;

    /// Datagrams from these addresses are the card's own, which the kernel shows to all members of
    /// this host. The card has given its queue pairs theirs already.
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
    Member* unfinished_ = nullptr;  // it has fetched more than the last budget allowed
    FrameSink* sink_ = nullptr;     // of receive(), while it runs
    unsigned left_ = 0;             // of its budget
    std::uint64_t overruns_of_left_ = 0;
};

}  // namespace dingo
