// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_wire_tx against the packet library (hw/packet): opcodes, IP versions, VLAN and payload
// sizes, with stalls on all sides; payload that could not be read; frames of the Ethernet function
// between.
#include <gtest/gtest.h>

#include <deque>

#include "Vdingo_wire_tx.h"
#include "dingo_hw.h"
#include "wire_bench.h"

namespace dingo::rtl {
namespace {

using packet::Opcode;

struct Sent {
    Frame frame;
    bool loop = false;
    unsigned qp = 0;
};

struct Report {
    bool from_rsp;
    bool ok;
    unsigned gen;
    unsigned qp;
    std::uint32_t psn;
    auto operator<=>(const Report&) const = default;
};

class WireTx : public testing::TestWithParam<Stalls> {
  protected:
    struct Packet {
        std::array<std::uint32_t, 28> txd{};
        Frame payload;
        bool err = false;
    };

    void SetUp() override {
        addresses.drive(dut);
        dut.link_i = 1;
        dut.rst_ni = 0;
        for (int i = 0; i < 3; ++i) {
            clock();
        }
        dut.rst_ni = 1;
    }

    void clock() {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
        ++cycles;
    }

    bool chance(unsigned percent) { return random() % 100 < percent; }

    /// Appends a packet with random fields, and the frame and report expected of it.
    void add(Opcode opcode, unsigned sgid, std::size_t len, bool err = false, bool tell = false) {
        const Addresses::Gid& source = addresses.gids[sgid];
        Packet p;
        packet::NetworkPath path;
        packet::TransportHeaders h;
        const bool loop = random() % 100 < loop_percent;
        path.dmac = packet::Mac::from_u64(0x0299'0000'0000 | (random() & 0xffff));
        if (loop) {
            path.dmac =
                random() % 2 ? addresses.gids[random() % 15].mac : addresses.macs[random() % 16];
        }
        const bool turns = addresses.ours(path.dmac) && !path.dmac.is_multicast();
        path.smac = source.mac;
        path.sgid = source.gid;
        for (auto& b : path.dgid.bytes) {
            b = static_cast<std::uint8_t>(random());
        }
        const unsigned sl = random() & 0xf;
        path.has_vlan = source.vlan != 0xffff;
        if (path.has_vlan) {
            path.vlan_tci = static_cast<std::uint16_t>(source.vlan | (sl & 7) << 13);
        }
        path.l3 = source.gid.is_ipv4_mapped() ? packet::L3Kind::kIpv4 : packet::L3Kind::kIpv6;
        if (path.l3 == packet::L3Kind::kIpv4) {
            path.dgid = packet::Gid::from_ipv4(random());
        }
        const unsigned tclass = random() & 0xff;
        path.dscp = static_cast<std::uint8_t>(tclass >> 2);
        path.ecn = tclass & 3;
        const unsigned hops = random() % 3 == 0 ? 0 : random() & 0xff;
        path.hop_limit = static_cast<std::uint8_t>(hops == 0 ? 64 : hops);
        path.flow_label = random() & 0xfffff;
        path.udp_sport = static_cast<std::uint16_t>(random());
        h.bth.opcode = opcode;
        h.bth.migreq = true;
        h.bth.solicited = random() & 1;
        h.bth.ack_req = random() & 1;
        h.bth.dest_qp = random() & 0xffffff;
        h.bth.psn = random() & 0xffffff;
        h.reth = {std::uint64_t{random()} << 32 | random(), static_cast<std::uint32_t>(random()),
                  static_cast<std::uint32_t>(random())};
        h.aeth = {static_cast<std::uint8_t>(random()),
                  static_cast<std::uint32_t>(random() & 0xffffff)};
        h.deth = {static_cast<std::uint32_t>(random()),
                  static_cast<std::uint32_t>(random() & 0xffffff)};
        h.imm = static_cast<std::uint32_t>(random());
        h.inv_rkey = h.imm;
        h.atomic_eth = {h.reth.va, h.reth.rkey, std::uint64_t{random()} << 32 | random(),
                        std::uint64_t{random()} << 32 | random()};
        h.atomic_original = h.atomic_eth.swap_add;
        const bool from_rsp = random() & 1;
        const unsigned qp = random() % 2048;
        const unsigned gen = random() % 64;
        p.err = err;
        p.payload = random_bytes(random, len);
        Fields(p.txd.data())
            .put(13, len)
            .put(1, random() & 1)  // `inl`: must not matter here
            .put(24, h.deth.src_qp)
            .put(32, h.deth.qkey)
            .put(64, h.atomic_eth.compare)
            .put(64, h.atomic_eth.swap_add)
            .put(32, __builtin_bswap32(h.imm))
            .put(24, h.aeth.msn)
            .put(8, h.aeth.syndrome)
            .put(32, h.reth.length)
            .put(32, h.reth.rkey)
            .put(64, h.reth.va)
            .put(24, h.bth.psn)
            .put(24, h.bth.dest_qp)
            .put(1, h.bth.ack_req)
            .put(1, h.bth.solicited)
            .put(8, static_cast<std::uint8_t>(opcode))
            .put(4, sl)
            .put(8, tclass)
            .put(8, hops)
            .put(20, path.flow_label)
            .put(16, path.udp_sport)
            .bytes(path.dmac.bytes)
            .bytes(path.dgid.bytes)
            .put(4, sgid)
            .put(kQpLog, qp)
            .put(6, gen)
            .put(1, tell)
            .put(1, from_rsp);
        packet::FrameBuilder builder;
        Frame frame(8192);
        ASSERT_TRUE(builder.begin(packet::HeaderTemplate(path), h, len, id_++, frame));
        std::ranges::copy(p.payload, builder.payload().begin());
        const auto whole = builder.finish();
        frame.resize(whole.size());
        if (!err && dut.link_i) {
            expected.push_back({frame, turns, qp});
        }
        if (err || tell) {
            reports.push_back({from_rsp, !err, gen, qp, h.bth.psn});
        }
        packets.push_back(std::move(p));
    }

