// SPDX-License-Identifier: BSD-2-Clause
//
// Random scenarios give the same trace on every engine: frames, completions, events, counters,
// memory. With one engine in the build it is compared with itself, which shows that the trace
// depends on its inputs only.
#include "conformance.h"
#include "scenario.h"

namespace dingo::conformance {

CONFORMANCE_SUITE(Equality);

/// Number of scenarios in the first test, and in each other test.
constexpr unsigned kScenarios = kSanitized ? 40 : 90;
constexpr unsigned kOthers = kSanitized ? 8 : 50;

TEST_P(Equality, SameScenarioSameTraceOnEveryEngine) {
    const auto engines = test::register_engines();
    for (unsigned seed = 1; seed <= repeats(kScenarios, 20); ++seed) {
        ScenarioOptions options;
        options.seed = seed;
        options.faults = seed % 2 == 0;
        options.mistakes = seed % 3 == 0;
        const Trace trace = run_scenario(engine(), options);
        ASSERT_FALSE(trace.frames.empty());
        for (const std::string& other : engines) {
            // A clocked card acknowledges at other times than one without a clock: compared only
            // with itself.
            if ((other == "rtl") != (engine() == "rtl"))
                continue;
            ASSERT_EQ(difference(trace, run_scenario(other, options)), "")
                << engine() << " and " << other << ", seed " << seed;
        }
    }
}

TEST_P(Equality, DirectMemoryPointersChangeNothing) {
    for (unsigned seed = 1000; seed < 1000 + repeats(kOthers, 10); ++seed) {
        ScenarioOptions options;
        options.seed = seed;
        options.mistakes = seed % 2 == 0;
        const Trace with = run_scenario(engine(), options);
        options.pointers = false;
        ASSERT_EQ(difference(with, run_scenario(engine(), options)), "") << "seed " << seed;
    }
}

TEST_P(Equality, WithoutMistakesEverythingSucceeds) {
    for (unsigned seed = 2000; seed < 2000 + repeats(kOthers, 10); ++seed) {
        ScenarioOptions options;
        options.seed = seed;
        options.mistakes = false;
        const Trace trace = run_scenario(engine(), options);
        for (const std::string& line : trace.completions)
            ASSERT_NE(line.find("status 0 "), std::string::npos) << line << ", seed " << seed;
    }
}

}  // namespace dingo::conformance
