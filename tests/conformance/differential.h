// SPDX-License-Identifier: BSD-2-Clause
//
// Random work on two cards, put so that its outcome does not depend on when things happen: what two
// different engines make of it can be compared, although they acknowledge and arbitrate at other
// moments.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace dingo::conformance {

struct DifferentialOptions {
    std::uint64_t seed = 1;
    unsigned batches = 3;  ///< with quiet between them
    bool loss = false;     ///< drop, duplicate, delay, corrupt on the wire
    bool mistake = false;  ///< the last batch has one, and only one side works in it
    bool compute = false;  ///< each card sends through some compute kernel
    unsigned stalls = 0;   ///< percent of the cycles in which a clocked card's ports wait
};

/// What must not depend on the engine.
struct Outcome {
    std::vector<std::string>
        lines;  ///< completions by queue, events, QP states, packets by PSN, counters
    std::array<std::uint64_t, 2> memory{};  ///< hash of each host's region
};

/// Runs the work on two cards of an engine.
Outcome run_differential(const std::string& engine, const DifferentialOptions& options);

/// The first difference as text; empty when there is none.
std::string difference(const Outcome& a, const Outcome& b);

}  // namespace dingo::conformance
