// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>

namespace dingo::gpu {

/// Queues `job` for the thread that opens and closes GPU memory, as the driver may take seconds.
/// Jobs run in order. Throws std::system_error if the thread cannot be started.
void do_soon(std::function<void()> job);

}  // namespace dingo::gpu
