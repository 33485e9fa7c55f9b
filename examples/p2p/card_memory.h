// SPDX-License-Identifier: BSD-2-Clause
//
// Card memory by plain verbs: code shared by both programs.
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

/// Wrapper, because ibv_free_dm() is a static function in each file that includes verbs.h.
struct FreeMemory {
    void operator()(ibv_dm* memory) const { ibv_free_dm(memory); }
};
using Memory = std::unique_ptr<ibv_dm, FreeMemory>;
using Region = std::unique_ptr<ibv_mr, Deleter<ibv_dereg_mr>>;

struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Opens the Dingo card of this name; "": the n-th one.
Context open_card(const std::string& name, unsigned n);

/// Allocates memory of the card. Throws std::runtime_error that says what to do.
Memory allocate(ibv_context* context, std::size_t bytes);

/// Copy bytes to and from the card's memory by the CPU.
void put(ibv_dm* memory, std::span<const std::byte> bytes);
void fetch(ibv_dm* memory, std::span<std::byte> bytes);

/// Generates bytes that depend on their offset and on `seed`.
void fill(std::span<std::byte> bytes, std::uint64_t seed);
/// Returns the 64-bit FNV-1a hash.
std::uint64_t checksum(std::span<const std::byte> bytes);

/// Parses --size: a number of bytes, a multiple of 4096.
CLI::Validator whole_pages();

/// Runs a program's main part. Returns the exit status: 0, 1 failed, 2 wrong usage.
int run(const char* program, void (*body)(int, char**), int argc, char** argv);

}  // namespace p2p
