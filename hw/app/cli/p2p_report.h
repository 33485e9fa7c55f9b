// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/p2p_cards.h"

namespace dingo::cli {

/// One line of "Data Transfer: DMA Bypass". `number` is empty if the card does not count.
struct P2pRow {
    std::string device;
    std::string type;  ///< IN: written by other devices; OUT: read by them
    std::optional<std::uint64_t> number;
    std::uint64_t bytes = 0;
    double seconds = 0;  ///< period of the count; 0: since the card was switched on
};

/// Adds both lines of a card.
void add_rows(std::vector<P2pRow>& rows, const P2pCard& card, const P2pTransfers& before,
              const P2pTransfers& after, double seconds);
std::string report_text(const std::vector<P2pRow>& rows, std::size_t width);
nlohmann::json report_json(const std::vector<P2pRow>& rows);

}  // namespace dingo::cli
