// SPDX-License-Identifier: BSD-2-Clause
//
// Common to all files of the conformance suite.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include <algorithm>
#include <functional>
#include "dingo_hw.h"
#include "engines.h"
#include "pair.h"
#include "two_cards.h"

namespace dingo::conformance {

/// A test that is run for each engine.
class Conformance : public testing::TestWithParam<std::string> {
  protected:
    [[nodiscard]] const std::string& engine() const { return GetParam(); }
    /// Returns an iteration count: `few` for an engine that is simulated cycle by cycle.
    [[nodiscard]] unsigned effort(unsigned many, unsigned few) const {
        return engine() == "rtl" ? few : many;
    }
    /// The same for loops over random numbers: a third of `few`, unless DINGO_THOROUGH is in the
    /// environment (suite rtl-thorough).
    [[nodiscard]] unsigned repeats(unsigned many, unsigned few) const {
        return effort(many, thorough() ? few : (few + 2) / 3);
    }
    [[nodiscard]] bool thorough() const {
        return engine() != "rtl" || std::getenv("DINGO_THOROUGH") != nullptr;
    }
};

/// True in sanitizer builds, where counts are smaller to keep the run short.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// NOLINTBEGIN(bugprone-macro-parentheses): names of classes and members
/// Adds the test class `name` to the suite.
#define CONFORMANCE_SUITE(name)                                                  \
    class name : public Conformance {};                                          \
    INSTANTIATE_TEST_SUITE_P(Conformance, name,                                  \
                             testing::ValuesIn(dingo::test::register_engines()), \
                             [](const auto& engine_of) { return engine_of.param; })

/// Skips the test if the engine lacks the capability.
#define NEEDS(driver, capability)                                        \
    if (((driver).read64(DINGO_REG_CAPS) & DINGO_CAP_##capability) == 0) \
    GTEST_SKIP() << "the engine has no capability " #capability

/// The same for tests that cannot create their cards without it.
#define ENGINE_NEEDS(capability)          \
    test::OneCard capable_card(engine()); \
    NEEDS(capable_card.driver, capability)

// NOLINTEND(bugprone-macro-parentheses)

}  // namespace dingo::conformance
