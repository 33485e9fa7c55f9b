// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_cq, one operation after the other: entries, events, failures and counters equal those of
// the model's CompletionQueue.
#include <gtest/gtest.h>

#include <set>

#include "cq_bench.h"

namespace {

using namespace dingo::rtl;

/// As hw/model/src/completion_queue.cpp; events and failures are kept in fields.
struct Model {
    CqConfig cfg{.on = false, .mem = {}};
    std::uint32_t producer = 0, consumer = 0, notified = 0, last_solicited = 0;
    unsigned arm_sn = 0;
    bool armed = false, armed_solicited = false, error = false;
    bool fired = false, failed_now = false, overflow = false;
    // MODIFY_CQ; first_at is the time before the operation, so up to kSlack early
    std::uint32_t count = 0, period = 0, counted_from = 0;
    std::uint64_t first_at = 0;
    bool waits = false;

    bool enough() const { return count != 0 && producer - counted_from >= count; }
    void fail() {
        error = failed_now = true;
        if (waits) {
            fire();
        }
    }
    bool post(bool solicited, bool bus_ok, std::uint64_t now) {
        if (error) {
            return false;
        }
        if (producer - consumer == 1u << cfg.log_size) {
            overflow = true;
            fail();
            return false;
        }
        if (!bus_ok) {
            fail();
            return false;
        }
        if (!waits && producer == notified) {
            first_at = now;
        }
        ++producer;
        if (solicited) {
            last_solicited = producer;
        }
        if (waits || (armed && (solicited || !armed_solicited))) {
            tell();
        }
        return true;
    }
    void tell() {
        waits = period != 0 && !error && !enough();
        if (!waits) {
            fire();
        }
    }
    void moderate(std::uint32_t new_count, std::uint32_t new_period, std::uint64_t now) {
        if (period == 0) {
            first_at = now;
        }
        count = new_count;
        period = new_period;
        if (waits) {
            tell();
        }
    }
    bool doorbell(std::uint32_t word0, std::uint32_t index) {
        if (index - consumer > producer - consumer) {
            return false;
        }
        consumer = index;
        if (static_cast<std::int32_t>(notified - index) < 0) {
            notified = index;
        }
        if (static_cast<std::int32_t>(last_solicited - notified) < 0) {
            last_solicited = notified;
        }
        const unsigned sn = word0 >> 29 & 3;
        if (sn == arm_sn) {
            return true;
        }
        arm_sn = sn;
        const bool solicited = (word0 >> 28 & 1) != 0;
        armed_solicited = armed ? armed_solicited && solicited : solicited;
        if (!armed) {
            counted_from = notified;
        }
        armed = true;
        if (!waits && (armed_solicited ? last_solicited != notified : producer != notified)) {
            tell();
        }
        return true;
    }
    void fire() {
        armed = waits = false;
        notified = counted_from = producer;
        fired = true;
    }
};

class RtlCq : public testing::TestWithParam<int> {
  protected:
    RtlCq() : bench(static_cast<unsigned>(GetParam()) + 1) {
        bench.host.stall_percent = static_cast<unsigned>(GetParam());
        bench.host.latency = 1 + static_cast<unsigned>(GetParam()) / 3;
        bench.willing = 100 - static_cast<unsigned>(GetParam());
    }
    void create(unsigned cq) {
        CqConfig cfg{true, false, cq, bench.dice.below(8), bench.dice.below(3), bench.dice.below(5),
                     {}};
        cfg.log_size += bench.dice.percent(20) ? 6 : 0;  // more than a page
        cfg.mem = bench.host.make_ring(bench.dice.below(3), 32ull << cfg.log_size);
        models[cq] = Model{};
        models[cq].cfg = cfg;
        bench.configure(cfg);
    }
    /// RESIZE_CQ: indices and phase start at 0; EQ, page and arming stay.
    void resize(unsigned cq) {
        Model& m = models[cq];
        CqConfig cfg{true, true, cq, bench.dice.below(8), bench.dice.below(3), bench.dice.below(5),
                     {}};
        cfg.mem = bench.host.make_ring(bench.dice.below(3), 32ull << cfg.log_size);
        bench.resized.reset();
        bench.configure(cfg);
        ASSERT_TRUE(bench.resized);
        ASSERT_EQ(bench.resized->first, m.error);
        if (m.error)
            return;
        ASSERT_EQ(bench.resized->second, m.producer);
        m.cfg.mem = cfg.mem;
        m.cfg.log_size = cfg.log_size;
        m.counted_from -= m.producer;
        m.producer = m.consumer = m.last_solicited = m.notified = 0;
        ++met["resized"];
    }
    void moderate(unsigned cq) {
        CqConfig cfg{.on = true, .cq = cq, .mem = {}, .moderate = true};
        cfg.count = bench.dice.below(5);
        cfg.period = bench.dice.percent(20) ? 0 : kPeriod * (1 + bench.dice.below(3));
        models[cq].moderate(cfg.count, cfg.period, bench.now);
        bench.configure(cfg);
        ++met["moderated"];
    }
    /// Ends the periods that are over. Skips the time around each end, so that the end of a period
    /// and an operation are never in an unknown order.
    void catch_up() {
        for (bool again = true; again;) {
            again = false;
            for (const Model& m : models) {
                const std::uint64_t due = m.first_at + m.period;
                if (m.waits && bench.now + kSlack >= due && bench.now < due + kSlack) {
                    bench.now = due + kSlack;
                    again = true;
                }
            }
        }
        for (Model& m : models) {
            if (m.waits && bench.now >= m.first_at + m.period) {
                m.fire();
                ++met["period over"];
            }
        }
        bench.settle();
    }
    void post() {
        const unsigned client = bench.dice.below(4);
        Cqe e = random_cqe(bench.dice, client);
        Model& m = models[e.cq];
        if (!m.cfg.on) {
            return;  // a QP's CQ always exists
        }
        const std::uint32_t slot = m.producer & ((1u << m.cfg.log_size) - 1);
        const std::uint32_t phase = (m.producer >> m.cfg.log_size & 1) == 0;
        const std::uint64_t address = bench.host.address(m.cfg.mem, std::uint64_t{slot} * 32);
        const bool bad = bench.dice.percent(3);
        if (bad) {
            bench.host.bad_lines.insert(address / 64 * 64);
        }
        const std::uint64_t before = bench.now;
        const bool ok = m.post(e.solicited(), !bad, bench.now);
        bench.cqe[client] = e;
        bench.settle();
        bench.host.bad_lines.clear();
        if (!ok) {
            wanted_fails.emplace_back(client, client < 2 ? e.qp : 0u);
            ++met["refused"];
            return;
        }
        const auto got = bench.entry(m.cfg, slot);
        ASSERT_EQ(got[0], std::uint64_t{e.byte_len} << 32 | e.wqe_index);
        ASSERT_EQ(got[1], std::uint64_t{e.qpn_op} << 32 | e.imm);
        ASSERT_EQ(got[2] & 0xffffffff, e.src_qpn);
        const std::uint64_t stamp = (got[3] & 0xffff) << 32 | got[2] >> 32;
        ASSERT_GT(stamp, before & 0xffff'ffff'ffff);
        ASSERT_LE(stamp, bench.now & 0xffff'ffff'ffff);
        ASSERT_EQ(got[3] >> 16, std::uint64_t{phase} << 40 | std::uint64_t{e.flags} << 32 |
                                    e.vlan << 16 | e.verr << 8 | e.status);
        ++met["post"];
    }
    void doorbell() {
        const unsigned cq =
            bench.dice.percent(97) ? bench.dice.below(kCqs) : bench.dice.below(1 << 24);
        Model& m = models[cq % kCqs];
        const unsigned page = bench.dice.percent(95) ? m.cfg.page : bench.dice.below(1024);
        const std::uint32_t held = m.producer - m.consumer;
        const std::uint32_t index = bench.dice.percent(90)
                                        ? m.consumer + bench.dice.below(held + 1)
                                        : m.consumer + bench.dice.below(100) - 50;
        const std::uint32_t word0 = cq | DINGO_DB_CQ << 24 | bench.dice.below(2) << 28 |
                                    bench.dice.below(bench.dice.percent(50) ? 4 : 2) << 29;
        const bool known = cq < kCqs && m.cfg.on && page == m.cfg.page;
        if (!known || !m.doorbell(word0, index)) {
            ++wanted_dropped;
        } else {
            ++met["doorbell"];
        }
        bench.db = {page, index, word0};
        bench.settle();
    }
    void check() {
        std::multiset<std::pair<unsigned, unsigned>> wanted;
        for (unsigned cq = 0; cq < kCqs; ++cq) {
            Model& m = models[cq];
            if (m.fired) {
                wanted.emplace(m.cfg.eq, cq);
                ++met["fired"];
            }
            if (m.failed_now) {
                ASSERT_EQ(bench.errors, std::deque{std::uint32_t{cq}});
                bench.errors.clear();
                ++met[m.overflow ? "overflow" : "bus error"];
            }
            wanted_overflows += m.overflow;
            m.fired = m.failed_now = m.overflow = false;
        }
        ASSERT_EQ(std::multiset(bench.completions.begin(), bench.completions.end()), wanted);
        bench.completions.clear();
        ASSERT_TRUE(bench.errors.empty());
        ASSERT_EQ(bench.fails, wanted_fails);
        bench.fails.clear();
        wanted_fails.clear();
        ASSERT_EQ(bench.counted[DINGO_CARD_DB_DROPPED], wanted_dropped);
        ASSERT_EQ(bench.counted[DINGO_CARD_CQ_OVERFLOW], wanted_overflows);
    }

