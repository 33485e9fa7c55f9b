// SPDX-License-Identifier: BSD-2-Clause
// Memory that messages come from and go to, registered. One implementation per kind.
#pragma once
#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace rdma_bench {

/// A registered piece of memory. The implementation's destructor deregisters before it releases the
/// memory.
class Buffer {
  public:
    virtual ~Buffer() = default;
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    /// What goes into an SGE or, at the other side, into wr.rdma.remote_addr: the CPU's address for
    /// host memory, the GPU's for a GPU, 0 for device memory.
    [[nodiscard]] virtual std::uint64_t address() const = 0;
    [[nodiscard]] virtual std::size_t size() const = 0;
    /// Where this CPU reads and writes it by ordinary instructions; null when it cannot.
    [[nodiscard]] virtual std::byte* host() const = 0;
    [[nodiscard]] virtual ibv_mr* mr() const = 0;
    /// A further region on the same memory (--mr_per_qp), owned by the caller (ibv_dereg_mr before
    /// the buffer goes).
    virtual ibv_mr* register_again() = 0;

    /// Copies between the buffer and the host, whatever the kind. Out of bounds: std::out_of_range.
    virtual void write(std::size_t offset, std::span<const std::byte> data) = 0;
    virtual void read(std::size_t offset, std::span<std::byte> data) const = 0;

    /// One line: "host memory, 4 KiB pages", "NVIDIA H200, CUDA 13.0, DMABuf offset 0x1000".
    [[nodiscard]] virtual std::string description() const = 0;
};

/// What make_buffer needs of the device.
struct BufferRequest {
    ibv_pd* pd = nullptr;
    std::size_t size = 0;
    int access = 0;  ///< IBV_ACCESS_*
};

/// A zeroed buffer.
/// @param spec host | huge | hip[:n] | cuda[:n] | dmabuf:PATH | dm
/// @throws std::invalid_argument for a kind that there is not; std::runtime_error with what failed
/// and what to do when this machine, driver, kernel or device cannot
std::unique_ptr<Buffer> make_buffer(std::string_view spec, const BufferRequest& request);

/// The kinds of --help, one per line with what each needs.
std::string memory_kinds();

// One function per kind; `argument` is what stands behind the colon, empty when nothing does.
std::unique_ptr<Buffer> make_host_buffer(std::string_view argument, const BufferRequest& request);
std::unique_ptr<Buffer> make_huge_buffer(std::string_view argument, const BufferRequest& request);
std::unique_ptr<Buffer> make_hip_buffer(std::string_view argument, const BufferRequest& request);
std::unique_ptr<Buffer> make_cuda_buffer(std::string_view argument, const BufferRequest& request);
std::unique_ptr<Buffer> make_dmabuf_buffer(std::string_view argument, const BufferRequest& request);
std::unique_ptr<Buffer> make_device_buffer(std::string_view argument, const BufferRequest& request);

}  // namespace rdma_bench
