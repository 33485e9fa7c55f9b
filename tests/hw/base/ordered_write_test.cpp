// SPDX-License-Identifier: BSD-2-Clause
//
// The order in which a write becomes visible. The destination's last bytes lie on a page that
// faults at their first store; what the page before holds at that moment is what a program that
// polls the end could have seen.
#include "base/ordered_write.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <vector>

namespace dingo {
namespace {

const std::size_t kPage = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
constexpr std::size_t kMost = 9000;
constexpr auto kOld = std::byte{0xee};

/// What the handler looks at, and what it found.
struct Watch {
    const std::byte* before = nullptr;  ///< bytes of the write in front of the page that faults
    const std::byte* expected = nullptr;
    std::size_t count = 0;
    std::byte* page = nullptr;
    int faults = 0;
    int early = 0;  ///< faults at which a byte before was still old
};
Watch g_watch;

void on_fault(int) {
    ++g_watch.faults;
    if (std::memcmp(g_watch.before, g_watch.expected, g_watch.count) != 0) {
        ++g_watch.early;
    }
    if (mprotect(g_watch.page, kPage, PROT_READ | PROT_WRITE) != 0) {
        _exit(1);
    }
}

class OrderedWrite : public testing::Test {
  protected:
    void SetUp() override {
        size_ = (kMost / kPage + 2) * kPage;
        void* const area =
            mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(area, MAP_FAILED);
        area_ = static_cast<std::byte*>(area);
        g_watch = {};
        g_watch.page = area_ + size_ - kPage;
        struct sigaction action {};
        action.sa_handler = on_fault;
        ASSERT_EQ(sigaction(SIGSEGV, &action, &before_), 0);
    }
    void TearDown() override {
        sigaction(SIGSEGV, &before_, nullptr);
        munmap(area_, size_);
    }

    /// Writes `length` bytes, the last `behind` of them on the page that faults, from a source that
    /// lies `shift` bytes behind the destination's place in its page.
    void write(std::size_t length, std::size_t behind, std::size_t shift) {
        ASSERT_LE(behind, length);
        std::byte* const to = g_watch.page + behind - length;
        source_.assign(kMost + 2 * kPage, std::byte{0});
        const auto place = reinterpret_cast<std::uintptr_t>(to) + shift;
        const auto base = reinterpret_cast<std::uintptr_t>(source_.data());
        std::byte* const from = source_.data() + (place - base) % kPage;
        for (std::size_t i = 0; i < length; ++i) {
            from[i] = static_cast<std::byte>(1 + (i * 7 + length) % 200);
        }
        std::fill_n(to - 1, length + 2, kOld);
        g_watch.before = to;
        g_watch.expected = from;
        g_watch.count = length - behind;
        g_watch.faults = g_watch.early = 0;
        ASSERT_EQ(mprotect(g_watch.page, kPage, PROT_NONE), 0);
        write_in_order(to, {from, length});
        EXPECT_EQ(g_watch.faults, 1);
        EXPECT_EQ(g_watch.early, 0) << length << " bytes, " << behind << " behind, from " << shift;
        EXPECT_TRUE(std::equal(from, from + length, to)) << length << " bytes";
        EXPECT_EQ(to[-1], kOld);
        EXPECT_EQ(to[length], kOld);
    }

    std::byte* area_ = nullptr;
    std::size_t size_ = 0;
    std::vector<std::byte> source_;
    struct sigaction before_ {};
};

// ib_write_lat polls the last byte: before the fix, 904 bytes were copied from their end.
TEST_F(OrderedWrite, TheEndAppearsBehindAllElse) {
    for (const std::size_t length :
         {1,   2,   3,   5,   7,   8,   9,    15,   16,   31,   33,   63,   64,   65,
          127, 255, 256, 257, 511, 904, 1024, 2047, 2048, 4095, 4096, 5000, 8192, 9000}) {
        for (std::size_t behind = 1; behind <= std::min<std::size_t>(length, 8); ++behind) {
            for (const std::size_t shift : {0, 1, 8, 64, 100, 1024, 3000}) {
                write(length, behind, shift);
            }
        }
    }
}

// A READ of a region into itself, one place on.
TEST_F(OrderedWrite, SourceAndDestinationMayOverlap) {
    for (const std::size_t length : {1, 7, 8, 9, 64, 100, 904, 4096}) {
        for (const int distance : {-9, -8, -1, 0, 1, 7, 8, 9, 60}) {
            std::vector<std::byte> bytes(length + 200);
            for (std::size_t i = 0; i < bytes.size(); ++i) {
                bytes[i] = static_cast<std::byte>(i * 13);
            }
            auto expected = bytes;
            std::memmove(expected.data() + 100 + distance, bytes.data() + 100, length);
            write_in_order(bytes.data() + 100 + distance, std::span(bytes).subspan(100, length));
            EXPECT_EQ(bytes, expected) << length << " bytes by " << distance;
        }
    }
}

TEST_F(OrderedWrite, NoBytesTouchNothing) {
    ASSERT_EQ(mprotect(g_watch.page, kPage, PROT_NONE), 0);
    write_in_order(g_watch.page, {});
    EXPECT_EQ(g_watch.faults, 0);
}

}  // namespace
}  // namespace dingo
