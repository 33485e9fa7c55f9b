// SPDX-License-Identifier: BSD-2-Clause
//
// Bench for a lane of a kernel: a word enters, its result leaves kLaneStages cycles later.
#pragma once

#include <cstdint>
#include <deque>
#include <random>

namespace dingo::rtl {

inline constexpr unsigned kLaneStages = 11;

/// Drives en_i of a Verilated lane. In a cycle no word enters with probability `gaps` / 4.
template <typename Lane>
class LaneBench {
  public:
    explicit LaneBench(unsigned gaps) : gaps_(gaps) {}

    /// One cycle: next() returns the word x that enters; check(x, y) gets a result y and its x.
    template <typename Next, typename Check>
    void cycle(Next next, Check check) {
        const bool enter = random_() % 4 >= gaps_;
        enables_ = (enables_ << 1 | (enter ? 1U : 0U)) & ((2U << kLaneStages) - 1);
        if (enter) {
            lane.x_i = next();
            words_.push_back(lane.x_i);
        }
        lane.en_i = enables_ & ((1U << kLaneStages) - 1);
        lane.clk_i = 1;
        lane.eval();
        lane.clk_i = 0;
        lane.eval();
        if ((enables_ >> (kLaneStages - 1) & 1) != 0) {
            check(words_.front(), lane.y_o);
            words_.pop_front();
        }
    }

    Lane lane;

  private:
    unsigned gaps_;
    std::uint32_t enables_ = 0;
    std::deque<std::uint32_t> words_;
    std::mt19937 random_{1};
};

}  // namespace dingo::rtl
