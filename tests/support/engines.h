// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace dingo::test {

/// Registers every engine of this build (once) and gives their names: what a conformance suite
/// is parametrised with.
std::vector<std::string> register_engines();

}  // namespace dingo::test
