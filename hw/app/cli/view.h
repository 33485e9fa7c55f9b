// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

#include "app/cli/cards.h"

namespace dingo::cli {

/// Creates the view (docs/reference/kernel-less.md) of these running cards: one card's own
/// directory, or a directory of links below views/. The caller holds the lock.
Path make_view(const std::vector<CardEntry>& cards);

}  // namespace dingo::cli
