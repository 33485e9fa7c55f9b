// SPDX-License-Identifier: BSD-2-Clause
#include "compare/command.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "report/file.h"
#include "report/json.h"
#include "report/samples.h"

namespace rdma_bench {
namespace {

namespace fs = std::filesystem;

class CompareCommand : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "rdma-bench-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        directory_ = pattern;
        report::write_file(path("a.json"), report::to_json(samples::bandwidth()));
        report::write_file(path("slow.json"), report::to_json(samples::bandwidth(0.5)));
        report::write_file(path("latency.json"), report::to_json(samples::latency()));
        report::write_file(path("broken.json"), "{");
    }
    void TearDown() override { fs::remove_all(directory_); }

    [[nodiscard]] std::string path(const char* name) const { return (directory_ / name).string(); }
    template <typename... Words>
    int compare(Words... words) {
        const std::vector<std::string> arguments{words...};
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        const int status = run_compare(arguments);
        out_ = testing::internal::GetCapturedStdout();
        err_ = testing::internal::GetCapturedStderr();
        return status;
    }

    fs::path directory_;
    std::string out_, err_;
};

TEST_F(CompareCommand, StatusTellsTheVerdict) {
    EXPECT_EQ(compare(path("a.json"), path("a.json")), 0);
    EXPECT_NE(out_.find("not worse: 0 worse, 0 better"), std::string::npos);
    EXPECT_EQ(compare(path("a.json"), path("slow.json")), 1);
    EXPECT_EQ(compare(path("slow.json"), path("a.json")), 0);
    EXPECT_EQ(compare(path("a.json"), path("slow.json"), "--threshold", "60%"), 0);
}

TEST_F(CompareCommand, SingleRunsAreJudgedByAWiderThreshold) {
    report::write_file(path("near.json"), report::to_json(samples::bandwidth(0.9)));
    EXPECT_EQ(compare(path("a.json"), path("near.json")), 0)
        << "10 % are noise between single runs";
    EXPECT_NE(out_.find("by single runs, whose scatter is unknown"), std::string::npos) << out_;
    EXPECT_EQ(compare(path("a.json"), path("near.json"), "--threshold", "3%"), 1)
        << "who knows the noise may say so";
}

/// The commands are scripts that print a perftest table, each time with another speed.
TEST_F(CompareCommand, TwoCommandsInTurnAreComparedByPairs) {
    const auto script = [&](const char* name, int percent) {
        report::write_file(
            path(name),
            "n=$(cat " + path(name) +
                ".n 2>/dev/null || echo 0)\n"
                "echo $((n + 1)) >" +
                path(name) +
                ".n\n"
                "echo ' Number of qps   : 2\t\tTransport type : IB'\n"
                "echo '                    RDMA_Write BW Test'\n"
                "echo ' #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]"
                "   MsgRate[Mpps]'\n"
                "b=$(((1000 - 60 * n) * " +
                std::to_string(percent) +
                " / 100))\n"
                "echo \" 65536      5000             $b.00            $b.00     0.1\"\n");
        return path(name);
    };
    const auto fast = script("fast.sh", 100), slow = script("slow.sh", 90);
    EXPECT_EQ(compare("--interleave", "7", "--json", path("pairs.json"), "--html",
                      path("pairs.html"), "--", "sh", fast, "--", "sh", slow),
              1)
        << out_ << err_;
    EXPECT_NE(out_.find("65536     2  bandwidth"), std::string::npos) << out_;
    EXPECT_NE(out_.find("of pairs"), std::string::npos) << out_;
    EXPECT_NE(report::read_file(path("pairs.json")).find("\"verdict\": \"worse\""),
              std::string::npos);
    EXPECT_NE(report::read_file(path("pairs.html")).find("\"figure\":\"bandwidth\""),
              std::string::npos);
    EXPECT_EQ(compare("--interleave", "7", "--", "sh", fast, "--", "sh", fast), 0) << out_;
    EXPECT_EQ(compare("--interleave", "3", "--", "sh", fast), 2);
    EXPECT_EQ(compare("--interleave", "3", "--", "true", "--", "true"), 2);
    EXPECT_NE(err_.find("true: neither JSON nor a table"), std::string::npos) << err_;
    EXPECT_EQ(compare("--interleave", "3", "--", "false", "--", "true"), 2);
    EXPECT_NE(err_.find("`false`: exit status 1"), std::string::npos) << err_;
    EXPECT_EQ(compare("--", "true", "--", "true"), 2);
}

TEST_F(CompareCommand, BadInputIsNamed) {
    EXPECT_EQ(compare(path("a.json")), 2);
    EXPECT_EQ(compare(path("a.json"), path("absent.json")), 2);
    EXPECT_NE(err_.find("absent.json: open: No such file"), std::string::npos) << err_;
    EXPECT_EQ(compare(path("a.json"), path("broken.json")), 2);
    EXPECT_NE(err_.find("broken.json: not JSON"), std::string::npos) << err_;
    EXPECT_EQ(compare(path("a.json"), path("latency.json")), 2);
    EXPECT_NE(err_.find("two tests"), std::string::npos) << err_;
    EXPECT_EQ(compare(path("a.json"), path("a.json"), "--threshold", "much"), 2);
    EXPECT_EQ(compare(path("a.json"), path("a.json"), "--no-such-option"), 2);
    EXPECT_EQ(out_, "");
}

TEST_F(CompareCommand, WritesAReportOfBoth) {
    EXPECT_EQ(compare(path("a.json"), path("slow.json"), "--html", path("both.html")), 1);
    const std::string html = report::read_file(path("both.html"));
    EXPECT_NE(html.find("\"figure\":\"bandwidth\""), std::string::npos);
    const std::vector<std::string> arguments{path("a.json"), path("latency.json"), "--html",
                                             path("report.html")};
    EXPECT_EQ(run_report(arguments), 0);
    EXPECT_NE(report::read_file(path("report.html")).find("rdma-bench: write-bw, read-lat"),
              std::string::npos);
}

TEST_F(CompareCommand, HelpIsNoError) {
    EXPECT_EQ(compare("--help"), 0);
    EXPECT_NE(out_.find("--threshold"), std::string::npos);
    EXPECT_NE(out_.find("Exit status"), std::string::npos);
}

}  // namespace
}  // namespace rdma_bench
