// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include "exit.h"
#include "options/options.h"
#include "report/result.h"

namespace rdma_bench {

/// One run of a test from the device to the last row. Errors are told on stderr and in result.error
/// of the sink's done().
Exit run_session(Options options, Sink& sink);

}  // namespace rdma_bench
