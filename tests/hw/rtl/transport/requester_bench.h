// SPDX-License-Identifier: BSD-2-Clause
//
// Bench for dingo_requester and dingo_tx_mux: QP table, memory table, host memory, scatter engine,
// CQ and wire in C++, each with random stalls; the outputs are collected in lists.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "Vrequester_bench.h"
#include "dingo_hw.h"

namespace dingo::rtl {

struct TestQp {
    std::uint8_t state = DINGO_QPS_RTS;
    std::uint8_t kind = DINGO_QPT_RC;
    bool signal_all = false;
    bool privileged = false;
    std::uint8_t log_sq = 4;
    std::uint8_t levels = 0;
    std::uint64_t sq = 0;    ///< address of the ring, or of its page list
    std::uint64_t ring = 0;  ///< address at which the bench writes WQEs; = sq without a page list
    std::uint8_t mtu = 1;    ///< 256 bytes
    std::uint8_t max_rd = 4;
    std::uint8_t timeout = 14;
    std::uint8_t retry = 3;
    std::uint8_t rnr = 2;
    bool notify = false;
    std::uint32_t sq_psn = 0xFFFFF0;
    std::uint32_t dest = 0x12345;
    std::uint32_t qkey = 0x11111111;
    std::uint32_t posted = 0;  ///< SQ blocks written
};

struct TestPacket {
    std::uint16_t qp;
    unsigned gen;
    std::uint8_t opcode;
    std::uint32_t psn, dqpn, len, rkey, dma_len, imm, qkey, src_qpn;
    std::uint64_t va, swap_add, compare;
    bool se, ackreq, tell, from_rsp, inl;
    std::uint8_t hop;
    std::vector<std::uint8_t> payload;
    bool whole = false;
};

struct TestCqe {
    std::uint16_t qp;
    std::uint32_t index, byte_len;
    std::uint8_t opcode, status, verr;
};

struct TestEvent {
    std::uint8_t kind;
    std::uint32_t id;
};

struct TestRegion {
    std::uint64_t iova, length, addr;
    std::uint8_t access;
    bool paused = false;
};

struct TestSge {
    std::uint64_t addr;
    std::uint32_t length, key;
};

struct TestResponse {
    std::uint16_t qp;
    std::uint8_t opcode;
    std::uint32_t psn;
    std::uint8_t syndrome;
    std::vector<std::uint8_t> payload;
    bool err = false;        ///< the host refuses bytes of its payload
    std::uint64_t word = 0;  ///< of an ATOMIC ACK
};

/// A request to dingo_mr_work.
struct TestKeyWork {
    std::uint16_t qp, pdn;
    std::uint8_t op;  ///< rtl_pkg::mrw_op_t
    bool privileged;
    std::uint32_t key;
    std::array<std::uint8_t, 48> body;
};

class RequesterBench {
  public:
    static constexpr std::uint64_t kMemory = 1U << 20;
    static constexpr std::uint64_t kBadPage = 1U << 19;  ///< reads of this page are bus errors

    explicit RequesterBench(std::uint32_t seed, unsigned stall_percent = 30)
        : memory(kMemory), random_(seed), stall_(stall_percent) {
        for (std::uint8_t& b : memory)
            b = static_cast<std::uint8_t>(random_());
        dut.rst_ni = 0;
        dut.gid_valid_i = 0xFFFF;
        dut.port_mtu_i = 4200;
        for (int i = 0; i < 4; ++i)
            tick();
        dut.rst_ni = 1;
    }

    /// From here on all of the bench is always ready.
    void never_stall() { stall_ = 0; }

    // --- QPs
    void create(std::uint16_t qp, const TestQp& config) {
        qps[qp] = config;
        qps[qp].state = DINGO_QPS_RESET;
        command(qp, 0, DINGO_QPS_RESET, 0);
        qps[qp].state = DINGO_QPS_RTR;
        command(qp, 1, DINGO_QPS_INIT, DINGO_QPM_STATE);
        qps[qp].state = config.state;
        command(qp, 1, DINGO_QPS_RTR, DINGO_QPM_STATE | DINGO_QPM_SQ_PSN);
    }
    void modify(std::uint16_t qp, std::uint8_t state) {
        halt();
        const std::uint8_t old = qps[qp].state;
        qps[qp].state = state;
        command(qp, 1, old, DINGO_QPM_STATE);
        dut.halt_tx_i = 0;
    }
    /// Gives a command's order while the requester works; qpa_done_o tells its end.
    void ask(std::uint16_t qp, std::uint8_t state, std::uint32_t mask) {
        const std::uint8_t old = qps[qp].state;
        qps[qp].state = state;
        order(qp, 1, old, mask);
        tick();
        dut.qpa_valid_i = 0;
    }
    /// Runs QUERY_QP: sets dut.info_*.
    void query(std::uint16_t qp) {
        halt();
        command(qp, 2, qps[qp].state, 0);
        dut.halt_tx_i = 0;
    }
    void halt() {
        dut.halt_tx_i = 1;
        run_until([&] { return dut.tx_idle_o && dut.mux_idle_o; });
        run_until([&] { return quiet(); });
    }

