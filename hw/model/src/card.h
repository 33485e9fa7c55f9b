// SPDX-License-Identifier: BSD-2-Clause
//
// The card as an engine: registers, doorbells, dispatch of frames, order of work.
#pragma once

#include <memory>

#include "admin_queue.h"
#include "card_context.h"
#include "card_state.h"
#include "dingo/engine.h"
#include "loopback.h"
#include "push_pages.h"

namespace dingo::model {

class ModelEngine final : public Engine, private TransportHost {
  public:
    ModelEngine(const EngineConfig& config, HostPort& host, WirePort& wire);
    ~ModelEngine() override { card_.wire.gather(); }
    ModelEngine(const ModelEngine&) = delete;
    ModelEngine& operator=(const ModelEngine&) = delete;

    void reset() override;
    std::uint64_t mmio_read(Bar bar, std::uint64_t offset, unsigned size) override;
    void mmio_write(Bar bar, std::uint64_t offset, std::uint64_t value, unsigned size) override;
    [[nodiscard]] std::optional<std::uint64_t> peek(Bar bar, std::uint64_t offset,
                                                    unsigned size) const override;
    void receive(std::span<const std::byte> frame) override;
    bool receive_without_icrc(std::span<const std::byte> frame, const Elsewhere& payload) override;
    bool receive_train(std::span<const std::byte> frame, const Elsewhere& payload,
                       unsigned packets) override;
    void set_link(bool up) override;
    void memory_became_far(const std::function<bool(const std::byte*)>& there) override;
    bool send_posted(std::uint32_t qpn) override;
    bool run(Nanoseconds now, unsigned budget) override;
    [[nodiscard]] Nanoseconds next_deadline() const override;
    [[nodiscard]] std::string_view name() const override {
        return "model: C++ functional model of the Dingo card";
    }

  private:
    QueuePair* find_qp(std::uint32_t qpn) override { return state_->find_qp(qpn); }
    void async_event(std::uint8_t kind, std::uint32_t id) override {
        state_->async.post(card_, kind, id);
    }

    // registers.cpp
    [[nodiscard]] std::uint64_t register_value(std::uint64_t offset) const;
    void write_register(std::uint64_t offset, std::uint32_t value);
    void write_base(std::uint64_t& base, bool high_half, std::uint32_t value);
    void write_admin_control(std::uint32_t value);
    [[nodiscard]] std::uint32_t status() const;
    [[nodiscard]] std::uint32_t push_page_count() const noexcept {
        return (capabilities(config_) & DINGO_CAP_PUSH) != 0 ? PushPages::kPages : 0;
    }

    // doorbells.cpp
    void doorbell(std::uint32_t page, std::uint32_t word0, std::uint32_t index);
    bool ring(std::uint32_t page, std::uint32_t word0, std::uint32_t index);
    void ring_sq(QueuePair& qp, std::uint32_t pushed, std::uint32_t index);

    bool run_admin(unsigned budget, unsigned& done);
    /// Returns the time until which the next command is delayed; 0: not delayed.
    [[nodiscard]] Nanoseconds held_until(const AdminCommand& command);
    void fail(std::uint32_t reason);

    /// Handles a frame from the wire or the loopback; `payload`: its payload if that is not in
    /// `frame`.
    void take(std::span<const std::byte> frame, const Elsewhere& payload, bool has_icrc,
              unsigned packets);
    bool run_loopback(unsigned budget);

    const EngineConfig config_;
    Loopback loopback_;
    CardContext card_;
    std::unique_ptr<CardState> state_;
    AdminQueue admin_;
    PushPages push_pages_;
    unsigned catches_up_ = 0;    ///< run()s that may still delay timers, after a pause
    Nanoseconds admin_due_ = 0;  // end of a delayed command's delay
    std::uint64_t asq_base_ = 0;
    std::uint64_t acq_base_ = 0;
    std::uint32_t clock_high_ = 0;  // CLOCK 63:32 latched by a read of 31:0
    std::uint32_t fatal_ = DINGO_FATAL_NONE;
    std::uint32_t resets_ = 0;
    bool link_ = true;
};

}  // namespace dingo::model
