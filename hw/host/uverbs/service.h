// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "dingo/engine.h"

namespace dingo::uverbs {

/// A service that a kernel-less card offers besides uverbs; it shares the poller and the thread.
class Service {
  public:
    virtual ~Service() = default;
    /// As the functions of HostAttachment with the same names.
    virtual bool settle(Nanoseconds now) = 0;
    [[nodiscard]] virtual Nanoseconds next_deadline() const = 0;
    virtual void add_stats(nlohmann::json& all) const = 0;
    virtual void stop() = 0;
};

}  // namespace dingo::uverbs
