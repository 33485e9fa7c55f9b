// SPDX-License-Identifier: BSD-2-Clause
#include "log_turn.h"

#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>

namespace dingo::card {
namespace {

class TurnSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
  protected:
    void sink_it_(const spdlog::details::log_msg& message) override {
        spdlog::memory_buf_t line;
        formatter_->format(message, line);
        // A log that cannot be written is nobody's to hear of.
        [[maybe_unused]] const auto n = ::write(detail::log_descriptor, line.data(), line.size());
    }
    void flush_() override {}
};

}  // namespace

std::shared_ptr<spdlog::logger> make_turn_logger() {
    return std::make_shared<spdlog::logger>("dingo-card", std::make_shared<TurnSink>());
}

}  // namespace dingo::card
