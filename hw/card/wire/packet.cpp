// SPDX-License-Identifier: BSD-2-Clause
//
// Raw frames on an existing interface (AF_PACKET): the cable leaves this host, or ends in a veth.
//
// Two things that the kernel postpones for its own stack must be finished here: the checksum of
// frames that a local sender left to "hardware" (PACKET_VNET_HDR tells), and the VLAN tag that was
// taken out of the frame (PACKET_AUXDATA tells). Frames that a local sender left for segmentation
// offload are more than one frame; they are dropped and counted in rx_long: switch it off at the
// sender (`ethtool -K PEER_IF tso off gso off`). The interface should have no IP address of the
// host's, or the host's stack answers too.
#include <fmt/format.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "wire/factory.h"
#include "wire/ifname.h"
#include "wire/socket.h"

namespace dingo::card {
namespace {

constexpr std::size_t kTxCapacity = 256 * 1024;
constexpr std::size_t kAutoFlush = 64 * 1024;
constexpr std::size_t kMessages = 32;
constexpr std::size_t kVlanBytes = 4;
constexpr std::size_t kMacBytes = 12;
constexpr std::size_t kRxStride = kVlanBytes + kMaxFrame + 60;
constexpr int kSocketBuffer = 8 * 1024 * 1024;
constexpr const char* kPrivilege = "; it needs CAP_NET_RAW (run as root, or in a user namespace)";

/// struct virtio_net_hdr of linux/virtio_net.h, a header that C++ cannot read. Host byte order.
struct VnetHeader {
    std::uint8_t flags;
    std::uint8_t gso_type;
    std::uint16_t hdr_len;
    std::uint16_t gso_size;
    std::uint16_t csum_start;
    std::uint16_t csum_offset;
};
static_assert(sizeof(VnetHeader) == 10);
constexpr std::uint8_t kVnetNeedsChecksum = 1;  // VIRTIO_NET_HDR_F_NEEDS_CSUM
constexpr std::uint8_t kVnetGsoNone = 0;        // VIRTIO_NET_HDR_GSO_NONE

/// Puts the checksum in that covers frame[start..]; the field already holds the pseudo-header's.
void finish_checksum(std::span<std::byte> frame, std::size_t start, std::size_t offset) {
    if (start + offset + 2 > frame.size())
        return;
    std::uint32_t sum = 0;
    for (std::size_t i = start; i < frame.size(); i += 2) {
        sum += std::to_integer<std::uint32_t>(frame[i]) << 8;
        if (i + 1 < frame.size())
            sum += std::to_integer<std::uint32_t>(frame[i + 1]);
    }
    while (sum >> 16 != 0)
        sum = (sum & 0xffff) + (sum >> 16);
    sum = ~sum & 0xffff;
    if (sum == 0)
        sum = 0xffff;  // 0 means "no checksum" in UDP; both are the same number (RFC 768)
    frame[start + offset] = static_cast<std::byte>(sum >> 8);
    frame[start + offset + 1] = static_cast<std::byte>(sum & 0xff);
}

class PacketWire final : public Wire {
  public:
    explicit PacketWire(std::string_view args) : name_(checked_ifname("packet", args)) {
        open();
        rx_buffer_ = make_buffer(kMessages * kRxStride);
        for (std::size_t i = 0; i < kMessages; i++) {
            rx_iov_[i] = {iovec{&rx_header_[i], sizeof rx_header_[i]},
                          iovec{rx_buffer_.get() + i * kRxStride + kVlanBytes,
                                kRxStride - kVlanBytes}};
            rx_msg_[i] = {};
            rx_msg_[i].msg_hdr.msg_iov = rx_iov_[i].data();
            rx_msg_[i].msg_hdr.msg_iovlen = rx_iov_[i].size();
        }
    }

    std::span<std::byte> begin_frame(std::size_t max_len) override {
        if (max_len > kMaxFrame)
            return {};
        std::span<std::byte> room = tx_.begin(max_len);
        if (room.empty()) {
            flush();
            room = tx_.begin(max_len);
            if (room.empty())
                stats_.tx_full++;
        }
        return room;
    }

