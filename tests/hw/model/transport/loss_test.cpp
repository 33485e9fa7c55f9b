// SPDX-License-Identifier: BSD-2-Clause
//
// A bad wire: loss, duplicates, disorder and damage. Everything posted completes, and every byte
// is right.
#include <numeric>

#include "fixture.h"

namespace dingo::test {
namespace {

struct Badness {
    const char* name;
    double drop, duplicate, reorder, corrupt;  // percent
    unsigned rounds;
};

class BadWire : public Connected, public ::testing::WithParamInterface<Badness> {
  protected:
    Chance chance{42};

    void start() {
        TwoCards::ConnectOptions options;
        options.path.timeout = 8;  // 1 ms
        options.start_psn = {0xFFFF80, 0xFFFF00};
        connect(options);
        cards.link.hook = [this](Frame& frame) {
            const Badness& bad = GetParam();
            if (chance(bad.drop)) {
                return false;
            }
            if (chance(bad.duplicate)) {
                cards.link.inject(frame, cards.now());
            }
            if (chance(bad.reorder)) {
                frame.delay += 1 + chance.next() % 20'000;
            }
            if (chance(bad.corrupt)) {
                frame.bytes[chance.next() % frame.bytes.size()] ^= std::byte{0x10};
            }
            return true;
        };
    }
    void expect_success(unsigned i) {
        const dingo_cqe cqe = wait(i, 600'000'000'000);
        ASSERT_STREQ(status_name(cqe.status), "SUCCESS") << int{cqe.vendor_err};
    }
};

TEST_P(BadWire, WritesArriveWhole) {
    start();
    for (unsigned round = 0; round < GetParam().rounds; ++round) {
        const std::uint32_t size = 1 + static_cast<std::uint32_t>(chance.next() % 100'000);
        fill(0, 0, size, round);
        driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, round % 64, size));
        expect_success(0);
        ASSERT_TRUE(same(0, round % 64, size));
    }
}

TEST_P(BadWire, ReadsArriveWhole) {
    start();
    for (unsigned round = 0; round < GetParam().rounds; ++round) {
        const std::uint32_t size = 1 + static_cast<std::uint32_t>(chance.next() % 100'000);
        fill(1, 0, size, round);
        driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 8, 0, size));
        expect_success(0);
        ASSERT_TRUE(same(8, 0, size));
    }
}

TEST_P(BadWire, SendsArriveOnceAndInOrder) {
    start();
    constexpr unsigned kBatch = 10;
    constexpr std::uint32_t kSlot = 16'384;
    for (unsigned round = 0; round < GetParam().rounds; ++round) {
        std::vector<std::uint32_t> sizes;
        for (unsigned k = 0; k < kBatch; ++k) {
            sizes.push_back(static_cast<std::uint32_t>(chance.next() % kSlot));
            fill(0, k * kSlot, sizes[k], round + k);
            driver(1).post_recv(qp(1), round * kBatch + k, {mr[1].sge(k * kSlot, kSlot)});
            driver(0).post_send(qp(0), send_wr(k * kSlot, sizes[k]), k + 1 == kBatch);
        }
        for (unsigned k = 0; k < kBatch; ++k) {
            expect_success(0);
            const dingo_cqe cqe = wait(1);
            ASSERT_EQ(cqe.wqe_index, round * kBatch + k);
            ASSERT_EQ(cqe.byte_len, sizes[k]);
            ASSERT_TRUE(same(k * kSlot, k * kSlot, sizes[k]));
        }
        EXPECT_FALSE(poll(1));
    }
}

TEST_P(BadWire, AtomicsHappenExactlyOnce) {
    start();
    const unsigned count = GetParam().rounds * 10;
    for (unsigned i = 0; i < count; ++i) {
        driver(0).post_send(qp(0), atomic(DINGO_WR_FETCH_ADD, 0, 1));
        expect_success(0);
        ASSERT_EQ(cards.host(0).load<std::uint64_t>(mr[0].bus), i);
    }
    EXPECT_EQ(cards.host(1).load<std::uint64_t>(mr[1].bus), count);
}

TEST_P(BadWire, EverythingMixedBothWays) {
    start();
    constexpr std::uint32_t kHalf = kRegion / 2;
    std::uint32_t sizes[2] = {};
    for (unsigned round = 0; round < GetParam().rounds; ++round) {
        // Each side writes, reads back and adds in the half of the other's region that is its own.
        for (unsigned i = 0; i < 2; ++i) {
            const std::uint64_t out = 0x10000;
            const std::uint64_t back = 0x80000;
            const std::uint64_t remote = kHalf + i * 0x100000;
            const std::uint32_t size = sizes[i] =
                1 + static_cast<std::uint32_t>(chance.next() % 60'000);
            fill(i, out, size, round + i);
            SendWr wr;
            wr.opcode = DINGO_WR_WRITE;
            wr.raddr = mr[1 - i].iova + remote;
            wr.rkey = mr[1 - i].key;
            wr.sges = {mr[i].sge(out, size)};
            driver(i).post_send(qp(i), wr, false);
            wr.opcode = DINGO_WR_READ;
            wr.flags |= DINGO_WQE_CTRL_FLAGS_FENCE_MASK;
            wr.sges = {mr[i].sge(back, size)};
            driver(i).post_send(qp(i), wr, false);
            wr.opcode = DINGO_WR_FETCH_ADD;
            wr.raddr = mr[1 - i].iova + kHalf - 8;
            wr.swap_add = 1;
            wr.sges = {mr[i].sge(back + 0x40000, 8)};
            driver(i).post_send(qp(i), wr);
        }
        for (unsigned i = 0; i < 2; ++i) {
            for (int k = 0; k < 3; ++k) {
                expect_success(i);
            }
            ASSERT_EQ(std::memcmp(memory(i, 0x10000, sizes[i]).data(),
                                  memory(i, 0x80000, sizes[i]).data(), sizes[i]),
                      0);
        }
        for (unsigned i = 0; i < 2; ++i) {
            ASSERT_EQ(cards.host(i).load<std::uint64_t>(mr[i].bus + kHalf - 8), round + 1);
        }
    }
}

TEST_P(BadWire, RecoveryIsSeenInTheCounters) {
    start();
    for (unsigned round = 0; round < GetParam().rounds; ++round) {
        driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 50'000));
        expect_success(0);
    }
    EXPECT_EQ(stat(0, DINGO_CARD_RETRANSMITS) > 0, GetParam().drop + GetParam().reorder > 0);
    EXPECT_EQ(stat(1, DINGO_CARD_RX_ICRC_ENCAPSULATED) > 0, GetParam().corrupt > 0);
    EXPECT_EQ(stat(1, DINGO_CARD_DUPLICATE_REQUEST) > 0, GetParam().name != std::string("clean"));
}

INSTANTIATE_TEST_SUITE_P(
    Wire, BadWire,
    ::testing::Values(Badness{"clean", 0, 0, 0, 0, 10}, Badness{"drop0_1", 0.1, 0, 0, 0, 100},
                      Badness{"drop1", 1, 0, 0, 0, 100}, Badness{"drop5", 5, 0, 0, 0, 40},
                      Badness{"duplicate", 0, 20, 0, 0, 40}, Badness{"reorder", 0, 0, 5, 0, 40},
                      Badness{"drop30", 30, 0, 0, 0, 3}, Badness{"mix", 1, 2, 1, 0.5, 60}),
    [](const auto& param_info) { return std::string(param_info.param.name); });

}  // namespace
}  // namespace dingo::test
