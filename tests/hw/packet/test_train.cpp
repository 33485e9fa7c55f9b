// SPDX-License-Identifier: BSD-2-Clause
//
// Packet trains are split into the packets that a sender without trains would have sent.
#include <gtest/gtest.h>

#include "dingo/packet/icrc.h"
#include "dingo/packet/psn.h"
#include "dingo/packet/train.h"
#include "support.h"

namespace dingo::packet::test {
namespace {

struct Made {
    std::vector<std::byte> frame;
    std::vector<std::byte> payload;
    TransportHeaders headers;
};

Made make_train(Random& random, Opcode opcode, std::size_t bytes, L3Kind l3 = L3Kind::kIpv4,
                bool vlan = false) {
    Made made;
    made.headers.bth.opcode = opcode;
    made.headers.bth.dest_qp = 0x123456;
    made.headers.bth.psn = 0xfffffe;
    made.headers.bth.ack_req = true;
    made.headers.bth.solicited = true;
    made.headers.reth = {0x1122334455667788, 0x9abcdef0, static_cast<std::uint32_t>(bytes)};
    made.headers.imm = 0xcafef00d;
    made.headers.inv_rkey = 0x0badf00d;
    made.headers.aeth = {0x1f, 0x77};
    made.payload.resize(bytes);
    for (std::byte& b : made.payload)
        b = static_cast<std::byte>(random());
    made.frame.resize(kMaxTrainFrame);
    FrameBuilder builder;
    EXPECT_TRUE(builder.begin(HeaderTemplate(random_path(random, l3, vlan)), made.headers, bytes,
                              0xfffe, made.frame));
    std::ranges::copy(made.payload, builder.payload().begin());
    made.frame.resize(builder.finish_without_icrc().size());
    return made;
}

struct Kind {
    Opcode only, first, middle, last;
};

TEST(Train, IsCutIntoThePacketsOfItsMessage) {
    Random random(7);
    constexpr std::array<Kind, 6> kKinds{{
        {Opcode::kRcSendOnly, Opcode::kRcSendFirst, Opcode::kRcSendMiddle, Opcode::kRcSendLast},
        {Opcode::kRcSendOnlyImm, Opcode::kRcSendFirst, Opcode::kRcSendMiddle,
         Opcode::kRcSendLastImm},
        {Opcode::kRcSendOnlyInv, Opcode::kRcSendFirst, Opcode::kRcSendMiddle,
         Opcode::kRcSendLastInv},
        {Opcode::kRcWriteOnly, Opcode::kRcWriteFirst, Opcode::kRcWriteMiddle, Opcode::kRcWriteLast},
        {Opcode::kRcWriteOnlyImm, Opcode::kRcWriteFirst, Opcode::kRcWriteMiddle,
         Opcode::kRcWriteLastImm},
        {Opcode::kRcReadResponseOnly, Opcode::kRcReadResponseFirst, Opcode::kRcReadResponseMiddle,
         Opcode::kRcReadResponseLast},
    }};
    for (const Kind& kind : kKinds)
        for (const bool first : {false, true})
            for (const bool last : {false, true})
                for (const std::uint32_t pmtu : {256U, 1024U, 4096U})
                    for (const unsigned packets : {2U, 3U, 8U}) {
                        const Opcode opcode = first ? (last ? kind.only : kind.first)
                                                    : (last ? kind.last : kind.middle);
                        const std::size_t bytes =
                            (packets - 1) * pmtu + (last ? 1 + random() % pmtu : pmtu);
                        const bool ipv4 = random() % 2 == 0;
                        const bool elsewhere = random() % 2 == 0;
                        Made made =
                            make_train(random, opcode, bytes, ipv4 ? L3Kind::kIpv4 : L3Kind::kIpv6,
                                       random() % 2 == 0);
                        Packet train;
                        ASSERT_EQ(parse(made.frame, train), ParseResult::kRoce);
                        train.packets = static_cast<std::uint16_t>(packets);
                        if (elsewhere)
                            std::fill_n(made.frame.begin() + train.payload_offset, bytes,
                                        std::byte{0x5a});
                        TrainCutter cutter(made.frame, elsewhere ? made.payload.data() : nullptr,
                                           packets);
                        ASSERT_TRUE(cutter.valid());
                        std::array<std::byte, kMaxRoceFrameBytes> room;
                        std::size_t on_wire = 0;
                        std::size_t at = 0;
                        for (unsigned i = 0; i < packets; ++i) {
                            const auto frame = cutter.next(room);
                            Packet one;
                            ASSERT_EQ(parse(frame, one), ParseResult::kRoce) << i;
                            EXPECT_TRUE(icrc_check(frame, one));
                            EXPECT_EQ(frame.size(), one.frame_bytes());
                            on_wire += frame.size();
                            const bool f = first && i == 0;
                            const bool l = last && i + 1 == packets;
                            EXPECT_EQ(one.bth.opcode, f ? kind.first : l ? kind.last : kind.middle);
                            EXPECT_EQ(one.bth.psn, psn_add(0xfffffe, i));
                            EXPECT_EQ(one.bth.dest_qp, 0x123456U);
                            EXPECT_EQ(one.bth.ack_req, i + 1 == packets);
                            EXPECT_EQ(one.bth.solicited, i + 1 == packets);
                            if (ipv4) {
                                EXPECT_EQ(one.ip_id, static_cast<std::uint16_t>(0xfffe + i));
                            }
                            if (one.op().has_reth()) {
                                EXPECT_EQ(one.reth.va, made.headers.reth.va);
                                EXPECT_EQ(one.reth.rkey, made.headers.reth.rkey);
                                EXPECT_EQ(one.reth.length, bytes);
                            }
                            if (one.op().has_imm()) {
                                EXPECT_EQ(one.imm, made.headers.imm);
                            }
                            if (one.op().has_ieth()) {
                                EXPECT_EQ(one.inv_rkey, made.headers.inv_rkey);
                            }
                            if (one.op().has_aeth()) {
                                EXPECT_EQ(one.aeth.msn, made.headers.aeth.msn);
                            }
                            ASSERT_LE(at + one.payload.size(), bytes);
                            EXPECT_TRUE(std::ranges::equal(
                                one.payload,
                                std::span(made.payload).subspan(at, one.payload.size())));
                            at += one.payload.size();
                        }
                        EXPECT_EQ(at, bytes);
                        EXPECT_TRUE(cutter.next(room).empty());
                        EXPECT_EQ(wire_bytes(train), on_wire)
                            << traits(opcode).name << ' ' << packets;
                    }
}

TEST(Train, HasOnePmtuAtMost) {
    for (unsigned packets = 2; packets <= kMaxTrainPackets; ++packets)
        for (const std::uint32_t pmtu : {256U, 512U, 1024U, 2048U, 4096U}) {
            const std::size_t full = std::size_t{packets} * pmtu;
            EXPECT_EQ(train_pmtu(full, packets), pmtu);
            EXPECT_EQ(train_pmtu(full - pmtu + 1, packets), pmtu);
            EXPECT_NE(train_pmtu(full - pmtu, packets), pmtu);
            EXPECT_NE(train_pmtu(full + 1, packets), pmtu);
        }
    EXPECT_EQ(train_pmtu(0, 2), 0U);
    EXPECT_EQ(train_pmtu(256, 2), 0U);
    EXPECT_EQ(train_pmtu(1000, 1), 0U);
    EXPECT_EQ(train_pmtu(1000, 0), 0U);
    EXPECT_EQ(train_pmtu(8193, 2), 0U);
}

TEST(Train, OfWhatIsNoTrainNothingIsCut) {
    Random random(3);
    std::array<std::byte, kMaxRoceFrameBytes> room;
    const Made good = make_train(random, Opcode::kRcWriteOnly, 2000);
    EXPECT_FALSE(TrainCutter(good.frame, nullptr, 1).valid());
    EXPECT_FALSE(TrainCutter(good.frame, nullptr, 9).valid());
    EXPECT_FALSE(TrainCutter(std::span(good.frame).first(100), nullptr, 2).valid());
    EXPECT_TRUE(TrainCutter(std::span(good.frame).first(100), nullptr, 2).next(room).empty());
    EXPECT_TRUE(TrainCutter(good.frame, nullptr, 2).valid());
    std::array<std::byte, 100> small;
    EXPECT_TRUE(TrainCutter(good.frame, nullptr, 2).next(small).empty());
    for (const Opcode opcode : {Opcode::kUcWriteOnly, Opcode::kUdSendOnly, Opcode::kRcAck})
        EXPECT_FALSE(TrainCutter(make_train(random, opcode, 2000).frame, nullptr, 2).valid());
}

}  // namespace
}  // namespace dingo::packet::test
