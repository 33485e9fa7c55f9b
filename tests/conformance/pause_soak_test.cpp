// SPDX-License-Identifier: BSD-2-Clause
//
// Random requests of several QPs in both directions while the regions of both cards are paused and
// moved at any time and the wire loses frames: everything completes, and every byte is correct.
#include "conformance.h"
#include "faults.h"

namespace dingo::conformance {
namespace {

constexpr unsigned kQps = 3;
constexpr std::uint32_t kSlot = 8192;
constexpr unsigned kSlots = 16;  ///< requests per QP and round
constexpr std::uint32_t kRegion = kQps * kSlots * kSlot;
constexpr std::uint64_t kAdd = 0x0102030405060708;

class Soak {
  public:
    Soak(const std::string& engine, std::uint64_t seed, double drop)
        : cards_(engine, engine), faults_(cards_), random_(seed) {
        test::TwoCards::ConnectOptions options;
        options.path.timeout = 9;  // 2 ms
        options.path.min_rnr_timer = 1;
        for (auto& link : links_)
            link = cards_.connect(options);
        for (unsigned card = 0; card < 2; ++card)
            mr_[card] = cards_.driver(card).create_mr(kRegion, kAllAccess);
        cards_.budget = {1, 1};
        if (drop > 0)
            faults_.add_random({.drop = drop, .seed = seed});
    }

    /// Returns false after a failure, which is reported.
    bool round() {
        for (unsigned card = 0; card < 2; ++card)
            random_bytes(bytes(card, 0, kRegion), random_());
        requests_.clear();
        for (unsigned slot = 0; slot < kSlots; ++slot)
            for (unsigned qp = 0; qp < kQps; ++qp)
                post(qp, qp * kSlots + slot);
        while (done_ < requests_.size()) {
            std::uint64_t steps = roll(roll(8) == 0 ? 60 : 5);
            cards_.run_until([&] { return take() || steps-- == 0; }, 3'000'000);
            cards_.step();  // so that commands find the cards at the current time
            const unsigned card = static_cast<unsigned>(roll(2));
            if (paused_[card])
                move(card);
            else if (roll(2) == 0)
                pause(card);
            if (cards_.now() > kPatience) {
                ADD_FAILURE() << done_ << " of " << requests_.size() << " completed";
                return false;
            }
        }
        for (unsigned card = 0; card < 2; ++card)
            if (paused_[card])
                move(card);
        done_ = 0;
        return check();
    }

    std::uint64_t pauses() const { return pauses_; }

  private:
    static constexpr Nanoseconds kPatience = 60'000'000'000;
    struct Request {
        std::uint8_t opcode;
        unsigned from;  ///< card
        std::uint32_t length;
        std::uint64_t word;  ///< expected old value of an atomic
    };

    std::span<std::byte> bytes(unsigned card, std::uint64_t offset, std::uint64_t length) {
        return cards_.host(card).bytes(mr_[card].bus + offset, length);
    }
    std::uint64_t word(unsigned card, std::uint64_t offset) {
        std::uint64_t value = 0;
        std::memcpy(&value, bytes(card, offset, sizeof value).data(), sizeof value);
        return value;
    }

    void post(unsigned qp, unsigned slot) {
        constexpr std::array<std::uint8_t, 5> opcodes = {
            DINGO_WR_READ, DINGO_WR_READ, DINGO_WR_WRITE, DINGO_WR_SEND, DINGO_WR_FETCH_ADD};
        const std::uint64_t at = std::uint64_t{slot} * kSlot;
        Request r{opcodes[roll(opcodes.size())], static_cast<unsigned>(roll(2)), 8, 0};
        if (r.opcode != DINGO_WR_FETCH_ADD)
            r.length = static_cast<std::uint32_t>(1 + roll(roll(2) == 0 ? 300 : kSlot));
        r.word = word(1 - r.from, at);
        test::SendWr wr;
        wr.opcode = r.opcode;
        const std::uint32_t first = 1 + static_cast<std::uint32_t>(roll(r.length));
        if (r.opcode == DINGO_WR_FETCH_ADD || first == r.length)
            wr.sges = {mr_[r.from].sge(at, r.length)};
        else
            wr.sges = {mr_[r.from].sge(at, first), mr_[r.from].sge(at + first, r.length - first)};
        wr.swap_add = kAdd;
        if (r.opcode == DINGO_WR_SEND) {
            cards_.driver(1 - r.from)
                .post_recv(links_[qp].qp[1 - r.from], slot, {mr_[1 - r.from].sge(at, r.length)});
        } else {
            wr.raddr = mr_[1 - r.from].iova + at;
            wr.rkey = mr_[1 - r.from].key;
        }
        cards_.driver(r.from).post_send(links_[qp].qp[r.from], wr);
        requests_.push_back(r);
        slots_.push_back(slot);
    }

