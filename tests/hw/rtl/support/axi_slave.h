// SPDX-License-Identifier: BSD-2-Clause
//
// AXI4 slave for the card's master (ports m_axi_* of dingo_host), with latency, stalls, answers out
// of order and interleaved, and errors. violation() has the master's first breach of the protocol.
// Bursts are INCR of 64-byte beats; there is one write ID.
//
// Each cycle: clk low, eval(), sample(), clk high, eval(), drive().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace dingo::rtl {

/// Pointers to the master's ports. rdata and wdata have 16 words.
struct AxiPins {
    const std::uint8_t *arvalid, *arid, *arlen, *rready;
    const std::uint64_t* araddr;
    std::uint8_t *arready, *rvalid, *rid, *rresp, *rlast;
    std::uint32_t* rdata;
    const std::uint8_t *awvalid, *awlen, *wvalid, *wlast, *bready;
    const std::uint64_t *awaddr, *wstrb;
    const std::uint32_t* wdata;
    std::uint8_t *awready, *wready, *bvalid, *bresp;
};

/// Pins of a Verilated module whose ports have dingo_host's names.
template <class Dut>
AxiPins axi_pins(Dut& dut) {
    return {.arvalid = &dut.m_axi_arvalid_o,
            .arid = &dut.m_axi_arid_o,
            .arlen = &dut.m_axi_arlen_o,
            .rready = &dut.m_axi_rready_o,
            .araddr = &dut.m_axi_araddr_o,
            .arready = &dut.m_axi_arready_i,
            .rvalid = &dut.m_axi_rvalid_i,
            .rid = &dut.m_axi_rid_i,
            .rresp = &dut.m_axi_rresp_i,
            .rlast = &dut.m_axi_rlast_i,
            .rdata = &dut.m_axi_rdata_i[0],
            .awvalid = &dut.m_axi_awvalid_o,
            .awlen = &dut.m_axi_awlen_o,
            .wvalid = &dut.m_axi_wvalid_o,
            .wlast = &dut.m_axi_wlast_o,
            .bready = &dut.m_axi_bready_o,
            .awaddr = &dut.m_axi_awaddr_o,
            .wstrb = &dut.m_axi_wstrb_o,
            .wdata = &dut.m_axi_wdata_o[0],
            .awready = &dut.m_axi_awready_i,
            .wready = &dut.m_axi_wready_i,
            .bvalid = &dut.m_axi_bvalid_i,
            .bresp = &dut.m_axi_bresp_i};
}

struct AxiTiming {
    unsigned latency = 1;  ///< cycles from a request to its first answer, at least 1
    unsigned jitter = 0;   ///< random cycles added to it, less than this
    unsigned stall_percent =
        0;                 ///< of the cycles in which a channel stalls, drawn for each channel
    bool reorder = false;  ///< read bursts of different IDs overtake and interleave
    std::uint32_t seed = 1;
};

class AxiSlave {
  public:
    /// False = the host refuses: SLVERR. Called with at most 512 bytes, never across 4 KiB.
    using Read = std::function<bool(std::uint64_t address, std::span<std::byte> into)>;
    /// Called for each run of enabled bytes without a gap; at most 4096 bytes. False: SLVERR.
    using Write = std::function<bool(std::uint64_t address, std::span<const std::byte> from)>;

    AxiSlave(AxiPins pins, Read read, Write write, AxiTiming timing = {});

    /// Takes the handshakes of this cycle, with settled outputs of the master.
    void sample();
    /// Sets the master's inputs of the next cycle, after the rising edge.
    void drive();

    void set_timing(const AxiTiming& timing) { timing_ = timing; }
    /// Refuses every access that touches [address, address + bytes).
    void fail(std::uint64_t address, std::uint64_t bytes) { bad_.push_back({address, bytes}); }

    /// Nothing is outstanding.
    [[nodiscard]] bool idle() const {
        return reads_.empty() && writes_.empty() && answers_.empty() && !*pins_.rvalid;
    }
    /// The master's first breach of the protocol; empty: none.
    [[nodiscard]] const std::string& violation() const { return violation_; }
    /// Highest number of outstanding read bursts.
    [[nodiscard]] std::size_t most_reads() const { return most_reads_; }

  private:
    static constexpr unsigned kBeat = 64;
    static constexpr unsigned kChunk = 8;  // beats per call of Read
    struct ReadBurst {
        std::uint64_t address, due;
        unsigned id, beats, next = 0;
        bool bad = false;
        std::array<std::byte, kChunk * kBeat> data;
    };
    struct WriteBurst {
        std::uint64_t address;
        unsigned beats;
    };
    struct Answer {
        std::uint64_t due;
        bool bad;
    };
    struct Range {
        std::uint64_t address, bytes;
    };

    bool moves() { return timing_.stall_percent == 0 || random_() % 100 >= timing_.stall_percent; }
    std::uint64_t due() {
        return now_ + timing_.latency + (timing_.jitter ? random_() % timing_.jitter : 0);
    }
    bool refused(std::uint64_t address, std::uint64_t bytes) const;
    void check(bool ok, const char* what) {
        if (!ok && violation_.empty()) {
            violation_ = what;
        }
    }
    void check_burst(std::uint64_t address, unsigned beats);
    void take_write_beat();
    void end_run();
    std::size_t choose_read();
    void drive_read();

    AxiPins pins_;
    Read read_;
    Write write_;
    AxiTiming timing_;
    std::mt19937 random_;
    std::uint64_t now_ = 0;
    std::vector<Range> bad_;
    std::string violation_;

    std::deque<ReadBurst> reads_;
    std::size_t most_reads_ = 0;
    bool read_taken_ = false;

    std::deque<WriteBurst> writes_;
    unsigned write_beat_ = 0;
    bool write_bad_ = false;
    std::array<std::byte, 4096> run_;
    std::uint64_t run_address_ = 0;
    std::size_t run_bytes_ = 0;
    std::deque<Answer> answers_;
    bool answer_taken_ = false;

    // Offered and not taken: AXI requires that valid and content stay.
    bool ar_waits_ = false, aw_waits_ = false, w_waits_ = false;
    std::uint64_t ar_address_ = 0, aw_address_ = 0, w_strobe_ = 0;
    unsigned ar_id_ = 0;
    std::array<std::uint32_t, 16> w_data_{};
};

}  // namespace dingo::rtl
