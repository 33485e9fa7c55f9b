// SPDX-License-Identifier: BSD-2-Clause
//
// Random stalls of the models at the card's ports.
#pragma once

#include <cstdint>
#include <random>

namespace dingo::rtl {

/// Random stalls of one handshake; valid stays set until it is accepted (AXI A3.2.1).
class Stall {
  public:
    /// Stalls in `percent` of the cycles; 0: never.
    void set(unsigned percent, std::uint64_t seed) {
        percent_ = percent;
        random_.seed(static_cast<std::uint32_t>(seed));
    }
    /// Whether this side is ready in this cycle.
    bool ready() { return percent_ == 0 || random_() % 100 >= percent_; }
    /// Whether this side sets valid in this cycle, when it has data (`have`).
    bool valid(bool have) {
        held_ = have && (held_ || ready());
        return held_;
    }
    /// The other side has accepted the data.
    void taken() { held_ = false; }

  private:
    unsigned percent_ = 0;
    bool held_ = false;
    std::minstd_rand random_;
};

}  // namespace dingo::rtl
