// SPDX-License-Identifier: BSD-2-Clause
//
// Whatever happens to the wire and to the cards for a while, everything posted completes: no state
// leaves work waiting for something that never happens. Each seed has its own mix of requests in
// both directions, losses, duplicates, reordering, full wires, paused regions, and cards that are
// not run.
#include <cstdio>
#include <cstdlib>

#include "fixture.h"

namespace dingo::test {
namespace {

constexpr std::uint8_t kTimeout = 8;  // 1 ms
constexpr unsigned kRequests = 40;    // of each card
constexpr unsigned kMostPosted = 14;  // at most 2 blocks each, so that they fit into the ring
constexpr std::uint32_t kLargest = 30'000;
constexpr std::uint64_t kRegionBytes = 1 << 20;
/// Sufficient for the last messages: at most 8 repetitions each, 3 timeouts apart.
constexpr Nanoseconds kPatience = kRequests * 8 * 3 * Nanoseconds{1'100'000};

/// Two cards and the events of one seed.
class Seed final : public Connected {
  public:
    /// Reports a failure if the cards stand still.
    void run(std::uint64_t seed);

  private:
    void TestBody() override {}

    struct Rates {
        double drop, duplicate, delay, busy, frozen, pause;  // percent
    };

    void start(std::uint64_t seed) {
        chance_.emplace(seed);
        TwoCards::ConnectOptions options;
        options.path.timeout = kTimeout;
        options.path.path_mtu = static_cast<std::uint8_t>(1 + roll(5));
        options.path.min_rnr_timer = static_cast<std::uint8_t>(1 + roll(12));
        options.path.max_rd_atomic = static_cast<std::uint8_t>(1 + roll(roll(2) == 0 ? 2 : 16));
        options.start_psn = {static_cast<std::uint32_t>(0xFFFFFF - roll(300)),
                             static_cast<std::uint32_t>(0xFFFFFF - roll(300))};
        connect(options, kRegionBytes);
        const auto some = [this](double most) {
            return roll(3) == 0 ? 0 : most * static_cast<double>(roll(100)) / 100;
        };
        rates_ = {some(10), some(5), some(20), some(30), some(30), some(3)};
        cards.link.hook = [this](Frame& frame) { return pass(frame); };
    }

