// SPDX-License-Identifier: BSD-2-Clause
#include "wire/roce_socket.h"

#include <fmt/format.h>
#include <net/if.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/local_address.h"
#include "dingo/packet/address.h"
#include "dingo/packet/icrc.h"
#include "wire/bytes.h"
#include "wire/port_owner.h"
#include "wire/roce_guard.h"
#include "wire/segmenting.h"
#include "wire/wire_system_error.h"

namespace dingo {
namespace {

using packet::kEthernetBytes;
using packet::kIcrcBytes;
using packet::kIpv4Bytes;
using packet::kIpv6Bytes;
using packet::kUdpBytes;

constexpr std::size_t kRoceGsoBytes = 65'000;
constexpr int kRoceSocketBuffer = 32 * 1024 * 1024;
constexpr int kIpv6MulticastAll = 29;  // IPV6_MULTICAST_ALL, missing in glibc 2.36
constexpr unsigned kCheckOneIn = 16;
constexpr std::size_t kMaxSenders = 4096;
constexpr std::size_t kMaxSources = 256;  // GIDs of a card
// from the start of the IP header to the end of the identification
constexpr std::size_t kIdBehind = 6;
// from the start of the UDP header to the end of the source port
constexpr std::size_t kSportBehind = 2;
constexpr std::uint64_t kPeerMac = 0x02'52'4f'43'45'00;  // source MAC of received frames

void put_mac(std::byte* p, std::uint64_t mac) {
    for (unsigned i = 0; i < 6; i++)
        p[i] = static_cast<std::byte>(mac >> (40 - 8 * i) & 0xff);
}

bool is_group(const IpBytes& address) {
    return packet::Gid{address}.is_multicast();
}

/// Returns the Ethernet multicast address of a group (RFC 1112 6.4, RFC 2464 7).
std::uint64_t group_mac(const IpBytes& group) {
    const packet::Gid gid{group};
    return gid.is_ipv4_mapped() ? 0x01'00'5e'00'00'00 | (gid.ipv4() & 0x7f'ff'ffU)
                                : 0x33'33'00'00'00'00 | gid.ipv4();
}

/// Returns the current second of CLOCK_MONOTONIC. Cached answers of the kernel are refreshed once
/// per second.
time_t this_second() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec;
}

void set(int fd, int level, int option, int value) {
    ::setsockopt(fd, level, option, &value, sizeof value);
}

template <typename T>
void add_cmsg(msghdr& msg, Control192& control, int level, int type, const T& value) {
    auto* const c = reinterpret_cast<cmsghdr*>(control.bytes.data() + msg.msg_controllen);
    c->cmsg_level = level;
    c->cmsg_type = type;
    c->cmsg_len = CMSG_LEN(sizeof value);
    std::memcpy(CMSG_DATA(c), &value, sizeof value);
    msg.msg_controllen += CMSG_SPACE(sizeof value);
}

sockaddr_in6 as_v6(const IpBytes& address, std::uint16_t port) {
    sockaddr_in6 out{};
    out.sin6_family = AF_INET6;
    out.sin6_port = htons(port);
    std::memcpy(&out.sin6_addr, address.data(), address.size());
    return out;
}

sockaddr_in as_v4(const IpBytes& address, std::uint16_t port) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(port);
    std::memcpy(&out.sin_addr, address.data() + 12, 4);
    return out;
}

}  // namespace

