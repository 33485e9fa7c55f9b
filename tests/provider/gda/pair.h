// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// QPs of a device on one card, connected to ordinary QPs on another card, in one process.
#pragma once

#include <infiniband/dingodv.h>

#include <memory>
#include <string>
#include <vector>

#include "dingo_gda_host.h"
#include "job.h"

namespace gda {

template <auto Destroy>
struct Deleter {
    template <typename T>
    void operator()(T* object) const {
        Destroy(object);
    }
};
template <typename T, auto Destroy>
using Owned = std::unique_ptr<T, Deleter<Destroy>>;

/// Throws std::runtime_error with the step's name and the texts of errno and dingo_gda_error().
void need(bool ok, const std::string& step);

struct Side {
    explicit Side(ibv_device* device);
    Owned<ibv_context, ibv_close_device> context;
    Owned<ibv_pd, ibv_dealloc_pd> pd;
    ibv_gid gid{};
    std::uint8_t gid_index = 0;
};

/// A registered buffer of the device, or of the host only.
struct Buffer {
    Buffer(const Side& side, std::size_t bytes, bool of_host = false);
    std::uint8_t* at;
    Owned<ibv_mr, ibv_dereg_mr> mr;
};

struct Options {
    std::uint32_t qps = 1;
    std::uint32_t depth = 128;
    std::uint32_t max_inline = kMostInline;
    std::uint8_t retries = 7;
    bool host_remote = false;  ///< remote buffer in host memory, to measure the card alone
};

class Pair {
  public:
    /// Uses the first and the last Dingo card, which may be the same.
    explicit Pair(const Options& options);

    /// Brings both QPs from RESET to RTS.
    void connect(std::size_t i);
    /// Resets both QPs and the device's state, and connects again.
    void reconnect(std::size_t i);

    Side a, b;
    Owned<dingo_gda, dingo_gda_close> device;
    std::vector<Owned<dingo_gda_queue, dingo_gda_destroy>> queues;
    Owned<ibv_cq, ibv_destroy_cq> peer_cq;
    std::vector<Owned<ibv_qp, ibv_destroy_qp>> peers;

  private:
    Options options_;
};

}  // namespace gda
