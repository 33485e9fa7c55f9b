// SPDX-License-Identifier: BSD-2-Clause
#include "wire/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "dingo/packet/icrc.h"
#include "dingo/packet/train.h"
#include "dingo/touch.h"
#include "wire/factory.h"

namespace dingo {

static_assert(kMaxTrain >= packet::kMaxTrainFrame);

namespace {

struct WireForm {
    std::string_view scheme;
    std::string_view usage;
    std::string_view help;
    std::unique_ptr<Wire> (*make)(std::string_view args, const WireOptions& options);
    bool bare = false;  // the colon is optional
};

/// Adapts the constructor of a wire that needs no options.
template <std::unique_ptr<Wire> (*make)(std::string_view)>
std::unique_ptr<Wire> plain(std::string_view args, const WireOptions&) {
    return make(args);
}

constexpr std::array kForms{
    WireForm{"shm", "shm[:NET][,icrc=auto|on][,refs=auto|off]",
             "an Ethernet segment in shared memory: all cards of this host that name the same NET\n"
             "(default: default) in the same $DINGO_RUN; NET may also be an absolute path.\n"
             "The fastest one; loses nothing unless a card stops. icrc=auto: frames have an ICRC\n"
             "only while they are captured or disturbed. refs=auto: payloads stay in clients' "
             "memory, which\n"
             "the card of the same user at the other end maps for reading",
             make_shm_wire, true},
    WireForm{
        "roce", "roce[:IP[%IF]][,gso=auto|on|off][,guard=on|off]",
        "RoCE v2 over a UDP socket on port 4791 of this host's address IP (default: all): to\n"
        "other hosts, to rdma_rxe, to a ConnectX; no privilege needed. The card's --ip must be\n"
        "an address of this host. gso=auto: segmentation offload within this host and over veth.\n"
        "guard=off: cards of other users may have the port at other addresses of this host",
        make_roce_wire, true},
    WireForm{"udp", "udp:LOCAL_IP:PORT,PEER_IP:PORT",
             "one Ethernet frame in each UDP datagram, e.g. udp:127.0.0.1:7001,127.0.0.1:7002 or\n"
             "udp:[::1]:7001,[::1]:7002; joins QEMU's\n"
             "-netdev dgram,id=N,local.type=inet,local.host=PEER_IP,local.port=PORT,\n"
             "remote.type=inet,remote.host=LOCAL_IP,remote.port=PORT",
             plain<make_udp_wire>},
    WireForm{"unix", "unix:LOCAL_PATH,PEER_PATH",
             "one frame in each datagram of a UNIX socket; slower than udp, but a slow\n"
             "peer holds the sender back where udp loses frames;\n"
             "joins QEMU's -netdev dgram,local.type=unix,local.path=...,remote.type=unix,...",
             plain<make_unix_wire>},
    WireForm{"tap", "tap:IFNAME", "a TAP interface of this host, made when it does not exist",
             plain<make_tap_wire>},
    WireForm{"packet", "packet:IFNAME",
             "raw frames on an existing interface (physical or veth), promiscuous",
             plain<make_packet_wire>},
};

/// Indents each line of `text` with `by`.
std::string indent(std::string_view text, std::string_view by) {
    std::string out(by);
    for (const char c : text) {
        out += c;
        if (c == '\n')
            out += by;
    }
    return out;
}

}  // namespace

void FrameSink::on_frame_without_icrc(std::span<const std::byte> frame, const Elsewhere& payload) {
    std::array<std::byte, kMaxFrame> room;
    const std::span<std::byte> copy = std::span(room).first(std::min(frame.size(), room.size()));
    std::copy_n(frame.begin(), copy.size(), copy.begin());
    // Parse the copy: the sender may change the frame at any time.
    packet::Packet packet;
    if (packet::parse(copy, packet) == packet::ParseResult::kRoce) {
        if (payload.at != nullptr) {
            touches(payload.at, packet.payload.size());
            std::copy_n(payload.at, packet.payload.size(), copy.begin() + packet.payload_offset);
        }
        packet::icrc_append(copy.first(packet.frame_bytes()), packet.l3_offset, packet.l3);
    }
    on_frame(copy);
}

void FrameSink::on_train(std::span<const std::byte> frame, const Elsewhere& payload,
                         unsigned packets) {
    std::array<std::byte, kMaxFrame> room;
    packet::TrainCutter cutter(frame, payload.at, packets);
    for (auto one = cutter.next(room); !one.empty(); one = cutter.next(room))
        on_frame(one);
}

void Wire::set_faults(std::string_view) {
    throw WireError("this wire has no fault injector: make it with make_wire() or wrap_wire()");
}

std::unique_ptr<Wire> wrap_wire(std::unique_ptr<Wire> wire, const WireOptions& options) {
    if (!options.pcap.empty())
        wire = make_pcap_tee(std::move(wire), options.pcap);
    return make_fault_injector(std::move(wire), options.faults, options.seed);
}

std::unique_ptr<Wire> make_wire(const WireOptions& options) {
    if (options.wire == "none")
        return wrap_wire(make_none_wire(), options);
    const std::size_t colon = options.wire.find(':');
    const std::string_view scheme = std::string_view(options.wire).substr(0, colon);
    for (const WireForm& form : kForms) {
        if (form.scheme != scheme)
            continue;
        if (colon == std::string::npos && !form.bare)
            throw WireError(fmt::format("wire '{}' needs arguments: {}", scheme, form.usage));
        std::string_view args;
        if (colon != std::string::npos)
            args = std::string_view(options.wire).substr(colon + 1);
        return wrap_wire(form.make(args, options), options);
    }
    std::string known;
    for (const WireForm& form : kForms)
        known += fmt::format("{}, ", form.usage);
    throw WireError(fmt::format("unknown wire '{}'; known are: {}none", options.wire, known));
}

std::string wire_help() {
    std::string out;
    for (const WireForm& form : kForms)
        out += fmt::format("  {}\n{}\n", form.usage, indent(form.help, "      "));
    out += "  none\n      no wire: the link is down\n";
    return out;
}

}  // namespace dingo
