// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/gpu_opening.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/errno_error.h"
#include "host/gpu/cuda_place.h"
#include "host/gpu/worker.h"

namespace dingo::uverbs {

GpuOpening::GpuOpening(Message& message, Charge descriptors, Sender sender, std::uint64_t end)
    : memory_(*message.gpu),
      pieces_(message.pieces),
      charge_(std::move(descriptors)),
      sender_(sender),
      descriptors_(std::exchange(message.fds, {})),
      end_(end),
      event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!event_) {
        throw ErrnoError(errno);
    }
}

GpuOpening::~GpuOpening() {
    const ClosesFor sender(sender_);
    descriptors_.clear();
}

std::shared_ptr<GpuOpening> GpuOpening::start(Message& message, Charge descriptors, Sender sender,
                                              std::uint64_t end, std::shared_ptr<GpuLanes> lanes,
                                              std::shared_ptr<Account> account) {
    std::shared_ptr<GpuOpening> opening(
        new GpuOpening(message, std::move(descriptors), sender, end));
    try {
        gpu::do_soon([opening, lanes = std::move(lanes), account = std::move(account)] {
            opening->open(*lanes, account);
            const std::uint64_t one = 1;
            std::ignore = ::write(opening->event_.get(), &one, sizeof one);
        });
    } catch (const std::system_error&) {
        throw ErrnoError(EAGAIN);
    }
    return opening;
}

void GpuOpening::finish() {
    std::uint64_t count = 0;
    std::ignore = ::read(event_.get(), &count, sizeof count);
}

void GpuOpening::open(GpuLanes& lanes, const std::shared_ptr<Account>& account) {
    gpu::CudaMemory memory;
    std::ranges::copy(memory_.uuid, memory.uuid.bytes.begin());
    std::memcpy(memory.ipc.bytes.data(), memory_.ipc_handle, sizeof memory_.ipc_handle);
    memory.size = memory_.size;
    try {
        for (std::size_t i = 0; i < pieces_.size(); ++i) {
            memory.pieces.push_back({pieces_[i], descriptors_[i].get()});
        }
        std::erase_if(lanes, [](const auto& entry) { return entry.second.expired(); });
        std::shared_ptr<gpu::CudaLane> lane = lanes[memory.uuid.bytes].lock();
        if (lane == nullptr) {
            lane = std::make_shared<gpu::CudaLane>(memory.uuid, account);
            lanes[memory.uuid.bytes] = lane;
        }
        place_ = std::make_shared<gpu::CudaPlace>(std::move(lane), memory, end_);
    } catch (const gpu::CudaError& e) {
        error_ = e.error();
        why_ = e.what();
    } catch (const std::exception& e) {
        error_ = ENOMEM;
        why_ = e.what();
    }
    const ClosesFor sender(sender_);
    descriptors_.clear();
}

}  // namespace dingo::uverbs
