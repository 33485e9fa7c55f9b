// SPDX-License-Identifier: BSD-2-Clause
//
// The Verilated card behind the engine interface: BAR accesses become AXI4-Lite, frames AXI-Stream.
#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "Vdingo_card.h"
#include "axi_memory.h"
#include "clock_meter.h"
#include "coverage.h"
#include "dingo/rtl.h"
#include "dingo_hw.h"
#include "stalls.h"
#include "trace.h"
#include "verilated.h"

namespace dingo::rtl {
namespace {

constexpr std::size_t kBeat = 64;
constexpr unsigned kCyclesPerUnit = 64;        // clock cycles per unit of run()'s budget
constexpr unsigned kQuietCycles = 4;           // idle_o is trusted after this time
constexpr unsigned kSettleCycles = 8;          // an input affects idle_o within this time
constexpr unsigned kAccessCycles = 1'000'000;  // limit of a register access
constexpr Nanoseconds kWireRetry = 5'000;      // pause when the wire has no room
constexpr std::size_t kMostFrames = 4096;      // limit of received frames in frames_

/// One context for all cards: the destructor of a Verilated model removes its scopes from the
/// thread's latest context, even if it was made with another one (Verilator 5.006).
VerilatedContext& context() {
    static auto* const shared = new VerilatedContext;
    return *shared;
}

class RtlEngine final : public Engine {
  public:
    RtlEngine(const EngineConfig& config, HostPort& host, WirePort& wire)
        : card_(&context()), host_(host), wire_(wire), memory_(card_, host) {
        set_straps(config);
        card_.rst_ni = 0;
        card_.wire_up_i = 1;
        card_.msix_ready_i = 1;
        card_.m_axis_tready_i = 1;
        card_.rx_dropped_i = card_.rx_bad_i = 0;
        card_.roce_stop_i = 0;
        for (int i = 0; i < 4; ++i)
            cycle();
        card_.rst_ni = 1;
        until_ready();
    }
    ~RtlEngine() override {
        card_.final();
        save_coverage(context());
    }

    void reset() override {
        frames_.resize(in_at_ != 0 ? 1 : 0);  // a frame that has begun is completed
        mmio_write(Bar::kRegisters, DINGO_REG_CTRL, DINGO_CTRL_RESET_MASK, 4);
        until_ready();
    }

    std::uint64_t mmio_read(Bar bar, std::uint64_t offset, unsigned size) override {
        if (bar != Bar::kRegisters || offset + size > DINGO_BAR_REGS_SIZE ||
            (size != 4 && size != 8) || offset % size != 0)
            return 0;
        const ClockMeter::Busy busy(meter_);
        // As on PCIe, a read does not pass writes.
        for (unsigned i = 0; i < kAccessCycles && !writes_.empty(); ++i)
            cycle();
        card_.s_reg_araddr_i = static_cast<std::uint16_t>(offset);
        card_.s_reg_rready_i = 1;
        bool asked = false;
        std::uint64_t value = ~std::uint64_t{0};
        for (unsigned i = 0; i < kAccessCycles; ++i) {
            card_.s_reg_arvalid_i = reg_ar_.valid(!asked);
            const Handshakes seen = cycle();
            if (seen.reg_address) {
                asked = true;
                reg_ar_.taken();
            }
            if (seen.reg_data) {
                value = seen.value;
                break;
            }
        }
        card_.s_reg_arvalid_i = card_.s_reg_rready_i = 0;
        return size == 8 ? value : offset % 8 == 0 ? value & 0xffffffff : value >> 32;
    }

    void mmio_write(Bar bar, std::uint64_t offset, std::uint64_t value, unsigned size) override {
        const std::uint64_t limit =
            bar == Bar::kRegisters ? DINGO_BAR_REGS_SIZE : kDoorbellBytes + kPushBytes;
        if (bar == Bar::kMemory || offset + size > limit || offset % size != 0)
            return;
        const auto lane = static_cast<unsigned>(offset % 8);
        const std::uint64_t strobes = ((std::uint64_t{1} << size) - 1U) << lane;
        settle_ = kSettleCycles;
        if (bar == Bar::kDoorbells && offset >= kDoorbellBytes) {
            push(offset - kDoorbellBytes, value << 8 * lane, strobes);
            return;
        }
        writes_.push_back({bar == Bar::kRegisters ? Port::kRegisters : Port::kDoorbells,
                           static_cast<std::uint32_t>(offset),
                           {value << 8 * lane},
                           strobes,
                           cycle_ + timing_.way_cycles});
        ++writes_issued_;
    }

    void receive(std::span<const std::byte> frame) override {
        if (frame.empty() || frames_.size() == kMostFrames)
            return;
        frames_.emplace_back(frame.begin(), frame.end());
        settle_ = kSettleCycles;
    }

