// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/table.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <strings.h>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

namespace dingo::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 4;  ///< minimum width of a truncated column

bool is_number(const std::string& text) {
    return text == "-" || (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) &&
                           text.find_first_of(":/ ") == std::string::npos);
}

/// Returns the first `width` characters, with '~' in place of the rest.
std::string cut(const std::string& text, std::size_t width) {
    if (display_width(text) <= width)
        return text;
    std::string out;
    for (const char c : text) {
        const bool begins = (static_cast<unsigned char>(c) & 0xC0) != 0x80;
        if (begins && display_width(out) + 1 == width)
            break;
        out += c;
    }
    return out + '~';
}

struct Shown {
    std::size_t column;
    std::size_t width;
    bool right;
};

std::size_t total(const std::vector<Shown>& shown) {
    std::size_t out = 0;
    for (const Shown& s : shown)
        out += s.width + kGap;
    return out == 0 ? 0 : out - kGap;
}

/// Drops columns, then truncates the widest, until a line fits.
void fit(std::vector<Shown>& shown, const std::vector<Column>& head, std::size_t width) {
    const auto loss = [&](const Shown& s) { return head[s.column].loss; };
    while (total(shown) > width) {
        // Among equal losses the last column is dropped.
        const auto worst = std::max_element(shown.rbegin(), shown.rend(),
                                            [&](auto& a, auto& b) { return loss(a) < loss(b); });
        if (loss(*worst) != 0) {
            shown.erase(std::next(worst).base());
            continue;
        }
        const auto widest = std::max_element(shown.begin(), shown.end(),
                                             [](auto& a, auto& b) { return a.width < b.width; });
        if (widest->width <= kNarrowest)
            return;
        widest->width -= std::min(total(shown) - width, widest->width - kNarrowest);
    }
}

}  // namespace

bool Table::sort(const std::string& title) {
    const auto column = std::find_if(head_.begin(), head_.end(), [&](const Column& c) {
        return ::strcasecmp(c.title.c_str(), title.c_str()) == 0;
    });
    if (column == head_.end())
        return false;
    const auto at = static_cast<std::size_t>(column - head_.begin());
    std::stable_sort(rows_.begin(), rows_.end(), [at](const auto& a, const auto& b) {
        if (a[at].value != b[at].value)
            return a[at].value > b[at].value;
        return a[at].value == 0 && a[at].text < b[at].text;
    });
    return true;
}

std::string Table::text(std::size_t width) const {
    std::vector<Shown> shown;
    for (std::size_t c = 0; c < head_.size(); c++) {
        Shown s{c, display_width(head_[c].title), !rows_.empty()};
        for (const auto& row : rows_) {
            s.width = std::max(s.width, display_width(row[c].text));
            s.right &= is_number(row[c].text);
        }
        shown.push_back(s);
    }
    if (width != 0)
        fit(shown, head_, width);
    std::string out;
    const auto line = [&](const auto& text_of) {
        std::string words;
        for (const Shown& s : shown) {
            const std::string text = cut(text_of(s.column), s.width);
            const std::string blanks(s.width - display_width(text), ' ');
            words += s.right ? blanks + text : text + blanks;
            words.append(kGap, ' ');
        }
        out += words.substr(0, words.find_last_not_of(' ') + 1) + '\n';
    };
    line([&](std::size_t c) { return head_[c].title; });
    for (const auto& row : rows_)
        line([&](std::size_t c) { return row[c].text; });
    return out;
}

std::size_t display_width(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
}

std::size_t output_width() {
    if (const char* const columns = std::getenv("COLUMNS"))
        if (const long width = std::strtol(columns, nullptr, 10); width > 0)
            return static_cast<std::size_t>(width);
    winsize size{};
    return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string short_number(double value) {
    constexpr const char* kUnits[] = {"", "k", "M", "G", "T", "P"};
    std::size_t unit = 0;
    for (; value >= 100'000 || (unit != 0 && value >= 1000); unit++) {
        if (unit + 1 == std::size(kUnits))
            break;
        value /= 1000;
    }
    if (unit == 0)
        return fmt::format("{:.0f}", value);
    return fmt::format("{:.{}f}{}", value, value < 10 ? 2 : value < 100 ? 1 : 0, kUnits[unit]);
}

std::string sparkline(const std::vector<double>& values, bool utf8) {
    static constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static constexpr const char* kAscii[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
    const char* const* const bars = utf8 ? kBars : kAscii;
    const double most = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
    std::string out;
    for (const double value : values) {
        const double part = most > 0 ? value / most : 0;
        const auto bar = static_cast<std::size_t>(std::lround(part * 7));
        out += bars[std::min<std::size_t>(bar, 7)];
    }
    return out;
}

}  // namespace dingo::cli
