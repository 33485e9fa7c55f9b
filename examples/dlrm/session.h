// SPDX-License-Identifier: BSD-2-Clause
//
// What storage and trainer tell each other, and the queue pair that each has for one session.
// docs/dlrm.md says who sends what.
#pragma once

#include <infiniband/verbs.h>

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

/// The session is over, and another one may follow: the peer went away.
struct LinkLost : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Batches that may be on their way or in use: one for each half of the trainer's memory.
inline constexpr unsigned kHalves = 2;
/// Immediate data of the WRITE behind the last batch; of others it is the number of records.
inline constexpr std::uint32_t kEndOfStream = 0;

/// What each side says in the endpoint's application bytes.
struct Hello {
    std::uint64_t next = 0;      ///< trainer: number of the batch that it wants first
    std::uint64_t released = 0;  ///< trainer: batches before this one are out of its memory
    std::uint32_t records = 0;   ///< trainer: room of a half; storage: its largest batch
};
std::vector<std::byte> pack(const Hello& hello);
/// @throws qpx::Error(Protocol) when the peer is another program or version
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

    /// Exchanges endpoints, with `hello`; `check` throws to refuse the peer's. @throws qpx::Error,
    /// rdma_bench::RunError, LinkLost
    Hello connect(qpx::Connection& connection, const rdma_bench::Device& device, const Hello& hello,
                  std::vector<qpx::Region> regions, const std::function<void(const Hello&)>& check);
    [[nodiscard]] const qpx::Endpoint& remote() const { return remote_; }

    void post_receive();
    void post(ibv_send_wr& wr);
    /// The next completion; false: there is none. A failed one is LinkLost, when that is how a
    /// peer's end shows, or RunError.
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

/// Waiting for something that is polled: at once at first, then with pauses, and a look at the peer
/// now and then.
class Wait {
  public:
    /// Called when nothing was found. True: it is time to look whether the peer lives.
    bool pause();

  private:
    unsigned rounds_ = 0;
};

}  // namespace dlrm
