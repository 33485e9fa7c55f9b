// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace dingo::uverbs {

/// Converts access rights of verbs (IBV_ACCESS_*) to those of the card (DINGO_ACC_*).
std::uint32_t card_access(std::uint32_t access);

}  // namespace dingo::uverbs
