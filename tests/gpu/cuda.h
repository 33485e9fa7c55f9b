// SPDX-License-Identifier: BSD-2-Clause
//
// Memory of a GPU by the CUDA driver API, for tests: it may be NVIDIA's libcuda or the fake one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpu_test {

/// This machine has no GPU, or no driver.
struct NoGpu {};

/// Starts the driver and makes GPU 0's primary context current. NoGpu.
void start_cuda();

std::uint64_t allocate(std::size_t bytes);  ///< cuMemAlloc
/// cuMemCreate with a POSIX descriptor: `pieces` allocations of so many bytes, rounded up to 2 MiB,
/// one behind the other.
std::uint64_t allocate_vmm(std::size_t bytes, std::size_t pieces = 1);
std::uint64_t allocate_async(std::size_t bytes);  ///< of the default pool
void release(std::uint64_t address);              ///< of allocate()
/// The context of this process ends, and all of its memory.
void end_context();

void put(std::uint64_t address, const std::vector<std::uint8_t>& data);
std::vector<std::uint8_t> get(std::uint64_t address, std::size_t bytes);

/// A DMABuf of whole pages around the range, and where the range begins in it.
int export_dmabuf(std::uint64_t address, std::size_t bytes, std::uint64_t& offset);

}  // namespace gpu_test
