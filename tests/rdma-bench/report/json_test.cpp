// SPDX-License-Identifier: BSD-2-Clause
#include "report/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "report/samples.h"

namespace rdma_bench::report {
namespace {

using Json = nlohmann::json;

std::string why(const std::string& text) {
    try {
        from_json(text, "A.json");
    } catch (const BadInput& error) {
        return error.what();
    }
    return "";
}

/// Returns the error for a valid file with one value changed.
template <typename Change>
std::string why_changed(Change change) {
    Json json = Json::parse(to_json(samples::latency()));
    change(json);
    return why(json.dump());
}

TEST(ResultJson, ComesBackAsItWas) {
    for (const Result& result :
         {samples::bandwidth(), samples::latency(), samples::repeated(7), samples::two_clients()}) {
        const std::string text = to_json(result);
        const Result back = from_json(text, "A.json");
        EXPECT_EQ(to_json(back), text);
        ASSERT_EQ(back.entries.size(), result.entries.size());
        EXPECT_EQ(back.test, result.test);
    }
    const Result back = from_json(to_json(samples::latency()), "A.json");
    const Histogram& histogram = *back.entries[0].latency;
    EXPECT_EQ(histogram.count(), 1000U);
    EXPECT_DOUBLE_EQ(histogram.mean(), samples::latency().entries[0].latency->mean());
    EXPECT_DOUBLE_EQ(histogram.percentile(99.9),
                     samples::latency().entries[0].latency->percentile(99.9));
}

TEST(ResultJson, RepeatsHaveAnIntervalWithItsConfidence) {
    const Json json = Json::parse(to_json(samples::repeated(7)));
    const Json& entry = json["entries"][0];
    EXPECT_EQ(entry["repeats"].size(), 7U);
    const Json& interval = entry["intervals_of_the_median"]["bandwidth_bytes_per_second"];
    EXPECT_NEAR(interval["median"].get<double>(), 64e6 * 1.03, 1);
    EXPECT_NEAR(interval["low"].get<double>(), 64e6, 1);
    EXPECT_NEAR(interval["high"].get<double>(), 64e6 * 1.06, 1);
    EXPECT_NEAR(interval["confidence"].get<double>(), 1 - 2.0 / 128, 1e-9);
    EXPECT_FALSE(entry["intervals_of_the_median"].contains("median_us"))
        << "no latency was measured";
}

TEST(ResultJson, SeveralClientsAreEachThereAndHowFairItWas) {
    const Json json = Json::parse(to_json(samples::two_clients()));
    EXPECT_EQ(json["clients"][1]["name"], "node-c");
    const Json& entry = json["entries"][0];
    EXPECT_DOUBLE_EQ(entry["clients"][1]["bandwidth_bytes_per_second"].get<double>(), 16e6);
    EXPECT_DOUBLE_EQ(entry["bandwidth"]["average_bytes_per_second"].get<double>(), 64e6);
    EXPECT_DOUBLE_EQ(entry["fairness"]["jain_index"].get<double>(), 0.8);
    EXPECT_NEAR(entry["fairness"]["slowest_over_fastest"].get<double>(), 1.0 / 3, 1e-12);
    EXPECT_FALSE(Json::parse(to_json(samples::bandwidth()))["entries"][0].contains("fairness"));
}

TEST(ResultJson, KeysCarryTheirUnits) {
    const Json json = Json::parse(to_json(samples::bandwidth()));
    EXPECT_EQ(json["schema"], "rdma-bench");
    EXPECT_EQ(json["schema_version"], 1);
    const Json& entry = json["entries"][0];
    EXPECT_EQ(entry["size_bytes"], 64);
    EXPECT_EQ(entry["bandwidth"]["average_bytes_per_second"], 64e6);
    EXPECT_EQ(entry["bandwidth"]["messages_per_second"], 1e6);
    EXPECT_EQ(entry["rate"]["late_messages"], 17);
    EXPECT_EQ(entry["series_seconds_and_messages"][1], Json::array({0.25, 3000}));
    EXPECT_EQ(json["local"]["clock"], "TSC");
    EXPECT_EQ(json["local"]["pinned_cpus"], "2-3");
    EXPECT_EQ(json["local"]["device_numa_node"], 0);
    EXPECT_EQ(json["local"]["memory_numa_node"], 1);
    const Json latency = Json::parse(to_json(samples::latency()))["entries"][0]["latency"];
    EXPECT_NEAR(latency["percentiles_us"]["50"].get<double>(), 2.01, 0.02);
    EXPECT_FALSE(latency["percentiles_us"]["99.9"].is_null()) << "1000 samples tell it";
    EXPECT_TRUE(latency["percentiles_us"]["99.99"].is_null()) << "1000 samples do not tell it";
    EXPECT_EQ(latency["percentiles_need_samples"]["99.99"], 10000);
    EXPECT_FALSE(latency["percentiles_need_samples"].contains("99.9"));
    EXPECT_EQ(latency["max_us"], 20);
}

TEST(ResultJson, HasTheCurveAsFarAsTheSamplesTellIt) {
    const Json curve =
        Json::parse(to_json(samples::latency()))["entries"][0]["latency"]["curve_percent_and_us"];
    EXPECT_EQ(curve.front(), Json::array({0, 2}));
    EXPECT_EQ(curve[8][0], 99.5);
    EXPECT_EQ(curve[9][0], 99.9) << "the last that 1000 samples tell";
    EXPECT_EQ(curve[10], Json::array({99.95, 20})) << "the slowest";
    EXPECT_EQ(curve.size(), 11U);
}

TEST(ResultJson, CountersTellHowFarTheyMovedToTheLastDigit) {
    Result result = samples::bandwidth();
    result.entries[0].counters = {{"x", 0xFFFFFFFFFFFFFFF0, 0xFFFFFFFFFFFFFFF3}, {"y", 7, 3}};
    const Json counters = Json::parse(to_json(result))["entries"][0]["counters"];
    EXPECT_EQ(counters[0]["moved"], 3);
    EXPECT_EQ(counters[1]["moved"], -4);
}

TEST(ResultJson, IsValidWhateverAPeerCallsItself) {
    Result result = samples::bandwidth();
    result.peer.name = "\xFF\xFE\"\\\n</script>";
    result.entries[0].bandwidth->average = std::nan("");
    result.entries[0].seconds = INFINITY;
    const Json json = Json::parse(to_json(result));
    EXPECT_TRUE(json["entries"][0]["bandwidth"]["average_bytes_per_second"].is_null());
    EXPECT_TRUE(json["entries"][0]["seconds"].is_null());
    EXPECT_TRUE(std::isnan(from_json(to_json(result), "A.json").entries[0].bandwidth->average));
}

TEST(ResultJson, AnEmptyRunIsARun) {
    const Result result = samples::empty({Operation::kSend, Metric::kLatency});
    EXPECT_TRUE(from_json(to_json(result), "A.json").entries.empty());
    Result without = result;
    without.entries.emplace_back().latency = Histogram();
    EXPECT_EQ(from_json(to_json(without), "A.json").entries[0].latency->count(), 0U);
}

TEST(ResultJson, FilesOfBeforeAKeyWasAddedAreRead) {
    EXPECT_EQ(why_changed([](Json& json) {
                  json["entries"][0]["latency"].erase("curve_percent_and_us");
                  json["local"].erase("clock");
              }),
              "");
}

TEST(ResultJson, UnknownKeysAreSkipped) {
    EXPECT_EQ(why_changed([](Json& json) { json["entries"][0]["from_the_future"] = {1, 2}; }), "");
}

TEST(ResultJson, SaysWhereItIsNotJson) {
    EXPECT_EQ(why("{\n\"schema\": \"rdma-bench\",\n\"x\": }").find("A.json: not JSON: line 3"), 0U);
    EXPECT_NE(why("").find("the file is empty"), std::string::npos);
    EXPECT_NE(why("[]").find("not a result of rdma-bench"), std::string::npos);
    EXPECT_NE(why("{\"schema\": \"other\"}").find("not a result of rdma-bench"), std::string::npos);
    EXPECT_NE(why(std::string(100000, '[')).find("not JSON"), std::string::npos);
}

TEST(ResultJson, SaysWhichValueIsWrongAndWhatWasExpected) {
    EXPECT_EQ(why_changed([](Json& j) { j["entries"][1]["size_bytes"] = "64"; }),
              "A.json.entries[1].size_bytes: expected an integer, found \"64\"");
    EXPECT_EQ(why_changed([](Json& j) { j["entries"][1].erase("qps"); }),
              "A.json.entries[1]: has no \"qps\"");
    EXPECT_NE(why_changed([](Json& j) { j["schema_version"] = 2; }).find("reads version 1"),
              std::string::npos);
    EXPECT_NE(why_changed([](Json& j) { j["test"] = "write-bandwidth"; }).find("no test is called"),
              std::string::npos);
    EXPECT_NE(why_changed([](Json& j) { j["entries"] = 5; }).find("expected an array"),
              std::string::npos);
    EXPECT_NE(why_changed([](Json& j) { j["local"]["cpus"] = -1; }), "");
    EXPECT_NE(why_changed([](Json& j) { j["local"]["cpus"] = 5000000000; }).find("up to"),
              std::string::npos);
    EXPECT_NE(why_changed([](Json& j) { j["entries"][0]["seconds"] = -1; }).find("not negative"),
              std::string::npos);
}

TEST(ResultJson, HistogramsMustHangTogether) {
    const auto histogram = [](Json& j) -> Json& { return j["entries"][0]["latency"]["histogram"]; };
    const auto buckets = "buckets_from_ticks_and_count";
    EXPECT_NE(why_changed([&](Json& j) { histogram(j)[buckets][0][1] = 1; }).find("samples"),
              std::string::npos);
    EXPECT_NE(why_changed([&](Json& j) {
                  histogram(j)[buckets][0][0] = 4001;
              }).find("no bucket begins at 4001"),
              std::string::npos);
    EXPECT_NE(why_changed([&](Json& j) {
                  histogram(j)[buckets][0] = {1, 2, 3};
              }).find("[ticks, count]"),
              std::string::npos);
    EXPECT_NE(why_changed([&](Json& j) {
                  histogram(j)["min_ticks"] = 1U << 30U;
              }).find("above max_ticks"),
              std::string::npos);
    EXPECT_NE(why_changed([&](Json& j) { histogram(j)["tick_ns"] = 0; }).find("above 0"),
              std::string::npos);
    EXPECT_NE(why_changed([&](Json& j) {
                  histogram(j)[buckets][0][1] = UINT64_MAX;
              }).find("more samples than can be counted"),
              std::string::npos);
}

TEST(ResultJson, DamagedFilesAreRefusedOrReadButNothingElse) {
    std::mt19937 random(7);
    const std::string good = to_json(samples::latency());
    unsigned refused = 0;
    for (int i = 0; i < 3000; ++i) {
        std::string text = good;
        for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
            const std::size_t at = random() % text.size();
            switch (random() % 4) {
                case 0:
                    text[at] = static_cast<char>(random());
                    break;
                case 1:
                    text[at] = "0123456789-e.\"[]{},:n"[random() % 21];
                    break;
                case 2:
                    text.erase(at, random() % 20);
                    break;
                default:
                    text.insert(at, text.substr(random() % text.size(), random() % 20));
            }
        }
        try {
            const Result result = from_json(text, "A.json");
            EXPECT_FALSE(to_json(result).empty());
        } catch (const BadInput&) {
            ++refused;
        }
    }
    EXPECT_GT(refused, 1000U);
}

TEST(ResultJson, TooManyEntriesAreRefused) {
    EXPECT_NE(why_changed([](Json& j) {
                  for (int i = 0; i < 5000; ++i) {
                      j["entries"].push_back(nullptr);
                  }
              }).find("more than 4096 entries"),
              std::string::npos);
}

TEST(PerftestJson, HasItsKeysAndIsValid) {
    const Json bandwidth = Json::parse(to_perftest_json(samples::bandwidth(), true));
    EXPECT_EQ(bandwidth["test_info"]["test"], "RDMA_Write_BW_Test");
    EXPECT_EQ(bandwidth["test_info"]["Device"], "dingo0");
    EXPECT_EQ(bandwidth["test_info"]["TX_depth"], 128);
    EXPECT_EQ(bandwidth["results"]["MsgSize"], 4096);
    EXPECT_DOUBLE_EQ(bandwidth["results"]["BW_average"], 8 * 4096e6 * 8 / 1e9);
    EXPECT_DOUBLE_EQ(bandwidth["results"]["MsgRate"], 8);
    EXPECT_EQ(bandwidth["all_results"].size(), 14U);
    const Json mebibytes = Json::parse(to_perftest_json(samples::bandwidth(), false));
    EXPECT_DOUBLE_EQ(mebibytes["all_results"][0]["BW_average"], 64e6 / 1048576);
    const Json latency = Json::parse(to_perftest_json(samples::latency(), false));
    EXPECT_EQ(latency["test_info"]["test"], "RDMA_Read_Latency_Test");
    for (const char* key :
         {"t_min", "t_max", "t_typical", "t_avg", "t_stdev", "percentile_99", "percentile_99.9"}) {
        EXPECT_TRUE(latency["results"].contains(key)) << key;
    }
    EXPECT_EQ(Json::parse(to_perftest_json(samples::empty({}), false))["results"], Json::object());
}

}  // namespace
}  // namespace rdma_bench::report
