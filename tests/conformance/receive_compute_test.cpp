// SPDX-License-Identifier: BSD-2-Clause
//
// The compute slot on the receive side: payload is transformed exactly once on its way to memory,
// despite retransmissions; the sender's memory, READ data and atomics are not changed.
#include <cstring>

#include "compute_kernels.h"
#include "conformance.h"
#include "faults.h"

namespace dingo::conformance {
namespace {

constexpr std::uint32_t kReceive = DINGO_COMPUTE_RECEIVE;

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) {
    return {bytes.begin(), bytes.end()};
}

/// A pair whose card 1 receives through `kernel`.
class ReceivePair : public Pair {
  public:
    ReceivePair(const std::string& engine, const Kernel& kernel, const PairOptions& options = {})
        : Pair(engine, options) {
        link = connect(kernel, options);
    }

    test::TwoCards::Connection connect(const Kernel& kernel, PairOptions options = {}) {
        options.connect.created = [&](unsigned card, test::TestDriver& d, const test::TestQp& qp) {
            if (card == 1) {
                EXPECT_EQ(d.set_compute(qp.qpn, kernel.id, kernel.param, kReceive).status,
                          DINGO_ST_OK);
            }
        };
        return cards.connect(options.connect);
    }
    /// Fills the source, sends `wr` and waits for its completion; checks that the target is the
    /// transformed source and the source is unchanged.
    void check(const Kernel& kernel, const test::SendWr& wr, std::uint64_t from, std::uint64_t to,
               std::uint32_t length) {
        fill_mixed(bytes(0, from, length), ++seed_);
        fill(1, to, length, ++seed_);
        const std::vector<std::byte> sent = copy_of(bytes(0, from, length));
        EXPECT_EQ(complete(wr).status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(transformed(kernel, sent, bytes(1, to, length)));
        EXPECT_TRUE(std::ranges::equal(sent, bytes(0, from, length))) << "the sender's memory";
    }

  private:
    std::uint64_t seed_ = 0;
};

}  // namespace

CONFORMANCE_SUITE(ReceiveCompute);

TEST_P(ReceiveCompute, TheDirectionIsRefusedWhereItDoesNotExist) {
    ENGINE_NEEDS(COMPUTE);
    Pair pair(engine());
    test::TestDriver& d = pair.driver(0);
    const bool able = (d.read64(DINGO_REG_CAPS) & DINGO_CAP_COMPUTE_RX) != 0;
    const test::TestQp qp = d.create_qp(pair.cq(0), pair.cq(0));
    for (const std::uint32_t direction : {kReceive, 2u, UINT32_MAX}) {
        const bool good = able && direction == kReceive;
        const dingo_admin_cpl cpl = d.set_compute(qp.qpn, DINGO_KERNEL_ADD_ONE, 0, direction);
        EXPECT_EQ(cpl.status, good ? DINGO_ST_OK : DINGO_ST_BAD_FIELD) << direction;
        EXPECT_EQ(cpl.detail, good ? 0 : offsetof(dingo_cmd_set_compute, direction)) << direction;
    }
}

TEST_P(ReceiveCompute, AKernelIsChosenBeforeTheQueuePairReceives) {
    ENGINE_NEEDS(COMPUTE_RX);
    Pair pair(engine());
    expect_choice_by_state(pair, kReceive, DINGO_ST_BAD_STATE);
}

TEST_P(ReceiveCompute, EveryKernelAtEveryPathMtuAndLength) {
    ENGINE_NEEDS(COMPUTE_RX);
    for (const Kernel& kernel : kAll) {
        for (std::uint8_t mtu = 1; mtu <= 5; ++mtu) {
            ReceivePair pair(engine(), kernel, PairOptions().mtu(mtu));
            std::uint32_t tag = 0;
            for (const std::uint32_t size : odd_lengths(128u << mtu)) {
                SCOPED_TRACE(testing::Message() << "mtu code " << int(mtu) << ", size " << size);
                pair.fill(1, size + 17, 32, size);
                const std::vector<std::byte> behind = copy_of(pair.bytes(1, size + 17, 32));
                pair.check(kernel, pair.write(3, 17, size), 3, 17, size);
                EXPECT_EQ(behind, copy_of(pair.bytes(1, size + 17, 32)));
                pair.post_recv(++tag, 5, size);
                pair.check(kernel, pair.send(3, size), 3, 5, size);
                EXPECT_EQ(pair.wait(1).byte_len, size);
                pair.post_recv(++tag, 0, 0);
                pair.check(kernel, pair.rdma(DINGO_WR_WRITE_IMM, 3, 9, size), 3, 9, size);
                EXPECT_EQ(pair.wait(1).byte_len, size);
            }
        }
    }
}

TEST_P(ReceiveCompute, ReceivesOfManyEntriesAreOneMessage) {
    ENGINE_NEEDS(COMPUTE_RX);
    for (const Kernel& kernel : {kAddOne, kDlrm}) {
        ReceivePair pair(engine(), kernel, PairOptions().mtu(1));
        constexpr std::uint32_t kBytes = 1900;
        fill_mixed(pair.bytes(0, 0, kBytes), kernel.id);
        std::vector<dingo_sge> entries;  // ending within words
        std::uint32_t left = kBytes;
        for (const std::uint32_t part : {1u, 201u, 1000u, 698u}) {
            entries.push_back(pair.mr[1].sge(8192ull * entries.size() + 3, part));
            left -= part;
        }
        ASSERT_EQ(left, 0u);
        pair.driver(1).post_recv(pair.qp(1), 1, entries);
        EXPECT_EQ(pair.complete(pair.send(0, kBytes)).status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(pair.wait(1).byte_len, kBytes);
        std::vector<std::byte> message;
        for (std::size_t i = 0; i < entries.size(); ++i) {
            const auto part = pair.bytes(1, 8192 * i + 3, entries[i].length);
            message.insert(message.end(), part.begin(), part.end());
        }
        EXPECT_TRUE(transformed(kernel, pair.bytes(0, 0, kBytes), message));
    }
}

TEST_P(ReceiveCompute, WhatIsLostAndRepeatedIsTransformedOnce) {
    ENGINE_NEEDS(COMPUTE_RX);
    for (const Kernel& kernel : {kAddOne, kDlrm}) {
        ReceivePair pair(engine(), kernel, PairOptions().mtu(1).timeout(8));
        WireFaults faults(pair.cards);
        faults.add_random({.drop = 0.05, .duplicate = 0.05, .reorder = 0.02, .seed = kernel.id});
        constexpr std::uint32_t kBytes = 20'003;
        const unsigned rounds = effort(30, 4);
        for (unsigned round = 0; round < rounds; ++round) {
            pair.check(kernel, pair.write(0, 7, kBytes), 0, 7, kBytes);
            pair.post_recv(round, 30'000, kBytes);
            pair.check(kernel, pair.send(0, kBytes), 0, 30'000, kBytes);
            EXPECT_EQ(pair.wait(1).byte_len, kBytes);
        }
        EXPECT_GT(pair.stat(0, DINGO_CARD_RETRANSMITS), 0u) << "nothing was lost";
        EXPECT_GT(pair.stat(1, DINGO_CARD_DUPLICATE_REQUEST), 0u) << "nothing came twice";
    }
}

TEST_P(ReceiveCompute, ALateDuplicateTouchesNoMemory) {
    ENGINE_NEEDS(COMPUTE_RX);
    using packet::Opcode;
    for (const Opcode opcode : {Opcode::kRcWriteFirst, Opcode::kRcWriteMiddle, Opcode::kRcWriteLast,
                                Opcode::kRcWriteOnly}) {
        ReceivePair pair(engine(), kAddOne, PairOptions().mtu(1));
        WireFaults faults(pair.cards);
        faults.add(Fault::kDuplicate, {.from = 0, .opcode = opcode}, 5'000'000);
        const std::uint32_t size = opcode == Opcode::kRcWriteOnly ? 200 : 1000;
        pair.check(kAddOne, pair.write(0, 0, size), 0, 0, size);
        pair.fill(1, 0, size, 99);  // the application has its data and reuses the buffer
        const std::vector<std::byte> mine = copy_of(pair.bytes(1, 0, size));
        pair.cards.settle();
        EXPECT_EQ(faults.injured, 1u);
        EXPECT_EQ(pair.stat(1, DINGO_CARD_DUPLICATE_REQUEST), 1u);
        EXPECT_EQ(mine, copy_of(pair.bytes(1, 0, size)));
    }
}

TEST_P(ReceiveCompute, AReceiverThatWasNotReadyTransformsOnce) {
    ENGINE_NEEDS(COMPUTE_RX);
    ReceivePair pair(engine(), kAddOne, PairOptions().mtu(1));
    constexpr std::uint32_t kBytes = 1003;
    std::uint64_t to = 0;
    for (const std::uint8_t opcode : {DINGO_WR_SEND, DINGO_WR_WRITE_IMM}) {
        to += 8192;
        fill_mixed(pair.bytes(0, 0, kBytes), to);
        pair.fill(1, to, kBytes, to);
        pair.post(opcode == DINGO_WR_SEND ? pair.send(0, kBytes)
                                          : pair.rdma(DINGO_WR_WRITE_IMM, 0, to, kBytes));
        pair.cards.run_for(3'000'000);
        EXPECT_TRUE(pair.idle(0)) << "an RNR NAK and no completion";
        pair.post_recv(1, to, kBytes);
        EXPECT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(pair.wait(1).byte_len, kBytes);
        EXPECT_TRUE(transformed(kAddOne, pair.bytes(0, 0, kBytes), pair.bytes(1, to, kBytes)));
    }
    EXPECT_GT(pair.stat(1, DINGO_CARD_OUT_OF_BUFFER), 0u);
}

TEST_P(ReceiveCompute, APacketThatStopsAtAPausedRegionIsTransformedOnce) {
    ENGINE_NEEDS(COMPUTE_RX);
    ReceivePair pair(engine(), kDlrm, PairOptions().mtu(1));
    NEEDS(pair.driver(1), PAUSE_MR);
    const test::Mr paused = pair.driver(1).create_mr(4096, kAllAccess);
    EXPECT_EQ(pause_at_once(pair.cards, 1, paused.key).status, DINGO_ST_OK);
    constexpr std::uint32_t kBytes = 1003;
    constexpr std::uint32_t kBefore = 301;  // within the second packet
    fill_mixed(pair.bytes(0, 0, kBytes), 1);
    pair.driver(1).post_recv(pair.qp(1), 1,
                             {pair.mr[1].sge(0, kBefore), paused.sge(0, kBytes - kBefore)});
    pair.post(pair.send(0, kBytes));
    pair.cards.run_for(3'000'000);
    EXPECT_TRUE(pair.idle(0)) << "an RNR NAK and no completion";
    EXPECT_GT(pair.stat(1, DINGO_CARD_RNR_NAK_SENT), 0u);
    pair.driver(1).move_mr(paused, paused.bus, kAllAccess);
    EXPECT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(pair.wait(1).byte_len, kBytes);
    std::vector<std::byte> message = copy_of(pair.bytes(1, 0, kBefore));
    const auto rest = pair.cards.host(1).bytes(paused.bus, kBytes - kBefore);
    message.insert(message.end(), rest.begin(), rest.end());
    EXPECT_TRUE(transformed(kDlrm, pair.bytes(0, 0, kBytes), message));
}

TEST_P(ReceiveCompute, QueuePairsWithDifferentKernelsDoNotMeet) {
    ENGINE_NEEDS(COMPUTE_RX);
    const std::array kernels = {kDlrm, kAddOne, kPass, Kernel{DINGO_KERNEL_DLRM, 1000}};
    constexpr std::uint32_t kBytes = 30'001;
    constexpr std::uint32_t kArea = 1u << 16;
    for (const std::uint8_t mtu : {1, 5}) {
        const PairOptions options = PairOptions().mtu(mtu);
        ReceivePair pair(engine(), kPass, options);
        std::array<test::TwoCards::Connection, kernels.size()> links;
        for (unsigned i = 0; i < links.size(); ++i) {
            links[i] = pair.connect(kernels[i], options);
            fill_mixed(pair.bytes(0, i * kArea, kBytes), i);
        }
        for (const std::uint32_t length : {96u, kBytes}) {
            for (unsigned i = 0; i < links.size(); ++i)
                pair.driver(0).post_send(links[i].qp[0], pair.write(i * kArea, i * kArea, length));
        }
        for (test::TwoCards::Connection& link : links) {
            EXPECT_EQ(pair.cards.wait_cq(0, link.cq[0]).status, DINGO_WCS_SUCCESS);
            EXPECT_EQ(pair.cards.wait_cq(0, link.cq[0]).status, DINGO_WCS_SUCCESS);
        }
        for (unsigned i = 0; i < links.size(); ++i)
            EXPECT_TRUE(transformed(kernels[i], pair.bytes(0, i * kArea, kBytes),
                                    pair.bytes(1, i * kArea, kBytes)));
    }
}

TEST_P(ReceiveCompute, ReceivesOfASharedQueueHaveTheKernelOfTheirQueuePair) {
    ENGINE_NEEDS(COMPUTE_RX);
    const std::array kernels = {kDlrm, kPass, kAddOne};
    constexpr std::uint32_t kBytes = 3'001;
    ReceivePair pair(engine(), kPass, PairOptions().mtu(1));
    NEEDS(pair.driver(1), SRQ);
    test::Srq srq = pair.driver(1).create_srq();
    std::array<test::Cq, 2> cq = {pair.driver(0).create_cq(), pair.driver(1).create_cq()};
    std::vector<test::TestQp> senders;
    std::vector<std::uint32_t> receivers;
    for (const Kernel& kernel : kernels) {
        test::QpOptions options;
        senders.push_back(pair.driver(0).create_qp(cq[0], cq[0], options));
        options.srqn = srq.srqn;
        const test::TestQp receiver = pair.driver(1).create_qp(cq[1], cq[1], options);
        EXPECT_EQ(
            pair.driver(1).set_compute(receiver.qpn, kernel.id, kernel.param, kReceive).status,
            DINGO_ST_OK);
        pair.driver(0).bring_up(senders.back(), pair.cards.path_to(1, receiver.qpn));
        pair.driver(1).bring_up(receiver, pair.cards.path_to(0, senders.back().qpn));
        receivers.push_back(receiver.qpn);
    }
    fill_mixed(pair.bytes(0, 0, kBytes), 1);
    constexpr unsigned kMessages = 12;
    for (unsigned i = 0; i < kMessages; ++i)
        pair.driver(1).post_recv(srq, i, {pair.mr[1].sge(i * 4096 + 1, kBytes)});
    for (unsigned i = 0; i < kMessages; ++i)
        pair.driver(0).post_send(senders[i % kernels.size()], pair.send(0, kBytes));
    for (unsigned i = 0; i < kMessages; ++i) {
        const dingo_cqe cqe = pair.cards.wait_cq(1, cq[1]);
        EXPECT_EQ(cqe.status, DINGO_WCS_SUCCESS);
        const auto at = std::ranges::find(receivers, test::cqe_qpn(cqe)) - receivers.begin();
        ASSERT_LT(static_cast<std::size_t>(at), kernels.size());
        EXPECT_TRUE(transformed(kernels[static_cast<std::size_t>(at)], pair.bytes(0, 0, kBytes),
                                pair.bytes(1, std::uint64_t{cqe.wqe_index} * 4096 + 1, kBytes)));
    }
}

TEST_P(ReceiveCompute, EachDirectionHasItsKernel) {
    ENGINE_NEEDS(COMPUTE_RX);
    PairOptions options;
    options.connect.created = [](unsigned card, test::TestDriver& d, const test::TestQp& qp) {
        EXPECT_EQ(d.set_compute(qp.qpn, DINGO_KERNEL_ADD_ONE).status, DINGO_ST_OK);
        if (card == 1) {
            EXPECT_EQ(d.set_compute(qp.qpn, DINGO_KERNEL_DLRM, 1000, kReceive).status, DINGO_ST_OK);
        }
    };
    Pair pair(engine(), options);
    constexpr std::uint32_t kBytes = 5'001;
    fill_mixed(pair.bytes(0, 0, kBytes), 1);
    EXPECT_EQ(pair.complete(pair.write(0, 0, kBytes)).status, DINGO_WCS_SUCCESS);
    std::vector<std::byte> on_the_wire = copy_of(pair.bytes(0, 0, kBytes));
    for (std::size_t at = 0; at + 4 <= kBytes; at += 4) {
        std::uint32_t word;
        std::memcpy(&word, &on_the_wire[at], sizeof word);
        ++word;
        std::memcpy(&on_the_wire[at], &word, sizeof word);
    }
    EXPECT_TRUE(transformed({DINGO_KERNEL_DLRM, 1000}, on_the_wire, pair.bytes(1, 0, kBytes)));
    test::SendWr back = pair.write(0, 0, 0);
    back.sges = {pair.mr[1].sge(0, kBytes)};
    back.raddr = pair.mr[0].iova + 20'000;
    back.rkey = pair.mr[0].key;
    pair.driver(1).post_send(pair.qp(1), back);
    EXPECT_EQ(pair.wait(1).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(transformed(kAddOne, pair.bytes(1, 0, kBytes), pair.bytes(0, 20'000, kBytes)));
}

TEST_P(ReceiveCompute, AQueuePairConnectedToItselfLeavesTheSourceAlone) {
    ENGINE_NEEDS(COMPUTE_RX);
    Pair pair(engine());
    test::TestDriver& d = pair.driver(0);
    test::Cq cq = d.create_cq();
    for (const Kernel& kernel : kAll) {
        test::TestQp qp = d.create_qp(cq, cq);
        EXPECT_EQ(d.set_compute(qp.qpn, kernel.id, kernel.param, kReceive).status, DINGO_ST_OK);
        d.bring_up(qp, pair.cards.path_to(0, qp.qpn));
        constexpr std::uint32_t kBytes = 10'007;
        fill_mixed(pair.bytes(0, 0, kBytes), kernel.id);
        const std::vector<std::byte> sent = copy_of(pair.bytes(0, 0, kBytes));
        test::SendWr wr = pair.write(0, 0, kBytes);
        wr.raddr = pair.mr[0].iova + (1u << 16);
        wr.rkey = pair.mr[0].key;
        d.post_send(qp, wr);
        EXPECT_EQ(pair.cards.wait_cq(0, cq).status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(transformed(kernel, sent, pair.bytes(0, 1u << 16, kBytes)));
        EXPECT_EQ(sent, copy_of(pair.bytes(0, 0, kBytes)));
    }
}

TEST_P(ReceiveCompute, ReadDataAndAtomicsAreLeftAlone) {
    ENGINE_NEEDS(COMPUTE_RX);
    ReceivePair pair(engine(), kAddOne);
    pair.fill(1, 0, 9000, 1);
    EXPECT_EQ(pair.complete(pair.read(0, 0, 9000)).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(0, 0, 9000)) << "READ that the QP with the kernel answers";
    test::SendWr of_peer = pair.read(0, 0, 0);
    of_peer.sges = {pair.mr[1].sge(20'000, 9000)};
    of_peer.raddr = pair.mr[0].iova;
    of_peer.rkey = pair.mr[0].key;
    pair.driver(1).post_send(pair.qp(1), of_peer);
    EXPECT_EQ(pair.wait(1).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(0, 20'000, 9000)) << "READ of the QP with the kernel";
    std::uint64_t value = 41;
    std::memcpy(pair.bytes(1, 64, 8).data(), &value, sizeof value);
    EXPECT_EQ(pair.complete(pair.fetch_add(128, 64, 1)).status, DINGO_WCS_SUCCESS);
    std::memcpy(&value, pair.bytes(1, 64, 8).data(), sizeof value);
    EXPECT_EQ(value, 42u);
    std::memcpy(&value, pair.bytes(0, 128, 8).data(), sizeof value);
    EXPECT_EQ(value, 41u);
}

TEST_P(ReceiveCompute, UnreliableMessagesAreWholeAndTransformedOnce) {
    ENGINE_NEEDS(COMPUTE_RX);
    ReceivePair pair(engine(), kDlrm, PairOptions().kind(DINGO_QPT_UC).mtu(1));
    std::uint32_t tag = 0;
    for (const std::uint32_t size : {0u, 1u, 200u, 256u, 1003u}) {
        pair.post_recv(++tag, 0, 2000);
        fill_mixed(pair.bytes(0, 0, size), size + 1);
        EXPECT_EQ(pair.complete(pair.send(0, size)).status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(pair.wait(1).byte_len, size);
        EXPECT_TRUE(transformed(kDlrm, pair.bytes(0, 0, size), pair.bytes(1, 0, size)));
        fill_mixed(pair.bytes(0, 0, size), size);
        EXPECT_EQ(pair.complete(pair.write(0, 4096, size)).status, DINGO_WCS_SUCCESS);
        pair.cards.settle();
        EXPECT_TRUE(transformed(kDlrm, pair.bytes(0, 0, size), pair.bytes(1, 4096, size)));
    }
    // The whole message twice: the second copy is transformed from the sent words again, not twice.
    WireFaults faults(pair.cards);
    faults.add(Fault::kDuplicate, {.from = 0, .opcode = packet::Opcode::kUcWriteOnly});
    EXPECT_EQ(pair.complete(pair.write(0, 4096, 200)).status, DINGO_WCS_SUCCESS);
    pair.cards.settle();
    EXPECT_EQ(faults.injured, 1u);
    EXPECT_TRUE(transformed(kDlrm, pair.bytes(0, 0, 200), pair.bytes(1, 4096, 200)));
    // A message with a gap is dropped, and the next one starts at its own offset 0.
    faults.clear();
    faults.add(Fault::kDrop, {.from = 0, .opcode = packet::Opcode::kUcSendMiddle});
    pair.post_recv(77, 0, 2000);
    EXPECT_EQ(pair.complete(pair.send(0, 1003)).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(pair.complete(pair.send(0, 1003)).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(pair.wait(1).byte_len, 1003u);
    EXPECT_TRUE(transformed(kDlrm, pair.bytes(0, 0, 1003), pair.bytes(1, 0, 1003)));
}

TEST_P(ReceiveCompute, TheHeaderOfADatagramIsNotPartOfTheMessage) {
    ENGINE_NEEDS(COMPUTE_RX);
    for (const Kernel& kernel : {kAddOne, kDlrm}) {
        PairOptions options;
        options.kind(DINGO_QPT_UD);
        ReceivePair pair(engine(), kernel, options);
        Pair plain(engine(), options);
        for (Pair* const p : {static_cast<Pair*>(&pair), &plain}) {
            fill_mixed(p->bytes(0, 0, 999), 1);
            p->post_recv(1, 0, 4096);
            test::SendWr wr = p->send(0, 999);
            wr.ud = p->cards.ud_to(1, p->qp(1).qpn, options.connect.path.qkey);
            EXPECT_EQ(p->complete(wr).status, DINGO_WCS_SUCCESS);
            EXPECT_EQ(p->wait(1).byte_len, 999u + 40);
        }
        EXPECT_TRUE(transformed(kernel, pair.bytes(0, 0, 999), pair.bytes(1, 40, 999)));
        EXPECT_EQ(copy_of(pair.bytes(1, 0, 40)), copy_of(plain.bytes(1, 0, 40)));
    }
}

TEST_P(ReceiveCompute, ResetSetsPass) {
    ENGINE_NEEDS(COMPUTE_RX);
    ReceivePair pair(engine(), kDlrm);
    for (const unsigned card : {0u, 1u}) {
        const unsigned peer = 1 - card;
        auto path = pair.cards.path_to(peer, pair.qp(peer).qpn);
        pair.driver(card).to_state(pair.qp(card), DINGO_QPS_RESET);
        pair.qp(card).sq_producer = pair.qp(card).rq_producer = 0;
        pair.driver(card).bring_up(pair.qp(card), path);
    }
    pair.check(kPass, pair.write(0, 0, 5000), 0, 0, 5000);
}

}  // namespace dingo::conformance
