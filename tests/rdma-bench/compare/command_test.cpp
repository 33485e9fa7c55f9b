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
    EXPECT_NE(html.find("Ratio of bandwidth"), std::string::npos);
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
