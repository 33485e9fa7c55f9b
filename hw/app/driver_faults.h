// SPDX-License-Identifier: BSD-2-Clause
//
// What a running card does wrong to try its driver: admin commands that it refuses, never answers
// or answers late, and interrupts that are lost.
#pragma once

#include <string_view>

#include "card.h"
#include "host/vfio_user/server.h"
#include "served_card.h"

namespace dingo {

/// Sets refused and held by "OPCODE=refuse|never|MILLISECONDS,..."; "": nothing any more. Throws
/// std::invalid_argument for the user, with nothing changed.
void set_admin_faults(AdminFaults& faults, std::string_view spec);

/// {"cmd":"admin","spec":"0x40=refuse"} for `card`, and "admin_faults" in its stats; `faults` is
/// the engine's, nullptr: it has none. {"cmd":"lose_interrupts","vector":1,"count":3}: that many
/// messages of the vector do not reach the host of `server`.
ServedCard::Hooks driver_fault_hooks(Card& card, AdminFaults* faults, vfio_user::Server& server);

}  // namespace dingo
