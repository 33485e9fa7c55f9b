// SPDX-License-Identifier: BSD-2-Clause
//
// Lines of Criteo's data sets, as records and back: a label, 13 integers and 26 hexadecimal words,
// with a tabulator between two. A field may be empty, the label may not.
#pragma once

#include <string>
#include <string_view>

#include "dlrm/record.h"

namespace dlrm {

/// Parses a line without its end. @return "" or why it is none: then `record` is not to be used
std::string parse_line(std::string_view line, Record& record);

/// The line of a record, without its end. Empty fields are empty again.
std::string format_line(const Record& record);

}  // namespace dlrm
