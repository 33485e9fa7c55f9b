// SPDX-License-Identifier: BSD-2-Clause
//
// The admin queue: rings of commands and completions in host memory.
#pragma once

#include <cstdint>
#include <optional>

#include "admin_command.h"
#include "card_context.h"

namespace dingo::model {

class AdminQueue {
  public:
    /// Handles a write of AQ_CTRL with ENABLE: starts with empty rings. Returns false, and stays
    /// disabled, if a base is not 4 KiB aligned or the depth is out of range.
    bool enable(std::uint64_t asq_base, std::uint64_t acq_base, unsigned log_depth);
    void disable() { enabled_ = false; }
    [[nodiscard]] bool enabled() const noexcept { return enabled_; }
    [[nodiscard]] unsigned log_depth() const noexcept { return log_depth_; }

    /// Handles the doorbell. Returns false, and changes nothing, if the queue is disabled or the
    /// index is invalid.
    bool doorbell(std::uint32_t producer);

    [[nodiscard]] bool pending() const noexcept { return enabled_ && producer_ != consumer_; }
    /// Time since which the next command is delayed (AdminFaults); nullopt: not delayed.
    std::optional<Nanoseconds> held_since;
    /// Reads the next command. Returns false on a bus error.
    bool fetch(CardContext& card, AdminCommand& command);
    /// Writes its completion and raises vector 0. Returns false on a bus error.
    bool complete(CardContext& card, const AdminCommand& command, const AdminResult& result);

  private:
    std::uint64_t asq_base_ = 0;
    std::uint64_t acq_base_ = 0;
    unsigned log_depth_ = 0;
    std::uint32_t producer_ = 0;
    std::uint32_t consumer_ = 0;
    bool enabled_ = false;
};

}  // namespace dingo::model
