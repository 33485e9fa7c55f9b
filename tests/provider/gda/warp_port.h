// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// Replaces dingo_gda_port.h: threads of the CPU are lanes of warps and synchronize with each other.
// Must be included first.
#pragma once

#ifdef DINGO_GDA_PORT_H
#error "another port was included before"
#endif
#define DINGO_GDA_PORT_H

#include <array>
#include <barrier>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

using dgda_lanes = std::uint64_t;

// All functions except those of lanes are taken from the port for single-lane warps.
#define dgda_lane host_lane
#define dgda_together host_together
#define dgda_from_lane host_from_lane
#define dgda_join host_join
#define dgda_load_acquire_device host_load_acquire_device
#include "dingo_gda_port_host.h"
#undef dgda_lane
#undef dgda_together
#undef dgda_from_lane
#undef dgda_join
#undef dgda_load_acquire_device

namespace gda::test {

/// The active lanes of one warp; the others are masked out.
class Warp {
  public:
    explicit Warp(dgda_lanes lanes) : lanes_(lanes), barrier_(std::popcount(lanes)) {}

    [[nodiscard]] dgda_lanes lanes() const { return lanes_; }
    void join() { barrier_.arrive_and_wait(); }
    std::uint64_t exchange(std::uint64_t value, unsigned mine, unsigned wanted) {
        values_[mine] = value;
        join();
        const std::uint64_t result = values_[wanted];
        join();
        return result;
    }

    static inline thread_local Warp* present = nullptr;
    static inline thread_local unsigned lane = 0;
    /// As on a GPU, finding the other lanes does not make their stores visible, but joining does.
    static inline thread_local bool sees_others = false;
    static inline thread_local unsigned blind_loads = 0;  ///< made without seeing them

  private:
    dgda_lanes lanes_;
    std::barrier<> barrier_;
    std::array<std::uint64_t, 64> values_{};
};

/// Runs `fn` in each lane of each warp, and waits for all.
inline void in_warps(const std::vector<dgda_lanes>& warps,
                     const std::function<void(unsigned warp, unsigned lane)>& fn) {
    std::vector<std::unique_ptr<Warp>> made;
    std::vector<std::thread> threads;
    for (unsigned w = 0; w < warps.size(); ++w) {
        made.push_back(std::make_unique<Warp>(warps[w]));
        for (dgda_lanes left = warps[w]; left != 0; left &= left - 1)
            threads.emplace_back([&fn, w, warp = made.back().get(),
                                  lane = static_cast<unsigned>(std::countr_zero(left))] {
                Warp::present = warp;
                Warp::lane = lane;
                fn(w, lane);
            });
    }
    for (std::thread& thread : threads)
        thread.join();
}

}  // namespace gda::test

DGDA_FN unsigned int dgda_lane() {
    return gda::test::Warp::lane;
}

DGDA_FN dgda_lanes dgda_together(const void* /*key*/) {
    gda::test::Warp::present->join();
    gda::test::Warp::sees_others = false;
    return gda::test::Warp::present->lanes();
}

DGDA_FN std::uint64_t dgda_from_lane(dgda_lanes /*lanes*/, std::uint64_t v, unsigned int lane) {
    return gda::test::Warp::present->exchange(v, dgda_lane(), lane);
}

DGDA_FN void dgda_join(dgda_lanes /*lanes*/) {
    gda::test::Warp::present->join();
    gda::test::Warp::sees_others = true;
}

DGDA_FN std::uint64_t dgda_load_acquire_device(const std::uint64_t* p) {
    gda::test::Warp::blind_loads += gda::test::Warp::sees_others ? 0 : 1;
    return host_load_acquire_device(p);
}
