// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/stats_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "app/cli/error.h"
#include "app/cli/table.h"

namespace dingo::cli {
namespace {

using Json = nlohmann::json;

Json qp(unsigned qpn, double bytes, double retransmits) {
    return {{"qpn", qpn},
            {"type", "RC"},
            {"state", 3},
            {"pid", 4711},
            {"dest_qpn", 0x61f30},
            {"peer", "10.77.0.2"},
            {"counters",
             {{"tx_bytes", bytes},
              {"rx_bytes", 0},
              {"send_cqes", bytes / 100},
              {"recv_cqes", 0},
              {"retransmits", retransmits},
              {"acks_rcvd", bytes / 1000},
              {"timeouts", 0}}}};
}

/// Returns a card's sample with these bytes and drops at that second.
Sample card(double bytes, double drops, int second) {
    Sample out;
    out.name = "alice";
    out.stats = {{"link", true},
                 {"clients", Json::array({1})},
                 {"messages", bytes / 50},
                 {"counters", {{"retransmits", 7}, {"rx_icrc_encapsulated", drops}}},
                 {"card", {{"link_down_drops", drops}}},
                 {"wire",
                  {{"tx_bytes", bytes},
                   {"rx_bytes", 0},
                   {"tx_frames", bytes / 1000},
                   {"rx_frames", 0},
                   {"rx_overrun", drops}}},
                 {"qps", Json::array({qp(0xf42a0a, bytes / 4, 0), qp(0x12, bytes / 2, 3)})}};
    out.time = std::chrono::steady_clock::time_point(std::chrono::seconds(second));
    return out;
}

std::string watched(const StatsView& view) {
    const std::vector<Sample> before{card(0, 0, 1)};
    const std::vector<Sample> now{card(1e9, 5, 2)};
    History history;
    history.add(before, {});
    history.add(now, before);
    return stats_text(now, before, history, view);
}

std::string line_with(const std::string& text, const std::string& word) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        if (line.find(word) != std::string::npos)
            return line;
    return "";
}

TEST(ToolStats, FitsAnyTerminal) {
    for (const std::size_t width : {40U, 80U, 120U}) {
        std::istringstream in(watched({width, 0, "", true}));
        for (std::string line; std::getline(in, line);)
            EXPECT_LE(display_width(line), width) << line;
    }
}

TEST(ToolStats, WhatAPersonWantsFirstStandsFirst) {
    EXPECT_EQ(line_with(watched({40, 0, "", true}), "CARD"),
              "CARD   OUT_GBIT/S  IN_GBIT/S  RETRANS");
    const std::string card = line_with(watched({80, 0, "", true}), "CARD");
    EXPECT_EQ(card.find("CARD   OUT_GBIT/S  IN_GBIT/S  MSG/S  RETRANS  DROPS  HISTORY"), 0U)
        << card;
    EXPECT_EQ(line_with(watched({80, 0, "", true}), "QPN"),
              "     QPN  OUT_GBIT/S  IN_GBIT/S  MSG/S  RETRANS  PEER               TYPE  STATE");
    EXPECT_NE(line_with(watched({120, 0, "", true}), "QPN").find("acks_rcvd/s"), std::string::npos);
}

TEST(ToolStats, NumbersOfQpsAreHexAndThePeerIsNamed) {
    const std::string text = watched({0, 0, "", true});
    EXPECT_NE(line_with(text, "0xf42a0a").find("10.77.0.2 0x61f30"), std::string::npos) << text;
}

TEST(ToolStats, RatesWhereThereIsAnOlderSampleAndSumsElsewhere) {
    const std::string rates = line_with(watched({0, 0, "", true}), "alice ");
    EXPECT_NE(rates.find("8.00"), std::string::npos) << rates;
    const std::string sums = stats_text({card(1e9, 5, 2)}, {}, {}, {});
    EXPECT_NE(line_with(sums, "alice ").find("1.00G"), std::string::npos) << sums;
    EXPECT_EQ(sums.find("HISTORY"), std::string::npos);
}

TEST(ToolStats, RetransmissionsAndDropsOfTheCard) {
    EXPECT_NE(line_with(watched({0, 0, "", true}), "alice ").find("      7     15  "),
              std::string::npos)
        << watched({0, 0, "", true});
}

TEST(ToolStats, WhatACardCountedStaysWhenItsQpsAreGone) {
    Sample idle = card(1e9, 5, 2);
    idle.stats["qps"] = Json::array();
    const auto row = [](const Sample& s) {
        return line_with(stats_text({s}, {}, {}, {}), "alice ");
    };
    EXPECT_NE(row(idle).find("20.0M        7     15  "), std::string::npos) << row(idle);
}

TEST(ToolStats, History) {
    EXPECT_NE(line_with(watched({0, 0, "", true}), "alice ").find("▁█"), std::string::npos);
    EXPECT_NE(line_with(watched({0, 0, "", false}), "alice ").find("_#"), std::string::npos);
}

TEST(ToolStats, SortsByAColumnThatIsThere) {
    const std::string text = watched({0, 0, "out_gbit/s", true});
    EXPECT_LT(text.find("0x12 "), text.find("0xf42a0a"));
    EXPECT_GT(watched({}).find("0x12 "), watched({}).find("0xf42a0a"));
}

TEST(ToolStats, AColumnThatNoTableHasIsRefusedWithThoseThatThereAre) {
    for (const char* const there : {"", "MSG", "out_bytes", "PEER", "acks_rcvd"})
        EXPECT_NO_THROW(check_sort(there, false)) << there;
    for (const char* const there : {"MSG/S", "HISTORY", "acks_rcvd/s"})
        EXPECT_NO_THROW(check_sort(there, true)) << there;
    for (const char* const other : {"COLOUR", "MSG/S", "send_cqes"})
        EXPECT_THROW(check_sort(other, false), Error) << other;
    try {
        check_sort("MSG", true);
        ADD_FAILURE() << "a table of rates has no sums";
    } catch (const Error& e) {
        EXPECT_EQ(e.status(), kUsage);
        EXPECT_NE(std::string(e.what()).find("MSG/S, RETRANS"), std::string::npos) << e.what();
    }
}

TEST(ToolStats, AsManyLinesAsTheTerminalHas) {
    const std::string text = watched({80, 5, "", true});
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
    EXPECT_NE(text.find("lines more"), std::string::npos);
}

TEST(ToolStats, ANewQpWithAnOldNumberHasNoNegativeRate) {
    const std::vector<Sample> before{card(1e9, 0, 1)};
    const std::string text = stats_text({card(10, 0, 2)}, before, {}, {});
    EXPECT_EQ(text.find('-'), std::string::npos) << text;
}

}  // namespace
}  // namespace dingo::cli
