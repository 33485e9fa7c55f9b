// SPDX-License-Identifier: BSD-2-Clause
#include "base/regular_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>

namespace dingo {
namespace {

using std::chrono::milliseconds;

class RegularFile : public ::testing::Test {
  protected:
    RegularFile() { std::filesystem::remove_all(path); }
    ~RegularFile() override { std::filesystem::remove_all(path); }
    const std::filesystem::path path =
        ::testing::TempDir() + "/regular." + std::to_string(::getpid());
};

TEST_F(RegularFile, IsOpenedAndRead) {
    EXPECT_EQ(text_of(path), "");
    std::ofstream(path) << "some words";
    EXPECT_EQ(text_of(path), "some words");
    EXPECT_EQ(text_of(path, 4), "some");
    EXPECT_TRUE(open_regular(path, O_RDONLY));
}

TEST_F(RegularFile, AFifoIsRefusedAndNotWaitedFor) {
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    for (const int flags : {O_RDONLY, O_WRONLY | O_CREAT, O_RDWR}) {
        EXPECT_FALSE(open_regular(path, flags));
        EXPECT_EQ(errno, EINVAL);
    }
    EXPECT_EQ(text_of(path), "");
    EXPECT_FALSE(lock_regular(path, milliseconds(0)));
    EXPECT_EQ(errno, EINVAL);
}

TEST_F(RegularFile, ALockThatIsHeldIsWaitedForSoLong) {
    UniqueFd first = lock_regular(path, milliseconds(0));
    ASSERT_TRUE(first);
    const auto before = std::chrono::steady_clock::now();
    EXPECT_FALSE(lock_regular(path, milliseconds(30)));
    EXPECT_EQ(errno, EWOULDBLOCK);
    EXPECT_GE(std::chrono::steady_clock::now() - before, milliseconds(30));
    first.reset();
    EXPECT_TRUE(lock_regular(path, milliseconds(0)));
}

}  // namespace
}  // namespace dingo
