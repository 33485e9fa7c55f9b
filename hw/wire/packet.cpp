// SPDX-License-Identifier: BSD-2-Clause
//
// Raw frames on an existing interface (AF_PACKET): the wire leaves this host, or ends in a veth.
//
// Completes what the kernel postpones: checksums and segmentation that a local sender left to
// "hardware" (reported by PACKET_VNET_HDR; on a veth every TCP frame), and the VLAN tag that was
// removed from the frame (reported by PACKET_AUXDATA). The interface should have no IP address of
// the host, or the host's network stack answers, too.
#include <fmt/format.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "wire/factory.h"
#include "wire/ifname.h"
#include "wire/segment.h"
#include "wire/socket.h"

namespace dingo {
namespace {

constexpr std::size_t kPacketTxCapacity = 256UL * 1024;
constexpr std::size_t kPacketAutoFlush = 64UL * 1024;
constexpr std::size_t kPacketMessages = 32;
constexpr std::size_t kVlanBytes = 4;
constexpr std::size_t kMacBytes = 12;
constexpr std::size_t kPacketRxStride = kVlanBytes + 65'536 + 60;  // a frame left for segmentation
constexpr int kPacketSocketBuffer = 8 * 1024 * 1024;
constexpr const char* kPrivilege = "; it needs CAP_NET_RAW (run as root, or in a user namespace)";

class PacketWire final : public SocketWire {
  public:
    explicit PacketWire(std::string_view args)
        : SocketWire(kPacketTxCapacity, kPacketAutoFlush, sizeof(VnetHeader)),
          name_(checked_ifname("packet", args)) {
        open();
        rx_buffer_ = make_buffer(kPacketMessages * kPacketRxStride);
        for (std::size_t i = 0; i < kPacketMessages; i++) {
            rx_iov_[i] = {iovec{&rx_header_[i], sizeof rx_header_[i]},
                          iovec{rx_buffer_.get() + i * kPacketRxStride + kVlanBytes,
                                kPacketRxStride - kVlanBytes}};
            rx_msg_[i] = {};
            rx_msg_[i].msg_hdr.msg_iov = rx_iov_[i].data();
            rx_msg_[i].msg_hdr.msg_iovlen = rx_iov_[i].size();
        }
    }

    unsigned receive(FrameSink& sink, unsigned budget) override {
        unsigned done = 0;
        for (unsigned round = 0; done < budget && round <= budget; round++) {
            const unsigned ask = std::min<unsigned>(budget - done, kPacketMessages);
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
        return std::min(done, budget);  // all segments of a frame are delivered together
    }

    void advance(Nanoseconds) override {}
    std::string describe() const override {
        return fmt::format("packet {} (raw frames, promiscuous)", name_);
    }

    WireStats stats() const override {
        tpacket_stats kernel{};
        socklen_t len = sizeof kernel;
        // Reading the statistics resets them.
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
        // Protocol 0 until bind(), so that no frames of other interfaces are received before.
        socket_ = UniqueFd(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (!socket_)
            throw_errno("packet wire: cannot make a raw socket", errno, kPrivilege);
        const int fd = socket_.get();
        set_socket_buffers(fd, kPacketSocketBuffer);
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
        if (::setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof promiscuous) !=
            0)
            throw_errno(fmt::format("packet wire: cannot make '{}' promiscuous", name_), errno);
    }

    void require(int fd, int option, const char* option_name) const {
        const int on = 1;
        if (::setsockopt(fd, SOL_PACKET, option, &on, sizeof on) != 0)
            throw_errno(fmt::format("packet wire '{}': the kernel has no {}", name_, option_name),
                        errno);
    }

    void send_some() override {
        if (send_batch(socket_.get()))
            return;
        if (errno == EINTR)
            return;
        if (errno == EAGAIN) {
            blocked_ = true;
            return;
        }
        // ENOBUFS: the interface's queue was full and the frame was dropped, as by any switch.
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
        const std::size_t len = rx_msg_[i].msg_len - sizeof header;
        std::byte* frame = rx_buffer_.get() + i * kPacketRxStride + kVlanBytes;
        if ((rx_msg_[i].msg_hdr.msg_flags & MSG_TRUNC) != 0) {
            stats_.rx_long++;
            return 0;
        }
        const std::uint32_t tag = stripped_vlan(rx_msg_[i].msg_hdr);
        if (header.gso_type != kVnetGsoNone)
            return deliver_segments(sink, {frame, len}, header, tag);
        if (len > kMaxFrame) {
            stats_.rx_long++;
            return 0;
        }
        if ((header.flags & kVnetNeedsChecksum) != 0)
            finish_checksum({frame, len}, header.csum_start, header.csum_offset);
        deliver_one(sink, frame, len, tag);
        return 1;
    }

    unsigned deliver_segments(FrameSink& sink, std::span<const std::byte> frame,
                              const VnetHeader& header, std::uint32_t tag) {
        Segmenter segmenter(frame, header);
        if (!segmenter.valid()) {
            stats_.rx_long++;
            return 0;
        }
        unsigned done = 0;
        const std::span room = std::span(segment_).subspan(kVlanBytes);
        while (const std::size_t len = segmenter.next(room)) {
            deliver_one(sink, room.data(), len, tag);
            done++;
        }
        return done;
    }

    /// `frame` must have kVlanBytes of room in front of it.
    void deliver_one(FrameSink& sink, std::byte* frame, std::size_t len, std::uint32_t tag) {
        if (tag != 0) {
            frame -= kVlanBytes;
            len += kVlanBytes;
            std::memmove(frame, frame + kVlanBytes, kMacBytes);
            for (std::size_t i = 0; i < kVlanBytes; i++)
                frame[kMacBytes + i] = static_cast<std::byte>(tag >> (24 - 8 * i) & 0xff);
        }
        stats_.rx_frames++;
        stats_.rx_bytes += len;
        sink.on_frame({frame, len});
    }

    /// Returns the VLAN tag (type and TCI) that the kernel removed from a frame; 0 if none.
    static std::uint32_t stripped_vlan(msghdr& msg) {
        for (cmsghdr* c = CMSG_FIRSTHDR(&msg); c != nullptr; c = CMSG_NXTHDR(&msg, c)) {
            if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA)
                continue;
            tpacket_auxdata aux;
            std::memcpy(&aux, CMSG_DATA(c), sizeof aux);
            if ((aux.tp_status & TP_STATUS_VLAN_VALID) == 0)
                return 0;
            const std::uint32_t tpid =
                (aux.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0 ? aux.tp_vlan_tpid : ETH_P_8021Q;
            return tpid << 16 | aux.tp_vlan_tci;
        }
        return 0;
    }

    const std::string name_;
    mutable std::uint64_t overruns_ = 0;

    Buffer rx_buffer_;
    std::array<mmsghdr, kPacketMessages> rx_msg_;
    std::array<std::array<iovec, 2>, kPacketMessages> rx_iov_;
    std::array<VnetHeader, kPacketMessages> rx_header_{};
    std::array<Control, kPacketMessages> rx_control_;
    std::array<std::byte, kVlanBytes + kMaxFrame> segment_;
};

}  // namespace

std::unique_ptr<Wire> make_packet_wire(std::string_view args) {
    return std::make_unique<PacketWire>(args);
}

}  // namespace dingo
