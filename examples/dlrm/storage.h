// SPDX-License-Identifier: BSD-2-Clause
//
// The storage process: writes batches of records into a trainer's two buffers. All its state comes
// from the trainer, so it can be restarted at any time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dlrm/schedule.h"
#include "dlrm/session.h"
#include "memory/buffer.h"

namespace dlrm {

struct StorageOptions {
    std::string file;
    std::string trainer;
    std::uint16_t port = 18490;
    std::string device;
    std::string memory = "host";
    std::string security = "none";
    std::vector<std::uint32_t> sizes = {4096};
    std::uint64_t batches = 0;
    std::uint32_t modulus = 0;  ///< not 0: the card preprocesses on send
    std::chrono::seconds retry{10};
    std::int64_t die_at = -1;  ///< for tests: dies in the middle of this batch
};

class Storage {
  public:
    explicit Storage(const StorageOptions& options);
    /// Runs until the trainer has all batches. @throws LinkLost if it does not return in time
    void run();

  private:
    /// Serves one session, until all is sent or the trainer is gone.
    void serve(qpx::Connection& connection);
    void post(Session& session, std::uint64_t number);
    [[noreturn]] void die(Session& session, std::uint64_t number);
    /// Polls both CQs, and checks the peer at times.
    void wait(Session& session, const qpx::Connection& connection, Wait& wait);
    /// Waits until the trainer has everything.
    void finish(Session& session, qpx::Connection& connection);

    StorageOptions options_;
    rdma_bench::Device device_;
    std::unique_ptr<rdma_bench::Buffer> buffer_;
    Schedule schedule_;
    std::uint64_t sent_ = 0;  ///< WRITEs posted in this session
    std::uint64_t completed_ = 0;
    std::uint32_t released_ = 0;  ///< low 32 bits of the last credit from the trainer
    std::uint64_t bytes_ = 0;
};

}  // namespace dlrm
