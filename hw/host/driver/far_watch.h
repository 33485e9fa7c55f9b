// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/driver/far_streams.h"
#include "host/local_card.h"

namespace dingo::uverbs {

/// While an object of this class exists, a sleeping card wakes up when far memory has moved.
class FarWatch final : private Pollable {
  public:
    /// Throws ErrnoError.
    FarWatch(LocalCard& card, FarStreams& streams);
    ~FarWatch() override;
    FarWatch(const FarWatch&) = delete;
    FarWatch& operator=(const FarWatch&) = delete;

  private:
    void ready(std::uint32_t /*events*/) override { streams_.woke(); }

    LocalCard& card_;
    FarStreams& streams_;
    Poller::Id id_;
};

}  // namespace dingo::uverbs