    // --- WQEs
    std::array<std::uint8_t, 512> raw{};
    void begin(std::uint8_t opcode, std::uint8_t flags = DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK,
               std::uint32_t imm = 0) {
        raw.fill(0);
        dingo_wqe_ctrl ctrl{};
        ctrl.opcode = opcode;
        ctrl.flags = flags;
        ctrl.imm = imm;
        ctrl.blocks = 1;
        put(0, ctrl);
    }
    template <typename T>
    void put(std::size_t offset, const T& value) {
        std::memcpy(raw.data() + offset, &value, sizeof value);
    }
    template <typename T>
    T get(std::size_t offset) const {
        T value;
        std::memcpy(&value, raw.data() + offset, sizeof value);
        return value;
    }
    void rdma(std::uint64_t raddr, std::uint32_t rkey) {
        dingo_wqe_rdma segment{};
        segment.raddr = raddr;
        segment.rkey = rkey;
        put(16, segment);
    }
    void sges(const std::vector<TestSge>& list, std::size_t offset = 32) {
        raw[3] = static_cast<std::uint8_t>(list.size());
        for (const TestSge& entry : list) {
            dingo_sge sge{};
            sge.addr = entry.addr;
            sge.lkey = entry.key;
            sge.length = entry.length;
            put(offset, sge);
            offset += sizeof sge;
        }
        raw[2] = static_cast<std::uint8_t>((offset + 63) / 64);
    }
    void inline_data(const std::vector<std::uint8_t>& data, std::size_t offset = 32) {
        raw[1] |= DINGO_WQE_CTRL_FLAGS_INLINE_MASK;
        const auto bytes = static_cast<std::uint16_t>(data.size());
        put(8, bytes);
        std::copy(data.begin(), data.end(), raw.begin() + static_cast<std::ptrdiff_t>(offset));
        raw[2] = static_cast<std::uint8_t>((offset + data.size() + 63) / 64);
    }
    /// Writes the WQE into the ring; returns its block index. `blocks` 0: as the WQE says.
    std::uint32_t post(std::uint16_t qp, unsigned blocks = 0) {
        TestQp& q = qps[qp];
        const std::uint32_t index = q.posted;
        if (blocks == 0)
            blocks = raw[2];
        for (unsigned b = 0; b < blocks; ++b) {
            const std::uint64_t slot = (q.posted + b) & ((1U << q.log_sq) - 1);
            std::memcpy(memory.data() + q.ring + slot * 64, raw.data() + std::size_t{b} * 64, 64);
        }
        q.posted += blocks;
        return index;
    }
    void ring(std::uint16_t qp) { doorbells.push_back({qp, qps[qp].posted}); }

    // --- responses
    void respond(TestResponse response) { responses.push_back(std::move(response)); }
    void ack(std::uint16_t qp, std::uint32_t psn, std::uint8_t syndrome = 0x1F) {
        respond({qp, 0x11, psn & 0xFFFFFF, syndrome, {}});
    }

    /// Pulses resume_i, as REREG_MR and DESTROY_MR do.
    void resume() {
        dut.resume_i = 1;
        tick();
        dut.resume_i = 0;
    }

    // --- time
    void tick();
    void run(unsigned cycles) {
        for (unsigned i = 0; i < cycles; ++i)
            tick();
    }
    /// Runs until all is done that needs no new event and no timer.
    void settle() {
        run(8);
        run_until([&] { return quiet() && !dut.work_o && dut.mux_idle_o && dut.tx_idle_o; });
    }
    bool quiet() const {
        return dut.idle_o && (dut.due_o == 0 || dut.halt_tx_i != 0) && doorbells.empty() &&
               responses.empty() && commits.empty() && reports.empty() && scatter_.empty();
    }
    /// Advances the time to the next deadline and runs what follows from it.
    void next_deadline() {
        settle();
        if (dut.timer_valid_o && now < dut.timer_next_o)
            now = dut.timer_next_o;
        run(4);
        run_until([&] { return !(dut.timer_valid_o && dut.timer_next_o <= now); });
        settle();
    }
    template <typename Condition>
    void run_until(Condition condition) {
        for (unsigned i = 0; i < 400'000; ++i) {
            tick();
            if (condition())
                return;
        }
        stuck = true;
    }

