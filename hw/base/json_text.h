// SPDX-License-Identifier: BSD-2-Clause
//
// Reads and writes JSON in one source file, as each file that includes the parser compiles a second
// longer.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace dingo {

/// Serializes `value`; invalid UTF-8 becomes U+FFFD. `indent`: spaces per level; -1: one line.
std::string json_text(const nlohmann::json& value, int indent = -1);

/// Parses `text`. Returns a value with is_discarded(), which is no object, if it is not JSON.
nlohmann::json json_value(std::string_view text);
nlohmann::json json_value(std::istream& file);

}  // namespace dingo
