// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_eq, one operation after the other: entries, interrupts and counters equal those of the
// model's EventQueue and AsyncEvents.
#include <gtest/gtest.h>

#include <algorithm>

#include "eq_bench.h"

namespace {

using namespace dingo::rtl;

/// State of an EQ as in hw/model/src/event_queue.h; RtlEq lists what it writes and sends.
struct Model {
    EqConfig cfg{.on = false, .mem = {}};
    std::uint32_t producer = 0, consumer = 0;
    bool armed = false, error = false;
    std::deque<Event> waiting;

    [[nodiscard]] bool full() const { return producer - consumer == 1u << cfg.log_size; }
};

class RtlEq : public testing::TestWithParam<int> {
  protected:
    RtlEq() : bench(static_cast<unsigned>(GetParam()) + 1) {
        bench.host.stall_percent = static_cast<unsigned>(GetParam());
        bench.host.latency = 1 + static_cast<unsigned>(GetParam()) / 3;
        bench.willing = 100 - static_cast<unsigned>(GetParam());
        cq_eq.fill(0);
    }
    void write(Model& m, const Event& event) {
        if (m.error) {
            return;
        }
        const std::uint32_t slot = m.producer & ((1u << m.cfg.log_size) - 1);
        if (bench.host.bad_lines.contains(bench.host.address(m.cfg.mem, slot * 16ull) / 64 * 64)) {
            m.error = true;
            ++met["bus error"];
            return;
        }
        wanted_entries.push_back({m.cfg.eq, m.producer, event});
        ++m.producer;
    }
    void interrupt(Model& m) {
        if (m.armed) {
            m.armed = false;
            wanted_vectors.push_back(m.cfg.vector);
            ++met["interrupt"];
        }
    }
    void model_post(Model& m, const Event& event) {
        if (!m.full() && m.waiting.empty()) {
            write(m, event);
            interrupt(m);
        } else if (std::ranges::find_if(m.waiting, [&](const Event& e) {
                       return e.name() == event.name();
                   }) == m.waiting.end()) {
            ++wanted_overflows;
            m.waiting.push_back(event);
            ++met["waits"];
        }
    }
    bool model_doorbell(Model& m, bool arm, std::uint32_t index) {
        if (index - m.consumer > m.producer - m.consumer) {
            return false;
        }
        m.consumer = index;
        // Asynchronous events go first; the order among CQs is up to the card.
        while (!m.waiting.empty() && !m.full()) {
            auto next = std::ranges::find_if(
                m.waiting, [](const Event& e) { return e.kind != DINGO_EV_COMPLETION; });
            if (next == m.waiting.end()) {
                next = m.waiting.begin();
                if (!m.error) {
                    const std::uint64_t at = bench.host.address(
                        m.cfg.mem, (m.producer & ((1u << m.cfg.log_size) - 1)) * 16ull);
                    // Host memory shows which one the card chose.
                    const auto told = static_cast<std::uint32_t>(bench.host.load(at + 4, 4));
                    next = std::ranges::find_if(m.waiting,
                                                [&](const Event& e) { return e.id == told; });
                    if (next == m.waiting.end()) {
                        next = m.waiting.begin();  // wrong; check() compares the entries and fails
                    }
                }
            }
            const Event event = *next;
            m.waiting.erase(next);
            write(m, event);
            ++met["drained"];
        }
        m.armed = m.armed || arm;
        if (m.producer != m.consumer) {
            interrupt(m);
        }
        return true;
    }
    Model* async() {
        const auto found =
            std::ranges::find_if(models, [](const Model& m) { return m.cfg.on && m.cfg.is_async; });
        return found == models.end() ? nullptr : &*found;
    }
    void forget(unsigned kind, std::uint32_t id) {
        bench.forget({kind, id, 0});
        bench.settle();
        for (Model& m : models) {
            std::erase_if(m.waiting, [&](const Event& e) {
                return e.id == id &&
                       (kind == DINGO_EV_QP_FATAL ? e.kind >> 4 == 2 : e.kind == kind);
            });
        }
    }
    void create(unsigned eq) {
        EqConfig cfg{true,
                     eq,
                     async() == nullptr && bench.dice.percent(70),
                     bench.dice.below(64),
                     bench.dice.below(4),
                     {}};
        cfg.log_size += bench.dice.percent(20) ? 6 : 0;
        cfg.mem = bench.host.make_ring(bench.dice.below(3), 16ull << cfg.log_size);
        models[eq] = Model{};
        models[eq].cfg = cfg;
        bench.configure(cfg);
        for (unsigned& used : cq_eq) {
            used = bench.dice.percent(30) && !busy(used) ? eq : used;
        }
    }
    /// Events wait for this EQ: its CQs must not move to another one.
    bool busy(unsigned eq) { return !models[eq].waiting.empty(); }
    void destroy(unsigned eq) {
        for (unsigned cq = 0; cq < kCqs; ++cq) {
            if (cq_eq[cq] == eq) {
                forget(DINGO_EV_COMPLETION, cq);
            }
        }
        models[eq] = Model{};
        bench.configure({.on = false, .eq = eq, .mem = {}});
        ++met["destroyed"];
    }
    void completion() {
        const unsigned cq = bench.dice.below(kCqs);
        Model& m = models[cq_eq[cq]];
        if (!m.cfg.on) {
            return;
        }
        bench.completion = {cq_eq[cq], cq};
        bench.settle();
        model_post(m, {DINGO_EV_COMPLETION, cq, 0});
    }
    void asynchronous() {
        constexpr std::array kKinds{DINGO_EV_QP_FATAL, DINGO_EV_QP_REQ_ERR, DINGO_EV_COMM_EST,
                                    DINGO_EV_CQ_ERR, DINGO_EV_PORT_UP};
        const Event event{static_cast<unsigned>(kKinds[bench.dice.below(kKinds.size())]),
                          bench.dice.percent(80) ? bench.dice.below(5)
                                                 : static_cast<std::uint32_t>(bench.dice.any()),
                          static_cast<std::uint32_t>(bench.dice.any())};
        Model* m = async();
        if (m != nullptr && m->waiting.size() >= 50) {
            return;  // RtlEqTable tests the full table
        }
        bench.events[bench.dice.below(4)] = event;
        bench.settle();
        if (m != nullptr) {
            model_post(*m, event);
        }
    }
    void doorbell() {
        const unsigned eq =
            bench.dice.percent(97) ? bench.dice.below(kEqs) : bench.dice.below(1 << 24);
        Model& m = models[eq % kEqs];
        const std::uint32_t held = m.producer - m.consumer;
        const std::uint32_t index = bench.dice.percent(90)
                                        ? m.consumer + bench.dice.below(held + 1)
                                        : m.consumer + bench.dice.below(100) - 50;
        const bool arm = bench.dice.percent(50);
        bench.db = {index, eq | DINGO_DB_EQ << 24 | unsigned{arm} << 28};
        bench.settle();
        if (eq >= kEqs || !m.cfg.on || !model_doorbell(m, arm, index)) {
            ++wanted_dropped;
        }
    }
    void check() {
        for (const auto& [eq, index, event] : wanted_entries) {
            const EqConfig& cfg = models[eq].cfg;
            const std::uint64_t at =
                bench.host.address(cfg.mem, (index & ((1u << cfg.log_size) - 1)) * 16ull);
            const std::uint64_t phase = (index >> cfg.log_size & 1) == 0;
            ASSERT_EQ(bench.host.load(at, 8), std::uint64_t{event.id} << 32 | event.kind);
            ASSERT_EQ(bench.host.load(at + 8, 8), phase << 56 | event.data);
            ++met["entry"];
        }
        wanted_entries.clear();
        ASSERT_EQ(bench.vectors, wanted_vectors);
        bench.vectors.clear();
        wanted_vectors.clear();
        ASSERT_EQ(bench.counted[DINGO_CARD_DB_DROPPED], wanted_dropped);
        ASSERT_EQ(bench.counted[DINGO_CARD_EQ_OVERFLOW], wanted_overflows);
    }

