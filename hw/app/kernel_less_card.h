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

/// One card for applications of this machine with all that is its own: wire, directory, driver,
/// engine, sockets. A process may have several, all of one data thread.
class KernelLessCard {
  public:
    /// Brings the card up. `gate`: of the data thread that will serve it. Log lines go to the
    /// descriptor `log`, none: to stderr. Throws std::exception for the user.
    KernelLessCard(Options options, const std::shared_ptr<Gate>& gate, ServedCard::Hooks hooks,
                   UniqueFd log = {});

    [[nodiscard]] ServedCard& served() { return served_; }
    [[nodiscard]] const std::string& name() const { return options_.uverbs.name; }
    /// It is served: applications may come.
    void publish();

  private:
    /// The data thread serves the wire by now.
    std::string describe_wire();

    Options options_;
    UniqueFd log_;
    std::unique_ptr<Wire> wire_;
    uverbs::CardDirectory directory_;
    uverbs::Driver driver_;
    Card card_;
    uverbs::UverbsHost host_;
    std::unique_ptr<uverbs::Service> rdma_cm_;  ///< none without UD, which its QP1 is
    ServedCard served_;
};

}  // namespace dingo
