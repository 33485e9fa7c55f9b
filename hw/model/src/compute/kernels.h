// SPDX-License-Identifier: BSD-2-Clause
//
// The compute kernels (docs/reference/compute.md): pure functions of word, offset in the message
// and the QP's parameter. Bit-identical to those in SystemVerilog.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "dingo_hw.h"

namespace dingo::model::compute {

/// The kernel and parameter that SET_COMPUTE gave a QP.
struct Config {
    std::uint32_t id = DINGO_KERNEL_PASS;
    std::uint32_t param = 0;
    std::uint32_t reciprocal = 0;  ///< of param, see modulus.h
};

struct Kernel {
    std::string_view name;         ///< at most 16 characters
    std::uint32_t smallest_param;  ///< 0: the kernel has no parameter; largest_param is 0, too
    std::uint32_t largest_param;
    std::uint32_t record;  ///< record size in bytes
    /// Transforms whole words; `offset`, of the first word in the message, is a multiple of 4.
    void (*words)(const Config& config, std::uint32_t offset, std::span<std::byte> data);
};

/// All kernels, in order of their ids.
std::span<const Kernel> kernels() noexcept;

/// Configures a kernel with its parameter; both were checked by SET_COMPUTE.
Config configure(std::uint32_t kernel, std::uint32_t param) noexcept;

/// Transforms bytes [offset, offset + data.size()) of a message. All pieces but the last must be
/// multiples of 4 bytes; bytes after the last whole word are not changed.
void transform(const Config& config, std::uint32_t offset, std::span<std::byte> data);

// The kernels, each in its own file.
void add_one(const Config& config, std::uint32_t offset, std::span<std::byte> data);
void dlrm(const Config& config, std::uint32_t offset, std::span<std::byte> data);

/// Returns ln(max(value, 0) + 1) as the bits of an IEEE 754 single.
std::uint32_t log_plus_one(std::int32_t value) noexcept;

}  // namespace dingo::model::compute
