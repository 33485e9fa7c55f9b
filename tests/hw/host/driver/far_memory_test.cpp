// SPDX-License-Identifier: BSD-2-Clause
// Memory that its owner makes slow: only the owner's QP waits.
#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "host/driver/mr.h"
#include "host/driver/queue_memory.h"
#include "slow_place.h"
#include "two_cards.h"

namespace dingo::uverbs::test {
namespace {

constexpr std::uint32_t kSlowRights = 0xf;
constexpr std::uint64_t kIova = 0x7000'0000;

class FarMemoryOfAClient : public TwoCards {
  protected:
    void SetUp() override {
        connect(qa, qb);
        connect(other_a, other_b);
        std::ranges::generate(data, [n = 0]() mutable { return static_cast<std::byte>(n++ * 7); });
    }
    [[nodiscard]] Mr::Range range(std::uint64_t va, std::uint64_t length = kSlowBytes) const {
        return {memory, va, length, va, {}};
    }
    std::uint64_t data_va() { return reinterpret_cast<std::uint64_t>(data.data()); }
    /// Posts a WRITE of the first bytes of `data` to the slow place.
    void write_slow(std::uint32_t bytes = kSlowBytes) {
        dingo_sge sge{};
        sge.addr = data_va();
        sge.lkey = fast->key();
        sge.length = bytes;
        ca.post_write(qa, sge, kIova, slow_mr->key());
        ca.kick();
    }
    /// Runs rounds of both cards for this time; returns the longest round.
    std::chrono::nanoseconds serve(std::chrono::milliseconds time) {
        std::chrono::nanoseconds longest{};
        const auto end = std::chrono::steady_clock::now() + time;
        while (std::chrono::steady_clock::now() < end) {
            const auto begin = std::chrono::steady_clock::now();
            a->poll(now);
            b->poll(now);
            longest = std::max<std::chrono::nanoseconds>(longest,
                                                         std::chrono::steady_clock::now() - begin);
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        return longest;
    }

    void TearDown() override { slow->let_go(); }

    std::shared_ptr<SlowPlace> slow = std::make_shared<SlowPlace>();
    Client ca{*a}, cb{*b}, others{*a};
    Client::QpRings qa = ca.make_qp(), qb = cb.make_qp();
    Client::QpRings other_a = others.make_qp(), other_b = cb.make_qp();
    std::shared_ptr<ClientMemory> memory = std::make_shared<ClientMemory>(
        ::getpid(), ForeignFd(::open("/proc/self/mem", O_RDWR | O_CLOEXEC)));
    std::shared_ptr<ClientMemory> other_memory = std::make_shared<ClientMemory>(
        ::getpid(), ForeignFd(::open("/proc/self/mem", O_RDWR | O_CLOEXEC)));
    std::vector<std::byte> data = std::vector<std::byte>(kSlowBytes);
    Udata none;
    std::unique_ptr<Mr> fast =
        std::make_unique<Mr>(a->driver, *ca.pd, range(data_va()), kSlowRights, none);
    std::unique_ptr<Mr> slow_mr =
        std::make_unique<Mr>(b->driver, *cb.pd, slow, 0, kSlowBytes, kIova, kSlowRights);
};

TEST_F(FarMemoryOfAClient, SlowPagesHoldTheirQpAndNobodyElse) {
    write_slow();
    serve(std::chrono::milliseconds(100));
    EXPECT_FALSE(ca.poll_cq());
    // Another client's far memory, accessed through the same card.
    std::vector<std::byte> from(kSlowBytes, std::byte{5}), to(kSlowBytes);
    const auto from_va = reinterpret_cast<std::uint64_t>(from.data());
    const auto to_va = reinterpret_cast<std::uint64_t>(to.data());
    const Mr mr_from(a->driver, *others.pd, {other_memory, from_va, kSlowBytes, from_va, {}},
                     kSlowRights, none);
    const Mr mr_to(b->driver, *cb.pd, {other_memory, to_va, kSlowBytes, to_va, {}}, kSlowRights,
                   none);
    dingo_sge sge{};
    sge.addr = from_va;
    sge.lkey = mr_from.key();
    sge.length = kSlowBytes;
    others.post_write(other_a, sge, to_va, mr_to.key());
    others.kick();
    std::optional<dingo_cqe> done;
    for (int i = 0; i < 2000 && !done; ++i) {
        serve(std::chrono::milliseconds(1));
        done = others.poll_cq();
    }
    ASSERT_TRUE(done);
    EXPECT_EQ(done->status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(from, to);
    EXPECT_FALSE(ca.poll_cq());
    slow->let_go();
    EXPECT_EQ(wait_cqe(ca).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(data, slow->bytes);
    EXPECT_LE(slow->accesses, 4U) << "pieces of a message, not of a packet";
}

TEST_F(FarMemoryOfAClient, IsNotRegisteredAgain) {
    const auto there = range(data_va());
    EXPECT_EQ(errno_of([&] { slow_mr->rereg(1, nullptr, &there, 0); }), EOPNOTSUPP);
    EXPECT_EQ(errno_of([&] { slow_mr->rereg(4, nullptr, nullptr, kSlowRights); }), EOPNOTSUPP);
}

TEST_F(FarMemoryOfAClient, PageThatDoesNotComeIsABusError) {
    write_slow();
    serve(std::chrono::milliseconds(100));
    EXPECT_FALSE(ca.poll_cq());
    serve(std::chrono::milliseconds(Mover::kTooLong / 1'000'000));
    std::optional<dingo_cqe> failed;
    for (int i = 0; i < 2000 && !failed; ++i) {
        serve(std::chrono::milliseconds(10));
        failed = ca.poll_cq();
    }
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->status, DINGO_WCS_REM_OP_ERR);
    slow->let_go();
}

TEST_F(FarMemoryOfAClient, DeregistrationDoesNotWaitForAPageThatDoesNotCome) {
    write_slow(64);
    serve(std::chrono::milliseconds(100));
    write_slow();
    serve(std::chrono::milliseconds(100));
    slow_mr.reset();  // returns, although the page arrives only now
    slow->let_go();
    EXPECT_EQ(wait_cqe(ca).status, DINGO_WCS_SUCCESS) << "it was being made";
    EXPECT_NE(wait_cqe(ca).status, DINGO_WCS_SUCCESS) << "the rest has no memory any more";
    EXPECT_EQ(slow->bytes[kSlowBytes - 1], std::byte{0});
}

TEST_F(FarMemoryOfAClient, CardGoesWhileAnAccessIsStuck) {
    write_slow();
    serve(std::chrono::milliseconds(100));
    // TearDown destroys clients and cards; the mover's thread ends when the page has arrived.
}

}  // namespace
}  // namespace dingo::uverbs::test
