// SPDX-License-Identifier: BSD-2-Clause
//
// Random traffic between two cards, with a trace of all that is visible from outside.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dingo::conformance {

struct ScenarioOptions {
    std::uint64_t seed = 1;
    unsigned operations = 40;
    bool faults = true;    ///< drop, duplicate, delay, corrupt
    bool mistakes = true;  ///< wrong keys and lengths, too few receives
    bool pointers = true;  ///< the host provides direct memory pointers
    bool random_psns = true;
};

/// Trace: frames on the wire, completions, events, counters, final memory.
struct Trace {
    std::vector<std::string> frames;
    std::vector<std::string> completions;
    std::vector<std::string> events;
    std::vector<std::string> counters;
    std::uint64_t memory = 0;  ///< hash

    bool operator==(const Trace&) const = default;
};

/// Runs one scenario on two cards of an engine.
Trace run_scenario(const std::string& engine, const ScenarioOptions& options);

/// Returns the first difference as text, or "".
std::string difference(const Trace& a, const Trace& b);

}  // namespace dingo::conformance
