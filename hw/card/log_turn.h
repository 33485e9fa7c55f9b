// SPDX-License-Identifier: BSD-2-Clause
//
// A process that serves several cards has a log for each: a line goes to that of the card whose
// turn it is.
#pragma once

#include <unistd.h>

#include <memory>

namespace spdlog {
class logger;
}

namespace dingo::card {

namespace detail {
inline thread_local int log_descriptor = STDERR_FILENO;
}

/// From now on this thread's log lines go there.
inline void set_log(int descriptor) {
    detail::log_descriptor = descriptor;
}

/// The logger of a card process, to be the default one.
std::shared_ptr<spdlog::logger> make_turn_logger();

}  // namespace dingo::card
