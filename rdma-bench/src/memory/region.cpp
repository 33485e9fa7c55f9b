// SPDX-License-Identifier: BSD-2-Clause
#include "memory/region.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace rdma_bench {
namespace {

/// Returns the most likely cause of an errno of ibv_reg_dmabuf_mr().
std::string likely_cause(int error, const std::string& device) {
    switch (error) {
        case EOPNOTSUPP:
            return device +
                   " or its driver takes no DMABufs, or the exporter cannot be reached from it "
                   "(a GPU needs Linux 5.12, CONFIG_PCI_P2PDMA, and a path between both devices)";
        case EPROTONOSUPPORT:
        case ENOTTY:
        case ENOSYS:
            return "this kernel cannot register DMABufs: Linux 5.12 or later is needed";
        case EINVAL:
            return "the descriptor is no DMABuf of this kernel, or is shorter than the region";
        case ENOMEM:
        case EAGAIN:
            return "the memory cannot be pinned or mapped: see `ulimit -l`, and whether the GPU's "
                   "BAR is large enough";
        case ENODEV:
        case EPERM:
            return "the exporter does not let " + device + " map its memory";
        default:
            return "see the kernel's log";
    }
}

}  // namespace

void check_range(std::size_t size, std::size_t offset, std::size_t length) {
    if (offset > size || length > size - offset) {
        throw std::out_of_range("buffer of " + std::to_string(size) + " bytes: no " +
                                std::to_string(length) + " at " + std::to_string(offset));
    }
}

ibv_mr* register_memory(const BufferRequest& request, void* memory, const std::string& what) {
    ibv_mr* mr = ibv_reg_mr(request.pd, memory, request.size, request.access);
    if (mr == nullptr) {
        const int error = errno;
        throw std::system_error(
            error, std::generic_category(),
            "ibv_reg_mr of " + std::to_string(request.size) + " bytes of " + what +
                (error == ENOMEM || error == EAGAIN ? " (locked memory is limited: see `ulimit -l`)"
                                                    : ""));
    }
    return mr;
}

ibv_mr* register_dmabuf(const BufferRequest& request, const Descriptor& dmabuf,
                        std::uint64_t offset, std::uint64_t iova, const std::string& kind) {
    ibv_mr* mr =
        ibv_reg_dmabuf_mr(request.pd, offset, request.size, iova, dmabuf.get(), request.access);
    if (mr == nullptr) {
        const int error = errno;
        const char* device = ibv_get_device_name(request.pd->context->device);
        throw std::runtime_error("memory kind " + kind + ": ibv_reg_dmabuf_mr of " +
                                 std::to_string(request.size) + " bytes at offset " +
                                 std::to_string(offset) + ": " + std::strerror(error) + ": " +
                                 likely_cause(error, device));
    }
    return mr;
}

int device_index(std::string_view argument, const std::string& kind) {
    if (argument.empty()) {
        return 0;
    }
    int index = -1;
    const auto [end, error] =
        std::from_chars(argument.data(), argument.data() + argument.size(), index);
    if (error != std::errc() || end != argument.data() + argument.size() || index < 0) {
        throw std::invalid_argument("memory kind " + kind + ":" + std::string(argument) +
                                    ": the number of a device is expected behind the colon");
    }
    return index;
}

}  // namespace rdma_bench
