// SPDX-License-Identifier: BSD-2-Clause
//
// All engines handle the same work like the model: same packets, completions, events, counters and
// memory. A clocked card also with its ports stalled at random.
#include "differential.h"
#include "conformance.h"

namespace dingo::conformance {

CONFORMANCE_SUITE(Differential);

class Against {
  public:
    explicit Against(std::string engine) : engine_(std::move(engine)) {}
    void same(const DifferentialOptions& options) const {
        ASSERT_EQ(
            difference(run_differential("model", options), run_differential(engine_, options)), "")
            << "model and " << engine_ << ", seed " << options.seed;
    }

  private:
    std::string engine_;
};

TEST_P(Differential, SameOutcomeOnACleanWire) {
    for (unsigned seed = 1; seed <= repeats(30, 30); ++seed)
        ASSERT_NO_FATAL_FAILURE(Against(engine()).same({.seed = seed}));
}

TEST_P(Differential, SameOutcomeWhenPortsWait) {
    for (unsigned seed = 1; seed <= repeats(4, 20); ++seed)
        ASSERT_NO_FATAL_FAILURE(
            Against(engine()).same({.seed = 1000 + seed, .stalls = 10 + seed * 2}));
}

TEST_P(Differential, SameBytesFromTheComputeKernels) {
    ENGINE_NEEDS(COMPUTE);
    for (unsigned seed = 1; seed <= repeats(20, 20); ++seed)
        ASSERT_NO_FATAL_FAILURE(Against(engine()).same({.seed = 5000 + seed,
                                                        .loss = seed % 2 == 0,
                                                        .compute = true,
                                                        .stalls = seed % 3 * 20}));
}

TEST_P(Differential, SameBytesThroughTheKernelsOfBothSides) {
    ENGINE_NEEDS(COMPUTE_RX);
    for (unsigned seed = 1; seed <= repeats(20, 20); ++seed)
        ASSERT_NO_FATAL_FAILURE(Against(engine()).same({.seed = 6000 + seed,
                                                        .loss = seed % 2 == 0,
                                                        .compute = seed % 4 == 0,
                                                        .receive_compute = true,
                                                        .stalls = seed % 3 * 20}));
}

TEST_P(Differential, SameDataAndCompletionsUnderLoss) {
    for (unsigned seed = 1; seed <= repeats(30, 20); ++seed)
        ASSERT_NO_FATAL_FAILURE(
            Against(engine()).same({.seed = 2000 + seed, .loss = true, .stalls = seed % 2 * 30}));
}

TEST_P(Differential, SameErrorsForTheSameMistakes) {
    for (unsigned seed = 1; seed <= repeats(40, 40); ++seed)
        ASSERT_NO_FATAL_FAILURE(Against(engine()).same(
            {.seed = 3000 + seed, .batches = 2, .mistake = true, .stalls = seed % 2 * 30}));
}

TEST_P(Differential, OutcomeTellsOneWorkFromAnother) {
    const Outcome one = run_differential(engine(), {.seed = 1});
    const Outcome other = run_differential(engine(), {.seed = 2});
    EXPECT_GT(one.lines.size(), 150u) << "completions, queue pairs, packets and counters";
    EXPECT_NE(difference(one, other), "");
    EXPECT_EQ(difference(one, run_differential(engine(), {.seed = 1})), "");
}

}  // namespace dingo::conformance
