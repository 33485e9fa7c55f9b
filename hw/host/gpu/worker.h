// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>

namespace dingo::gpu {

/// Queues `job` for the thread that opens and closes GPU memory, as the driver may take seconds.
/// Jobs run in order. Throws std::system_error if the thread cannot be started.
void do_soon(std::function<void()> job);
/// The same, before all jobs of do_soon() that have not begun: opening memory may take long, and a
/// client waits until its own is closed.
void do_next(std::function<void()> job);

}  // namespace dingo::gpu
