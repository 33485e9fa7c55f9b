// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>

#include "report/result.h"

namespace rdma_bench::report {

/// The run as CSV (RFC 4180, lines end in CR LF): one line an entry, units in the names of the
/// columns. A cell is empty where the test has no such figure.
std::string to_csv(const Result& result);

/// A cell as text: in quotes when it must be. Text that a spreadsheet would take for a formula gets
/// an apostrophe before it (a peer says what its host is called).
std::string csv_text(std::string_view text);

}  // namespace rdma_bench::report
