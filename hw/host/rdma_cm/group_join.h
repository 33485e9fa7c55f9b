// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "base/quota.h"

namespace dingo::rdma_cm {

class Id;

/// A group that an identifier has joined by JOIN_MCAST. The join has a number and its events a uid
/// of their own.
struct GroupJoin {
    Id* id;
    std::uint32_t number;
    std::uint64_t uid;
    Charge charge;
    std::uint32_t events_reported = 0;

    // For a join on another card of the view:
    std::uint64_t key = 0;     ///< its uid there; 0: the join is on this card
    std::uint32_t remote = 0;  ///< its number there
};

}  // namespace dingo::rdma_cm