    struct Entry {
        unsigned eq;
        std::uint32_t index;
        Event event;
    };
    EqBench bench;
    std::array<Model, kEqs> models;
    std::array<unsigned, kCqs> cq_eq;
    std::vector<Entry> wanted_entries;
    std::vector<unsigned> wanted_vectors;
    unsigned wanted_dropped = 0, wanted_overflows = 0;
    std::map<std::string, unsigned> met;
};

TEST_P(RtlEq, RandomOperationsAreAsInTheModel) {
    for (int step = 0; step < 8000 && !HasFatalFailure(); ++step) {
        const unsigned what = bench.dice.below(100);
        const unsigned eq = bench.dice.below(kEqs);
        if (bench.dice.percent(10) && models[eq].cfg.on) {
            const std::uint32_t slot = models[eq].producer & ((1u << models[eq].cfg.log_size) - 1);
            bench.host.bad_lines.insert(bench.host.address(models[eq].cfg.mem, slot * 16ull) / 64 *
                                        64);
        }
        if (what < 35) {
            completion();
        } else if (what < 60) {
            asynchronous();
        } else if (what < 90) {
            doorbell();
        } else if (what < 95) {
            const unsigned kind = bench.dice.below(3);
            forget(kind == 0   ? DINGO_EV_COMPLETION
                   : kind == 1 ? DINGO_EV_QP_FATAL
                               : DINGO_EV_CQ_ERR,
                   bench.dice.below(5));
        } else if (what < 96) {
            bench.admin_irq();
            bench.settle();
            wanted_vectors.push_back(0);
        } else if (!models[eq].cfg.on) {
            create(eq);
        } else if (bench.dice.percent(40)) {
            destroy(eq);
        }
        if (!HasFatalFailure()) {
            check();
        }
        bench.host.bad_lines.clear();
    }
    for (const char* name : {"entry", "interrupt", "waits", "drained", "destroyed", "bus error"}) {
        EXPECT_GT(met[name], 5u) << name << " is not tested";
    }
    EXPECT_GT(wanted_dropped, 20u);
}

INSTANTIATE_TEST_SUITE_P(Stalls, RtlEq, testing::Values(0, 30, 70));

}  // namespace