    void set_link(bool up) override {
        card_.wire_up_i = up;
        settle_ = kSettleCycles;
    }

    void set_timing(const Timing& timing) {
        timed_ = true;
        timing_ = timing;
        memory_.set_timing(timing);
    }

    void set_stalls(unsigned percent, std::uint64_t seed) {
        memory_.set_stalls(percent, seed);
        for (Stall* stall : {&reg_aw_, &reg_w_, &reg_ar_, &stream_in_, &stream_out_, &msix_})
            stall->set(percent, ++seed * 2862933555777941757u);
    }

    void set_roce_stop(bool stop) { card_.roce_stop_i = stop; }

    void set_trace(const Trace& trace) { waves_ = std::make_unique<Waves>(card_, trace); }

    bool run(Nanoseconds now, unsigned budget) override {
        if (timed_) {
            for (; timed_now_ + kCycle <= now; timed_now_ += kCycle) {
                card_.now_ns_i = timed_now_;
                cycle();
                if (waves_)
                    waves_->cycle(timed_now_);
            }
            return false;
        }
        timed_now_ = now;
        card_.now_ns_i = now;
        if (wire_retry_ != kNever && now >= wire_retry_)
            wire_retry_ = kNever;
        if (card_.timer_valid_o && card_.timer_next_o <= now)
            settle_ = std::max(settle_, kSettleCycles);
        if (at_rest())
            return false;
        const ClockMeter::Busy busy(meter_);
        const std::uint64_t cycles = std::uint64_t{budget} * kCyclesPerUnit;
        for (std::uint64_t i = 0; i < cycles; ++i) {
            if (at_rest())
                return false;
            cycle();
            if (wire_retry_ != kNever && out_done_)
                return false;
        }
        return !at_rest();
    }

    [[nodiscard]] Nanoseconds next_deadline() const override {
        const Nanoseconds timer = card_.timer_valid_o ? Nanoseconds{card_.timer_next_o} : kNever;
        return std::min(timer, wire_retry_);
    }

    [[nodiscard]] std::optional<SimulatedClock> simulated_clock() const override {
        return meter_.total();
    }

    [[nodiscard]] std::string_view name() const override {
        return "rtl: SystemVerilog under Verilator";
    }

  private:
    static constexpr std::uint64_t kDoorbellBytes = 1024 * DINGO_DB_PAGE_SIZE;
    static constexpr std::uint64_t kPushBytes = 64 * DINGO_DB_PAGE_SIZE;

    enum class Port : std::uint8_t { kRegisters, kDoorbells, kPush };
    struct PostedWrite {
        Port port;
        std::uint32_t offset;                // of the 8 or, for kPush, 64 bytes
        std::array<std::uint64_t, 8> words;  // one, or eight for kPush
        std::uint64_t strobes;
        std::uint64_t due;  // cycle in which it arrives at the card
        bool address_sent = false;
        bool data_sent = false;
    };
    struct Handshakes {
        bool reg_address = false;
        bool reg_data = false;
        std::uint64_t value = 0;
    };

    void set_straps(const EngineConfig& config) {
        // strap_t, most significant member first: see hw/rtl/types/port.svh
        std::array<std::uint32_t, 9> words{};
        const auto put = [&](unsigned low, unsigned width, std::uint64_t value) {
            for (unsigned bit = 0; bit < width; ++bit) {
                const unsigned at = low + bit;
                words[at / 32] |= static_cast<std::uint32_t>(value >> bit & 1) << at % 32;
            }
        };
        put(0, 32, DINGO_ENGINE_RTL);
        put(32, 32, config.link_mbps);
        put(64, 32, config.max_srq);
        put(96, 32, config.max_mr);
        put(128, 32, config.max_cq);
        put(160, 32, config.max_qp);
        put(192, 48, config.mac);
        put(240, 1, config.memory_doorbells ? 1 : 0);
        put(241, 32, config.withheld);
        static_assert(sizeof words <= sizeof card_.strap_i);
        std::memcpy(card_.strap_i.data(), words.data(), sizeof words);
    }

    void until_ready() {
        const ClockMeter::Busy busy(meter_);
        for (unsigned i = 0; i < kAccessCycles && (!card_.ready_o || !writes_.empty()); ++i)
            cycle();
        settle_ = kSettleCycles;
    }

    [[nodiscard]] bool at_rest() const {
        return settle_ == 0 && card_.idle_o && memory_.idle() && writes_.empty() &&
               frames_.empty() && !out_done_;
    }

