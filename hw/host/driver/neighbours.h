// SPDX-License-Identifier: BSD-2-Clause
//
// From IP addresses to MAC addresses, and the answers that a host owes its neighbours: ARP, NDP and
// ping. What the kernel's network stack does for a card with a netdev.
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

/// An address of ours with the prefix that is on its link.
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

    /// The MAC address of `gid`; a multicast group's is known at once. Throws NotYet while it is
    /// being asked for: await() tells when to call again. Throws ErrnoError: ENETUNREACH no prefix
    /// of ours holds the address, ENOBUFS too many are being asked for.
    packet::Mac resolve(const packet::Gid& gid);
    /// After resolve() threw NotYet for `gid`: `waiter` is told once, in a poll(), that the address
    /// is known or that nobody answered. What a waiter does costs nobody before.
    void await(const packet::Gid& gid, Waiter& waiter) { waiting_[gid].add(waiter); }

    /// Repeats requests that are due and tells some waiters. True: something was done.
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
        unsigned tries = 0;  ///< requests sent since the last answer; 0: none under way
        Nanoseconds retry_at = kNever;
    };

    [[nodiscard]] const Prefix* own(const packet::Gid& gid) const;
    void learn(const packet::Gid& gid, const packet::Mac& mac, bool may_create);
    void make_room();
    void retry(Nanoseconds now);
    /// Waits that are over: at most `budget` of them are told. True: there was one.
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
    Waiters known_;   ///< whose address is known, not told yet
    Waiters failed_;  ///< whose neighbour does not answer, not told yet
};

}  // namespace dingo::uverbs
