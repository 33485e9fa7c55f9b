// SPDX-License-Identifier: BSD-2-Clause
//
// Both rings of the Ethernet function: frames of many pieces, every refusal with its counter and
// completion, rings that cannot be read, CQs that fail, and standing still for commands.
#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "Veth_bench.h"
#include "dingo_hw.h"
#include "host_memory.h"
#include "wire_bench.h"

namespace dingo::rtl {
namespace {

enum Ring { kTx, kRx };

struct Completion {
    std::uint32_t index = 0, bytes = 0;
    unsigned status = 0;
    auto operator<=>(const Completion&) const = default;
};

class EthernetRings : public testing::TestWithParam<AxiTiming> {
  protected:
    void SetUp() override {
        slave = std::make_unique<AxiSlave>(memory.slave(axi_pins(dut), GetParam()));
        dut.halt_i = dut.xl_flush_i = dut.cfg_valid_i = dut.db_valid_i = dut.cq_failed_i = 0;
        dut.mac_valid_i = 0;
        for (unsigned i = 0; i < kMacs; ++i) {
            put_bytes(&dut.macs_i[0], i * 48, addresses.macs[i].bytes);
            dut.mac_valid_i |= static_cast<std::uint16_t>(addresses.mac_valid[i] ? 1u << i : 0);
        }
        set_port(1500);
        dut.link_i = 1;
        dut.rst_ni = 0;
        cycle();
        cycle();
        dut.rst_ni = 1;
    }

    void set_port(unsigned bytes, bool promisc = false, bool allmulti = false,
                  bool enabled = true) {
        mtu = bytes;
        promiscuous = promisc;
        all_multicast = allmulti;
        up = enabled;
        dut.port_i =
            bytes | (allmulti ? 1u << 16 : 0) | (promisc ? 1u << 17 : 0) | (enabled ? 1u << 18 : 0);
    }

    bool chance(unsigned percent) { return random() % 100 < percent; }
    std::uint64_t take(std::uint64_t bytes, std::uint64_t align = 1) {
        next_ = (next_ + align - 1) / align * align;
        next_ += bytes;
        EXPECT_LE(next_, memory.base() + memory.size());
        return next_ - bytes;
    }

    /// One clock; frames, completions and counters that leave are collected.
    void cycle() {
        dut.clk_i = 0;
        dut.out_ready_i = chance(80);
        dut.cqe_ready_i = static_cast<std::uint8_t>(random() & 3);
        dut.stat_ready_i = static_cast<std::uint8_t>(random() & 3);
        if (!input.empty() && !in_up) {
            in_up = chance(80);
        }
        dut.in_valid_i = in_up;
        if (in_up) {
            put_beat(&dut.in_i[0], input.front(), in_at, false, random);
        }
        dut.eval();
        if (dut.rst_ni) {
            slave->sample();
            collect();
        }
        dut.clk_i = 1;
        dut.eval();
        slave->drive();
        dut.cfg_valid_i = 0;
        dut.db_valid_i = 0;
        dut.cq_failed_i = 0;
        ++now;
    }
    void collect() {
        if (in_up && dut.in_ready_o) {
            in_up = false;
            if (++in_at == beats_of(input.front().size())) {
                in_at = 0;
                input.pop_front();
            }
        }
        if (dut.out_valid_o && dut.out_ready_i) {
            const BeatView beat(&dut.out_o[0]);
            const auto* from = reinterpret_cast<const std::byte*>(&dut.out_o[0]);
            frame_.insert(frame_.end(), from, from + beat.bytes);
            EXPECT_FALSE(beat.err && !beat.last);
            if (beat.last) {
                out.push_back({frame_, beat.err});
                frame_.clear();
            }
        }
        for (const Ring r : {kTx, kRx}) {
            if ((dut.cqe_valid_o & dut.cqe_ready_i) >> r & 1) {
                Fields f(r == kTx ? &dut.tx_cqe_o[0] : &dut.rx_cqe_o[0]);
                Completion c;
                EXPECT_EQ(f.get(8 + 16 + 8), 0u);  // flags, VLAN, verr
                c.status = static_cast<unsigned>(f.get(8));
                EXPECT_EQ(f.get(32), 0u);  // source QPN
                EXPECT_EQ(f.get(32), (r == kTx ? DINGO_WC_ETH_TX : DINGO_WC_ETH_RX) << 24);
                EXPECT_EQ(f.get(32), 0u);  // immediate data
                c.bytes = static_cast<std::uint32_t>(f.get(32));
                c.index = static_cast<std::uint32_t>(f.get(32));
                EXPECT_EQ(f.get(kQpLog + 1), 0u);  // QP, from_rsp
                EXPECT_EQ(f.get(11), r == kTx ? 5u : 9u);
                done[r].push_back(c);
            }
            if ((dut.stat_valid_o & dut.stat_ready_i) >> r & 1) {
                const std::uint32_t s = r == kTx ? dut.tx_stat_o : dut.rx_stat_o;
                card[s >> 16] += s & 0xffff;
            }
        }
    }
    void settle(unsigned limit = 200'000) {
        for (int quiet = 0; quiet < 30; cycle()) {
            ASSERT_GT(limit--, 0u) << "hangs";
            quiet = dut.idle_o == 3 && input.empty() ? quiet + 1 : 0;
        }
        EXPECT_EQ(slave->violation(), "");
    }