    /// One clock cycle.
    Handshakes cycle() {
        // Work that passes between two modules may leave idle_o set for some cycles.
        ++cycle_;
        settle_ = card_.idle_o ? settle_ - (settle_ != 0) : std::max(settle_, kQuietCycles);
        send_out();
        memory_.set_posted(writes_issued_, writes_issued_ - writes_.size());
        memory_.drive();
        drive_writes();
        drive_frame();
        wire_bytes_ = std::min(wire_bytes_ + timing_.wire_bytes_per_cycle, 512.0);
        card_.m_axis_tready_i = !out_done_ && (!timed_ || wire_bytes_ > 0) && stream_out_.ready();
        card_.msix_ready_i = msix_.ready();
        card_.clk_i = 0;
        card_.eval();

        Handshakes seen;
        seen.reg_address = card_.s_reg_arvalid_i && card_.s_reg_arready_o;
        seen.reg_data = card_.s_reg_rvalid_o && card_.s_reg_rready_i;
        seen.value = card_.s_reg_rdata_o;
        memory_.sample();
        sample_writes();
        if (card_.s_axis_tvalid_i && card_.s_axis_tready_o) {
            stream_in_.taken();
            frame_taken();
        }
        if (card_.m_axis_tvalid_o && card_.m_axis_tready_i)
            take_out();
        if (card_.msix_valid_o && card_.msix_ready_i)
            memory_.raise_msix(card_.msix_vector_o);

        card_.clk_i = 1;
        card_.eval();
        meter_.count();
        return seen;
    }

    // --- posted writes, one at a time and in order
    /// Combines writes to a push page as a processor does: those that follow each other in 64
    /// bytes.
    void push(std::uint64_t offset, std::uint64_t value, std::uint64_t strobes) {
        const auto line = static_cast<std::uint32_t>(offset & ~std::uint64_t{63});
        const std::size_t word = offset % 64 / 8;
        PostedWrite* write = writes_.empty() ? nullptr : &writes_.back();
        if (write == nullptr || write->port != Port::kPush || write->offset != line ||
            write->address_sent || (write->strobes >> 8 * word) != 0) {
            writes_.push_back({Port::kPush, line, {}, 0, cycle_ + timing_.way_cycles});
            ++writes_issued_;
            write = &writes_.back();
        }
        write->words[word] = value;
        write->strobes |= strobes << 8 * word;
    }
    void drive_writes() {
        card_.s_reg_awvalid_i = card_.s_reg_wvalid_i = 0;
        card_.s_db_awvalid_i = card_.s_db_wvalid_i = 0;
        card_.s_push_awvalid_i = card_.s_push_wvalid_i = 0;
        card_.s_reg_bready_i = card_.s_db_bready_i = card_.s_push_bready_i = 1;
        if (writes_.empty() || writes_.front().due > cycle_)
            return;
        const PostedWrite& write = writes_.front();
        const bool address = reg_aw_.valid(!write.address_sent);
        const bool data = reg_w_.valid(!write.data_sent);
        if (write.port == Port::kRegisters) {
            card_.s_reg_awvalid_i = address;
            card_.s_reg_awaddr_i = static_cast<std::uint16_t>(write.offset & ~7U);
            card_.s_reg_wvalid_i = data;
            card_.s_reg_wdata_i = write.words[0];
            card_.s_reg_wstrb_i = static_cast<std::uint8_t>(write.strobes);
        } else if (write.port == Port::kDoorbells) {
            card_.s_db_awvalid_i = address;
            card_.s_db_awaddr_i = write.offset & ~7U;
            card_.s_db_wvalid_i = data;
            card_.s_db_wdata_i = write.words[0];
            card_.s_db_wstrb_i = static_cast<std::uint8_t>(write.strobes);
        } else {
            card_.s_push_awvalid_i = address;
            card_.s_push_awaddr_i = write.offset;
            card_.s_push_wvalid_i = data;
            std::memcpy(card_.s_push_wdata_i.data(), write.words.data(), sizeof write.words);
            card_.s_push_wstrb_i = write.strobes;
        }
    }
    [[nodiscard]] bool takes_address(Port port) const {
        switch (port) {
            case Port::kRegisters:
                return card_.s_reg_awvalid_i && card_.s_reg_awready_o;
            case Port::kDoorbells:
                return card_.s_db_awvalid_i && card_.s_db_awready_o;
            default:
                return card_.s_push_awvalid_i && card_.s_push_awready_o;
        }
    }
    [[nodiscard]] bool takes_data(Port port) const {
        switch (port) {
            case Port::kRegisters:
                return card_.s_reg_wvalid_i && card_.s_reg_wready_o;
            case Port::kDoorbells:
                return card_.s_db_wvalid_i && card_.s_db_wready_o;
            default:
                return card_.s_push_wvalid_i && card_.s_push_wready_o;
        }
    }
    [[nodiscard]] bool answers(Port port) const {
        return port == Port::kRegisters   ? card_.s_reg_bvalid_o
               : port == Port::kDoorbells ? card_.s_db_bvalid_o
                                          : card_.s_push_bvalid_o;
    }
    void sample_writes() {
        if (writes_.empty() || writes_.front().due > cycle_)
            return;
        PostedWrite& write = writes_.front();
        if (takes_address(write.port)) {
            write.address_sent = true;
            reg_aw_.taken();
        }
        if (takes_data(write.port)) {
            write.data_sent = true;
            reg_w_.taken();
        }
        if (answers(write.port)) {
            writes_.pop_front();
            memory_.posted_tlp();
            settle_ = kSettleCycles;
        }
    }

