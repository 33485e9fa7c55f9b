// SPDX-License-Identifier: BSD-2-Clause
#include "report/html.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "report/page_shown.h"
#include "report/samples.h"

namespace rdma_bench::report {
namespace {

using HtmlReport = PageShown;
using Json = nlohmann::json;

constexpr auto kEvil =
    "</title></pre></noscript></script><script>alert(1)</script><!--\"'&amp;\xE2\x80\xAE\xFF";

/// A result with `text` wherever a stranger can have put it.
Result with_text_everywhere(const std::string& text) {
    Result result = samples::two_clients();
    result.entries[0].latency = samples::latency().entries[0].latency;
    result.version = result.started = result.security = result.error = text;
    result.parameters = {{text, text}};
    result.local = result.peer = samples::host(text, text);
    for (HostFacts* host : {&result.local, &result.peer, &result.clients[0]}) {
        host->kernel = host->cpu = host->device.firmware = host->device.gid = text;
        host->device.gid_type = host->device.node_guid = host->device.link_layer = text;
        host->device.state = host->clock = host->pinned = host->thread_nodes = text;
    }
    for (Entry& entry : result.entries) {
        entry.started = text;
        entry.counters = {{text, 0, 1}};
        entry.verification = Verification{5, 5, 1, 0, text};
    }
    return result;
}

/// The data of a page.
Json data_of(const std::string& html) {
    const std::string begin = "id=\"data\">";
    const auto from = html.find(begin) + begin.size();
    return Json::parse(html.substr(from, html.find("</script", from) - from));
}

// ---- What a page is without a browser ----

TEST(HtmlPage, HoldsTheJsonOfItsRunsAndOfTheirComparison) {
    const Json data = data_of(to_html(
        {{"A", samples::latency()}, {"B", samples::latency(1.5)}, {"C", samples::bandwidth()}}));
    ASSERT_EQ(data["runs"].size(), 3U);
    EXPECT_EQ(data["runs"][1]["name"], "B");
    EXPECT_EQ(data["runs"][0]["result"]["schema"], "rdma-bench");
    EXPECT_EQ(data["runs"][0]["result"]["entries"][0]["latency"]["samples"], 1000);
    EXPECT_FALSE(data["runs"][0]["result"]["entries"][0].contains("samples_ns"));
    ASSERT_EQ(data["comparisons"].size(), 2U);
    EXPECT_EQ(data["comparisons"][0]["figures"][0]["verdict"], "worse");
    EXPECT_EQ(data["comparisons"][1]["refused"],
              "the runs are of two tests, read-lat and write-bw");
}

TEST(HtmlPage, NeedsNothingFromElsewhereAndRunsItsOwnScriptOnly) {
    std::string html = to_html({{"A", samples::bandwidth()}, {"B", samples::bandwidth(2)}});
    const std::string name_of_svg = "\"http://www.w3.org/2000/svg\"";
    ASSERT_EQ(count(html, name_of_svg), 1U);
    html.erase(html.find(name_of_svg), name_of_svg.size());
    for (const char* part :
         {"http:", "https:", "src=", "href", "<link", "<img", "<iframe", "@import", "url(",
          "fetch(", "XMLHttp", "import(", "innerHTML", "eval(", "@"}) {
        const auto at = html.find(part);
        // The style has rules that begin with an @.
        const bool rule = std::string(part) == "@" && html.compare(at, 6, "@media") == 0;
        EXPECT_TRUE(at == std::string::npos || rule) << part << ": " << html.substr(at, 60);
    }
    EXPECT_TRUE(has(html, "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-"));
    EXPECT_EQ(count(html, "<script"), 2U);
}

TEST(HtmlPage, HostileTextIsNeitherMarkupNorTheEndOfTheData) {
    const std::string html =
        to_html({{kEvil, with_text_everywhere(kEvil)}, {"B", with_text_everywhere("x")}});
    EXPECT_EQ(count(html, "<script"), 2U);
    EXPECT_EQ(count(html, "</script"), 2U);
    EXPECT_EQ(count(html, "</title"), 1U);
    EXPECT_EQ(count(html, "</noscript"), 1U);
    EXPECT_EQ(count(html, "</pre"), 1U);
    EXPECT_FALSE(has(html, "<!--"));
    EXPECT_FALSE(has(html, "\xE2\x80\xAE"));
    EXPECT_FALSE(has(html, "\xFF"));
    const std::string name = data_of(html)["runs"][0]["name"];
    EXPECT_EQ(name, std::string(kEvil).substr(0, std::string(kEvil).size() - 1) + "\xEF\xBF\xBD");
}

TEST(HtmlPage, WhoRunsNoScriptReadsTheMainFigures) {
    const std::string html = to_html({{"A", samples::latency()}, {"B", samples::bandwidth()}});
    EXPECT_TRUE(has(html, "<title>rdma-bench: read-lat, write-bw</title>"));
    const auto from = html.find("<noscript>");
    const std::string text = html.substr(from, html.find("</noscript>") - from);
    for (const char* part :
         {"JavaScript, which is off", "\"A\", read-lat", "median, us",
          "\n        4096     1                                     4.02         4.03\n",
          "\n          64     8         4.10     8000000.00                          \n"}) {
        EXPECT_TRUE(has(text, part)) << part << text;
    }
    Result few = samples::latency();
    few.entries[0].latency = Histogram();
    for (unsigned i = 0; i < 10; ++i) {
        few.entries[0].latency->record(2000);
    }
    EXPECT_TRUE(has(to_html({{"A", few}}), "     2.00             \n")) << "10 tell no 99 %";
    Result none = samples::empty({Operation::kSend, Metric::kBandwidth});
    none.error = "the peer <vanished>";
    EXPECT_TRUE(has(to_html({{"A", none}}), "ended early: \"the peer \\u003cvanished>\"\n</pre>"));
}

// ---- What a browser shows ----

TEST_F(HtmlReport, BandwidthRunShowsItsPlotsTablesAndFacts) {
    const std::string page = shown(to_html({{"A", samples::bandwidth()}}));
    for (const char* part :
         {"<title>rdma-bench: write-bw</title>", "<h3>Bandwidth</h3>", "<h3>Message rate</h3>",
          "8 QPs", "node-a", "mlx5_0", "tx_depth", "0.512", "counters/port_xmit_data", "+15", "-4",
          "All 70000 messages that were checked had the right content", "not encrypted",
          "Up to 262 Gb/s with 4 KiB and 8 QPs."}) {
        EXPECT_TRUE(has(page, part)) << part;
    }
    for (const char* part :
         {"<h3>Throughput over time</h3>", "pinned to 2-3, NUMA node(s) 0",
          "NUMA node of the memory", "clock", "0x1ae0, 5", "3: 192.0.2.1, RoCE v2", "150.00",
          "24691", "5000 right, 2 lost", "900 k"}) {
        EXPECT_TRUE(has(page, part)) << part;
    }
    EXPECT_FALSE(has(page, "<h3>Latency</h3>"));
    EXPECT_FALSE(has(page, "<h2>Comparison</h2>"));
    EXPECT_FALSE(has(page, "hw_counters/out_of_buffer")) << "it did not move";
    EXPECT_FALSE(has(page, "median</th>")) << "a column that nothing fills";
}

TEST_F(HtmlReport, LatencyRunShowsPercentilesAndDistribution) {
    const std::string page = shown(to_html({{"A", samples::latency()}}));
    for (const char* part : {"<h3>Latency</h3>", "99.9 %", "<h3>Latency by percentile</h3>",
                             "<h3>Distribution of latencies</h3>",
                             "Latency from 2.01 \xC2\xB5s (median, with 2 B)."}) {
        EXPECT_TRUE(has(page, part)) << part;
    }
    EXPECT_FALSE(has(page, "99.999 %</span>"))
        << "1000 samples do not tell the 99.999th percentile";
    EXPECT_TRUE(has(page, "needs 100000 samples")) << "nor does the table";
}

TEST_F(HtmlReport, TheSharesOfADistributionAddUp) {
    const std::string html = to_html({{"A", samples::latency()}});
    const Json points = Json::parse(value(html,
                                          "outline(JSON.parse(document.getElementById(\"data\")."
                                          "textContent).runs[0].result.entries[0].latency)"));
    double sum = 0, most = 0;
    for (const auto& point : points) {
        sum += point[1].get<double>();
        most = std::max(most, point[1].get<double>());
    }
    EXPECT_NEAR(sum, 100, 1e-9);
    EXPECT_NEAR(most, 99, 1e-9) << "one in a hundred is slow";
    EXPECT_EQ(points.front()[1], 0);
    EXPECT_EQ(points.back()[1], 0);
    EXPECT_GT(points.back()[0].get<double>(), 20) << "the slow ones take 20 us";
}

TEST_F(HtmlReport, TheRateOverTimeIsThatOfEachStretch) {
    const Json points = Json::parse(value(to_html({{"A", samples::bandwidth()}}),
                                          "timePlot(JSON.parse(document.getElementById(\"data\")."
                                          "textContent).runs).series[6].points"));
    ASSERT_EQ(points.size(), 2U);
    EXPECT_EQ(points[1][0], 0.25);
    for (const auto& point : points) {
        EXPECT_NEAR(point[1].get<double>(), 20000 * 4096 * 8 / 1e9, 1e-9);
    }
}

TEST_F(HtmlReport, RepeatsShowTheirIntervalAndDecideTheComparison) {
    const std::string page =
        shown(to_html({{"A", samples::repeated(7)}, {"B", samples::repeated(7)}}));
    EXPECT_TRUE(has(page, "0.512 to 0.543 (98.4 % of 7)"));
    EXPECT_TRUE(has(page, "interval of the median"));
    EXPECT_TRUE(has(page, "Judged by confidence intervals of the ratio"));
    EXPECT_TRUE(has(page, "-5.7 to +6.0"));
    EXPECT_TRUE(has(page, ">unclear<")) << "6 % of scatter do not tell 3 %";
}

TEST_F(HtmlReport, SeveralClientsHaveATableAndTheirMachines) {
    const std::string page = shown(to_html({{"a", samples::two_clients()}}));
    for (const char* part :
         {">Clients<", "1: node-b", "2: node-c", "write-bw from 2 clients to node-a (dingo0)",
          "75.0", "0.8000", "mlx5_1, port 1", ">client 2<"}) {
        EXPECT_TRUE(has(page, part)) << part;
    }
    EXPECT_FALSE(has(shown(to_html({{"a", samples::bandwidth()}})), ">Clients<"));
}

TEST_F(HtmlReport, TwoRunsAreCompared) {
    const std::string page =
        shown(to_html({{"old.json", samples::latency()}, {"new.json", samples::latency(1.5)}}));
    for (const char* part :
         {"Ratio of median latency", "ratio to the first; less is better", "class=\"reference\"",
          "class=\"worse\"", "new.json, median", "+49.", "new.json against old.json"}) {
        EXPECT_TRUE(has(page, part)) << part;
    }
    EXPECT_FALSE(has(page, "class=\"differs\""));
    const std::string strange =
        shown(to_html({{"a", samples::latency()}, {"b", samples::bandwidth()}}));
    EXPECT_TRUE(has(strange, "b is not compared with a: the runs are of two tests"));
}

TEST_F(HtmlReport, SettingsThatDifferAndWrongDataAreMarked) {
    Result other = samples::bandwidth();
    other.parameters[1].value = "64";
    other.entries[0].verification = Verification{5000, 1, 3, 0, "message 7"};
    const std::string page = shown(to_html({{"a", samples::bandwidth()}, {"b", other}}));
    EXPECT_TRUE(has(
        page, "<tr class=\"differs\"><th scope=\"row\">tx_depth</th><td>128</td><td>64</td></tr>"));
    EXPECT_TRUE(has(page, "3 of 5000 WRONG: message 7"));
    EXPECT_TRUE(has(page, "Failed: 64 B with 1 QP(s): 3 wrong message(s): message 7"));
}

TEST_F(HtmlReport, EveryPictureHasATitleAndATextAndIdsAreUnique) {
    const std::string page =
        shown(to_html({{"A", samples::latency()}, {"B", samples::latency(1.1)}}));
    EXPECT_GE(count(page, "role=\"img\""), 4U);
    EXPECT_EQ(count(page, "role=\"img\""), count(page, "aria-labelledby=\""));
    EXPECT_TRUE(has(page, "Lowest: 2.01 \xC2\xB5s at 2 B (A, median)."));
    std::multiset<std::string> ids;
    for (auto at = page.find(" id=\""); at != std::string::npos; at = page.find(" id=\"", at + 1)) {
        ids.insert(page.substr(at + 5, page.find('"', at + 5) - at - 5));
    }
    EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
}

TEST_F(HtmlReport, HostileTextIsTextEverywhere) {
    const std::string page =
        shown(to_html({{kEvil, with_text_everywhere(kEvil)}, {"B", with_text_everywhere("x")}}));
    EXPECT_EQ(count(page, "<script"), 2U);
    EXPECT_FALSE(has(page, "\xE2\x80\xAE"));
    EXPECT_FALSE(has(page, "<p>The data of this page"));
    EXPECT_TRUE(has(page, "&#60;/script&#62;&#60;script&#62;alert(1)"));
    EXPECT_TRUE(has(page, "<h2>Machines</h2>"));
}

TEST_F(HtmlReport, DataThatIsDamagedIsSaid) {
    std::string html = to_html({{"A", samples::latency()}});
    html.insert(html.find("id=\"data\">") + 10, "{");
    EXPECT_TRUE(has(shown(html), "<p>The data of this page cannot be shown: "));
}

TEST_F(HtmlReport, WhatWasNotMeasuredIsLeftOut) {
    Result result = samples::two_clients();
    result.entries.resize(2);
    Entry& entry = result.entries[0];
    const double nan = std::nan("");
    entry.bandwidth = Bandwidth{nan, nan, nan};
    entry.rate = RateOutcome{nan, nan, 0};
    entry.clients[0] = {1, nan, nan, nan};
    entry.cpu = {nan, nan, {}, 1};
    entry.latency = Histogram(nan);
    entry.latency->record(1);
    result.entries[1].latency = Histogram();
    result.local.device.rate_gbits = nan;
    const std::string page = shown(to_html({{"A", result}, {"B", result}}));
    EXPECT_FALSE(has(page, "<p>The data of this page"));
    EXPECT_FALSE(has(page, "NaN"));
    EXPECT_TRUE(has(page, "<td class=\"n\">?</td>"));
    EXPECT_TRUE(has(page, "A: 1.02 (128 B)"));
    EXPECT_FALSE(has(page, "(64 B)")) << "no point where there is no figure";
}

TEST_F(HtmlReport, ARunWithoutEntriesIsStillAPage) {
    Result result = samples::empty({Operation::kSend, Metric::kBandwidth});
    result.error = "the peer vanished";
    const std::string page = shown(to_html({{"A", result}}));
    EXPECT_TRUE(has(page, "Nothing was measured."));
    EXPECT_TRUE(has(page, "The run ended early: the peer vanished"));
    EXPECT_TRUE(has(page, "<h2>Machines</h2>"));
}

TEST_F(HtmlReport, WithOneSizeTheNumberOfQpsIsTheAxis) {
    Result result = samples::bandwidth();
    std::erase_if(result.entries, [](const Entry& e) { return e.size != 64; });
    EXPECT_TRUE(has(shown(to_html({{"A", result}})), "queue pairs</text>"));
}

}  // namespace
}  // namespace rdma_bench::report
