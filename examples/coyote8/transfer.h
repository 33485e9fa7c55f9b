// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "coyote8/options.h"
#include "exit.h"
#include "memory/buffer.h"
#include "qpx/peer.h"
#include "qpx/verbs.h"
#include "verbs/device.h"
#include "verbs/queues.h"

namespace coyote8 {

using rdma_bench::Exit;
using rdma_bench::RunError;

/// An RC QP with a buffer of two halves: the source of outgoing data, and the landing half for
/// incoming data. Coyote's example uses one buffer for both, so it cannot tell received data from
/// data that was there before.
class Transfer {
  public:
    /// Largest number of transfers in a run.
    static constexpr unsigned kDepth = 64;

    /// Creates all that does not depend on the peer. @throws RunError, std::runtime_error
    explicit Transfer(const Options& options);

    /// Exchanges endpoints and brings the QP to RTS.
    void connect(qpx::Connection& connection);
    [[nodiscard]] const qpx::Endpoint& local() const { return local_.endpoint; }
    [[nodiscard]] const qpx::Endpoint& remote() const { return remote_; }

    /// Posts `count` READs of the peer's source into this side's landing half.
    void read(std::uint32_t size, unsigned count);
    /// Posts `count` WRITEs into the peer's landing half, from this side's source or, with `echo`,
    /// its landing half. The last one carries the number of the round as immediate data.
    void write(std::uint32_t size, unsigned count, std::uint32_t round, bool echo);
    /// Posts the receive that the peer's last WRITE of a round completes.
    void post_receive();
    /// Waits until the last posted transfers are complete.
    void wait_sent(const qpx::Connection& connection);
    /// Waits until the peer's last WRITE of the round has arrived.
    void wait_received(const qpx::Connection& connection, std::uint32_t round);

    void fill_source(std::uint32_t size, std::uint32_t first);
    void clear_landing(std::uint32_t size);
    /// @throws RunError(kData) with the first differing byte
    void check_landing(std::uint32_t size, std::uint32_t first) const;

  private:
    void post(ibv_wr_opcode opcode, std::uint64_t local, std::uint64_t remote, std::uint32_t size,
              unsigned count, std::uint32_t round);
    ibv_wc wait(ibv_cq* cq, const qpx::Connection& connection);

    std::uint32_t half_;  ///< bytes
    rdma_bench::Device device_;
    std::unique_ptr<rdma_bench::CompletionQueue> send_cq_, recv_cq_;
    std::unique_ptr<rdma_bench::Buffer> buffer_;
    rdma_bench::MadeQp qp_;
    qpx::GidQuery gid_;
    qpx::Local local_;
    qpx::Endpoint remote_;
};

}  // namespace coyote8
