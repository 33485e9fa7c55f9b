// SPDX-License-Identifier: BSD-2-Clause
//
// A run directory that others could have created or could replace is rejected with its name.
#include "app/cli/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace dingo::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RunDirectory : public ::testing::Test {
  protected:
    RunDirectory() {
        std::string path = (std::filesystem::temp_directory_path() / "dingo-run-XXXXXX").string();
        above_ = ::mkdtemp(path.data());
        dir_ = above_ / "run";
        std::filesystem::create_directory(dir_);
        ::chmod(dir_.c_str(), 0700);
    }
    ~RunDirectory() override { std::filesystem::remove_all(above_); }

    std::filesystem::path above_, dir_;
};

TEST_F(RunDirectory, OfOursIsTaken) {
    EXPECT_EQ(run_dir_problem(dir_), "");
    EXPECT_EQ(run_dir_problem(above_ / "not-there"), "");
}

TEST_F(RunDirectory, ThatIsNoneIsRefused) {
    const auto link = above_ / "link";
    std::filesystem::create_symlink(dir_, link);
    EXPECT_THAT(run_dir_problem(link), AllOf(HasSubstr(link.string()), HasSubstr("no directory")));
}

TEST_F(RunDirectory, ThatOthersMayWriteIsRefused) {
    ::chmod(dir_.c_str(), 0777);
    EXPECT_THAT(run_dir_problem(dir_), AllOf(HasSubstr(dir_.string()), HasSubstr("chmod go-w")));
}

TEST_F(RunDirectory, OfAnotherUserIsRefused) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root can give a directory away";
    }
    ASSERT_EQ(::chown(dir_.c_str(), 65534, 65534), 0);
    EXPECT_THAT(run_dir_problem(dir_),
                AllOf(HasSubstr(dir_.string()), HasSubstr("belongs to user 65534")));
}

TEST_F(RunDirectory, ThatOthersMayReplaceIsRefused) {
    ::chmod(above_.c_str(), 0777);
    EXPECT_THAT(run_dir_problem(dir_),
                AllOf(HasSubstr(dir_.string()), HasSubstr("chmod +t " + above_.string())));
    ::chmod(above_.c_str(), 01777);
    EXPECT_EQ(run_dir_problem(dir_), "");
}

}  // namespace
}  // namespace dingo::cli
