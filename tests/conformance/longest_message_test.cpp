// SPDX-License-Identifier: BSD-2-Clause
//
// Complete messages of 2^31 bytes. The regions are long, but not their memory: all entries of the
// page list except the last are the same page.
#include "conformance.h"

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

}  // namespace dingo::conformance
