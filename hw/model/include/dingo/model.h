// SPDX-License-Identifier: BSD-2-Clause
//
// The C++ model of the card: same contract and wire format as the RTL, but no clock cycles.
#pragma once

#include <memory>

#include "dingo/engine.h"

namespace dingo::model {

/// Creates a card in its power-on state.
std::unique_ptr<Engine> make_model(const EngineConfig& config, HostPort& host, WirePort& wire);

/// Registers the engine named "model"; call once at program start.
void register_model_engine();

}  // namespace dingo::model
