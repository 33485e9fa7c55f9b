// SPDX-License-Identifier: BSD-2-Clause
//
// The log of a card process. A process that serves several cards has a log for each: a line goes to
// the card that its thread serves just then. Only log.cpp includes spdlog, which adds seconds to
// the compilation of every file that does.
#pragma once

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace dingo {

namespace detail {
inline thread_local int log_descriptor = STDERR_FILENO;
}

/// Where this thread's log lines go.
inline int current_log() {
    return detail::log_descriptor;
}

/// Sends this thread's log lines to this descriptor from now on.
inline void set_log(int descriptor) {
    detail::log_descriptor = descriptor;
}

/// trace, debug, info, warning, error, critical or off.
bool is_log_level(const std::string& text);

/// Lines of that level and the worse ones are written from now on, by all threads.
void start_log(const std::string& level);

namespace log {

enum class Level : std::uint8_t { kDebug, kInfo, kWarning, kError };

bool enabled(Level level);
void write(Level level, std::string_view line);

template <class... Args>
void print(Level level, fmt::format_string<Args...> format, Args&&... args) {
    if (enabled(level))
        write(level, fmt::format(format, std::forward<Args>(args)...));
}

// The text is a fmt format string.
template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
    print(Level::kDebug, format, std::forward<Args>(args)...);
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
    print(Level::kInfo, format, std::forward<Args>(args)...);
}
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
    print(Level::kWarning, format, std::forward<Args>(args)...);
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
    print(Level::kError, format, std::forward<Args>(args)...);
}

/// Limits lines that others can cause as often as they like, per place in the code: a burst, then
/// one each interval. The next line that is written says how many were dropped.
class Limit {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr unsigned kAtOnce = 16;
    static constexpr Clock::duration kInterval = std::chrono::seconds(30);

    template <class... Args>
    void warn(fmt::format_string<Args...> format, Args&&... args) {
        if (enabled(Level::kWarning) && may_write(Clock::now()))
            write(Level::kWarning,
                  fmt::format(format, std::forward<Args>(args)...) + text_of_left_out());
    }

    /// Whether a line may be written now; else it is counted.
    bool may_write(Clock::time_point now);
    /// " (and N lines more)" since the last call, or "".
    std::string text_of_left_out();

  private:
    unsigned room_ = kAtOnce;
    Clock::time_point refilled_;  ///< room for one line came back then
    std::uint64_t left_out_ = 0;
};

}  // namespace log
}  // namespace dingo
