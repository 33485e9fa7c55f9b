// SPDX-License-Identifier: BSD-2-Clause
//
// The card in SystemVerilog under Verilator, as an engine. Cycles run while there is work; between
// them time stands still, as if the clock were faster than the world outside. tests/rtl/bench
// measures with one cycle = 4 ns.
#pragma once

#include <memory>

#include "dingo/engine.h"

namespace dingo::rtl {

/// Makes a card in its power-on state.
std::unique_ptr<Engine> make_rtl(const EngineConfig& config, HostPort& host, WirePort& wire);

/// Registers the engine named "rtl"; call once at program start.
void register_rtl_engine();

}  // namespace dingo::rtl
