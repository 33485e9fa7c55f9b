// SPDX-License-Identifier: BSD-2-Clause
//
// Bench for dingo_cq: host memory, four clients, doorbells; the outputs are collected.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>

#include "Vdingo_cq.h"
#include "dingo_hw.h"
#include "host_port.h"

namespace dingo::rtl {

constexpr unsigned kCqLog = 3;
constexpr unsigned kCqs = 1 << kCqLog;
constexpr unsigned kQpLog = 4;
constexpr unsigned kEqLog = 3;

struct CqConfig {
    bool on = true;
    bool resize = false;
    unsigned cq = 0, eq = 0, page = 0, log_size = 0;
    Mem mem;
    bool moderate = false;
    unsigned count = 0, period = 0;  ///< with moderate; period in ns
    [[nodiscard]] Bits bits() const {
        Bits all = mem.bits();
        all.add(period, 26);
        all.add(count, 16);
        all.add(log_size, 5);
        all.add(page, 10);
        all.add(eq, kEqLog);
        all.add(cq, kCqLog);
        all.add(moderate, 1);
        all.add(resize, 1);
        all.add(on, 1);
        return all;
    }
};

struct Cqe {
    unsigned cq = 0, client = 0, qp = 0;
    std::uint32_t wqe_index = 0, byte_len = 0, imm = 0, qpn_op = 0, src_qpn = 0;
    unsigned status = 0, verr = 0, vlan = 0, flags = 0;
    [[nodiscard]] Bits bits() const {
        return {{cq, kCqLog},   {client == 1, 1}, {qp, kQpLog}, {wqe_index, 32},
                {byte_len, 32}, {imm, 32},        {qpn_op, 32}, {src_qpn, 32},
                {status, 8},    {verr, 8},        {vlan, 16},   {flags, 8}};
    }
    [[nodiscard]] bool solicited() const {
        return (flags & DINGO_CQE_FLAGS_SOLICITED_MASK) != 0 || status != DINGO_WCS_SUCCESS;
    }
};

inline Cqe random_cqe(Dice& dice, unsigned client) {
    Cqe e;
    e.client = client;
    e.cq = dice.below(kCqs);
    e.qp = dice.below(1 << kQpLog);
    e.wqe_index = static_cast<std::uint32_t>(dice.any());
    e.byte_len = static_cast<std::uint32_t>(dice.any());
    e.imm = static_cast<std::uint32_t>(dice.any());
    e.qpn_op = static_cast<std::uint32_t>(dice.any());
    e.src_qpn = static_cast<std::uint32_t>(dice.any());
    e.status = dice.percent(80) ? DINGO_WCS_SUCCESS : dice.below(256);
    e.verr = dice.below(256);
    e.vlan = dice.below(65536);
    e.flags = dice.percent(50) ? dice.below(256) & ~unsigned{DINGO_CQE_FLAGS_SOLICITED_MASK}
                               : dice.below(256);
    return e;
}

struct CqBench {
    Vdingo_cq dut;
    std::optional<std::pair<bool, std::uint32_t>> resized;  ///< answer: error, producer
    Dice dice;                                              ///< chooses operations
    Dice noise;  ///< chooses their times; separate, so that operations do not depend on stalls
    HostPort<Vdingo_cq> host{dut, noise};
    std::uint64_t now = 0x1234'5678'9abc;
    unsigned willing = 100;  ///< percent of cycles in which events and counters are taken

    // inputs, offered until they are taken
    std::array<std::optional<Cqe>, 4> cqe;
    struct Doorbell {
        unsigned page;
        std::uint32_t index, word0;
    };
    std::optional<Doorbell> db;
    bool took_db = false;  ///< in the last cycle
    std::array<bool, 4> took_cqe{};
    // outputs
    std::deque<std::pair<unsigned, unsigned>> completions;  ///< EQ, CQ
    std::deque<std::uint32_t> errors;                       ///< CQ
    std::deque<std::pair<unsigned, unsigned>> fails;        ///< client, QP
    std::map<unsigned, unsigned> counted;

