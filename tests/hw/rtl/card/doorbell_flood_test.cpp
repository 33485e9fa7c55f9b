// SPDX-License-Identifier: BSD-2-Clause
//
// A process rings its doorbells without end: admin commands complete, and the card keeps taking
// doorbells while it waits for a read, since on PCIe a read's completion does not pass doorbells.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>

#include "dingo/rtl.h"
#include "driver.h"
#include "two_cards.h"

namespace {

using namespace dingo;
using namespace dingo::test;

constexpr unsigned kMostCycles = 400'000;
constexpr unsigned kMostBursts = 20;
constexpr unsigned kBurst = 200;  // doorbells: more than the card's doorbell queue holds

class RtlDoorbellFlood : public testing::Test {
  protected:
    RtlDoorbellFlood()
        : engine_(rtl::make_rtl(EngineConfig{}, host_, wire_)), driver_(*engine_, host_, now_) {
        driver_.start();
        driver_.enable_port();
        driver_.set_ipv4(0, 0x0a000001);
        cq_ = driver_.create_cq();
        qp_ = driver_.create_qp(cq_, cq_);
    }

    /// Lets the card come to rest; after that it has only the cycles that execute() gives it.
    void start_clock() {
        while (engine_->run(now_, 64)) {
        }
        rtl::set_timing(*engine_, {});
    }

    /// Rings the SQ doorbell of qp_ with an index that the card has already.
    void ring_in_vain() {
        driver_.doorbell(qp_.db_page, std::uint32_t{DINGO_DB_SQ} << 24 | qp_.qpn, qp_.sq_producer);
    }

    /// Runs a command; `each` is called before every cycle. nullopt: it did not complete.
    template <typename Command>
    std::optional<dingo_admin_cpl> execute(std::uint16_t opcode, Command command,
                                           const std::function<void(unsigned)>& each = {}) {
        command.hdr.opcode = opcode;
        command.hdr.cmd_id = 0x7777;
        driver_.submit_raw(std::as_bytes(std::span(&command, 1)));
        driver_.ring_admin();
        for (unsigned i = 0; i < kMostCycles; ++i) {
            if (const auto completion = driver_.poll_admin())
                return completion;
            if (each)
                each(i);
            engine_->run(now_ += rtl::kCycle, 1);
        }
        return std::nullopt;
    }
    std::optional<dingo_admin_cpl> query(std::uint32_t qpn,
                                         const std::function<void(unsigned)>& each = {}) {
        dingo_cmd_query_qp command{};
        command.qpn = qpn;
        command.out_addr = host_.alloc(sizeof(dingo_qp_info));
        return execute(DINGO_OP_QUERY_QP, command, each);
    }

    /// For execute(): puts kBurst doorbells between a read's request and its answer, for the first
    /// kMostBursts reads. The answer does not pass them.
    std::function<void(unsigned)> burst_at_each_read() {
        return [this, reads = host_.dma_reads](unsigned) mutable {
            if (host_.dma_reads == reads)
                return;
            reads = host_.dma_reads;
            if (++bursts_ > kMostBursts)
                return;
            for (unsigned i = 0; i < kBurst; ++i)
                ring_in_vain();
        };
    }

    unsigned bursts_ = 0;
    Nanoseconds now_ = 1'000;
    TestHost host_;
    TestWire wire_;
    std::unique_ptr<Engine> engine_;
    TestDriver driver_;
    Cq cq_;
    TestQp qp_;
};

TEST_F(RtlDoorbellFlood, CommandThatNeedsTheCardAtRestCompletes) {
    start_clock();
    // A doorbell keeps the card busy for 5 cycles; the card is at rest after 8 idle cycles.
    for (unsigned distance : {12U, 4U, 8U, 13U}) {
        const auto completion = query(qp_.qpn, [&](unsigned i) {
            if (i % distance == 0)
                ring_in_vain();
        });
        ASSERT_TRUE(completion) << "a doorbell every " << distance << " cycles";
        EXPECT_EQ(completion->status, DINGO_ST_OK);
    }
}

TEST_F(RtlDoorbellFlood, PageListIsReadWhileDoorbellsKeepComing) {
    const auto send = host_.alloc_pages(4);
    const auto receive = host_.alloc_pages(4);
    start_clock();
    dingo_cmd_create_qp create{};
    create.qpn = 77 << DINGO_QPN_INDEX_BITS | 77;
    create.pdn = 1;
    create.send_cqn = create.recv_cqn = cq_.cqn;
    create.srqn = DINGO_INVALID_ID;
    create.db_page = 1;
    create.kind = DINGO_QPT_RC;
    create.log_sq = create.log_rq = 6;
    create.log_rq_stride = 8;
    create.sq = driver_.page_list(send, 2, 12);
    create.rq = driver_.page_list(receive, 2, 12);
    const auto completion = execute(DINGO_OP_CREATE_QP, create, burst_at_each_read());
    ASSERT_TRUE(completion) << "after " << bursts_ << " reads, with each " << kBurst
                            << " doorbells";
    EXPECT_EQ(completion->status, DINGO_ST_OK);
    EXPECT_GE(bursts_, 5U);  // reads: the command, and two lines of each page list
    const auto there = query(create.qpn);
    ASSERT_TRUE(there);
    EXPECT_EQ(there->status, DINGO_ST_OK);
}

TEST_F(RtlDoorbellFlood, QueueIsFlushedWhileDoorbellsKeepComing) {
    constexpr unsigned kRequests = 1'500;  // of two blocks each; dingo_wqe_cache holds 2,048 blocks
    const TestQp first = qp_;
    cq_ = driver_.create_cq(12);
    qp_ = driver_.create_qp(cq_, cq_, {.kind = DINGO_QPT_UD, .log_sq = 12});
    TestDriver::PathOptions path;
    driver_.bring_up(qp_, path);
    // An invalid lkey takes the QP to SQE, in which the card flushes what is posted.
    SendWr wr;
    wr.sges.resize(1);
    wr.sges[0].addr = host_.alloc(64);
    wr.sges[0].lkey = 0xdead00;
    wr.sges[0].length = 64;
    driver_.post_send(qp_, wr);
    while (engine_->run(now_, 64)) {
    }
    ASSERT_TRUE(driver_.poll_cq(cq_));
    for (unsigned i = 0; i < kRequests; ++i)
        driver_.post_send(qp_, wr, false);
    start_clock();
    driver_.ring_sq(qp_);  // the command below comes while most are still to be flushed

    const TestQp subject = qp_;
    qp_ = first;  // ring_in_vain() rings its doorbell
    dingo_cmd_modify_qp modify{};
    modify.qpn = subject.qpn;
    modify.next_state = DINGO_QPS_RTS;
    modify.mask = DINGO_QPM_STATE;
    const auto completion = execute(DINGO_OP_MODIFY_QP, modify, burst_at_each_read());
    ASSERT_TRUE(completion) << "after " << bursts_ << " reads, with each " << kBurst
                            << " doorbells";
    EXPECT_EQ(completion->status, DINGO_ST_OK);
    EXPECT_GE(bursts_, 2U);  // reads: the command, and WQEs to be flushed
    unsigned flushed = 0;
    while (const auto cqe = driver_.poll_cq(cq_))
        flushed += cqe->status == DINGO_WCS_WR_FLUSH_ERR;
    EXPECT_EQ(flushed, kRequests);
}

}  // namespace
