// SPDX-License-Identifier: BSD-2-Clause
//
// One card whose RC or UC peer is the test: received packets as text lines, sent packets as values.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "dingo/packet/aeth.h"
#include "dingo/packet/icrc.h"
#include "dingo/packet/parse.h"
#include "dingo/packet/psn.h"
#include "dingo/packet/text.h"
#include "two_cards.h"

namespace dingo::test {

class Peer : public ::testing::Test {
  protected:
    static constexpr std::uint32_t kPeerQpn = 0x4711;
    static constexpr std::uint32_t kRequestPsn = 0x1000;  ///< first PSN that the peer sends
    static constexpr std::uint32_t kCardPsn = 0x2000;     ///< first PSN that the card sends
    static constexpr std::uint32_t kPmtu = 256;
    static constexpr std::uint32_t kAll = DINGO_ACC_LOCAL_WRITE | DINGO_ACC_REMOTE_WRITE |
                                          DINGO_ACC_REMOTE_READ | DINGO_ACC_REMOTE_ATOMIC;

    OneCard card;
    Cq cq;
    TestQp qp;
    Mr mr;
    packet::NetworkPath path;
    packet::Packet packet;  ///< the packet that next() returned last
    std::vector<std::byte> frame;

    struct Options {
        QpOptions qp;
        TestDriver::PathOptions path;
        bool rts = true;
    };
    static Options defaults() {
        Options options;
        options.path.path_mtu = 1;
        options.path.timeout = 14;
        options.path.rq_psn = kRequestPsn;
        options.path.sq_psn = kCardPsn;
        options.path.dest_qpn = kPeerQpn;
        options.path.dgid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 9};
        options.path.dmac = {2, 0, 0, 0, 0, 9};
        return options;
    }
    void start_card() {
        card.driver.start();
        card.driver.set_ipv4(0, 0x0a4d0001);
        card.driver.enable_port();
        path.dmac = packet::Mac::from_u64(card.driver.read64(DINGO_REG_MAC));
        path.smac.bytes = {2, 0, 0, 0, 0, 9};
        path.sgid = packet::Gid::from_ipv4(0x0a4d0009);
        path.dgid = packet::Gid::from_ipv4(0x0a4d0001);
        cq = card.driver.create_cq(10);
        mr = card.driver.create_mr(1 << 20, kAll);
    }
    /// Replaces `qp` by a new QP; the old one is not destroyed.
    void make_qp(const Options& options) {
        qp = card.driver.create_qp(cq, cq, options.qp);
        card.driver.to_init(qp, options.path);
        card.driver.to_rtr(qp, options.path);
        if (options.rts)
            card.driver.to_rts(qp, options.path);
    }
    void start(const Options& options) {
        start_card();
        make_qp(options);
    }
    void start() { start(defaults()); }
    /// MODIFY_QP within a state: only attributes in `mask` are used.
    void modify(std::uint32_t mask, const dingo_qp_attr& attr) {
        dingo_cmd_modify_qp cmd{};
        cmd.qpn = qp.qpn;
        cmd.mask = mask;
        cmd.attr = attr;
        card.driver.execute_ok(DINGO_OP_MODIFY_QP, cmd);
    }
    dingo_qp_attr attr() { return card.driver.query_qp(qp.qpn).attr; }

    /// Builds the frame of a line; the default destination is the card's QP.
    std::vector<std::byte> build(const std::string& line) {
        std::string error;
        std::string text = line;
        if (text.find("qpn=") == std::string::npos)
            text += " qpn=" + std::to_string(qp.qpn);
        const auto parsed = packet::parse_text(text, error);
        EXPECT_TRUE(parsed) << error << " in " << text;
        return parsed ? packet::build_text(path, *parsed) : std::vector<std::byte>{};
    }
    /// The card receives a packet and does all resulting work. A response without msn= gets one
    /// that no message of the test leads to: the card takes the peer for one that counts from
    /// elsewhere, and ignores its MSNs.
    void in(const std::string& line) {
        const bool counts = line.find("syndrome=") == line.npos || line.find("msn=") != line.npos;
        card.receive(build(counts ? line : line + " msn=0x800000"));
    }

