// SPDX-License-Identifier: BSD-2-Clause
//
// Bench for dingo_eq: host memory, sources of events, doorbells, interrupts.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>

#include "Vdingo_eq.h"
#include "dingo_hw.h"
#include "host_port.h"

namespace dingo::rtl {

constexpr unsigned kCqLog = 3;
constexpr unsigned kCqs = 1 << kCqLog;
constexpr unsigned kEqLog = 3;
constexpr unsigned kEqs = 1 << kEqLog;

struct EqConfig {
    bool on = true;
    unsigned eq = 0;
    bool is_async = false;
    unsigned vector = 0, log_size = 0;
    Mem mem;
    [[nodiscard]] Bits bits() const {
        Bits all = mem.bits();
        all.add(log_size, 5);
        all.add(vector, 6);
        all.add(is_async, 1);
        all.add(eq, kEqLog);
        all.add(on, 1);
        return all;
    }
};

struct Event {
    unsigned kind = 0;
    std::uint32_t id = 0, data = 0;
    [[nodiscard]] std::uint64_t name() const { return std::uint64_t{kind} << 32 | id; }
    [[nodiscard]] Bits bits() const { return {{kind, 8}, {id, 32}, {data, 32}}; }
};

struct EqBench {
    Vdingo_eq dut;
    Dice dice;   ///< chooses operations
    Dice noise;  ///< chooses their times; separate, so that operations do not depend on stalls
    HostPort<Vdingo_eq> host{dut, noise};
    unsigned willing = 100;  ///< percent of cycles in which interrupts and counters are taken

    // inputs, offered until they are taken
    std::array<std::optional<Event>, 4> events;
    std::optional<std::pair<unsigned, unsigned>> completion;    ///< EQ, CQ
    std::optional<std::pair<std::uint32_t, std::uint32_t>> db;  ///< index, word0
    bool took_db = false;                                       ///< in the last cycle
    // outputs
    std::vector<unsigned> vectors;
    std::map<unsigned, unsigned> counted;

    explicit EqBench(unsigned seed) : dice(seed), noise(seed) {
        dut.rst_ni = 0;
        clock();
        dut.rst_ni = 1;
        for (unsigned i = 0; i < 2 * kCqs; ++i) {
            clock();
        }
    }
    void clock() {
        host.drive();
        dut.msix_ready_i = noise.percent(willing);
        dut.stat_ready_i = noise.percent(willing);
        dut.db_valid_i = db.has_value();
        if (db) {
            drive(dut.db_i, Bits{{0, 10}, {db->first, 32}, {db->second, 32}});
        }
        dut.comp_valid_i = completion.has_value();
        if (completion) {
            dut.comp_eq_i = completion->first;
            dut.comp_cq_i = completion->second;
        }
        Bits all;
        unsigned valid = 0;
        for (unsigned i = 0; i < 4; ++i) {
            valid |= unsigned{events[i].has_value()} << i;
            all.add((events[i] ? *events[i] : Event{}).bits());
        }
        dut.ev_valid_i = valid;
        drive(dut.ev_i, all);
        dut.clk_i = 0;
        dut.eval();
        took_db = false;
        if (dut.rst_ni) {
            host.sample();
            if (db && dut.db_ready_o) {
                took_db = true;
                db.reset();
            }
            if (completion && dut.comp_ready_o) {
                completion.reset();
            }
            for (unsigned i = 0; i < 4; ++i) {
                if (events[i] && (dut.ev_ready_o >> i & 1) != 0) {
                    events[i].reset();
                }
            }
            if (dut.msix_valid_o && dut.msix_ready_i) {
                vectors.push_back(dut.msix_vector_o);
            }
            if (dut.stat_valid_o && dut.stat_ready_i) {
                counted[dut.stat_o >> 16] += dut.stat_o & 0xffff;
            }
        }
        dut.clk_i = 1;
        dut.eval();
        dut.cfg_valid_i = dut.forget_valid_i = dut.admin_irq_i = dut.fatal_valid_i = 0;
    }
    void settle() {
        for (int i = 0; i < 5000; ++i) {
            clock();
            if (dut.idle_o && host.idle() && !db && !completion && !events[0] && !events[1] &&
                !events[2] && !events[3]) {
                return;
            }
        }
        FAIL() << "does not come to rest";
    }
    void configure(const EqConfig& config) {
        drive(dut.cfg_i, config.bits());
        dut.cfg_valid_i = 1;
        clock();
        settle();
    }
    /// Sets forget_* for the next cycle.
    void forget(const Event& event) {
        drive(dut.forget_i, event.bits());
        dut.forget_valid_i = 1;
    }
    void admin_irq() { dut.admin_irq_i = 1; }
};

}  // namespace dingo::rtl
