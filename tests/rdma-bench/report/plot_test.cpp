// SPDX-License-Identifier: BSD-2-Clause
#include "report/plot.h"

#include <gtest/gtest.h>

namespace rdma_bench::report {
namespace {

Plot plot_of(std::vector<Point> points) {
    Plot plot;
    plot.id = "latency";
    plot.title = "Latency";
    plot.description = "Latency against size";
    plot.x = {"message size", Scale::kLog2, Unit::kBytes};
    plot.y = {"latency", Scale::kLog10, Unit::kMicroseconds};
    plot.series.push_back({"<b>", std::move(points), 0});
    return plot;
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++found;
    }
    return found;
}

TEST(Plot, TellsItsTitleAndContentToWhoCannotSeeIt) {
    const std::string svg = draw(plot_of({{64, 1.8}, {128, 2}}));
    EXPECT_NE(svg.find("role=\"img\" aria-labelledby=\"latency-t latency-d\""), std::string::npos);
    EXPECT_NE(svg.find("<title id=\"latency-t\">Latency</title><desc id=\"latency-d\">Latency "
                       "against size</desc>"),
              std::string::npos);
}

TEST(Plot, EachPointIsAMarkerThatTellsItsValues) {
    const std::string svg = draw(plot_of({{64, 1.8}, {1024, 2.5}}));
    EXPECT_EQ(count(svg, "<circle "), 2U);
    EXPECT_NE(svg.find("&lt;b&gt;: 2.5 \xC2\xB5s (1 KiB)"), std::string::npos);
    EXPECT_EQ(svg.find("<b>"), std::string::npos);
}

TEST(Plot, LeavesOutWhatALogarithmCannotShow) {
    const std::string svg = draw(plot_of({{0, 1}, {64, 0}, {64, -1}, {64, 0.0 / 0.0}, {64, 2}}));
    EXPECT_EQ(count(svg, "<circle "), 1U);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(Plot, IsNotThereWithoutAPoint) {
    EXPECT_EQ(draw(plot_of({})), "");
    EXPECT_EQ(draw(plot_of({{0, 0}})), "");
}

TEST(Plot, HigherValuesLieHigher) {
    const std::string svg = draw(plot_of({{64, 1}, {128, 100}}));
    const auto first = svg.find("cy=\"");
    const auto second = svg.find("cy=\"", first + 1);
    EXPECT_GT(std::stod(svg.substr(first + 4)), std::stod(svg.substr(second + 4)));
}

}  // namespace
}  // namespace rdma_bench::report
