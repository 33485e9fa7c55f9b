// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_regs: random accesses to both BARs against the register rules of the C++ model.
#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "Vdingo_regs.h"
#include "bench.h"
#include "dingo_hw.h"

namespace {

using namespace dingo::rtl;
constexpr std::uint64_t kMac = 0x020000abcdef;
constexpr std::uint32_t kMbps = 100'000;
constexpr std::uint64_t kCaps =
    DINGO_CAP_RC | DINGO_CAP_UC | DINGO_CAP_ATOMIC | DINGO_CAP_UD | DINGO_CAP_TIMESTAMP |
    DINGO_CAP_ETH | DINGO_CAP_COMPUTE | DINGO_CAP_RESIZE_CQ | DINGO_CAP_REREG_MR | DINGO_CAP_SRQ |
    DINGO_CAP_SEND_INV | DINGO_CAP_MW | DINGO_CAP_FRWR | DINGO_CAP_CQ_MODERATION |
    DINGO_CAP_PAUSE_MR | DINGO_CAP_ETH_RSS | DINGO_CAP_ETH_OFFLOAD | DINGO_CAP_COMPUTE_RX;

constexpr unsigned kPushPages = 64;

/// The registers as in hw/model/src/registers.cpp and admin_queue.cpp.
struct Model {
    bool memory_doorbells = false;
    bool ready = true;
    bool link = false;
    std::uint64_t asq = 0, acq = 0, asq_latched = 0, acq_latched = 0;
    unsigned log_depth = 0;
    bool enabled = false;
    std::uint32_t producer = 0, consumer = 0, fatal = 0, resets = 0, clock_high = 0;
    std::uint64_t mmio_dropped = 0, db_dropped = 0;

    void reset() {
        asq = acq = asq_latched = acq_latched = 0;
        log_depth = 0;
        enabled = false;
        producer = consumer = fatal = clock_high = 0;
        mmio_dropped = db_dropped = 0;
        ++resets;
    }
    [[nodiscard]] std::uint64_t value(std::uint32_t offset) const {
        const auto two = [](std::uint64_t low, std::uint64_t high) { return high << 32 | low; };
        switch (offset) {
            case DINGO_REG_MAGIC:
                return two(0x4f474e44, DINGO_CONTRACT_MAJOR << 16 | DINGO_CONTRACT_MINOR);
            case DINGO_REG_CAPS:
                return kCaps | (memory_doorbells ? DINGO_CAP_DB_MEMORY : DINGO_CAP_PUSH);
            case DINGO_REG_STATUS:
                return (ready ? 1u : 0u) | (fatal != 0 ? 2u : 0u) | (link ? 4u : 0u);
            case DINGO_REG_DB_PAGES:
                return two(1024, 64);
            case DINGO_REG_ASQ_BASE:
                return asq;
            case DINGO_REG_ACQ_BASE:
                return acq;
            case DINGO_REG_AQ_CTRL:
                return log_depth | (enabled ? 0x80000000u : 0);
            case DINGO_REG_FATAL:
                return two(fatal, resets);
            case DINGO_REG_MAC:
                return kMac;
            case DINGO_REG_LINK_MBPS:
                return two(kMbps, DINGO_ENGINE_RTL);
            case DINGO_REG_BUILD:
                return 0x000100;
            case DINGO_REG_PUSH_PAGES:
                return memory_doorbells ? 0 : kPushPages;
            default:
                return 0;
        }
    }
    void write(std::uint32_t offset, std::uint64_t data, unsigned strobes) {
        if (strobes != 0xff && strobes != 0x0f && strobes != 0xf0) {
            ++mmio_dropped;
            return;
        }
        if (offset >= 0x3000 && offset < 0x4000) {
            return;
        }
        if ((strobes & 1) != 0) {
            word(offset, static_cast<std::uint32_t>(data));
        }
        if ((strobes & 0x80) != 0) {
            word(offset + 4, static_cast<std::uint32_t>(data >> 32));
        }
    }
    void word(std::uint32_t offset, std::uint32_t v) {
        const auto half = [&](std::uint64_t& base) {
            const unsigned shift = offset % 8 * 8;
            base = (base & ~(0xffffffffull << shift)) | std::uint64_t{v} << shift;
        };
        switch (offset) {
            case DINGO_REG_CTRL:
                if ((v & 1) != 0) {
                    reset();
                }
                return;
            case DINGO_REG_ASQ_BASE:
            case DINGO_REG_ASQ_BASE + 4:
                return half(asq);
            case DINGO_REG_ACQ_BASE:
            case DINGO_REG_ACQ_BASE + 4:
                return half(acq);
            case DINGO_REG_AQ_CTRL:
                if ((v & 0x7ffffff0) != 0 || fatal != 0) {
                    ++mmio_dropped;
                } else if ((v >> 31) == 0) {
                    enabled = false;
                } else {
                    enabled = asq % 4096 == 0 && acq % 4096 == 0 && (v & 15) >= 1 && (v & 15) <= 8;
                    asq_latched = asq;
                    acq_latched = acq;
                    log_depth = v & 15;
                    producer = consumer = 0;
                    mmio_dropped += !enabled;
                }
                return;
            case DINGO_REG_ASQ_DB: {
                const std::uint32_t held = v - consumer;
                if (!enabled || held > 1u << log_depth || held < producer - consumer) {
                    ++mmio_dropped;
                } else {
                    producer = v;
                }
                return;
            }
            default:
                ++mmio_dropped;
        }
    }
};

struct Bench {
    Vdingo_regs dut;
    Model model;
    Dice dice;
    unsigned willing;
    std::map<unsigned, std::uint64_t> counted;
    std::deque<Bits> doorbells;
    std::deque<Bits> pushed;  ///< orders for dingo_push
    unsigned resets = 0;
    std::uint32_t consumer = 0;  ///< of dingo_admin
    bool admin_enable = false;
    bool command = false;  ///< an admin command is in work
    bool doorbells_taken = true;
    std::uint64_t now = 0x1'ffff'f000;

