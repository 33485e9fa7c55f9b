// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "connection.h"
#include "memory.h"

namespace verbs_check {

/// Serves one client until it ends the test.
void serve(Channel& channel, Device& device, Buffer& buffer);

/// Runs all operations that both sides support, `rounds` times, with sizes up to the buffer's.
/// Returns the number of verified transfers. Throws on the first wrong byte or failed operation.
unsigned run_client(Channel& channel, Device& device, Buffer& buffer, const Endpoint& remote,
                    unsigned rounds, std::uint64_t seed);

}  // namespace verbs_check
