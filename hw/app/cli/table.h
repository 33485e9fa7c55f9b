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
        0;  ///< where lines are too wide, the columns of the greatest loss go first; 0: stays
};

/// Text of a cell, and the value that it is sorted by.
struct Cell {
    Cell(std::string words) : text(std::move(words)) {}  // NOLINT: a text is a cell
    Cell(std::string words, double number) : text(std::move(words)), value(number) {}
    std::string text;
    double value = 0;
};

/// Rows of text in columns that are as wide as they must be; numbers stand right.
class Table {
  public:
    explicit Table(std::vector<Column> head) : head_(std::move(head)) {}
    void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    /// The greatest number, or the first text, stands first. False: there is no such column.
    bool sort(const std::string& title);
    /// Lines with a line break each; the head stands above. width: columns of the terminal, into
    /// which the lines fit; 0: as wide as they are.
    [[nodiscard]] std::string text(std::size_t width = 0) const;

  private:
    std::vector<Column> head_;
    std::vector<std::vector<Cell>> rows_;
};

/// How many columns of a terminal the UTF-8 text takes; each character takes one.
std::size_t display_width(const std::string& text);

/// $COLUMNS, else the width of the terminal at stdout; 0: neither is there.
std::size_t output_width();

/// 1234567 as "1.23M", so that a table stays narrow.
std::string short_number(double value);

/// The values as a line of bars, the greatest as the highest one; ASCII where `utf8` is not.
std::string sparkline(const std::vector<double>& values, bool utf8);

}  // namespace dingo::cli
