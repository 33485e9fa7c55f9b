// SPDX-License-Identifier: BSD-2-Clause
//
// Random work on two cards, arranged so that its outcome does not depend on timing: the outcomes of
// two different engines can be compared, although they acknowledge and arbitrate at different
// times.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace dingo::conformance {

struct DifferentialOptions {
    std::uint64_t seed = 1;
    unsigned batches = 3;          ///< with idle time between them
    bool loss = false;             ///< drop, duplicate, delay, corrupt on the wire
    bool mistake = false;          ///< the last batch contains one, and only one card posts in it
    bool compute = false;          ///< each card sends through a random compute kernel
    bool receive_compute = false;  ///< and receives through one
    unsigned stalls = 0;           ///< percent of cycles in which the ports of a clocked card stall
};

/// Everything that must not depend on the engine.
struct Outcome {
    std::vector<std::string>
        lines;  ///< completions by queue, events, QP states, packets by PSN, counters
    std::array<std::uint64_t, 2> memory{};  ///< hash of each host's region
};

/// Runs the work on two cards with this engine.
Outcome run_differential(const std::string& engine, const DifferentialOptions& options);

/// Returns the first difference as text, or "".
std::string difference(const Outcome& a, const Outcome& b);

}  // namespace dingo::conformance
