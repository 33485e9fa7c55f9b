// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rdma_bench::report {

/// Writes all of `content` to `path`, "-" being standard output. A file is there whole or not at
/// all: what was there before stays until the new content is on the disk. Devices and pipes are
/// written to directly. Throws std::runtime_error with the path and errno's words.
void write_file(const std::string& path, std::string_view content);

/// Throws what write_file() would throw for a path that cannot be written to; writes nothing.
void check_writable(const std::string& path);

/// All of a file, "-" being standard input. Throws std::runtime_error, also when it is longer than
/// `most` bytes.
std::string read_file(const std::string& path, std::size_t most = std::size_t{256} << 20U);

}  // namespace rdma_bench::report
