// SPDX-License-Identifier: BSD-2-Clause
// Registered memory for messages. One implementation per kind of memory.
#pragma once
#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace rdma_bench {

/// A registered buffer. The implementation's destructor deregisters it before it frees the memory.
class Buffer {
  public:
    virtual ~Buffer() = default;
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    /// Address for an SGE or, at the other side, for wr.rdma.remote_addr: a CPU address for host
    /// memory, a GPU address for a GPU, 0 for device memory.
    [[nodiscard]] virtual std::uint64_t address() const = 0;
    [[nodiscard]] virtual std::size_t size() const = 0;
    /// Address for loads and stores by the CPU; null if it cannot access the memory.
    [[nodiscard]] virtual std::byte* host() const = 0;
    [[nodiscard]] virtual ibv_mr* mr() const = 0;
    /// Registers the same memory again (--mr_per_qp). The caller owns the region and must call
    /// ibv_dereg_mr() before the buffer is destroyed.
    virtual ibv_mr* register_again() = 0;

    /// Copy between the buffer and the host, for all kinds. @throws std::out_of_range
    virtual void write(std::size_t offset, std::span<const std::byte> data) = 0;
    virtual void read(std::size_t offset, std::span<std::byte> data) const = 0;

    /// Waits until work queued on a GPU so far, which may access the buffer, has finished; does
    /// nothing for other kinds.
    virtual void settle() {}

    /// Describes the buffer in one line: "host memory, 4 KiB pages", "NVIDIA H200, CUDA 13.0,
    /// DMABuf offset 0x1000".
    [[nodiscard]] virtual std::string description() const = 0;
};

/// Parameters of make_buffer() that depend on the device.
struct BufferRequest {
    ibv_pd* pd = nullptr;
    std::size_t size = 0;
    int access = 0;  ///< IBV_ACCESS_*
};

/// Creates a zeroed buffer.
/// @param spec host | huge | hip[:n] | cuda[:n] | dmabuf:PATH | dm @throws std::invalid_argument
/// for an unknown kind; std::runtime_error with what failed and what to do if this machine, driver,
/// kernel or device does not support it
std::unique_ptr<Buffer> make_buffer(std::string_view spec, const BufferRequest& request);

/// Lists the kinds for --help, one per line with its requirements.
std::string memory_kinds();

// One function per kind; `argument` is the text after the colon, empty if there is none.
std::unique_ptr<Buffer> make_host_buffer(std::string_view argument, const BufferRequest& request);
std::unique_ptr<Buffer> make_huge_buffer(std::string_view argument, const BufferRequest& request);
std::unique_ptr<Buffer> make_hip_buffer(std::string_view argument, const BufferRequest& request);
std::unique_ptr<Buffer> make_cuda_buffer(std::string_view argument, const BufferRequest& request);
std::unique_ptr<Buffer> make_dmabuf_buffer(std::string_view argument, const BufferRequest& request);
std::unique_ptr<Buffer> make_device_buffer(std::string_view argument, const BufferRequest& request);

}  // namespace rdma_bench
