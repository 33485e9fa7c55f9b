// SPDX-License-Identifier: BSD-2-Clause
//
// Buffers of other cards are pinned while this process uses a GPU, through the fake driver.
#include "host/gpu/cuda_lent.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <functional>
#include <thread>

#include "host/gpu/cuda_device.h"

namespace dingo::gpu::test {
namespace {

class CudaLentTest : public testing::Test {
  protected:
    // Loaded here so that the card finds it by its name.
    CudaLentTest() : library_(::dlopen(FAKE_CUDA_LIBRARY, RTLD_NOW)) {
        EXPECT_NE(library_, nullptr) << ::dlerror();
    }

    std::shared_ptr<CudaDevice> open() {
        cuda::Uuid uuid;
        const auto call =
            reinterpret_cast<int (*)(void*, int)>(::dlsym(library_, "cuDeviceGetUuid_v2"));
        EXPECT_EQ(call(&uuid, 1), 0);
        return CudaDevice::open(uuid);
    }
    static std::shared_ptr<LentMemory> lent(std::size_t bytes) {
        void* const at =
            ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        EXPECT_NE(at, MAP_FAILED);
        auto memory = std::make_shared<LentMemory>(static_cast<std::byte*>(at), bytes, bytes);
        lent_memories().add(memory);
        return memory;
    }
    static bool comes(const std::function<bool()>& condition) {
        for (int i = 0; i < 5'000 && !condition(); ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return condition();
    }

    void* library_;
};

TEST_F(CudaLentTest, MemoryIsPinnedWhileItIsLentAndAGpuIsUsed) {
    const auto before = lent(1U << 20U);
    std::shared_ptr<CudaDevice> device = open();
    EXPECT_TRUE(comes([&] { return before->is_pinned(); }));
    const auto later = lent(1U << 20U);
    EXPECT_TRUE(comes([&] { return later->is_pinned(); }));
    lent_memories().remove(later);
    EXPECT_TRUE(comes([&] { return !later->is_pinned(); }));
    EXPECT_TRUE(comes([&] { return later.use_count() == 1; })) << "nobody keeps it mapped";
    device.reset();
    EXPECT_FALSE(before->is_pinned());
    lent_memories().remove(before);
}

// Pinned memory is taken from the host, so the length that a card reports is not trusted.
TEST_F(CudaLentTest, NoMoreThanAGibibyteIsPinned) {
    const std::shared_ptr<CudaDevice> device = open();
    const auto huge = lent(std::size_t{3} << 30U);
    const auto most = lent(std::size_t{1} << 30U);
    const auto small = lent(4096);
    EXPECT_TRUE(comes([&] { return most->is_pinned(); }));
    EXPECT_FALSE(huge->is_pinned());
    EXPECT_FALSE(small->is_pinned()) << "all is taken";
    lent_memories().remove(most);
    EXPECT_TRUE(comes([&] { return small->is_pinned(); })) << "it is tried again";
    const auto after = lent(4096);
    EXPECT_TRUE(comes([&] { return after->is_pinned(); })) << "there is room again";
    for (const auto& memory : {huge, small, after}) {
        lent_memories().remove(memory);
    }
}

}  // namespace
}  // namespace dingo::gpu::test
