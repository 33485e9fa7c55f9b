// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_wire_rx against the packet library (hw/packet): good frames of every opcode, flipped bits,
// truncated and random frames. Verdict, counter and every header field must be the same.
#include <gtest/gtest.h>

#include <deque>

#include "Vdingo_wire_rx.h"
#include "dingo/packet/icrc.h"
#include "dingo/packet/parse.h"
#include "dingo_hw.h"
#include "wire_bench.h"

namespace dingo::rtl {
namespace {

using packet::Opcode;
using packet::ParseResult;

constexpr std::size_t kKeptBytes = 145 * kBeatBytes;  // bytes kept of a frame that is too long
constexpr std::size_t kMaxLen = 8191;

class WireRx : public testing::TestWithParam<Stalls> {
  protected:
    /// Expected header (rxh_t) and payload.
    struct Packet {
        std::array<std::uint32_t, 36> rxh{};
        Frame payload;
    };
    struct Input {
        std::deque<std::pair<Frame, bool>> frames;  ///< frame, and whether the MAC marks it as bad
        std::deque<Packet> packets;
        std::deque<Frame> ethernet;
        std::size_t at = 0;
        bool up = false;
    };
    enum { kMac, kLoop };

    void SetUp() override {
        addresses.drive(dut);
        set_port(true, 4200);
        dut.link_i = 1;
        dut.s_axis_tvalid_i = dut.s_axis_tuser_i = dut.loop_valid_i = 0;
        dut.rst_ni = 0;
        for (int i = 0; i < 3; ++i) {
            clock();
        }
        dut.rst_ni = 1;
    }
    void set_port(bool enabled, unsigned mtu_bytes) {
        mtu = mtu_bytes;
        up = enabled;
        dut.port_i = mtu | (enabled ? 1u << 18 : 0);
    }
    void clock() {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
        ++cycles;
    }
    bool chance(unsigned percent) { return random() % 100 < percent; }

