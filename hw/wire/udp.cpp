// SPDX-License-Identifier: BSD-2-Clause
//
// One Ethernet frame per UDP datagram. Fast because many frames are passed to the kernel in one
// call: UDP_SEGMENT (a run of equally long frames, the last of which may be shorter, passes the
// stack once) and UDP_GRO (such a run is received in one piece), within sendmmsg and recvmmsg.
//
// wire_bench, two cores at 2.6 GHz, Linux 6.18, frames/s with one thread per end:
//     frame     udp      unix     loop
//     98 B      9.5 M    1.0 M    90 M
//     4,158 B   2.2 M    0.86 M   5.7 M
// So udp is the wire between two cards on one host. The advantage of unix: it holds the sender back
// if the receiver is slow, while UDP loses what does not fit into the receive buffer.
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "wire/factory.h"
#include "wire/socket.h"

namespace dingo {
namespace {

constexpr std::size_t kUdpTxCapacity = 512UL * 1024;
// keeps the peer busy, and the batch in the cache
constexpr std::size_t kUdpAutoFlush = 128UL * 1024;
constexpr std::size_t kUdpGsoBytes = 65'000;  // below 65,507, the payload limit of IPv4
constexpr std::size_t kGsoSegments = 64;      // UDP_MAX_SEGMENTS of the oldest kernels
constexpr std::size_t kTxMessages = 64;
constexpr std::size_t kRxMessages = 64;
constexpr std::size_t kRxBytes = 65'536;  // a GRO datagram is at most this long
// keeps the starts of buffers in different cache sets
constexpr std::size_t kUdpRxStride = kRxBytes + 5 * 64;
constexpr int kUdpSocketBuffer = 32 * 1024 * 1024;

struct Address {
    sockaddr_storage storage{};
    socklen_t len = 0;
    [[nodiscard]] const sockaddr* get() const {
        return reinterpret_cast<const sockaddr*>(&storage);
    }
};

/// Parses "IP:PORT" or "[IPv6]:PORT".
Address parse_address(std::string_view text, std::string_view which) {
    const auto bad = [&](std::string_view why) {
        return WireError(fmt::format(
            "udp wire: {} address '{}' {}; write IP:PORT or [IPv6]:PORT, e.g. 127.0.0.1:7001",
            which, text, why));
    };
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon + 1 == text.size())
        throw bad("has no port");
    std::string host(text.substr(0, colon));
    const std::string port(text.substr(colon + 1));
    if (host.size() >= 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    else if (host.find(':') != std::string::npos)
        throw bad("is IPv6 without brackets");
    if (port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos ||
        std::stoul(port) == 0 || std::stoul(port) > 65'535)
        throw bad("has a bad port (1 to 65535)");

    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0 || found == nullptr)
        throw bad("is not a numeric IP address");
    Address out;
    out.len = found->ai_addrlen;
    std::memcpy(&out.storage, found->ai_addr, found->ai_addrlen);
    ::freeaddrinfo(found);
    return out;
}

class UdpWire final : public SocketWire {
  public:
    explicit UdpWire(std::string_view args)
        : SocketWire(kUdpTxCapacity, kUdpAutoFlush), args_(args) {
        const std::size_t comma = args.find(',');
        if (comma == std::string_view::npos)
            throw WireError(fmt::format(
                "udp wire '{}' names one end only; write udp:LOCAL_IP:PORT,PEER_IP:PORT", args));
        const Address local = parse_address(args.substr(0, comma), "local");
        const Address peer = parse_address(args.substr(comma + 1), "peer");
        if (local.storage.ss_family != peer.storage.ss_family)
            throw WireError(
                fmt::format("udp wire '{}': both addresses must be IPv4 or IPv6", args));
        open(local, peer);
        prepare_receive();
    }

    unsigned receive(FrameSink& sink, unsigned budget) override {
        unsigned done = 0;
        // Rounds are limited, too, in case of a flood of short datagrams.
        for (unsigned round = 0; done < budget && round <= budget; round++) {
            if (rx_next_ == rx_count_ && !fetch())
                break;
            done += deliver(sink, budget - done);
        }
        return done;
    }

    void advance(Nanoseconds) override {}

    std::string describe() const override {
        return fmt::format("udp {} (one Ethernet frame a datagram{}{})", args_, gso_ ? ", GSO" : "",
                           gro_ ? ", GRO" : "");
    }