    /// A ring in one piece, or with a page list when it has more than a page.
    void create(Ring r, unsigned log_size, bool readable = true) {
        log[r] = log_size;
        producer[r] = consumer[r] = 0;
        const std::uint64_t bytes = std::uint64_t{16} << log_size;
        const bool list = bytes > 4096;
        std::array<std::uint32_t, 4> mem{};
        base[r] = take(bytes, 4096);
        std::uint64_t addr = readable ? base[r] : memory.base() - 4096;
        if (list) {
            addr = take(bytes / 512, 4096);
            for (std::uint64_t page = 0; page < bytes; page += 4096) {
                memory.put64(addr + page / 512, base[r] + page);
            }
        }
        put_bits(mem.data(), 0, 64, addr);
        put_bits(mem.data(), 96, 5, list ? 12 : 0);
        put_bits(mem.data(), 101, 2, list);
        std::memcpy(&dut.cfg_mem_i[0], mem.data(), sizeof dut.cfg_mem_i);
        dut.cfg_log_size_i = static_cast<std::uint8_t>(log_size);
        dut.cfg_cq_i = r == kTx ? 5 : 9;
        dut.cfg_on_i = 1;
        dut.cfg_valid_i = 1 << r;
        cycle();
    }
    /// The next descriptor; not yet rung.
    void put(Ring r, std::uint64_t addr, std::uint32_t length, unsigned flags = 0,
             unsigned reserved = 0) {
        const std::uint64_t at = base[r] + 16 * (producer[r]++ & ((1u << log[r]) - 1));
        memory.put64(at, addr);
        memory.put64(at + 8, length | std::uint64_t{flags} << 32 | std::uint64_t{reserved} << 40);
    }
    bool ring(Ring r, std::uint32_t index) {
        dut.db_valid_i = 1 << r;
        dut.db_index_i = index;
        dut.eval();
        const bool bad = (dut.db_bad_o >> r & 1) != 0;
        cycle();
        return !bad;
    }

    void put_tx_frame();
    void put_rx(std::uint64_t addr, std::uint32_t length, unsigned flags = 0,
                unsigned reserved = 0) {
        put(kRx, addr, length, flags, reserved);
        posted.push_back({addr, length,
                          flags == 0 && reserved == 0 && length >= 1 && length <= DINGO_MAX_FRAME});
    }
    void receive(const Frame& frame);

    struct Buffer {
        std::uint64_t addr;
        std::uint32_t length;
        bool good;
    };
    struct Stored {
        std::uint64_t addr;
        Frame bytes;
    };

