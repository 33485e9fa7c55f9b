// SPDX-License-Identifier: BSD-2-Clause
#include "report/csv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "report/samples.h"

namespace rdma_bench::report {
namespace {

/// Parses CSV by RFC 4180 into rows of cells.
std::vector<std::vector<std::string>> parse(const std::string& text) {
    std::vector<std::vector<std::string>> rows{{""}};
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::string& cell = rows.back().back();
        if (quoted && text[i] == '"' && i + 1 < text.size() && text[i + 1] == '"') {
            cell += text[++i];
        } else if (text[i] == '"') {
            quoted = !quoted;
        } else if (!quoted && text[i] == ',') {
            rows.back().emplace_back();
        } else if (!quoted && text.compare(i, 2, "\r\n") == 0) {
            rows.push_back({""});
            ++i;
        } else {
            cell += text[i];
        }
    }
    EXPECT_FALSE(quoted);
    EXPECT_EQ(rows.back(), std::vector<std::string>{""}) << "the last line has its end";
    rows.pop_back();
    return rows;
}

std::map<std::string, std::string> row(const std::string& csv, std::size_t number) {
    const auto rows = parse(csv);
    std::map<std::string, std::string> out;
    for (std::size_t i = 0; i < rows[0].size(); ++i) {
        out[rows[0][i]] = rows.at(number).at(i);
    }
    return out;
}

TEST(ResultCsv, HasALineForEachEntryAndAsManyCellsAsColumns) {
    for (const Result& result : {samples::bandwidth(), samples::latency()}) {
        const auto rows = parse(to_csv(result));
        ASSERT_EQ(rows.size(), result.entries.size() + 1);
        for (const auto& cells : rows) {
            EXPECT_EQ(cells.size(), rows[0].size());
        }
        auto names = rows[0];
        std::sort(names.begin(), names.end());
        EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
    }
}

TEST(ResultCsv, CellsStandBelowTheirNames) {
    auto cells = row(to_csv(samples::bandwidth()), 2);
    EXPECT_EQ(cells["test"], "write-bw");
    EXPECT_EQ(cells["size_bytes"], "128");
    EXPECT_EQ(cells["bandwidth_average_bytes_per_second"], "128000000");
    EXPECT_EQ(cells["messages_per_second"], "1000000");
    EXPECT_EQ(cells["latency_p50_us"], "");
    EXPECT_EQ(cells["late_messages"], "17");
    EXPECT_EQ(cells["cpu_instructions"], "123456789");
    cells = row(to_csv(samples::latency()), 1);
    EXPECT_EQ(cells["bandwidth_average_bytes_per_second"], "");
    EXPECT_EQ(cells["latency_samples"], "1000");
    EXPECT_EQ(cells["latency_max_us"], "20");
    EXPECT_NEAR(std::stod(cells["latency_p99.9_us"]), 20, 0.1);
    EXPECT_EQ(cells["latency_p99.999_us"], "") << "1000 samples do not tell it";
}

TEST(ResultCsv, HostileNamesStayInTheirCell) {
    Result result = samples::latency();
    result.peer.name = "a\",\"b\r\nc";
    result.local.name = "=cmd|' /C calc'!A1";
    auto cells = row(to_csv(result), 1);
    EXPECT_EQ(cells["peer_host"], "a\",\"b\r\nc");
    EXPECT_EQ(cells["local_host"].front(), '\'') << "no formula for a spreadsheet";
}

}  // namespace
}  // namespace rdma_bench::report
