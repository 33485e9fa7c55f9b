// SPDX-License-Identifier: BSD-2-Clause
#include "tool/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace dingo::tool {
namespace {

bool is_number(const std::string& text) {
    return text == "-" || (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) &&
                           text.find_first_of(":/") == std::string::npos);
}

}  // namespace

std::string Table::text() const {
    const std::size_t columns = rows_[0].size();
    std::vector<std::size_t> width(columns, 0);
    std::vector<bool> right(columns, rows_.size() > 1);
    for (std::size_t r = 0; r < rows_.size(); r++) {
        for (std::size_t c = 0; c < columns && c < rows_[r].size(); c++) {
            width[c] = std::max(width[c], rows_[r][c].size());
            if (r != 0 && !is_number(rows_[r][c]))
                right[c] = false;
        }
    }
    std::string out;
    for (const auto& row : rows_) {
        std::string line;
        for (std::size_t c = 0; c < columns && c < row.size(); c++)
            line += right[c] ? fmt::format("{:>{}}  ", row[c], width[c])
                             : fmt::format("{:<{}}  ", row[c], width[c]);
        out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    }
    return out;
}

std::string short_number(double value) {
    constexpr const char* kUnits[] = {"", "k", "M", "G", "T", "P"};
    std::size_t unit = 0;
    for (; value >= 100'000 || (unit != 0 && value >= 1000); unit++) {
        if (unit + 1 == std::size(kUnits))
            break;
        value /= 1000;
    }
    if (unit == 0)
        return fmt::format("{:.0f}", value);
    return fmt::format("{:.{}f}{}", value, value < 10 ? 2 : value < 100 ? 1 : 0, kUnits[unit]);
}

}  // namespace dingo::tool
