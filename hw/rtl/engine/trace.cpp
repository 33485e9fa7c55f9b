// SPDX-License-Identifier: BSD-2-Clause
#include "trace.h"

#include <stdexcept>

#ifdef VM_TRACE

#include "Vdingo_card.h"
#include "verilated_vcd_c.h"

namespace dingo::rtl {

struct Waves::File {
    VerilatedVcdC vcd;
};

Waves::Waves(Vdingo_card& card, const Trace& trace)
    : trace_(trace), file_(std::make_unique<File>()) {
    constexpr int kLevels = 99;
    card.contextp()->traceEverOn(true);
    card.trace(&file_->vcd, kLevels);
    file_->vcd.set_time_unit("1ns");
    file_->vcd.set_time_resolution("1ns");
    file_->vcd.open(trace.file.c_str());
    if (!file_->vcd.isOpen())
        throw std::runtime_error(trace.file + ": cannot be written");
}

Waves::~Waves() = default;

void Waves::cycle(Nanoseconds now) {
    if (now >= trace_.from && now < trace_.to)
        file_->vcd.dump(now);
}

}  // namespace dingo::rtl

#else

namespace dingo::rtl {

struct Waves::File {};

Waves::Waves(Vdingo_card& /*card*/, const Trace& trace) {
    throw std::runtime_error(trace.file +
                             ": no waveforms in this build; configure with -DDINGO_RTL_TRACE=ON");
}
Waves::~Waves() = default;
void Waves::cycle(Nanoseconds /*now*/) {}

}  // namespace dingo::rtl

#endif
