// SPDX-License-Identifier: BSD-2-Clause
#include "dlrm/criteo.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dlrm/generate.h"

namespace dlrm {
namespace {

/// A line of fields: the label, what `dense` and `sparse` say, "7" and "000000ab" elsewhere.
std::string line(const std::string& label, std::size_t column = 0, const std::string& field = "") {
    std::string out = label;
    for (std::size_t i = 1; i <= kDenseColumns + kSparseColumns; ++i)
        out += '\t' + (i == column ? field : i <= kDenseColumns ? "7" : "000000ab");
    return out;
}

std::string why(const std::string& text) {
    Record record;
    return parse_line(text, record);
}

Record parsed(const std::string& text) {
    Record record{};
    EXPECT_EQ(parse_line(text, record), "");
    return record;
}

TEST(Criteo, ColumnsGoWhereTheCardLooksForThem) {
    const Record record = parsed(line("1"));
    EXPECT_EQ(record[0], 1u);
    for (std::size_t i = 1; i <= 13; ++i)
        EXPECT_EQ(record[i], 7u);
    for (std::size_t i = 16; i <= 41; ++i)
        EXPECT_EQ(record[i], 0xabu);
    for (const std::size_t i : {14, 15, 42, 43, 44, 45, 46, 47})
        EXPECT_EQ(record[i], 0u);
}

TEST(Criteo, EdgesOfTheNumbers) {
    EXPECT_EQ(parsed(line("0", 1, "-2147483648"))[1], 0x80000000u);
    EXPECT_EQ(parsed(line("0", 13, "2147483647"))[13], 0x7fffffffu);
    EXPECT_EQ(parsed(line("0", 14, "ffffffff"))[16], UINT32_MAX);
    EXPECT_EQ(parsed(line("0", 39, "DEADbeef"))[41], 0xdeadbeefu);
    EXPECT_EQ(parsed(line("0", 39, "5"))[41], 5u);
}

TEST(Criteo, EmptyFieldsStayEmpty) {
    for (std::size_t column = 1; column <= 39; ++column) {
        const std::string text = line("1", column, "");
        const Record record = parsed(text);
        EXPECT_EQ(record[column <= 13 ? column : column + 2], 0u);
        EXPECT_EQ(format_line(record), text);
        EXPECT_NE(format_line(record), format_line(parsed(line("1", column, "0"))));
    }
    const std::string bare = "0" + std::string(39, '\t');
    EXPECT_EQ(format_line(parsed(bare)), bare);
}

TEST(Criteo, EveryLineComesBack) {
    Generator generator(5);
    for (int i = 0; i < 10'000; ++i) {
        const Record record = generator.next();
        ASSERT_EQ(parsed(format_line(record)), record);
    }
}

TEST(Criteo, ACarriageReturnIsNoField) {
    EXPECT_EQ(parsed(line("1") + "\r"), parsed(line("1")));
    const std::string bare = "0" + std::string(39, '\t');
    EXPECT_EQ(parsed(bare + "\r"), parsed(bare));
}

TEST(Criteo, WhatIsWrongIsSaid) {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"", "1 fields instead of 40"},
        {line("1") + "\t1", "41 fields instead of 40"},
        {line(""), "label '' is neither 0 nor 1"},
        {line("2"), "label '2' is neither 0 nor 1"},
        {line("01"), "label '01'"},
        {line("1", 3, "1.5"), "integer 3: '1.5' is no number from -2147483648 to 2147483647"},
        {line("1", 13, "2147483648"), "integer 13: '2147483648'"},
        {line("1", 1, " 1"), "integer 1: ' 1'"},
        {line("1", 1, "+1"), "integer 1: '+1'"},
        {line("1", 14, "xyz"), "category 1: 'xyz' is no word of 1 to 8 hexadecimal digits"},
        {line("1", 39, "123456789"), "category 26: '123456789'"},
        {line("1", 20, "0x12"), "category 7: '0x12'"},
        {line("1", 20, "-1"), "category 7: '-1'"},
        {line("1", 20, "\x1b[2J"), "category 7: '?[2J'"},
        {line("1", 20, std::string(1000, 'z')), "zzz...'"},
    };
    for (const auto& [text, expected] : cases)
        EXPECT_NE(why(text).find(expected), std::string::npos) << why(text) << " | " << expected;
}

TEST(Generator, TheSameSeedGivesTheSameClicks) {
    Generator a(1);
    Generator b(1);
    Generator c(2);
    int different = 0;
    int clicks = 0;
    for (int i = 0; i < 1000; ++i) {
        const Record record = a.next();
        EXPECT_EQ(record, b.next());
        different += record != c.next() ? 1 : 0;
        clicks += static_cast<int>(record[0]);
    }
    EXPECT_GT(different, 990);
    EXPECT_GT(clicks, 200);
    EXPECT_LT(clicks, 800);
}

TEST(Generator, TheFirstClickNeverChanges) {
    EXPECT_EQ(format_line(Generator(1).next()).substr(0, 22), "1\t36616485\t7465\t81\t113");
}

}  // namespace
}  // namespace dlrm
