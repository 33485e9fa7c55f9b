// SPDX-License-Identifier: BSD-2-Clause
//
// The card in SystemVerilog under Verilator, as an engine. run() simulates cycles while there is
// work, and the card's time does not advance in them, as if its clock were infinitely fast. With
// set_timing(), as in tests/bench/rtl_bench.cpp, a cycle is 4 ns.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "dingo/engine.h"

namespace dingo::rtl {

/// Makes a card in its power-on state.
std::unique_ptr<Engine> make_rtl(const EngineConfig& config, HostPort& host, WirePort& wire);

/// PCIe and wire of a board, for measurements. With it, run(now) simulates exactly the cycles of
/// the time that has passed, 4 ns each, with or without work. PCIe has its delays and its ordering:
/// a read does not pass the card's writes before it, its answer does not pass the host's writes,
/// and an interrupt does not pass the writes before it. Writes are posted: errors are not reported.
struct Timing {
    unsigned read_cycles = 137;    ///< from a read's address to its first data, both ways: 550 ns
    unsigned way_cycles = 62;      ///< of a posted write, either way: 250 ns
    unsigned tags = 256;           ///< reads outstanding
    unsigned payload_bytes = 256;  ///< MPS: longer writes and answers come in several TLPs
    double pcie_bytes_per_cycle = 57.9;  ///< Gen3 x16, less 8 % for DLLPs, with all TLPs' headers
    double wire_bytes_per_cycle = 50;    ///< MAC: 100 Gb/s
};
inline constexpr Nanoseconds kCycle = 4;

/// `engine` is one of make_rtl(), at rest.
void set_timing(Engine& engine, const Timing& timing);

/// Random waits on every port: AXI4 AR, R, AW, W, B, both AXI4-Lite slaves, both AXI-Streams,
/// MSI-X; and read bursts of different IDs answered in any order. `percent` of the cycles, 0..90.
void set_stalls(Engine& engine, unsigned percent, std::uint64_t seed);

/// Sets roce_stop_i: the card sends no RoCE frames, as while the peer pauses their priority.
void set_roce_stop(Engine& engine, bool stop);

/// Waveforms of a card with set_timing(): file and window, in the time of run().
struct Trace {
    std::string file;  ///< VCD
    Nanoseconds from = 0;
    Nanoseconds to = 0;
};

/// @throws std::runtime_error: built without DINGO_RTL_TRACE, or the file cannot be written
void set_trace(Engine& engine, const Trace& trace);

/// Registers the engine named "rtl"; call once at program start.
void register_rtl_engine();

}  // namespace dingo::rtl
