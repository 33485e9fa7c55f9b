// SPDX-License-Identifier: BSD-2-Clause
//
// The wire that is connected to nothing.
#include <array>

#include "wire/factory.h"

namespace dingo {
namespace {

class NoWire final : public Wire {
  public:
    std::span<std::byte> begin_frame(std::size_t max_len) override {
        if (max_len > scratch_.size())
            return {};
        return std::span(scratch_).first(max_len);
    }
    void end_frame(std::size_t len) override { stats_.tx_no_peer += len != 0; }
    int fd() const override { return -1; }
    unsigned receive(FrameSink&, unsigned) override { return 0; }
    void flush() override {}
    void advance(Nanoseconds) override {}
    bool link() const override { return false; }
    std::string describe() const override { return "none: no wire, frames sent are lost"; }
    WireStats stats() const override { return stats_; }

  private:
    std::array<std::byte, kMaxFrame> scratch_{};
    WireStats stats_;
};

}  // namespace

std::unique_ptr<Wire> make_none_wire() {
    return std::make_unique<NoWire>();
}

}  // namespace dingo