RoceSocket::RoceSocket(const RoceBind& bind, GsoMode gso, std::uint64_t mac, WireStats& stats,
                       std::set<IpBytes>& group_sources)
    : family_(bind.family),
      gso_mode_(gso),
      mac_(mac),
      stats_(stats),
      group_sources_(group_sources),
      of_group_(bind.group_interface != 0),
      interface_(bind.interface) {
    open(bind);
    rx_buffer_ = make_buffer(kRxMessages * kRxStride);
    for (std::size_t i = 0; i < kRxMessages; i++) {
        rx_iov_[i] = {rx_buffer_.get() + i * kRxStride + kHeadroom, 65'536};
        rx_msg_[i] = {};
        rx_msg_[i].msg_hdr.msg_iov = &rx_iov_[i];
        rx_msg_[i].msg_hdr.msg_iovlen = 1;
    }
}

void RoceSocket::open(const RoceBind& bind) {
    socket_ = UniqueFd(::socket(family_, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket_)
        throw_errno("roce wire: cannot make a UDP socket", errno);
    const int fd = socket_.get();
    set_socket_buffers(fd, kRoceSocketBuffer);
    set(fd, SOL_UDP, UDP_GRO, 1);
    if (family_ == AF_INET) {
        // DF, and with it identification 0: the ICRC covers both.
        set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
        set(fd, IPPROTO_IP, IP_PKTINFO, 1);
        set(fd, IPPROTO_IP, IP_RECVTOS, 1);
        set(fd, IPPROTO_IP, IP_RECVTTL, 1);
        set(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);  // only groups that this socket has joined
    } else {
        set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
        set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
        set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
        set(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
        set(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
        set(fd, IPPROTO_IPV6, kIpv6MulticastAll, 0);
        set(fd, SOL_UDP, UDP_NO_CHECK6_RX, 1);  // RoCE v2 sends checksum 0
    }
    if (!bind.interface.empty() &&
        ::setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, bind.interface.c_str(),
                     static_cast<socklen_t>(bind.interface.size() + 1)) != 0)
        throw_errno(fmt::format("roce wire: cannot bind to interface '{}'", bind.interface), errno,
                    "; Linux 5.7 and newer need no privilege for it");
    if (of_group_)
        share_port(true);  // with sockets of other cards in the same group
    const bool all = bind.any && !of_group_;
    if (!all)
        live_beside_guards(fd);
    int rc = 0;
    if (family_ == AF_INET) {
        sockaddr_in any{};
        any.sin_family = AF_INET;
        any.sin_port = htons(kRocePort);
        const sockaddr_in to = all ? any : as_v4(bind.address, kRocePort);
        rc = ::bind(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    } else {
        sockaddr_in6 to = as_v6(bind.address, kRocePort);
        to.sin6_scope_id = of_group_                ? bind.group_interface
                           : bind.interface.empty() ? 0
                                                    : ::if_nametoindex(bind.interface.c_str());
        rc = ::bind(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    }
    if (rc != 0)
        throw WireSystemError(bind_error(bind, errno));
    // With SO_REUSEPORT (live_beside_guards()) bind() succeeds even if the address is in use.
    if (!all && !of_group_ && udp_sockets_at(bind.address, kRocePort) > 1)
        throw WireSystemError(bind_error(bind, EADDRINUSE));
    if (of_group_)
        join(bind);
}

void RoceSocket::share_port(bool on) {
    set(socket_.get(), SOL_SOCKET, SO_REUSEADDR, on ? 1 : 0);
}

void RoceSocket::join(const RoceBind& bind) {
    int rc = 0;
    if (family_ == AF_INET) {
        ip_mreqn at{};
        std::memcpy(&at.imr_multiaddr, bind.address.data() + 12, 4);
        at.imr_ifindex = static_cast<int>(bind.group_interface);
        rc = ::setsockopt(socket_.get(), IPPROTO_IP, IP_ADD_MEMBERSHIP, &at, sizeof at);
    } else {
        ipv6_mreq at{};
        std::memcpy(&at.ipv6mr_multiaddr, bind.address.data(), 16);
        at.ipv6mr_interface = bind.group_interface;
        rc = ::setsockopt(socket_.get(), IPPROTO_IPV6, IPV6_JOIN_GROUP, &at, sizeof at);
    }
    if (rc != 0)
        throw_errno(fmt::format("roce wire: cannot join at interface {}", bind.group_interface),
                    errno);
}

/// Returns the interface by which a datagram to an IPv6 group leaves: the one of its source
/// address, as IPv4 does it.
unsigned RoceSocket::group_interface(const IpBytes& src) {
    if (!interface_.empty())
        return ::if_nametoindex(interface_.c_str());
    if (sources_.size() > kMaxSources)
        sources_.clear();
    Source& source = sources_[src];
    if (const time_t now = this_second(); now != source.asked) {
        source.asked = now;
        source.interface = interface_index_of(text_of(src));
    }
    return source.interface;
}

std::string RoceSocket::bind_error(const RoceBind& bind, int error) const {
    const std::string at = bind.any ? "all addresses" : text_of(bind.address);
    if (error == EADDRINUSE) {
        const std::string owner = udp_port_owner(kRocePort);
        return fmt::format(
            "roce wire: UDP port 4791 of {} is in use{}{}: {}, or bind to another address of this "
            "host: roce:IP; a card of another user reserves the port on all addresses unless it "
            "runs with roce:IP,guard=off",
            at, owner.empty() ? "" : " by ", owner,
            owner.find("rdma_rxe") != std::string::npos ? "rmmod rdma_rxe" : "stop it");
    }
    if (error == EADDRNOTAVAIL)
        return fmt::format("roce wire: {} is no address of this host; there are: {}", at,
                           local_addresses_text());
    return fmt::format("roce wire: cannot bind to UDP port 4791 of {}: {}", at,
                       std::strerror(error));
}

bool RoceSocket::may_segment(const IpBytes& dst) {
    if (!gso_ || gso_mode_ == GsoMode::kOff || is_group(dst))
        return false;
    if (gso_mode_ == GsoMode::kOn)
        return true;
    if (routes_.size() > kMaxSenders)
        routes_.clear();
    Route& route = routes_[dst];
    if (const time_t now = this_second(); now != route.asked) {  // a capture may have been started
        route.asked = now;
        route.segment = segmenting_helps(text_of(dst));
    }
    return route.segment;
}

/// Sets the IPv4 identification and the UDP source port that the kernel will write, and adapts the
/// ICRC to them.
void RoceSocket::put_id(std::byte* frame, const RoceFrame& f, std::uint16_t id) {
    std::byte* const icrc = frame + f.end - kIcrcBytes;
    const std::size_t covered = f.end - kIcrcBytes - f.ip;
    std::uint32_t change = 0;
    if (family_ == AF_INET) {
        std::byte* const at = frame + f.ip + packet::Ipv4Header::kIdOffset;
        const auto differs = static_cast<std::uint16_t>(get16(at) ^ id);
        if (differs != 0)
            change ^= shifts_.at(covered - kIdBehind).change(differs);
        put16(at, id);
    }
    std::byte* const sport = frame + f.payload - kUdpBytes;
    if (const auto differs = static_cast<std::uint16_t>(get16(sport) ^ kRocePort); differs != 0) {
        change ^=
            shifts_.at(covered - (f.payload - kUdpBytes - f.ip) - kSportBehind).change(differs);
        put16(sport, kRocePort);
    }
    packet::store_le32(icrc, packet::load_le32(icrc) ^ change);
}

void RoceSocket::address_message(msghdr& msg, Control192& control, sockaddr_in6& to,
                                 const RoceFrame& f, std::size_t segment) {
    msg.msg_name = &to;
    msg.msg_control = control.bytes.data();
    msg.msg_controllen = 0;
    const int ttl = std::max<int>(f.ttl, 1);
    if (family_ == AF_INET) {
        const sockaddr_in v4 = as_v4(f.dst, kRocePort);
        std::memcpy(&to, &v4, sizeof v4);
        msg.msg_namelen = sizeof v4;
        in_pktinfo info{};
        std::memcpy(&info.ipi_spec_dst, f.src.data() + 12, 4);
        add_cmsg(msg, control, IPPROTO_IP, IP_PKTINFO, info);
        add_cmsg(msg, control, IPPROTO_IP, IP_TOS, static_cast<int>(f.tos));
        add_cmsg(msg, control, IPPROTO_IP, IP_TTL, ttl);
    } else {
        to = as_v6(f.dst, kRocePort);
        msg.msg_namelen = sizeof to;
        in6_pktinfo info{};
        std::memcpy(&info.ipi6_addr, f.src.data(), 16);
        if (is_group(f.dst))
            info.ipi6_ifindex = group_interface(f.src);
        add_cmsg(msg, control, IPPROTO_IPV6, IPV6_PKTINFO, info);
        add_cmsg(msg, control, IPPROTO_IPV6, IPV6_TCLASS, static_cast<int>(f.tos));
        add_cmsg(msg, control, IPPROTO_IPV6, IPV6_HOPLIMIT, ttl);
    }
    if (segment != 0)
        add_cmsg(msg, control, SOL_UDP, UDP_SEGMENT, static_cast<std::uint16_t>(segment));
}

std::size_t RoceSocket::send(TxBatch& batch) {
    std::array<mmsghdr, kTxMessages> msg;
    std::array<sockaddr_in6, kTxMessages> to;
    std::array<Control192, kTxMessages> control;
    std::array<std::size_t, kTxMessages> frames_of;
    std::array<iovec, kTxMessages * 8> iov;
    RoceFrame first_frame;
    const auto lengths = batch.lengths();
    std::byte* data = batch.data();
    std::size_t next = 0;
    std::size_t used = 0;
    unsigned n = 0;
    while (n < kTxMessages && next < lengths.size() && used < iov.size()) {
        const RoceFrame head = roce_frame_of({data, lengths[next]});
        if (head.family != family_)
            break;
        if (n == 0)
            first_frame = head;
        const std::size_t size = head.end - head.payload;
        const bool segment = may_segment(head.dst);
        std::size_t frames = 0;
        std::size_t bytes = 0;
        const std::size_t first_iov = used;
        // A run of datagrams of equal length and with equal headers; the last one may be shorter.
        while (next < lengths.size() && used < iov.size()) {
            const RoceFrame f = frames == 0 ? head : roce_frame_of({data, lengths[next]});
            const std::size_t len = f.end - f.payload;
            if (frames != 0 && (f.family != family_ || f.dst != head.dst || f.src != head.src ||
                                f.tos != head.tos || f.ttl != head.ttl || len > size ||
                                bytes + len > kRoceGsoBytes || frames == kMaxSegments))
                break;
            put_id(data, f, static_cast<std::uint16_t>(frames));
            iov[used++] = {data + f.payload, len};
            data += lengths[next++];
            bytes += len;
            frames++;
            if (!segment || len < size)
                break;
        }
        if (is_group(head.dst) && group_sources_.size() < kMaxSources)
            group_sources_.insert(head.src);
        msg[n] = {};
        msg[n].msg_hdr.msg_iov = &iov[first_iov];
        msg[n].msg_hdr.msg_iovlen = frames;
        address_message(msg[n].msg_hdr, control[n], to[n], head, frames > 1 ? size : 0);
        frames_of[n++] = frames;
    }
    if (n == 0)
        return 0;
    const int sent = ::sendmmsg(socket_.get(), msg.data(), n, 0);
    std::size_t done = 0;
    if (sent <= 0) {
        done = send_failed(errno, first_frame, frames_of[0]);
    } else {
        refused_ = false;
        for (int i = 0; i < sent; i++)
            done += frames_of[static_cast<std::size_t>(i)];
        for (std::size_t i = 0; i < done; i++)
            stats_.tx_bytes += lengths[i];
        stats_.tx_frames += done;
    }
    batch.pop(done);
    return done;
}

std::size_t RoceSocket::send_failed(int error, const RoceFrame& first, std::size_t frames) {
    const std::string dst = text_of(first.dst);
    switch (error) {
        case EAGAIN:
            blocked_ = true;
            return 0;
        case EINTR:
            return 0;
        case ECONNREFUSED:
            // An ICMP error of an earlier datagram, reported now; this one was not sent yet.
            if (!refused_) {
                refused_ = true;
                return 0;
            }
            break;
        case EIO:
            if (frames > 1) {
                gso_ = false;  // this kernel or path cannot segment
                return 0;
            }
            break;
        case EMSGSIZE:
        case EINVAL:
        case EADDRNOTAVAIL:
            if (frames > 1) {
                gso_ = false;
                return 0;
            }
            if (error == EMSGSIZE)
                explain(explain_mtu(first));
            else
                explain(explain_source(first, error));
            break;
        case ENETUNREACH:
        case EHOSTUNREACH:
            if (!is_local_address(text_of(first.src)))
                explain(explain_source(first, error));
            else
                explain(fmt::format("no route to {}: {}; see `ip route get {}`", dst,
                                    std::strerror(error), dst));
            break;
        default:
            explain(fmt::format("cannot send to {}: {}", dst, std::strerror(error)));
            break;
    }
    const bool no_peer = error == ECONNREFUSED || error == ENETUNREACH || error == EHOSTUNREACH;
    (no_peer ? stats_.tx_no_peer : stats_.tx_errors) += frames;
    refused_ = false;
    return frames;
}

void RoceSocket::explain(const std::string& text) {
    if (explained_.size() < 64 && explained_.emplace(text, true).second)
        fmt::print(stderr, "roce wire: {}\n", text);
}

std::string RoceSocket::explain_source(const RoceFrame& f, int error) const {
    return fmt::format(
        "{} cannot be the source of packets to {} ({}): give the card an address of "
        "this host with --ip; there are: {}",
        text_of(f.src), text_of(f.dst), std::strerror(error), local_addresses_text());
}

std::string RoceSocket::explain_mtu(const RoceFrame& f) const {
    const std::size_t bytes = f.end - f.ip;
    const int mtu = path_mtu(text_of(f.dst));
    if (mtu <= 0)
        return fmt::format("a packet of {} bytes is too long for the path to {}", bytes,
                           text_of(f.dst));
    // IP, UDP, BTH, the longest extension header and the ICRC.
    const int room = mtu - (family_ == AF_INET ? 20 : 40) - 8 - 12 - 28 - 4;
    int fits = 256;
    while (fits * 2 <= room && fits < 4096)
        fits *= 2;
    return fmt::format(
        "a packet of {} bytes does not fit the MTU of {} to {}: use path MTU {} "
        "(perftest: -m {}; for all: dingo card start --mtu {}), or raise the MTU of "
        "the interface (ip link set IF mtu 9000)",
        bytes, mtu, text_of(f.dst), fits, fits, fits);
}

bool RoceSocket::fetch() {
    rx_next_ = rx_count_ = 0;
    rx_offset_ = 0;
    for (unsigned i = 0; i < rx_ask_; i++) {
        msghdr& msg = rx_msg_[i].msg_hdr;
        msg.msg_control = rx_control_[i].bytes.data();
        msg.msg_controllen = sizeof rx_control_[i].bytes;
        msg.msg_name = &rx_name_[i];
        msg.msg_namelen = sizeof rx_name_[i];
    }
    rx_count_ = receive_batch(socket_.get(), rx_msg_, rx_ask_, stats_);
    return rx_count_ != 0;
}

RoceSocket::Arrival RoceSocket::arrival_of(msghdr& msg, std::size_t total) const {
    Arrival out;
    out.segment = total;
    if (family_ == AF_INET) {
        sockaddr_in from{};
        std::memcpy(&from, msg.msg_name, sizeof from);
        out.sport = ntohs(from.sin_port);
        out.src[10] = out.src[11] = out.dst[10] = out.dst[11] = 0xff;
        std::memcpy(out.src.data() + 12, &from.sin_addr, 4);
    } else {
        sockaddr_in6 from{};
        std::memcpy(&from, msg.msg_name, sizeof from);
        out.sport = ntohs(from.sin6_port);
        std::memcpy(out.src.data(), &from.sin6_addr, 16);
    }
    for (cmsghdr* c = CMSG_FIRSTHDR(&msg); c != nullptr; c = CMSG_NXTHDR(&msg, c)) {
        int number = 0;
        if (c->cmsg_len >= CMSG_LEN(sizeof number))
            std::memcpy(&number, CMSG_DATA(c), sizeof number);
        else if (c->cmsg_len > CMSG_LEN(0))
            number = *CMSG_DATA(c);  // IP_TOS is a single byte
        if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO && number > 0) {
            out.segment = static_cast<std::size_t>(number);
        } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
            in_pktinfo info{};
            std::memcpy(&info, CMSG_DATA(c), sizeof info);
            std::memcpy(out.dst.data() + 12, &info.ipi_addr, 4);
        } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
            in6_pktinfo info{};
            std::memcpy(&info, CMSG_DATA(c), sizeof info);
            std::memcpy(out.dst.data(), &info.ipi6_addr, 16);
        } else if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) ||
                   (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)) {
            out.tos = static_cast<std::uint8_t>(number);
        } else if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL) ||
                   (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT)) {
            out.ttl = static_cast<std::uint8_t>(number);
        }
    }
    return out;
}