    /// Returns true when all requests have completed; a failure is reported and counts as
    /// completed.
    bool take() {
        for (unsigned card = 0; card < 2; ++card)
            for (auto& link : links_)
                while (const auto cqe = cards_.driver(card).poll_cq(link.cq[card])) {
                    EXPECT_EQ(cqe->status, DINGO_WCS_SUCCESS);
                    done_ += test::cqe_opcode(*cqe) < DINGO_WC_RECV ? 1 : 0;
                }
        return done_ >= requests_.size();
    }

    void pause(unsigned card) {
        ASSERT_EQ(pause_at_once(cards_, card, mr_[card].key).status, DINGO_ST_OK);
        const auto old = bytes(card, 0, kRegion);
        content_[card].assign(old.begin(), old.end());
        std::ranges::fill(old, std::byte{0xEE});
        paused_[card] = true;
        ++pauses_;
    }

    void move(unsigned card) {
        EXPECT_TRUE(all_bytes(bytes(card, 0, kRegion), std::byte{0xEE}))
            << "written through a paused region";
        mr_[card].bus = places_[card][pauses_ % 2] != 0 ? places_[card][pauses_ % 2]
                                                        : cards_.host(card).alloc(kRegion);
        places_[card][pauses_ % 2] = mr_[card].bus;
        std::ranges::copy(content_[card], bytes(card, 0, kRegion).begin());
        cards_.driver(card).move_mr(mr_[card], mr_[card].bus, kAllAccess);
        paused_[card] = false;
    }

    bool check() {
        bool right = true;
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            const Request& r = requests_[i];
            const std::uint64_t at = std::uint64_t{slots_[i]} * kSlot;
            const bool same = same_bytes(bytes(0, at, r.length), bytes(1, at, r.length));
            const bool added = word(r.from, at) == r.word && word(1 - r.from, at) == r.word + kAdd;
            if (r.opcode == DINGO_WR_FETCH_ADD ? !added : !same) {
                ADD_FAILURE() << "request " << i << ", opcode " << unsigned{r.opcode} << ", "
                              << r.length << " bytes from card " << r.from;
                right = false;
            }
        }
        slots_.clear();
        return right;
    }

    std::uint64_t roll(std::uint64_t below) { return random_() % below; }

    test::TwoCards cards_;
    WireFaults faults_;
    std::mt19937_64 random_;
    std::array<test::TwoCards::Connection, kQps> links_;
    std::array<test::Mr, 2> mr_;
    std::array<bool, 2> paused_{};
    std::array<std::array<std::uint64_t, 2>, 2> places_{};  ///< memory that a region is moved to
    std::array<std::vector<std::byte>, 2> content_;
    std::vector<Request> requests_;
    std::vector<unsigned> slots_;
    std::size_t done_ = 0;
    std::uint64_t pauses_ = 0;
};

}  // namespace

CONFORMANCE_SUITE(PauseSoak);

TEST_P(PauseSoak, AllRequestsCompleteWhereverTheirMemoryIs) {
    ENGINE_NEEDS(PAUSE_MR);
    const unsigned seeds = repeats(20, 9);
    std::uint64_t pauses = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        Soak soak(engine(), seed, 0);
        for (unsigned round = 0; round < 3; ++round)
            ASSERT_TRUE(soak.round()) << "seed " << seed << ", round " << round;
        pauses += soak.pauses();
    }
    EXPECT_GT(pauses, 10 * seeds);
}

TEST_P(PauseSoak, AndWhenTheWireLosesFrames) {
    ENGINE_NEEDS(PAUSE_MR);
    for (std::uint64_t seed = 1; seed <= repeats(20, 9); ++seed) {
        Soak soak(engine(), seed, 0.02);
        for (unsigned round = 0; round < 2; ++round)
            ASSERT_TRUE(soak.round()) << "seed " << seed << ", round " << round;
    }
}

}  // namespace dingo::conformance
