// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "dingo/packet/address.h"
#include "host/driver/admin_queue.h"
#include "host/driver/verbs_types.h"

namespace dingo::uverbs {

/// The card's GID table as the driver has filled it, without gaps.
class GidTable {
  public:
    GidTable(AdminQueue& admin, const Mac& mac) : admin_(admin), mac_(mac) {}

    /// Adds an address as the next entry. Throws ErrnoError.
    void add(const packet::Gid& gid);
    [[nodiscard]] const std::vector<GidEntry>& entries() const { return entries_; }

  private:
    AdminQueue& admin_;
    Mac mac_;
    std::vector<GidEntry> entries_;
};

}  // namespace dingo::uverbs
