// SPDX-License-Identifier: BSD-2-Clause
//
// The compute kernels (docs/reference/compute.md): pure functions of word, offset in the message
// and the QP's parameter. The SystemVerilog ones give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "dingo_hw.h"

namespace dingo::model::compute {

/// What SET_COMPUTE gave a QP, and what follows from it.
struct Config {
    std::uint32_t id = DINGO_KERNEL_PASS;
    std::uint32_t param = 0;
    std::uint32_t reciprocal = 0;  ///< of param, see modulus.h
};

struct Kernel {
    std::string_view name;         ///< at most 16 characters
    std::uint32_t smallest_param;  ///< 0: takes none, and then largest_param is 0, too
    std::uint32_t largest_param;
    std::uint32_t record;  ///< bytes
    /// Transforms whole words; `offset` of the first one in the message is a multiple of 4.
    void (*words)(const Config& config, std::uint32_t offset, std::span<std::byte> data);
};

/// All kernels, in order of their ids.
std::span<const Kernel> kernels() noexcept;

/// Configures a kernel with a parameter; SET_COMPUTE has checked both.
Config configure(std::uint32_t kernel, std::uint32_t param) noexcept;

/// Transforms bytes [offset, offset + data.size()) of a message. Only a message's last piece may be
/// no whole number of words; the bytes behind the last whole word stay.
void transform(const Config& config, std::uint32_t offset, std::span<std::byte> data);

// The kernels; each has a file of its own.
void add_one(const Config& config, std::uint32_t offset, std::span<std::byte> data);
void dlrm(const Config& config, std::uint32_t offset, std::span<std::byte> data);

/// ln(max(value, 0) + 1) as the bits of an IEEE 754 single.
std::uint32_t log_plus_one(std::int32_t value) noexcept;

}  // namespace dingo::model::compute