    bool pass(Frame& frame) {
        Chance& chance = *chance_;
        if (!disturbed_)
            return true;
        if (chance(rates_.drop))
            return false;
        if (chance(rates_.duplicate)) {
            Frame copy = frame;
            copy.delay += roll(3'000'000);
            cards.link.inject(std::move(copy), cards.now());
        }
        if (chance(rates_.delay))
            frame.delay += roll(roll(8) == 0 ? 3'000'000 : 20'000);
        return true;
    }

    SendWr any_request(unsigned i) {
        constexpr std::uint8_t kOpcodes[] = {DINGO_WR_READ,  DINGO_WR_READ, DINGO_WR_READ,
                                             DINGO_WR_WRITE, DINGO_WR_SEND, DINGO_WR_FETCH_ADD,
                                             DINGO_WR_NOP};
        SendWr wr;
        wr.opcode = kOpcodes[roll(std::size(kOpcodes))];
        if (roll(8) == 0)
            wr.flags |= DINGO_WQE_CTRL_FLAGS_FENCE_MASK;
        if (wr.opcode == DINGO_WR_NOP)
            return wr;
        const auto bytes = static_cast<std::uint32_t>(
            wr.opcode == DINGO_WR_FETCH_ADD ? 8 : roll(roll(2) == 0 ? 300 : kLargest));
        wr.sges = {mr[i].sge(0, bytes)};
        if (wr.opcode != DINGO_WR_SEND) {
            wr.raddr = mr[1 - i].iova + 0x80000;
            wr.rkey = mr[1 - i].key;
        } else {
            ++sends_[i];
        }
        return wr;
    }

    void post_some(unsigned i) {
        while (posted_[i] < kRequests && posted_[i] - completed_[i] < kMostPosted && roll(4) != 0) {
            driver(i).post_send(qp(i), any_request(i));
            ++posted_[i];
        }
        while (receives_[i] < sends_[1 - i] && (!disturbed_ || roll(3) == 0)) {
            driver(i).post_recv(qp(i), receives_[i]++, {mr[i].sge(0x40000, kLargest)});
        }
    }

    /// Returns false after an unsuccessful completion.
    bool take_completions(unsigned i) {
        while (const auto cqe = poll(i)) {
            if (cqe->status != DINGO_WCS_SUCCESS)
                return false;
            completed_[i] += DINGO_GET(DINGO_CQE_QPN_OP_OPCODE_MASK, cqe->qpn_op) < DINGO_WC_RECV;
        }
        return true;
    }

    void disturb(unsigned i) {
        Chance& chance = *chance_;
        cards.card(i).wire.busy = disturbed_ && chance(rates_.busy);
        cards.budget[i] = disturbed_ && chance(rates_.frozen) ? 0 : 1U << roll(7);
        if (paused_[i] == (disturbed_ && chance(rates_.pause)))
            return;
        paused_[i] = !paused_[i];
        if (paused_[i])
            ASSERT_EQ(driver(i).destroy(DINGO_OP_PAUSE_MR, mr[i].key).status, DINGO_ST_OK);
        else
            resume(i);
    }

    void resume(unsigned i) {
        dingo_cmd_create_mr command{};
        command.key = command.old_key = mr[i].key;
        command.pdn = 1;
        command.access = kAllAccess;
        command.kind = DINGO_MRT_MR;
        command.mem.addr = mr[i].bus;
        command.iova = mr[i].iova;
        command.length = kRegionBytes;
        driver(i).execute_ok(DINGO_OP_REREG_MR, command);
    }

    std::string text(unsigned i) {
        const dingo_qp_info info = driver(i).query_qp(qp(i).qpn);
        return "card " + std::to_string(i) + ": state " + std::to_string(info.state) + ", " +
               std::to_string(completed_[i]) + " of " + std::to_string(posted_[i]) +
               " completed; SQ " + std::to_string(info.sq_consumer) + " of " +
               std::to_string(info.sq_producer) + ", oldest PSN " +
               std::to_string(info.oldest_psn) + " of " + std::to_string(info.attr.sq_psn) +
               ", expected PSN " + std::to_string(info.attr.rq_psn) + ", retries left " +
               std::to_string(info.retries_left) + "; ";
    }

    std::uint64_t roll(std::uint64_t below) { return chance_->next() % below; }

    std::optional<Chance> chance_;
    Rates rates_{};
    bool disturbed_ = true;
    std::array<bool, 2> paused_{};
    std::array<unsigned, 2> posted_{}, completed_{}, sends_{}, receives_{};
};

void Seed::run(std::uint64_t seed) {
    start(seed);
    const Nanoseconds calm = cards.now() + 2'000'000 + roll(30'000'000);
    const Nanoseconds end = calm + kPatience;
    while (completed_[0] < kRequests || completed_[1] < kRequests) {
        disturbed_ = cards.now() < calm;
        for (unsigned i = 0; i < 2; ++i) {
            if (!take_completions(i))
                return;  // retries exceeded: not a standstill
            disturb(i);
            post_some(i);
        }
        cards.run_for(100 + roll(roll(4) == 0 ? 2'000'000 : 20'000));
        ASSERT_LT(cards.now(), end) << "seed " << seed << ": " << text(0) << text(1);
    }
}

TEST(Standstill, NoneWithWorkLeft) {
    // Other seeds: DINGO_SEEDS="FIRST COUNT", e.g. "1000 20000".
    unsigned first = 1;
    unsigned count = 200;
    if (const char* const seeds = std::getenv("DINGO_SEEDS"))
        std::sscanf(seeds, "%u %u", &first, &count);
    for (unsigned seed = first; seed - first < count && !::testing::Test::HasFailure(); ++seed)
        Seed().run(seed);
}

}  // namespace
}  // namespace dingo::test
