// SPDX-License-Identifier: BSD-2-Clause
#include "log.h"

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>

namespace dingo {
namespace {

/// Locks only the formatting, not write(), which may block: threads do not wait for each other's
/// output.
class TurnSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
  protected:
    void sink_it_(const spdlog::details::log_msg& message) override {
        spdlog::memory_buf_t line;
        {
            // the formatter caches the time of the last line
            const std::scoped_lock lock(formats_);
            formatter_->format(message, line);
        }
        // There is nowhere to report that the log cannot be written.
        [[maybe_unused]] const auto n = ::write(detail::log_descriptor, line.data(), line.size());
    }
    void flush_() override {}

  private:
    std::mutex formats_;
};

spdlog::level::level_enum level_of(log::Level level) {
    static constexpr std::array kLevels{spdlog::level::debug, spdlog::level::info,
                                        spdlog::level::warn, spdlog::level::err};
    return kLevels[static_cast<std::size_t>(level)];
}

}  // namespace

bool is_log_level(const std::string& text) {
    return text == "off" || spdlog::level::from_str(text) != spdlog::level::off;
}

void start_log(const std::string& level) {
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("dingo-card", std::make_shared<TurnSink>()));
    spdlog::set_level(spdlog::level::from_str(level));
}

bool log::enabled(Level level) {
    return spdlog::should_log(level_of(level));
}

void log::write(Level level, std::string_view line) {
    spdlog::default_logger_raw()->log(level_of(level), line);
}

bool log::Limit::may_write(Clock::time_point now) {
    if (room_ == kAtOnce) {
        refilled_ = now;
    } else {
        const auto come_back = (now - refilled_) / kInterval;
        const auto taken =
            static_cast<unsigned>(std::min<std::int64_t>(come_back, std::int64_t{kAtOnce} - room_));
        room_ += taken;
        refilled_ += come_back * kInterval;
    }
    if (room_ == 0) {
        ++left_out_;
        return false;
    }
    --room_;
    return true;
}

std::string log::Limit::text_of_left_out() {
    const std::uint64_t n = std::exchange(left_out_, 0);
    return n == 0 ? "" : fmt::format(" (and {} more that are not shown)", n);
}

}  // namespace dingo
