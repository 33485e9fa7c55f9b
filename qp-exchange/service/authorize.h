// SPDX-License-Identifier: BSD-2-Clause
// Which identity may join which job: lines "IDENTITY JOB", both with * and ? as in file names.
#pragma once
#include <string>
#include <string_view>

#include "service/registry.h"

namespace qpx::service {

/// Parses rules; '#' begins a comment. An identity that no line names may not join any job. The
/// status needs a line whose job is "*". @throws Error(Argument) with the line's number
Authorize parse_rules(std::string_view text);

/// Rules from a file. @throws Error(Argument)
Authorize read_rules(const std::string& path);

}  // namespace qpx::service
