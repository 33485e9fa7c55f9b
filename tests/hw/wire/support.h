// SPDX-License-Identifier: BSD-2-Clause
//
// What the wire tests share: frames to send, a sink that keeps them, and waiting for arrival.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dingo/packet/parse.h"
#include "dingo/packet/text.h"
#include "wire/wire.h"

namespace dingo::test {

using Frame = std::vector<std::byte>;

class KeepingSink final : public FrameSink {
  public:
    void on_frame(std::span<const std::byte> frame) override {
        frames.emplace_back(frame.begin(), frame.end());
    }
    std::vector<Frame> frames;
};

/// A frame of an unassigned EtherType (0x88b5, local experiments) that is different for each tag.
inline Frame plain_frame(std::size_t size, unsigned tag) {
    Frame out(size);
    for (std::size_t i = 0; i < size; i++)
        out[i] = static_cast<std::byte>((i * 7 + tag * 13) & 0xff);
    const unsigned char head[] = {0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x88, 0xb5};
    std::transform(std::begin(head), std::end(head), out.begin(),
                   [](unsigned char c) { return std::byte{c}; });
    return out;
}

inline packet::NetworkPath path(std::string_view src = "10.77.0.1",
                                std::string_view dst = "10.77.0.2") {
    packet::NetworkPath out;
    out.dmac = packet::Mac::from_u64(0x024449000002);
    out.smac = packet::Mac::from_u64(0x024449000001);
    out.sgid = packet::parse_gid(src).value();
    out.dgid = packet::parse_gid(dst).value();
    out.l3 = out.sgid.is_ipv4_mapped() ? packet::L3Kind::kIpv4 : packet::L3Kind::kIpv6;
    return out;
}

/// The frame of one line in the packet script language of dingo/packet/text.h.
inline Frame roce_frame(const std::string& line, const packet::NetworkPath& on = path()) {
    std::string error;
    const auto text = packet::parse_text(line, error);
    EXPECT_TRUE(text.has_value()) << error;
    return text ? packet::build_text(on, *text) : Frame{};
}

/// An RC WRITE middle packet, the commonest thing on the wire.
inline Frame write_frame(unsigned qpn, unsigned psn, unsigned bytes = 64) {
    return roce_frame(
        fmt::format("RC_RDMA_WRITE_MIDDLE qpn={} psn={} payload=pattern:{}", qpn, psn, bytes));
}

/// Queues a frame; false when the wire takes nothing.
inline bool send(Wire& wire, const Frame& frame) {
    const std::span<std::byte> room = wire.begin_frame(frame.size());
    if (room.empty())
        return false;
    std::copy(frame.begin(), frame.end(), room.begin());
    wire.end_frame(frame.size());
    return true;
}

/// Sends all, flushing `wire` and taking at the other end as it goes, and waits (30 s at most, for
/// a busy machine) until `expected` frames came.
inline std::vector<Frame> pass(Wire& wire, Wire& peer, const std::vector<Frame>& frames,
                               std::size_t expected) {
    KeepingSink sink;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    for (const Frame& frame : frames) {
        while (!send(wire, frame) && std::chrono::steady_clock::now() < end)
            peer.receive(sink, 64);
    }
    do {
        wire.flush();
        if (peer.receive(sink, 64) == 0 && peer.fd() >= 0) {
            pollfd p{peer.fd(), POLLIN, 0};
            ::poll(&p, 1, 10);
        }
    } while (sink.frames.size() < expected && std::chrono::steady_clock::now() < end);
    return sink.frames;
}

inline std::vector<Frame> pass(Wire& wire, Wire& peer, const std::vector<Frame>& frames) {
    return pass(wire, peer, frames, frames.size());
}

/// The PSNs of RoCE frames, in order.
inline std::vector<unsigned> psns(const std::vector<Frame>& frames) {
    std::vector<unsigned> out;
    for (const Frame& frame : frames) {
        packet::Packet p;
        EXPECT_EQ(packet::parse(frame, p), packet::ParseResult::kRoce);
        out.push_back(p.bth.psn);
    }
    return out;
}

inline std::unique_ptr<Wire> make(const std::string& spec) {
    WireOptions options;
    options.wire = spec;
    return make_wire(options);
}

/// The message of the WireError that `fn` throws.
template <typename Fn>
std::string error_of(Fn&& fn) {
    try {
        fn();
    } catch (const WireError& e) {
        return e.what();
    }
    ADD_FAILURE() << "no WireError was thrown";
    return "";
}

inline void expect_contains(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

/// A pair of distinct, probably free port numbers.
inline std::pair<int, int> free_ports(int salt) {
    const int base = 10'000 + (::getpid() * 16 + salt * 2) % 20'000;
    return {base, base + 1};
}

}  // namespace dingo::test
