// SPDX-License-Identifier: BSD-2-Clause
#include "host/gpu/cuda_lane.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "host/driver/far_reads.h"

namespace dingo::gpu {
namespace {

/// How long a thread spins for the next copy, which usually follows soon: waking a thread takes
/// longer than copying. 0 on machines where a spinning thread would take a processor from a card.
constexpr Nanoseconds kSpin = 100'000;
constexpr unsigned kSpinProcessors = 6;  // two threads of a card, two here

/// The driver executes smaller copies to the GPU on the compute engine, where they wait for the
/// time slices of other processes: 2.4 ms were measured on an H100. 2D copies of rows always use
/// the copy engine.
constexpr std::size_t kRows = std::size_t{64} << 10;

// A joined write and a prefetched piece must each fit into a pinned buffer.
static_assert(CudaBuffers::kLarge >= uverbs::Mover::kMostJoined &&
              CudaBuffers::kLarge >= uverbs::FarReads::kPiece);

Nanoseconds spin() {
    return std::thread::hardware_concurrency() >= kSpinProcessors ? kSpin : 0;
}

}  // namespace

CudaLane::CudaLane(const cuda::Uuid& uuid, std::shared_ptr<Account> account)
    : device_(CudaDevice::open(uuid)),
      account_(std::move(account)),
      mover_(std::make_shared<uverbs::Mover>(spin())),
      fetcher_(std::make_shared<uverbs::Mover>(spin(), mover_->room())) {
    if (!device_->use()) {
        throw CudaError(ENODEV, "the card's context on the GPU is gone");
    }
    try {
        make();
    } catch (...) {
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
    for (Way* const way : {&in_, &out_}) {
        must(calls.create_stream(&way->stream, cuda::kStreamNonBlocking), "cuStreamCreate");
        for (cuda::Event& event : way->ends) {
            must(calls.create_event(&event, cuda::kEventDisableTiming), "cuEventCreate");
        }
    }
    must(calls.create_event(&direct_end_, cuda::kEventDisableTiming), "cuEventCreate");
    buffers_ = std::make_shared<CudaBuffers>(device_, account_);
    direct_ = buffers_->take(CudaBuffers::kLarge);
}

void CudaLane::end() {
    const CudaCalls& calls = device_->calls();
    // Wait until no copy into memory to be freed is in flight.
    for (const Way* const way : {&in_, &out_}) {
        if (way->stream != nullptr) {
            calls.synchronize(way->stream);
            calls.destroy_stream(way->stream);
        }
        for (const cuda::Event event : way->ends) {
            if (event != nullptr) {
                calls.destroy_event(event);
            }
        }
    }
    if (direct_end_ != nullptr) {
        calls.destroy_event(direct_end_);
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
    return check(device_->calls().copy_2d(&copy, in_.stream), "cuMemcpy2DAsync", why);
}

bool CudaLane::copy_in(cuda::DevicePointer to, std::span<const std::byte> from,
                       std::string& why) const {
    const std::size_t bytes = from.size();
    if (bytes >= kRows || bytes < 2) {
        return check(device_->calls().copy_to_device(to, from.data(), bytes, in_.stream),
                     "cuMemcpyHtoDAsync", why);
    }
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    if (to % kWord == 0 && bytes % kWord == 0) {
        // Keep words of 8 bytes whole: if their number is odd, the last one is written alone.
        const std::size_t rows = bytes / (2 * kWord) * 2 * kWord;
        return (rows == 0 || copy_rows(to, from.data(), rows / 2, why)) &&
               (rows == bytes || write_word<std::uint64_t>(to + rows, from.subspan(rows), why));
    }
    if (to % sizeof(std::uint32_t) == 0 && bytes == sizeof(std::uint32_t)) {
        return write_word<std::uint32_t>(to, from, why);
    }
    // Copy two rows; for an odd number of bytes copy the last two bytes again.
    return copy_rows(to, from.data(), bytes / 2, why) &&
           (bytes % 2 == 0 || copy_rows(to + bytes - 2, from.data() + bytes - 2, 1, why));
}

template <typename Word>
bool CudaLane::write_word(cuda::DevicePointer to, std::span<const std::byte> from,
                          std::string& why) const {
    Word word = 0;
    std::memcpy(&word, from.data(), sizeof word);
    if constexpr (sizeof word == sizeof(std::uint64_t)) {
        return check(device_->calls().write_64(in_.stream, to, word, 0), "cuStreamWriteValue64",
                     why);
    } else {
        return check(device_->calls().write_32(in_.stream, to, word, 0), "cuStreamWriteValue32",
                     why);
    }
}

bool CudaLane::copy_out(std::byte* to, cuda::DevicePointer from, std::size_t bytes,
                        std::string& why) const {
    return check(device_->calls().copy_to_host(to, from, bytes, out_.stream), "cuMemcpyDtoHAsync",
                 why);
}

bool CudaLane::record(cuda::Event event, const Way& way, std::string& why) const {
    return check(device_->calls().record_event(event, way.stream), "cuEventRecord", why);
}

bool CudaLane::settled(bool ok, const Way& way) const {
    if (!ok) {
        device_->calls().synchronize(way.stream);
    }
    return ok;
}

bool CudaLane::wait(cuda::Event event, std::string& why) const {
    return check(device_->calls().wait_for_event(event), "cuEventSynchronize", why);
}

bool CudaLane::started(bool ok, Way& way, std::string& why) const {
    ok = settled(ok && record(way.ends[way.next], way, why), way);
    way.next = (way.next + (ok ? 1 : 0)) % kDepth;
    return ok;
}

bool CudaLane::start_read(cuda::DevicePointer from, std::span<std::byte> to, std::string& why) {
    return use(why) && started(copy_out(to.data(), from, to.size(), why), out_, why);
}

bool CudaLane::start_write(cuda::DevicePointer to, std::span<const std::byte> from,
                           std::string& why) {
    return use(why) && started(copy_in(to, from, why), in_, why);
}

bool CudaLane::is_done(const Way& way) const {
    return device_->calls().query_event(way.ends[way.oldest]) != cuda::kNotReady;
}

bool CudaLane::finish(Way& way, std::string& why) const {
    const cuda::Event end = way.ends[way.oldest];
    way.oldest = (way.oldest + 1) % kDepth;
    return wait(end, why);
}

bool CudaLane::read(cuda::DevicePointer from, std::span<std::byte> to, std::string& why) {
    const std::scoped_lock lock(direct_mutex_);
    std::byte* const staging = direct_.bytes().data();
    bool ok = use(why);
    for (std::size_t at = 0; ok && at < to.size(); at += CudaBuffers::kLarge) {
        const auto piece = to.subspan(at, std::min(CudaBuffers::kLarge, to.size() - at));
        ok = settled(copy_out(staging, from + at, piece.size(), why) &&
                         record(direct_end_, out_, why) && wait(direct_end_, why),
                     out_);
        if (ok) {
            std::memcpy(piece.data(), staging, piece.size());
        }
    }
    return ok;
}

bool CudaLane::write(cuda::DevicePointer to, std::span<const std::byte> from, std::string& why) {
    const std::scoped_lock lock(direct_mutex_);
    std::byte* const staging = direct_.bytes().data();
    bool ok = use(why);
    for (std::size_t at = 0; ok && at < from.size(); at += CudaBuffers::kLarge) {
        const auto piece = from.subspan(at, std::min(CudaBuffers::kLarge, from.size() - at));
        std::memcpy(staging, piece.data(), piece.size());
        ok = settled(copy_in(to + at, {staging, piece.size()}, why) &&
                         record(direct_end_, in_, why) && wait(direct_end_, why),
                     in_);
    }
    return ok;
}

}  // namespace dingo::gpu
