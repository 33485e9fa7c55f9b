// SPDX-License-Identifier: BSD-2-Clause
#include "report/counter_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/format.h"

namespace rdma_bench::report {
namespace {

/// Columns that stand side by side: with the longest names still below the width of most screens.
constexpr std::size_t kColumns = 6;

/// The counters of a run turned round: one for each name, one difference for each entry.
struct CounterRow {
    std::string name;
    std::vector<std::int64_t> moved;  ///< below zero: reset or wrapped meanwhile
    [[nodiscard]] bool still() const {
        return std::all_of(moved.begin(), moved.end(), [](std::int64_t n) { return n == 0; });
    }
};

std::vector<CounterRow> pivot_counters(const Result& result) {
    std::vector<CounterRow> rows;
    for (std::size_t i = 0; i < result.entries.size(); ++i) {
        const Entry& entry = result.entries[i];
        for (const Counter& counter : entry.counters) {
            auto row = std::find_if(rows.begin(), rows.end(),
                                    [&](const CounterRow& r) { return r.name == counter.name; });
            if (row == rows.end()) {
                row = rows.insert(rows.end(), {counter.name, {}});
            }
            row->moved.resize(result.entries.size());
            row->moved[i] = static_cast<std::int64_t>(counter.after - counter.before);
        }
    }
    for (CounterRow& row : rows) {
        row.moved.resize(result.entries.size());
    }
    return rows;
}

/// "64 B", or "64 B x 8 QPs" where numbers of QPs differ: what tells the entries apart.
std::string entry_name(const Result& result, const Entry& entry) {
    const bool alike =
        std::all_of(result.entries.begin(), result.entries.end(),
                    [&](const Entry& e) { return e.qps == result.entries.front().qps; });
    return format_bytes(static_cast<double>(entry.size)) +
           (alike ? "" : fmt::format(" x {} QP{}", entry.qps, entry.qps == 1 ? "" : "s"));
}

}  // namespace

std::string counter_table(const Result& result, bool named) {
    auto rows = pivot_counters(result);
    const std::size_t all = rows.size();
    if (!named) {
        std::erase_if(rows, [](const CounterRow& row) { return row.still(); });
    }
    std::string out;
    if (result.entries.size() == 1) {
        for (const CounterRow& row : rows) {
            out += fmt::format("\t{}={}\n", row.name, row.moved.front());
        }
    } else {
        std::size_t widest = 0;
        for (const CounterRow& row : rows) {
            widest = std::max(widest, row.name.size());
        }
        for (std::size_t from = 0; from < result.entries.size() && !rows.empty();
             from += kColumns) {
            const std::size_t to = std::min(from + kColumns, result.entries.size());
            out += fmt::format("\t{:<{}}", "counter", widest);
            for (std::size_t i = from; i < to; ++i) {
                out += fmt::format(" {:>14}", entry_name(result, result.entries[i]));
            }
            for (const CounterRow& row : rows) {
                out += fmt::format("\n\t{:<{}}", row.name, widest);
                for (std::size_t i = from; i < to; ++i) {
                    out += fmt::format(" {:>14}", row.moved[i]);
                }
            }
            out += "\n";
        }
    }
    if (rows.size() < all) {
        out += fmt::format("\t{} counter{} did not change\n", all - rows.size(),
                           all - rows.size() == 1 ? "" : "s");
    }
    return out;
}

}  // namespace rdma_bench::report