    // --- frames in
    void drive_frame() {
        card_.s_axis_tvalid_i = stream_in_.valid(!frames_.empty());
        if (frames_.empty())
            return;
        const std::vector<std::byte>& frame = frames_.front();
        const std::size_t bytes = std::min(kBeat, frame.size() - in_at_);
        std::memcpy(card_.s_axis_tdata_i.data(), frame.data() + in_at_, bytes);
        card_.s_axis_tkeep_i = bytes == kBeat ? ~std::uint64_t{0} : (std::uint64_t{1} << bytes) - 1;
        card_.s_axis_tlast_i = in_at_ + bytes == frame.size();
        card_.s_axis_tuser_i = 0;
    }
    void frame_taken() {
        in_at_ += kBeat;
        if (card_.s_axis_tlast_i) {
            in_at_ = 0;
            frames_.pop_front();
            settle_ = kSettleCycles;
        }
    }

    // --- frames out: collected, then given to the wire when it has room
    void take_out() {
        const std::uint64_t keep = card_.m_axis_tkeep_o;
        const auto bytes = static_cast<std::size_t>(__builtin_popcountll(keep));
        const std::size_t at = out_.size();
        out_.resize(at + bytes);
        std::memcpy(out_.data() + at, card_.m_axis_tdata_o.data(), bytes);
        if (card_.m_axis_tuser_o) {  // a reset has cut the frame
            out_.clear();
            return;
        }
        out_done_ = card_.m_axis_tlast_o;
        wire_bytes_ -= static_cast<double>(bytes);
        if (out_done_)  // preamble, gap, FCS; at least 64 bytes with FCS
            wire_bytes_ -= 24 + (out_.size() < 60 ? 60.0 - static_cast<double>(out_.size()) : 0);
    }
    void send_out() {
        if (!out_done_ || wire_retry_ != kNever)
            return;
        const std::span<std::byte> room = wire_.begin_frame(out_.size());
        if (room.size() < out_.size()) {
            if (!room.empty())
                wire_.end_frame(0);
            wire_retry_ = card_.now_ns_i + kWireRetry;
            return;
        }
        std::ranges::copy(out_, room.begin());
        wire_.end_frame(out_.size());
        out_.clear();
        out_done_ = false;
    }

    ClockMeter meter_;
    Vdingo_card card_;
    HostPort& host_;
    WirePort& wire_;
    std::unique_ptr<Waves> waves_;
    AxiMemory memory_;
    std::deque<PostedWrite> writes_;
    std::uint64_t writes_issued_ = 0;
    std::uint64_t cycle_ = 0;
    std::deque<std::vector<std::byte>> frames_;
    std::size_t in_at_ = 0;
    std::vector<std::byte> out_;
    bool out_done_ = false;
    bool timed_ = false;
    Timing timing_{.way_cycles = 0};
    Nanoseconds timed_now_ = 0;
    double wire_bytes_ = 0;
    Nanoseconds wire_retry_ = kNever;
    Stall reg_aw_, reg_w_, reg_ar_, stream_in_, stream_out_, msix_;
    unsigned settle_ = 0;  // cycles before idle_o is trusted
};

}  // namespace

std::unique_ptr<Engine> make_rtl(const EngineConfig& config, HostPort& host, WirePort& wire) {
    return std::make_unique<RtlEngine>(config, host, wire);
}

void set_timing(Engine& engine, const Timing& timing) {
    static_cast<RtlEngine&>(engine).set_timing(timing);
}

void set_stalls(Engine& engine, unsigned percent, std::uint64_t seed) {
    static_cast<RtlEngine&>(engine).set_stalls(percent, seed);
}

void set_roce_stop(Engine& engine, bool stop) {
    static_cast<RtlEngine&>(engine).set_roce_stop(stop);
}

void set_trace(Engine& engine, const Trace& trace) {
    static_cast<RtlEngine&>(engine).set_trace(trace);
}

void register_rtl_engine() {
    register_engine("rtl", &make_rtl);
}

}  // namespace dingo::rtl
