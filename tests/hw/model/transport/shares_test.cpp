// SPDX-License-Identifier: BSD-2-Clause
//
// Two clients of one card that send to the card itself: each pays for the work that it causes,
// whichever client receives it.
#include <algorithm>
#include <array>

#include "fixture.h"
#include "transport/cost.h"

namespace dingo::test {
namespace {

using model::cost::of_frame;

class OneCardsClients : public Connected {
  protected:
    static constexpr std::uint32_t kQkey = 0x11111111;
    static constexpr std::uint32_t kForeignPage = 1;
    static constexpr std::uint32_t kOwnPage = 2;
    static constexpr std::array<std::uint8_t, 16> kGroup = {0, 0, 0,    0,    0,   0, 0, 0,
                                                            0, 0, 0xff, 0xff, 239, 1, 2, 3};
    static constexpr unsigned kOthers = 128;
    static constexpr std::uint32_t kLong = 65'536;
    static constexpr std::uint32_t kShort = 8;
    static constexpr std::size_t kHeaders = 14 + 20 + 8 + 12 + 8;
    static constexpr std::int64_t kDatagram = of_frame(kHeaders + kShort);

    OneCardsClients() {
        cq_[0] = driver(0).create_cq(14);
        cq_[1] = driver(0).create_cq(14);
        mr[0] = driver(0).create_mr(kRegion, kAllAccess);
        writer_ = driver(0).create_qp(cq_[1], cq_[1], {.db_page = kOwnPage});
        driver(0).bring_up(writer_, cards.path_to(0, writer_.qpn));
        sender_ = datagram_qp(kForeignPage);
    }
    TestQp datagram_qp(std::uint32_t page) {
        QpOptions options;
        options.kind = DINGO_QPT_UD;
        options.db_page = page;
        options.log_sq = 9;
        const TestQp made = driver(0).create_qp(cq_[0], cq_[0], options);
        TestDriver::PathOptions path;
        path.qkey = kQkey;
        driver(0).bring_up(made, path);
        return made;
    }
    /// A datagram to `to`.
    SendWr datagram(const dingo_wqe_ud& to) {
        SendWr wr;
        wr.sges = {mr[0].sge(0, kShort)};
        wr.ud = to;
        return wr;
    }
    /// Both clients always have work: WRITEs of one, `other` of the other.
    void work(const SendWr& other) {
        SendWr write;
        write.opcode = DINGO_WR_WRITE;
        write.raddr = mr[0].iova + kRegion / 2;
        write.rkey = mr[0].key;
        write.sges = {mr[0].sge(0, kLong)};
        for (unsigned n = 0; n < 16; ++n)
            driver(0).post_send(writer_, write);
        for (unsigned n = 0; n < kOthers; ++n)
            driver(0).post_send(sender_, other);
        for (unsigned round = 0; round < 4'000; ++round) {
            cards.step();
            const std::uint64_t dropped = stat(0, DINGO_CARD_RX_DROP_UD_NO_BUFFER);
            most_copies_ = std::max(most_copies_, dropped - copies_);
            copies_ = dropped;
            while (driver(0).poll_cq(cq_[0])) {
                ++others_;
                driver(0).post_send(sender_, other);
            }
            while (const auto cqe = driver(0).poll_cq(cq_[1])) {
                ASSERT_EQ(cqe->status, DINGO_WCS_SUCCESS);
                ++writes_;
                driver(0).post_send(writer_, write);
            }
        }
    }
    void expect_halves(std::int64_t cost_of_other) {
        const double others = static_cast<double>(others_) * static_cast<double>(cost_of_other);
        // Two trains and an acknowledgement, each sent and received.
        const double written = writes_ * 2.0 * (kLong + 2 * of_frame(600) + of_frame(kHeaders));
        EXPECT_GT(writes_, 1'000U);
        EXPECT_NEAR(written / (written + others), 0.5, 0.05)
            << writes_ << " WRITEs, " << others_ << " others";
    }

    std::array<Cq, 2> cq_;
    TestQp writer_, sender_;
    unsigned others_ = 0;
    unsigned writes_ = 0;
    std::uint64_t copies_ = 0;
    std::uint64_t most_copies_ = 0;  ///< in one call of the engine
};

TEST_F(OneCardsClients, WhoSendsToAGroupPaysForEachCopy) {
    constexpr unsigned kMembers = 32;
    for (unsigned k = 0; k < kMembers; ++k)
        ASSERT_EQ(driver(0)
                      .multicast(DINGO_OP_ATTACH_MCAST, datagram_qp(kForeignPage).qpn, kGroup)
                      .status,
                  DINGO_ST_OK);
    dingo_wqe_ud to = cards.ud_to(0, DINGO_QPN_MCAST, kQkey);
    std::ranges::copy(kGroup, to.dgid);
    constexpr std::array<std::uint8_t, 6> kMac = {0x01, 0x00, 0x5e, 1, 2, 3};
    std::ranges::copy(kMac, to.dmac);
    work(datagram(to));
    EXPECT_GE(stat(0, DINGO_CARD_RX_DROP_UD_NO_BUFFER), (others_ - 2) * kMembers);
    EXPECT_LE(most_copies_, cards.budget[0] + kMembers) << "a call's work is bounded";
    expect_halves((1 + kMembers) * kDatagram);
}

TEST_F(OneCardsClients, WhoSendsToAnotherClientPaysForBothSides) {
    work(datagram(cards.ud_to(0, datagram_qp(kOwnPage).qpn, kQkey)));
    expect_halves(2 * kDatagram);
}

TEST_F(OneCardsClients, WhoPostsWhatSendsNothingPaysForTheSteps) {
    SendWr wr;
    wr.opcode = DINGO_WR_NOP;
    work(wr);
    expect_halves(model::cost::kStep);
}

}  // namespace
}  // namespace dingo::test
