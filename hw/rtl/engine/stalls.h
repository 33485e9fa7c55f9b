// SPDX-License-Identifier: BSD-2-Clause
//
// Random hesitation of the models at the other side of the card's ports.
#pragma once

#include <cstdint>
#include <random>

namespace dingo::rtl {

/// One handshake's chance to wait; a valid that was seen stays until it is accepted (AXI A3.2.1).
class Stall {
  public:
    /// `percent` of the cycles are waited in; 0: never.
    void set(unsigned percent, std::uint64_t seed) {
        percent_ = percent;
        random_.seed(static_cast<std::uint32_t>(seed));
    }
    /// Whether this side is ready in this cycle.
    bool ready() { return percent_ == 0 || random_() % 100 >= percent_; }
    /// Whether this side, which has something to give, says so in this cycle.
    bool valid(bool have) {
        held_ = have && (held_ || ready());
        return held_;
    }
    /// What was given is taken.
    void taken() { held_ = false; }

  private:
    unsigned percent_ = 0;
    bool held_ = false;
    std::minstd_rand random_;
};

}  // namespace dingo::rtl
