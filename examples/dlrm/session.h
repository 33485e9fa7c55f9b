// SPDX-License-Identifier: BSD-2-Clause
//
// Messages between storage and trainer, and the queue pair of each side for one session.
// docs/dlrm.md describes the protocol.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "qpx/peer.h"
#include "qpx/verbs.h"
#include "verbs/device.h"
#include "verbs/queues.h"

namespace dlrm {

/// The peer is gone, so the session is over; another one may follow.
struct LinkLost : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Largest number of batches in transit or in use: one for each half of the trainer's memory.
inline constexpr unsigned kHalves = 2;
/// Immediate data of the WRITE after the last batch; for batches it is the number of records.
inline constexpr std::uint32_t kEndOfStream = 0;

/// The trainer's message over TCP when it has the end: storage's card may never get the
/// acknowledgement, as the trainer may exit.
inline constexpr std::array kHasAll = {std::byte{'e'}, std::byte{'n'}, std::byte{'d'}};

/// Content of the endpoint's application bytes.
struct Hello {
    std::uint64_t next = 0;      ///< trainer: number of the first batch to send
    std::uint64_t released = 0;  ///< trainer: batches before this one are released
    std::uint32_t records = 0;   ///< trainer: capacity of a half; storage: its largest batch
    bool preprocesses = false;   ///< this side's card does
};
std::vector<std::byte> pack(const Hello& hello);
/// @throws rdma_bench::RunError(kUsage) unless the sides fit together
void check(const Hello& trainer, const Hello& storage);
/// @throws qpx::Error(Protocol) if the peer is another program or version
Hello unpack(std::span<const std::byte> bytes);

/// One RC QP with its CQs.
class Session {
  public:
    struct Request {
        unsigned send_depth = 1;
        unsigned recv_depth = 1;
        unsigned receives = 0;  ///< posted before the peer can send
        /// Called in state RESET; empty: nothing to do.
        std::function<void(ibv_qp*)> created;
    };
    Session(const rdma_bench::Device& device, const Request& request);

    /// Exchanges endpoints with `hello` and returns the peer's; `check` throws to refuse it.
    /// @throws qpx::Error, rdma_bench::RunError, LinkLost
    Hello connect(qpx::Connection& connection, const rdma_bench::Device& device, const Hello& hello,
                  std::vector<qpx::Region> regions, const std::function<void(const Hello&)>& check);
    [[nodiscard]] const qpx::Endpoint& remote() const { return remote_; }

    void post_receive();
    void post(ibv_send_wr& wr);
    /// Polls for a completion; returns false if there is none. @throws for a failed one: LinkLost
    /// if its status indicates that the peer is gone, else RunError
    bool poll_sent(ibv_wc& wc) { return poll(send_cq_->cq.get(), wc); }
    bool poll_received(ibv_wc& wc) { return poll(recv_cq_->cq.get(), wc); }

  private:
    bool poll(ibv_cq* cq, ibv_wc& wc);

    Request request_;
    std::unique_ptr<rdma_bench::CompletionQueue> send_cq_, recv_cq_;
    rdma_bench::QpPtr qp_;
    qpx::Local local_;
    qpx::Endpoint remote_;
};

/// Backoff of a polling loop: no pause at first, then short ones, with occasional checks of the
/// peer.
class Wait {
  public:
    /// Called after an empty poll. Returns true if the peer should be checked.
    bool pause();

  private:
    unsigned rounds_ = 0;
};

}  // namespace dlrm
