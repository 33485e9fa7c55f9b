// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "base/unique_fd.h"
#include "host/local_card.h"

namespace dingo::uverbs {

/// The descriptor by which a client wakes a card that sleeps, and the doorbell pages for which it
/// does. The card's thread watches it.
class Kick final : private Pollable {
  public:
    /// Throws ErrnoError.
    Kick(LocalCard& card, UniqueFd fd);
    ~Kick() override;
    Kick(const Kick&) = delete;
    Kick& operator=(const Kick&) = delete;

    [[nodiscard]] int fd() const { return fd_.get(); }
    /// Adds a page to scan on kicks.
    void add_page(std::uint32_t page);
    /// Consumes pending kicks and scans the pages.
    void kicked();

  private:
    void ready(std::uint32_t /*events*/) override { kicked(); }

    LocalCard& card_;
    UniqueFd fd_;
    std::vector<std::uint32_t> pages_;  ///< with the gate held
    Poller::Id id_ = 0;
};

}  // namespace dingo::uverbs
