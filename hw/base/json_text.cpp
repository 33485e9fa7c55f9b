// SPDX-License-Identifier: BSD-2-Clause
#include "json_text.h"

#include <istream>
#include <nlohmann/json.hpp>

namespace dingo {

std::string json_text(const nlohmann::json& value, int indent) {
    return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::json json_value(std::string_view text) {
    return nlohmann::json::parse(text, nullptr, false);
}

nlohmann::json json_value(std::istream& file) {
    return json_value(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace dingo
