// SPDX-License-Identifier: BSD-2-Clause
//
// Valid admin commands, to be sent unchanged or with errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fake_host.h"

namespace dingo::conformance {

/// A valid command and the size of its structure.
struct Sample {
    std::uint16_t opcode;
    std::size_t size;
    std::vector<std::byte> bytes;
};

/// Returns one command of each kind that a card with these capabilities (enum cap) accepts, in an
/// order in which all succeed after TestDriver::start(). They use new memory of `host`.
std::vector<Sample> admin_samples(test::TestHost& host, std::uint64_t capabilities);

}  // namespace dingo::conformance
