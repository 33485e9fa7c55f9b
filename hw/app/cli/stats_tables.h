// SPDX-License-Identifier: BSD-2-Clause
//
// What `dingo stats` shows of samples of the cards' counters.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dingo::cli {

/// What a card answered at a moment.
struct Sample {
    std::string name;
    nlohmann::json stats;
    std::chrono::steady_clock::time_point time;
};

/// Bits a second of each card, both ways together, oldest first.
class History {
  public:
    void add(const std::vector<Sample>& now, const std::vector<Sample>& before);
    /// The last `most` values.
    [[nodiscard]] std::vector<double> of(const std::string& card, std::size_t most) const;

  private:
    std::map<std::string, std::deque<double>> rates_;
};

struct StatsView {
    std::size_t width = 0;  ///< columns of the terminal; 0: any
    std::size_t lines = 0;  ///< of the terminal; 0: any
    std::string sort;       ///< title of a column; "": as they come
    bool utf8 = true;
};

/// Throws Error(kUsage), which names the columns, where no table of rates, or of sums, can have the
/// column; "" is none.
void check_sort(const std::string& column, bool rates);

/// The cards and their QPs; with an older sample rates instead of sums.
std::string stats_text(const std::vector<Sample>& now, const std::vector<Sample>& before,
                       const History& history, const StatsView& view);

}  // namespace dingo::cli
