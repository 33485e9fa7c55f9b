// SPDX-License-Identifier: BSD-2-Clause
// How the counters of this side's port moved, for a terminal.
#pragma once

#include <string>
#include <vector>

#include "report/result.h"

namespace rdma_bench::report {

/// The counters of a run turned round: one for each name, one difference for each entry.
struct CounterRow {
    std::string name;
    std::vector<std::int64_t> moved;  ///< below zero: reset or wrapped meanwhile
    [[nodiscard]] bool still() const;
};

/// @param peer the counters of the other side's port
std::vector<CounterRow> pivot_counters(const Result& result, bool peer);

/// "64 B", or "64 B x 8 QPs" where numbers of QPs differ: what tells the entries apart.
std::string entry_name(const Result& result, const Entry& entry);

/// Lines that begin with a tab. One entry: "name=difference". Several: a table with a column for
/// each. @param named counters that did not move are shown, too, instead of counted
std::string counter_table(const Result& result, bool named);

}  // namespace rdma_bench::report
