// SPDX-License-Identifier: BSD-2-Clause
//
// Synthetic clicks: the same ones for the same seed on every machine, with something to learn in
// them.
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
    /// 0 to `end` - 1. Not a distribution of <random>: those differ from library to library.
    std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random_() % end); }

    std::mt19937_64 random_;
};

}  // namespace dlrm
