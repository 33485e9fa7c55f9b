// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <stdexcept>

#include "base/errno_error.h"
#include "host/driver/neighbour_frames.h"
#include "host/not_yet.h"

namespace dingo::uverbs {
namespace {

constexpr unsigned kIpv4Skip = 96;  // bits of ::ffff:0:0
/// Minimum time between two scans of all entries.
constexpr Nanoseconds kTick = 10'000'000;
/// Maximum number of waiters called in one poll(): each may serve a request again.
constexpr unsigned kToldAtOnce = 16;
/// Destination MAC on a wire that resolves by IP address: any unicast address will do.
constexpr packet::Mac kAnyPeer{{0x02, 0x44, 0x49, 0xff, 0xff, 0xfe}};

bool is_link_local(const packet::Gid& gid) {
    return gid.bytes[0] == 0xfe && (gid.bytes[1] & 0xc0) == 0x80;
}

/// Returns the MAC address in the EUI-64 of fe80::/64, nullopt if it contains none.
std::optional<packet::Mac> mac_of_link_local(const packet::Gid& gid) {
    const auto& b = gid.bytes;
    if (!is_link_local(gid) || b[11] != 0xff || b[12] != 0xfe) {
        return std::nullopt;
    }
    const packet::Mac mac{{static_cast<std::uint8_t>(b[8] ^ 2), b[9], b[10], b[13], b[14], b[15]}};
    return mac.is_multicast() ? std::nullopt : std::optional(mac);
}

}  // namespace

bool Prefix::holds(const packet::Gid& gid) const {
    if (gid.is_ipv4_mapped() != address.is_ipv4_mapped()) {
        return false;
    }
    const unsigned whole = length / 8;
    if (!std::equal(gid.bytes.begin(), gid.bytes.begin() + whole, address.bytes.begin())) {
        return false;
    }
    const unsigned rest = length % 8;
    return rest == 0 || ((gid.bytes[whole] ^ address.bytes[whole]) >> (8 - rest)) == 0;
}

Prefix parse_prefix(std::string_view text) {
    const auto slash = text.find('/');
    const auto gid = packet::parse_gid(text.substr(0, slash));
    const auto bad = [text](const char* why) {
        throw std::invalid_argument(
            fmt::format("address '{}': {}; write e.g. 10.77.0.1/24 or fd77::1/64", text, why));
    };
    if (!gid) {
        bad("neither IPv4 nor IPv6");
    }
    if (gid->is_multicast() || *gid == packet::Gid{} || *gid == packet::Gid::from_ipv4(0)) {
        bad("not the address of one host");
    }
    const unsigned skip = gid->is_ipv4_mapped() ? kIpv4Skip : 0;
    unsigned bits = 128 - skip;
    if (slash != std::string_view::npos) {
        const std::string_view digits = text.substr(slash + 1);
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), bits);
        if (error != std::errc() || end != digits.data() + digits.size() || bits > 128 - skip) {
            bad("the prefix length is wrong");
        }
    }
    return {*gid, bits + skip};
}

packet::Gid link_local_gid(const packet::Mac& mac) {
    const auto& m = mac.bytes;
    return {{0xfe, 0x80, 0, 0, 0, 0, 0, 0, static_cast<std::uint8_t>(m[0] ^ 2), m[1], m[2], 0xff,
             0xfe, m[3], m[4], m[5]}};
}

Neighbours::Neighbours(LocalCard& card, const packet::Mac& mac, std::vector<Prefix> prefixes)
    : card_(card), mac_(mac), prefixes_(std::move(prefixes)) {}

const Prefix* Neighbours::own(const packet::Gid& gid) const {
    const auto found = std::ranges::find(prefixes_, gid, &Prefix::address);
    return found == prefixes_.end() ? nullptr : &*found;
}

