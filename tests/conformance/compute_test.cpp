// SPDX-License-Identifier: BSD-2-Clause
//
// The compute slot: each kernel transforms what a QP sends, whatever the packet boundaries and
// losses, and nothing else.
#include <cstring>

#include "compute_kernels.h"
#include "conformance.h"
#include "faults.h"

namespace dingo::conformance {
namespace {

/// A pair whose card 0 sends through `kernel`.
class ComputePair : public Pair {
  public:
    ComputePair(const std::string& engine, const Kernel& kernel, const PairOptions& options = {})
        : Pair(engine, options) {
        link = connect(kernel, options);
    }

    test::TwoCards::Connection connect(const Kernel& kernel, PairOptions options = {}) {
        options.connect.created = [&](unsigned card, test::TestDriver& d, const test::TestQp& qp) {
            if (card == 0) {
                EXPECT_EQ(d.set_compute(qp.qpn, kernel.id, kernel.param).status, DINGO_ST_OK);
            }
        };
        return cards.connect(options.connect);
    }
    testing::AssertionResult arrived(const Kernel& kernel, std::uint64_t from, std::uint64_t to,
                                     std::uint64_t length) {
        return transformed(kernel, bytes(0, from, length), bytes(1, to, length));
    }
};

}  // namespace

CONFORMANCE_SUITE(Compute);

TEST_P(Compute, QueryDescribesEveryKernel) {
    test::OneCard card(engine());
    card.driver.start();
    NEEDS(card.driver, COMPUTE);
    struct {
        const char* name;
        std::uint64_t range;
        std::uint64_t record;
    } const expected[] = {
        {"pass", 0, 1}, {"add_one", 0, 4}, {"dlrm", std::uint64_t{UINT32_MAX} << 32 | 1, 192}};
    dingo_cmd_query_compute cmd{};
    for (; cmd.index < 3; ++cmd.index) {
        const dingo_admin_cpl cpl = card.driver.execute_ok(DINGO_OP_QUERY_COMPUTE, cmd);
        char name[17] = {};
        std::memcpy(name, &cpl.result[1], 16);
        EXPECT_EQ(cpl.result[0], std::uint64_t{3} << 32 | cmd.index);
        EXPECT_STREQ(name, expected[cmd.index].name);
        EXPECT_EQ(cpl.result[3], expected[cmd.index].range);
        EXPECT_EQ(cpl.result[4], expected[cmd.index].record);
    }
    EXPECT_EQ(card.driver.execute(DINGO_OP_QUERY_COMPUTE, cmd).status, DINGO_ST_BAD_ID);
}

TEST_P(Compute, RefusesWhatItDoesNotKnow) {
    test::OneCard card(engine());
    test::TestDriver& d = card.driver;
    d.start();
    NEEDS(d, COMPUTE);
    const test::Cq cq = d.create_cq();
    const test::TestQp qp = d.create_qp(cq, cq);
    const auto refused = [&](std::uint32_t qpn, std::uint32_t kernel, std::uint32_t param,
                             std::uint32_t status, std::size_t detail) {
        const dingo_admin_cpl cpl = d.set_compute(qpn, kernel, param);
        EXPECT_EQ(cpl.status, status) << kernel << ", " << param;
        EXPECT_EQ(cpl.detail, detail) << kernel << ", " << param;
    };
    using Command = dingo_cmd_set_compute;
    refused(qp.qpn, 3, 0, DINGO_ST_BAD_FIELD, offsetof(Command, kernel));
    refused(qp.qpn, UINT32_MAX, 0, DINGO_ST_BAD_FIELD, offsetof(Command, kernel));
    refused(qp.qpn, DINGO_KERNEL_DLRM, 0, DINGO_ST_BAD_FIELD, offsetof(Command, param));
    refused(qp.qpn, DINGO_KERNEL_ADD_ONE, 1, DINGO_ST_BAD_FIELD, offsetof(Command, param));
    refused(qp.qpn, DINGO_KERNEL_PASS, 1, DINGO_ST_BAD_FIELD, offsetof(Command, param));
    refused(DINGO_QPN_GSI, DINGO_KERNEL_ADD_ONE, 0, DINGO_ST_BAD_FIELD, offsetof(Command, qpn));
    refused(qp.qpn ^ 0x10000, DINGO_KERNEL_ADD_ONE, 0, DINGO_ST_BAD_ID, 0);
    refused(qp.qpn + 1, DINGO_KERNEL_ADD_ONE, 0, DINGO_ST_BAD_ID, 0);
}

TEST_P(Compute, AKernelIsChosenBeforeTheQueuePairSends) {
    ENGINE_NEEDS(COMPUTE);
    Pair pair(engine());
    expect_choice_by_state(pair, DINGO_COMPUTE_SEND, DINGO_ST_OK);
}

TEST_P(Compute, EveryKernelAtEveryPathMtuAndLength) {
    ENGINE_NEEDS(COMPUTE);
    for (const Kernel& kernel : kAll) {
        for (std::uint8_t mtu = 1; mtu <= 5; ++mtu) {
            ComputePair pair(engine(), kernel, PairOptions().mtu(mtu));
            std::uint64_t seed = mtu;
            for (const std::uint32_t size : odd_lengths(128u << mtu)) {
                fill_mixed(pair.bytes(0, 3, size), ++seed);
                pair.fill(1, 0, size + 64, ++seed);
                const std::vector<std::byte> before(pair.bytes(1, size + 17, 32).begin(),
                                                    pair.bytes(1, size + 17, 32).end());
                EXPECT_EQ(pair.complete(pair.write(3, 17, size)).status, DINGO_WCS_SUCCESS);
                EXPECT_TRUE(pair.arrived(kernel, 3, 17, size)) << "mtu code " << int(mtu);
                EXPECT_TRUE(std::ranges::equal(before, pair.bytes(1, size + 17, 32)));
            }
        }
    }
}

TEST_P(Compute, SendsWithManyEntriesAndInlineDataGoThroughTheKernel) {
    ENGINE_NEEDS(COMPUTE);
    for (const Kernel& kernel : {kAddOne, kDlrm}) {
        ComputePair pair(engine(), kernel);
        std::vector<std::byte> message;
        test::SendWr wr = pair.send(0, 0);
        wr.sges.clear();
        for (unsigned i = 0; i < DINGO_SQ_MAX_SGE; ++i) {
            const std::uint32_t length = 1 + i * 131;
            fill_mixed(pair.bytes(0, i * 4096 + 1, length), i);
            wr.sges.push_back(pair.mr[0].sge(i * 4096 + 1, length));
            const auto part = pair.bytes(0, i * 4096 + 1, length);
            message.insert(message.end(), part.begin(), part.end());
        }
        pair.post_recv(1, 0, 1u << 16);
        EXPECT_EQ(pair.complete(wr).status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(pair.wait(1).byte_len, message.size());
        EXPECT_TRUE(transformed(kernel, message, pair.bytes(1, 0, message.size())));

        test::SendWr inlined = pair.send(0, 0);
        inlined.sges.clear();
        for (const std::size_t size :
             {std::size_t{5}, std::size_t{64}, std::size_t{200}, std::size_t{DINGO_MAX_INLINE}}) {
            inlined.inline_data.resize(size);
            fill_mixed(inlined.inline_data, size);
            pair.post_recv(2, 0, 1u << 16);
            EXPECT_EQ(pair.complete(inlined).status, DINGO_WCS_SUCCESS);
            EXPECT_EQ(pair.wait(1).byte_len, size);
            EXPECT_TRUE(transformed(kernel, inlined.inline_data, pair.bytes(1, 0, size)));
        }
    }
}

TEST_P(Compute, RepeatedPacketsCarryTheSameBytes) {
    ENGINE_NEEDS(COMPUTE);
    for (const Kernel& kernel : {kAddOne, kDlrm}) {
        ComputePair pair(engine(), kernel, PairOptions().mtu(1).timeout(8));
        WireFaults faults(pair.cards);
        faults.add_random({.drop = 0.05, .duplicate = 0.02, .seed = kernel.id});
        const unsigned rounds = effort(30, 4);
        constexpr std::uint32_t kBytes = 20'003;
        for (unsigned round = 0; round < rounds; ++round) {
            fill_mixed(pair.bytes(0, 0, kBytes), round);
            EXPECT_EQ(pair.complete(pair.write(0, 0, kBytes)).status, DINGO_WCS_SUCCESS);
            EXPECT_TRUE(pair.arrived(kernel, 0, 0, kBytes)) << "round " << round;
        }
        EXPECT_GT(pair.stat(0, DINGO_CARD_RETRANSMITS), 0u) << "nothing was lost";
    }
}

TEST_P(Compute, QueuePairsWithDifferentKernelsDoNotMeet) {
    ENGINE_NEEDS(COMPUTE);
    ComputePair pair(engine(), kPass);
    constexpr std::uint32_t kBytes = 30'001;
    constexpr std::uint32_t kArea = 1u << 16;
    std::array<test::TwoCards::Connection, 4> links;
    const std::array kernels = {kDlrm, kAddOne, kPass, Kernel{DINGO_KERNEL_DLRM, 1000}};
    for (unsigned i = 0; i < links.size(); ++i) {
        links[i] = pair.connect(kernels[i]);
        fill_mixed(pair.bytes(0, i * kArea, kBytes), i);
    }
    for (unsigned i = 0; i < links.size(); ++i) {
        for (unsigned half = 0; half < 2; ++half) {
            const std::uint32_t length = half == 0 ? 96 : kBytes;
            pair.driver(0).post_send(links[i].qp[0], pair.write(i * kArea, i * kArea, length));
        }
    }
    for (test::TwoCards::Connection& link : links) {
        EXPECT_EQ(pair.cards.wait_cq(0, link.cq[0]).status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(pair.cards.wait_cq(0, link.cq[0]).status, DINGO_WCS_SUCCESS);
    }
    for (unsigned i = 0; i < links.size(); ++i)
        EXPECT_TRUE(pair.arrived(kernels[i], i * kArea, i * kArea, kBytes));
}

TEST_P(Compute, AQueuePairConnectedToItselfTransformsWithinTheCard) {
    ENGINE_NEEDS(COMPUTE);
    Pair pair(engine());
    test::TestDriver& d = pair.driver(0);
    test::Cq cq = d.create_cq();
    for (const Kernel& kernel : kAll) {
        test::TestQp qp = d.create_qp(cq, cq);
        EXPECT_EQ(d.set_compute(qp.qpn, kernel.id, kernel.param).status, DINGO_ST_OK);
        const auto path = pair.cards.path_to(0, qp.qpn);
        d.bring_up(qp, path);
        constexpr std::uint32_t kBytes = 10'007;
        fill_mixed(pair.bytes(0, 0, kBytes), kernel.id);
        test::SendWr wr = pair.write(0, 0, kBytes);
        wr.raddr = pair.mr[0].iova + (1u << 16);
        wr.rkey = pair.mr[0].key;
        d.post_send(qp, wr);
        EXPECT_EQ(pair.cards.wait_cq(0, cq).status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(transformed(kernel, pair.bytes(0, 0, kBytes), pair.bytes(0, 1u << 16, kBytes)));
    }
    EXPECT_EQ(pair.cards.card(1).driver.card_stat(DINGO_CARD_RDMA_RX_PACKETS), 0u);
}

TEST_P(Compute, ReadDataAndTheOtherDirectionAreLeftAlone) {
    ENGINE_NEEDS(COMPUTE);
    ComputePair pair(engine(), kAddOne);
    pair.fill(1, 0, 9000, 1);
    EXPECT_EQ(pair.complete(pair.read(0, 0, 9000)).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(0, 0, 9000)) << "READ of the QP with the kernel";
    test::SendWr back = pair.write(0, 0, 0);
    back.sges = {pair.mr[1].sge(0, 9000)};
    back.raddr = pair.mr[0].iova + 20'000;
    back.rkey = pair.mr[0].key;
    pair.driver(1).post_send(pair.qp(1), back);
    EXPECT_EQ(pair.wait(1).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(20'000, 0, 9000)) << "WRITE of the peer";
    back.opcode = DINGO_WR_READ;
    pair.driver(1).post_send(pair.qp(1), back);
    EXPECT_EQ(pair.wait(1).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(20'000, 0, 9000)) << "READ that the QP with the kernel answers";
}

TEST_P(Compute, DatagramsGoThroughTheKernel) {
    ENGINE_NEEDS(COMPUTE);
    for (const Kernel& kernel : {kAddOne, kDlrm}) {
        PairOptions options;
        ComputePair pair(engine(), kernel, options.kind(DINGO_QPT_UD));
        fill_mixed(pair.bytes(0, 0, 999), 1);
        pair.post_recv(1, 0, 4096);
        test::SendWr wr = pair.send(0, 999);
        wr.ud = pair.cards.ud_to(1, pair.qp(1).qpn, options.connect.path.qkey);
        EXPECT_EQ(pair.complete(wr).status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(pair.wait(1).byte_len, 999u + 40);
        EXPECT_TRUE(pair.arrived(kernel, 0, 40, 999));
    }
}

TEST_P(Compute, ResetSetsPass) {
    ENGINE_NEEDS(COMPUTE);
    ComputePair pair(engine(), kDlrm);
    for (const unsigned card : {0u, 1u}) {
        const unsigned peer = 1 - card;
        auto path = pair.cards.path_to(peer, pair.qp(peer).qpn);
        pair.driver(card).to_state(pair.qp(card), DINGO_QPS_RESET);
        pair.qp(card).sq_producer = pair.qp(card).rq_producer = 0;
        pair.driver(card).bring_up(pair.qp(card), path);
    }
    pair.fill(0, 0, 5000, 1);
    EXPECT_EQ(pair.complete(pair.write(0, 0, 5000)).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(0, 0, 5000));
}

TEST_P(Compute, AnyModulusIsRight) {
    ENGINE_NEEDS(COMPUTE);
    for (const std::uint32_t modulus : {1u, 2u, 3u, 1000u, 1024u, 8192u, 0x7fffffffu, 0x80000000u,
                                        0x80000001u, 0xfffffffeu, 0xffffffffu}) {
        const Kernel kernel{DINGO_KERNEL_DLRM, modulus};
        ComputePair pair(engine(), kernel);
        constexpr std::uint32_t kBytes = 16 * kRecordBytes;
        fill_mixed(pair.bytes(0, 0, kBytes), modulus);
        for (std::uint32_t column = 16; column < 24; ++column) {  // around multiples of the modulus
            const std::uint32_t value = modulus * (column - 15) - column % 3;
            std::memcpy(pair.bytes(0, 4ull * column, 4).data(), &value, sizeof value);
        }
        EXPECT_EQ(pair.complete(pair.write(0, 0, kBytes)).status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(pair.arrived(kernel, 0, 0, kBytes)) << "modulus " << modulus;
    }
}

}  // namespace dingo::conformance
