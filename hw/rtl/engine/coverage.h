// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "verilated.h"

namespace dingo::rtl {

/// Add what the context's models have covered so far to this process's sum, and forget it there: to
/// be called before a model goes. At the end of the process the sum is written to
/// $DINGO_RTL_COVERAGE.PID in Verilator's format. Does nothing unless the build has coverage
/// (DINGO_RTL_COVERAGE) and the variable is set.
void save_coverage(VerilatedContext& context);

}  // namespace dingo::rtl
