// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/status_page.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>

#include <fcntl.h>

#include "dingo-abi.h"
#include "host/driver/clock.h"
#include "host/driver/queue_memory.h"

namespace dingo::uverbs {
namespace {

const volatile std::uint32_t* map_word(int fd) {
    void* at = ::mmap(nullptr, kPageBytes, PROT_READ, MAP_SHARED, fd, 0);
    EXPECT_NE(at, MAP_FAILED);
    return static_cast<const volatile std::uint32_t*>(at);
}

TEST(StatusPage, OrderlyStop) {
    const volatile std::uint32_t* word = nullptr;
    {
        StatusPage page;
        word = map_word(page.fd());
        EXPECT_EQ(*word & DINGO_STATUS_GONE, 0U);
        EXPECT_EQ(::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, page.fd(), 0),
                  MAP_FAILED);
        EXPECT_NE(::ftruncate(page.fd(), 0), 0);
    }
    EXPECT_NE(*word & DINGO_STATUS_GONE, 0U);
}

TEST(StatusPage, Failure) {
    StatusPage page;
    const auto* word = map_word(page.fd());
    page.set_gone();
    EXPECT_NE(*word & DINGO_STATUS_GONE, 0U);
}

TEST(StatusPage, ClockIsWholeAndItsSequenceEven) {
    StatusPage page;
    const auto* const clock = reinterpret_cast<const volatile dingo_clock_page*>(
        reinterpret_cast<const volatile std::byte*>(map_word(page.fd())) +
        DINGO_STATUS_CLOCK_OFFSET);
    EXPECT_EQ(clock->sequence, 0U);
    page.set_clock(11, 22, 3);
    EXPECT_EQ(clock->sequence, 2U);
    EXPECT_EQ(clock->card_ns, 11U);
    EXPECT_EQ(clock->real_ns, 22U);
    EXPECT_EQ(clock->error_ns, 3U);
    page.set_clock(12, 23, 4);
    EXPECT_EQ(clock->sequence, 4U);
    EXPECT_EQ(clock->card_ns, 12U);
}

TEST(StatusPage, ClockIsMeasuredAgainAfterAWhile) {
    StatusPage page;
    Clock measured(page);
    const auto* const clock = reinterpret_cast<const volatile dingo_clock_page*>(
        reinterpret_cast<const volatile std::byte*>(map_word(page.fd())) +
        DINGO_STATUS_CLOCK_OFFSET);
    EXPECT_EQ(clock->sequence, 2U) << "there is a pair before the first client";
    measured.poll(1);
    EXPECT_EQ(clock->sequence, 2U);
    measured.poll(2'000'000'000);
    EXPECT_EQ(clock->sequence, 4U);
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const auto apart = now.tv_sec - static_cast<std::int64_t>(clock->real_ns / 1'000'000'000);
    EXPECT_LE(std::abs(apart), 60) << "CLOCK_REALTIME, in nanoseconds";
}

TEST(StatusPage, TwoInOneThreadGoInAnyOrder) {
    auto first = std::make_unique<StatusPage>();
    auto second = std::make_unique<StatusPage>();
    first.reset();
    second.reset();
}

TEST(StatusPage, KilledCard) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        StatusPage page;
        const int fd = page.fd();
        static_cast<void>(::write(ready[1], &fd, sizeof fd));
        ::pause();
        ::_exit(0);
    }
    int fd = -1;
    ASSERT_EQ(::read(ready[0], &fd, sizeof fd), static_cast<ssize_t>(sizeof fd));
    const std::string path = "/proc/" + std::to_string(child) + "/fd/" + std::to_string(fd);
    const int ours = ::open(path.c_str(), O_RDONLY);
    ASSERT_GE(ours, 0);
    const auto* word = map_word(ours);
    EXPECT_EQ(*word & DINGO_STATUS_GONE, 0U);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_NE(*word & DINGO_STATUS_GONE, 0U) << "the kernel marks the word of a killed owner";
    ::close(ours);
    ::close(ready[0]);
    ::close(ready[1]);
}

}  // namespace
}  // namespace dingo::uverbs