    Frame make(Opcode opcode, std::size_t len, bool ipv6, bool vlan, unsigned input = kMac) {
        packet::NetworkPath path;
        packet::TransportHeaders h;
        path.dmac = addresses.gids[random() % 15].mac;
        path.smac = packet::Mac::from_u64(0x0288'0000'0000 + input);
        path.l3 = ipv6 ? packet::L3Kind::kIpv6 : packet::L3Kind::kIpv4;
        for (unsigned i = 0; i < 16; ++i) {
            path.sgid.bytes[i] = static_cast<std::uint8_t>(random());
            path.dgid.bytes[i] = static_cast<std::uint8_t>(random());
        }
        if (!ipv6) {
            path.sgid = packet::Gid::from_ipv4(static_cast<std::uint32_t>(random()));
            path.dgid = packet::Gid::from_ipv4(static_cast<std::uint32_t>(random()));
        }
        path.has_vlan = vlan;
        path.vlan_tci = vlan ? static_cast<std::uint16_t>(random()) : 0;
        path.dscp = random() & 0x3f;
        path.ecn = random() & 3;
        path.hop_limit = static_cast<std::uint8_t>(random());
        path.flow_label = random() & 0xfffff;
        path.udp_sport = static_cast<std::uint16_t>(random());
        h.bth.opcode = opcode;
        h.bth.solicited = random() & 1;
        h.bth.ack_req = random() & 1;
        h.bth.pkey = static_cast<std::uint16_t>(random());
        h.bth.fecn = random() & 1;
        h.bth.dest_qp = (random() & 0xfffffe) | input;
        h.bth.psn = random() & 0xffffff;
        h.reth = {std::uint64_t{random()} << 32 | random(), static_cast<std::uint32_t>(random()),
                  static_cast<std::uint32_t>(random())};
        h.aeth = {static_cast<std::uint8_t>(random()),
                  static_cast<std::uint32_t>(random() & 0xffffff)};
        h.deth = {static_cast<std::uint32_t>(random()),
                  static_cast<std::uint32_t>(random() & 0xffffff)};
        h.imm = static_cast<std::uint32_t>(random());
        h.inv_rkey = static_cast<std::uint32_t>(random());
        h.atomic_eth = {h.reth.va, h.reth.rkey, std::uint64_t{random()} << 32 | random(),
                        std::uint64_t{random()} << 32 | random()};
        h.atomic_original = h.atomic_eth.compare;
        Frame frame(12'000);
        packet::FrameBuilder builder;
        EXPECT_TRUE(builder.begin(packet::HeaderTemplate(path), h, len,
                                  static_cast<std::uint16_t>(random()), frame));
        std::ranges::copy(random_bytes(random, len), builder.payload().begin());
        frame.resize(builder.finish().size());
        return frame;
    }

    /// A good frame with a random opcode.
    Frame make_any(std::size_t most = 600) {
        const Opcode op = opcodes[random() % opcodes.size()];
        return make(op, packet::traits(op).carries_payload ? random() % (most + 1) : 0,
                    random() & 1, random() % 3 == 0);
    }

    /// Appends a frame to an input, and what must become of it to the expectations.
    void add(const Frame& frame, unsigned input = kMac, bool bad = false) {
        Input& from = inputs[input];
        from.frames.push_back({frame, bad});
        if (!up) {
            ++expected_card[DINGO_CARD_RX_PORT_DISABLED];
            return;
        }
        if (bad) {
            ++expected_card[DINGO_CARD_RX_DROP_MALFORMED];
            return;
        }
        packet::Packet p;
        const ParseResult verdict = packet::parse(frame, p);
        packet::Mac dmac;
        std::memcpy(dmac.bytes.data(), frame.data(), std::min<std::size_t>(6, frame.size()));
        if (verdict == ParseResult::kNotRoce || verdict == ParseResult::kRunt ||
            !addresses.ours(dmac)) {
            Frame kept = frame;
            kept.resize(std::min(kept.size(), kKeptBytes));
            from.ethernet.push_back(kept);
        } else if (verdict == ParseResult::kUnknownOpcode) {
            ++expected_card[DINGO_CARD_RX_DROP_OPCODE];
        } else if (verdict != ParseResult::kRoce) {
            ++expected_card[DINGO_CARD_RX_DROP_MALFORMED];
        } else if (p.frame_bytes() > mtu + 14 + (p.has_vlan ? 4 : 0)) {
            ++expected_card[DINGO_CARD_ETH_RX_TOO_LONG];
        } else if (!packet::icrc_check(frame, p)) {
            ++expected_card[DINGO_CARD_RX_ICRC_ENCAPSULATED];
        } else {
            from.packets.push_back(reference(frame, p));
        }
    }

    static Packet reference(const Frame& frame, const packet::Packet& p) {
        Packet out;
        const std::size_t len = std::min(p.payload.size(), kMaxLen);
        std::array<std::uint8_t, 40> grh{};
        const std::size_t ip = p.l3 == packet::L3Kind::kIpv4 ? 20 : 40;
        std::memcpy(grh.data() + 40 - ip, frame.data() + p.l3_offset, ip);
        const bool atomic = p.op().is_atomic();
        Fields(out.rxh.data())
            .put(13, len)
            .put(24, p.deth.src_qp)
            .put(32, p.deth.qkey)
            .put(64, p.atomic_eth.compare)
            .put(64, p.op().is_atomic_ack() ? p.atomic_original : p.atomic_eth.swap_add)
            .put(32, __builtin_bswap32(p.op().has_ieth() ? p.inv_rkey : p.imm))
            .put(24, p.aeth.msn)
            .put(8, p.aeth.syndrome)
            .put(32, atomic ? 8 : p.reth.length)
            .put(32, atomic ? p.atomic_eth.rkey : p.reth.rkey)
            .put(64, atomic ? p.atomic_eth.va : p.reth.va)
            .put(24, p.bth.psn)
            .put(24, p.bth.dest_qp)
            .put(16, p.bth.pkey)
            .put(1, p.bth.ack_req)
            .put(1, p.bth.solicited)
            .put(8, static_cast<std::uint8_t>(p.bth.opcode))
            .bytes(grh)
            .bytes(p.dgid.bytes)
            .bytes(p.sgid.bytes)
            .put(14, p.frame_bytes())
            .put(1, p.ecn == packet::tos::kEcnCongested)
            .put(16, p.vlan_tci)
            .put(1, p.has_vlan)
            .put(1, p.l3 == packet::L3Kind::kIpv4);
        out.payload.assign(p.payload.begin(), p.payload.begin() + static_cast<std::ptrdiff_t>(len));
        return out;
    }

    void run(Stalls stalls) {
        std::deque<Frame> payloads;  // of the headers received so far
        Frame payload, ethernet;
        const std::uint64_t limit = cycles + 600'000;
        const std::uint64_t began = cycles;
        for (int quiet = 0; quiet < 40;) {
            ASSERT_LT(cycles, limit) << "hangs";
            for (Input& input : inputs) {
                input.up = input.up || (!input.frames.empty() && chance(stalls.in));
            }
            Input& mac = inputs[kMac];
            dut.s_axis_tvalid_i = mac.up;
            if (mac.up) {
                std::array<std::uint32_t, 17> beat;
                put_beat(beat.data(), mac.frames.front().first, mac.at, false, random);
                const BeatView view(beat.data());
                std::memcpy(&dut.s_axis_tdata_i[0], beat.data(), 64);
                dut.s_axis_tkeep_i = view.bytes == 64 ? ~0ull : (1ull << view.bytes) - 1;
                dut.s_axis_tlast_i = view.last;
                dut.s_axis_tuser_i = view.last && mac.frames.front().second;
            }
            Input& loop = inputs[kLoop];
            dut.loop_valid_i = loop.up;
            if (loop.up) {
                put_beat(&dut.loop_i[0], loop.frames.front().first, loop.at, false, random);
            }
            dut.rxh_ready_i = chance(stalls.out);
            dut.payload_ready_i = packets_seen >= hold_payload && chance(stalls.out);
            dut.eth_ready_i = chance(stalls.out);
            dut.stat_ready_i = chance(stalls.out);
            dut.eval();
            quiet = dut.idle_o && mac.frames.empty() && loop.frames.empty() ? quiet + 1 : 0;
            if (quiet == 1) {
                busy_cycles = cycles - began;
            }
            const std::array<bool, 2> ready = {dut.s_axis_tready_o != 0, dut.loop_ready_o != 0};
            if (mac.up && !ready[kMac]) {
                EXPECT_TRUE(mac.at == 0) << "held up in the middle of a frame";
            }
            for (unsigned i = 0; i < 2; ++i) {
                Input& input = inputs[i];
                if (input.up && ready[i]) {
                    input.up = false;
                    if (++input.at == beats_of(input.frames.front().first.size())) {
                        input.at = 0;
                        input.frames.pop_front();
                    }
                }
            }
            if (dut.rxh_valid_o && dut.rxh_ready_i) {
                header(payloads);
            }
            if (dut.payload_valid_o && dut.payload_ready_i) {
                const BeatView beat(&dut.payload_o[0]);
                if (append(payload, &dut.payload_o[0], beat)) {
                    ASSERT_FALSE(payloads.empty());
                    EXPECT_TRUE(payload == payloads.front());
                    EXPECT_EQ(payload.size(), payloads.front().size());
                    payloads.pop_front();
                    payload.clear();
                }
            }
            if (dut.eth_valid_o && dut.eth_ready_i) {
                const BeatView beat(&dut.eth_o[0]);
                if (append(ethernet, &dut.eth_o[0], beat)) {
                    Input* from = find_ethernet(ethernet);
                    ASSERT_NE(from, nullptr) << "an Ethernet frame that nobody expects";
                    from->ethernet.pop_front();
                    ethernet.clear();
                }
            }
            if (dut.stat_valid_o && dut.stat_ready_i) {
                card[dut.stat_o >> 16] += dut.stat_o & 0xffff;
            }
            clock();
        }
        EXPECT_TRUE(payloads.empty());
        for (Input& input : inputs) {
            EXPECT_TRUE(input.packets.empty());
            EXPECT_TRUE(input.ethernet.empty());
        }
        EXPECT_EQ(card, expected_card);
    }

    void header(std::deque<Frame>& payloads) {
        for (Input& input : inputs) {
            if (!input.packets.empty() && std::memcmp(input.packets.front().rxh.data(),
                                                      &dut.rxh_o[0], sizeof dut.rxh_o) == 0) {
                if (!input.packets.front().payload.empty()) {
                    payloads.push_back(std::move(input.packets.front().payload));
                }
                input.packets.pop_front();
                ++packets_seen;
                return;
            }
        }
        ADD_FAILURE() << "a header that nobody expects, opcode "
                      << get_bits(&dut.rxh_o[0], 295 + 40 + 128, 8);
    }

    static bool append(Frame& frame, const std::uint32_t* data, const BeatView& beat) {
        EXPECT_FALSE(beat.err);
        EXPECT_TRUE(beat.bytes > 0 && beat.bytes <= 64 && (beat.last || beat.bytes == 64));
        const auto* from = reinterpret_cast<const std::byte*>(data);
        frame.insert(frame.end(), from, from + beat.bytes);
        return beat.last;
    }

    Input* find_ethernet(const Frame& frame) {
        for (Input& input : inputs) {
            if (!input.ethernet.empty() && input.ethernet.front() == frame) {
                return &input;
            }
        }
        return nullptr;
    }

    static std::vector<Opcode> all_opcodes() {
        std::vector<Opcode> list;
        for (unsigned i = 0; i < 256; ++i) {
            if (packet::traits(static_cast<Opcode>(i)).known()) {
                list.push_back(static_cast<Opcode>(i));
            }
        }
        return list;
    }

    Vdingo_wire_rx dut;
    Addresses addresses;
    Random random{11};
    const std::vector<Opcode> opcodes = all_opcodes();
    std::array<Input, 2> inputs;
    std::array<std::uint64_t, 64> card{}, expected_card{};
    unsigned mtu = 0;
    bool up = false;
    std::uint64_t cycles = 0, busy_cycles = 0, packets_seen = 0;
    std::uint64_t hold_payload = 0;  ///< number of headers before any payload is taken
};

TEST_P(WireRx, GivesEveryFieldOfGoodPackets) {
    for (const Opcode op : opcodes) {
        for (unsigned kind = 0; kind < 4; ++kind) {
            add(make(op, packet::traits(op).carries_payload ? random() % 300 : 0, kind & 1,
                     kind & 2));
        }
    }
    run(GetParam());
    EXPECT_EQ(packets_seen, opcodes.size() * 4);
}

TEST_P(WireRx, PayloadOfEverySizeComesWithoutItsPad) {
    set_port(true, 9216);
    for (std::size_t len = 0; len <= 140; ++len) {
        for (unsigned kind = 0; kind < 4; ++kind) {
            add(make(len % 2 ? Opcode::kRcSendMiddle : Opcode::kRcWriteOnly, len, kind & 1,
                     kind & 2));
        }
    }
    for (const std::size_t len :
         {255, 256, 1024, 4000, 4093, 4095, 4096, 4097, 8190, 8191, 8192, 9000}) {
        for (unsigned kind = 0; kind < 4; ++kind) {
            add(make(Opcode::kRcSendLastImm, len, kind & 1, kind & 2));
        }
    }
    run(GetParam());
}

TEST_P(WireRx, FlippedBitsAreCaught) {
    std::uint64_t flipped = 0;
    for (int i = 0; i < 1500; ++i) {
        Frame frame = make_any(i % 10 == 0 ? 2000 : 100);
        const std::size_t most =
            i % 3 == 0 ? std::min<std::size_t>(frame.size(), 60) : frame.size();
        const unsigned flips = 1 + random() % 3;
        for (unsigned k = 0; k < flips; ++k) {
            frame[random() % most] ^= static_cast<std::byte>(1 << random() % 8);
        }
        flipped += flips;
        add(frame);
    }
    run(GetParam());
    EXPECT_GT(card[DINGO_CARD_RX_ICRC_ENCAPSULATED], flipped / 5);
}

TEST_P(WireRx, CutFramesAreMalformedOrNotRoce) {
    for (int i = 0; i < 12; ++i) {
        const Frame frame = make_any(40);
        for (std::size_t n = 1; n < frame.size(); n += 1 + random() % 3) {
            add(Frame(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(n)));
        }
    }
    run(GetParam());
    EXPECT_GT(card[DINGO_CARD_RX_DROP_MALFORMED], 100u);
}

TEST_P(WireRx, RandomFramesGoWhereTheReferenceSendsThem) {
    for (int i = 0; i < 1500; ++i) {
        Frame frame = make_any(80);
        const std::size_t head = frame.size() < 90 ? frame.size() : 90;
        for (unsigned k = random() % 4; k > 0; --k) {  // random values in the headers
            frame[random() % head] = static_cast<std::byte>(random() % 3 == 0 ? 0 : random());
        }
        if (i % 4 == 0) {
            frame = random_bytes(random, 1 + random() % 300);
        }
        if (i % 5 == 0) {
            const auto tail = random_bytes(random, random() % 100);  // Ethernet padding
            frame.insert(frame.end(), tail.begin(), tail.end());
        }
        add(frame, kMac, random() % 16 == 0);
    }
    run(GetParam());
}

TEST_P(WireRx, LengthLimitsAreThePorts) {
    for (const unsigned limit : {256u, 1500u, 4200u, 9216u}) {
        set_port(true, limit);
        for (int delta = -6; delta <= 6; ++delta) {
            for (unsigned kind = 0; kind < 4; ++kind) {
                const std::size_t head =
                    14 + (kind & 2 ? 4 : 0) + (kind & 1 ? 40 : 20) + 8 + 12 + 4;
                add(make(Opcode::kRcSendOnly,
                         limit + 14 - head + static_cast<std::size_t>(4 * delta), kind & 1,
                         kind & 2));
            }
        }
        run(GetParam());
    }
    for (const std::size_t size : {9233, 9234, 9235, 9279, 9280, 9281, 12'000, 30'000}) {
        add(random_bytes(random, size));
        Frame roce = make(Opcode::kRcSendOnly, 500, size & 1, false);
        roce.resize(size);  // a small packet with much Ethernet padding
        add(roce);
    }
    run(GetParam());
}

TEST_P(WireRx, FramesThatTheMacDroppedAreCounted) {
    dut.stat_ready_i = 0;
    for (int i = 0; i < 40; ++i) {
        dut.dropped_i = random() % 5;
        dut.spoilt_i = random() % 5;
        expected_card[DINGO_CARD_ETH_RX_NO_BUFFER] += dut.dropped_i;
        expected_card[DINGO_CARD_RX_DROP_MALFORMED] += dut.spoilt_i;
        clock();
    }
    dut.dropped_i = dut.spoilt_i = 0;
    for (int i = 0; i < 30; ++i)
        add(make_any());
    run(GetParam());
}

TEST_P(WireRx, BothInputsGetTheirTurn) {
    for (int i = 0; i < 150; ++i) {
        for (const unsigned input : {kMac, kLoop}) {
            add(make(Opcode::kRcWriteOnly, random() % 2000, random() & 1, random() & 1, input),
                input);
            Frame other = random_bytes(random, 14 + random() % 1500);
            other[6] = static_cast<std::byte>(input);
            add(other, input);
        }
    }
    run(GetParam());
}

TEST_P(WireRx, ADisabledPortDropsAndCounts) {
    set_port(false, 1500);
    for (int i = 0; i < 50; ++i) {
        add(make_any());
        add(make_any(), kLoop);
    }
    run(GetParam());
    EXPECT_EQ(card[DINGO_CARD_RX_PORT_DISABLED], 100u);
    set_port(true, 1500);
    add(make(Opcode::kRcSendOnly, 100, false, false));
    run(GetParam());
    EXPECT_EQ(packets_seen, 1u);
}

INSTANTIATE_TEST_SUITE_P(Stalls, WireRx, every_stall(), name_of_stalls);

/// The transport may hold the path to memory while it waits for a header's payload, so the payload
/// must not be behind an Ethernet frame, which needs the same path.
TEST_F(WireRx, AHeaderDoesNotOvertakeAnEthernetFrameInFrontOfItsPayload) {
    std::vector<Frame> frames;
    for (unsigned i = 0; i < 8; ++i)
        frames.push_back(random_bytes(random, 1000));
    frames.push_back(make(Opcode::kRcWriteOnly, 500, false, false));
    for (const Frame& frame : frames)
        add(frame);
    std::size_t sent = 0;
    dut.rxh_ready_i = 1;
    dut.eth_ready_i = 0;
    for (int i = 0; i < 400; ++i) {
        const Frame& frame = frames[std::min(sent, frames.size() - 1)];
        Input& mac = inputs[kMac];
        dut.s_axis_tvalid_i = sent < frames.size();
        std::array<std::uint32_t, 17> beat;
        put_beat(beat.data(), frame, mac.at, false, random);
        const BeatView view(beat.data());
        std::memcpy(&dut.s_axis_tdata_i[0], beat.data(), 64);
        dut.s_axis_tkeep_i = view.bytes == 64 ? ~0ull : (1ull << view.bytes) - 1;
        dut.s_axis_tlast_i = view.last;
        dut.eval();
        if (dut.s_axis_tvalid_i && dut.s_axis_tready_o && ++mac.at == beats_of(frame.size())) {
            mac.at = 0;
            ++sent;
        }
        ASSERT_FALSE(dut.rxh_valid_o);
        clock();
    }
    ASSERT_EQ(sent, frames.size());
    inputs[kMac].frames.clear();
    run({100, 100});
    EXPECT_EQ(packets_seen, 1u);
}

TEST_F(WireRx, SmallPacketsPassEveryThreeCycles) {
    for (unsigned i = 0; i < 300; ++i) {
        add(make(Opcode::kRcWriteOnly, 64, false, false));
    }
    run({100, 100});
    EXPECT_LE(busy_cycles, 3 * 300 + 60u);
}

/// Address translation runs ahead of payload, as a miss of its caches takes 150 cycles.
TEST_F(WireRx, HeadersOfSmallPacketsComeWhilePayloadWaits) {
    for (unsigned i = 0; i < 100; ++i) {
        add(make(Opcode::kRcWriteOnly, 64, false, false));
    }
    hold_payload = 64;
    run({100, 100});
    EXPECT_EQ(packets_seen, 100u);
}

TEST_F(WireRx, LargePacketsFillEveryBeat) {
    for (unsigned i = 0; i < 40; ++i) {
        add(make(Opcode::kRcWriteMiddle, 4096, false, false));
    }
    run({100, 100});
    EXPECT_LE(busy_cycles, 66 * 40 + 160u);
}

}  // namespace
}  // namespace dingo::rtl
