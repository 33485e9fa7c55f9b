// SPDX-License-Identifier: BSD-2-Clause
//
// GPU memory by the CUDA driver API, for tests with NVIDIA's libcuda or the fake one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpu_test {

/// Thrown if this machine has no GPU or no driver.
struct NoGpu {};

/// Initialises the driver and makes GPU 0's primary context current. Throws NoGpu.
void start_cuda();

std::uint64_t allocate(std::size_t bytes);  ///< cuMemAlloc
/// cuMemCreate with POSIX descriptors: maps `pieces` allocations of `bytes` bytes, rounded up to 2
/// MiB, one after the other.
std::uint64_t allocate_vmm(std::size_t bytes, std::size_t pieces = 1);
std::uint64_t allocate_async(std::size_t bytes);  ///< of the default pool
void release(std::uint64_t address);              ///< of allocate()
/// Destroys this process's context with all of its memory.
void end_context();

void put(std::uint64_t address, const std::vector<std::uint8_t>& data);
std::vector<std::uint8_t> get(std::uint64_t address, std::size_t bytes);

/// Exports a DMABuf of the whole pages around the range; `offset`: of the range in it.
int export_dmabuf(std::uint64_t address, std::size_t bytes, std::uint64_t& offset);

}  // namespace gpu_test
