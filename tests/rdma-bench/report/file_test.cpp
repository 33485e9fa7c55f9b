// SPDX-License-Identifier: BSD-2-Clause
#include "report/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

namespace rdma_bench::report {
namespace {

namespace fs = std::filesystem;

class ReportFile : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "rdma-bench-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        directory_ = pattern;
    }
    void TearDown() override { fs::remove_all(directory_); }
    [[nodiscard]] std::string path(const char* name) const { return (directory_ / name).string(); }
    [[nodiscard]] std::size_t files() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory_), {}));
    }
    fs::path directory_;
};

TEST_F(ReportFile, ReplacesTheOldContentAndLeavesNothingElse) {
    write_file(path("a"), "first, the longer one");
    write_file(path("a"), "second");
    EXPECT_EQ(read_file(path("a")), "second");
    EXPECT_EQ(files(), 1U);
}

TEST_F(ReportFile, AReaderOfTheOldFileKeepsIt) {
    write_file(path("a"), "first");
    struct stat before {};
    ASSERT_EQ(::stat(path("a").c_str(), &before), 0);
    fs::create_hard_link(path("a"), path("b"));
    write_file(path("a"), "second");
    EXPECT_EQ(read_file(path("b")), "first") << "written in place: a reader could see half of it";
}

TEST_F(ReportFile, KeepsTheRightsOfAFileAndFollowsALink) {
    write_file(path("a"), "first");
    fs::permissions(path("a"), fs::perms::owner_read | fs::perms::owner_write);
    fs::create_symlink("a", path("link"));
    write_file(path("link"), "second");
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_EQ(read_file(path("a")), "second");
    EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(ReportFile, SaysWhichFileAndWhy) {
    const auto why = [](auto call) -> std::string {
        try {
            call();
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        return {};
    };
    EXPECT_NE(why([&] { write_file(path("none/a"), "x"); }).find("none/a: create: No such file"),
              std::string::npos);
    EXPECT_NE(why([&] { check_writable(path("none/a")); }).find("none/a: create: No such file"),
              std::string::npos);
    EXPECT_NE(why([&] { write_file(directory_.string(), "x"); }).find("Is a directory"),
              std::string::npos);
    EXPECT_NE(why([&] { read_file(path("absent")); }).find("absent: open: No such file"),
              std::string::npos);
    write_file(path("long"), "12345");
    EXPECT_NE(why([&] { read_file(path("long"), 4); }).find("longer than 4 bytes"),
              std::string::npos);
    check_writable(path("new"));
    EXPECT_EQ(files(), 1U) << "a failed write leaves no temporary file";
}

TEST_F(ReportFile, WritesToADeviceWithoutReplacingIt) {
    write_file("/dev/null", "x");
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace rdma_bench::report
