// SPDX-License-Identifier: BSD-2-Clause
//
// Two connected cards with memory registered on both sides, and the work requests between them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dingo/packet/text.h"
#include "two_cards.h"

namespace dingo::conformance {

inline constexpr std::uint32_t kAllAccess = DINGO_ACC_LOCAL_WRITE | DINGO_ACC_REMOTE_WRITE |
                                            DINGO_ACC_REMOTE_READ | DINGO_ACC_REMOTE_ATOMIC |
                                            DINGO_ACC_MW_BIND;
inline constexpr std::uint8_t kSignaled = DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK;

struct PairOptions {
    test::TwoCards::ConnectOptions connect;
    std::uint64_t bytes = 1u << 20;  ///< of the region on each card
    EngineConfig config;

    PairOptions& mtu(std::uint8_t code) {
        connect.path.path_mtu = code;
        return *this;
    }
    PairOptions& kind(std::uint8_t qp_type) {
        connect.qp.kind = qp_type;
        return *this;
    }
    PairOptions& timeout(std::uint8_t code, std::uint8_t retries = 7) {
        connect.path.timeout = code;
        connect.path.retry_cnt = retries;
        return *this;
    }
};

/// Card 0 is the requester in most tests, card 1 the responder.
class Pair {
  public:
    explicit Pair(const std::string& engine, const PairOptions& options = {});

    test::TestDriver& driver(unsigned card) { return cards.driver(card); }
    test::TestQp& qp(unsigned card) { return link.qp[card]; }
    test::Cq& cq(unsigned card) { return link.cq[card]; }
    /// Returns bytes of the card's region.
    std::span<std::byte> bytes(unsigned card, std::uint64_t offset, std::uint64_t length) {
        return cards.host(card).bytes(mr[card].bus + offset, length);
    }
    /// Fills with pseudo-random bytes that depend on `seed`.
    void fill(unsigned card, std::uint64_t offset, std::uint64_t length, std::uint64_t seed);
    /// Returns true if the two ranges have equal content.
    bool same(std::uint64_t offset0, std::uint64_t offset1, std::uint64_t length);

    /// Work requests of card 0 from its region to the region of card 1.
    test::SendWr rdma(std::uint8_t opcode, std::uint64_t local, std::uint64_t remote,
                      std::uint32_t length) const;
    test::SendWr write(std::uint64_t local, std::uint64_t remote, std::uint32_t length) const {
        return rdma(DINGO_WR_WRITE, local, remote, length);
    }
    test::SendWr read(std::uint64_t local, std::uint64_t remote, std::uint32_t length) const {
        return rdma(DINGO_WR_READ, local, remote, length);
    }
    test::SendWr send(std::uint64_t local, std::uint32_t length) const;
    test::SendWr fetch_add(std::uint64_t local, std::uint64_t remote, std::uint64_t add) const;

    /// Posts on card 0.
    std::uint32_t post(const test::SendWr& wr) { return driver(0).post_send(qp(0), wr); }
    /// Posts a receive on card 1.
    void post_recv(std::uint32_t tag, std::uint64_t offset, std::uint32_t length) {
        driver(1).post_recv(qp(1), tag, {mr[1].sge(offset, length)});
    }
    /// Returns the next completion of a card; throws if none arrives.
    dingo_cqe wait(unsigned card = 0) { return cards.wait_cq(card, cq(card)); }
    /// Posts on card 0 and waits for its completion.
    dingo_cqe complete(const test::SendWr& wr) {
        post(wr);
        return wait(0);
    }
    std::uint64_t stat(unsigned card, dingo_card_counter counter) {
        return driver(card).card_stat(counter);
    }
    std::uint8_t state(unsigned card) { return driver(card).query_qp(qp(card).qpn).state; }
    /// Returns the next asynchronous event of a card, or 0.
    std::uint8_t event(unsigned card);
    /// Returns true if no completion is queued on the card.
    bool idle(unsigned card) { return !driver(card).poll_cq(cq(card)).has_value(); }

    test::TwoCards cards;
    test::TwoCards::Connection link;
    std::array<test::Mr, 2> mr;
};

/// PAUSE_MR; returns as soon as it has completed: a card simulated cycle by cycle is then in the
/// middle of other work. From that moment it must not access the region.
dingo_admin_cpl pause_at_once(test::TwoCards& cards, unsigned card, std::uint32_t key);

/// Fills with pseudo-random bytes: byte i of stream `seed`.
void random_bytes(std::span<std::byte> out, std::uint64_t seed);
bool same_bytes(std::span<const std::byte> one, std::span<const std::byte> other);
/// Returns true if all bytes are `value`.
bool all_bytes(std::span<const std::byte> bytes, std::byte value);

}  // namespace dingo::conformance
