// SPDX-License-Identifier: BSD-2-Clause
//
// One card alone, and two cards connected by a wire, in simulated time.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "driver.h"
#include "engines.h"
#include "fake_host.h"
#include "test_wire.h"

namespace dingo::test {

/// A card with its host and its driver; frames that it sends are kept in `wire.sent`.
struct OneCard {
    explicit OneCard(const std::string& engine_name = "model", EngineConfig config = {});

    /// Runs the engine until it has nothing more to do at the current time.
    void settle();
    void receive(std::span<const std::byte> frame) {
        deliver(*engine, frame);
        settle();
    }

    Nanoseconds now = 1'000;
    TestHost host;
    TestWire wire;
    std::unique_ptr<Engine> engine;
    TestDriver driver;
};

/// Card 0 is 10.77.0.1 / fd77::1, card 1 is 10.77.0.2 / fd77::2: GID index 0 is the IPv4 address,
/// index 1 the IPv6 one. Both ports are up with MTU 9000.
class TwoCards {
  public:
    explicit TwoCards(const std::string& engine0 = "model", const std::string& engine1 = "model",
                      EngineConfig config = {});

    OneCard& card(unsigned i) { return *cards_[i]; }
    TestDriver& driver(unsigned i) { return cards_[i]->driver; }
    TestHost& host(unsigned i) { return cards_[i]->host; }
    TestLink link;
    std::array<unsigned, 2> budget{64, 64};  ///< budget of each run(); 0: the card is not run

    [[nodiscard]] Nanoseconds now() const { return now_; }
    /// Delivers due frames and runs both engines once; returns true if something is left for now.
    bool step();
    /// Runs, advancing time from one deadline or arrival to the next, until `done` returns true.
    /// Returns false after `limit` of simulated time, or if nothing more will happen.
    bool run_until(const std::function<bool()>& done, Nanoseconds limit = 60'000'000'000);
    /// Advances time by `time`.
    void run_for(Nanoseconds time);
    /// Runs until nothing more happens, not even a timer within `limit`.
    void settle(Nanoseconds limit = 10'000'000'000);

    /// Path to a card's QP, as its peer needs it.
    TestDriver::PathOptions path_to(unsigned card, std::uint32_t qpn, unsigned gid_index = 0) const;
    /// Address vector for a UD send.
    dingo_wqe_ud ud_to(unsigned card, std::uint32_t qpn, std::uint32_t qkey,
                       unsigned gid_index = 0) const;

    /// A connection in RTS: on each card one QP, and one CQ for all its completions.
    struct Connection {
        std::array<Cq, 2> cq;
        std::array<TestQp, 2> qp;
    };
    struct ConnectOptions {
        QpOptions qp;
        TestDriver::PathOptions path;  ///< addresses and PSNs are set by connect()
        unsigned gid_index = 0;
        unsigned log_cq = 8;
        /// first PSN that each card sends
        std::array<std::uint32_t, 2> start_psn = {0x100, 0x200};
        /// Called while the QP is in state RESET.
        std::function<void(unsigned card, TestDriver& driver, const TestQp& qp)> created;
    };
    Connection connect(const ConnectOptions& options);
    Connection connect() { return connect(ConnectOptions{}); }
    /// Moves both QPs to RESET and back to RTS.
    void reconnect(Connection& connection, const ConnectOptions& options);
    /// Waits for the next completion; throws std::runtime_error after `limit`.
    dingo_cqe wait_cq(unsigned card, Cq& cq, Nanoseconds limit = 60'000'000'000);

  private:
    void bring_up(const Connection& connection, const ConnectOptions& options);

    Nanoseconds now_ = 1'000;
    std::array<std::unique_ptr<OneCard>, 2> cards_;
};

}  // namespace dingo::test