    /// Takes the next packet that the card sent; returns false if there is none.
    bool next() {
        if (card.wire.sent.empty())
            return false;
        frame = card.wire.sent.front();
        card.wire.sent.pop_front();
        EXPECT_EQ(packet::parse(frame, packet), packet::ParseResult::kRoce);
        EXPECT_TRUE(packet::icrc_check(frame, packet));
        EXPECT_EQ(packet.bth.dest_qp, kPeerQpn);
        return true;
    }
    /// Expects an ACK or NAK with this syndrome and PSN as the next packet.
    void expect_reply(std::uint8_t syndrome, std::uint32_t psn, const char* what = "") {
        ASSERT_TRUE(next()) << what << ": nothing was sent";
        EXPECT_EQ(packet.bth.opcode, packet::Opcode::kRcAck) << what << ' ' << to_text(packet);
        EXPECT_EQ(packet.aeth.syndrome, syndrome) << what << ' ' << to_text(packet);
        EXPECT_EQ(packet.bth.psn, psn & packet::kPsnMask) << what << ' ' << to_text(packet);
    }
    void expect_packet(packet::Opcode opcode, std::uint32_t psn) {
        ASSERT_TRUE(next()) << "nothing was sent, " << packet::name(opcode) << " expected";
        EXPECT_EQ(packet.bth.opcode, opcode) << to_text(packet);
        EXPECT_EQ(packet.bth.psn, psn & packet::kPsnMask) << to_text(packet);
    }
    void expect_silence() {
        if (next())
            ADD_FAILURE() << "sent " << to_text(packet);
    }
    void let_pass(Nanoseconds time) {
        const Nanoseconds end = card.now + time;
        for (;;) {
            const Nanoseconds deadline = card.engine->next_deadline();
            if (deadline > end)
                break;
            card.now = std::max(card.now, deadline);
            card.settle();
        }
        card.now = end;
        card.settle();
    }
    std::string at_mr(std::uint64_t offset = 0) {
        return " va=" + std::to_string(mr.iova + offset) + " rkey=" + std::to_string(mr.key);
    }
    std::string psn(std::uint32_t n) {
        return " psn=" + std::to_string((kRequestPsn + n) & packet::kPsnMask);
    }
    std::uint64_t stat(dingo_card_counter counter) { return card.driver.card_stat(counter); }
    std::uint64_t qp_stat(dingo_qp_counter counter) {
        return card.driver.qp_stats(qp.qpn)[counter];
    }
    std::uint8_t state() { return card.driver.query_qp(qp.qpn).state; }
    std::optional<dingo_cqe> poll() { return card.driver.poll_cq(cq); }
    std::optional<dingo_eqe> event() { return card.driver.poll_eq(card.driver.async_eq); }
    std::span<std::byte> memory(std::uint64_t offset, std::uint64_t bytes) {
        return card.host.bytes(mr.bus + offset, bytes);
    }
    void fill(std::uint64_t offset, std::uint64_t bytes) {
        auto span = memory(offset, bytes);
        for (std::uint64_t k = 0; k < bytes; ++k)
            span[k] = packet::pattern_byte(k);
    }
    bool is_pattern(std::uint64_t offset, std::uint64_t bytes, std::uint64_t from = 0) {
        auto span = memory(offset, bytes);
        for (std::uint64_t k = 0; k < bytes; ++k)
            if (span[k] != packet::pattern_byte(k + from))
                return false;
        return true;
    }
    SendWr request(std::uint8_t opcode, std::uint32_t bytes) {
        SendWr wr;
        wr.opcode = opcode;
        wr.raddr = opcode <= DINGO_WR_SEND_INV ? 0 : 0x1000;
        wr.rkey = opcode <= DINGO_WR_SEND_INV ? 0 : 0x99;
        wr.sges = {mr.sge(0, bytes)};
        return wr;
    }
    std::uint32_t post(const SendWr& wr) {
        const std::uint32_t index = card.driver.post_send(qp, wr);
        card.settle();
        return index;
    }
    void post_recv(std::uint32_t tag, std::uint32_t bytes = 4096) {
        card.driver.post_recv(qp, tag, {mr.sge(0x8000, bytes)});
        card.settle();
    }
    std::string ack(std::uint32_t n, const char* syndrome = "ack") {
        return "RC_ACKNOWLEDGE psn=" + std::to_string((kCardPsn + n) & packet::kPsnMask) +
               " syndrome=" + syndrome;
    }
};

}  // namespace dingo::test
