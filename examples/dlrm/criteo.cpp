// SPDX-License-Identifier: BSD-2-Clause
#include "dlrm/criteo.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <vector>

namespace dlrm {
namespace {

constexpr std::size_t kFields = 1 + kDenseColumns + kSparseColumns;
constexpr std::size_t kShown = 40;

/// Formats a field for display: control characters are replaced, long fields truncated.
std::string shown(std::string_view field) {
    std::string out;
    for (const char c : field.substr(0, kShown))
        out += c >= ' ' && c <= '~' ? c : '?';
    return out + (field.size() > kShown ? "..." : "");
}

template <typename Number>
bool parse(std::string_view field, int base, Number& number) {
    const char* const end = field.data() + field.size();
    const auto result = std::from_chars(field.data(), end, number, base);
    return result.ec == std::errc{} && result.ptr == end;
}

std::vector<std::string_view> fields_of(std::string_view line) {
    std::vector<std::string_view> fields;
    fields.reserve(kFields);
    for (std::size_t at = 0;;) {
        const std::size_t end = line.find('\t', at);
        fields.push_back(line.substr(at, end - at));
        if (end == line.npos)
            return fields;
        at = end + 1;
    }
}

}  // namespace

std::string parse_line(std::string_view line, Record& record) {
    if (line.ends_with('\r'))
        line.remove_suffix(1);
    const auto fields = fields_of(line);
    if (fields.size() != kFields)
        return fmt::format("{} fields instead of {}", fields.size(), kFields);
    record = {};
    if (fields[0] != "0" && fields[0] != "1")
        return fmt::format("label '{}' is neither 0 nor 1", shown(fields[0]));
    record[kLabel] = fields[0] == "1" ? 1 : 0;
    for (std::size_t i = 0; i < kDenseColumns; ++i) {
        const std::string_view field = fields[1 + i];
        std::int32_t number = 0;
        if (field.empty())
            record[kEmptyDense] |= 1U << i;
        else if (!parse(field, 10, number))
            return fmt::format("integer {}: '{}' is no number from -2147483648 to 2147483647",
                               i + 1, shown(field));
        record[kFirstDense + i] = static_cast<std::uint32_t>(number);
    }
    for (std::size_t i = 0; i < kSparseColumns; ++i) {
        const std::string_view field = fields[1 + kDenseColumns + i];
        std::uint32_t word = 0;
        if (field.empty())
            record[kEmptySparse] |= 1U << i;
        else if (field.size() > 8 || !parse(field, 16, word))
            return fmt::format("category {}: '{}' is no word of 1 to 8 hexadecimal digits", i + 1,
                               shown(field));
        record[kFirstSparse + i] = word;
    }
    return "";
}

std::string format_line(const Record& record) {
    std::string out = std::to_string(record[kLabel]);
    for (std::size_t i = 0; i < kDenseColumns; ++i) {
        out += '\t';
        if ((record[kEmptyDense] >> i & 1) == 0)
            fmt::format_to(std::back_inserter(out), "{}",
                           static_cast<std::int32_t>(record[kFirstDense + i]));
    }
    for (std::size_t i = 0; i < kSparseColumns; ++i) {
        out += '\t';
        if ((record[kEmptySparse] >> i & 1) == 0)
            fmt::format_to(std::back_inserter(out), "{:08x}", record[kFirstSparse + i]);
    }
    return out;
}

}  // namespace dlrm
