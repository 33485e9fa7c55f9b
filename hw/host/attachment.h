// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/poller.h"
#include "dingo/engine.h"

namespace dingo {

/// How hosts reach the card: QEMU over vfio-user, or applications over uverbs. Everything but
/// pending() is called by one thread at a time: the card's, where nothing may block, or a control
/// thread.
class HostAttachment {
  public:
    virtual ~HostAttachment() = default;

    /// Its descriptors are members of `polls` from now on, until unwatch(). Throws ErrnoError.
    virtual void watch(PollGroup& polls) = 0;
    virtual void unwatch() = 0;

    /// Called after every call into the engine, with the time. True: there is more to do at once.
    virtual bool settle(Nanoseconds now) = 0;
    /// With a control thread, for the card's thread after each round: settle() is needed.
    [[nodiscard]] virtual bool pending(Nanoseconds /*now*/) { return true; }
    /// The part of settle() that is urgent. True: there is more for settle().
    virtual bool deliver() { return true; }
    /// Time at which settle() must be called even if no input arrives; kNever: none.
    [[nodiscard]] virtual Nanoseconds next_deadline() const { return kNever; }

    /// Adds its part of the answer to {"cmd":"stats"}.
    virtual void add_stats(nlohmann::json& all) const = 0;

    /// The card now has to wait for a processor (CpuPressure), or does not any more. Any thread.
    virtual void set_crowded(bool /*crowded*/) {}

    /// Whether clients may carry out requests themselves: not while the wire disturbs or records
    /// frames, nor without a link.
    virtual void set_direct(bool /*on*/) {}

    /// The card is being switched off: tell the host, and close.
    virtual void stop() = 0;
};

}  // namespace dingo
