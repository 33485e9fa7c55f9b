// SPDX-License-Identifier: BSD-2-Clause
//
// Simulated cycles a message between two cards with the PCIe and wire of rtl::Timing. They do not
// depend on the machine that runs the test. The bounds are about a fifth above the measured values
// (docs/performance.md).
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

#include "rtl_load.h"

namespace {

using namespace dingo;
using namespace dingo::test;

struct Case {
    const char* name;
    RtlLoad load;
    unsigned count;
    double most;  // cycles a message
    friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
};

RtlLoad small(std::uint8_t opcode, unsigned qps, unsigned outstanding) {
    RtlLoad load;
    load.opcode = opcode;
    load.qps = qps;
    load.outstanding = outstanding;
    return load;
}
RtlLoad with(RtlLoad load, void (*change)(RtlLoad&)) {
    change(load);
    return load;
}

class RtlRate : public testing::TestWithParam<Case> {};

TEST_P(RtlRate, CyclesAMessage) {
    const Case& c = GetParam();
    RtlPair pair(c.load);
    const auto cycles = static_cast<double>(pair.stream(c.count));
    const double each = cycles / c.count * (c.load.both ? 2 : 1);
    RecordProperty("cycles_a_message_x100", static_cast<int>(std::lround(each * 100)));
    EXPECT_LE(each, c.most);
}

INSTANTIATE_TEST_SUITE_P(
    Loads, RtlRate,
    testing::Values(
        Case{"Write", small(DINGO_WR_WRITE, 16, 32), 1000, 4.5},
        Case{"WriteOneQp", small(DINGO_WR_WRITE, 1, 128), 500, 8.5},
        Case{"WriteWith32Tags",
             with(small(DINGO_WR_WRITE, 16, 32), [](RtlLoad& l) { l.timing.tags = 32; }), 1000,
             8.5},
        Case{"Send", small(DINGO_WR_SEND, 16, 32), 1000, 6},
        Case{"SendOneQp", small(DINGO_WR_SEND, 1, 64), 500, 14},
        Case{"Read", small(DINGO_WR_READ, 16, 16), 500, 9.8},
        Case{
            "WriteOfManyPackets",  // 64 packets
            with(small(DINGO_WR_WRITE, 1, 16), [](RtlLoad& l) { l.bytes = 16384, l.path_mtu = 1; }),
            50, 64 * 9.4},
        Case{"ReadOfManyPackets",
             with(small(DINGO_WR_READ, 1, 16), [](RtlLoad& l) { l.bytes = 16384, l.path_mtu = 1; }),
             50, 64 * 8.2},
        Case{"Add",
             with(small(DINGO_WR_FETCH_ADD, 16, 16),
                  [](RtlLoad& l) { l.bytes = 8, l.random = true; }),
             500, 27},
        Case{"Inline", with(small(DINGO_WR_WRITE, 16, 32), [](RtlLoad& l) { l.inlined = true; }),
             500, 4.7},
        Case{"TwoPieces", with(small(DINGO_WR_WRITE, 16, 32), [](RtlLoad& l) { l.sges = 2; }), 500,
             6.3},
        Case{"RandomPages",
             with(small(DINGO_WR_WRITE, 16, 32),
                  [](RtlLoad& l) {
                      l.levels = 2;
                      l.region = 256U << 20;
                      l.random = true;
                  }),
             1000, 8},
        Case{"RandomPagesWhole",  // the wire takes 84: reads of page lists overlap with writes
             with(small(DINGO_WR_WRITE, 16, 32),
                  [](RtlLoad& l) {
                      l.bytes = 4096;
                      l.levels = 2;
                      l.region = 256U << 20;
                      l.random = true;
                  }),
             500, 86},
        Case{"WriteThroughAKernel",  // of the receiver; the wire takes 84
             with(small(DINGO_WR_WRITE, 1, 16),
                  [](RtlLoad& l) { l.bytes = 4096, l.kernel = DINGO_KERNEL_DLRM; }),
             200, 86},
        Case{"SmallPacketsThroughAKernel",
             with(small(DINGO_WR_WRITE, 1, 16),
                  [](RtlLoad& l) {
                      l.bytes = 16384;
                      l.path_mtu = 1;
                      l.kernel = DINGO_KERNEL_DLRM;
                  }),
             50, 64 * 9.4},
        Case{"BothWays", with(small(DINGO_WR_WRITE, 16, 32), [](RtlLoad& l) { l.both = true; }),
             2000, 4.8}),
    [](const auto& load) { return load.param.name; });

}  // namespace
