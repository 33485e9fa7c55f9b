// SPDX-License-Identifier: BSD-2-Clause
//
// Two connected cards on which regions of one size are far memory.
#pragma once

#include <array>
#include <vector>

#include "fake_far_memory.h"
#include "fixture.h"

namespace dingo::test {

class Far : public Connected {
  protected:
    static constexpr std::uint64_t kNear = 64 << 10;

    /// Makes regions of size kRegion far on these cards.
    void connect_far(std::initializer_list<unsigned> cards_that_are, std::uint8_t timeout = 0,
                     unsigned log_sq = 6) {
        for (const unsigned i : cards_that_are)
            region_is_far(i);
        TwoCards::ConnectOptions options;
        options.path.timeout = timeout;
        options.qp.log_sq = log_sq;
        connect(options);
        for (unsigned i = 0; i < 2; ++i)
            near[i] = driver(i).create_mr(kNear, kAllAccess);
    }
    void region_is_far(unsigned i) {
        far[i].far = [this, i](std::uint64_t addr, std::uint64_t len) {
            return len == kRegion || addr - mr[i].bus < kRegion;
        };
    }
    void run_a_little() { cards.run_for(400'000'000); }
    /// Completes all accesses, from now on, too.
    void finish(unsigned i) {
        far[i].make();
        far[i].pace = 1;
    }
    /// Expects that the frames of card `i`, whose memory is far, refer to fetched data.
    void expect_referred(unsigned i, std::uint8_t opcode) {
        connect_far({i});
        cards.card(i).wire.icrc = false;
        far[i].refers = true;
        fill(i, 0, 100'000);
        driver(0).post_send(qp(0), rdma(opcode, 0, 0, 100'000));
        finish(i);
        EXPECT_EQ(cards.wait_cq(0, link.cq[0]).status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(same(0, 0, 100'000));
        EXPECT_GT(far[i].referred, 0U);
        EXPECT_EQ(cards.card(i).wire.frames_referring, far[i].referred);
    }
    /// Expects that card `i`, whose memory is far, sends nothing while the wire holds enough.
    void expect_held_back(unsigned i, std::uint8_t opcode) {
        connect_far({i});
        TestWire& wire = cards.card(i).wire;
        wire.icrc = false;
        far[i].refers = true;
        fill(i, 0, 100'000);
        driver(0).post_send(qp(0), rdma(opcode, 0, 0, 100'000));
        wire.enough = true;
        finish(i);
        run_a_little();
        const unsigned before = far[i].referred;
        EXPECT_FALSE(poll(0));
        run_a_little();
        EXPECT_EQ(far[i].referred, before);
        wire.enough = false;
        wire.let_go = true;
        EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(same(0, 0, 100'000));
        EXPECT_GT(far[i].referred, before);
    }
    SendWr to_near(std::uint64_t value_at, std::uint64_t to, std::uint32_t bytes) {
        SendWr wr = rdma(DINGO_WR_WRITE, value_at, 0, bytes);
        wr.raddr = near[1].iova + to;
        wr.rkey = near[1].key;
        return wr;
    }
    /// A WRITE that accesses no far memory.
    SendWr small_write() {
        SendWr wr = to_near(0, 0, 8);
        wr.sges = {near[0].sge(0, 8)};
        return wr;
    }
    /// Records the MSNs of all responses of card 1.
    void note_msns() {
        cards.link.tap = [this](const Frame& frame) {
            const auto packet = parse_frame(frame);
            if (packet && frame.from == 1 && packet->op().has_aeth())
                msns.push_back(packet->aeth.msn);
        };
    }
    std::uint64_t near_word(unsigned i, std::uint64_t at) {
        return cards.host(i).load<std::uint64_t>(near[i].bus + at);
    }

    std::array<FakeFarMemory, 2> far{FakeFarMemory(cards.host(0)), FakeFarMemory(cards.host(1))};
    Mr near[2];
    std::vector<std::uint32_t> msns;
};

}  // namespace dingo::test
