// SPDX-License-Identifier: BSD-2-Clause
//
// Memory of a client on a GPU, while another thread opens it: a driver may take seconds.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/elsewhere.h"
#include "base/foreign_fd.h"
#include "base/quota.h"
#include "base/unique_fd.h"
#include "host/driver/far_place.h"
#include "host/uverbs/message.h"

namespace dingo::gpu {
class CudaLane;
}

namespace dingo::uverbs {

/// State that a client's places on each GPU share. Used by the opening thread only.
using GpuLanes = std::map<std::array<std::uint8_t, 16>, std::weak_ptr<gpu::CudaLane>>;

class GpuOpening {
  public:
    /// Opens the first `end` bytes of the memory that `message.gpu` describes, on another thread.
    /// Takes the message's descriptors with their charge; `sender` is charged when they are closed.
    /// Pinned memory is charged to `account`. ErrnoError: no descriptor, no thread.
    static std::shared_ptr<GpuOpening> start(Message& message, Charge descriptors, Sender sender,
                                             std::uint64_t end, std::shared_ptr<GpuLanes> lanes,
                                             std::shared_ptr<Account> account);
    ~GpuOpening();
    GpuOpening(const GpuOpening&) = delete;
    GpuOpening& operator=(const GpuOpening&) = delete;

    /// Readable when it is over.
    [[nodiscard]] int event() const { return event_.get(); }

    /// Takes the event: what the other thread has written is seen from here on.
    void finish();

    // After that. A place, or an errno and words for the log.
    [[nodiscard]] int error() const { return error_; }
    [[nodiscard]] const std::string& why() const { return why_; }
    [[nodiscard]] const std::shared_ptr<FarPlace>& place() const { return place_; }

  private:
    GpuOpening(Message& message, Charge descriptors, Sender sender, std::uint64_t end);
    void open(GpuLanes& lanes, const std::shared_ptr<Account>& account);

    dingo_uverbs_gpu memory_;
    std::vector<std::uint64_t> pieces_;
    Charge charge_;
    Sender sender_;
    std::vector<ForeignFd> descriptors_;
    std::uint64_t end_;
    UniqueFd event_;
    int error_ = 0;
    std::string why_;
    std::shared_ptr<FarPlace> place_;
};

}  // namespace dingo::uverbs
