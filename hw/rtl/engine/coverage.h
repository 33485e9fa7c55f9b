// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "verilated.h"

namespace dingo::rtl {

/// Adds what the context's models have covered to this process's sum and clears it there. Call it
/// before a model is destroyed. At the end of the process the sum is written to
/// $DINGO_RTL_COVERAGE.PID in Verilator's format. Does nothing unless the build has coverage
/// (DINGO_RTL_COVERAGE) and the variable is set.
void save_coverage(VerilatedContext& context);

}  // namespace dingo::rtl
