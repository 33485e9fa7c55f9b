// SPDX-License-Identifier: BSD-2-Clause
#include "report/html.h"

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <vector>

#include "report/samples.h"

namespace rdma_bench::report {
namespace {

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Names of elements opened and not closed, or closed and not opened; empty for a well-formed page.
std::vector<std::string> unbalanced(const std::string& html) {
    const std::set<std::string> kVoid{"meta", "!DOCTYPE"};
    std::vector<std::string> open;
    for (auto at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
        const auto end = html.find('>', at);
        if (end == std::string::npos) {
            return {"unfinished tag"};
        }
        std::size_t name_end = at + 1;
        while (name_end < end && html[name_end] != ' ' && html[name_end] != '/') {
            ++name_end;
        }
        if (html[at + 1] == '/') {
            const std::string name = html.substr(at + 2, end - at - 2);
            if (open.empty() || open.back() != name) {
                return {"</" + name + ">"};
            }
            open.pop_back();
        } else if (const std::string name = html.substr(at + 1, name_end - at - 1);
                   html[end - 1] != '/' && kVoid.count(name) == 0) {
            open.push_back(name);
        }
    }
    return open;
}

std::multiset<std::string> ids(const std::string& html) {
    std::multiset<std::string> out;
    for (auto at = html.find(" id=\""); at != std::string::npos; at = html.find(" id=\"", at + 1)) {
        out.insert(html.substr(at + 5, html.find('"', at + 5) - at - 5));
    }
    return out;
}

TEST(HtmlReport, BandwidthRunShowsItsPlotsTablesAndFacts) {
    const std::string html = to_html({{"A", samples::bandwidth()}});
    EXPECT_EQ(unbalanced(html), std::vector<std::string>{});
    for (const char* part :
         {"<title>rdma-bench: write-bw</title>", "<h3>Bandwidth</h3>", "<h3>Message rate</h3>",
          "8 QPs", "node-a", "mlx5_0", "tx_depth", "0.512", "counters/port_xmit_data", "+15", "-4",
          "70000 messages that were checked had the right content", "not encrypted"}) {
        EXPECT_TRUE(has(html, part)) << part;
    }
    for (const char* part : {"<h3>Throughput over time</h3>", "pinned to 2-3, NUMA node(s) 0",
                             "NUMA node of the memory", "clock"}) {
        EXPECT_TRUE(has(html, part)) << part;
    }
    EXPECT_FALSE(has(html, "<h3>Latency</h3>"));
    EXPECT_FALSE(has(html, "Comparison"));
}

TEST(HtmlReport, LatencyRunShowsPercentilesAndDistribution) {
    const std::string html = to_html({{"A", samples::latency()}});
    EXPECT_EQ(unbalanced(html), std::vector<std::string>{});
    for (const char* part : {"<h3>Latency</h3>", "99.9 %", "<h3>Latency by percentile</h3>",
                             "<h3>Distribution of latencies</h3>"}) {
        EXPECT_TRUE(has(html, part)) << part;
    }
    EXPECT_FALSE(has(html, "99.999 %</span>"))
        << "1000 samples do not tell the 99.999th percentile";
    EXPECT_TRUE(has(html, "needs 100000 samples")) << "nor does the table";
}

TEST(HtmlReport, RepeatsShowTheirIntervalAndDecideTheComparison) {
    const std::string html = to_html({{"A", samples::repeated(7)}, {"B", samples::repeated(7)}});
    EXPECT_EQ(unbalanced(html), std::vector<std::string>{});
    EXPECT_TRUE(has(html, "(98.4 % of 7)"));
    EXPECT_TRUE(has(html, "interval of the median"));
    EXPECT_TRUE(has(html, "Judged by confidence intervals of the ratio"));
    EXPECT_TRUE(has(html, ">unclear<")) << "6 % of scatter do not tell 3 %";
}

TEST(HtmlReport, SeveralClientsHaveATableAndTheirMachines) {
    const std::string html = to_html({{"a", samples::two_clients()}});
    EXPECT_TRUE(unbalanced(html).empty());
    EXPECT_TRUE(has(html, ">Clients<"));
    EXPECT_TRUE(has(html, "1: node-b"));
    EXPECT_TRUE(has(html, "2: node-c"));
    EXPECT_TRUE(has(html, "write-bw from 2 clients to node-a (dingo0)"));
    EXPECT_TRUE(has(html, "75.0"));
    EXPECT_TRUE(has(html, "0.8000"));
    EXPECT_TRUE(has(html, "mlx5_1, port 1"));
    EXPECT_FALSE(has(to_html({{"a", samples::bandwidth()}}), ">Clients<"));
}

TEST(HtmlReport, TwoRunsAreCompared) {
    const std::string html =
        to_html({{"old.json", samples::latency()}, {"new.json", samples::latency(1.5)}});
    EXPECT_EQ(unbalanced(html), std::vector<std::string>{});
    EXPECT_TRUE(has(html, "Ratio of median latency"));
    EXPECT_TRUE(has(html, "class=\"worse\""));
    EXPECT_TRUE(has(html, "new.json, median"));
    const std::string strange = to_html({{"a", samples::latency()}, {"b", samples::bandwidth()}});
    EXPECT_TRUE(has(strange, "b is not compared with a: the runs are of two tests"));
}

TEST(HtmlReport, NeedsNothingFromElsewhereAndRunsNothing) {
    const std::string html = to_html({{"A", samples::bandwidth()}, {"B", samples::bandwidth(2)}});
    for (const char* part : {"http:", "https:", "//", "<script", "<link", "<img", "<iframe",
                             "@import", "url(", " on"}) {
        const auto at = html.find(part);
        EXPECT_EQ(at, std::string::npos) << part << ": " << html.substr(at, 60);
    }
    EXPECT_TRUE(has(html, "default-src 'none'"));
}

TEST(HtmlReport, EveryPictureHasATitleAndATextAndIdsAreUnique) {
    const std::string html = to_html({{"A", samples::latency()}, {"B", samples::latency(1.1)}});
    std::size_t pictures = 0;
    for (auto at = html.find("role=\"img\""); at != std::string::npos;
         at = html.find("role=\"img\"", at + 1)) {
        ++pictures;
        EXPECT_TRUE(has(html.substr(at, 200), "aria-labelledby=\""));
    }
    EXPECT_GE(pictures, 4U);
    const auto all = ids(html);
    EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
}

TEST(HtmlReport, HostileTextIsTextEverywhere) {
    const std::string evil = "</title><script>alert(1)</script>\"'\xE2\x80\xAE";
    Result result = samples::latency();
    result.version = result.started = result.security = result.error = evil;
    result.parameters = {{evil, evil}};
    result.local = result.peer = samples::host(evil, evil);
    for (HostFacts* host : {&result.local, &result.peer}) {
        host->kernel = host->cpu = host->device.firmware = host->device.gid =
            host->device.gid_type = evil;
        host->device.node_guid = host->device.link_layer = host->device.state = evil;
    }
    for (Entry& entry : result.entries) {
        entry.started = evil;
        entry.counters = {{evil, 0, 1}};
        entry.verification = Verification{5, 5, 1, 0, evil};
    }
    Result other = result;
    other.parameters[0].value = "x";
    const std::string html = to_html({{evil, result}, {evil + "2", other}});
    EXPECT_FALSE(has(html, "<script"));
    EXPECT_FALSE(has(html, "\xE2\x80\xAE"));
    EXPECT_EQ(unbalanced(html), std::vector<std::string>{});
}

TEST(HtmlReport, ARunWithoutEntriesIsStillAPage) {
    Result result = samples::empty({Operation::kSend, Metric::kBandwidth});
    result.error = "the peer vanished";
    const std::string html = to_html({{"A", result}});
    EXPECT_TRUE(has(html, "Nothing was measured."));
    EXPECT_TRUE(has(html, "the peer vanished"));
    EXPECT_EQ(unbalanced(html), std::vector<std::string>{});
}

TEST(HtmlReport, WithOneSizeTheNumberOfQpsIsTheAxis) {
    Result result = samples::bandwidth();
    std::erase_if(result.entries, [](const Entry& e) { return e.size != 64; });
    EXPECT_TRUE(has(to_html({{"A", result}}), "queue pairs</text>"));
}

}  // namespace
}  // namespace rdma_bench::report