    Bench(unsigned seed, unsigned percent, bool memory) : dice(seed), willing(percent) {
        model.memory_doorbells = memory;
        drive(dut.strap_i, Bits{{0, 32},
                                {memory, 1},
                                {kMac, 48},
                                {0, 32},
                                {0, 32},
                                {0, 32},
                                {0, 32},
                                {kMbps, 32},
                                {DINGO_ENGINE_RTL, 32}});
        dut.ready_i = 1;
        dut.rst_ni = 0;
        clock();
        dut.rst_ni = 1;
    }
    void clock() {
        now += 1 + dice.below(3) * 0x100;
        dut.now_ns_i = now;
        dut.link_up_i = model.link;
        // dingo_admin sees only between commands that the queue was stopped or started.
        if (dice.percent(willing) && !command) {
            if (admin_enable && !dut.aq_enable_o) {
                consumer = 0;
            }
            admin_enable = dut.aq_enable_o;
        }
        dut.asq_consumer_i = consumer;
        dut.aq_idle_i = !command && admin_enable == (dut.aq_enable_o != 0);
        dut.stat_ready_i = dice.percent(willing);
        dut.db_ready_i = doorbells_taken && dice.percent(willing);
        dut.push_done_i = dut.push_valid_o && dice.percent(willing);
        dut.clk_i = 0;
        dut.eval();
        if (dut.rst_ni != 0) {
            if (dut.stat_valid_o && dut.stat_ready_i && !dut.soft_reset_o) {
                counted[dut.stat_o >> 16] += dut.stat_o & 0xffff;
            }
            if (dut.push_valid_o && dut.push_done_i)
                pushed.push_back(sample(dut.push_o, 0, 65));
            if (dut.db_valid_o && dut.db_ready_i) {
                doorbells.push_back(sample(dut.db_o, 0, 74));
            }
            if (dut.soft_reset_o) {
                ++resets;
                consumer = 0;
                admin_enable = false;
                counted.clear();
            }
        }
        dut.clk_i = 1;
        dut.eval();
    }
    void write(std::uint32_t offset, std::uint64_t data, unsigned strobes) {
        bool aw = false;
        bool w = false;
        dut.s_reg_awaddr_i = offset;
        dut.s_reg_wdata_i = data;
        dut.s_reg_wstrb_i = strobes;
        for (int i = 0; i < 400; ++i) {
            dut.s_reg_awvalid_i = !aw && dice.percent(willing);
            dut.s_reg_wvalid_i = !w && dice.percent(willing);
            dut.s_reg_bready_i = dice.percent(willing);
            dut.clk_i = 0;
            dut.eval();
            const bool took_aw = dut.s_reg_awvalid_i && dut.s_reg_awready_o;
            const bool took_w = dut.s_reg_wvalid_i && dut.s_reg_wready_o;
            const bool answered = dut.s_reg_bvalid_o && dut.s_reg_bready_i;
            clock();
            aw |= took_aw;
            w |= took_w;
            dut.s_reg_awvalid_i = dut.s_reg_wvalid_i = 0;
            if (answered) {
                ASSERT_TRUE(aw && w);
                dut.s_reg_bready_i = 0;
                return;
            }
        }
        FAIL() << "no answer to a write";
    }
    std::uint64_t read(std::uint32_t offset) {
        bool asked = false;
        dut.s_reg_araddr_i = offset;
        for (int i = 0; i < 400; ++i) {
            dut.s_reg_arvalid_i = !asked;
            dut.s_reg_rready_i = dice.percent(willing);
            dut.clk_i = 0;
            dut.eval();
            const bool took = dut.s_reg_arvalid_i && dut.s_reg_arready_o;
            if (dut.s_reg_rvalid_o && dut.s_reg_rready_i) {
                const std::uint64_t value = dut.s_reg_rdata_o;
                clock();
                dut.s_reg_rready_i = 0;
                return value;
            }
            clock();
            asked |= took;
            dut.s_reg_arvalid_i = 0;
        }
        ADD_FAILURE() << "no answer to a read";
        return 0;
    }
    void doorbell(std::uint32_t offset, std::uint64_t data, unsigned strobes) {
        bool aw = false;
        bool w = false;
        dut.s_db_awaddr_i = offset;
        dut.s_db_wdata_i = data;
        dut.s_db_wstrb_i = strobes;
        for (int i = 0; i < 400; ++i) {
            dut.s_db_awvalid_i = !aw && dice.percent(willing);
            dut.s_db_wvalid_i = !w && dice.percent(willing);
            dut.s_db_bready_i = dice.percent(willing);
            dut.clk_i = 0;
            dut.eval();
            const bool took_aw = dut.s_db_awvalid_i && dut.s_db_awready_o;
            const bool took_w = dut.s_db_wvalid_i && dut.s_db_wready_o;
            const bool answered = dut.s_db_bvalid_o && dut.s_db_bready_i;
            clock();
            aw |= took_aw;
            w |= took_w;
            dut.s_db_awvalid_i = dut.s_db_wvalid_i = 0;
            if (answered) {
                dut.s_db_bready_i = 0;
                return;
            }
        }
        FAIL() << "no answer to a doorbell";
    }
    void check_outputs() {
        for (int i = 0; i < 200 && (!dut.idle_o || i == 0); ++i) {
            clock();
        }
        ASSERT_TRUE(dut.idle_o);
        ASSERT_EQ(counted[DINGO_CARD_MMIO_DROPPED], model.mmio_dropped);
        ASSERT_EQ(counted[DINGO_CARD_DB_DROPPED], model.db_dropped);
        ASSERT_EQ(dut.aq_enable_o != 0, model.enabled);
        ASSERT_EQ(dut.aq_log_depth_o, model.log_depth);
        ASSERT_EQ(dut.asq_base_o, model.asq_latched);
        ASSERT_EQ(dut.acq_base_o, model.acq_latched);
        ASSERT_EQ(dut.asq_producer_o, model.producer);
        ASSERT_EQ(resets, model.resets);
    }
    void fail(std::uint32_t code) {
        dut.fatal_valid_i = 1;
        dut.fatal_code_i = code;
        clock();
        dut.fatal_valid_i = 0;
        if (model.fatal == 0) {
            model.fatal = code;
            model.enabled = false;
        }
    }
};

class RtlRegs : public testing::TestWithParam<int> {};

TEST_P(RtlRegs, RandomAccessesAreAsInTheModel) {
    Bench bench(1, static_cast<unsigned>(GetParam()), GetParam() == 50);
    Dice& dice = bench.dice;
    Model& model = bench.model;
    std::map<std::string, unsigned> met;
    for (int step = 0; step < 12'000 && !HasFatalFailure(); ++step) {
        const unsigned what = dice.below(100);
        if (what < 45) {
            std::uint32_t offset = dice.below(12) * 8;
            std::uint64_t data = dice.any();
            unsigned strobes = dice.percent(50) ? 0xff : dice.percent(50) ? 0x0f : 0xf0;
            const unsigned kind = dice.below(10);
            if (kind < 3) {  // queue bases, most of them aligned
                offset = dice.percent(50) ? DINGO_REG_ASQ_BASE : DINGO_REG_ACQ_BASE;
                data = dice.percent(90) ? data & ~0xfffull : data;
                strobes = 0xff;
            } else if (kind < 5) {
                offset = DINGO_REG_AQ_CTRL;
                strobes = 0x0f;
                data = dice.below(12) | (dice.percent(80) ? 0x80000000u : 0) |
                       (dice.percent(10) ? 0x100u : 0);
            } else if (kind < 8) {
                offset = DINGO_REG_AQ_CTRL;
                strobes = 0xf0;
                data = std::uint64_t{model.producer + dice.below(6) - 1} << 32;
            } else if (kind == 8 && dice.percent(30)) {
                strobes = dice.below(256);
            } else if (kind == 9 && dice.percent(50)) {
                offset = dice.percent(50) ? 0x3000 + dice.below(512) * 8 : dice.below(0x2000) * 8;
            }
            if (offset == DINGO_REG_STATUS && (data >> 32 & 1) != 0 && dice.percent(80)) {
                data &= ~(1ull << 32);
            }
            if (dice.percent(model.fatal != 0 ? 20 : 1)) {
                offset = DINGO_REG_STATUS;
                data = 1ull << 32;
                strobes = 0xf0;
            }
            const std::uint32_t resets = model.resets;
            const bool enabled = model.enabled;
            const std::uint32_t producer = model.producer;
            bench.write(offset, data, strobes);
            model.write(offset, data, strobes);
            met["reset"] += model.resets != resets;
            met["enable"] += model.enabled && !enabled;
            met["producer"] += model.producer != producer;
        } else if (what < 75) {
            const std::uint32_t offset =
                dice.percent(90) ? dice.below(15) * 8 : dice.below(0x2000) * 8;
            if (offset == DINGO_REG_CLOCK) {
                const std::uint64_t before = bench.now;
                const std::uint64_t clock = bench.read(offset);
                ASSERT_GE(clock, before);
                ASSERT_LE(clock, bench.now);
                model.clock_high = static_cast<std::uint32_t>(clock >> 32);
                for (unsigned i = dice.below(100); i > 0; --i) {
                    bench.clock();
                }
                ASSERT_EQ(bench.read(offset + 4) >> 32, model.clock_high)
                    << "the halves are of two moments";
            } else {
                ASSERT_EQ(bench.read(offset), offset < 0x70 ? model.value(offset) : 0)
                    << std::hex << offset;
            }
        } else if (what < 92) {
            const unsigned page = dice.percent(50) ? dice.below(kPushPages + 8) : dice.below(1024);
            const unsigned slot = dice.percent(90) ? 16 + dice.below(496) : dice.below(512);
            std::uint64_t data = dice.any();
            if (dice.percent(50))
                data = (data & ~0x0f000000ull) | std::uint64_t{DINGO_DB_SQ} << 24;
            const bool sq = (data >> 24 & 15) == DINGO_DB_SQ;
            const auto blocks = static_cast<unsigned>(sq ? data >> 28 & 7 : 0);
            const bool pushes = blocks != 0 && blocks <= DINGO_PUSH_BLOCKS && page < kPushPages &&
                                !model.memory_doorbells;
            const unsigned strobes = dice.percent(90) ? 0xff : dice.percent(50) ? 0x0f : 0xf0;
            bench.doorbells.clear();
            bench.pushed.clear();
            bench.doorbell(page * 4096 + slot * 8, data, strobes);
            if (slot < 16 || strobes != 0xff || model.fatal != 0 || (blocks != 0 && !pushes)) {
                ++model.db_dropped;
                ASSERT_TRUE(bench.pushed.empty());
                bench.clock();
                bench.clock();
                ASSERT_TRUE(bench.doorbells.empty());
            } else {
                ++met["doorbell"];
                for (int i = 0; i < 100 && bench.doorbells.empty(); ++i) {
                    bench.clock();
                }
                ASSERT_EQ(bench.doorbells.size(), 1u);
                ASSERT_EQ(bench.doorbells[0],
                          (Bits{{page, 10}, {data >> 32, 32}, {data & 0xffffffff, 32}}));
                ASSERT_EQ(bench.pushed.size(), pushes ? 1u : 0u);
                if (pushes) {
                    const Bits order{
                        {page, 6}, {data & 0xffffff, 24}, {data >> 32, 32}, {blocks, 3}};
                    ASSERT_EQ(bench.pushed[0], order);
                }
                met["pushed"] += pushes;
            }
        } else if (what < 96) {
            bench.check_outputs();
            if (model.enabled && model.producer != model.consumer) {
                ++model.consumer;
                ++bench.consumer;
            }
        } else if (what < 97) {
            bench.fail(1 + dice.below(2));
            ++met["fatal"];
        } else {
            model.link = dice.below(2);
            bench.check_outputs();
        }
    }
    if (!HasFatalFailure()) {
        bench.check_outputs();
    }
    for (const char* name : {"reset", "enable", "producer", "doorbell", "fatal", "pushed"}) {
        if (name == std::string("pushed") && model.memory_doorbells)
            continue;
        EXPECT_GT(met[name], 20u) << name << " is not tested";
    }
}

INSTANTIATE_TEST_SUITE_P(Stalls, RtlRegs, testing::Values(100, 50, 20));

TEST(RtlRegsNotReady, OnlyResetIsTakenAndStatusTellsIt) {
    Bench bench(1, 70, false);
    bench.dut.ready_i = 0;
    bench.model.ready = false;
    EXPECT_EQ(bench.read(DINGO_REG_STATUS) & 1, 0u);
    bench.write(DINGO_REG_ASQ_BASE, 0x1000, 0xff);
    bench.write(DINGO_REG_AQ_CTRL, 0x80000001, 0x0f);
    bench.doorbell(16 * 8, 5, 0xff);
    EXPECT_TRUE(bench.doorbells.empty());
    bench.model.mmio_dropped = 3;
    bench.model.db_dropped = 1;
    bench.check_outputs();
    bench.write(DINGO_REG_STATUS, 1ull << 32, 0xf0);
    bench.model.reset();
    bench.check_outputs();
}

// The target takes no doorbell for 50 cycles: the ASQ doorbell written behind it waits, too.
TEST(RtlRegsOrder, AsqDoorbellFollowsTheDoorbellsBeforeIt) {
    Bench bench(1, 100, false);
    bench.write(DINGO_REG_AQ_CTRL, 0x80000004, 0x0f);
    bench.doorbells_taken = false;
    auto& dut = bench.dut;
    dut.s_db_awaddr_i = 16 * 8;
    dut.s_db_wdata_i = 7;
    dut.s_db_wstrb_i = 0xff;
    dut.s_db_awvalid_i = dut.s_db_wvalid_i = 1;
    bench.clock();
    dut.s_db_awvalid_i = dut.s_db_wvalid_i = 0;
    dut.s_reg_awaddr_i = DINGO_REG_ASQ_DB & ~7u;
    dut.s_reg_wdata_i = 1ull << 32;
    dut.s_reg_wstrb_i = 0xf0;
    dut.s_reg_awvalid_i = dut.s_reg_wvalid_i = 1;
    bench.clock();
    dut.s_reg_awvalid_i = dut.s_reg_wvalid_i = 0;
    dut.s_reg_bready_i = dut.s_db_bready_i = 1;
    for (int i = 0; i < 50; ++i) {
        bench.clock();
        ASSERT_EQ(dut.asq_producer_o, 0u);
    }
    bench.doorbells_taken = true;
    for (int i = 0; i < 20; ++i) {
        bench.clock();
    }
    EXPECT_EQ(dut.asq_producer_o, 1u);
    EXPECT_EQ(bench.doorbells.size(), 1u);
}

TEST(RtlRegsOrder, NoWriteWaitsForTheCard) {
    Bench bench(1, 100, false);
    bench.write(DINGO_REG_ASQ_BASE, 0x1000, 0xff);
    bench.write(DINGO_REG_AQ_CTRL, 0x80000004, 0x0f);
    bench.write(DINGO_REG_ASQ_DB & ~7u, 3ull << 32, 0xf0);
    for (int i = 0; i < 10; ++i) {
        bench.clock();
    }
    // A command is in work, and no doorbell is taken.
    auto& dut = bench.dut;
    ASSERT_EQ(dut.asq_producer_o, 3u);
    bench.consumer = 2;
    bench.command = true;
    bench.doorbells_taken = false;
    for (unsigned i = 0; i < 40; ++i) {
        bench.doorbell((16 + i) * 8, i, 0xff);
    }
    bench.write(DINGO_REG_ASQ_DB & ~7u, 4ull << 32, 0xf0);
    ASSERT_EQ(dut.asq_producer_o, 3u) << "it overtook doorbells";
    // The queue is enabled anew during the command, which keeps the old rings until it ends.
    bench.write(DINGO_REG_ASQ_BASE, 0x5000, 0xff);
    bench.write(DINGO_REG_AQ_CTRL, 0x80000003 | 2ull << 32, 0xff);
    for (unsigned i = 0; i < 20; ++i) {
        bench.doorbell((16 + i) * 8, 40 + i, 0xff);
        ASSERT_FALSE(dut.aq_enable_o);
        ASSERT_EQ(dut.asq_base_o, 0x1000u);
        ASSERT_EQ(dut.aq_log_depth_o, 4u);
    }
    EXPECT_EQ(bench.read(DINGO_REG_AQ_CTRL), 0x80000003u);
    bench.consumer = 3;
    bench.command = false;
    for (int i = 0; i < 10; ++i) {
        bench.clock();
    }
    EXPECT_TRUE(dut.aq_enable_o);
    EXPECT_EQ(dut.asq_base_o, 0x5000u);
    EXPECT_EQ(dut.aq_log_depth_o, 3u);
    EXPECT_EQ(dut.asq_producer_o, 0u);
    bench.doorbells_taken = true;
    for (int i = 0; i < 45; ++i) {
        bench.clock();
    }
    EXPECT_EQ(dut.asq_producer_o, 2u);
    for (int i = 0; i < 45; ++i) {
        bench.clock();
    }
    ASSERT_EQ(bench.doorbells.size(), 60u);
    for (unsigned i = 0; i < 60; ++i) {
        EXPECT_EQ(bench.doorbells[i].get(0, 32), i) << "doorbells out of order";
    }
    EXPECT_TRUE(bench.counted.empty());
}

}  // namespace