    Vrequester_bench dut;
    std::vector<std::uint8_t> memory;
    std::map<std::uint16_t, TestQp> qps;
    std::map<std::uint32_t, TestRegion> regions;
    std::deque<std::pair<std::uint16_t, std::uint32_t>> doorbells;
    std::deque<TestResponse> responses;
    std::vector<TestPacket> packets;
    std::vector<TestCqe> cqes;
    std::vector<TestEvent> events;
    std::vector<std::uint16_t> fails;  ///< QPs reported to the responder (fail_*_o)
    std::vector<TestKeyWork> works;
    std::uint8_t work_verr = 0;   ///< answer to them
    bool work_under_way = false;  ///< answer: accesses that the key granted may be under way
    std::array<unsigned, DINGO_CARD_COUNTERS> card{};
    std::array<unsigned, DINGO_QP_COUNTERS> counters{};
    unsigned bad_doorbells = 0;
    std::uint64_t now = 1'000'000;
    bool tell = true;           ///< report packets with `tell` when their payload has been read
    bool stuck = false;         ///< run_until() gave up
    unsigned line_wait = 30;    ///< most cycles until an answer of host memory
    bool hold_lines = false;    ///< holds back answers of host memory
    bool hold_commits = false;  ///< holds back commits; afterwards they come without delay
    unsigned fills = 0;         ///< requests for WQE blocks
    unsigned fill_lines = 0;    ///< blocks that they asked for
    std::size_t most_open = 0;  ///< most responses at a time that were taken and have no END yet
    std::function<void(const TestPacket&)> on_packet;

    struct Report {
        bool ok;
        std::uint16_t qp;
        std::uint32_t psn;
        std::optional<unsigned> gen{};  ///< default: that of the QP's last packet
    };
    struct Commit {
        std::array<std::uint32_t, 12> item;
        bool err;
        unsigned wait;
    };
    std::deque<Report> reports;
    std::map<unsigned, unsigned> generations;  ///< `gen` of each QP's last packet
    std::deque<Commit> commits;

  private:
    struct Line {
        bool wqe, err, last;
        std::uint64_t addr;
        unsigned wait;
    };
    struct Lookup {
        bool valid, ok;
        std::uint8_t verr;
        std::uint64_t off, addr;
        bool paused = false;
    };

    bool stall() { return random_() % 100 < stall_; }
    void order(std::uint16_t qp, std::uint8_t op, std::uint8_t old, std::uint32_t mask) {
        show(qp);
        dut.qpa_valid_i = 1;
        dut.qpa_op_i = op;
        dut.qpa_old_i = old;
        dut.qpa_mask_i = mask;
        dut.qpa_qp_i = qp;
    }
    void command(std::uint16_t qp, std::uint8_t op, std::uint8_t old, std::uint32_t mask) {
        run_until([&] { return quiet() && !dut.qp_re_o; });
        order(qp, op, old, mask);
        bool done = false;
        for (unsigned i = 0; i < 200'000 && !done; ++i) {
            tick();
            dut.qpa_valid_i = 0;
            done = done_;
        }
        stuck = stuck || !done;
    }
    void show(std::uint16_t qp) {
        const TestQp& q = qps[qp];
        dut.qp_state_i = q.state;
        dut.qp_kind_i = q.kind;
        dut.qp_signal_all_i = q.signal_all;
        dut.qp_privileged_i = q.privileged;
        dut.qp_log_sq_i = q.log_sq;
        dut.qp_levels_i = q.levels;
        dut.qp_sq_i = q.sq;
        dut.qp_offset_i = 0;
        dut.qp_mtu_i = q.mtu;
        dut.qp_max_rd_i = q.max_rd;
        dut.qp_timeout_i = q.timeout;
        dut.qp_retry_i = q.retry;
        dut.qp_rnr_i = q.rnr;
        dut.qp_notify_i = q.notify;
        dut.qp_sq_psn_i = q.sq_psn;
        dut.qp_dest_i = q.dest;
        dut.qp_qkey_i = q.qkey;
    }
    Lookup look_up();
    void drive();
    void take();
    void packet_done();

    std::mt19937 random_;
    unsigned stall_;
    std::deque<Line> lines_;
    std::array<Lookup, 3> lookups_{};
    bool done_ = false;
    bool asking_ = false;
    std::deque<std::size_t> filling_seg_, filling_inl_;  ///< packets whose payload is to come
    std::deque<TestResponse> scatter_;                   ///< taken by the requester, no END yet
    std::size_t scattered_ = 0;
    std::vector<std::uint8_t> front_;  ///< bytes that an order puts in front of the payload
    std::size_t open_ = 0;             ///< first packet whose payload is not whole
    struct Segment {
        std::uint64_t addr;
        std::uint32_t bytes;
        bool last;
    };
    std::deque<Segment> segments_;  ///< came ahead of their packets
    std::deque<std::pair<std::vector<std::uint8_t>, bool>> beats_;
};

}  // namespace dingo::rtl
