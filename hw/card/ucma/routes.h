// SPDX-License-Identifier: BSD-2-Clause
//
// The card's addresses, and which of them reaches what: a host's routing table without routers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ucma/address.h"
#include "uverbs/driver/driver.h"
#include "uverbs/driver/neighbours.h"

namespace dingo::card::ucma {

class Routes {
  public:
    explicit Routes(const uverbs::Driver& driver);

    /// Of an address of ours, or -1.
    [[nodiscard]] int gid_index(const Gid& gid) const;
    [[nodiscard]] const Gid& gid(int index) const;
    /// One of our prefixes holds it.
    [[nodiscard]] bool on_link(const Address& destination) const;
    /// The address of ours that speaks to `destination`, of the same IP version, or -1.
    [[nodiscard]] int source_for(const Address& destination) const;
    /// Stands for "myself": our first address of that version, or -1.
    [[nodiscard]] int own(bool ipv4) const;

  private:
    std::vector<uverbs::Prefix> prefixes_;  ///< by GID index
};

}  // namespace dingo::card::ucma
