// SPDX-License-Identifier: BSD-2-Clause
//
// Conversion between lines of Criteo's data sets and records. A line has a label, 13 integers and
// 26 hexadecimal words, separated by tabs. Fields may be empty, except the label.
#pragma once

#include <string>
#include <string_view>

#include "dlrm/record.h"

namespace dlrm {

/// Parses a line without its end. @return "", or the error; then `record` is invalid
std::string parse_line(std::string_view line, Record& record);

/// Formats a record as a line without its end. Fields that were empty are empty again.
std::string format_line(const Record& record);

}  // namespace dlrm
