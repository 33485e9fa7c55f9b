// SPDX-License-Identifier: BSD-2-Clause
//
// Receives batches from a storage process, one at a time, reconnecting as often as necessary.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "dlrm/feed_memory.h"
#include "dlrm/session.h"

namespace dlrm {

struct FeedOptions {
    std::string device;
    std::string memory = "host";
    std::string address;
    std::string security = "none";
    std::uint32_t records = 0;
    std::uint32_t modulus = 0;
    std::uint64_t first_batch = 0;
    std::chrono::milliseconds timeout{-1};
    std::uint16_t port = 0;
};

class Feed {
  public:
    enum class Next { kBatch, kEnd, kBusy, kTimeout };

    explicit Feed(const FeedOptions& options);

    [[nodiscard]] std::uint16_t port() const { return listener_.port(); }
    [[nodiscard]] std::uint64_t sessions() const { return sessions_; }
    [[nodiscard]] const std::shared_ptr<FeedMemory>& memory() const { return memory_; }
    Next next(dlrm_batch& batch);
    /// Returns true if the batch was received and not released yet.
    [[nodiscard]] bool holds(const dlrm_batch& batch) const;
    /// Returns true for the oldest unreleased batch.
    [[nodiscard]] bool is_oldest(const dlrm_batch& batch) const {
        return batch.number == released_ && released_ < next_;
    }
    void release();

  private:
    using Clock = std::chrono::steady_clock;

    /// Waits until a storage process is connected. Returns false if the deadline passed.
    bool connect(Clock::time_point deadline);
    /// Waits for a batch or the end of the data. @throws LinkLost
    std::optional<Next> receive(dlrm_batch& batch, Clock::time_point deadline);
    Next take(const ibv_wc& wc, dlrm_batch& batch);
    void send_credit();
    /// Tells the storage process that everything has arrived, and closes the connection.
    void say_end();

    FeedOptions options_;
    std::shared_ptr<FeedMemory> memory_;
    qpx::Listener listener_;
    std::optional<qpx::Connection> connection_;
    std::unique_ptr<Session> session_;
    std::uint64_t next_;      ///< number of the next batch
    std::uint64_t released_;  ///< batches before this one may be overwritten
    std::uint64_t sessions_ = 0;
    bool ended_ = false;
};

}  // namespace dlrm
