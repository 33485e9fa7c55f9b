// SPDX-License-Identifier: BSD-2-Clause
// Faults of a running card for tests of its driver: admin commands that it refuses, never answers
// or answers late, and lost interrupts.
#pragma once

#include <string_view>

#include "card.h"
#include "host/vfio_user/server.h"
#include "served_card.h"

namespace dingo {

/// Sets `refused` and `held` from "OPCODE=refuse|never|MILLISECONDS,..."; "" removes all faults.
/// Throws std::invalid_argument with a text for the user; then nothing has changed.
void set_admin_faults(AdminFaults& faults, std::string_view spec);

/// Hooks for {"cmd":"admin","spec":"0x40=refuse"} and "admin_faults" in the stats; `faults` is the
/// engine's, nullptr if it has none. {"cmd":"lose_interrupts","vector":1,"count":3} drops that many
/// messages of the vector to the host of `server`.
ServedCard::Hooks driver_fault_hooks(Card& card, AdminFaults* faults, vfio_user::Server& server);

}  // namespace dingo
