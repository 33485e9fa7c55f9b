// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace dingo {

/// All of dingo-card but the choice of engines: register those first. Returns the exit status:
/// 0, 1 when the card could not run, 2 when the command line is wrong.
int run_program(int argc, char** argv);

}  // namespace dingo
