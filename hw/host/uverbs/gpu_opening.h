// SPDX-License-Identifier: BSD-2-Clause
//
// A client's GPU memory while another thread opens it, as the driver may take seconds.
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

/// The lanes of one client, by GPU UUID. Used by the opening thread only.
using GpuLanes = std::map<std::array<std::uint8_t, 16>, std::weak_ptr<gpu::CudaLane>>;

class GpuOpening {
  public:
    /// Opens the first `end` bytes of the memory described by `message.gpu`, on another thread.
    /// Takes the message's descriptors and their charge; closing them is charged to `sender`.
    /// Pinned memory is charged to `account`. Throws ErrnoError if there is no descriptor or
    /// thread.
    static std::shared_ptr<GpuOpening> start(Message& message, Charge descriptors, Sender sender,
                                             std::uint64_t end, std::shared_ptr<GpuLanes> lanes,
                                             std::shared_ptr<Account> account);
    ~GpuOpening();
    GpuOpening(const GpuOpening&) = delete;
    GpuOpening& operator=(const GpuOpening&) = delete;

    /// Readable when opening has finished.
    [[nodiscard]] int event() const { return event_.get(); }

    /// Consumes the event. Afterwards the other thread's results are visible.
    void finish();

    // Results after finish(): a place, or an errno and a text for the log.
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
