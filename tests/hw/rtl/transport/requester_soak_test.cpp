// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_requester and a peer on a wire that loses packets in both directions: every byte arrives
// once and in order, every WQE completes once and in order.
#include "requester_fixture.h"

namespace dingo::rtl {
namespace {

constexpr unsigned kSoakQps = 30;
constexpr unsigned kMessages = 60;
constexpr std::uint64_t kWindow = 0x2000;  ///< READ data of a QP

struct Expected {
    std::uint32_t index;
    std::uint8_t opcode;
    std::uint32_t length;
    bool signaled;
    std::uint64_t to = 0;  ///< READ: offset in the region at which the data goes
    std::vector<std::uint8_t> data;
};

/// State of a QP's peer.
struct Peer {
    std::uint32_t psn = 0;
    bool nak_sent = false;
    std::size_t message = 0;  ///< index of the WQE whose message is next to arrive
    std::vector<std::uint8_t> taken;
};

class Soak : public testing::TestWithParam<unsigned> {
  protected:
    Soak() : b(GetParam() * 77 + 5, GetParam() % 3 * 25), random(GetParam()) {
        b.regions[kKey] = {0x7000'0000, 0x50000, 0x10000, DINGO_ACC_LOCAL_WRITE};
    }
    bool lost() { return random() % 100 < loss; }
    void create(std::uint16_t qp) {
        TestQp config;
        config.log_sq = static_cast<std::uint8_t>(3 + qp % 3);
        config.sq = config.ring = 0x80000 + 0x2000 + qp * 0x1000 + (qp % 4) * 64;
        config.mtu = 1 + qp % 2;
        config.retry = 7;
        config.rnr = 7;
        config.max_rd = 1 + qp % 5;
        config.timeout = static_cast<std::uint8_t>(6 + qp % 3);
        config.sq_psn = random() & kMask;
        b.create(qp, config);
        peers[qp].psn = config.sq_psn;
    }
    void post(std::uint16_t qp) {
        std::vector<Expected>& list = expected[qp];
        const TestQp& q = b.qps[qp];
        const std::uint32_t head = done[qp] == 0 ? 0 : free_index[qp];
        Expected e{};
        // In the smallest ring one WQE may need all blocks, so each is signaled.
        e.signaled = random() % 3 != 0 || list.size() + 1 == kMessages || q.log_sq == 3 ||
                     (!list.empty() && !list.back().signaled);
        const unsigned what = random() % 10;
        const auto flags =
            static_cast<std::uint8_t>((e.signaled ? DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK : 0) |
                                      (random() % 8 == 0 ? DINGO_WQE_CTRL_FLAGS_FENCE_MASK : 0));
        e.opcode = what < 3   ? DINGO_WR_SEND
                   : what < 5 ? DINGO_WR_WRITE_IMM
                   : what < 8 ? DINGO_WR_READ
                   : what < 9 ? DINGO_WR_WRITE
                              : DINGO_WR_NOP;
        b.begin(e.opcode, flags, 0xCAFE);
        if (e.opcode == DINGO_WR_WRITE || e.opcode == DINGO_WR_WRITE_IMM ||
            e.opcode == DINGO_WR_READ)
            b.rdma(0x5000, 0x66);
        if (e.opcode != DINGO_WR_NOP && e.opcode != DINGO_WR_READ && random() % 4 == 0) {
            std::vector<std::uint8_t> data(random() % (random() % 2 == 0 ? 481 : 66));
            for (auto& byte : data)
                byte = static_cast<std::uint8_t>(random());
            b.inline_data(data);
            e.data = data;
        } else if (e.opcode != DINGO_WR_NOP) {
            std::vector<TestSge> list_of;
            const unsigned count = random() % 5;
            // READ data of each QP goes to a window of its own, with 8 places in turn.
            std::uint64_t at =
                e.opcode == DINGO_WR_READ ? 0x4000 + qp * kWindow : random() % 0x3000;
            if (e.opcode == DINGO_WR_READ)
                at += (list.size() % 8) * 0x400;
            e.to = at;
            for (unsigned i = 0; i < count; ++i) {
                const std::uint32_t length =
                    e.opcode == DINGO_WR_READ ? random() % 256 : random() % 900;
                list_of.push_back({0x7000'0000 + at, length, kKey});
                for (std::uint32_t k = 0; k < length; ++k)
                    e.data.push_back(b.memory[0x10000 + at + k]);
                at += length;
            }
            b.sges(list_of);
        }
        e.length = static_cast<std::uint32_t>(e.data.size());
        if (q.posted + b.raw[2] - head > 1U << q.log_sq)
            return;  // no room
        e.index = b.post(qp);
        list.push_back(e);
        b.ring(qp);
    }
    void answer(std::uint16_t qp, std::uint8_t opcode, std::uint32_t psn, std::uint8_t syndrome,
                std::vector<std::uint8_t> data = {}) {
        if (!lost())
            b.respond({qp, opcode, psn & kMask, syndrome, std::move(data)});
    }
    /// Returns the message that is next to arrive.
    Expected& next(std::uint16_t qp) {
        Peer& peer = peers[qp];
        while (expected[qp][peer.message].opcode == DINGO_WR_NOP)
            ++peer.message;
        return expected[qp][peer.message];
    }
    void read_data(const TestPacket& p) {
        const std::uint32_t pmtu = 128U << b.qps[p.qp].mtu;
        const std::uint32_t count = p.dma_len == 0 ? 1 : (p.dma_len + pmtu - 1) / pmtu;
        for (std::uint32_t i = 0; i < count; ++i) {
            std::vector<std::uint8_t> data(std::min(pmtu, p.dma_len - i * pmtu));
            for (std::size_t k = 0; k < data.size(); ++k)
                data[k] = remote(p.qp, p.va - 0x5000 + i * pmtu + k);
            const bool first = i == 0;
            const bool last = i + 1 == count;
            answer(p.qp, first ? (last ? 0x10 : 0x0D) : (last ? 0x0F : 0x0E), p.psn + i, 0x1F,
                   data);
        }
    }
    static std::uint8_t remote(std::uint16_t qp, std::uint64_t offset) {
        return static_cast<std::uint8_t>(offset * 31 + qp);
    }
    void arrive(const TestPacket& p) {
        if (lost())
            return;
        Peer& peer = peers[p.qp];
        const std::uint32_t pmtu = 128U << b.qps[p.qp].mtu;
        const std::uint32_t ahead = (p.psn - peer.psn) & kMask;
        if (ahead != 0) {
            if (ahead < 0x800000) {
                if (!peer.nak_sent)
                    answer(p.qp, 0x11, peer.psn, 0x60);
                peer.nak_sent = true;
            } else if (p.opcode == 0x0C) {
                read_data(p);
            } else {
                answer(p.qp, 0x11, peer.psn - 1, 0x1F);
            }
            return;
        }
        peer.nak_sent = false;
        Expected& e = next(p.qp);
        if (p.opcode == 0x0C) {
            ASSERT_EQ(e.opcode, DINGO_WR_READ);
            ASSERT_EQ(p.dma_len, e.length);
            peer.psn += e.length == 0 ? 1 : (e.length + pmtu - 1) / pmtu;
            ++peer.message;
            read_data(p);
            return;
        }
        const bool rnr = peer.taken.empty() && random() % 20 == 0;
        if (rnr) {
            answer(p.qp, 0x11, peer.psn, 0x21);
            peer.nak_sent = true;
            return;
        }
        ASSERT_NE(e.opcode, DINGO_WR_READ);
        const bool write = p.opcode >= 6;
        ASSERT_EQ(write, e.opcode != DINGO_WR_SEND);
        const std::uint8_t place =
            write ? p.opcode - 6 : p.opcode;  // first, middle, last, last imm, only, only imm
        ASSERT_EQ(place == 0 || place >= 4, peer.taken.empty());
        if (write && peer.taken.empty()) {
            ASSERT_EQ(p.dma_len, e.length);
        }
        peer.taken.insert(peer.taken.end(), p.payload.begin(), p.payload.end());
        peer.psn = (peer.psn + 1) & kMask;
        const bool last = place >= 2;
        ASSERT_EQ(last, peer.taken.size() == e.length);
        if (last) {
            ASSERT_EQ(place % 2 == 1, e.opcode == DINGO_WR_WRITE_IMM);
            ASSERT_EQ(peer.taken, e.data);
            peer.taken.clear();
            ++peer.message;
        }
        if (p.ackreq)
            answer(p.qp, 0x11, p.psn, 0x1F);
    }
    void collect() {
        for (; seen < b.cqes.size(); ++seen) {
            const TestCqe& c = b.cqes[seen];
            ASSERT_EQ(c.status, 0) << "QP " << c.qp << " verr " << int(c.verr);
            std::vector<Expected>& list = expected[c.qp];
            while (!list[done[c.qp]].signaled)
                ++done[c.qp];
            const Expected& e = list[done[c.qp]++];
            ASSERT_EQ(c.index, e.index);
            ASSERT_EQ(c.opcode, e.opcode);
            ASSERT_EQ(c.byte_len, e.opcode == DINGO_WR_READ ? e.length : 0);
            free_index[c.qp] = e.index + 1;
            for (std::uint32_t k = 0; k < c.byte_len; ++k)
                ASSERT_EQ(b.memory[0x10000 + e.to + k], remote(c.qp, k)) << k;
        }
    }

    RequesterBench b;
    std::mt19937 random;
    unsigned loss = 0;
    std::map<std::uint16_t, Peer> peers;
    std::map<std::uint16_t, std::vector<Expected>> expected;
    std::map<std::uint16_t, std::size_t> done;
    std::map<std::uint16_t, std::uint32_t> free_index;
    std::size_t seen = 0;
};

TEST_P(Soak, EveryByteArrivesOnceAndEveryWqeCompletesInOrder) {
    loss = std::array{0U, 1U, 5U}[GetParam() % 3];
    b.on_packet = [&](const TestPacket& p) { arrive(p); };
    for (std::uint16_t qp = 1; qp <= kSoakQps; ++qp)
        create(qp);
    bool open = true;
    for (unsigned round = 0; round < 60'000 && open && !HasFatalFailure(); ++round) {
        for (std::uint16_t qp = 1; qp <= kSoakQps; ++qp)
            if (expected[qp].size() < kMessages && random() % 4 == 0)
                post(qp);
        b.run(60);
        collect();
        if (round % 64 == 63) {  // halts sending, as commands do: no packet may leave
            b.halt();
            EXPECT_TRUE(b.dut.tx_idle_o);
            const std::size_t packets = b.packets.size();
            b.run(50);
            EXPECT_EQ(b.packets.size(), packets);
            b.dut.halt_tx_i = 0;
        }
        // Nothing is left to do before the next timer: skip the time until then.
        if (b.quiet() && !b.dut.work_o && b.dut.tx_idle_o && b.dut.mux_idle_o &&
            b.dut.timer_valid_o && b.now < b.dut.timer_next_o)
            b.now = b.dut.timer_next_o;
        open = false;
        for (std::uint16_t qp = 1; qp <= kSoakQps; ++qp)
            open = open || expected[qp].size() < kMessages || done[qp] < kMessages;
    }
    EXPECT_FALSE(open);
    for (std::uint16_t qp = 1; qp <= kSoakQps; ++qp) {
        EXPECT_EQ(done[qp], kMessages) << qp;
        EXPECT_EQ(b.qps[qp].state, DINGO_QPS_RTS) << qp;
    }
    if (loss != 0) {
        EXPECT_GT(b.card[DINGO_CARD_RETRANSMITS], 0U);
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Soak, testing::Range(1U, 10U));

}  // namespace
}  // namespace dingo::rtl
