// SPDX-License-Identifier: BSD-2-Clause
//
// Internal to the wire `roce`: a UDP socket of one address family, bound to port 4791, which
// converts the engine's frames to datagrams and back.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <ctime>
#include <map>
#include <set>
#include <string>

#include "base/unique_fd.h"
#include "dingo/packet/headers.h"
#include "wire/icrc_id.h"
#include "wire/socket.h"

namespace dingo {

inline constexpr std::uint16_t kRocePort = 4791;

enum class GsoMode { kAuto, kOn, kOff };

/// An IPv4 or IPv6 address; IPv4 is kept as ::ffff:a.b.c.d.
using IpBytes = std::array<std::uint8_t, 16>;

struct RoceBind {
    int family = AF_INET;
    IpBytes address{};  ///< zero: all addresses
    bool any = true;
    std::string interface;  ///< "": chosen by the routes
    /// Not 0: `address` is a multicast group to join at the interface with this index.
    unsigned group_interface = 0;
};

/// The parts of an engine's frame that its datagram needs.
struct RoceFrame {
    int family = 0;  ///< 0: not RoCE v2
    IpBytes src{};
    IpBytes dst{};
    std::uint8_t tos = 0;
    std::uint8_t ttl = 0;
    std::size_t ip = 0;       ///< offset of the IP header
    std::size_t payload = 0;  ///< offset of the BTH
    std::size_t end = 0;      ///< end of the ICRC
};
RoceFrame roce_frame_of(std::span<const std::byte> frame);

std::string text_of(const IpBytes& address);

/// Buffer for all control messages of a datagram.
struct Control192 {
    alignas(cmsghdr) std::array<std::byte, 192> bytes;
};

class RoceSocket {
  public:
    /// `group_sources`: the source addresses of the card's datagrams to groups; a sender adds to
    /// them, a group's socket drops datagrams from them. Throws WireError with advice for the user.
    RoceSocket(const RoceBind& bind, GsoMode gso, std::uint64_t mac, WireStats& stats,
               std::set<IpBytes>& group_sources);

    [[nodiscard]] int fd() const { return socket_.get(); }
    [[nodiscard]] int family() const { return family_; }
    [[nodiscard]] bool blocked() const { return blocked_; }
    [[nodiscard]] std::uint64_t overruns() const { return socket_overruns(socket_.get()); }

    /// Sends the oldest frames of `batch` as long as they have this address family. Returns the
    /// number of frames sent or lost; 0: blocked(), or the first frame has the other family.
    std::size_t send(TxBatch& batch);
    void unblock() { blocked_ = false; }
    /// While on, sockets of groups may bind to the port, even if this one has all addresses.
    void share_port(bool on);

    unsigned receive(FrameSink& sink, unsigned budget);
    /// Returns true if receive() has more datagrams, already fetched, so fd() is not readable for
    /// them.
    [[nodiscard]] bool fetched() const { return rx_next_ != rx_count_; }

  private:
    static constexpr std::size_t kTxMessages = 32;
    static constexpr std::size_t kMaxSegments = 64;
    static constexpr std::size_t kRxMessages = 32;
    static constexpr std::size_t kHeadroom = 64;  // Ethernet, IPv6 and UDP headers
    static constexpr std::size_t kRxStride = kHeadroom + 65'536 + 5 * 64;

    struct Sender {  // a source of packets
        unsigned checks_left = 64;
        unsigned skipped = 0;
        bool solve = false;
    };
    struct Route {
        time_t asked = -1;  // last query, in s of CLOCK_MONOTONIC
        bool segment = false;
    };
    struct Source {
        time_t asked = -1;
        unsigned interface = 0;
    };
    struct Arrival {  // a datagram's header fields
        IpBytes src{};
        IpBytes dst{};
        std::uint16_t sport = 0;
        std::uint8_t tos = 0;
        std::uint8_t ttl = 64;
        std::size_t segment = 0;
    };

    void open(const RoceBind& bind);
    void join(const RoceBind& bind);
    [[nodiscard]] unsigned group_interface(const IpBytes& src);
    [[nodiscard]] std::string bind_error(const RoceBind& bind, int error) const;
    [[nodiscard]] bool may_segment(const IpBytes& dst);
    void put_id(std::byte* frame, const RoceFrame& f, std::uint16_t id);
    void address_message(msghdr& msg, Control192& control, sockaddr_in6& to, const RoceFrame& f,
                         std::size_t segment);
    std::size_t send_failed(int error, const RoceFrame& first, std::size_t frames);
    void explain(const std::string& text);
    [[nodiscard]] std::string explain_mtu(const RoceFrame& f) const;
    [[nodiscard]] std::string explain_source(const RoceFrame& f, int error) const;

    bool fetch();
    Arrival arrival_of(msghdr& msg, std::size_t total) const;
    std::span<std::byte> rebuild(std::byte* payload, std::size_t len, const Arrival& from,
                                 std::uint16_t id) const;
    void check_id(std::span<std::byte> frame, Sender& sender, std::uint16_t guess);
    Sender& sender_of(const IpBytes& src);

    const int family_;
    const GsoMode gso_mode_;
    const std::uint64_t mac_;
    WireStats& stats_;
    std::set<IpBytes>& group_sources_;
    const bool of_group_;
    const std::string interface_;
    UniqueFd socket_;
    bool gso_ = true;
    bool blocked_ = false;
    bool refused_ = false;
    std::map<IpBytes, Route> routes_;    // by destination
    std::map<IpBytes, Source> sources_;  // of datagrams to IPv6 groups
    std::map<IpBytes, Sender> senders_;
    Sender* sender_ = nullptr;  // source of the datagram that is being delivered
    std::map<std::string, bool> explained_;
    IcrcShiftCache shifts_;

    Buffer rx_buffer_;
    std::array<mmsghdr, kRxMessages> rx_msg_;
    std::array<iovec, kRxMessages> rx_iov_;
    std::array<Control192, kRxMessages> rx_control_;
    std::array<sockaddr_in6, kRxMessages> rx_name_;
    unsigned rx_ask_ = kRxMessages;  // datagrams to fetch next time
    unsigned rx_count_ = 0;
    unsigned rx_next_ = 0;
    std::size_t rx_offset_ = 0;
    std::uint16_t rx_index_ = 0;  // of the segment in its datagram
    Arrival rx_from_;
};

}  // namespace dingo
