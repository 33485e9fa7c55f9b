// SPDX-License-Identifier: BSD-2-Clause
//
// Waveforms of a Verilated card, in a build with DINGO_RTL_TRACE.
#pragma once
#include <memory>

#include "dingo/rtl.h"

class Vdingo_card;

namespace dingo::rtl {

class Waves {
  public:
    /// @throws std::runtime_error: not built for it, or the file cannot be written
    Waves(Vdingo_card& card, const Trace& trace);
    ~Waves();

    /// After a cycle at `now`.
    void cycle(Nanoseconds now);

  private:
    struct File;
    Trace trace_;
    std::unique_ptr<File> file_;
};

}  // namespace dingo::rtl
