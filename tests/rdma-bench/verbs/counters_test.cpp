// SPDX-License-Identifier: BSD-2-Clause
#include "verbs/counters.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "exit.h"

namespace rdma_bench {
namespace {

class Counters : public testing::Test {
  protected:
    void SetUp() override {
        root_ = testing::TempDir() + "counters" + std::to_string(getpid());
        set("hw_counters/b", "5");
        set("hw_counters/lifespan", "10");
        set("counters/a", "7");
        set("counters/text", "N/A");
    }
    void TearDown() override { std::filesystem::remove_all(root_); }
    void set(const std::string& name, const std::string& value) {
        const std::filesystem::path path = root_ + "/dev0/ports/1/" + name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << value << "\n";
    }
    std::string root_;
};

TEST_F(Counters, AllAreThoseThatHoldNumbers) {
    EXPECT_EQ(find_counters("dev0", 1, {"all"}, root_),
              (std::vector<std::string>{"counters/a", "hw_counters/b"}));
    EXPECT_TRUE(find_counters("dev0", 1, {}, root_).empty());
}

TEST_F(Counters, BeforeAndAfterAreRead) {
    auto counters = read_counters("dev0", 1, {"hw_counters/b"}, root_);
    set("hw_counters/b", "12");
    read_again(counters, "dev0", 1, root_);
    ASSERT_EQ(counters.size(), 1U);
    EXPECT_EQ(counters[0].before, 5U);
    EXPECT_EQ(counters[0].after, 12U);
}

TEST_F(Counters, AnUnknownOneIsRefusedWithThoseThatThereAre) {
    try {
        find_counters("dev0", 1, {"hw_counters/c"}, root_);
        FAIL() << "taken";
    } catch (const RunError& error) {
        EXPECT_EQ(error.status(), Exit::kDevice);
        EXPECT_NE(std::string(error.what()).find("hw_counters/b"), std::string::npos);
    }
}

}  // namespace
}  // namespace rdma_bench
