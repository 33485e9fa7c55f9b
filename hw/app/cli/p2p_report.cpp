// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/p2p_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/cli/table.h"

namespace dingo::cli {
namespace {

const std::string kUnknown = "N/A";

std::string three_digits(double value) {
    return fmt::format("{:.3f}", value);
}

}  // namespace

void add_rows(std::vector<P2pRow>& rows, const P2pCard& card, const P2pTransfers& before,
              const P2pTransfers& after, double seconds) {
    const std::string name = card.device.empty() ? card.address : card.device;
    P2pRow in{name, "IN", std::nullopt, 0, seconds};
    P2pRow out{name, "OUT", std::nullopt, 0, seconds};
    if (card.counts) {
        in.number = after.in_requests - before.in_requests;
        in.bytes = after.in_bytes - before.in_bytes;
        out.number = after.out_requests - before.out_requests;
        out.bytes = after.out_bytes - before.out_bytes;
    }
    rows.push_back(in);
    rows.push_back(out);
}

std::string report_text(const std::vector<P2pRow>& rows, std::size_t width) {
    Table table({"Device", "Type", "Transfers", "Rate (MB/s)", "Total (MB)", "Time (ms)",
                 "Average (KB)", "Latency (ns)"});
    bool all_counted = true;
    for (const P2pRow& row : rows) {
        all_counted &= row.number.has_value();
        const bool timed = row.number && row.seconds > 0;
        const auto bytes = static_cast<double>(row.bytes);
        table.add({row.device, row.type, row.number ? std::to_string(*row.number) : kUnknown,
                   timed ? three_digits(bytes / row.seconds / 1e6) : kUnknown,
                   row.number ? three_digits(bytes / 1e6) : kUnknown,
                   timed ? three_digits(row.seconds * 1e3) : kUnknown,
                   row.number && *row.number != 0
                       ? three_digits(bytes / static_cast<double>(*row.number) / 1e3)
                       : kUnknown,
                   kUnknown});
    }
    std::string text = "Data Transfer: DMA Bypass\n" + table.text(width);
    if (!all_counted)
        text +=
            "Cards with N/A do not count their transfers: their memory is mapped, and other "
            "devices reach it\nwithout the card (dingo-card --count-card-memory counts them).\n";
    return text;
}

nlohmann::json report_json(const std::vector<P2pRow>& rows) {
    nlohmann::json all = nlohmann::json::array();
    for (const P2pRow& row : rows) {
        nlohmann::json one{{"device", row.device}, {"type", row.type}};
        one["transfers"] = row.number ? nlohmann::json(*row.number) : nlohmann::json();
        one["bytes"] = row.number ? nlohmann::json(row.bytes) : nlohmann::json();
        one["seconds"] = row.seconds > 0 ? nlohmann::json(row.seconds) : nlohmann::json();
        all.push_back(one);
    }
    return all;
}

}  // namespace dingo::cli
