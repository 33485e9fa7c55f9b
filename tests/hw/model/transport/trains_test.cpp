// SPDX-License-Identifier: BSD-2-Clause
//
// Packet trains: same results as with single packets, except for the number of frames; invalid
// trains are dropped and counted.
#include <array>
#include <functional>
#include <map>

#include "dingo/packet/train.h"
#include "fixture.h"

namespace dingo::test {
namespace {

class Trains : public Connected {
  protected:
    Trains() {
        for (unsigned i = 0; i < 2; ++i)
            cards.card(i).wire.icrc = false;
    }
    void allow(bool trains) {
        for (unsigned i = 0; i < 2; ++i)
            cards.card(i).wire.trains = [trains] { return trains; };
    }
    std::uint64_t trains_sent(unsigned i) { return cards.card(i).wire.trains_sent; }
    /// Passes the frames that card `i` sends to `fn`, which returns true to send them on.
    void watch(unsigned i, std::function<bool(std::span<const std::byte>)> fn) {
        cards.card(i).wire.sink = [this, i, fn = std::move(fn)](std::span<const std::byte> frame) {
            if (fn(frame))
                cards.link.send(i, frame, cards.now());
        };
    }
    /// Returns the next train of card 0, which is not sent on.
    FrameBytes catch_train(const SendWr& wr) {
        FrameBytes caught;
        watch(0, [&](std::span<const std::byte> frame) {
            const bool train = caught.empty() && packets_of_train(frame) > 1;
            if (train)
                caught.assign(frame.begin(), frame.end() - 1);
            return !train;
        });
        driver(0).post_send(qp(0), wr);
        EXPECT_TRUE(cards.run_until([&] { return !caught.empty(); }));
        return caught;
    }
    packet::Packet parsed(const FrameBytes& frame) {
        packet::Packet packet;
        EXPECT_EQ(packet::parse(frame, packet), packet::ParseResult::kRoce);
        return packet;
    }
};

/// Sends each kind of message and returns the resulting counters.
using Counters = std::map<std::string, std::uint64_t>;
Counters traffic(bool trains, std::uint8_t path_mtu, std::uint64_t& sent) {
    struct Pair : Trains {
        void TestBody() override {}
        Counters work(bool allowed, std::uint8_t mtu, std::uint64_t& trains) {
            allow(allowed);
            TwoCards::ConnectOptions options;
            options.path.path_mtu = mtu;
            connect(options);
            fill(0, 0, kRegion, 1);
            fill(1, 0, kRegion, 2);
            for (const std::uint32_t bytes :
                 {4096U, 4097U, 8192U, 32768U, 32769U, 65536U, 100'001U, 1'000'000U}) {
                run(rdma(DINGO_WR_WRITE, 1, 3, bytes));
                EXPECT_TRUE(same(1, 3, bytes));
                fill(1, 0, bytes, bytes);
                run(rdma(DINGO_WR_READ, 5, 0, bytes));
                EXPECT_TRUE(same(5, 0, bytes));
                fill(0, 0, bytes, bytes + 1);
                driver(1).post_recv(qp(1), 1, {mr[1].sge(7, bytes)});
                run(send_wr(0, bytes));
                EXPECT_EQ(wait(1).byte_len, bytes);
                EXPECT_TRUE(same(0, 7, bytes));
                driver(1).post_recv(qp(1), 2, {});
                SendWr imm = rdma(DINGO_WR_WRITE_IMM, 2, 9, bytes);
                imm.imm = 77;
                run(imm);
                EXPECT_EQ(wait(1).byte_len, bytes);
                EXPECT_TRUE(same(2, 9, bytes));
            }
            Counters out;
            for (unsigned i = 0; i < 2; ++i) {
                for (unsigned c = 0; c < DINGO_CARD_COUNTERS; ++c)
                    out["card " + std::to_string(i) + ' ' + std::to_string(c)] =
                        stat(i, static_cast<dingo_card_counter>(c));
                const auto counters = driver(i).qp_stats(qp(i).qpn);
                for (unsigned c = 0; c < counters.size(); ++c)
                    out["qp " + std::to_string(i) + ' ' + std::to_string(c)] = counters[c];
            }
            trains = trains_sent(0) + trains_sent(1);
            return out;
        }
    };
    return Pair().work(trains, path_mtu, sent);
}

TEST_F(Trains, LeaveTheCountersOfTheirPackets) {
    for (const std::uint8_t path_mtu : {1, 3, 5}) {
        std::uint64_t with = 0;
        std::uint64_t without = 0;
        Counters a = traffic(true, path_mtu, with);
        Counters b = traffic(false, path_mtu, without);
        EXPECT_GT(with, 50U);
        EXPECT_EQ(without, 0U);
        // ACKs are requested at other packets.
        const auto drop = [](Counters& counters) {
            for (unsigned i = 0; i < 2; ++i) {
                for (const dingo_card_counter c :
                     {DINGO_CARD_RDMA_TX_PACKETS, DINGO_CARD_RDMA_RX_PACKETS,
                      DINGO_CARD_RDMA_TX_BYTES, DINGO_CARD_RDMA_RX_BYTES})
                    counters.erase("card " + std::to_string(i) + ' ' + std::to_string(c));
                for (unsigned c = 0; c < DINGO_QP_COUNTERS; ++c)
                    if (c == DINGO_QP_ACKS_SENT || c == DINGO_QP_ACKS_RCVD ||
                        (i == 1 && (c == DINGO_QP_TX_PACKETS || c == DINGO_QP_TX_BYTES)) ||
                        (i == 0 && (c == DINGO_QP_RX_PACKETS || c == DINGO_QP_RX_BYTES)))
                        counters.erase("qp " + std::to_string(i) + ' ' + std::to_string(c));
            }
        };
        // Card 0 sends only requests.
        for (const std::string& one : {"card 0 " + std::to_string(DINGO_CARD_RDMA_TX_PACKETS),
                                       "card 0 " + std::to_string(DINGO_CARD_RDMA_TX_BYTES),
                                       "card 1 " + std::to_string(DINGO_CARD_RDMA_RX_PACKETS),
                                       "card 1 " + std::to_string(DINGO_CARD_RDMA_RX_BYTES)})
            EXPECT_EQ(a[one], b[one]) << one;
        drop(a);
        drop(b);
        EXPECT_EQ(a, b);
    }
}

TEST_F(Trains, TheNextFrameHasTheIpv4IdentificationBehindThoseOfAllPackets) {
    connect();
    std::vector<unsigned> ids;
    unsigned expected = 0;
    watch(0, [&](std::span<const std::byte> frame) {
        packet::Packet packet;
        EXPECT_EQ(packet::parse(frame, packet), packet::ParseResult::kRoce);
        if (!ids.empty()) {
            EXPECT_EQ(packet.ip_id, expected) << ids.size();
        }
        ids.push_back(packet.ip_id);
        expected = static_cast<std::uint16_t>(packet.ip_id + packets_of_train(frame));
        return true;
    });
    run(rdma(DINGO_WR_WRITE, 0, 0, 100'000));
    run(rdma(DINGO_WR_WRITE, 0, 0, 8));
    EXPECT_EQ(ids.size(), 5U) << "trains of 32, 32, 32 and 2 packets, and one packet";
}

TEST_F(Trains, ALostOneIsRepeatedAsPackets) {
    connect();
    fill(0, 0, 200'000);
    unsigned seen = 0;
    watch(0, [&](std::span<const std::byte> frame) {
        return packets_of_train(frame) == 1 || ++seen != 2;
    });
    run(rdma(DINGO_WR_WRITE, 0, 0, 200'000));
    EXPECT_TRUE(same(0, 0, 200'000));
    EXPECT_GT(qp_stat(0, DINGO_QP_RETRANSMITS), 0U);
    EXPECT_EQ(qp_stat(1, DINGO_QP_SEQ_NAK_SENT), 1U);
    // Everything sent before, including the second train, was repeated packet by packet.
    EXPECT_LT(seen, 10U);
}

TEST_F(Trains, ALostReadResponseIsAskedForAgain) {
    connect();
    fill(1, 0, 200'000);
    unsigned seen = 0;
    watch(1, [&](std::span<const std::byte> frame) {
        return packets_of_train(frame) == 1 || ++seen != 2;
    });
    run(rdma(DINGO_WR_READ, 0, 0, 200'000));
    EXPECT_TRUE(same(0, 0, 200'000));
    EXPECT_EQ(seen, 7U);  // none during the repetition
}

TEST_F(Trains, ADuplicateIsAcknowledgedAndNotExecuted) {
    connect();
    const FrameBytes train = catch_train(rdma(DINGO_WR_WRITE, 0, 0, 10'000));
    EXPECT_TRUE(cards.card(1).engine->receive_train(train, {}, 10));
    wait(0);
    fill(1, 0, 10'000, 9);
    fill(0, 0, 10'000, 9);
    const std::uint64_t before = stat(1, DINGO_CARD_DUPLICATE_REQUEST);
    EXPECT_TRUE(cards.card(1).engine->receive_train(train, {}, 10));
    cards.run_for(100'000);
    EXPECT_TRUE(same(0, 0, 10'000));
    EXPECT_EQ(stat(1, DINGO_CARD_DUPLICATE_REQUEST), before + 10);
}

TEST_F(Trains, OneThatCannotBeIsDroppedAndCounted) {
    connect();
    fill(1, 0, 10'000, 5);
    const FrameBytes train = catch_train(rdma(DINGO_WR_WRITE, 0, 0, 10'000));
    const std::vector<std::byte> before(memory(1, 0, 10'000).begin(), memory(1, 0, 10'000).end());
    for (const unsigned packets : {2U, 4U, 9U, 11U, 200U}) {  // of 10,000 bytes; only 10 is valid
        const std::uint64_t dropped = stat(1, DINGO_CARD_RX_DROP_MALFORMED);
        EXPECT_TRUE(cards.card(1).engine->receive_train(train, {}, packets));
        EXPECT_EQ(stat(1, DINGO_CARD_RX_DROP_MALFORMED), dropped + packets) << packets;
    }
    FrameBytes other = train;
    const packet::Packet packet = parsed(train);
    for (const packet::Opcode opcode :
         {packet::Opcode::kUcWriteOnly, packet::Opcode::kRcAck, packet::Opcode::kUdSendOnly}) {
        other[packet.bth_offset] = static_cast<std::byte>(opcode);
        const std::uint64_t dropped = stat(1, DINGO_CARD_RX_DROP_MALFORMED);
        EXPECT_TRUE(cards.card(1).engine->receive_train(other, {}, 10));
        EXPECT_EQ(stat(1, DINGO_CARD_RX_DROP_MALFORMED), dropped + 10);
    }
    EXPECT_TRUE(std::ranges::equal(before, memory(1, 0, 10'000)));
    EXPECT_EQ(state(1), DINGO_QPS_RTS);
}

TEST_F(Trains, OneForAnotherCardIsNotTaken) {
    connect();
    FrameBytes train = catch_train(rdma(DINGO_WR_WRITE, 0, 0, 10'000));
    train[5] ^= std::byte{1};
    EXPECT_FALSE(cards.card(1).engine->receive_train(train, {}, 10));
    EXPECT_FALSE(cards.card(1).engine->receive_train(std::span(train).first(10), {}, 10));
}

TEST_F(Trains, PacketsOfAnotherPmtuThanTheQpsAreAnInvalidRequest) {
    TwoCards::ConnectOptions options;
    options.path.path_mtu = 4;
    connect(options);
    const FrameBytes train = catch_train(rdma(DINGO_WR_WRITE, 0, 0, 8192));
    // The same bytes as packets of 1,024 bytes, while the QP's PMTU is 2,048.
    EXPECT_TRUE(cards.card(1).engine->receive_train(train, {}, 8));
    EXPECT_EQ(wait(0).status, DINGO_WCS_REM_INV_REQ_ERR);
    EXPECT_EQ(state(1), DINGO_QPS_ERR);
}

TEST_F(Trains, ResponsesBehindALostOneAreDroppedAndCounted) {
    allow(true);
    connect();
    fill(1, 0, 200'000);
    std::uint64_t lost = 0;
    watch(1, [&](std::span<const std::byte> frame) {
        const bool first = lost == 0;
        if (first)
            lost = packets_of_train(frame);
        return !first;
    });
    EXPECT_EQ(run(rdma(DINGO_WR_READ, 0, 0, 200'000)).byte_len, 200'000U);
    cards.settle();
    const std::uint32_t pmtu = 128U << driver(0).query_qp(qp(0).qpn).attr.path_mtu;
    const std::uint64_t taken = (200'000 + pmtu - 1) / pmtu;
    EXPECT_GT(lost, 1U);
    EXPECT_GT(stat(0, DINGO_CARD_RX_DROP_RESPONSE), lost);
    EXPECT_EQ(stat(0, DINGO_CARD_RX_DROP_RESPONSE),
              stat(1, DINGO_CARD_RDMA_TX_PACKETS) - lost - taken);
}

TEST_F(Trains, AReadResponsePastWhatWasAskedForIsDropped) {
    connect();
    fill(1, 0, 40'000);
    FrameBytes train;
    watch(1, [&](std::span<const std::byte> frame) {
        if (train.empty() && packets_of_train(frame) > 1) {
            train.assign(frame.begin(), frame.end() - 1);
            return false;
        }
        return true;
    });
    driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 16'384));
    ASSERT_TRUE(cards.run_until([&] { return !train.empty(); }));
    packet::Packet packet = parsed(train);
    // As if its first packet were the second of the READ: the last one is beyond the end.
    const std::uint32_t psn = packet.bth.psn + 1;
    for (unsigned k = 0; k < 3; ++k)
        train[packet.bth_offset + 9 + k] = static_cast<std::byte>(psn >> (16 - 8 * k));
    const std::uint64_t dropped = stat(0, DINGO_CARD_RX_DROP_RESPONSE);
    EXPECT_TRUE(cards.card(0).engine->receive_train(train, {}, 16));
    EXPECT_EQ(stat(0, DINGO_CARD_RX_DROP_RESPONSE), dropped + 16);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(same(0, 0, 16'384));
}

TEST_F(Trains, ASendThatDoesNotFitItsReceiveIsALengthError) {
    connect();
    driver(1).post_recv(qp(1), 1, {mr[1].sge(0, 9'999)});
    driver(0).post_send(qp(0), send_wr(0, 10'000));
    EXPECT_EQ(wait(0).status, DINGO_WCS_REM_INV_REQ_ERR);
    EXPECT_EQ(wait(1).status, DINGO_WCS_LOC_LEN_ERR);
}

TEST_F(Trains, NobodyReadyIsToldByRnrAndComesLater) {
    connect();
    fill(0, 0, 50'000);
    driver(0).post_send(qp(0), send_wr(0, 50'000));
    cards.run_for(1'000'000);
    driver(1).post_recv(qp(1), 1, {mr[1].sge(0, 50'000)});
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(wait(1).byte_len, 50'000U);
    EXPECT_TRUE(same(0, 0, 50'000));
}

TEST_F(Trains, NoneReachesOverTwoEntriesOfAGatherList) {
    connect();
    fill(0, 0, 100'000);
    SendWr wr = rdma(DINGO_WR_WRITE, 0, 0, 0);
    wr.sges = {mr[0].sge(0, 10'000), mr[0].sge(10'000, 500), mr[0].sge(10'500, 40'000)};
    std::vector<unsigned> packets;
    watch(0, [&](std::span<const std::byte> frame) {
        packets.push_back(packets_of_train(frame));
        return true;
    });
    run(wr);
    EXPECT_TRUE(same(0, 0, 50'500));
    // Trains are within the first or the third entry; the two packets that cross the end of an
    // entry are sent alone.
    EXPECT_EQ(packets, (std::vector<unsigned>{9, 1, 1, 32, 7}));
}

TEST_F(Trains, DropsAreCountedInPackets) {
    connect();
    const FrameBytes train = catch_train(rdma(DINGO_WR_WRITE, 0, 0, 10'000));
    const packet::Packet packet = parsed(train);
    FrameBytes other = train;
    for (unsigned k = 0; k < 3; ++k)
        other[packet.bth_offset + 5 + k] = std::byte{0xee};
    EXPECT_TRUE(cards.card(1).engine->receive_train(other, {}, 10));
    EXPECT_EQ(stat(1, DINGO_CARD_RX_DROP_BAD_QPN), 10U);
    other = train;
    other[packet.bth_offset + 9] ^= std::byte{0x10};  // far ahead
    EXPECT_TRUE(cards.card(1).engine->receive_train(other, {}, 10));
    EXPECT_EQ(stat(1, DINGO_CARD_OUT_OF_SEQUENCE), 10U);
    EXPECT_TRUE(cards.card(1).engine->receive_train(train, {}, 4));
    EXPECT_EQ(stat(1, DINGO_CARD_RX_DROP_MALFORMED), 4U);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
}

TEST_F(Trains, UnreliableOnesAreNotSent) {
    TwoCards::ConnectOptions options;
    options.qp.kind = DINGO_QPT_UC;
    connect(options);
    fill(0, 0, 100'000);
    run(rdma(DINGO_WR_WRITE, 0, 0, 100'000));
    EXPECT_TRUE(cards.run_until([&] { return same(0, 0, 100'000); }));
    EXPECT_EQ(trains_sent(0), 0U);
}

TEST_F(Trains, AFullWireSendsNoPacketsInstead) {
    connect();
    fill(0, 0, 100'000);
    cards.card(0).wire.busy = true;
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 100'000));
    cards.run_for(50'000);
    EXPECT_GT(stat(0, DINGO_CARD_WIRE_BUSY), 0U);
    cards.card(0).wire.busy = false;
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(same(0, 0, 100'000));
    EXPECT_EQ(trains_sent(0), 4U);
}

}  // namespace
}  // namespace dingo::test
