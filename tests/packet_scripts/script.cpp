// SPDX-License-Identifier: BSD-2-Clause
#include "script.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "dingo/packet/text.h"

namespace dingo::wire {
namespace {

constexpr std::string_view kBlanks = " \t\r";
/// Largest block that a script may name: longer than any message that a test can look at.
constexpr std::uint64_t kMaxBytes = 64u << 20;

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

Word read_word(std::string_view text) {
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0)
        return {std::string(text), {}, false};
    return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)), true};
}

Line read_line(unsigned number, std::string_view text) {
    Line line{number, std::string(text), {}, {}};
    while (!text.empty()) {
        const auto end = std::min(text.find_first_of(kBlanks), text.size());
        const std::string_view word = text.substr(0, end);
        if (line.verb.empty())
            line.verb = word;
        else
            line.words.push_back(read_word(word));
        text = trim(text.substr(end));
    }
    return line;
}

}  // namespace

std::vector<Case> read_script(std::string_view text) {
    std::vector<Case> cases;
    std::vector<Line> prologue;
    for (unsigned number = 1; !text.empty(); ++number) {
        const auto newline = text.find('\n');
        std::string_view raw = text.substr(0, newline);
        text = newline == std::string_view::npos ? std::string_view{} : text.substr(newline + 1);
        raw = trim(raw.substr(0, raw.find('#')));
        if (raw.empty())
            continue;
        Line line = read_line(number, raw);
        if (line.verb == "case") {
            if (line.words.size() != 1 || line.words[0].has_value)
                throw ScriptError(fmt::format("line {}: case wants one name", number));
            cases.push_back({line.words[0].key, prologue});
        } else {
            (cases.empty() ? prologue : cases.back().lines).push_back(std::move(line));
        }
    }
    if (cases.empty())
        cases.push_back({"", std::move(prologue)});
    return cases;
}

std::string Words::bare(std::string_view what) {
    const auto it = std::ranges::find_if(words_, [](const Word& w) { return !w.has_value; });
    if (it == words_.end())
        throw ScriptError(fmt::format("{} is missing", what));
    std::string word = it->key;
    words_.erase(it);
    return word;
}

bool Words::flag(std::string_view word) {
    const auto it =
        std::ranges::find_if(words_, [&](const Word& w) { return !w.has_value && w.key == word; });
    if (it == words_.end())
        return false;
    words_.erase(it);
    return true;
}

std::optional<std::string> Words::value(std::string_view key) {
    const auto it =
        std::ranges::find_if(words_, [&](const Word& w) { return w.has_value && w.key == key; });
    if (it == words_.end())
        return std::nullopt;
    std::string value = it->value;
    words_.erase(it);
    return value;
}

std::uint64_t Words::number(std::string_view key, std::uint64_t otherwise) {
    const auto text = value(key);
    return text ? read_number(*text) : otherwise;
}

std::uint64_t Words::number(std::string_view key) {
    const auto text = value(key);
    if (!text)
        throw ScriptError(fmt::format("{}= is missing", key));
    return read_number(*text);
}

void Words::end() const {
    if (!words_.empty())
        throw ScriptError(fmt::format("'{}{}{}' is not understood here", words_[0].key,
                                      words_[0].has_value ? "=" : "", words_[0].value));
}

std::uint64_t read_number(std::string_view text) {
    std::string_view digits = text;
    int base = 10;
    if (digits.starts_with("0x")) {
        digits.remove_prefix(2);
        base = 16;
    }
    std::uint64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
    if (error != std::errc() || stop != end)
        throw ScriptError(fmt::format("'{}' is not a number", text));
    return value;
}

std::uint64_t read_time(std::string_view text) {
    struct Unit {
        std::string_view name;
        double ns;
    };
    static constexpr Unit kUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    for (const Unit& unit : kUnits) {
        if (!text.ends_with(unit.name))
            continue;
        const std::string_view digits = text.substr(0, text.size() - unit.name.size());
        double value = 0;
        const char* const end = digits.data() + digits.size();
        const auto [stop, error] = std::from_chars(digits.data(), end, value);
        if (error == std::errc() && stop == end && value >= 0)
            return static_cast<std::uint64_t>(std::llround(value * unit.ns));
    }
    throw ScriptError(fmt::format("'{}' is not a time such as 10us or 1.5ms", text));
}

std::vector<std::byte> read_bytes(std::string_view text) {
    const auto colon = text.find(':');
    const std::string_view kind = text.substr(0, colon);
    const std::string_view rest =
        colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
    const auto count = [](std::string_view digits) {
        const std::uint64_t n = read_number(digits);
        if (n > kMaxBytes)
            throw ScriptError(fmt::format("{} bytes are too many for a script", n));
        return n;
    };
    std::vector<std::byte> bytes;
    if (kind == "pattern") {
        const auto at = rest.find('@');
        const std::uint64_t offset =
            at == std::string_view::npos ? 0 : read_number(rest.substr(at + 1));
        bytes.resize(count(rest.substr(0, at)));
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = packet::pattern_byte(offset + i);
    } else if (kind == "zero") {
        bytes.resize(count(rest));
    } else if (kind == "fill") {
        const auto second = rest.find(':');
        if (second == std::string_view::npos)
            throw ScriptError("fill wants fill:BYTES:VALUE");
        bytes.assign(count(rest.substr(0, second)),
                     static_cast<std::byte>(read_number(rest.substr(second + 1))));
    } else if (kind == "hex" && rest.size() % 2 == 0) {
        for (std::size_t i = 0; i < rest.size(); i += 2)
            bytes.push_back(
                static_cast<std::byte>(read_number(fmt::format("0x{}", rest.substr(i, 2)))));
    } else {
        throw ScriptError(fmt::format("'{}' is not hex:, pattern:, zero: or fill:", text));
    }
    return bytes;
}

}  // namespace dingo::wire