    /// Appends a frame of the Ethernet function and expects it.
    void add_ethernet(std::size_t len, bool err) {
        Frame frame = random_bytes(random, len);
        packet::Mac dmac = packet::Mac::from_u64(0x0299'0000'0000);
        if (random() % 3 == 0) {
            dmac = random() % 2 ? addresses.gids[random() % 15].mac : addresses.macs[random() % 16];
        }
        std::memcpy(frame.data(), dmac.bytes.data(), 6);
        frame[12] = std::byte{0x88};
        frame[13] = std::byte{0xb5};
        EthCsum csum;
        if (len >= 16 && random() % 2 == 0) {
            csum = {true, random() % 2 == 0, 0, 0, len};
            csum.from = 14 + random() % (len - 15) / 2 * 2;
            csum.at = csum.from + random() % (len - 1 - csum.from);
            if (csum.at % 2 == 0 && random() % 3 == 0) {  // the sum becomes all ones
                put_be16(frame, csum.at, 0);
                put_be16(frame, csum.at, ~internet_sum(frame, csum.from, len));
            }
        }
        ethernet_csums.push_back(csum);
        ethernet.push_back({frame, err});
        csum.fill_in(frame);
        if (!err && dut.link_i) {
            expected_ethernet.push_back({frame, addresses.ours(dmac) && !dmac.is_multicast(), 0});
        }
    }

