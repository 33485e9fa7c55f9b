// SPDX-License-Identifier: BSD-2-Clause
//
// The view of several cards stays in place while programs read it.
#include "app/cli/view.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace dingo::cli {
namespace {

namespace fs = std::filesystem;

class View : public ::testing::Test {
  protected:
    View() {
        std::string path = (fs::temp_directory_path() / "dingo-view-XXXXXX").string();
        run_ = ::mkdtemp(path.data());
        ::setenv("DINGO_RUN", run_.c_str(), 1);
    }
    ~View() override {
        ::unsetenv("DINGO_RUN");
        fs::remove_all(run_);
    }

    /// Creates what a card process has in its directory, as uverbs<number>.
    CardEntry card(const std::string& name, int number) {
        CardEntry out{name, run_ / name, Json::object(), 0};
        fs::remove_all(out.dir);
        const std::string device = "uverbs" + std::to_string(number);
        fs::create_directories(out.dir / "sys/class/infiniband" / name);
        fs::create_directories(out.dir / "sys/class/infiniband_verbs" / device);
        fs::create_directories(out.dir / "dev/infiniband");
        std::ofstream(out.dir / "sys/class/infiniband_verbs/abi_version") << "6\n";
        std::ofstream(out.dir / "dev/infiniband" / device);
        return out;
    }
    static ino_t inode(const Path& path) {
        struct stat st {};
        return ::stat(path.c_str(), &st) == 0 ? st.st_ino : 0;
    }

    Path run_;
};

TEST_F(View, OfOneCardIsItsDirectory) {
    EXPECT_EQ(make_view({card("alpha", 0)}), run_ / "alpha");
}

TEST_F(View, ThatHasNotChangedIsNotMadeAnew) {
    const std::vector<CardEntry> cards{card("alpha", 0), card("beta", 1)};
    const Path view = make_view(cards);
    const ino_t first = inode(view / "dev/infiniband");
    ASSERT_NE(first, 0U);
    EXPECT_EQ(make_view(cards), view);
    EXPECT_EQ(inode(view / "dev/infiniband"), first);
    EXPECT_TRUE(fs::exists(view / "sys/class/infiniband_verbs/abi_version"));
}

TEST_F(View, FollowsACardThatWasStartedWithAnotherNumber) {
    const Path view = make_view({card("alpha", 0), card("beta", 1)});
    EXPECT_EQ(make_view({card("alpha", 2), card("beta", 1)}), view);
    EXPECT_TRUE(fs::exists(view / "dev/infiniband/uverbs2"));
    EXPECT_FALSE(fs::exists(fs::symlink_status(view / "dev/infiniband/uverbs0")));
    // Nothing else is left beside it.
    EXPECT_EQ(std::distance(fs::directory_iterator(run_ / "views"), fs::directory_iterator()), 1);
}

TEST_F(View, WhatAKilledProcessLeftIsRemoved) {
    fs::create_directories(run_ / "views/.12345/sys/class/infiniband");
    make_view({card("alpha", 0), card("beta", 1)});
    EXPECT_FALSE(fs::exists(run_ / "views/.12345"));
}

TEST_F(View, IsThereAllTheTimeWhileItIsReplaced) {
    const Path view = make_view({card("alpha", 0), card("beta", 1)});
    std::atomic<bool> done = false;
    std::atomic<unsigned> missing = 0;
    std::thread reader([&] {
        while (!done)
            missing += ::access(view.c_str(), F_OK) != 0;
    });
    for (int round = 0; round < 20; round++)
        make_view({card("alpha", 2 + round % 2), card("beta", 1)});
    done = true;
    reader.join();
    EXPECT_EQ(missing, 0U);
}

}  // namespace
}  // namespace dingo::cli
