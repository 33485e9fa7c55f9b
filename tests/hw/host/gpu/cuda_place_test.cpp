// SPDX-License-Identifier: BSD-2-Clause
//
// Memory of a GPU as a place, through the fake driver. Owner and card are one process here.
#include "host/gpu/cuda_place.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include "host/driver/bus_map.h"
#include "host/driver/mr_memory.h"
#include "host/gpu/worker.h"

namespace dingo::gpu::test {
namespace {

constexpr std::size_t kBytes = (1U << 20U) - 8;

class CudaPlaceTest : public testing::Test {
  protected:
    // Loaded here so that the card finds it by its name.
    CudaPlaceTest() : library_(::dlopen(FAKE_CUDA_LIBRARY, RTLD_NOW)) {
        EXPECT_NE(library_, nullptr) << ::dlerror();
        void* context = nullptr;
        call("cuDevicePrimaryCtxRetain", &context, 0);
        call("cuCtxSetCurrent", context);
    }
    ~CudaPlaceTest() override { pretend(nullptr); }

    template <typename... Args>
    int call(const char* name, Args... args) {
        return reinterpret_cast<int (*)(Args...)>(::dlsym(library_, name))(args...);
    }
    static void pretend(const char* mode) {
        if (mode == nullptr) {
            ::unsetenv("FAKE_CUDA");
        } else {
            ::setenv("FAKE_CUDA", mode, 1);
        }
    }

    /// Allocates with cuMemAlloc; returns the client's description.
    CudaMemory allocate() {
        EXPECT_EQ(call("cuMemAlloc_v2", &address, kBytes), 0);
        CudaMemory memory = described(kBytes);
        EXPECT_EQ(call("cuIpcGetMemHandle", &memory.ipc, address), 0);
        return memory;
    }
    CudaMemory described(std::uint64_t size) {
        CudaMemory memory;
        EXPECT_EQ(call("cuDeviceGetUuid_v2", static_cast<void*>(&memory.uuid), 1), 0);
        memory.size = size;
        return memory;
    }
    /// Allocates with cuMemCreate, mapped at `address`; returns the client's description. The
    /// caller closes its descriptors.
    CudaMemory create(const std::vector<std::size_t>& pieces) {
        const std::size_t size = std::reduce(pieces.begin(), pieces.end());
        CudaMemory memory = described(size);
        EXPECT_EQ(call("cuMemAddressReserve", &address, size, std::size_t{0}, 0ULL, 0ULL), 0);
        unsigned long long at = address;
        for (const std::size_t bytes : pieces) {
            unsigned long long handle = 0;
            int fd = -1;
            EXPECT_EQ(call("cuMemCreate", &handle, bytes, static_cast<const void*>(nullptr), 0ULL),
                      0);
            EXPECT_EQ(call("cuMemMap", at, bytes, std::size_t{0}, handle, 0ULL), 0);
            EXPECT_EQ(
                call("cuMemExportToShareableHandle", static_cast<void*>(&fd), handle, 1, 0ULL), 0);
            memory.pieces.push_back({bytes, fd});
            at += bytes;
        }
        return memory;
    }
    std::vector<std::byte> in_gpu(std::size_t offset, std::size_t bytes) {
        std::vector<std::byte> data(bytes);
        EXPECT_EQ(call("cuMemcpyDtoH_v2", static_cast<void*>(data.data()), address + offset, bytes),
                  0);
        return data;
    }
    static std::shared_ptr<CudaPlace> open(const CudaMemory& memory, std::uint64_t end = kBytes) {
        return std::make_shared<CudaPlace>(std::make_shared<CudaLane>(memory.uuid), memory, end);
    }
    /// Returns the errno of a place that cannot be opened.
    static int error_of(const CudaMemory& memory, std::uint64_t end = kBytes) {
        try {
            open(memory, end);
        } catch (const CudaError& e) {
            return e.error();
        }
        return 0;
    }

