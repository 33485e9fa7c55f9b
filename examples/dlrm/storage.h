// SPDX-License-Identifier: BSD-2-Clause
//
// The storage process: writes batches of records into a trainer's two buffers. It remembers nothing
// that the trainer does not tell it, so it can be restarted at any time.
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
    std::uint32_t modulus = 0;  ///< not 0: the card preprocesses what it sends
    std::chrono::seconds retry{10};
    std::int64_t die_at = -1;  ///< for tests: killed in the middle of this batch
};

class Storage {
  public:
    explicit Storage(const StorageOptions& options);
    /// Until the trainer has all batches. @throws LinkLost when it does not come back in time
    void run();

  private:
    /// One session, until all is sent or the trainer goes away.
    void serve(qpx::Connection& connection);
    void post(Session& session, std::uint64_t number);
    [[noreturn]] void die(Session& session, std::uint64_t number);
    /// Looks at both CQs and now and then at the peer.
    void wait(Session& session, const qpx::Connection& connection, Wait& wait);

    StorageOptions options_;
    rdma_bench::Device device_;
    std::unique_ptr<rdma_bench::Buffer> buffer_;
    Schedule schedule_;
    std::uint64_t sent_ = 0;  ///< of this session: posted and completed
    std::uint64_t completed_ = 0;
    std::uint32_t released_ = 0;  ///< low bits of the number that the trainer told last
    std::uint64_t bytes_ = 0;
};

}  // namespace dlrm
