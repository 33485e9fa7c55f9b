// SPDX-License-Identifier: BSD-2-Clause
//
// Card memory by plain verbs: what both programs need.
#pragma once

#include <infiniband/dingodv.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "../verbs.h"

namespace p2p {

using examples::check;
using examples::Context;
using examples::Deleter;
using examples::fail;

/// ibv_free_dm() is a function of each file that has the header.
struct FreeMemory {
    void operator()(ibv_dm* memory) const { ibv_free_dm(memory); }
};
using Memory = std::unique_ptr<ibv_dm, FreeMemory>;
using Region = std::unique_ptr<ibv_mr, Deleter<ibv_dereg_mr>>;

struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The Dingo card of this name; "": the n-th one.
Context open_card(const std::string& name, unsigned n);

/// Memory of the card behind `context`. Throws std::runtime_error that says what to do.
Memory allocate(ibv_context* context, std::size_t bytes);

/// Copy bytes into the card's memory, and out of it, with the CPU.
void put(ibv_dm* memory, std::span<const std::byte> bytes);
void fetch(ibv_dm* memory, std::span<std::byte> bytes);

/// Bytes that depend on their place and on `seed`.
void fill(std::span<std::byte> bytes, std::uint64_t seed);
/// FNV-1a, 64 bits.
std::uint64_t checksum(std::span<const std::byte> bytes);

/// Of --size: a number of bytes, a multiple of 4096.
CLI::Validator whole_pages();

/// Runs a program's main part: exit status 0, 1 it failed, 2 wrong usage.
int run(const char* program, void (*body)(int, char**), int argc, char** argv);

}  // namespace p2p
