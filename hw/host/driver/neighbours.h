// SPDX-License-Identifier: BSD-2-Clause
//
// Resolution of IP to MAC addresses, and answers to neighbours: ARP, NDP and ping, as the kernel's
// network stack does for a card with a netdev.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dingo/packet/address.h"
#include "host/driver/verbs_types.h"
#include "host/driver/waiter.h"
#include "host/local_card.h"

namespace dingo::uverbs {

/// An address of ours with its on-link prefix.
struct Prefix {
    packet::Gid address;
    unsigned length = 0;  ///< bits of the GID: IPv4 prefixes count 96 more
    [[nodiscard]] bool holds(const packet::Gid& gid) const;
};

/// "10.77.0.1/24" or "fd77::1/64"; without length the address alone. Throws std::invalid_argument
/// that tells the user what is wrong.
Prefix parse_prefix(std::string_view text);

/// fe80::/64 with the EUI-64 of a MAC address.
packet::Gid link_local_gid(const packet::Mac& mac);

class Neighbours final : public FrameTap {
  public:
    /// Like Linux: three requests, a second apart.
    static constexpr unsigned kTries = 3;
    static constexpr Nanoseconds kRetry = 1'000'000'000;
    /// How long a known address is used before it is asked for again.
    static constexpr Nanoseconds kFresh = 30'000'000'000;
    static constexpr std::size_t kMaxEntries = 4096;

    Neighbours(LocalCard& card, const packet::Mac& mac, std::vector<Prefix> prefixes);

    /// Returns the MAC address of `gid`, at once for a multicast group. Throws NotYet while it is
    /// being resolved: await() tells when to call again. Throws ErrnoError: ENETUNREACH if none of
    /// our prefixes contains the address, ENOBUFS if too many are being resolved.
    packet::Mac resolve(const packet::Gid& gid);
    /// After resolve() threw NotYet for `gid`: calls `waiter` once, in a poll(), when the address
    /// is known or the neighbour did not answer.
    void await(const packet::Gid& gid, Waiter& waiter) { waiting_[gid].add(waiter); }

    /// Repeats requests that are due and calls some waiters. Returns true if it did something.
    bool poll(Nanoseconds now);
    [[nodiscard]] Nanoseconds next_deadline() const {
        return known_.empty() && failed_.empty() && unset_.empty() ? due_ : 0;
    }

    bool on_tapped_frame(std::span<const std::byte> frame) override;

  private:
    struct Entry {
        packet::Mac mac;
        bool known = false;
        Nanoseconds fresh_until = 0;
        unsigned tries = 0;  ///< requests sent since the last answer; 0: none pending
        Nanoseconds retry_at = kNever;
    };

    [[nodiscard]] const Prefix* own(const packet::Gid& gid) const;
    void learn(const packet::Gid& gid, const packet::Mac& mac, bool may_create);
    void make_room();
    void retry(Nanoseconds now);
    /// Calls at most `budget` waiters whose wait is over. Returns true if there was one.
    bool tell(unsigned budget);
    void settle(const packet::Gid& gid, Waiters& told);
    void ask(const packet::Gid& gid, Entry& entry);
    void send(std::span<const std::byte> frame);
    bool on_arp(std::span<const std::byte> frame);
    bool on_ndp(std::span<const std::byte> frame);
    bool on_echo(std::span<const std::byte> frame);

    LocalCard& card_;
    packet::Mac mac_;
    std::vector<Prefix> prefixes_;
    std::map<packet::Gid, Entry> table_;
    Nanoseconds due_ = kNever;
    std::vector<packet::Gid> unset_;  ///< asked since the last poll(): it sets their time
    std::map<packet::Gid, Waiters> waiting_;
    Waiters known_;   ///< waiters to be told that the address is known
    Waiters failed_;  ///< waiters to be told that the neighbour does not answer
};

}  // namespace dingo::uverbs