    void* library_;
    unsigned long long address = 0;
};

std::vector<std::byte> pattern(std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        data[i] = static_cast<std::byte>(i * 7 + (i >> 8U));
    }
    return data;
}

TEST_F(CudaPlaceTest, DataAreThereWhenACallReturns) {
    const auto place = open(allocate());
    const auto data = pattern(kBytes - 100);  // several times the staging buffer
    ASSERT_TRUE(place->write(36, data));
    EXPECT_EQ(in_gpu(36, data.size()), data);
    std::vector<std::byte> back(data.size());
    ASSERT_TRUE(place->read(36, back));
    EXPECT_EQ(back, data);
    std::uint64_t before = 1;
    ASSERT_TRUE(place->atomic(0, {.swap = false, .compare = 0, .operand = 5}, before));
    EXPECT_EQ(before, 0U);
    EXPECT_EQ(in_gpu(0, 1).front(), std::byte{5});
}

TEST_F(CudaPlaceTest, CopiesOfAllSizesAreWholeAndTouchNothingElse) {
    const auto place = open(allocate());
    for (const std::size_t at : {1, 4, 8}) {
        for (const std::size_t bytes : {1, 2, 3, 4, 7, 8, 9, 16, 24, 4095, 65528, 65536, 65537}) {
            ASSERT_TRUE(place->write(0, std::vector<std::byte>(bytes + at + 1, std::byte{0xee})));
            const auto data = pattern(bytes);
            ASSERT_TRUE(place->write(at, data));
            const auto there = in_gpu(0, at + bytes + 1);
            const auto begin = there.begin() + static_cast<std::ptrdiff_t>(at);
            EXPECT_EQ(std::vector<std::byte>(begin, there.end() - 1), data)
                << bytes << " at " << at;
            EXPECT_EQ(*(begin - 1), std::byte{0xee}) << bytes << " at " << at;
            EXPECT_EQ(there.back(), std::byte{0xee}) << bytes << " at " << at;
        }
    }
}

TEST_F(CudaPlaceTest, StartedCopiesAreMadeInTheirOrder) {
    const auto place = open(allocate());
    const auto access = [&](uverbs::FarAccess::Kind kind, std::byte value) {
        uverbs::FarAccess one;
        one.kind = kind;
        one.offset = 100;
        one.data = place->buffer(1000);
        one.data.append(std::vector<std::byte>(1000, value));
        return one;
    };
    for (int round = 0; round < 3; ++round) {
        std::vector<uverbs::FarAccess> all;
        for (unsigned i = 0; i < place->depth(); ++i) {
            all.push_back(access(uverbs::FarAccess::Kind::kWrite, static_cast<std::byte>(i + 1)));
            ASSERT_TRUE(place->can_start(all.back()));
            ASSERT_TRUE(place->start(all.back()));
        }
        for (const auto& one : all) {
            ASSERT_TRUE(place->finish(one));
        }
        auto back = access(uverbs::FarAccess::Kind::kRead, {});
        ASSERT_TRUE(place->start(back));
        ASSERT_TRUE(place->finish(back));
        EXPECT_TRUE(std::ranges::all_of(back.data.bytes(), [&](std::byte b) {
            return b == static_cast<std::byte>(place->depth());
        }));
    }
    auto beyond = access(uverbs::FarAccess::Kind::kWrite, {});
    beyond.offset = kBytes - 999;
    EXPECT_FALSE(place->start(beyond));
    static_cast<uverbs::FarPlace&>(*place).close();
    auto late = access(uverbs::FarAccess::Kind::kRead, {});
    EXPECT_FALSE(place->start(late)) << "closed";
}

// A process that opens its device twice has two lanes, each with its own mover.
TEST_F(CudaPlaceTest, AtomicsOfAllLanesOfAGpuAreAtomic) {
    const CudaMemory memory = allocate();
    ::setenv("FAKE_CUDA_DELAY_US", "1", 1);
    constexpr unsigned kAdds = 500;
    const auto add = [](uverbs::FarPlace& place) {
        for (unsigned i = 0; i < kAdds; ++i) {
            std::uint64_t before = 0;
            EXPECT_TRUE(place.atomic(8, {.swap = false, .compare = 0, .operand = 1}, before));
        }
    };
    const auto one = open(memory), two = open(memory);
    std::thread other(add, std::ref<uverbs::FarPlace>(*two));
    add(*one);
    other.join();
    ::unsetenv("FAKE_CUDA_DELAY_US");
    std::uint64_t sum = 0;
    std::memcpy(&sum, in_gpu(8, sizeof sum).data(), sizeof sum);
    EXPECT_EQ(sum, 2U * kAdds);
}

// The failed copy must neither overwrite the buffer's next content nor write it to the GPU.
TEST_F(CudaPlaceTest, CopyThatCannotBeStartedUsesItsBufferNoMore) {
    const auto place = open(allocate());
    const auto access = [&](uverbs::FarAccess::Kind kind, std::uint64_t offset, std::byte value) {
        uverbs::FarAccess one;
        one.kind = kind;
        one.offset = offset;
        one.data = place->buffer(1001);
        one.data.append(std::vector<std::byte>(1001, value));
        return one;
    };
    const auto has = [](std::span<const std::byte> bytes, std::byte value) {
        return std::ranges::all_of(bytes, [&](std::byte b) { return b == value; });
    };
    constexpr std::byte kOld{1}, kNext{2};
    for (const auto kind : {uverbs::FarAccess::Kind::kRead, uverbs::FarAccess::Kind::kWrite}) {
        auto fails = access(kind, 0, kOld);
        pretend("record-fails");
        EXPECT_FALSE(place->start(fails));
        pretend(nullptr);
        std::ranges::fill(fails.data.bytes(), kNext);
        auto later = access(kind, 4096, kOld);
        ASSERT_TRUE(place->start(later));
        ASSERT_TRUE(place->finish(later));
        EXPECT_TRUE(has(fails.data.bytes(), kNext));
        EXPECT_FALSE(has(in_gpu(0, 1001), kNext));
    }
    const std::vector<std::byte> old(1001, kOld), next(1001, kNext);
    pretend("record-fails");
    EXPECT_FALSE(place->write(0, old));
    pretend(nullptr);
    EXPECT_TRUE(place->write(4096, next));
    EXPECT_TRUE(has(in_gpu(0, 1001), kOld)) << "made by the processor's staging";
}

TEST_F(CudaPlaceTest, ReadsEndBeforeWritesThatWereStartedBefore) {
    const auto place = open(allocate());
    ASSERT_TRUE(place->write(4096, pattern(1000)));
    const auto access = [&](uverbs::FarAccess::Kind kind, std::uint64_t at) {
        uverbs::FarAccess one;
        one.kind = kind;
        one.offset = at;
        one.data = place->buffer(1000);
        one.data.append(std::vector<std::byte>(1000, std::byte{7}));
        return one;
    };
    std::vector<uverbs::FarAccess> writes, reads;
    for (unsigned i = 0; i < place->depth(); ++i) {
        writes.push_back(access(uverbs::FarAccess::Kind::kWrite, i * 8192));
        ASSERT_TRUE(place->start(writes.back()));
        reads.push_back(access(uverbs::FarAccess::Kind::kRead, 4096));
        ASSERT_TRUE(place->start(reads.back())) << "each direction has its own";
    }
    for (const auto& read : reads) {
        EXPECT_TRUE(place->finish(read));
        EXPECT_TRUE(std::ranges::equal(read.data.bytes(), pattern(1000)));
    }
    for (const auto& write : writes) {
        EXPECT_TRUE(place->finish(write));
        EXPECT_EQ(in_gpu(write.offset, 1000), std::vector<std::byte>(1000, std::byte{7}));
    }
}

TEST_F(CudaPlaceTest, BuffersComeFromTheHeapWhenThePinnedOnesAreTaken) {
    const auto place = open(allocate());
    std::vector<uverbs::FarBuffer> taken;
    do {
        taken.push_back(place->buffer(8));
    } while (taken.back().is_pinned());
    std::size_t all = 0;
    for (const CudaBuffers::Class& c : CudaBuffers::kClasses)
        all += c.count;
    EXPECT_EQ(taken.size(), all) << "a lane has one for itself; the last one is no pinned one";
    uverbs::FarAccess access;
    access.data = std::move(taken.back());
    EXPECT_FALSE(place->can_start(access));
    taken.pop_back();
    taken.pop_back();
    EXPECT_TRUE(place->buffer(8).is_pinned()) << "one came back";
    EXPECT_FALSE(place->buffer(CudaBuffers::kLarge + 1).is_pinned());
}

TEST_F(CudaPlaceTest, HalfOfEachSizeIsForWhatSomebodyWaitsFor) {
    const auto place = open(allocate());
    std::vector<uverbs::FarBuffer> taken;
    for (const CudaBuffers::Class& c : CudaBuffers::kClasses) {
        std::size_t count = 0;
        for (; place->has_buffers(c.bytes); ++count)
            taken.push_back(place->buffer(c.bytes));
        EXPECT_NEAR(static_cast<double>(count), static_cast<double>(c.count) / 2, 1);
        EXPECT_TRUE(place->buffer(c.bytes).is_pinned());
    }
    taken.clear();
    for (const CudaBuffers::Class& c : CudaBuffers::kClasses)
        EXPECT_TRUE(place->has_buffers(c.bytes - 1));
}

TEST_F(CudaPlaceTest, ItsBuffersMayBeLent) {
    EXPECT_TRUE(open(allocate())->lends());
}

TEST_F(CudaPlaceTest, PinnedMemoryIsChargedToItsClient) {
    const auto account = std::make_shared<Account>(false);
    {
        const CudaLane lane(described(kBytes).uuid, account);
        EXPECT_EQ(account->used(process_quotas().bytes), CudaBuffers::kBytes);
    }
    EXPECT_EQ(account->used(process_quotas().bytes), 0U);
}

TEST_F(CudaPlaceTest, NothingBehindTheRegionIsReached) {
    const auto place = open(allocate(), 4096);
    std::vector<std::byte> data(16);
    EXPECT_TRUE(place->read(4080, data));
    EXPECT_FALSE(place->read(4081, data));
    EXPECT_FALSE(place->write(4081, data));
    EXPECT_FALSE(place->read(UINT64_MAX - 3, data));
}

TEST_F(CudaPlaceTest, SizeOfTheDriverCounts) {
    CudaMemory memory = allocate();
    memory.size = kBytes + 4096;
    EXPECT_EQ(error_of(memory, kBytes + 1), EINVAL);
    EXPECT_EQ(error_of(memory, kBytes + 4097), EINVAL);
    EXPECT_EQ(error_of(memory, kBytes), 0);
}

TEST_F(CudaPlaceTest, MemoryOfADescriptor) {
    constexpr std::size_t kSize = 4U << 20U;
    CudaMemory memory = create({kSize});
    const auto place = open(memory, kSize);
    const auto data = pattern(5000);
    ASSERT_TRUE(place->write(kSize - 5000, data));
    EXPECT_EQ(in_gpu(kSize - 5000, 5000), data);
    memory.size = memory.pieces[0].bytes = kSize * 2;
    EXPECT_EQ(error_of(memory, kSize), EOPNOTSUPP) << "more than the allocation has";
    ::close(memory.pieces[0].descriptor);
    const int device = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    memory.pieces[0] = {kSize, device};
    memory.size = kSize;
    EXPECT_EQ(error_of(memory, kSize), EOPNOTSUPP) << "a descriptor of something else";
    ::close(device);
}

TEST_F(CudaPlaceTest, AllocationsOneBehindTheOtherAreOne) {
    constexpr std::size_t kPiece = 2U << 20U;
    CudaMemory memory = create({kPiece, 2 * kPiece, kPiece});
    const auto place = open(memory, 4 * kPiece);
    const auto data = pattern(3 * kPiece);
    ASSERT_TRUE(place->write(kPiece - 4, data));
    EXPECT_EQ(in_gpu(kPiece - 4, data.size()), data);
    std::vector<std::byte> back(data.size());
    ASSERT_TRUE(place->read(kPiece - 4, back));
    EXPECT_EQ(back, data);
    EXPECT_FALSE(place->write(4 * kPiece - 4, pattern(5)));

    // If one cannot be opened, those before it are unmapped again.
    const int there = std::exchange(memory.pieces[2].descriptor, -1);
    EXPECT_EQ(error_of(memory, 4 * kPiece), EOPNOTSUPP);
    memory.pieces[2].descriptor = there;
    for (const CudaMemory::Piece& piece : memory.pieces) {
        ::close(piece.descriptor);
    }
}

// Its owner frees the memory when it has deregistered it: this process must not have it open then.
TEST_F(CudaPlaceTest, IsClosedWhenItsRegionEnds) {
    const int before = call("fake_imported");
    uverbs::BusMap bus;
    auto region = std::make_unique<uverbs::MrMemory>(bus, open(allocate()), 0, kBytes, true);
    region->attach();
    EXPECT_EQ(call("fake_imported"), before + 1);
    ::setenv("FAKE_CUDA_CLOSE_US", "2000", 1);
    std::counting_semaphore<2> goes(0);
    std::binary_semaphore ended(0);
    do_soon([&] { goes.acquire(); });
    do_soon([&] {  // takes longer, and delays only what comes behind it
        goes.acquire();
        ended.release();
    });
    goes.release();
    region.reset();
    EXPECT_EQ(call("fake_imported"), before);
    goes.release();
    ended.acquire();
    ::unsetenv("FAKE_CUDA_CLOSE_US");
}

// A driver that hangs delays the owner for a limited time.
TEST_F(CudaPlaceTest, ARegionEndsThoughItsMemoryStaysOpen) {
    uverbs::BusMap bus;
    auto region = std::make_unique<uverbs::MrMemory>(bus, open(allocate()), 0, kBytes, true);
    region->attach();
    std::binary_semaphore hangs(0);
    std::binary_semaphore ended(0);
    do_soon([&] {
        hangs.acquire();
        ended.release();
    });
    region.reset();
    hangs.release();
    ended.acquire();
}

TEST_F(CudaPlaceTest, WhatADriverMayRefuse) {
    CudaMemory memory = allocate();
    pretend("open-fails");
    EXPECT_EQ(error_of(memory), EOPNOTSUPP);
    pretend(nullptr);
    CudaMemory other = memory;
    other.uuid.bytes[0] ^= 1;
    EXPECT_EQ(error_of(other), ENODEV) << "a GPU that is not here";
    memory.ipc = {};
    EXPECT_EQ(error_of(memory), EOPNOTSUPP) << "no handle";
}

TEST_F(CudaPlaceTest, CopyThatFailsIsABusErrorAndOthersGoOn) {
    const auto place = open(allocate());
    ASSERT_EQ(call("cuMemFree_v2", address), 0);
    const auto other = open(allocate());
    std::vector<std::byte> data(64);
    EXPECT_FALSE(place->write(0, data));
    EXPECT_FALSE(place->read(0, data));
    EXPECT_TRUE(other->write(0, data));
    pretend("copies-fail");
    EXPECT_FALSE(other->read(0, data));
    pretend(nullptr);
    EXPECT_TRUE(other->read(0, data));
}

}  // namespace
}  // namespace dingo::gpu::test
