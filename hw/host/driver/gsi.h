// SPDX-License-Identifier: BSD-2-Clause
// The general services QP (QP1) of a kernel-less card: management datagrams, like ib_mad with a
// kernel driver. Completions are polled after every round of the card, without events.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <span>

#include "host/driver/verbs_types.h"
#include "host/driver/waiter.h"

namespace dingo::uverbs {

class Driver;

/// Every management datagram has this length.
inline constexpr std::size_t kMadBytes = 256;
using MadBytes = std::array<std::byte, kMadBytes>;

struct GsiStats {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t wrong_length = 0;  ///< received datagrams whose length is not kMadBytes
    std::uint64_t unsent = 0;        ///< not sent: the peer's address is unknown, or too many wait
                                     ///< for one
};

/// A received datagram: its sender, and our address that it was sent to.
struct GsiReceived {
    Gid source{};
    Gid destination{};
    std::uint32_t qpn = 0;  ///< the sender's QPN
    MadBytes mad{};
};

class Gsi {
  public:
    /// Creates QP1 and its queues and moves it to RTS. One per card, which must be up. Throws
    /// ErrnoError: EOPNOTSUPP if the card has no UD.
    explicit Gsi(Driver& driver);
    ~Gsi();
    Gsi(const Gsi&) = delete;
    Gsi& operator=(const Gsi&) = delete;

    /// Sends to QP1 at `to`. Waits, within limits, for the neighbour's MAC address. A datagram that
    /// cannot be sent is lost, as on a wire, and counted.
    void send(const AhAttr& to, const MadBytes& mad);

    /// Passes on received datagrams and sends waiting ones. Returns true if it did something.
    bool poll(const std::function<void(const GsiReceived&)>& receive);

    [[nodiscard]] const GsiStats& stats() const { return stats_; }

  private:
    struct Rings;
    struct Waiting final : Waiter {
        Waiting(Gsi& g, const AhAttr& t, const MadBytes& m) : gsi(g), to(t), mad(m) {}
        void settled(int error) override { gsi.settled(*this, error); }
        Gsi& gsi;
        AhAttr to;
        MadBytes mad;
        std::list<Waiting>::iterator self;
    };
    void take_receive(std::uint32_t slot, std::uint32_t bytes, std::uint8_t flags,
                      std::uint32_t source_qpn,
                      const std::function<void(const GsiReceived&)>& receive);
    /// Sends datagrams that wait for room in the ring. Returns true if it did something.
    bool send_waiting();
    void settled(Waiting& what, int error);

    Driver& driver_;
    std::unique_ptr<Rings> rings_;
    std::list<Waiting> waiting_;  ///< for room in the ring
    std::list<Waiting> asking_;   ///< for the neighbour's address
    GsiStats stats_;
};

}  // namespace dingo::uverbs
