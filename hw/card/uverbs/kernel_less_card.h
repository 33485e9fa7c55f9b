// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <string>

#include "card.h"
#include "options.h"
#include "served_card.h"
#include "unique_fd.h"
#include "uverbs/card_directory.h"
#include "uverbs/driver/driver.h"
#include "uverbs/host.h"
#include "uverbs/service.h"
#include "wire/wire.h"

namespace dingo::card::uverbs {

/// One card for applications of this machine with all that is its own: cable, directory, driver,
/// engine, sockets. A process may have several, all in one thread.
class KernelLessCard {
  public:
    /// Brings the card up. Log lines go to the descriptor `log`, none: to stderr. Throws
    /// std::exception for the user.
    KernelLessCard(Options options, ServedCard::Hooks hooks, UniqueFd log = {});

    [[nodiscard]] ServedCard& served() { return served_; }
    [[nodiscard]] const std::string& name() const { return options_.uverbs.name; }
    /// It is served: applications may come.
    void publish();

  private:
    Options options_;
    UniqueFd log_;
    std::unique_ptr<Wire> wire_;
    CardDirectory directory_;
    Driver driver_;
    Card card_;
    Host host_;
    std::unique_ptr<Service> rdma_cm_;  ///< none without UD, which its QP1 is
    ServedCard served_;
};

}  // namespace dingo::card::uverbs
