// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// Runs a job by threads of this process or by a GPU.
#pragma once

#include <cstddef>
#include <string>

#include "dingo_gda_host.h"

namespace gda {

struct Job;

/// Returns the kind of device that this program was built for.
dingo_gda_kind device_kind();
/// Allocates zeroed memory that the device can use at the same address as this process.
void* device_memory(std::size_t bytes);
/// Starts work() in job->threads threads; the job is device_memory().
void start(Job* job);
/// Waits until all threads have ended. Throws std::runtime_error.
void finish();

/// Between them a stream of the device is captured in global mode, if it has streams.
void begin_capture();
void end_capture();

}  // namespace gda
