// SPDX-License-Identifier: BSD-2-Clause
//
// A posted receive that cannot be used, for each kind of QP: detected with the first packet, or
// later in the message (after the network header of a datagram).
#include "dingo/packet/aeth.h"
#include "peer.h"

namespace dingo::test {
namespace {

namespace syndrome = packet::syndrome;

constexpr std::uint32_t kQkey = 0x11111111;
constexpr std::uint32_t kGrh = 40;

struct Kind {
    std::uint8_t type;
    const char* name;
};
constexpr Kind kKinds[] = {{DINGO_QPT_RC, "RC"}, {DINGO_QPT_UC, "UC"}, {DINGO_QPT_UD, "UD"}};

class ReceiveFaults : public Peer {
  protected:
    void make(const Kind& kind) {
        Options options = defaults();
        options.qp.kind = kind.type;
        options.path.qkey = kQkey;
        make_qp(options);
        card.wire.sent.clear();
    }
    /// Length of the first part of a message, which goes to a good entry if a later one is bad.
    static std::uint32_t first_part(const Kind& kind) {
        return kind.type == DINGO_QPT_UD ? kGrh : kPmtu;
    }
    std::vector<dingo_sge> entries(const Kind& kind, const dingo_sge& bad, bool late) {
        return late ? std::vector{mr.sge(0, first_part(kind)), bad} : std::vector{bad};
    }
    /// Sends the message from packet `n` up to the packet that meets the bad entry.
    void send(const Kind& kind, bool late, std::uint32_t n = 0) {
        const std::string type = kind.name;
        if (kind.type == DINGO_QPT_UD) {
            in("UD_SEND_ONLY srcqp=9 payload=4 qkey=" + std::to_string(kQkey) + psn(n));
        } else if (late) {
            in(type + "_SEND_FIRST payload=" + std::to_string(kPmtu) + psn(n));
            send_last(kind, n + 1);
        } else {
            in(type + "_SEND_ONLY payload=4" + psn(n));
        }
    }
    void send_last(const Kind& kind, std::uint32_t n) {
        in(std::string(kind.name) + "_SEND_LAST payload=4" + psn(n));
    }
    void expect_receive(std::uint32_t tag, std::uint8_t status, std::uint8_t vendor_err) {
        const auto cqe = poll();
        ASSERT_TRUE(cqe);
        EXPECT_EQ(cqe->wqe_index, tag);
        EXPECT_STREQ(status_name(cqe->status), status_name(status));
        EXPECT_EQ(cqe->vendor_err, vendor_err);
    }
};

TEST_F(ReceiveFaults, EndTheQueuePairWhateverItsKind) {
    start_card();
    const Mr small = card.driver.create_mr(4096, kAll);
    const Mr read_only = card.driver.create_mr(4096, DINGO_ACC_REMOTE_READ);
    const Mr other_pd = card.driver.create_mr(4096, kAll, 2);
    const Mr broken = card.driver.create_mr(4096, kAll);
    card.host.break_range(broken.bus, 4096);
    dingo_sge unknown = small.sge(0, 100);
    unknown.lkey ^= 1;
    struct Case {
        const char* what;
        dingo_sge sge;
        std::uint8_t vendor_err;
    };
    const Case cases[] = {
        {"unknown key", unknown, DINGO_VERR_KEY},
        {"other PD", other_pd.sge(0, 100), DINGO_VERR_KEY_PD},
        {"no right to write", read_only.sge(0, 100), DINGO_VERR_KEY_ACCESS},
        {"beyond the region", small.sge(4093, 100), DINGO_VERR_KEY_BOUNDS},
        {"broken memory", broken.sge(0, 100), DINGO_VERR_BUS},
    };
    std::uint64_t failed = 0;
    for (const Kind& kind : kKinds)
        for (const Case& c : cases)
            for (const bool late : {false, true}) {
                SCOPED_TRACE(std::string(kind.name) + ' ' + c.what + (late ? " late" : ""));
                make(kind);
                card.driver.post_recv(qp, 1, entries(kind, c.sge, late));
                post_recv(2);
                send(kind, late);
                expect_receive(1, DINGO_WCS_LOC_PROT_ERR, c.vendor_err);
                expect_receive(2, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
                EXPECT_FALSE(poll());
                EXPECT_EQ(state(), DINGO_QPS_ERR);
                EXPECT_EQ(stat(DINGO_CARD_RESP_CQE_ERROR), ++failed);
                EXPECT_EQ(stat(DINGO_CARD_RESP_CQE_FLUSH_ERROR), failed);
                EXPECT_EQ(qp_stat(DINGO_QP_RECV_CQES), 2U);
                if (kind.type == DINGO_QPT_RC)
                    expect_reply(syndrome::kNakRemoteOperational,
                                 kRequestPsn + (late && kind.type == DINGO_QPT_RC));
                expect_silence();
            }
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_UC), 0U);
    EXPECT_EQ(stat(DINGO_CARD_RX_SEND_REQUESTS), 2 * std::size(cases)) << "the two that began";
}

TEST_F(ReceiveFaults, AnEntryThatCannotBeReadEndsTheQueuePairWhateverItsKind) {
    start_card();
    for (const Kind& kind : kKinds)
        for (const bool wrong : {false, true}) {
            SCOPED_TRACE(std::string(kind.name) + (wrong ? " wrong" : " broken"));
            make(kind);
            post_recv(1);
            if (wrong)
                card.host.store<std::uint16_t>(qp.rq + offsetof(dingo_rq_wqe, rsvd0), 1);
            else
                card.host.break_range(qp.rq, 4096);
            send(kind, false);
            expect_receive(wrong ? 1 : 0, DINGO_WCS_LOC_QP_OP_ERR,
                           wrong ? DINGO_VERR_WQE_SIZE : DINGO_VERR_WQE_FETCH);
            EXPECT_FALSE(poll());
            EXPECT_EQ(state(), DINGO_QPS_ERR);
            if (kind.type == DINGO_QPT_RC)
                expect_reply(syndrome::kNakRemoteOperational, kRequestPsn);
            expect_silence();
        }
}

TEST_F(ReceiveFaults, APausedRegionKeepsTheReceiveForTheNextTry) {
    start_card();
    for (const Kind& kind : kKinds)
        for (const bool late : {false, true}) {
            SCOPED_TRACE(std::string(kind.name) + (late ? " late" : ""));
            const Mr paused = card.driver.create_mr(4096, kAll);
            make(kind);
            card.driver.post_recv(qp, 1, entries(kind, paused.sge(0, 100), late));
            card.driver.post_recv(qp, 2, {});
            ASSERT_EQ(card.driver.destroy(DINGO_OP_PAUSE_MR, paused.key).status, DINGO_ST_OK);
            const std::uint64_t uc = stat(DINGO_CARD_RX_DROP_UC);
            const std::uint64_t ud = stat(DINGO_CARD_RX_DROP_UD_NO_BUFFER);
            send(kind, late);
            EXPECT_FALSE(poll());
            EXPECT_EQ(state(), DINGO_QPS_RTS);
            EXPECT_EQ(stat(DINGO_CARD_RX_DROP_UC), uc + (kind.type == DINGO_QPT_UC));
            EXPECT_EQ(stat(DINGO_CARD_RX_DROP_UD_NO_BUFFER), ud + (kind.type == DINGO_QPT_UD));
            if (kind.type == DINGO_QPT_RC)
                expect_reply(syndrome::rnr(12), kRequestPsn + late);
            expect_silence();

            dingo_cmd_create_mr again{};
            again.key = again.old_key = paused.key;
            again.pdn = 1;
            again.access = kAll;
            again.kind = DINGO_MRT_MR;
            again.mem.addr = paused.bus;
            again.iova = paused.iova;
            again.length = 4096;
            card.driver.execute_ok(DINGO_OP_REREG_MR, again);
            if (kind.type == DINGO_QPT_RC && late)
                send_last(kind, 1);  // the packet that was refused
            else
                send(kind, late, kind.type == DINGO_QPT_RC ? 0 : 2);
            expect_receive(1, DINGO_WCS_SUCCESS, 0);
            EXPECT_FALSE(poll());
        }
}

}  // namespace
}  // namespace dingo::test