    /// Runs until everything that was added has left.
    void run(Stalls stalls) {
        std::deque<std::pair<Frame, bool>> payload;
        std::size_t payload_at = 0, eth_at = 0;
        Frame mac_frame, loop_frame;
        const std::uint64_t limit = cycles + 400'000;
        const std::uint64_t began = cycles;
        bool txd_up = false, payload_up = false, eth_up = false;
        for (int quiet = 0; quiet < 40;) {
            ASSERT_LT(cycles, limit) << "hangs with " << expected.size() << " frames to come";
            txd_up = txd_up || (!packets.empty() && chance(stalls.in));
            payload_up = payload_up || (!payload.empty() && chance(stalls.in));
            eth_up = eth_up || (!ethernet.empty() && chance(stalls.in));
            dut.txd_valid_i = txd_up;
            if (txd_up) {
                std::memcpy(&dut.txd_i[0], packets.front().txd.data(), sizeof dut.txd_i);
            }
            dut.payload_valid_i = payload_up;
            if (payload_up) {
                put_beat(&dut.payload_i[0], payload.front().first, payload_at,
                         payload.front().second, random);
            }
            dut.eth_valid_i = eth_up;
            if (eth_up) {
                dut.eth_csum_i = ethernet_csums.front().bits();
                put_beat(&dut.eth_i[0], ethernet.front().first, eth_at, ethernet.front().second,
                         random);
            }
            dut.roce_stop_i = cycles - began < stop_cycles;
            dut.m_axis_tready_i = chance(stalls.out);
            dut.loop_ready_i = chance(stalls.out);
            dut.stat_ready_i = chance(stalls.out);
            dut.qstat_ready_i = chance(stalls.out);
            dut.req_err_ready_i = chance(stalls.out);
            dut.rsp_err_ready_i = chance(stalls.out);
            dut.eval();
            quiet = dut.idle_o && packets.empty() && ethernet.empty() ? quiet + 1 : 0;
            if (quiet == 1) {
                busy_cycles = cycles - began;
            }
            if (txd_up && dut.txd_ready_o) {
                Packet& p = packets.front();
                if (!p.payload.empty()) {
                    payload.push_back({std::move(p.payload), p.err});
                }
                packets.pop_front();
                txd_up = false;
            }
            const auto advance = [&](bool& up, bool ready, auto& queue, std::size_t& at) {
                if (up && ready) {
                    up = false;
                    if (++at == beats_of(queue.front().first.size())) {
                        queue.pop_front();
                        at = 0;
                    }
                }
            };
            advance(payload_up, dut.payload_ready_o, payload, payload_at);
            const std::size_t frames = ethernet.size();
            advance(eth_up, dut.eth_ready_o, ethernet, eth_at);
            if (ethernet.size() != frames) {
                ethernet_csums.pop_front();
            }
            if (mac_open_ && stalls.in != 0) {
                EXPECT_TRUE(dut.m_axis_tvalid_o) << "a gap in a frame on the wire";
            }
            if (dut.m_axis_tvalid_o && dut.m_axis_tready_i) {
                unsigned bytes = 0;
                while (bytes < 64 && (dut.m_axis_tkeep_o >> bytes & 1) != 0) {
                    ++bytes;
                }
                EXPECT_FALSE(dut.roce_stop_i && dut.m_axis_tdest_o);
                roce_ = dut.m_axis_tdest_o;
                seen_while_stopped += dut.roce_stop_i;
                mac_open_ = !dut.m_axis_tlast_o;
                collect(mac_frame, &dut.m_axis_tdata_o[0], bytes, dut.m_axis_tlast_o, false);
            }
            if (dut.loop_valid_o && dut.loop_ready_i) {
                const BeatView beat(&dut.loop_o[0]);
                EXPECT_FALSE(beat.err);
                seen_while_stopped += dut.roce_stop_i;
                collect(loop_frame, &dut.loop_o[0], beat.bytes, beat.last, true);
            }
            if (dut.stat_valid_o && dut.stat_ready_i) {
                card[dut.stat_o >> 16] += dut.stat_o & 0xffff;
            }
            if (dut.qstat_valid_o && dut.qstat_ready_i) {
                const std::uint64_t q = dut.qstat_o;
                queue_counters[q >> 20][q >> 16 & 0xf] += q & 0xffff;
            }
            for (const bool from_rsp : {false, true}) {
                if (from_rsp ? dut.rsp_err_valid_o && dut.rsp_err_ready_i
                             : dut.req_err_valid_o && dut.req_err_ready_i) {
                    const std::uint64_t e = dut.err_o;
                    ASSERT_FALSE(reports.empty());
                    const Report got{from_rsp, (e >> 41 & 1) != 0,
                                     static_cast<unsigned>(e >> 35 & 63),
                                     static_cast<unsigned>(e >> 24 & 0x7ff),
                                     static_cast<std::uint32_t>(e & 0xffffff)};
                    EXPECT_EQ(got, reports.front());
                    reports.pop_front();
                }
            }
            clock();
        }
        EXPECT_TRUE(expected.empty());
        EXPECT_TRUE(expected_ethernet.empty());
        EXPECT_TRUE(reports.empty());
        EXPECT_EQ(card[DINGO_CARD_RDMA_TX_PACKETS], sent_packets);
        EXPECT_EQ(card[DINGO_CARD_RDMA_TX_BYTES], sent_bytes);
        EXPECT_EQ(queue_counters, sent_by_queue);
    }

