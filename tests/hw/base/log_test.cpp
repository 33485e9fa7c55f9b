// SPDX-License-Identifier: BSD-2-Clause
//
// Lines that others can cause do not fill the disk.
#include "base/log.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/unique_fd.h"

namespace dingo::log {
namespace {

using std::chrono::hours;
using Time = Limit::Clock::time_point;

unsigned written(Limit& limit, unsigned tries, Time now) {
    unsigned n = 0;
    for (unsigned i = 0; i < tries; ++i) {
        n += limit.may_write(now) ? 1 : 0;
    }
    return n;
}

TEST(LogLimit, AFloodIsAFewLines) {
    Limit limit;
    const Time start = Time() + hours(1);
    EXPECT_EQ(written(limit, 1000, start), Limit::kAtOnce);
    EXPECT_EQ(written(limit, 1000, start + Limit::kInterval / 2), 0U);
    EXPECT_EQ(written(limit, 1000, start + Limit::kInterval), 1U);
    EXPECT_EQ(written(limit, 1000, start + 4 * Limit::kInterval), 3U);
}

TEST(LogLimit, AQuietTimeMakesRoomForAsManyAsAtFirst) {
    Limit limit;
    const Time start = Time() + hours(1);
    ASSERT_EQ(written(limit, 1000, start), Limit::kAtOnce);
    EXPECT_EQ(written(limit, 1000, start + hours(24)), Limit::kAtOnce);
    EXPECT_EQ(written(limit, 1, start + hours(24) + Limit::kInterval), 1U);
    EXPECT_EQ(written(limit, 1, start + hours(24) + Limit::kInterval), 0U);
}

TEST(LogLimit, SaysHowManyLinesAreMissing) {
    start_log("warning");
    const UniqueFd file(::memfd_create("log", MFD_CLOEXEC));
    set_log(file.get());
    Limit limit;
    for (unsigned i = 0; i < Limit::kAtOnce + 5; ++i) {
        limit.warn("line {}", i);
    }
    set_log(STDERR_FILENO);
    std::array<char, 4096> text{};
    const ssize_t got = ::pread(file.get(), text.data(), text.size(), 0);
    ASSERT_GT(got, 0);
    EXPECT_EQ(std::count(text.begin(), text.begin() + got, '\n'), ssize_t{Limit::kAtOnce});
    EXPECT_EQ(limit.text_of_left_out(), " (and 5 more that are not shown)");
    EXPECT_EQ(limit.text_of_left_out(), "");
}

}  // namespace
}  // namespace dingo::log
