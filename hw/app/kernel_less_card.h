// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "card.h"
#include "host/driver/driver.h"
#include "host/uverbs/card_directory.h"
#include "host/uverbs/service.h"
#include "host/uverbs/uverbs_host.h"
#include "options.h"
#include "served_card.h"
#include "wire/wire.h"

namespace dingo {

/// One card for applications of this machine, with everything of its own: wire, directory, driver,
/// engine, sockets. A process may have several, all served by one data thread.
class KernelLessCard {
  public:
    /// Initializes the card. `gate` is that of the data thread that will serve it. Log lines go to
    /// the descriptor `log`, or to stderr without one. Throws std::exception with a text for the
    /// user.
    KernelLessCard(Options options, const std::shared_ptr<Gate>& gate, ServedCard::Hooks hooks,
                   UniqueFd log = {});

    [[nodiscard]] ServedCard& served() { return served_; }
    [[nodiscard]] const std::string& name() const { return options_.uverbs.name; }
    /// Publishes the card to applications; it must be served already.
    void publish();

  private:
    /// Called when the data thread serves the wire already.
    std::string describe_wire();

    Options options_;
    UniqueFd log_;
    std::unique_ptr<Wire> wire_;
    uverbs::CardDirectory directory_;
    uverbs::Driver driver_;
    Card card_;
    uverbs::UverbsHost host_;
    std::unique_ptr<uverbs::Service> rdma_cm_;  ///< null if the card has no UD, which QP1 needs
    ServedCard served_;
};

}  // namespace dingo