    void collect(Frame& frame, const std::uint32_t* data, unsigned bytes, bool last, bool loop) {
        ASSERT_GT(bytes, 0u);
        ASSERT_TRUE(last || bytes == 64);
        const auto* from = reinterpret_cast<const std::byte*>(data);
        frame.insert(frame.end(), from, from + bytes);
        if (!last) {
            return;
        }
        const bool is_ethernet = frame[12] == std::byte{0x88};
        if (!loop) {
            EXPECT_EQ(roce_, !is_ethernet);
        }
        auto& queue = is_ethernet ? expected_ethernet : expected;
        ASSERT_FALSE(queue.empty()) << "a frame too many";
        const Sent& want = queue.front();
        EXPECT_EQ(want.loop, loop);
        EXPECT_EQ(want.frame.size(), frame.size());
        ASSERT_TRUE(want.frame == frame)
            << "first difference at byte "
            << std::ranges::mismatch(want.frame, frame).in1 - want.frame.begin();
        if (!is_ethernet) {
            ++sent_packets;
            sent_bytes += frame.size();
            ++sent_by_queue[want.qp][DINGO_QP_TX_PACKETS];
            sent_by_queue[want.qp][DINGO_QP_TX_BYTES] += frame.size();
        }
        queue.pop_front();
        frame.clear();
        ++frames_seen;
    }

