// SPDX-License-Identifier: BSD-2-Clause
//
// Two connected cards with a region each, for the tests of the transport.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <vector>

#include "dingo/packet/parse.h"
#include "dingo/packet/text.h"
#include "two_cards.h"

namespace dingo::test {

inline constexpr std::uint32_t kAllAccess = DINGO_ACC_LOCAL_WRITE | DINGO_ACC_REMOTE_WRITE |
                                            DINGO_ACC_REMOTE_READ | DINGO_ACC_REMOTE_ATOMIC |
                                            DINGO_ACC_MW_BIND;

/// Decides at random, reproducibly, which frames to drop, duplicate or delay.
class Chance {
  public:
    explicit Chance(std::uint64_t seed) : state_(seed * 2 + 1) {}
    /// Returns true in `percent` of the calls.
    bool operator()(double percent) {
        return static_cast<double>(next() >> 11) * 0x1p-53 * 100.0 < percent;
    }
    std::uint64_t next() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_ * 0x2545F4914F6CDD1DULL;
    }

  private:
    std::uint64_t state_;
};

/// Parses a frame; nullopt if it is not RoCE.
inline std::optional<packet::Packet> parse_frame(const Frame& frame) {
    packet::Packet packet;
    if (packet::parse(frame.bytes, packet) != packet::ParseResult::kRoce)
        return std::nullopt;
    return packet;
}

class Connected : public ::testing::Test {
  protected:
    static constexpr std::uint64_t kRegion = 4 << 20;

    TwoCards cards;
    TwoCards::Connection link;
    Mr mr[2];

    void connect(const TwoCards::ConnectOptions& options = {}, std::uint64_t region = kRegion) {
        link = cards.connect(options);
        for (unsigned i = 0; i < 2; ++i)
            mr[i] = cards.driver(i).create_mr(region, kAllAccess);
    }
    TestDriver& driver(unsigned i) { return cards.driver(i); }
    TestQp& qp(unsigned i) { return link.qp[i]; }
    std::span<std::byte> memory(unsigned i, std::uint64_t offset, std::uint64_t bytes) {
        return cards.host(i).bytes(mr[i].bus + offset, bytes);
    }
    /// Fills with a pattern that depends on `seed`.
    void fill(unsigned i, std::uint64_t offset, std::uint64_t bytes, std::uint64_t seed = 0) {
        auto span = memory(i, offset, bytes);
        for (std::uint64_t k = 0; k < bytes; ++k)
            span[k] = packet::pattern_byte(k + seed * 17);
    }
    bool same(std::uint64_t offset0, std::uint64_t offset1, std::uint64_t bytes) {
        return std::memcmp(memory(0, offset0, bytes).data(), memory(1, offset1, bytes).data(),
                           bytes) == 0;
    }
    /// Moves card 0's QP to SQD, with an event when it is drained.
    void drain() {
        dingo_cmd_modify_qp command{};
        command.qpn = qp(0).qpn;
        command.mask = DINGO_QPM_STATE | DINGO_QPM_EN_SQD_ASYNC_NOTIFY;
        command.next_state = DINGO_QPS_SQD;
        command.attr.sqd_notify = 1;
        driver(0).modify(qp(0), command.mask, command);
    }
    /// A request of card 0 to region 1: local [from, from+bytes), remote [to, ...).
    SendWr rdma(std::uint8_t opcode, std::uint64_t from, std::uint64_t to, std::uint32_t bytes) {
        SendWr wr;
        wr.opcode = opcode;
        wr.raddr = mr[1].iova + to;
        wr.rkey = mr[1].key;
        wr.sges = {mr[0].sge(from, bytes)};
        return wr;
    }
    SendWr send_wr(std::uint64_t from, std::uint32_t bytes) {
        SendWr wr;
        wr.sges = {mr[0].sge(from, bytes)};
        return wr;
    }
    SendWr atomic(std::uint8_t opcode, std::uint64_t to, std::uint64_t swap_add,
                  std::uint64_t compare = 0) {
        SendWr wr = rdma(opcode, 0, to, 8);
        wr.swap_add = swap_add;
        wr.compare = compare;
        return wr;
    }
    dingo_cqe wait(unsigned i = 0, Nanoseconds limit = 60'000'000'000) {
        return cards.wait_cq(i, link.cq[i], limit);
    }
    std::optional<dingo_cqe> poll(unsigned i = 0) { return driver(i).poll_cq(link.cq[i]); }
    std::uint64_t stat(unsigned i, dingo_card_counter counter) {
        return driver(i).card_stat(counter);
    }
    std::uint64_t qp_stat(unsigned i, dingo_qp_counter counter) {
        return driver(i).qp_stats(qp(i).qpn)[counter];
    }
    std::uint8_t state(unsigned i) { return driver(i).query_qp(qp(i).qpn).state; }
    /// Returns the next asynchronous event of a card, if any.
    std::optional<dingo_eqe> event(unsigned i) { return driver(i).poll_eq(driver(i).async_eq); }

    /// Posts, and expects a successful completion.
    dingo_cqe run(const SendWr& wr) {
        driver(0).post_send(qp(0), wr);
        const dingo_cqe cqe = wait(0);
        EXPECT_STREQ(status_name(cqe.status), "SUCCESS") << "vendor_err " << int{cqe.vendor_err};
        return cqe;
    }
    /// Posts, and expects a completion with this status and reason.
    dingo_cqe expect_error(const SendWr& wr, std::uint8_t status, std::uint8_t vendor_err) {
        driver(0).post_send(qp(0), wr);
        const dingo_cqe cqe = wait(0);
        EXPECT_STREQ(status_name(cqe.status), status_name(status));
        EXPECT_EQ(cqe.vendor_err, vendor_err);
        return cqe;
    }
};

}  // namespace dingo::test
