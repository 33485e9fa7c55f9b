// SPDX-License-Identifier: BSD-2-Clause
// Numbers, axes and drawings of the page: src/report/page/plot.js.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "report/html.h"
#include "report/page_shown.h"
#include "report/samples.h"

namespace rdma_bench::report {
namespace {

using Json = nlohmann::json;

class Plot : public PageShown {
  protected:
    static std::string text_of(const std::string& expression) { return value(page(), expression); }
    static Json of(const std::string& expression) { return Json::parse(text_of(expression)); }
    static Json labels(const std::string& axis, const std::string& format) {
        return of(axis + ".ticks.filter((t) => t.label).map((t) => " + format + "(t.value))");
    }
    /// The figure of a line through `points`.
    static std::string drawn(const std::string& points) {
        return of(
            "draw({ id: \"latency\", title: \"Latency\", x: sizeAxis, y: latencyAxis, series: [{ "
            "name: \"<b>\", look: 0, points: " +
            points + " }] }).join(\"\")");
    }

  private:
    static const std::string& page() {
        static const std::string kPage = to_html({{"A", samples::latency()}});
        return kPage;
    }
};

TEST_F(Plot, NumbersHaveThreeDigitsAndTheUnitThatFits) {
    EXPECT_EQ(of("[0, 0.5, 12.345, 9.999, 1234, 100, -0.25, 0.00012345, 1 / 0].map(threeDigits)"),
              Json({"0", "0.5", "12.3", "10", "1230", "100", "-0.25", "0.000123", "?"}));
    EXPECT_EQ(of("[64, 1536, 8388608].map(bytes)"), Json({"64 B", "1.5 KiB", "8 MiB"}));
    EXPECT_EQ(of("[0.85, 0.9999, 12.3, 999.6, 2.5e6].map(microseconds)"),
              Json({"850 ns", "1 \xC2\xB5s", "12.3 \xC2\xB5s", "1 ms", "2.5 s"}));
    EXPECT_EQ(of("[950, 999.7, 4.56e6].map(count)"), Json({"950", "1 k", "4.56 M"}));
    EXPECT_EQ(of("[50, 99.9, 99.999, 99.9995].map(percent)"),
              Json({"50", "99.9", "99.999", "99.9995"}));
}

TEST_F(Plot, ControlsAndMarksOfDirectionAreReplaced) {
    EXPECT_EQ(of("clean(\"a\\0b\\x1b[31m \\u202eevil\\u2066 two\\nlines\\t\\u00b5\")"),
              "a\xEF\xBF\xBD"
              "b\xEF\xBF\xBD[31m \xEF\xBF\xBD"
              "evil\xEF\xBF\xBD two\nlines\t\xC2\xB5");
}

TEST_F(Plot, LinearAxisStartsAtZeroAndEndsOnAStepAboveTheData) {
    EXPECT_EQ(labels("axis(\"linear\", 3, 93, 6)", "String"),
              Json({"0", "20", "40", "60", "80", "100"}));
    EXPECT_EQ(of("axis(\"linear\", 3, 93, 6).place(50)"), 0.5);
}

TEST_F(Plot, SizesAreLabelledWhereTheyAreRound) {
    const std::string axis = "axis(\"log2\", 2, 8388608, 6)";
    EXPECT_EQ(labels(axis, "bytes"), Json({"16 B", "256 B", "4 KiB", "64 KiB", "1 MiB"}));
    EXPECT_EQ(of("[2, 8388608].map(" + axis + ".place)"), Json({0, 1}));
}

TEST_F(Plot, OneValueLiesInTheMiddle) {
    EXPECT_EQ(of("axis(\"log2\", 64, 64, 6).place(64)"), 0.5);
    const double lonely = of("axis(\"log10\", 2, 2, 6).place(2)");
    EXPECT_GT(lonely, 0.2);
    EXPECT_LT(lonely, 0.8);
}

TEST_F(Plot, LogarithmUnderTwoDecadesHasOneTwoFive) {
    EXPECT_EQ(labels("axis(\"log10\", 1.8, 9, 6)", "microseconds"),
              Json({"1 \xC2\xB5s", "2 \xC2\xB5s", "5 \xC2\xB5s", "10 \xC2\xB5s"}));
}

TEST_F(Plot, LogarithmOverManyDecadesLeavesLabelsOut) {
    const auto all = labels("axis(\"log10\", 1, 1e12, 6)", "count").size();
    EXPECT_GE(all, 3U);
    EXPECT_LE(all, 7U);
}

TEST_F(Plot, EachNineOfAPercentileHasTheSameRoom) {
    const std::string axis = "axis(\"nines\", 0, 99.999, 7)";
    EXPECT_EQ(labels(axis, "percent"), Json({"0", "50", "90", "99", "99.9", "99.99", "99.999"}));
    const Json at = of("[90, 99, 99.9, 100].map(" + axis + ".place)");
    EXPECT_NEAR(at[1].get<double>() - at[0].get<double>(),
                at[2].get<double>() - at[1].get<double>(), 1e-9);
    EXPECT_EQ(at[3], 1);
}

TEST_F(Plot, AxisTakesAnyBoundsWithoutLosingItsTicks) {
    EXPECT_EQ(
        of("(() => { const bad = [], values = [0, -5, 1e-30, 1e-3, 1, 7, 1e9, 1e30, NaN, 1 / 0];"
           "for (const scale of Object.keys(project)) for (const low of values) for (const high of "
           "values) {"
           "  const { ticks, place } = axis(scale, low, high, 6), labels = ticks.filter((t) => "
           "t.label).length;"
           "  if (ticks.length < 2 || ticks.length > 140 || labels > 24 || labels < 1"
           "      || !ticks.every(({ value }) => place(value) >= 0 && place(value) <= 1)) "
           "bad.push([scale, low, high, ticks.length, labels]);"
           "} return bad; })()"),
        Json::array());
}

TEST_F(Plot, TellsItsTitleAndContentToWhoCannotSeeIt) {
    const std::string figure = drawn("[[64, 1.8], [128, 2]]");
    EXPECT_TRUE(has(figure, "role=\"img\" aria-labelledby=\"latency-t latency-d\""));
    EXPECT_TRUE(has(figure,
                    "<title id=\"latency-t\">Latency</title><desc id=\"latency-d\">Latency against "
                    "message size, 1 line(s). "
                    "Highest: 2 \xC2\xB5s at 128 B (&#60;b&#62;).</desc>"))
        << figure;
}

TEST_F(Plot, EachPointIsAMarkerThatTellsItsValues) {
    const std::string figure = drawn("[[64, 1.8], [1024, 2.5]]");
    EXPECT_EQ(count(figure, "class=\"marker\""), 3U) << "one of them is the legend's";
    EXPECT_TRUE(has(figure, "<title>&#60;b&#62;: 2.5 \xC2\xB5s (1 KiB)</title>"));
}

TEST_F(Plot, LeavesOutWhatALogarithmCannotShow) {
    const std::string figure =
        drawn("[[0, 1], [64, 0], [64, -1], [64, NaN], [64, null], [64, undefined], [64, 2]]");
    EXPECT_EQ(count(figure, "class=\"marker\""), 2U);
    EXPECT_FALSE(has(figure, "NaN"));
    EXPECT_FALSE(has(figure, "Infinity"));
}

TEST_F(Plot, IsNotThereWithoutAPoint) {
    EXPECT_EQ(drawn("[]"), "");
    EXPECT_EQ(drawn("[[0, 0]]"), "");
}

TEST_F(Plot, HigherValuesLieHigher) {
    const std::string figure = drawn("[[64, 1], [128, 100]]");
    const std::string path = figure.substr(figure.find("d=\"M") + 4);
    const double first = std::stod(path.substr(path.find(' '))),
                 second = std::stod(path.substr(path.find(' ', path.find('L'))));
    EXPECT_GT(first, second);
}

}  // namespace
}  // namespace rdma_bench::report
