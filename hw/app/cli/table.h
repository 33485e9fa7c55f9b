// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dingo::cli {

/// A column of a Table.
struct Column {
    Column(const char* text) : title(text) {}  // NOLINT: a title alone is a column
    Column(std::string text) : title(std::move(text)) {}
    Column(std::string text, int when_narrow) : title(std::move(text)), loss(when_narrow) {}
    std::string title;
    int loss =
        0;  ///< if lines are too wide, columns with the greatest loss are dropped first; 0: never
};

/// Text of a cell, and its value for sorting.
struct Cell {
    Cell(std::string words) : text(std::move(words)) {}  // NOLINT: a text is a cell
    Cell(std::string words, double number) : text(std::move(words)), value(number) {}
    std::string text;
    double value = 0;
};

/// Rows of text in columns of minimum width; numbers are right-aligned.
class Table {
  public:
    explicit Table(std::vector<Column> head) : head_(std::move(head)) {}
    void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    /// Sorts by a column, the greatest number or the first text first. Returns false if there is no
    /// such column.
    bool sort(const std::string& title);
    /// Returns the head and the rows, each with a line break. The lines fit into `width` columns;
    /// 0: unlimited.
    [[nodiscard]] std::string text(std::size_t width = 0) const;

  private:
    std::vector<Column> head_;
    std::vector<std::vector<Cell>> rows_;
};

/// Returns the number of terminal columns for a UTF-8 text; each character takes one.
std::size_t display_width(const std::string& text);

/// Returns $COLUMNS, else the width of the terminal at stdout, else 0.
std::size_t output_width();

/// Returns 1234567 as "1.23M", to keep tables narrow.
std::string short_number(double value);

/// Returns the values as a line of bars, relative to the greatest; ASCII if `utf8` is false.
std::string sparkline(const std::vector<double>& values, bool utf8);

}  // namespace dingo::cli