/// Writes the headers that the kernel removed in front of `payload`, overwriting what is there.
std::span<std::byte> RoceSocket::rebuild(std::byte* payload, std::size_t len, const Arrival& from,
                                         std::uint16_t id) const {
    const std::size_t ip_bytes = family_ == AF_INET ? kIpv4Bytes : kIpv6Bytes;
    std::byte* const udp = payload - kUdpBytes;
    put16(udp, from.sport);
    put16(udp + 2, kRocePort);
    put16(udp + 4, len + kUdpBytes);
    put16(udp + 6, 0);
    std::byte* const ip = udp - ip_bytes;
    std::memset(ip, 0, ip_bytes);
    if (family_ == AF_INET) {
        ip[0] = std::byte{packet::Ipv4Header::kVersionIhl};
        ip[1] = std::byte{from.tos};
        put16(ip + 2, len + kUdpBytes + kIpv4Bytes);
        put16(ip + packet::Ipv4Header::kIdOffset, id);
        put16(ip + 6, packet::Ipv4Header::kDontFragment);
        ip[8] = std::byte{from.ttl};
        ip[9] = std::byte{IPPROTO_UDP};
        std::memcpy(ip + 12, from.src.data() + 12, 4);
        std::memcpy(ip + 16, from.dst.data() + 12, 4);
    } else {
        put16(ip, 0x6000U | from.tos << 4U);
        put16(ip + 4, len + kUdpBytes);
        ip[6] = std::byte{IPPROTO_UDP};
        ip[7] = std::byte{from.ttl};
        std::memcpy(ip + 8, from.src.data(), 16);
        std::memcpy(ip + 24, from.dst.data(), 16);
    }
    std::byte* const frame = ip - kEthernetBytes;
    put_mac(frame, of_group_ ? group_mac(from.dst) : mac_);
    put_mac(frame + 6, kPeerMac);
    put16(frame + 12, family_ == AF_INET ? 0x0800 : 0x86dd);
    return {frame, kEthernetBytes + ip_bytes + kUdpBytes + len};
}

