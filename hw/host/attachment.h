// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/poller.h"
#include "dingo/engine.h"

namespace dingo {

/// How hosts reach the card: QEMU over vfio-user, or applications over uverbs. All functions but
/// pending() and set_crowded() are called by one thread at a time: the card's thread, where nothing
/// may block, or a control thread.
class HostAttachment {
  public:
    virtual ~HostAttachment() = default;

    /// Adds its descriptors to `polls` until unwatch(). Throws ErrnoError.
    virtual void watch(PollGroup& polls) = 0;
    virtual void unwatch() = 0;

    /// Called with the current time after every call into the engine. Returns true if more work is
    /// pending now.
    virtual bool settle(Nanoseconds now) = 0;
    /// Returns true if settle() is needed. Called by the card's thread after each round if there is
    /// a control thread.
    [[nodiscard]] virtual bool pending(Nanoseconds /*now*/) { return true; }
    /// Does the urgent part of settle(). Returns true if work is left for settle().
    virtual bool deliver() { return true; }
    /// Time at which settle() must be called even if no input arrives; kNever: none.
    [[nodiscard]] virtual Nanoseconds next_deadline() const { return kNever; }

    /// Adds its part of the answer to {"cmd":"stats"}.
    virtual void add_stats(nlohmann::json& all) const = 0;

    /// Tells whether the card has to wait for a processor (CpuPressure). Thread-safe.
    virtual void set_crowded(bool /*crowded*/) {}

    /// Enables the direct road. It is disabled while the wire disturbs or captures frames or has no
    /// link.
    virtual void set_direct(bool /*on*/) {}

    /// Tells the host that the card is being switched off, and closes the connections.
    virtual void stop() = 0;
};

}  // namespace dingo
