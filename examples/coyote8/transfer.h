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

/// One RC QP with a buffer of two halves: the source of outgoing data, and the target of incoming
/// data. The example uses one buffer for both, so it cannot tell received data from data that was
/// there before.
class Transfer {
  public:
    /// Most transfers of one run.
    static constexpr unsigned kDepth = 64;

    /// Everything that needs no peer. @throws RunError, std::runtime_error
    explicit Transfer(const Options& options);

    /// Exchanges endpoints and brings the QP to RTS.
    void connect(qpx::Connection& connection);
    [[nodiscard]] const qpx::Endpoint& local() const { return local_.endpoint; }
    [[nodiscard]] const qpx::Endpoint& remote() const { return remote_; }

    /// `count` READs of the peer's source into the own landing place.
    void read(std::uint32_t size, unsigned count);
    /// `count` WRITEs into the peer's landing place, of the own source or, to echo, of the own
    /// landing place. The last tells the peer the number of the round.
    void write(std::uint32_t size, unsigned count, std::uint32_t round, bool echo);
    /// What the peer's last WRITE of a round completes.
    void post_receive();
    /// Waits until the transfers posted last are done.
    void wait_sent(const qpx::Connection& connection);
    /// Waits until the peer's last WRITE of the round is here.
    void wait_received(const qpx::Connection& connection, std::uint32_t round);

    void fill_source(std::uint32_t size, std::uint32_t first);
    void clear_landing(std::uint32_t size);
    /// @throws RunError(kData) with the first byte that differs
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