/// The kernel does not report the identification, which the ICRC covers. Dingo cards send `guess`;
/// if the ICRC does not match it, the identification is computed from the ICRC.
void RoceSocket::check_id(std::span<std::byte> frame, Sender& sender, std::uint16_t guess) {
    // Matching guesses are rechecked now and then: another peer may get the same address.
    if (!sender.solve && sender.checks_left == 0 && ++sender.skipped % kCheckOneIn != 0)
        return;
    const auto covered = frame.subspan(kEthernetBytes, frame.size() - kEthernetBytes - kIcrcBytes);
    const std::uint32_t received = packet::load_le32(frame.data() + frame.size() - kIcrcBytes);
    const std::uint32_t differs = received ^ packet::icrc(covered, packet::L3Kind::kIpv4);
    if (differs == 0) {
        sender.checks_left -= sender.checks_left != 0 ? 1 : 0;
        return;
    }
    const auto change = shifts_.at(covered.size() - kIdBehind).solve(differs);
    if (!change)
        return;  // the card detects the wrong ICRC and counts it
    sender.solve = true;
    stats_.rx_id_solved++;
    put16(frame.data() + kEthernetBytes + packet::Ipv4Header::kIdOffset, guess ^ *change);
}

RoceSocket::Sender& RoceSocket::sender_of(const IpBytes& src) {
    if (senders_.size() > kMaxSenders)
        senders_.clear();
    return senders_[src];
}