    void end_frame(std::size_t len) override {
        tx_.end(len);
        if (tx_.bytes() >= kAutoFlush && !blocked_)
            flush();
    }

    int fd() const override { return socket_.get(); }
    int tx_blocked_fd() const override { return blocked_ ? socket_.get() : -1; }

    void flush() override {
        blocked_ = false;
        while (!tx_.empty() && !blocked_)
            send_some();
    }

    unsigned receive(FrameSink& sink, unsigned budget) override {
        unsigned done = 0;
        for (unsigned round = 0; done < budget && round <= budget; round++) {
            const unsigned ask = std::min<unsigned>(budget - done, kMessages);
            for (unsigned i = 0; i < ask; i++) {
                rx_msg_[i].msg_hdr.msg_control = rx_control_[i].bytes.data();
                rx_msg_[i].msg_hdr.msg_controllen = sizeof rx_control_[i].bytes;
            }
            const int got = ::recvmmsg(socket_.get(), rx_msg_.data(), ask, MSG_DONTWAIT, nullptr);
            if (got <= 0) {
                if (got < 0 && errno != EAGAIN && errno != EINTR)
                    stats_.rx_errors++;
                break;
            }
            for (int i = 0; i < got; i++)
                done += deliver(sink, static_cast<unsigned>(i));
            if (static_cast<unsigned>(got) < ask)
                break;
        }
        return done;
    }

    void advance(Nanoseconds) override {}
    std::string describe() const override {
        return fmt::format("packet {} (raw frames, promiscuous)", name_);
    }

    WireStats stats() const override {
        tpacket_stats kernel{};
        socklen_t len = sizeof kernel;
        // Reading them sets them to zero.
        if (::getsockopt(socket_.get(), SOL_PACKET, PACKET_STATISTICS, &kernel, &len) == 0)
            overruns_ += kernel.tp_drops;
        WireStats out = stats_;
        out.rx_overrun = overruns_;
        return out;
    }

  private:
    struct Control {
        alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(tpacket_auxdata))> bytes;
    };

    void open() {
        const unsigned index = ::if_nametoindex(name_.c_str());
        if (index == 0)
            throw WireError(fmt::format(
                "packet wire: there is no interface '{}'; `ip link` lists them, or use tap:{} "
                "to make one",
                name_, name_));
        // Protocol 0 until it is bound: nothing from other interfaces gets in between.
        socket_ = UniqueFd(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (!socket_)
            throw_errno("packet wire: cannot make a raw socket", errno, kPrivilege);
        const int fd = socket_.get();
        set_socket_buffers(fd, kSocketBuffer);
        require(fd, PACKET_VNET_HDR, "PACKET_VNET_HDR");
        require(fd, PACKET_AUXDATA, "PACKET_AUXDATA");
        require(fd, PACKET_IGNORE_OUTGOING, "PACKET_IGNORE_OUTGOING");
        sockaddr_ll address{};
        address.sll_family = AF_PACKET;
        address.sll_protocol = __builtin_bswap16(ETH_P_ALL);
        address.sll_ifindex = static_cast<int>(index);
        if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
            throw_errno(fmt::format("packet wire: cannot bind to '{}'", name_), errno);
        packet_mreq promiscuous{};
        promiscuous.mr_ifindex = static_cast<int>(index);
        promiscuous.mr_type = PACKET_MR_PROMISC;
        if (::setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous,
                         sizeof promiscuous) != 0)
            throw_errno(fmt::format("packet wire: cannot make '{}' promiscuous", name_), errno);
    }

    void require(int fd, int option, const char* option_name) const {
        const int on = 1;
        if (::setsockopt(fd, SOL_PACKET, option, &on, sizeof on) != 0)
            throw_errno(fmt::format("packet wire '{}': the kernel has no {}", name_, option_name),
                        errno);
    }

