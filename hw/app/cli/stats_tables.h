// SPDX-License-Identifier: BSD-2-Clause
//
// Formats samples of the cards' counters for `dingo stats`.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dingo::cli {

/// A card's answer at a point in time.
struct Sample {
    std::string name;
    nlohmann::json stats;
    std::chrono::steady_clock::time_point time;
};

/// Bits per second of each card, both directions together, oldest first.
class History {
  public:
    void add(const std::vector<Sample>& now, const std::vector<Sample>& before);
    /// Returns the last `most` values.
    [[nodiscard]] std::vector<double> of(const std::string& card, std::size_t most) const;

  private:
    std::map<std::string, std::deque<double>> rates_;
};

struct StatsView {
    std::size_t width = 0;  ///< columns of the terminal; 0: unlimited
    std::size_t lines = 0;  ///< lines of the terminal; 0: unlimited
    std::string sort;       ///< title of a column; "": unsorted
    bool utf8 = true;
};

/// Throws Error(kUsage), which lists the columns, if no table of rates, or of sums, has the column;
/// "" is accepted.
void check_sort(const std::string& column, bool rates);

/// Formats the cards and their QPs; with an older sample, rates instead of sums.
std::string stats_text(const std::vector<Sample>& now, const std::vector<Sample>& before,
                       const History& history, const StatsView& view);

}  // namespace dingo::cli