    static constexpr unsigned kPeriod = 1'000'000;
    static constexpr unsigned kSlack = 200'000;  ///< ns, more than an operation takes
    CqBench bench;
    std::array<Model, kCqs> models;
    std::deque<std::pair<unsigned, unsigned>> wanted_fails;
    unsigned wanted_dropped = 0, wanted_overflows = 0;
    std::map<std::string, unsigned> met;
};

TEST_P(RtlCq, RandomOperationsAreAsInTheModel) {
    for (int step = 0; step < 6000 && !HasFatalFailure(); ++step) {
        if (bench.dice.percent(5)) {
            bench.now += kPeriod / 2 * bench.dice.below(4);
        }
        catch_up();
        check();
        const unsigned what = bench.dice.below(100);
        if (what < 50) {
            post();
        } else if (what < 93) {
            doorbell();
        } else {
            const unsigned cq = bench.dice.below(kCqs);
            if (models[cq].cfg.on && bench.dice.percent(30)) {
                models[cq] = Model{};
                bench.configure({.on = false, .cq = cq, .mem = {}});
            } else if (models[cq].cfg.on && bench.dice.percent(50)) {
                moderate(cq);
            } else if (models[cq].cfg.on && bench.dice.percent(40)) {
                resize(cq);
            } else {
                create(cq);
            }
        }
        if (!HasFatalFailure()) {
            catch_up();
            check();
        }
    }
    for (const char* name : {"post", "refused", "doorbell", "fired", "overflow", "bus error",
                             "resized", "moderated", "period over"}) {
        EXPECT_GT(met[name], 5u) << met[name] << " times: " << name << " is not tested";
    }
    EXPECT_GT(wanted_dropped, 20u);
}

INSTANTIATE_TEST_SUITE_P(Stalls, RtlCq, testing::Values(0, 30, 70));

}  // namespace
