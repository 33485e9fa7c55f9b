// SPDX-License-Identifier: BSD-2-Clause
// The card's addresses and what each can reach: a host's routing table without routers.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "host/driver/driver.h"
#include "host/driver/neighbours.h"
#include "host/rdma_cm/address.h"

namespace dingo::rdma_cm {

class Routes {
  public:
    Routes() = default;  ///< no routes
    explicit Routes(const uverbs::Driver& driver);
    explicit Routes(std::vector<uverbs::Prefix> prefixes) : prefixes_(std::move(prefixes)) {}

    /// Returns the GID index of one of our addresses, or -1.
    [[nodiscard]] int gid_index(const Gid& gid) const;
    [[nodiscard]] const Gid& gid(int index) const;
    [[nodiscard]] const std::vector<uverbs::Prefix>& prefixes() const { return prefixes_; }
    /// Returns the length of our longest prefix that contains the address (129 for an address of
    /// ours), or -1.
    [[nodiscard]] int match(const Address& destination) const;
    /// Returns true if one of our prefixes contains the address.
    [[nodiscard]] bool on_link(const Address& destination) const;
    /// Returns the GID index of our source address for `destination`, of the same IP version, or
    /// -1.
    [[nodiscard]] int source_for(const Address& destination) const;
    /// Returns the GID index of our preferred address of that IP version, which replaces a loopback
    /// address, or -1.
    [[nodiscard]] int own(bool ipv4) const;

  private:
    std::vector<uverbs::Prefix> prefixes_;  ///< indexed by GID index
};

}  // namespace dingo::rdma_cm
