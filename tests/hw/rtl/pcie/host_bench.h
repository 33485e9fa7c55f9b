// SPDX-License-Identifier: BSD-2-Clause
//
// Bench for requests of the host to the card, with stalls of card and core.
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "pcie_card.h"

namespace dingo::rtl {

inline HostRequest write(unsigned bar, std::uint64_t address, std::vector<std::uint32_t> data,
                         unsigned first_be = 0xf, unsigned last_be = 0xf) {
    const auto dwords = static_cast<unsigned>(data.size());
    return {.kind = 1,
            .bar = bar,
            .address = address,
            .data = std::move(data),
            .dwords = dwords,
            .first_be = first_be,
            .last_be = dwords == 1 ? 0 : last_be};
}
inline HostRequest read(unsigned tag, std::uint64_t address, unsigned dwords,
                        unsigned first_be = 0xf, unsigned last_be = 0xf) {
    return {.kind = 0,
            .bar = 0,
            .address = address,
            .data = {},
            .dwords = dwords,
            .first_be = first_be,
            .last_be = dwords == 1 ? 0 : last_be,
            .tag = tag};
}

class HostBench : public testing::TestWithParam<unsigned> {
  protected:
    HostBench() : bench({.stall = GetParam(), .seed = 11}) { bench.card_stall = GetParam(); }
    std::uint64_t word(unsigned address) {
        const std::size_t before = bench.core->answers.size();
        bench.core->ask(read(9, address, 2));
        bench.settle();
        const Answer& a = bench.core->answers.at(before);
        return a.data.at(0) | std::uint64_t{a.data.at(1)} << 32;
    }
    PcieBench bench;
};

}  // namespace dingo::rtl
