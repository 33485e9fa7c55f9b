// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "wire/wire.h"

namespace dingo {

/// Base of layers around another wire. Forwards all calls that layers do not change.
class WireLayer : public Wire {
  public:
    explicit WireLayer(std::unique_ptr<Wire> inner) : inner_(std::move(inner)) {}

    int fd() const override { return inner_->fd(); }
    int tx_blocked_fd() const override { return inner_->tx_blocked_fd(); }
    void flush() override { inner_->flush(); }
    bool polled() const override { return inner_->polled(); }
    bool prepare_sleep() override { return inner_->prepare_sleep(); }
    void woke() override { inner_->woke(); }
    bool kicked() const override { return inner_->kicked(); }
    void join_group(std::span<const std::uint8_t, 16> group) override { inner_->join_group(group); }
    void leave_group(std::span<const std::uint8_t, 16> group) override {
        inner_->leave_group(group);
    }
    bool resolves() const override { return inner_->resolves(); }
    std::string meeting_place() const override { return inner_->meeting_place(); }
    std::uint16_t fixed_source_port() const override { return inner_->fixed_source_port(); }
    bool link() const override { return inner_->link(); }
    void gather() override { inner_->gather(); }
    bool holds_enough() override { return inner_->holds_enough(); }
    bool has_let_go() override { return inner_->has_let_go(); }
    bool full_by_address() const override { return inner_->full_by_address(); }

  protected:
    [[nodiscard]] Wire& inner() const { return *inner_; }

  private:
    std::unique_ptr<Wire> inner_;
};

}  // namespace dingo
