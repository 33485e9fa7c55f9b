// SPDX-License-Identifier: BSD-2-Clause
// Rules for which identity may join which job: lines "IDENTITY JOB", both patterns with * and ?.
#pragma once
#include <string>
#include <string_view>

#include "service/registry.h"

namespace qpx::service {

/// Parses rules; '#' begins a comment. An identity without a matching line may not join any job. A
/// request for the status needs a line whose job is "*". @throws Error(Argument) with the line
/// number
Authorize parse_rules(std::string_view text);

/// Reads rules from a file. @throws Error(Argument)
Authorize read_rules(const std::string& path);

}  // namespace qpx::service
