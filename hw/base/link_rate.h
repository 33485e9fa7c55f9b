// SPDX-License-Identifier: BSD-2-Clause
//
// Link speeds and widths with their InfiniBand numbers (the kernel's IB_SPEED_*, IB_WIDTH_*;
// ibv_port_attr::active_speed, active_width). Used by rdma-bench, too.
#pragma once

#include <cstdint>

namespace dingo {

enum LinkSpeed : std::uint16_t {
    kSdr = 1,
    kDdr = 2,
    kQdr = 4,
    kFdr10 = 8,
    kFdr = 16,
    kEdr = 32,
    kHdr = 64,
    kNdr = 128,
    kXdr = 256,
};

enum LinkWidth : std::uint8_t { k1X = 1, k4X = 2, k8X = 4, k12X = 8, k2X = 16 };

struct LaneRate {
    LinkSpeed speed;
    unsigned deci_gbps;  ///< tenths of Gb/s of one lane: its data rate, not the nominal one
    const char* name;
};

inline constexpr LaneRate kLaneRates[] = {
    {kSdr, 25, "SDR"},      {kDdr, 50, "DDR"},   {kQdr, 100, "QDR"},
    {kFdr10, 100, "FDR10"}, {kFdr, 140, "FDR"},  {kEdr, 250, "EDR"},
    {kHdr, 500, "HDR"},     {kNdr, 1000, "NDR"}, {kXdr, 2000, "XDR"},
};

/// Returns the rate of a speed; nullptr if the number is unknown.
constexpr const LaneRate* lane_rate(unsigned speed) {
    for (const LaneRate& rate : kLaneRates) {
        if (rate.speed == speed) {
            return &rate;
        }
    }
    return nullptr;
}

/// Returns the number of lanes of a width; 0 if the number is unknown.
constexpr unsigned lanes_of(unsigned width) {
    switch (width) {
        case k1X:
            return 1;
        case k4X:
            return 4;
        case k8X:
            return 8;
        case k12X:
            return 12;
        case k2X:
            return 2;
        default:
            return 0;
    }
}

}  // namespace dingo