packet::Mac Neighbours::resolve(const packet::Gid& gid) {
    if (gid.is_multicast()) {
        return multicast_mac(gid);
    }
    if (own(gid) != nullptr) {
        return mac_;  // the engine loops these frames back
    }
    if (card_.resolves_addresses()) {
        return kAnyPeer;
    }
    if (const auto mac = mac_of_link_local(gid)) {
        return *mac;
    }
    if (std::ranges::none_of(prefixes_, [&](const Prefix& p) { return p.holds(gid); })) {
        throw ErrnoError(ENETUNREACH);  // there is no router here
    }
    if (table_.size() >= kMaxEntries && !table_.contains(gid)) {
        make_room();
    }
    const auto [at, fresh] = table_.try_emplace(gid);
    Entry& entry = at->second;
    if (entry.tries == 0 && (!entry.known || entry.fresh_until <= card_.now())) {
        ask(gid, entry);
        // The card may have slept: the next poll() sets the time.
        entry.retry_at = kNever;
        unset_.push_back(gid);
    }
    if (!entry.known) {
        throw NotYet(gid.bytes);
    }
    return entry.mac;
}

// Bounds the table, as a client may ask for every address of a large prefix.
void Neighbours::make_room() {
    const Nanoseconds now = card_.now();
    std::erase_if(table_, [now](const auto& entry) {
        return entry.second.tries == 0 && entry.second.fresh_until <= now;
    });
    if (table_.size() >= kMaxEntries) {
        throw ErrnoError(ENOBUFS);  // as the kernel's neighbour table
    }
}

void Neighbours::ask(const packet::Gid& gid, Entry& entry) {
    const auto from =
        std::ranges::find_if(prefixes_, [&](const Prefix& p) { return p.holds(gid); });
    ++entry.tries;
    if (gid.is_ipv4_mapped()) {
        send(Arp{Arp::kRequest, mac_, from->address.ipv4(), {}, gid.ipv4()}.frame(kBroadcast));
        return;
    }
    Ndp ndp;
    ndp.type = Ndp::kSolicitation;
    ndp.src = from->address;
    ndp.dst = solicited_node(gid);
    ndp.target = gid;
    send(ndp.frame(mac_, multicast_mac(ndp.dst)));
}

// A frame that a full wire refuses is lost; the request is repeated.
void Neighbours::send(std::span<const std::byte> frame) {
    card_.gate()->run([&] {
        WirePort& wire = card_.frames();
        const std::size_t bytes = std::max(frame.size(), packet::kMinEthernetFrameBytes);
        const auto room = wire.begin_frame(bytes);
        if (room.empty()) {
            return;
        }
        std::ranges::copy(frame, room.begin());
        std::fill(room.begin() + static_cast<std::ptrdiff_t>(frame.size()),
                  room.begin() + static_cast<std::ptrdiff_t>(bytes), std::byte{0});
        wire.end_frame(bytes);
        card_.flush_frames();
    });
}

bool Neighbours::poll(Nanoseconds now) {
    bool any = !unset_.empty();
    for (const packet::Gid& gid : unset_) {
        const auto at = table_.find(gid);
        if (at != table_.end() && at->second.tries != 0) {
            at->second.retry_at = now + kRetry;
            due_ = std::min(due_, at->second.retry_at);
        }
    }
    unset_.clear();
    if (now >= due_) {
        retry(now);
        any = true;
    }
    return tell(kToldAtOnce) || any;
}

void Neighbours::retry(Nanoseconds now) {
    due_ = kNever;
    for (auto at = table_.begin(); at != table_.end();) {
        auto& [gid, entry] = *at;
        if (entry.tries != 0 && now >= entry.retry_at) {
            if (entry.tries == kTries) {
                // A later caller asks again: the host may be up by then.
                settle(gid, failed_);
                at = table_.erase(at);
                continue;
            }
            ask(gid, entry);
            entry.retry_at = now + kRetry;
        }
        if (entry.tries != 0) {
            due_ = std::min(due_, entry.retry_at);
        }
        ++at;
    }
    due_ = due_ == kNever ? kNever : std::max(due_, now + kTick);
}