    WireStats stats() const override {
        WireStats out = stats_;
        out.rx_overrun = socket_overruns(socket_.get());
        return out;
    }

  private:
    struct Control {
        alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> bytes;
    };
    struct Run {  // frames that are sent in one message
        std::size_t frames;
        std::size_t bytes;
    };

    void open(const Address& local, const Address& peer) {
        socket_ = UniqueFd(
            ::socket(local.storage.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (!socket_)
            throw_errno("udp wire: cannot make a socket", errno);
        const int fd = socket_.get();
        set_socket_buffers(fd, kUdpSocketBuffer);
        // The user chooses the frame size: fragment large frames instead of dropping them because
        // of DF.
        const int dont = IP_PMTUDISC_DONT;
        if (local.storage.ss_family == AF_INET)
            ::setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &dont, sizeof dont);
        else
            ::setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &dont, sizeof dont);
        const int on = 1;
        gro_ = ::setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof on) == 0;
        int size = 0;
        socklen_t len = sizeof size;
        gso_ = ::getsockopt(fd, SOL_UDP, UDP_SEGMENT, &size, &len) == 0;
        if (::bind(fd, local.get(), local.len) != 0)
            throw_errno(fmt::format("udp wire '{}': cannot use the local address", args_), errno,
                        "; ports below 1024 need privilege");
        // Connected: the kernel drops datagrams from all but the peer.
        if (::connect(fd, peer.get(), peer.len) != 0)
            throw_errno(fmt::format("udp wire '{}': cannot reach the peer address", args_), errno);
    }

    void prepare_receive() {
        rx_buffer_ = make_buffer(kRxMessages * kUdpRxStride);
        for (std::size_t i = 0; i < kRxMessages; i++) {
            rx_iov_[i] = {rx_buffer_.get() + i * kUdpRxStride, kRxBytes};
            rx_msg_[i] = {};
            rx_msg_[i].msg_hdr.msg_iov = &rx_iov_[i];
            rx_msg_[i].msg_hdr.msg_iovlen = 1;
        }
    }

    /// Returns the frames at the head of `lengths` that can be sent as one message.
    [[nodiscard]] Run next_run(std::span<const std::uint32_t> lengths) const {
        const std::size_t size = lengths[0];
        Run run{1, size};
        if (!gso_)
            return run;
        for (; run.frames < std::min(lengths.size(), kGsoSegments); run.frames++) {
            const std::size_t len = lengths[run.frames];
            if (len > size || run.bytes + len > kUdpGsoBytes)
                break;
            run.bytes += len;
            if (len < size) {
                run.frames++;
                break;
            }
        }
        return run;
    }

    void send_some() override {
        std::array<mmsghdr, kTxMessages> msg;
        std::array<iovec, kTxMessages> iov;
        std::array<Control, kTxMessages> control;
        std::array<Run, kTxMessages> runs;
        std::span<const std::uint32_t> lengths = tx_.lengths();
        std::byte* data = tx_.data();
        unsigned n = 0;
        for (; n < kTxMessages && !lengths.empty(); n++) {
            const Run run = runs[n] = next_run(lengths);
            iov[n] = {data, run.bytes};
            msg[n] = {};
            msg[n].msg_hdr.msg_iov = &iov[n];
            msg[n].msg_hdr.msg_iovlen = 1;
            if (run.frames > 1)
                add_segment_size(msg[n].msg_hdr, control[n], lengths[0]);
            lengths = lengths.subspan(run.frames);
            data += run.bytes;
        }
        const int sent = ::sendmmsg(socket_.get(), msg.data(), n, 0);
        if (sent <= 0) {
            send_failed(errno, runs[0]);
            return;
        }
        refused_ = false;
        std::size_t frames = 0;
        for (int i = 0; i < sent; i++) {
            frames += runs[i].frames;
            stats_.tx_bytes += runs[i].bytes;
        }
        stats_.tx_frames += frames;
        tx_.pop(frames);
    }

    static void add_segment_size(msghdr& msg, Control& control, std::uint32_t size) {
        msg.msg_control = control.bytes.data();
        msg.msg_controllen = CMSG_SPACE(sizeof(std::uint16_t));
        cmsghdr* c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_UDP;
        c->cmsg_type = UDP_SEGMENT;
        c->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
        const auto value = static_cast<std::uint16_t>(size);
        std::memcpy(CMSG_DATA(c), &value, sizeof value);
    }

