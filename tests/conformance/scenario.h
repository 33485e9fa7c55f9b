// SPDX-License-Identifier: BSD-2-Clause
//
// Random traffic between two cards, and everything of it that can be seen from outside.
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
    bool pointers = true;  ///< whether the host gives direct memory pointers
    bool random_psns = true;
};

/// What happened: frames on the wire, completions, events, counters, final memory.
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

/// The first difference as text; empty when there is none.
std::string difference(const Trace& a, const Trace& b);

}  // namespace dingo::conformance
