// SPDX-License-Identifier: BSD-2-Clause
//
// The log of a card process. A process that serves several cards has a log for each: a thread
// writes to the log of the card that it serves at the moment. Only log.cpp includes spdlog, which
// adds seconds to the compilation of each file that does.
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

/// Returns the descriptor that this thread's log lines are written to.
inline int current_log() {
    return detail::log_descriptor;
}

/// Directs this thread's log lines to `descriptor`.
inline void set_log(int descriptor) {
    detail::log_descriptor = descriptor;
}

/// Returns true for trace, debug, info, warning, error, critical and off.
bool is_log_level(const std::string& text);

/// Starts the log, for all threads: lines of this level and more severe ones are written.
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

// The text is a format string of fmt.
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

/// Rate limit for warnings that others can cause at will; one object per place in the code: a burst
/// of kAtOnce, then one line per kInterval. The next line that is written counts those dropped. Not
/// thread-safe.
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

    /// Returns true if a line may be written now; else counts it as dropped.
    bool may_write(Clock::time_point now);
    /// Returns " (and N more that are not shown)" for the lines dropped since the last call, or "".
    std::string text_of_left_out();

  private:
    unsigned room_ = kAtOnce;
    Clock::time_point refilled_;  ///< when room for one line was last added
    std::uint64_t left_out_ = 0;
};

}  // namespace log
}  // namespace dingo
