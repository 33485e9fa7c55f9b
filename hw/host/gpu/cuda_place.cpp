// SPDX-License-Identifier: BSD-2-Clause
#include "host/gpu/cuda_place.h"

#include <bit>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "host/gpu/worker.h"

namespace dingo::gpu {

using uverbs::FarAccess;

namespace {

constexpr const char* kBeyond = "out of bounds";  // short, as each access constructs a string from
                                                  // it

}  // namespace

CudaPlace::CudaPlace(std::shared_ptr<CudaLane> lane, const CudaMemory& memory, std::uint64_t end)
    : FarPlace(lane->mover(), lane->fetcher()), lane_(std::move(lane)), end_(end) {
    const CudaDevice& device = lane_->device();
    if (end > memory.size) {
        throw CudaError(EINVAL, "the region is longer than the GPU's allocation");
    }
    if (!device.use()) {
        throw CudaError(ENODEV, "the card's context on the GPU is gone");
    }
    opened_ = memory.pieces.empty() ? open_ipc(device, memory, end) : open_pieces(device, memory);
}

// Closing may wait for the GPU, so the worker's thread does it. The caller may be the mover.
CudaPlace::~CudaPlace() {
    try {
        do_next([lane = std::move(lane_), opened = std::move(opened_), closing = closing_] {
            if (lane->device().use()) {
                close(lane->device(), opened);
            }
            closing->done();
        });
    } catch (const std::exception& e) {
        log::error("cannot close GPU memory: {}", e.what());
        closing_->done();
    }
}

CudaPlace::Opened CudaPlace::open_ipc(const CudaDevice& device, const CudaMemory& memory,
                                      std::uint64_t end) {
    const CudaCalls& calls = device.calls();
    Opened opened;
    device.check(calls.open_ipc(&opened.address, memory.ipc, cuda::kIpcLazyEnablePeerAccess),
                 "cuIpcOpenMemHandle", EOPNOTSUPP);
    // The client's size may be wrong, and memory behind the allocation belongs to others.
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

void CudaPlace::map(const CudaDevice& device, const CudaMemory::Piece& piece,
                    cuda::DevicePointer address) {
    const CudaCalls& calls = device.calls();
    cuda::AllocationHandle handle = 0;
    const auto os_handle = static_cast<std::intptr_t>(piece.descriptor);
    device.check(
        calls.import_handle(&handle, std::bit_cast<void*>(os_handle), cuda::kHandlePosixFd),
        "cuMemImportFromShareableHandle", EOPNOTSUPP);
    // The driver rejects sizes larger than the allocation.
    const cuda::Result result = calls.map(address, piece.bytes, 0, handle, 0);
    calls.release_handle(handle);  // the mapping keeps the memory
    device.check(result, "cuMemMap", EOPNOTSUPP);
}

CudaPlace::Opened CudaPlace::open_pieces(const CudaDevice& device, const CudaMemory& memory) {
    Opened opened;
    opened.mapped.reserve(memory.pieces.size());
    device.check(device.calls().reserve(&opened.address, memory.size, 0, 0, 0),
                 "cuMemAddressReserve", EOPNOTSUPP);
    opened.reserved = memory.size;
    try {
        cuda::DevicePointer at = opened.address;
        for (const CudaMemory::Piece& piece : memory.pieces) {
            map(device, piece, at);
            opened.mapped.push_back(piece.bytes);
            at += piece.bytes;
        }
        const cuda::AccessDescription access{{cuda::kLocationDevice, device.number()},
                                             cuda::kAccessReadWrite};
        device.check(device.calls().set_access(opened.address, memory.size, &access, 1),
                     "cuMemSetAccess", EOPNOTSUPP);
    } catch (...) {
        close(device, opened);
        throw;
    }
    return opened;
}

void CudaPlace::close(const CudaDevice& device, const Opened& opened) {
    const CudaCalls& calls = device.calls();
    if (opened.reserved == 0) {
        calls.close_ipc(opened.address);
        return;
    }
    cuda::DevicePointer at = opened.address;
    for (const std::uint64_t bytes : opened.mapped) {
        calls.unmap(at, bytes);
        at += bytes;
    }
    calls.free_address(opened.address, opened.reserved);
}

bool CudaPlace::told(bool ok, const std::string& why) {
    if (!ok && !has_told_.exchange(true)) {
        log::warn("cannot copy GPU memory: {}; the QPs that use it fail", why);
    }
    return ok;
}

bool CudaPlace::has(std::uint64_t offset, std::size_t bytes) const {
    return offset <= end_ && bytes <= end_ - offset;
}

bool CudaPlace::do_read(std::uint64_t offset, std::span<std::byte> dst) {
    std::string why = kBeyond;
    return told(has(offset, dst.size()) && lane_->read(opened_.address + offset, dst, why), why);
}

bool CudaPlace::do_write(std::uint64_t offset, std::span<const std::byte> src) {
    std::string why = kBeyond;
    return told(has(offset, src.size()) && lane_->write(opened_.address + offset, src, why), why);
}

bool CudaPlace::do_start(FarAccess& access) {
    std::string why = kBeyond;
    const std::span<std::byte> data = access.data.bytes();
    const cuda::DevicePointer at = opened_.address + access.offset;
    return told(has(access.offset, data.size()) &&
                    (access.kind == FarAccess::Kind::kRead ? lane_->start_read(at, data, why)
                                                           : lane_->start_write(at, data, why)),
                why);
}

bool CudaPlace::do_finish(const FarAccess& access) {
    std::string why;
    return told(lane_->finish(access.kind == FarAccess::Kind::kRead, why), why);
}

}  // namespace dingo::gpu
