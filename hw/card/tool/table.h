// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dingo::tool {

/// Rows of text in columns that are as wide as they must be; numbers stand right.
class Table {
  public:
    explicit Table(std::vector<std::string> head) : rows_{std::move(head)} {}
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    [[nodiscard]] bool empty() const { return rows_.size() == 1; }
    /// Lines with a line break each; the head stands above.
    [[nodiscard]] std::string text() const;

  private:
    std::vector<std::vector<std::string>> rows_;
};

/// 1234567 as "1.23M", so that a table stays narrow.
std::string short_number(double value);

}  // namespace dingo::tool
