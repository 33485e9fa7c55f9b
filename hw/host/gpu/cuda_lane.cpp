// SPDX-License-Identifier: BSD-2-Clause
#include "host/gpu/cuda_lane.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

namespace dingo::gpu {
namespace {

/// What follows a copy mostly comes soon, and to wake a thread takes longer than to copy. Not where
/// it would take the processor from a card.
constexpr Nanoseconds kSpin = 100'000;
constexpr unsigned kSpinProcessors = 4;

/// Below this the driver gives a copy to the GPU to the engine that runs kernels, where it waits
/// for the end of the time slice of other processes: 2.4 ms were measured on an H100. Rows go by
/// the copy engine.
constexpr std::size_t kRows = std::size_t{64} << 10;

Nanoseconds spin() {
    return std::thread::hardware_concurrency() >= kSpinProcessors ? kSpin : 0;
}

}  // namespace

CudaLane::CudaLane(const cuda::Uuid& uuid)
    : device_(CudaDevice::open(uuid)), mover_(std::make_shared<uverbs::Mover>(spin())) {
    if (!device_->use()) {
        throw CudaError(ENODEV, "the card's context on the GPU is gone");
    }
    try {
        make();
    } catch (const CudaError&) {
        end();
        throw;
    }
}

CudaLane::~CudaLane() {
    if (device_->use()) {
        end();
    }
}

void CudaLane::make() {
    const CudaCalls& calls = device_->calls();
    const auto must = [this](cuda::Result result, const char* call) {
        device_->check(result, call, ENOMEM);
    };
    must(calls.create_stream(&in_, cuda::kStreamNonBlocking), "cuStreamCreate");
    must(calls.create_stream(&out_, cuda::kStreamNonBlocking), "cuStreamCreate");
    void* at = nullptr;
    must(calls.allocate_host(&at, (kSlots + 1) * kStaging, 0), "cuMemHostAlloc");
    staging_ = static_cast<std::byte*>(at);
    for (unsigned i = 0; i <= kSlots; ++i) {
        Slot& slot = i < kSlots ? slots_[i] : direct_;
        slot.at = staging_ + i * kStaging;
        must(calls.create_event(&slot.done, cuda::kEventDisableTiming), "cuEventCreate");
    }
}

void CudaLane::end() {
    const CudaCalls& calls = device_->calls();
    // Nothing is on its way into memory that is given back.
    for (const cuda::Stream stream : {in_, out_}) {
        if (stream != nullptr) {
            calls.synchronize(stream);
            calls.destroy_stream(stream);
        }
    }
    for (unsigned i = 0; i <= kSlots; ++i) {
        const cuda::Event event = i < kSlots ? slots_[i].done : direct_.done;
        if (event != nullptr) {
            calls.destroy_event(event);
        }
    }
    if (staging_ != nullptr) {
        calls.free_host(staging_);
    }
}

bool CudaLane::use(std::string& why) const {
    if (!device_->use()) {
        why = "the card's context on the GPU is gone";
        return false;
    }
    return true;
}

bool CudaLane::check(cuda::Result result, const char* call, std::string& why) const {
    if (result != cuda::kSuccess) {
        why = device_->words(call, result);
        return false;
    }
    return true;
}

bool CudaLane::copy_rows(cuda::DevicePointer to, const std::byte* from, std::size_t width,
                         std::string& why) const {
    cuda::Memcpy2d copy;
    copy.src_type = cuda::kMemoryHost;
    copy.src_host = from;
    copy.src_pitch = width;
    copy.dst_type = cuda::kMemoryDevice;
    copy.dst_device = to;
    copy.dst_pitch = width;
    copy.width = width;
    copy.height = 2;
    return check(device_->calls().copy_2d(&copy, in_), "cuMemcpy2DAsync", why);
}

bool CudaLane::copy_in(cuda::DevicePointer to, const std::byte* from, std::size_t bytes,
                       std::string& why) const {
    if (bytes >= kRows || bytes < 2) {
        return check(device_->calls().copy_to_device(to, from, bytes, in_), "cuMemcpyHtoDAsync",
                     why);
    }
    // Two rows; of an odd number of bytes the last two once more.
    return copy_rows(to, from, bytes / 2, why) &&
           (bytes % 2 == 0 || copy_rows(to + bytes - 2, from + bytes - 2, 1, why));
}

bool CudaLane::started(cuda::Stream stream, std::string& why) {
    if (!check(device_->calls().record_event(slots_[next_].done, stream), "cuEventRecord", why)) {
        return false;
    }
    next_ = (next_ + 1) % kSlots;
    return true;
}

bool CudaLane::start_read(cuda::DevicePointer from, std::size_t bytes, std::string& why) {
    return use(why) &&
           check(device_->calls().copy_to_host(slots_[next_].at, from, bytes, out_),
                 "cuMemcpyDtoHAsync", why) &&
           started(out_, why);
}

bool CudaLane::start_write(cuda::DevicePointer to, std::span<const std::byte> from,
                           std::string& why) {
    std::memcpy(slots_[next_].at, from.data(), from.size());
    return use(why) && copy_in(to, slots_[next_].at, from.size(), why) && started(in_, why);
}

bool CudaLane::finish(std::span<std::byte> to, std::string& why) {
    const Slot& slot = slots_[oldest_];
    oldest_ = (oldest_ + 1) % kSlots;
    if (!check(device_->calls().wait_for_event(slot.done), "cuEventSynchronize", why)) {
        return false;
    }
    if (!to.empty()) {
        std::memcpy(to.data(), slot.at, to.size());
    }
    return true;
}

bool CudaLane::read(cuda::DevicePointer from, std::span<std::byte> to, std::string& why) {
    const CudaCalls& calls = device_->calls();
    const std::scoped_lock lock(direct_mutex_);
    bool ok = use(why);
    for (std::size_t at = 0; ok && at < to.size(); at += kStaging) {
        const auto piece = to.subspan(at, std::min(kStaging, to.size() - at));
        ok = check(calls.copy_to_host(direct_.at, from + at, piece.size(), out_),
                   "cuMemcpyDtoHAsync", why) &&
             check(calls.record_event(direct_.done, out_), "cuEventRecord", why) &&
             check(calls.wait_for_event(direct_.done), "cuEventSynchronize", why);
        if (ok) {
            std::memcpy(piece.data(), direct_.at, piece.size());
        }
    }
    return ok;
}

bool CudaLane::write(cuda::DevicePointer to, std::span<const std::byte> from, std::string& why) {
    const CudaCalls& calls = device_->calls();
    const std::scoped_lock lock(direct_mutex_);
    bool ok = use(why);
    for (std::size_t at = 0; ok && at < from.size(); at += kStaging) {
        const auto piece = from.subspan(at, std::min(kStaging, from.size() - at));
        std::memcpy(direct_.at, piece.data(), piece.size());
        ok = copy_in(to + at, direct_.at, piece.size(), why) &&
             check(calls.record_event(direct_.done, in_), "cuEventRecord", why) &&
             check(calls.wait_for_event(direct_.done), "cuEventSynchronize", why);
    }
    return ok;
}

}  // namespace dingo::gpu