unsigned RoceSocket::receive(FrameSink& sink, unsigned budget) {
    unsigned done = 0;
    for (unsigned round = 0; done < budget && round <= budget; round++) {
        if (rx_next_ == rx_count_ && !fetch())
            break;
        mmsghdr& m = rx_msg_[rx_next_];
        const std::size_t total = m.msg_len;
        if (rx_offset_ == 0) {
            rx_from_ = arrival_of(m.msg_hdr, total);
            rx_index_ = 0;
            sender_ = &sender_of(rx_from_.src);
            if (total == 0)
                stats_.rx_short++;
        }
        if ((m.msg_hdr.msg_flags & MSG_TRUNC) != 0 || rx_from_.segment > kMaxFrame - kHeadroom) {
            stats_.rx_long++;
            rx_offset_ = total;
        }
        if (of_group_ && rx_offset_ == 0 && rx_from_.sport == kRocePort &&
            group_sources_.contains(rx_from_.src)) {
            rx_offset_ = total;
            done++;
        }
        std::byte* const base = static_cast<std::byte*>(rx_iov_[rx_next_].iov_base);
        while (rx_offset_ < total && done < budget) {
            const std::size_t len = std::min(rx_from_.segment, total - rx_offset_);
            std::byte* const payload = base + rx_offset_;
            const std::uint16_t guess = rx_index_++;
            rx_offset_ += len;
            done++;
            if (len < packet::kBthBytes + kIcrcBytes) {
                stats_.rx_short++;
                continue;
            }
            const std::span<std::byte> frame = rebuild(payload, len, rx_from_, guess);
            if (family_ == AF_INET) {
                check_id(frame, *sender_, guess);
                std::byte* const ip = frame.data() + kEthernetBytes;
                put16(ip + packet::Ipv4Header::kChecksumOffset,
                      static_cast<std::uint16_t>(~packet::ipv4_header_sum(ip)));
            }
            stats_.rx_frames++;
            stats_.rx_bytes += frame.size();
            sink.on_frame(frame);
        }
        if (rx_offset_ >= total) {
            rx_next_++;
            rx_offset_ = 0;
        }
    }
    return done;
}

}  // namespace dingo