    explicit CqBench(unsigned seed) : dice(seed), noise(seed) {
        dut.rst_ni = 0;
        clock();
        dut.rst_ni = 1;
        for (unsigned i = 0; i < 2 * kCqs; ++i) {
            clock();
        }
    }
    void clock() {
        now += 1 + noise.below(20);
        dut.now_ns_i = now;
        host.drive();
        dut.comp_ready_i = noise.percent(willing);
        dut.ev_ready_i = noise.percent(willing);
        dut.stat_ready_i = noise.percent(willing);
        dut.db_valid_i = db.has_value();
        if (db) {
            drive(dut.db_i, Bits{{db->page, 10}, {db->index, 32}, {db->word0, 32}});
        }
        Bits all;
        unsigned valid = 0;
        for (unsigned c = 0; c < 4; ++c) {
            valid |= unsigned{cqe[c].has_value()} << c;
            all.add((cqe[c] ? *cqe[c] : Cqe{}).bits());
        }
        dut.cqe_valid_i = valid;
        if (valid != 0) {
            drive(dut.cqe_i, all);
        }
        dut.clk_i = 0;
        dut.eval();
        took_db = false;
        took_cqe.fill(false);
        if (dut.rst_ni) {
            sample_outputs();
        }
        dut.clk_i = 1;
        dut.eval();
        dut.cfg_valid_i = 0;
    }
    void sample_outputs() {
        host.sample();
        if (db && dut.db_ready_o) {
            took_db = true;
            db.reset();
        }
        for (unsigned c = 0; c < 4; ++c) {
            if (cqe[c] && (dut.cqe_ready_o >> c & 1) != 0) {
                took_cqe[c] = true;
                cqe[c].reset();
            }
        }
        if (dut.info_valid_o) {
            ASSERT_FALSE(resized);
            resized.emplace((dut.info_o >> 32 & 1) != 0, static_cast<std::uint32_t>(dut.info_o));
        }
        if (dut.comp_valid_o && dut.comp_ready_i) {
            completions.emplace_back(dut.comp_eq_o, dut.comp_cq_o);
        }
        if (dut.ev_valid_o && dut.ev_ready_i) {
            const Bits ev = sample(dut.ev_o, 0, 72);
            ASSERT_EQ(ev.get(64, 8), unsigned{DINGO_EV_CQ_ERR});
            ASSERT_EQ(ev.get(0, 32), 0u);
            errors.push_back(static_cast<std::uint32_t>(ev.get(32, 32)));
        }
        if (dut.stat_valid_o && dut.stat_ready_i) {
            ASSERT_EQ(dut.stat_o & 0xffff, 1u);
            ++counted[dut.stat_o >> 16];
        }
        const std::array<bool, 4> failed{dut.req_fail_valid_o != 0, dut.rsp_fail_valid_o != 0,
                                         dut.etx_fail_o != 0, dut.erx_fail_o != 0};
        for (unsigned c = 0; c < 4; ++c) {
            if (failed[c]) {
                fails.emplace_back(c, c < 2 ? dut.fail_qp_o : 0u);
            }
        }
    }
    void settle() {
        for (int i = 0; i < 5000; ++i) {
            clock();
            if (dut.idle_o && !dut.due_o && host.idle() && !db && !cqe[0] && !cqe[1] && !cqe[2] &&
                !cqe[3]) {
                clock();  // *_fail_* outputs follow a cycle later
                return;
            }
        }
        FAIL() << "does not come to rest";
    }
    void configure(const CqConfig& config) {
        drive(dut.cfg_i, config.bits());
        dut.cfg_valid_i = 1;
        clock();
        settle();
    }
    /// 32 bytes of the entry at `slot` of a ring.
    std::array<std::uint64_t, 4> entry(const CqConfig& config, std::uint32_t slot) {
        const std::uint64_t at = host.address(config.mem, std::uint64_t{slot} * DINGO_CQE_SIZE);
        return {host.load(at, 8), host.load(at + 8, 8), host.load(at + 16, 8),
                host.load(at + 24, 8)};
    }
};

}  // namespace dingo::rtl
