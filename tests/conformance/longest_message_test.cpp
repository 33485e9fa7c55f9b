// SPDX-License-Identifier: BSD-2-Clause
//
// Complete messages of 2^31 bytes, and longer ones, which are refused. The regions are long, but
// not their memory: all entries of the page list except the last are the same page.
#include "conformance.h"
#include "dingo/packet/icrc.h"

namespace dingo::conformance {
namespace {

constexpr std::uint32_t kLength = 1u << 31;
constexpr unsigned kPageShift = 21;
constexpr std::uint64_t kPage = 1u << kPageShift;
constexpr std::size_t kPages = kLength >> kPageShift;
/// Skip reason: half a million packets take a simulated engine too long.
const char* const kOnlyFast = "half a million packets: on the model only";

struct LongRegion {
    test::Mr mr;
    std::uint64_t body = 0;  ///< bus address of the repeated page
    std::uint64_t last = 0;

    LongRegion(test::TestDriver& driver, std::uint64_t seed) {
        body = driver.host().alloc(kPage, kPage);
        last = driver.host().alloc(kPage, kPage);
        random_bytes(driver.host().bytes(body, kPage), seed);
        random_bytes(driver.host().bytes(last, kPage), seed + 1);
        std::vector<std::uint64_t> pages(kPages, body);
        pages.back() = last;
        mr = driver.create_mr(driver.page_list(pages, 2, kPageShift), 0x10'0000'0000, kLength,
                              kAllAccess);
    }
};

}  // namespace

class LongestMessage : public Conformance {
  protected:
    /// Moves 2^31 bytes and compares the first and the last 2 MiB of both regions.
    void move(std::uint8_t opcode) {
        Pair pair(engine(), PairOptions().mtu(5));
        LongRegion local(pair.driver(0), 10);
        LongRegion remote(pair.driver(1), 20);
        if (opcode == DINGO_WR_SEND)
            pair.driver(1).post_recv(pair.qp(1), 9, {remote.mr.sge(0, kLength)});
        test::SendWr wr;
        wr.opcode = opcode;
        wr.sges = {local.mr.sge(0, kLength)};
        if (opcode != DINGO_WR_SEND) {
            wr.raddr = remote.mr.iova;
            wr.rkey = remote.mr.key;
        }
        pair.post(wr);
        const dingo_cqe cqe = pair.cards.wait_cq(0, pair.cq(0), 600'000'000'000);
        EXPECT_EQ(cqe.status, DINGO_WCS_SUCCESS);
        if (opcode == DINGO_WR_SEND) {
            const dingo_cqe received = pair.wait(1);
            EXPECT_EQ(received.status, DINGO_WCS_SUCCESS);
            EXPECT_EQ(received.byte_len, kLength);
        }
        for (const auto& [a, b] : {std::pair(local.body, remote.body), {local.last, remote.last}})
            EXPECT_TRUE(std::ranges::equal(pair.cards.host(0).bytes(a, kPage),
                                           pair.cards.host(1).bytes(b, kPage)));
        // The next message shows that both ends have the expected state.
        pair.fill(0, 0, 5000, 3);
        EXPECT_EQ(pair.complete(pair.write(0, 0, 5000)).status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(pair.same(0, 0, 5000));
    }
    /// Sends 2^31 and 4096 bytes, which arrive as one message: its receive could hold them.
    void send_too_much(Pair& pair) {
        LongRegion local(pair.driver(0), 10);
        LongRegion remote(pair.driver(1), 20);
        pair.driver(1).post_recv(pair.qp(1), 9,
                                 {remote.mr.sge(0, kLength), pair.mr[1].sge(0, 8192)});
        pair.cards.link.hook = [](test::Frame& frame) {
            packet::Packet packet;
            if (packet::parse(frame.bytes, packet) == packet::ParseResult::kRoce &&
                packet.op().is_send() && packet.op().last)
                join(frame, packet);
            return true;
        };
        test::SendWr wr;
        wr.sges = {local.mr.sge(0, kLength)};
        pair.post(wr);
        pair.post(pair.send(0, 4096));
        const dingo_cqe cqe = pair.cards.wait_cq(0, pair.cq(0), 600'000'000'000);
        EXPECT_EQ(cqe.status, DINGO_WCS_SUCCESS);
    }

  private:
    /// Makes the last packet of a message a middle one, and an only packet the last one.
    static void join(test::Frame& frame, const packet::Packet& packet) {
        const packet::Opcode opcode =
            packet.bth.opcode == packet::Opcode::kRcSendLast   ? packet::Opcode::kRcSendMiddle
            : packet.bth.opcode == packet::Opcode::kRcSendOnly ? packet::Opcode::kRcSendLast
            : packet.bth.opcode == packet::Opcode::kUcSendLast ? packet::Opcode::kUcSendMiddle
                                                               : packet::Opcode::kUcSendLast;
        frame.bytes[packet.bth_offset] = static_cast<std::byte>(opcode);
        packet::icrc_append(frame.bytes, packet.l3_offset, packet.l3);
    }
};
INSTANTIATE_TEST_SUITE_P(Conformance, LongestMessage,
                         testing::ValuesIn(dingo::test::register_engines()),
                         [](const auto& engine_of) { return engine_of.param; });

#define ONLY_FAST                          \
    if (kSanitized || engine() != "model") \
    GTEST_SKIP() << kOnlyFast

TEST_P(LongestMessage, WriteOf2GiBArrives) {
    ONLY_FAST;
    move(DINGO_WR_WRITE);
}

TEST_P(LongestMessage, ReadOf2GiBArrives) {
    ONLY_FAST;
    move(DINGO_WR_READ);
}

TEST_P(LongestMessage, SendOf2GiBArrives) {
    ONLY_FAST;
    move(DINGO_WR_SEND);
}

TEST_P(LongestMessage, SendOfMoreThan2GiBIsRefused) {
    ONLY_FAST;
    Pair pair(engine(), PairOptions().mtu(5));
    send_too_much(pair);
    const dingo_cqe received = pair.wait(1);
    EXPECT_EQ(received.status, DINGO_WCS_LOC_LEN_ERR);
    EXPECT_EQ(received.wqe_index, 9U);
    EXPECT_EQ(pair.stat(1, DINGO_CARD_RESP_INVALID_REQUESTS), 1U);
    EXPECT_EQ(pair.state(1), DINGO_QPS_ERR);
}

TEST_P(LongestMessage, UcSendOfMoreThan2GiBIsDropped) {
    ONLY_FAST;
    Pair pair(engine(), PairOptions().mtu(5).kind(DINGO_QPT_UC));
    NEEDS(pair.driver(0), UC);
    send_too_much(pair);
    EXPECT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS);
    pair.cards.settle();
    EXPECT_TRUE(pair.idle(1));
    EXPECT_EQ(pair.stat(1, DINGO_CARD_RX_DROP_UC), 1U);
    EXPECT_EQ(pair.state(1), DINGO_QPS_RTS);
}

}  // namespace dingo::conformance
