// SPDX-License-Identifier: BSD-2-Clause
//
// Bench: dingo_eth_tx and dingo_eth_rx with host memory, frames in both directions, and what is
// expected of them.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "Veth_bench.h"
#include "dingo_hw.h"
#include "eth_flow.h"
#include "host_memory.h"
#include "wire_bench.h"

namespace dingo::rtl {

enum Ring { kTx, kRx };

constexpr unsigned kRings = 4;  // rings of each kind

struct Completion {
    std::uint32_t index = 0, bytes = 0;
    unsigned status = 0;
    unsigned ring = 0;
    std::uint32_t hash = 0;
    bool ports = false;
    bool csum_ok = false;
    auto operator<=>(const Completion&) const = default;
};

class EthernetBench : public testing::TestWithParam<AxiTiming> {
  protected:
    void SetUp() override {
        slave = std::make_unique<AxiSlave>(memory.slave(axi_pins(dut), GetParam()));
        dut.halt_i = dut.xl_flush_i = dut.cfg_valid_i = dut.db_valid_i = dut.cq_failed_i = 0;
        dut.rss_valid_i = 0;
        dut.offloads_i = 0;
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

    /// One clock; collects the frames, completions and counts that come out.
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
        dut.rss_valid_i = 0;
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
                const EthCsum csum = EthCsum::of(dut.csum_o);
                EXPECT_TRUE(!csum.on || beat.err || csum.length == frame_.size());
                if (!beat.err) {
                    csum.fill_in(frame_);  // as dingo_wire_tx does
                }
                out.push_back({frame_, beat.err});
                frame_.clear();
            }
        }
        for (const Ring r : {kTx, kRx}) {
            if ((dut.cqe_valid_o & dut.cqe_ready_i) >> r & 1) {
                Fields f(r == kTx ? &dut.tx_cqe_o[0] : &dut.rx_cqe_o[0]);
                Completion c;
                const auto flags = f.get(8);
                EXPECT_EQ(flags & ~std::uint64_t{DINGO_CQE_FLAGS_HASH_L4_MASK |
                                                 DINGO_CQE_FLAGS_CSUM_OK_MASK},
                          0u);
                c.ports = (flags & DINGO_CQE_FLAGS_HASH_L4_MASK) != 0;
                c.csum_ok = (flags & DINGO_CQE_FLAGS_CSUM_OK_MASK) != 0;
                EXPECT_EQ(f.get(16 + 8), 0u);  // VLAN and vendor error
                c.status = static_cast<unsigned>(f.get(8));
                c.hash = static_cast<std::uint32_t>(f.get(32));
                c.ring = static_cast<unsigned>(f.get(24));
                EXPECT_EQ(f.get(8), std::uint64_t{r == kTx ? DINGO_WC_ETH_TX : DINGO_WC_ETH_RX});
                EXPECT_EQ(f.get(32), 0u);  // immediate data
                c.bytes = static_cast<std::uint32_t>(f.get(32));
                c.index = static_cast<std::uint32_t>(f.get(32));
                EXPECT_EQ(f.get(kQpLog), c.ring) << "who hears of a CQ that failed";
                EXPECT_EQ(f.get(1), 0u);  // from_rsp
                EXPECT_EQ(f.get(11), cq_of(r, c.ring));
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

    static unsigned cq_of(Ring r, unsigned ring) { return (r == kTx ? 5 : 9) + 16 * ring; }

    /// Creates a ring; one of more than a page has a page list.
    void create(Ring r, unsigned log_size, bool readable = true) {
        log[r][number] = log_size;
        producer[r][number] = consumer[r][number] = 0;
        if (r == kRx) {
            posted[number].clear();
        }
        const std::uint64_t bytes = std::uint64_t{16} << log_size;
        const bool list = bytes > 4096;
        std::array<std::uint32_t, 4> mem{};
        base[r][number] = take(bytes, 4096);
        std::uint64_t addr = readable ? base[r][number] : memory.base() - 4096;
        if (list) {
            addr = take(bytes / 512, 4096);
            for (std::uint64_t page = 0; page < bytes; page += 4096) {
                memory.put64(addr + page / 512, base[r][number] + page);
            }
        }
        put_bits(mem.data(), 0, 64, addr);
        put_bits(mem.data(), 96, 5, list ? 12 : 0);
        put_bits(mem.data(), 101, 2, list);
        put_bits(mem.data(), 103, 4, log_size);
        put_bits(mem.data(), 107, 11, cq_of(r, number));
        put_bits(mem.data(), 118, 2, number);
        put_bits(mem.data(), 120, 1, 1);
        std::memcpy(&dut.cfg_i[0], mem.data(), sizeof dut.cfg_i);
        dut.cfg_valid_i = 1 << r;
        cycle();
    }
    void destroy(Ring r) {
        put_bits(&dut.cfg_i[0], 118, 2, number);
        put_bits(&dut.cfg_i[0], 120, 1, 0);
        dut.cfg_valid_i = 1 << r;
        cycle();
    }
    /// SET_RSS; without a key it switches RSS off.
    void set_rss(const RssKey* key, std::span<const std::uint8_t, 64> table) {
        std::memset(&dut.rss_i[0], 0, sizeof dut.rss_i);
        for (unsigned i = 0; i < 64; ++i) {
            put_bits(&dut.rss_i[0], 2 * i, 2, table[i]);
        }
        if (key != nullptr) {
            put_bytes(&dut.rss_i[0], 128, *key);
            put_bits(&dut.rss_i[0], 448, 1, 1);
        }
        dut.rss_valid_i = 1;
        cycle();
    }
    void fail_cq(unsigned kinds) {
        dut.cq_failed_i = kinds;
        dut.cq_failed_ring_i = number;
        cycle();
    }
    /// Writes the next descriptor without a doorbell.
    void put(Ring r, std::uint64_t addr, std::uint32_t length, unsigned flags = 0,
             unsigned reserved = 0) {  // start / 2, arg << 8
        const std::uint64_t at =
            base[r][number] + 16 * (producer[r][number]++ & ((1u << log[r][number]) - 1));
        memory.put64(at, addr);
        memory.put64(at + 8, length | std::uint64_t{flags} << 32 | std::uint64_t{reserved} << 40);
    }
    bool ring(Ring r, std::uint32_t index) {
        dut.db_valid_i = 1 << r;
        dut.db_ring_i = number;
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
        posted[number].push_back(
            {addr, length,
             flags == 0 && reserved == 0 && length >= 1 && length <= DINGO_MAX_FRAME});
    }
    /// Appends a frame to the input; with a free descriptor it must go to ring `to`.
    void receive(const Frame& frame, unsigned to = 0, const Flow& flow = {});

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
    template <typename T>
    using OfRings = std::array<std::array<T, kRings>, 2>;
    unsigned number = 0;  ///< the ring that the functions above use
    OfRings<unsigned> log{};
    OfRings<std::uint64_t> base{};
    OfRings<std::uint32_t> producer{}, consumer{};
    std::deque<Frame> input;
    std::size_t in_at = 0;
    bool in_up = false;
    std::deque<std::pair<Frame, bool>> out, expected_out;
    std::array<std::deque<Completion>, 2> done, expected_done;
    std::array<std::uint64_t, 64> card{}, expected_card{};
    std::array<std::deque<Buffer>, kRings> posted;
    std::vector<Stored> stored;
    Frame frame_;
};

inline const auto kTimings = testing::Values(
    AxiTiming{.latency = 1}, AxiTiming{.latency = 5, .stall_percent = 30},
    AxiTiming{.latency = 60, .jitter = 100, .stall_percent = 5, .reorder = true, .seed = 3});

}  // namespace dingo::rtl
