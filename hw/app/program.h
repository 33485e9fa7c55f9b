// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace dingo {

/// The main function of dingo-card. Engines must be registered before. Returns the exit status: 0;
/// 1 if the card could not run; 2 if the command line is wrong.
int run_program(int argc, char** argv);

}  // namespace dingo
