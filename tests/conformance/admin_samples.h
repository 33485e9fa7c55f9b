// SPDX-License-Identifier: BSD-2-Clause
//
// Good admin commands, to be sent as they are or spoiled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fake_host.h"

namespace dingo::conformance {

/// A well-formed command, with the size of its structure.
struct Sample {
    std::uint16_t opcode;
    std::size_t size;
    std::vector<std::byte> bytes;
};

/// One of each kind, in an order in which all of them succeed on a card after TestDriver::start();
/// their memory is new memory of `host`. Only what a card with these capabilities (enum cap) takes.
std::vector<Sample> admin_samples(test::TestHost& host, std::uint64_t capabilities);

}  // namespace dingo::conformance
