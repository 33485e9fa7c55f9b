// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "base/quota.h"

namespace dingo::rdma_cm {

class Id;

/// What JOIN_MCAST made on an identifier: its number and its events' uid are its own.
struct GroupJoin {
    Id* id;
    std::uint32_t number;
    std::uint64_t uid;
    Charge charge;
    std::uint32_t events_reported = 0;

    // Made at another card of the view:
    std::uint64_t key = 0;     ///< its uid there; 0: it is here
    std::uint32_t remote = 0;  ///< its number there
};

}  // namespace dingo::rdma_cm
