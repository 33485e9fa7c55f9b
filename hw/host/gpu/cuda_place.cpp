// SPDX-License-Identifier: BSD-2-Clause
#include "host/gpu/cuda_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "host/gpu/worker.h"

namespace dingo::gpu {

CudaLane::CudaLane(const cuda::Uuid& uuid) : device_(CudaDevice::open(uuid)) {
    const CudaCalls& calls = device_->calls();
    if (!device_->use()) {
        throw CudaError(ENODEV, "the card's context on the GPU is gone");
    }
    device_->check(calls.create_stream(&stream_, cuda::kStreamNonBlocking), "cuStreamCreate",
                   ENOMEM);
    void* at = nullptr;
    const cuda::Result result = calls.allocate_host(&at, kStaging, 0);
    if (result != cuda::kSuccess) {
        calls.destroy_stream(stream_);
        throw CudaError(ENOMEM, device_->words("cuMemHostAlloc", result));
    }
    staging_ = static_cast<std::byte*>(at);
}

CudaLane::~CudaLane() {
    const CudaCalls& calls = device_->calls();
    if (device_->use()) {
        calls.free_host(staging_);
        calls.destroy_stream(stream_);
    }
}

template <typename Copy>
bool CudaLane::in_pieces(std::size_t bytes, std::string& why, Copy copy) {
    const std::scoped_lock lock(mutex_);
    if (!device_->use()) {
        why = "the card's context on the GPU is gone";
        return false;
    }
    for (std::size_t at = 0; at < bytes; at += kStaging) {
        const char* call = "";
        const cuda::Result result = copy(at, std::min(kStaging, bytes - at), call);
        if (result != cuda::kSuccess) {
            why = device_->words(call, result);
            return false;
        }
    }
    return true;
}

bool CudaLane::read(cuda::DevicePointer from, std::span<std::byte> to, std::string& why) {
    const CudaCalls& calls = device_->calls();
    return in_pieces(to.size(), why, [&](std::size_t at, std::size_t bytes, const char*& call) {
        call = "cuMemcpyDtoHAsync";
        cuda::Result result = calls.copy_to_host(staging_, from + at, bytes, stream_);
        if (result == cuda::kSuccess) {
            call = "cuStreamSynchronize";
            result = calls.synchronize(stream_);
        }
        if (result == cuda::kSuccess) {
            std::memcpy(to.data() + at, staging_, bytes);
        }
        return result;
    });
}

bool CudaLane::write(cuda::DevicePointer to, std::span<const std::byte> from, std::string& why) {
    const CudaCalls& calls = device_->calls();
    return in_pieces(from.size(), why, [&](std::size_t at, std::size_t bytes, const char*& call) {
        std::memcpy(staging_, from.data() + at, bytes);
        call = "cuMemcpyHtoDAsync";
        cuda::Result result = calls.copy_to_device(to + at, staging_, bytes, stream_);
        if (result == cuda::kSuccess) {
            call = "cuStreamSynchronize";
            result = calls.synchronize(stream_);
        }
        return result;
    });
}

CudaPlace::CudaPlace(std::shared_ptr<CudaLane> lane, const CudaMemory& memory, std::uint64_t end)
    : FarPlace(lane->mover()), lane_(std::move(lane)), end_(end) {
    const CudaDevice& device = lane_->device();
    if (end > memory.size) {
        throw CudaError(EINVAL, "the region is longer than the GPU's allocation");
    }
    if (!device.use()) {
        throw CudaError(ENODEV, "the card's context on the GPU is gone");
    }
    opened_ = memory.descriptor < 0 ? open_ipc(device, memory, end)
                                    : open_descriptor(device, memory, end);
}

// Closing may wait for the GPU, so another thread does it; the mover may be what ends this.
CudaPlace::~CudaPlace() {
    try {
        do_soon([lane = std::move(lane_), opened = opened_] {
            if (lane->device().use()) {
                close(lane->device(), opened);
            }
        });
    } catch (const std::exception& e) {
        log::error("memory of a GPU stays open: {}", e.what());
    }
}

CudaPlace::Opened CudaPlace::open_ipc(const CudaDevice& device, const CudaMemory& memory,
                                      std::uint64_t end) {
    const CudaCalls& calls = device.calls();
    Opened opened;
    device.check(calls.open_ipc(&opened.address, memory.ipc, cuda::kIpcLazyEnablePeerAccess),
                 "cuIpcOpenMemHandle", EOPNOTSUPP);
    // What the client says may be wrong: what lies behind belongs to others.
    cuda::DevicePointer base = 0;
    std::size_t bytes = 0;
    const cuda::Result result = calls.address_range(&base, &bytes, opened.address);
    if (result != cuda::kSuccess || opened.address < base || opened.address - base > bytes ||
        end > bytes - (opened.address - base)) {
        close(device, opened);
        device.check(result, "cuMemGetAddressRange", EOPNOTSUPP);
        throw CudaError(EINVAL, "the region is longer than the GPU's allocation");
    }
    return opened;
}

CudaPlace::Opened CudaPlace::open_descriptor(const CudaDevice& device, const CudaMemory& memory,
                                             std::uint64_t /*end*/) {
    const CudaCalls& calls = device.calls();
    cuda::AllocationHandle handle = 0;
    const auto os_handle = static_cast<std::intptr_t>(memory.descriptor);
    device.check(
        calls.import_handle(&handle, std::bit_cast<void*>(os_handle), cuda::kHandlePosixFd),
        "cuMemImportFromShareableHandle", EOPNOTSUPP);
    Opened opened;
    const char* call = "cuMemAddressReserve";
    cuda::Result result = calls.reserve(&opened.address, memory.size, 0, 0, 0);
    if (result == cuda::kSuccess) {
        call = "cuMemMap";
        // The driver refuses more than the allocation has.
        result = calls.map(opened.address, memory.size, 0, handle, 0);
        if (result == cuda::kSuccess) {
            opened.mapped = memory.size;
            const cuda::AccessDescription access{{cuda::kLocationDevice, device.number()},
                                                 cuda::kAccessReadWrite};
            call = "cuMemSetAccess";
            result = calls.set_access(opened.address, memory.size, &access, 1);
            if (result != cuda::kSuccess) {
                calls.unmap(opened.address, memory.size);
            }
        }
        if (result != cuda::kSuccess) {
            calls.free_address(opened.address, memory.size);
        }
    }
    calls.release_handle(handle);  // the mapping keeps the memory
    device.check(result, call, EOPNOTSUPP);
    return opened;
}

void CudaPlace::close(const CudaDevice& device, const Opened& opened) {
    const CudaCalls& calls = device.calls();
    if (opened.mapped == 0) {
        calls.close_ipc(opened.address);
    } else {
        calls.unmap(opened.address, opened.mapped);
        calls.free_address(opened.address, opened.mapped);
    }
}

bool CudaPlace::told(bool ok, const std::string& why) {
    if (!ok && !has_told_) {
        has_told_ = true;
        log::warn("a GPU's memory cannot be copied: {}; its QPs fail", why);
    }
    return ok;
}

bool CudaPlace::do_read(std::uint64_t offset, std::span<std::byte> dst) {
    std::string why = "beyond the region";
    return told(offset <= end_ && dst.size() <= end_ - offset &&
                    lane_->read(opened_.address + offset, dst, why),
                why);
}

bool CudaPlace::do_write(std::uint64_t offset, std::span<const std::byte> src) {
    std::string why = "beyond the region";
    return told(offset <= end_ && src.size() <= end_ - offset &&
                    lane_->write(opened_.address + offset, src, why),
                why);
}

}  // namespace dingo::gpu