    void send_some() {
        std::array<mmsghdr, kMessages> msg;
        std::array<iovec, kMessages> iov;
        const std::span<const std::uint32_t> lengths = tx_.lengths();
        const std::size_t n = std::min(lengths.size(), kMessages);
        std::byte* data = tx_.data();
        for (std::size_t i = 0; i < n; i++) {
            iov[i] = {data, lengths[i]};
            msg[i] = {};
            msg[i].msg_hdr.msg_iov = &iov[i];
            msg[i].msg_hdr.msg_iovlen = 1;
            data += lengths[i];
        }
        const int sent = ::sendmmsg(socket_.get(), msg.data(), static_cast<unsigned>(n), 0);
        if (sent > 0) {
            for (int i = 0; i < sent; i++)
                stats_.tx_bytes += lengths[i] - sizeof(VnetHeader);
            stats_.tx_frames += static_cast<std::uint64_t>(sent);
            tx_.pop(static_cast<std::size_t>(sent));
            return;
        }
        if (errno == EINTR)
            return;
        if (errno == EAGAIN) {
            blocked_ = true;
            return;
        }
        // ENOBUFS: the interface's queue was full and dropped it, as any switch would.
        const bool no_peer = errno == ENETDOWN || errno == ENXIO || errno == ENODEV;
        (no_peer ? stats_.tx_no_peer : stats_.tx_errors)++;
        tx_.pop(1);
    }

    unsigned deliver(FrameSink& sink, unsigned i) {
        const VnetHeader& header = rx_header_[i];
        if (rx_msg_[i].msg_len < sizeof header + kMinFrame) {
            stats_.rx_short++;
            return 0;
        }
        std::size_t len = rx_msg_[i].msg_len - sizeof header;
        if ((rx_msg_[i].msg_hdr.msg_flags & MSG_TRUNC) != 0 || len > kMaxFrame ||
            header.gso_type != kVnetGsoNone) {
            stats_.rx_long++;
            return 0;
        }
        auto* frame = static_cast<std::byte*>(rx_iov_[i][1].iov_base);
        if ((header.flags & kVnetNeedsChecksum) != 0)
            finish_checksum({frame, len}, header.csum_start, header.csum_offset);
        if (restore_vlan(rx_msg_[i].msg_hdr, frame)) {
            frame -= kVlanBytes;
            len += kVlanBytes;
        }
        stats_.rx_frames++;
        stats_.rx_bytes += len;
        sink.on_frame({frame, len});
        return 1;
    }

    /// Puts a tag that the kernel took out back in front of the type; true when there was one.
    static bool restore_vlan(msghdr& msg, std::byte* frame) {
        for (cmsghdr* c = CMSG_FIRSTHDR(&msg); c != nullptr; c = CMSG_NXTHDR(&msg, c)) {
            if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA)
                continue;
            tpacket_auxdata aux;
            std::memcpy(&aux, CMSG_DATA(c), sizeof aux);
            if ((aux.tp_status & TP_STATUS_VLAN_VALID) == 0)
                return false;
            const std::uint16_t tpid =
                (aux.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0 ? aux.tp_vlan_tpid : ETH_P_8021Q;
            std::memmove(frame - kVlanBytes, frame, kMacBytes);
            std::byte* tag = frame - kVlanBytes + kMacBytes;
            tag[0] = static_cast<std::byte>(tpid >> 8);
            tag[1] = static_cast<std::byte>(tpid & 0xff);
            tag[2] = static_cast<std::byte>(aux.tp_vlan_tci >> 8);
            tag[3] = static_cast<std::byte>(aux.tp_vlan_tci & 0xff);
            return true;
        }
        return false;
    }

    const std::string name_;
    UniqueFd socket_;
    WireStats stats_;
    mutable std::uint64_t overruns_ = 0;

    TxBatch tx_{kTxCapacity, sizeof(VnetHeader)};
    bool blocked_ = false;

    Buffer rx_buffer_;
    std::array<mmsghdr, kMessages> rx_msg_;
    std::array<std::array<iovec, 2>, kMessages> rx_iov_;
    std::array<VnetHeader, kMessages> rx_header_{};
    std::array<Control, kMessages> rx_control_;
};

}  // namespace

std::unique_ptr<Wire> make_packet_wire(std::string_view args) {
    return std::make_unique<PacketWire>(args);
}

}  // namespace dingo::card
