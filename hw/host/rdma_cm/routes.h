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
    Routes() = default;  ///< leads nowhere
    explicit Routes(const uverbs::Driver& driver);
    explicit Routes(std::vector<uverbs::Prefix> prefixes) : prefixes_(std::move(prefixes)) {}

    /// Of an address of ours, or -1.
    [[nodiscard]] int gid_index(const Gid& gid) const;
    [[nodiscard]] const Gid& gid(int index) const;
    [[nodiscard]] const std::vector<uverbs::Prefix>& prefixes() const { return prefixes_; }
    /// Bits of the longest prefix of ours that holds it (an address of ours: one more), or -1.
    [[nodiscard]] int match(const Address& destination) const;
    /// One of our prefixes holds it.
    [[nodiscard]] bool on_link(const Address& destination) const;
    /// The address of ours that speaks to `destination`, of the same IP version, or -1.
    [[nodiscard]] int source_for(const Address& destination) const;
    /// Stands for "myself": our first address of that version, or -1.
    [[nodiscard]] int own(bool ipv4) const;

  private:
    std::vector<uverbs::Prefix> prefixes_;  ///< by GID index
};

}  // namespace dingo::rdma_cm
