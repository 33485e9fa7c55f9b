// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <exception>

namespace dingo {

/// The request cannot be answered yet (a neighbour's address is being asked for): do the whole of
/// it again a little later. Nothing has changed.
class NotYet : public std::exception {};

}  // namespace dingo
