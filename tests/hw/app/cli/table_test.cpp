// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/table.h"

#include <gtest/gtest.h>

#include <sstream>

namespace dingo::cli {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        out.push_back(line);
    return out;
}

Table cards() {
    Table out({"NAME", {"PID", 2}, {"WIRE", 1}, "BYTES"});
    out.add({std::string("alice"),
             std::string("4711"),
             std::string("a wire of many words"),
             {"1.2k", 1200}});
    out.add({std::string("bob"), std::string("4712"), std::string("shm"), {"77", 77}});
    return out;
}

TEST(ToolTable, AsWideAsItMustBeWhereThereIsRoom) {
    EXPECT_EQ(lines_of(cards().text()),
              (std::vector<std::string>{"NAME    PID  WIRE                  BYTES",
                                        "alice  4711  a wire of many words   1.2k",
                                        "bob    4712  shm                      77"}));
    EXPECT_EQ(cards().text(200), cards().text());
}

TEST(ToolTable, LeavesOutWhatIsMissedLeast) {
    EXPECT_EQ(lines_of(cards().text(36)),
              (std::vector<std::string>{"NAME   WIRE                  BYTES",
                                        "alice  a wire of many words   1.2k",
                                        "bob    shm                      77"}));
    EXPECT_EQ(lines_of(cards().text(20))[1], "alice   1.2k");
}

TEST(ToolTable, CutsWhatMustStay) {
    Table table({"NAME", "ADDRESSES"});
    table.add({std::string("alice"), std::string("10.77.0.1/24 fd77::1/64")});
    const auto lines = lines_of(table.text(20));
    EXPECT_EQ(lines[1], "alice  10.77.0.1/24~");
}

TEST(ToolTable, NoLineIsWiderThanTheTerminal) {
    for (std::size_t width = 12; width < 60; width++)
        for (const std::string& line : lines_of(cards().text(width)))
            EXPECT_LE(display_width(line), width);
}

TEST(ToolTable, GreatestNumberFirst) {
    Table table = cards();
    EXPECT_TRUE(table.sort("bytes"));
    EXPECT_EQ(lines_of(table.text())[1].substr(0, 5), "alice");
    EXPECT_TRUE(table.sort("NAME"));
    EXPECT_EQ(lines_of(table.text())[1].substr(0, 5), "alice");
    EXPECT_FALSE(table.sort("COLOUR"));
}

TEST(ToolTable, ACharacterOfManyBytesTakesOneColumn) {
    EXPECT_EQ(display_width("▁█"), 2U);
    Table table({"HISTORY", "X"});
    table.add({std::string("▁█"), std::string("y")});
    EXPECT_EQ(lines_of(table.text())[1], "▁█       y");
}

TEST(ToolSparkline, TheGreatestIsTheHighest) {
    EXPECT_EQ(sparkline({0, 1, 2}, true), "▁▅█");
    EXPECT_EQ(sparkline({0, 7}, false), "_#");
    EXPECT_EQ(sparkline({0, 0}, true), "▁▁");
    EXPECT_EQ(sparkline({}, true), "");
}

}  // namespace
}  // namespace dingo::cli