    Vdingo_wire_tx dut;
    Addresses addresses;
    Random random{7};
    std::deque<Packet> packets;
    std::deque<std::pair<Frame, bool>> ethernet;
    std::deque<EthCsum> ethernet_csums;
    std::deque<Sent> expected, expected_ethernet;
    std::deque<Report> reports;
    std::array<std::uint64_t, 64> card{};
    std::vector<std::array<std::uint64_t, 16>> queue_counters{
        std::vector<std::array<std::uint64_t, 16>>(2048)};
    std::vector<std::array<std::uint64_t, 16>> sent_by_queue{
        std::vector<std::array<std::uint64_t, 16>>(2048)};
    std::uint64_t sent_packets = 0, sent_bytes = 0, frames_seen = 0;
    std::uint64_t cycles = 0, busy_cycles = 0;
    std::uint64_t stop_cycles = 0, seen_while_stopped = 0;
    unsigned loop_percent = 25;
    std::uint16_t id_ = 0;
    bool mac_open_ = false, roce_ = false;
};

/// All known opcodes but CNP.
std::vector<Opcode> sendable() {
    std::vector<Opcode> list;
    for (const auto& op : packet::kOpcodeTable) {
        const auto code = static_cast<Opcode>(&op - packet::kOpcodeTable.data());
        if (op.known() && !op.has(packet::ext::kCnpReserved)) {
            list.push_back(code);
        }
    }
    return list;
}

TEST_P(WireTx, MakesTheFramesThatThePacketLibraryMakes) {
    for (const Opcode op : sendable()) {
        for (unsigned sgid = 0; sgid < 6; ++sgid) {
            add(op, sgid, packet::traits(op).carries_payload ? random() % 300 : 0);
        }
    }
    run(GetParam());
}

TEST_P(WireTx, EveryPayloadSizeEndsRight) {
    for (std::size_t len = 0; len <= 140; ++len) {
        for (const unsigned sgid : {0u, 1u, 2u, 5u}) {
            add(len % 2 ? Opcode::kRcSendMiddle : Opcode::kRcWriteOnly, sgid, len);
        }
    }
    for (const std::size_t len : {255, 256, 1023, 1024, 2047, 4000, 4093, 4094, 4095, 4096}) {
        for (const Opcode op :
             {Opcode::kRcWriteOnlyImm, Opcode::kRcReadResponseFirst, Opcode::kUdSendOnlyImm}) {
            for (unsigned sgid = 0; sgid < 6; ++sgid) {
                add(op, sgid, len);
            }
        }
    }
    run(GetParam());
}

TEST_P(WireTx, PacketsWithoutTheirPayloadAreReportedAndNotSent) {
    for (int i = 0; i < 300; ++i) {
        const std::size_t len = random() % 700;
        add(Opcode::kRcSendOnly, random() % 15, len, len != 0 && random() % 3 == 0,
            random() % 4 == 0);
    }
    run(GetParam());
}

TEST_P(WireTx, EthernetFramesJoinAndTurnRoundByAddress) {
    for (int i = 0; i < 200; ++i) {
        add(Opcode::kRcWriteOnly, random() % 15, random() % 1500);
        add_ethernet(random() % 8 == 0 ? 9234 - random() % 200 : 14 + random() % 1600,
                     random() % 5 == 0);
    }
    run(GetParam());
}

TEST_P(WireTx, WithTheLinkDownFramesVanishUncounted) {
    dut.link_i = 0;
    for (int i = 0; i < 50; ++i) {
        add(Opcode::kRcSendOnly, random() % 15, random() % 500, false, random() % 2);
        add_ethernet(14 + random() % 500, false);
    }
    run(GetParam());
    EXPECT_EQ(frames_seen, 0u);
    dut.link_i = 1;
    for (int i = 0; i < 20; ++i) {
        add(Opcode::kRcSendOnly, random() % 15, random() % 500);
    }
    run(GetParam());
    EXPECT_EQ(frames_seen, 20u);
}

TEST_P(WireTx, WhenToldToStopItBeginsNoRoceFrameForTheWire) {
    stop_cycles = 3'000;
    for (int i = 0; i < 60; ++i) {
        add(Opcode::kRcWriteOnly, random() % 15, random() % 1500);
        add_ethernet(60 + random() % 300, false);
    }
    run(GetParam());
    EXPECT_GT(seen_while_stopped, 100u);
}

/// After 4,096 cycles stored RoCE frames are discarded, as if lost on the wire; not those for the
/// card itself, nor frames of the Ethernet function.
TEST_P(WireTx, WhileACommandWaitsWhatIsStoppedVanishesAfterAWhile) {
    stop_cycles = 400'000;
    dut.halt_i = 1;
    for (int i = 0; i < 60; ++i) {
        add(Opcode::kRcWriteOnly, random() % 15, random() % 1500, false, random() % 2);
        add_ethernet(60 + random() % 300, false);
    }
    std::erase_if(expected, [](const Sent& sent) { return !sent.loop; });
    run(GetParam());
    EXPECT_GT(cycles, 4'096u);
}

TEST_P(WireTx, WhenToldToStopItGoesOnWithFramesForTheCardItself) {
    stop_cycles = 400'000;  // longer than the test runs
    loop_percent = 100;
    while (expected.size() < 60) {
        add(Opcode::kRcWriteOnly, random() % 15, random() % 1500);
        if (!expected.back().loop) {
            expected.pop_back();
            packets.pop_back();
            --id_;
        }
    }
    run(GetParam());
    EXPECT_GT(seen_while_stopped, 500u);
}

INSTANTIATE_TEST_SUITE_P(Stalls, WireTx, every_stall(), name_of_stalls);

/// 64 bytes of payload make a frame of 138: three beats, without a gap between packets.
TEST_F(WireTx, SmallPacketsLeaveEveryThreeCycles) {
    constexpr unsigned kPackets = 300;
    for (unsigned i = 0; i < kPackets; ++i) {
        add(Opcode::kRcWriteOnly, 0, 64);
    }
    run({100, 100});
    EXPECT_LE(busy_cycles, 3 * kPackets + 60);
}

TEST_F(WireTx, LargePacketsFillEveryBeat) {
    constexpr unsigned kPackets = 40;
    for (unsigned i = 0; i < kPackets; ++i) {
        add(Opcode::kRcWriteMiddle, 0, 4096);
    }
    run({100, 100});
    EXPECT_LE(busy_cycles, 65 * kPackets + 160);
}

}  // namespace
}  // namespace dingo::rtl
