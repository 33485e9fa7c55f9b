// SPDX-License-Identifier: BSD-2-Clause
// The share of the card of a client that keeps one message in flight, beside clients that keep
// many: in messages, not in time, so that other load on the machine does not matter.
#include <fcntl.h>

#include <filesystem>

#include "two_cards.h"

namespace dingo::uverbs::test {
namespace {

constexpr std::uint32_t kBytes = 65'536;

/// Memory that a client shares with its card.
struct Shared {
    Shared() {
        fd = UniqueFd(::memfd_create("segment", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        EXPECT_EQ(::ftruncate(fd.get(), kBytes), 0);
        EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
        at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    }
    ~Shared() { ::munmap(at, kBytes); }
    [[nodiscard]] std::uint64_t va() const { return reinterpret_cast<std::uint64_t>(at); }
    [[nodiscard]] Mr::Range range() const {
        return {nullptr, va(), kBytes, va(), {{va(), kBytes, 0, fd.get()}}};
    }
    UniqueFd fd;
    void* at = MAP_FAILED;
};

class Fairness : public TwoCards {
  protected:
    /// A client of card a that WRITEs into the memory of a client of card b.
    struct Pair {
        Pair(Host& a, Host& b) : from(a), to(b) {}
        Client from, to;
        Client::QpRings qa, qb;
        Shared source, target;
        Udata none;
        Mr mr_a{from.host.driver, *from.pd, source.range(), 7, none};
        Mr mr_b{to.host.driver, *to.pd, target.range(), 7, none};
        unsigned window = 1;
        unsigned under_way = 0;
        std::uint64_t done = 0;

        /// One step of a program that has a processor for itself.
        void step() {
            while (const auto cqe = from.poll_cq()) {
                EXPECT_EQ(cqe->status, DINGO_WCS_SUCCESS);
                --under_way;
                ++done;
            }
            from.cq_ring.ring(DINGO_DB_CQ, from.cqn, from.consumer);
            const bool posts = under_way < window;
            for (; under_way < window; ++under_way) {
                dingo_sge sge{};
                sge.addr = source.va();
                sge.lkey = mr_a.key();
                sge.length = kBytes;
                from.post_write(qa, sge, target.va(), mr_b.key());
            }
            if (posts) {
                from.kick();
            }
        }
    };

    void use(const std::string& wire) {
        a.reset();
        b.reset();
        WireOptions options;
        options.wire = wire;
        options.mac = 0x02'44'49'00'00'0A;
        wires.first = make_wire(options);
        a = std::make_unique<Host>(*wires.first, options.mac,
                                   std::vector<std::string>{"10.77.0.1/24", "fd77::1/64"});
        options.mac = 0x02'44'49'00'00'0B;
        wires.second = make_wire(options);
        b = std::make_unique<Host>(*wires.second, options.mac,
                                   std::vector<std::string>{"10.77.0.2/24", "fd77::2/64"});
        mtu = 5;
        for (int i = 0; i < 50; ++i) {
            now += 1'000'000;
            settle();
        }
    }

    /// Returns the lone client's fraction of all messages. `ahead`: rounds of card a per round of
    /// card b.
    double part_of_lone(unsigned neighbours, unsigned ahead) {
        std::vector<std::unique_ptr<Pair>> pairs;
        for (unsigned i = 0; i <= neighbours; ++i) {
            pairs.push_back(std::make_unique<Pair>(*a, *b));
            Pair& pair = *pairs.back();
            pair.qa = pair.from.make_qp();
            pair.qb = pair.to.make_qp();
            pair.window = i == 0 ? 1 : 60;
            connect(pair.qa, pair.qb);
        }
        std::uint64_t all = 0;
        std::uint64_t lone = 0;
        for (int round = 0; round < 4000; ++round) {
            if (round == 500) {
                all = sum(pairs);
                lone = pairs[0]->done;
            }
            now += 1'000;
            for (unsigned n = 0; n < ahead; ++n) {
                for (const auto& pair : pairs) {
                    pair->step();
                }
                a->card.woke();
                a->poll(now);
            }
            b->card.woke();
            b->poll(now);
        }
        lone = pairs[0]->done - lone;
        all = sum(pairs) - all;
        for (const auto& pair : pairs) {
            pair->window = 0;
        }
        settle();
        return static_cast<double>(lone) / static_cast<double>(all);
    }
    static std::uint64_t sum(const std::vector<std::unique_ptr<Pair>>& pairs) {
        std::uint64_t all = 0;
        for (const auto& pair : pairs) {
            all += pair->done;
        }
        return all;
    }
};

// Present performance: a message waits for rounds of both cards, and behind the content of the ring
// to the peer.
TEST_F(Fairness, ALoneMessageIsNotForgottenBesideMany) {
    const std::string segment = ::testing::TempDir() + "/fair." + std::to_string(::getpid());
    use("shm:" + segment);
    struct Row {
        unsigned neighbours;
        unsigned ahead;
        double least;
    };
    for (const Row& row :
         {Row{0, 1, 1}, {1, 1, 0.13}, {4, 1, 0.055}, {1, 4, 0.045}, {4, 4, 0.022}}) {
        EXPECT_GE(part_of_lone(row.neighbours, row.ahead), row.least)
            << "beside " << row.neighbours << ", " << row.ahead << " rounds ahead";
    }
    std::filesystem::remove_all(segment);
}

}  // namespace
}  // namespace dingo::uverbs::test