void Neighbours::settle(const packet::Gid& gid, Waiters& told) {
    if (const auto waiters = waiting_.find(gid); waiters != waiting_.end()) {
        told.take_all(waiters->second);
        waiting_.erase(waiters);
    }
}

bool Neighbours::tell(unsigned budget) {
    bool any = false;
    for (; budget != 0; --budget) {
        Waiters& waiters = known_.empty() ? failed_ : known_;
        Waiter* const waiter = waiters.first();
        if (waiter == nullptr) {
            break;
        }
        waiter->stop_waiting();
        waiter->settled(&waiters == &known_ ? 0 : ETIMEDOUT);  // as rdma_resolve_ip()
        any = true;
    }
    return any;
}

void Neighbours::learn(const packet::Gid& gid, const packet::Mac& mac, bool may_create) {
    if (mac.is_multicast() || own(gid) != nullptr) {
        return;
    }
    auto at = table_.find(gid);
    if (at == table_.end()) {
        const bool on_link =
            std::ranges::any_of(prefixes_, [&](const Prefix& p) { return p.holds(gid); });
        if (!may_create || !on_link || table_.size() >= kMaxEntries) {
            return;
        }
        at = table_.try_emplace(gid).first;
    }
    at->second = Entry{};
    at->second.mac = mac;
    at->second.known = true;
    at->second.fresh_until = card_.now() + kFresh;
    settle(gid, known_);
}

bool Neighbours::on_arp(std::span<const std::byte> frame) {
    const auto arp = Arp::load(frame);
    if (!arp) {
        return false;
    }
    const bool ours = own(packet::Gid::from_ipv4(arp->target)) != nullptr;
    learn(packet::Gid::from_ipv4(arp->sender), arp->sender_mac, ours);
    if (ours && arp->operation == Arp::kRequest) {
        send(Arp{Arp::kReply, mac_, arp->target, arp->sender_mac, arp->sender}.frame(
            arp->sender_mac));
    }
    return true;
}

bool Neighbours::on_ndp(std::span<const std::byte> frame) {
    const auto ndp = Ndp::load(frame);
    if (!ndp) {
        return false;
    }
    if (ndp->type == Ndp::kAdvertisement) {
        if (ndp->link_address) {
            learn(ndp->target, *ndp->link_address, false);
        }
        return true;
    }
    if (own(ndp->target) == nullptr) {
        return true;
    }
    const bool probe = ndp->src == packet::Gid{};  // duplicate address detection
    if (!probe && ndp->link_address) {
        learn(ndp->src, *ndp->link_address, true);
    }
    Ndp answer;
    answer.type = Ndp::kAdvertisement;
    answer.src = ndp->target;
    answer.dst =
        probe ? packet::Gid{{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}} : ndp->src;
    answer.target = ndp->target;
    answer.solicited = !probe;
    const auto ethernet = packet::EthernetHeader::load(frame.data());
    send(answer.frame(
        mac_, probe ? multicast_mac(answer.dst) : ndp->link_address.value_or(ethernet.src)));
    return true;
}

bool Neighbours::on_echo(std::span<const std::byte> frame) {
    const auto echo = load_echo_request(frame);
    if (!echo || own(echo->dst) == nullptr || echo->src.is_multicast() ||
        packet::EthernetHeader::load(frame.data()).dst != mac_) {
        return false;
    }
    card_.gate()->run([&] {
        const auto room = card_.frames().begin_frame(echo->bytes);
        if (!room.empty()) {
            echo_reply(frame.first(echo->bytes), mac_, room.first(echo->bytes));
            card_.frames().end_frame(echo->bytes);
        }
    });
    return true;
}

bool Neighbours::on_tapped_frame(std::span<const std::byte> frame) {
    return on_arp(frame) || on_ndp(frame) || on_echo(frame);
}

}  // namespace dingo::uverbs
