// SPDX-License-Identifier: BSD-2-Clause
//
// Generator of synthetic clicks with a learnable signal, equal for the same seed on all machines.
#pragma once

#include <cstdint>
#include <random>

#include "dlrm/record.h"

namespace dlrm {

class Generator {
  public:
    explicit Generator(std::uint64_t seed) : random_(seed) {}
    Record next();

  private:
    /// Returns 0 to `end` - 1. Not a distribution of <random>: those differ between libraries.
    std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random_() % end); }

    std::mt19937_64 random_;
};

}  // namespace dlrm
