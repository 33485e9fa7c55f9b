// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>

namespace dingo::gpu {

/// Calls `job` soon, on the thread that opens and closes memory of GPUs: a driver may take seconds
/// for that, and nobody else waits. Jobs are done in order. Throws std::system_error: no thread.
void do_soon(std::function<void()> job);

}  // namespace dingo::gpu
