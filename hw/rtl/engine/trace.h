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
    /// @throws std::runtime_error: built without DINGO_RTL_TRACE, or the file cannot be written
    Waves(Vdingo_card& card, const Trace& trace);
    ~Waves();

    /// To be called after each cycle, with its time.
    void cycle(Nanoseconds now);

  private:
    struct File;
    Trace trace_;
    std::unique_ptr<File> file_;
};

}  // namespace dingo::rtl
