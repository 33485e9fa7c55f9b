// SPDX-License-Identifier: BSD-2-Clause
//
// The card's addresses, and which of them reaches what: a host's routing table without routers.
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

    /// GID index of an address of ours, or -1.
    [[nodiscard]] int gid_index(const Gid& gid) const;
    [[nodiscard]] const Gid& gid(int index) const;
    [[nodiscard]] const std::vector<uverbs::Prefix>& prefixes() const { return prefixes_; }
    /// Length of our longest prefix that holds it (one more for an address of ours), or -1.
    [[nodiscard]] int match(const Address& destination) const;
    /// Whether one of our prefixes holds it.
    [[nodiscard]] bool on_link(const Address& destination) const;
    /// GID index of our address from which `destination` is reached, of the same IP version, or -1.
    [[nodiscard]] int source_for(const Address& destination) const;
    /// GID index of our first address of that IP version, which stands for a loopback address, or
    /// -1.
    [[nodiscard]] int own(bool ipv4) const;

  private:
    std::vector<uverbs::Prefix> prefixes_;  ///< indexed by GID index
};

}  // namespace dingo::rdma_cm
