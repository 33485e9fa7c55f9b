// SPDX-License-Identifier: BSD-2-Clause
// When the preload library frees shared memory: mappings come from this test, not from /proc.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

extern "C" {
#include "host/preload/arena.h"
}

namespace {

/// What the next scans see; later ones see nothing.
std::deque<std::vector<dingo_map>> scans;

}  // namespace

extern "C" {

bool dingo_maps_read(std::uint64_t /*start*/, std::uint64_t /*end*/, bool /*with_flags*/,
                     bool (*each)(const dingo_map* map, void* arg), void* arg) {
    if (!scans.empty()) {
        for (const dingo_map& map : scans.front()) {
            each(&map, arg);
        }
        scans.pop_front();
    }
    return true;
}
bool dingo_maps_are_text(void) {
    return true;
}
bool dingo_fd_set(int /*fd*/, std::uint32_t /*entry*/, pid_t /*hello_pid*/) {
    return true;
}
void dingo_fd_forget(int /*fd*/) {}

}  // extern "C"

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLength = 4 * kPage;
constexpr std::uint64_t kHigh = 0x7000'0000'0000;
constexpr std::uint64_t kLow = 0x1000'0000'0000;

class Arena : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(dingo_arena_ready());
        slot_ = dingo_arena_add(kHigh, kLength);
        ASSERT_NE(slot_, nullptr);
        offset_ = slot_->offset;
        const std::array<char, kLength> bytes{'x'};
        ASSERT_EQ(::pwrite(dingo_arena_fd(), bytes.data(), kLength, at()), ssize_t{kLength});
    }
    [[nodiscard]] off_t at() const { return static_cast<off_t>(offset_); }
    [[nodiscard]] dingo_map mapping(std::uint64_t start) const {
        struct stat st {};
        ::fstat(dingo_arena_fd(), &st);
        dingo_map map{};
        map.start = start;
        map.end = start + kLength;
        map.offset = offset_;
        map.inode = st.st_ino;
        map.shared = true;
        return map;
    }
    [[nodiscard]] char byte() const {
        char byte = 0;
        EXPECT_EQ(::pread(dingo_arena_fd(), &byte, 1, at()), 1);
        return byte;
    }
    dingo_slot* slot_ = nullptr;
    std::uint64_t offset_ = 0;
};

TEST_F(Arena, MemoryThatOneScanMissesStays) {
    scans = {{}, {mapping(kLow)}};
    dingo_arena_reap(true);
    EXPECT_EQ(byte(), 'x');
    ASSERT_NE(dingo_arena_find(offset_), nullptr);
    EXPECT_TRUE(dingo_arena_touches(kLow, kLow + 1));
    scans = {{mapping(kLow)}, {}};
    dingo_arena_reap(true);
    EXPECT_EQ(byte(), 'x');
}

TEST_F(Arena, ALimitOfFileSizesThatIsSetLaterHolds) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    rlimit low = before;
    low.rlim_cur = 1U << 30;
    EXPECT_TRUE(dingo_arena_has_room(kLength));
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
    EXPECT_FALSE(dingo_arena_has_room(kLength));
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_TRUE(dingo_arena_has_room(kLength));
}

TEST_F(Arena, UnmappedMemoryIsFreed) {
    scans = {{mapping(kHigh)}, {mapping(kHigh)}};
    dingo_arena_reap(true);
    EXPECT_EQ(byte(), 'x');
    scans = {{}, {}};
    dingo_arena_reap(true);
    EXPECT_EQ(byte(), 0);
    EXPECT_FALSE(dingo_arena_touches(kHigh, kHigh + kLength));
}

}  // namespace
