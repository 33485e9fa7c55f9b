// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace dingo::test {

/// Registers all engines of this build (once) and returns their names: the parameters of a
/// conformance suite.
std::vector<std::string> register_engines();

}  // namespace dingo::test
