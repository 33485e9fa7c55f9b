// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/plot.h"

namespace rdma_bench::report {

/// A table of plain text; everything is escaped. Cells of columns beyond `text_columns` are aligned
/// as numbers.
struct Table {
    std::string caption;
    std::vector<std::string> head;
    std::vector<std::vector<std::string>> rows;
    std::size_t text_columns = 1;
    /// Class names for single rows: "better", "worse", "differs" or empty; may be shorter than
    /// `rows`.
    std::vector<std::string_view> marks;
};

std::string render(const Table& table);
/// A plot with its heading and, below it, its legend; empty when there is nothing to show.
std::string render(const Plot& plot);
/// Plots side by side where the screen is wide enough; empty when none has a point.
std::string render(const std::vector<Plot>& plots);
std::string heading(std::string_view text);
std::string paragraph(std::string_view text);

/// A whole document: nothing in it is loaded from elsewhere, and its policy forbids scripts and any
/// request.
std::string page(std::string_view title, std::string_view body);

}  // namespace rdma_bench::report
