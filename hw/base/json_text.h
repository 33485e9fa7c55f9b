// SPDX-License-Identifier: BSD-2-Clause
//
// JSON read and written in one place: the parser costs every file that calls it a second of
// compilation.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace dingo {

/// As text; bytes that are no UTF-8 become U+FFFD. indent: blanks a level; -1: all in one line.
std::string json_text(const nlohmann::json& value, int indent = -1);

/// The value that the text says; one that is_discarded(), so no object, when it is not JSON.
nlohmann::json json_value(std::string_view text);
nlohmann::json json_value(std::istream& file);

}  // namespace dingo
