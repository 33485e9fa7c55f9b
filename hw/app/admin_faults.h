// SPDX-License-Identifier: BSD-2-Clause
//
// Admin commands that a running card refuses, never answers or answers late, to try its driver.
#pragma once

#include <string_view>

#include "card.h"
#include "served_card.h"

namespace dingo {

/// Sets refused and held by "OPCODE=refuse|never|MILLISECONDS,..."; "": nothing any more. Throws
/// std::invalid_argument for the user, with nothing changed.
void set_admin_faults(AdminFaults& faults, std::string_view spec);

/// {"cmd":"admin","spec":"0x40=refuse"} for `card`, and "admin_faults" in its stats. `faults` is
/// the engine's; nullptr: it has none.
ServedCard::Hooks admin_fault_hooks(Card& card, AdminFaults* faults);

}  // namespace dingo
