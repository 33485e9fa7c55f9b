// SPDX-License-Identifier: BSD-2-Clause
//
// Large mappings are removed on another thread: the releasing thread does not wait for their pages.
#include "base/elsewhere.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdint>
#include <thread>

namespace dingo {
namespace {

constexpr std::size_t kSmall = 4096;
constexpr std::size_t kLarge = 64 << 20;

bool is_mapped(void* at) {
    unsigned char resident = 0;
    return ::mincore(at, 1, &resident) == 0;
}

void* map(std::size_t size) {
    return ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

TEST(Elsewhere, AShortUnmapIsDoneAtOnce) {
    void* const at = map(kSmall);
    ASSERT_TRUE(is_mapped(at));
    unmap_elsewhere(at, kSmall);
    EXPECT_FALSE(is_mapped(at));
}

TEST(Elsewhere, ALongUnmapIsDoneSoon) {
    for (int n = 0; n < 3; ++n) {
        void* const at = map(kLarge);
        ASSERT_TRUE(is_mapped(at));
        unmap_elsewhere(at, kLarge);
        for (int i = 0; i < 5000 && is_mapped(at); ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        EXPECT_FALSE(is_mapped(at));
    }
}

}  // namespace
}  // namespace dingo