    void send_failed(int error, const Run& run) {
        switch (error) {
            case EAGAIN:
                blocked_ = true;
                return;
            case EINTR:
                return;
            case ECONNREFUSED:
                // An ICMP error of an earlier datagram, reported now; this one was not sent yet.
                if (!refused_) {
                    refused_ = true;
                    return;
                }
                break;
            case EINVAL:
            case EIO:
            case EMSGSIZE:
                if (run.frames >
                    1) {  // this path cannot segment (e.g. frames above a device's MTU)
                    gso_ = false;
                    return;
                }
                break;
            default:
                break;
        }
        const bool no_peer = error == ECONNREFUSED || error == ENETUNREACH || error == EHOSTUNREACH;
        (no_peer ? stats_.tx_no_peer : stats_.tx_errors) += run.frames;
        refused_ = false;
        tx_.pop(run.frames);
    }

    /// Receives messages from the kernel; returns false if none are queued.
    bool fetch() {
        rx_next_ = rx_count_ = 0;
        rx_offset_ = 0;
        for (unsigned i = 0; i < rx_ask_; i++) {
            rx_msg_[i].msg_hdr.msg_control = rx_control_[i].bytes.data();
            rx_msg_[i].msg_hdr.msg_controllen = sizeof rx_control_[i].bytes;
        }
        rx_count_ = receive_batch(socket_.get(), rx_msg_, rx_ask_, stats_);
        return rx_count_ != 0;
    }

    /// Length of each frame in a received message (the last one may be shorter).
    static std::size_t segment_size(msghdr& msg, std::size_t total) {
        for (cmsghdr* c = CMSG_FIRSTHDR(&msg); c != nullptr; c = CMSG_NXTHDR(&msg, c)) {
            if (c->cmsg_level != SOL_UDP || c->cmsg_type != UDP_GRO)
                continue;
            int size = 0;
            std::memcpy(&size, CMSG_DATA(c), sizeof size);
            if (size > 0)
                return static_cast<std::size_t>(size);
        }
        return total;
    }

    /// Delivers frames of the received messages; returns their number.
    unsigned deliver(FrameSink& sink, unsigned budget) {
        unsigned done = 0;
        while (rx_next_ < rx_count_) {
            mmsghdr& m = rx_msg_[rx_next_];
            const std::size_t total = m.msg_len;
            if (rx_offset_ == 0)
                rx_segment_ = segment_size(m.msg_hdr, total);
            if ((m.msg_hdr.msg_flags & MSG_TRUNC) != 0 || rx_segment_ > kMaxFrame) {
                stats_.rx_long++;
                rx_offset_ = total;
            }
            if (total == 0)
                stats_.rx_short++;
            const std::byte* base = static_cast<std::byte*>(rx_iov_[rx_next_].iov_base);
            while (rx_offset_ < total) {
                if (done == budget)
                    return done;
                const std::size_t len = std::min(rx_segment_, total - rx_offset_);
                const std::span frame(base + rx_offset_, len);
                rx_offset_ += len;
                if (len < kMinFrame) {
                    stats_.rx_short++;
                    continue;
                }
                stats_.rx_frames++;
                stats_.rx_bytes += len;
                done++;
                sink.on_frame(frame);
            }
            rx_next_++;
            rx_offset_ = 0;
        }
        return done;
    }

    const std::string args_;
    bool gso_ = false;
    bool gro_ = false;

    bool refused_ = false;

    Buffer rx_buffer_;
    std::array<mmsghdr, kRxMessages> rx_msg_;
    std::array<iovec, kRxMessages> rx_iov_;
    std::array<Control, kRxMessages> rx_control_;
    unsigned rx_ask_ = kRxMessages;  // messages to fetch next time
    unsigned rx_count_ = 0;          // messages fetched
    unsigned rx_next_ = 0;           // index of the message being delivered
    std::size_t rx_offset_ = 0;      // bytes of it that were delivered
    std::size_t rx_segment_ = 0;     // length of its frames
};

}  // namespace

std::unique_ptr<Wire> make_udp_wire(std::string_view args) {
    return std::make_unique<UdpWire>(args);
}

}  // namespace dingo