    Veth_bench dut;
    Addresses addresses;
    HostMemory memory{0x3'0000'0000, 16 << 20, 5};
    std::unique_ptr<AxiSlave> slave;
    Random random{23};
    std::uint64_t next_ = 0x3'0000'0000;
    std::uint64_t now = 0;
    unsigned mtu = 0;
    bool promiscuous = false, all_multicast = false, up = true;
    std::array<unsigned, 2> log{};
    std::array<std::uint64_t, 2> base{};
    std::array<std::uint32_t, 2> producer{}, consumer{};
    std::deque<Frame> input;
    std::size_t in_at = 0;
    bool in_up = false;
    std::deque<std::pair<Frame, bool>> out, expected_out;
    std::array<std::deque<Completion>, 2> done, expected_done;
    std::array<std::uint64_t, 64> card{}, expected_card{};
    std::deque<Buffer> posted;
    std::vector<Stored> stored;
    Frame frame_;
};

/// Descriptors of one random frame, and what the model makes of them.
void EthernetRings::put_tx_frame() {
    const unsigned kind = random() % 12;
    unsigned pieces = 1 + (chance(40) ? random() % 6 : 0);
    std::size_t total = 14 + random() % 1500;
    if (kind == 0) {
        total = mtu + 10 + random() % 12;  // around the limits
    } else if (kind == 1) {
        total = 1 + random() % 20;  // around the header
        pieces = std::min<unsigned>(pieces, static_cast<unsigned>(total));
    } else if (kind == 2) {
        pieces = 64 - random() % 3;
        total = pieces + random() % 1000;
    }
    const bool endless = kind == 3 && (1u << log[kTx]) >= 64;
    if (endless) {
        pieces = 64;
        total = 640;
    }
    const unsigned spoil = kind == 4 ? random() % pieces : ~0u;
    const unsigned refused = kind == 5 ? random() % pieces : ~0u;
    const bool tag = chance(50);
    Frame frame;
    bool good = up && !endless;
    bool read_error = false;
    for (unsigned i = 0; i < pieces; ++i) {
        const std::size_t left = total - frame.size();
        const std::size_t n = i + 1 == pieces
                                  ? left
                                  : std::max<std::size_t>(1, random() % (left - (pieces - 1 - i)) %
                                                                 (2 * total / pieces + 1));
        std::uint64_t addr = take(n);
        if (i == 0 && n >= 14 && tag) {
            *memory.at(addr + 12) = 0x81;
            *memory.at(addr + 13) = 0x00;
        }
        const auto* from = reinterpret_cast<const std::byte*>(memory.at(addr));
        frame.insert(frame.end(), from, from + n);
        if (i == refused) {
            addr = memory.base() - 8192;
            read_error = true;
        }
        const bool last = i + 1 == pieces && !endless;
        std::uint32_t length = static_cast<std::uint32_t>(n);
        unsigned flags = last ? 1 : 0, reserved = 0;
        if (i == spoil) {
            good = false;
            switch (random() % 4) {
                case 0:
                    length = 0;
                    break;
                case 1:
                    length = DINGO_MAX_FRAME + 1;
                    break;
                case 2:
                    flags |= 2u << random() % 7;
                    break;
                default:
                    reserved = 1u << random() % 24;
                    break;
            }
        }
        put(kTx, addr, length, flags, reserved);
    }
    good = good && total >= 14 && total <= mtu + 18;
    if (good) {
        const bool tagged = frame[12] == std::byte{0x81} && frame[13] == std::byte{0};
        good = !read_error && total <= mtu + 14 + (tagged ? 4 : 0);
        expected_out.push_back({frame, !good});
    }
    expected_done[kTx].push_back(
        {producer[kTx] - 1, good ? static_cast<std::uint32_t>(total) : 0,
         static_cast<unsigned>(good ? DINGO_WCS_SUCCESS : DINGO_WCS_LOC_QP_OP_ERR)});
    if (good) {
        ++expected_card[DINGO_CARD_ETH_TX_PACKETS];
        expected_card[DINGO_CARD_ETH_TX_BYTES] += total;
    } else {
        ++expected_card[DINGO_CARD_ETH_TX_ERRORS];
    }
}

/// A frame comes in; what the model does with it.
void EthernetRings::receive(const Frame& frame) {
    input.push_back(frame);
    if (frame.size() < 14) {
        ++expected_card[DINGO_CARD_ETH_RX_TOO_SHORT];
        return;
    }
    packet::Mac mac;
    std::memcpy(mac.bytes.data(), frame.data(), 6);
    if (!promiscuous && mac.to_u64() != 0xffffffffffff && !addresses.in_table(mac) &&
        !(all_multicast && mac.is_multicast())) {
        ++expected_card[DINGO_CARD_ETH_RX_FILTERED];
        return;
    }
    const bool tagged = frame[12] == std::byte{0x81} && frame[13] == std::byte{0};
    if (frame.size() > mtu + 14 + (tagged ? 4 : 0)) {
        ++expected_card[DINGO_CARD_ETH_RX_TOO_LONG];
        return;
    }
    if (posted.empty()) {
        ++expected_card[DINGO_CARD_ETH_RX_NO_BUFFER];
        return;
    }
    const Buffer b = posted.front();
    if (b.good && b.length < frame.size()) {
        ++expected_card[DINGO_CARD_ETH_RX_TOO_LONG];
        return;
    }
    posted.pop_front();
    const std::uint32_t index = consumer[kRx]++;
    if (!b.good || !memory.holds(b.addr, frame.size())) {
        ++expected_card[DINGO_CARD_ETH_RX_NO_BUFFER];
        expected_done[kRx].push_back({index, 0, DINGO_WCS_LOC_QP_OP_ERR});
        return;
    }
    ++expected_card[DINGO_CARD_ETH_RX_PACKETS];
    expected_card[DINGO_CARD_ETH_RX_BYTES] += frame.size();
    expected_card[DINGO_CARD_ETH_RX_MULTICAST] += mac.is_multicast();
    expected_done[kRx].push_back(
        {index, static_cast<std::uint32_t>(frame.size()), DINGO_WCS_SUCCESS});
    stored.push_back({b.addr, frame});
}

TEST_P(EthernetRings, TransmitsWhatTheDescriptorsSay) {
    for (const unsigned log_size : {6u, 7u, 9u}) {
        create(kTx, log_size);
        std::uint32_t rung = 0;
        for (int round = 0; round < 60; ++round) {
            set_port(round % 3 == 0 ? 600 : 1500, false, false, round % 10 != 9);
            do {
                put_tx_frame();
            } while (producer[kTx] - rung < (1u << log_size) - 64 && chance(80));
            while (rung != producer[kTx]) {  // frames may be rung in parts
                const std::uint32_t left = producer[kTx] - rung;
                rung += chance(70) ? left : 1 + random() % left;
                ASSERT_TRUE(ring(kTx, rung));
                if (chance(50)) {
                    settle();
                }
            }
            settle();
        }
        EXPECT_EQ(done[kTx], expected_done[kTx]);
        EXPECT_EQ(out.size(), expected_out.size());
        for (std::size_t i = 0; i < std::min(out.size(), expected_out.size()); ++i) {
            ASSERT_EQ(out[i].second, expected_out[i].second) << i;
            ASSERT_EQ(out[i].first.size(), expected_out[i].first.size());
            ASSERT_TRUE(out[i].second || out[i].first == expected_out[i].first) << i;
        }
        EXPECT_EQ(card, expected_card);
        EXPECT_GT(card[DINGO_CARD_ETH_TX_ERRORS], 20u);
        done[kTx].clear();
        expected_done[kTx].clear();
        out.clear();
        expected_out.clear();
    }
}

TEST_P(EthernetRings, ReceivesWhatTheFilterLetsThrough) {
    for (const unsigned log_size : {0u, 1u, 3u, 6u, 9u}) {
        create(kRx, log_size);
        posted.clear();
        for (int round = 0; round < 40; ++round) {
            const unsigned size = round % 5 == 0 ? 9216 : round % 5 == 1 ? 256 : 1500;
            set_port(size, round % 4 == 1, round % 4 == 2);
            while (posted.size() < 1u << log_size && chance(90)) {
                switch (random() % 12) {
                    case 0:
                        put_rx(take(100), 100);
                        break;
                    case 1:
                        put_rx(memory.base() - 5000, 2000);  // the bus refuses
                        break;
                    case 2:
                        put_rx(take(10), chance(50) ? 0 : DINGO_MAX_FRAME + 1);
                        break;
                    case 3:
                        put_rx(take(10), 2000, 1u << random() % 8);
                        break;
                    case 4:
                        put_rx(take(10), 2000, 0, 1u << random() % 24);
                        break;
                    default:
                        put_rx(take(size + 18), size + 18);
                        break;
                }
            }
            ASSERT_TRUE(ring(kRx, producer[kRx]));
            for (int i = 0; i < 6; ++i) {
                Frame frame = random_bytes(random, chance(20)   ? size + 8 + random() % 14
                                                   : chance(10) ? 1 + random() % 16
                                                                : 14 + random() % size);
                const packet::Mac macs[] = {packet::Mac::from_u64(0xffffffffffff),
                                            addresses.macs[random() % 16],
                                            packet::Mac::from_u64(0x3333'0000'0001),
                                            packet::Mac::from_u64(0x0299'0000'0001)};
                if (frame.size() >= 14) {
                    std::memcpy(frame.data(), macs[random() % 4].bytes.data(), 6);
                    if (chance(30)) {
                        frame[12] = std::byte{0x81};
                        frame[13] = std::byte{0};
                    }
                }
                receive(frame);
            }
            settle();
            for (const Stored& s : stored) {
                ASSERT_EQ(std::memcmp(memory.at(s.addr), s.bytes.data(), s.bytes.size()), 0);
            }
            stored.clear();
        }
        EXPECT_EQ(done[kRx], expected_done[kRx]);
        EXPECT_EQ(card, expected_card);
        consumer[kRx] = 0;
        done[kRx].clear();
        expected_done[kRx].clear();
    }
    EXPECT_GT(card[DINGO_CARD_ETH_RX_PACKETS], 60u);
    EXPECT_GT(card[DINGO_CARD_ETH_RX_NO_BUFFER], 20u);
}

TEST_P(EthernetRings, DoorbellsThatCannotBeAreRefused) {
    EXPECT_FALSE(ring(kTx, 1)) << "no ring";
    create(kTx, 3);
    create(kRx, 3);
    EXPECT_FALSE(ring(kTx, 9));
    EXPECT_FALSE(ring(kRx, 9));
    EXPECT_TRUE(ring(kRx, 4));
    EXPECT_FALSE(ring(kRx, 3)) << "backwards";
    EXPECT_TRUE(ring(kRx, 8));
    EXPECT_TRUE(ring(kRx, 8));
    dut.cfg_on_i = 0;
    dut.cfg_valid_i = 2;
    cycle();
    EXPECT_FALSE(ring(kRx, 0)) << "destroyed";
}

TEST_P(EthernetRings, ARingThatCannotBeReadStops) {
    for (const Ring r : {kTx, kRx}) {
        create(r, 4, false);
        ASSERT_TRUE(ring(r, 8));
    }
    const Frame frame(60, std::byte{0xff});  // broadcast
    input.push_back(frame);
    settle();
    input.push_back(frame);
    settle();
    ASSERT_TRUE(ring(kTx, 9));
    settle();
    EXPECT_EQ(card[DINGO_CARD_ETH_TX_ERRORS], 1u);
    EXPECT_EQ(card[DINGO_CARD_ETH_RX_NO_BUFFER], 2u);
    EXPECT_TRUE(done[kTx].empty() && done[kRx].empty());
    EXPECT_TRUE(out.empty());
}

TEST_P(EthernetRings, ARingWhoseCqFailedStops) {
    create(kTx, 4);
    create(kRx, 4);
    for (int i = 0; i < 4; ++i) {
        put(kTx, take(100), 100, 1);
        put(kRx, take(2000), 2000);
    }
    ASSERT_TRUE(ring(kTx, 1));
    ASSERT_TRUE(ring(kRx, 4));
    const Frame frame(60, std::byte{0xff});
    input.push_back(frame);
    settle();
    dut.cq_failed_i = 3;
    cycle();
    ASSERT_TRUE(ring(kTx, 4));
    input.push_back(frame);
    settle();
    EXPECT_EQ(done[kTx].size(), 1u);
    EXPECT_EQ(done[kRx].size(), 1u);
    EXPECT_EQ(out.size(), 1u);
    EXPECT_EQ(card[DINGO_CARD_ETH_RX_NO_BUFFER], 1u);
    create(kTx, 4);  // anew
    put(kTx, take(100), 100, 1);
    ASSERT_TRUE(ring(kTx, 1));
    settle();
    EXPECT_EQ(out.size(), 2u);
}

TEST_P(EthernetRings, StandingStillTouchesNoMemoryAndHoldsNobodyUp) {
    create(kTx, 6);
    create(kRx, 6);
    for (int i = 0; i < 40; ++i) {
        put(kTx, take(1000), 1000, 1);
        put(kRx, take(1600), 1600);
    }
    ASSERT_TRUE(ring(kTx, 40));
    ASSERT_TRUE(ring(kRx, 40));
    for (int i = 0; i < 30; ++i) {
        cycle();
    }
    dut.halt_i = 1;
    for (int limit = 2000; dut.idle_o != 3 && limit > 0; --limit) {
        cycle();
    }
    ASSERT_EQ(dut.idle_o, 3);
    const std::size_t sent = out.size();
    EXPECT_LT(sent, 40u);
    for (int i = 0; i < 40; ++i) {
        input.push_back(Frame(1400, std::byte{0xff}));
    }
    for (int i = 0; i < 3000; ++i) {
        ASSERT_EQ(dut.idle_o & 1, 1);
        ASSERT_TRUE(slave->idle());
        cycle();
    }
    EXPECT_TRUE(input.empty()) << "frames behind these are held up";
    EXPECT_EQ(out.size(), sent);
    dut.halt_i = 0;
    settle();
    EXPECT_EQ(out.size(), 40u);
    EXPECT_GT(card[DINGO_CARD_ETH_RX_NO_BUFFER], 0u);
    EXPECT_GE(card[DINGO_CARD_ETH_RX_PACKETS], 3u);
    EXPECT_EQ(card[DINGO_CARD_ETH_RX_PACKETS] + card[DINGO_CARD_ETH_RX_NO_BUFFER], 40u);
}

INSTANTIATE_TEST_SUITE_P(
    Memory, EthernetRings,
    testing::Values(
        AxiTiming{.latency = 1}, AxiTiming{.latency = 5, .stall_percent = 30},
        AxiTiming{.latency = 60, .jitter = 100, .stall_percent = 5, .reorder = true, .seed = 3}));

}  // namespace
}  // namespace dingo::rtl
