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
    /// AQ_CTRL written with ENABLE: starts afresh. False, and stopped: bases not 4 KiB aligned or
    /// depth out of range.
    bool enable(std::uint64_t asq_base, std::uint64_t acq_base, unsigned log_depth);
    void disable() { enabled_ = false; }
    [[nodiscard]] bool enabled() const noexcept { return enabled_; }
    [[nodiscard]] unsigned log_depth() const noexcept { return log_depth_; }

    /// Doorbell. False, with nothing changed: queue stopped, or more commands than the ring holds.
    bool doorbell(std::uint32_t producer);

    [[nodiscard]] bool pending() const noexcept { return enabled_ && producer_ != consumer_; }
    /// Since when the next command has been held back (AdminFaults); nullopt: it is not.
    std::optional<Nanoseconds> held_since;
    /// Reads the next command. False = bus error.
    bool fetch(CardContext& card, AdminCommand& command);
    /// Writes its completion and raises vector 0. False = bus error.
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
