// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// Calls of libdingo-gda to a GPU's driver, with a fake libcuda.so.1.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

extern "C" {
#include "dingo_gda_host.h"
#include "dingo_gda_types.h"
#include "memory.h"
}

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::uintptr_t kElsewhere = 0x100000000000;

int ask_fake(const char* what) {
    void* const lib = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<int (*)()>(::dlsym(lib, what))();
}

int registered() {
    return ask_fake("fake_cuda_registered");
}

struct Pages {
    explicit Pages(std::size_t count)
        : at(static_cast<char*>(::mmap(nullptr, count * kPage, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
          bytes(count * kPage) {}
    ~Pages() { ::munmap(at, bytes); }
    char* at;
    std::size_t bytes;
};

struct GdaMemory : ::testing::Test {
    GdaMemory() { EXPECT_EQ(memory.open(0), 0); }
    const dingo_gda_memory& memory = dingo_gda_cuda_memory;
};

TEST_F(GdaMemory, APageIsShownOnceHoweverManyUseIt) {
    const Pages pages(1);
    void* first = nullptr;
    void* second = nullptr;
    ASSERT_EQ(dingo_gda_show(&memory, pages.at + 128, 8, false, &first), 0);
    ASSERT_EQ(dingo_gda_show(&memory, pages.at + 136, 8, false, &second), 0);
    EXPECT_EQ(registered(), 1);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first),
              reinterpret_cast<std::uintptr_t>(pages.at) + 128 + kElsewhere);
    EXPECT_EQ(static_cast<char*>(second) - static_cast<char*>(first), 8);
    dingo_gda_hide(&memory, pages.at + 128);
    EXPECT_EQ(registered(), 1);
    dingo_gda_hide(&memory, pages.at + 136);
    EXPECT_EQ(registered(), 0);
}

TEST_F(GdaMemory, WholePagesAreShown) {
    const Pages pages(3);
    void* at = nullptr;
    ASSERT_EQ(dingo_gda_show(&memory, pages.at + 64, kPage, false, &at), 0);
    EXPECT_EQ(registered(), 1);
    void* other = nullptr;
    ASSERT_EQ(dingo_gda_show(&memory, pages.at + 2 * kPage, 1, false, &other), 0);
    EXPECT_EQ(registered(), 2);
    dingo_gda_hide(&memory, pages.at + 64);
    dingo_gda_hide(&memory, pages.at + 2 * kPage);
    EXPECT_EQ(registered(), 0);
}

TEST_F(GdaMemory, ARefusalIsSaidAndLeavesNothing) {
    const Pages pages(2);
    void* at = nullptr;
    ASSERT_EQ(memory.show(pages.at, kPage, false), 0);  // as by other code
    EXPECT_EQ(dingo_gda_show(&memory, pages.at, 8, false, &at), EIO);
    EXPECT_EQ(std::string(dingo_gda_error()),
              "cuMemHostRegister: CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED");
    memory.hide(pages.at);
    ::setenv("FAKE_CUDA", "no-read-only", 1);
    EXPECT_EQ(dingo_gda_show(&memory, pages.at, 8, true, &at), EIO);
    ::unsetenv("FAKE_CUDA");
    EXPECT_EQ(registered(), 0);
    dingo_gda_hide(&memory, pages.at);  // was never shown
}

/// Each refused call is reported by name, and nothing leaks.
TEST_F(GdaMemory, EveryRefusalIsSaid) {
    const Pages pages(1);
    void* at = nullptr;
    char byte = 0;
    const auto refusing = [&](const char* call, const std::function<int()>& fn) {
        ::setenv("FAKE_CUDA", call, 1);
        EXPECT_EQ(fn(), EIO) << call;
        ::unsetenv("FAKE_CUDA");
        const std::string name(call);
        EXPECT_EQ(std::string(dingo_gda_error()),
                  name.substr(0, name.find('_')) + ": CUDA_ERROR_NOT_SUPPORTED");
    };
    refusing("cuMemAlloc_v2", [&] { return memory.alloc(64, &at); });
    refusing("cuStreamCreate", [&] { return memory.put(&byte, &byte, 1); });
    refusing("cuMemcpyHtoDAsync_v2", [&] { return memory.put(&byte, &byte, 1); });
    refusing("cuMemcpyDtoHAsync_v2", [&] { return memory.get(&byte, &byte, 1); });
    refusing("cuStreamSynchronize", [&] { return memory.get(&byte, &byte, 1); });
    EXPECT_EQ(ask_fake("fake_cuda_streams"), 0);
    EXPECT_EQ(ask_fake("fake_cuda_capture_mode"), 0);
    refusing("cuMemHostGetDevicePointer_v2",
             [&] { return dingo_gda_show(&memory, pages.at, 8, false, &at); });
    EXPECT_EQ(registered(), 0);
}

TEST_F(GdaMemory, MemoryOfTheDevicesOwn) {
    for (const dingo_gda_memory* const kind : {&dingo_gda_cuda_memory, &dingo_gda_host_memory}) {
        void* at = nullptr;
        ASSERT_EQ(kind->alloc(130, &at), 0);
        ASSERT_NE(at, nullptr);
        const std::string text = "what is put is what is got";
        std::string got(text.size(), ' ');
        EXPECT_EQ(kind->put(at, text.data(), text.size()), 0);
        EXPECT_EQ(kind->get(got.data(), at, got.size()), 0);
        EXPECT_EQ(got, text);
        EXPECT_EQ(ask_fake("fake_cuda_allocated"), kind == &dingo_gda_cuda_memory ? 1 : 0);
        kind->free(at);
        EXPECT_EQ(ask_fake("fake_cuda_allocated"), 0);
    }
}

/// Another thread may capture a stream in global mode meanwhile. This thread's mode stays as it
/// was.
TEST_F(GdaMemory, IsAllocatedAndCopiedWhileAnotherThreadCaptures) {
    void* const lib = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    const auto capture = reinterpret_cast<void (*)(int)>(::dlsym(lib, "fake_cuda_capture"));
    void* at = nullptr;
    int word = 7;
    capture(1);
    ASSERT_EQ(memory.alloc(sizeof word, &at), 0);
    EXPECT_EQ(memory.put(at, &word, sizeof word), 0);
    word = 0;
    EXPECT_EQ(memory.get(&word, at, sizeof word), 0);
    EXPECT_EQ(word, 7);
    EXPECT_EQ(ask_fake("fake_cuda_capture_mode"), 0);
    capture(0);
    memory.free(at);
    EXPECT_EQ(ask_fake("fake_cuda_streams"), 0);
}

/// Host memory is aligned to cache lines, so that a QP's words lie in separate lines.
TEST(GdaHostMemory, IsWholeLines) {
    void* at = nullptr;
    ASSERT_EQ(dingo_gda_host_memory.alloc(1, &at), 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % DINGO_GDA_LINE, 0u);
    EXPECT_GE(::malloc_usable_size(at), std::size_t{DINGO_GDA_LINE});
    dingo_gda_host_memory.free(at);
    void* shown = nullptr;
    EXPECT_EQ(dingo_gda_host_memory.show(&shown, 8, false), 0);
    EXPECT_EQ(dingo_gda_host_memory.address(&at, &shown), 0);
    EXPECT_EQ(shown, &at) << "a thread finds it where it is";
}

/// Mappings are kept separately per kind of device.
TEST_F(GdaMemory, KindsOfDevicesAreShownThingsApart) {
    const Pages pages(1);
    void* cuda = nullptr;
    void* host = nullptr;
    ASSERT_EQ(dingo_gda_show(&dingo_gda_host_memory, pages.at + 8, 8, false, &host), 0);
    ASSERT_EQ(dingo_gda_show(&memory, pages.at + 8, 8, false, &cuda), 0);
    EXPECT_EQ(host, pages.at + 8);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(cuda),
              reinterpret_cast<std::uintptr_t>(pages.at) + 8 + kElsewhere);
    EXPECT_EQ(registered(), 1);
    dingo_gda_hide(&memory, pages.at + 8);
    EXPECT_EQ(registered(), 0);
    dingo_gda_hide(&dingo_gda_host_memory, pages.at + 8);
}

/// Only addresses within a page belong to its mapping; neighbouring pages are not hidden with it.
TEST_F(GdaMemory, PagesEndWhereTheyEnd) {
    const Pages pages(3);
    void* at = nullptr;
    ASSERT_EQ(dingo_gda_show(&memory, pages.at + kPage, kPage, true, &at), 0);
    ASSERT_EQ(dingo_gda_show(&memory, pages.at + 2 * kPage - 1, 1, true, &at), 0);
    EXPECT_EQ(registered(), 1);
    dingo_gda_hide(&memory, pages.at + kPage - 1);
    dingo_gda_hide(&memory, pages.at + 2 * kPage);
    dingo_gda_hide(&memory, pages.at + kPage);
    EXPECT_EQ(registered(), 1);
    dingo_gda_hide(&memory, pages.at + 2 * kPage - 1);
    EXPECT_EQ(registered(), 0);
}

/// A device that is slow to map a page.
std::atomic<int> slow_calls = 0;
std::atomic<bool> slow_is_done = false;
const dingo_gda_memory kSlow = [] {
    dingo_gda_memory slow = dingo_gda_host_memory;
    slow.show = [](void* /*at*/, std::size_t /*bytes*/, bool /*read_only*/) {
        ++slow_calls;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        slow_is_done = true;
        return 0;
    };
    return slow;
}();

/// While one thread maps a page, others that map or release pages wait.
TEST(GdaMemoryOfThreads, APageIsShownOnce) {
    const Pages pages(1);
    const auto show = [&] {
        void* at = nullptr;
        EXPECT_EQ(dingo_gda_show(&kSlow, pages.at, 8, false, &at), 0);
        EXPECT_TRUE(slow_is_done);
    };
    std::thread first(show);
    while (slow_calls == 0)
        std::this_thread::yield();
    show();
    first.join();
    EXPECT_EQ(slow_calls, 1);
    dingo_gda_hide(&kSlow, pages.at);
    dingo_gda_hide(&kSlow, pages.at);
}

TEST(GdaMemoryOfThreads, WhatIsGivenBackWaitsForWhatIsShown) {
    const Pages pages(1);
    std::thread first([&] {
        void* at = nullptr;
        EXPECT_EQ(dingo_gda_show(&kSlow, pages.at, 8, false, &at), 0);
    });
    while (slow_calls == 0)
        std::this_thread::yield();
    dingo_gda_hide(&kSlow, pages.at);
    EXPECT_TRUE(slow_is_done);
    first.join();
}

/// The memory of a queue that is destroyed while another thread shows new memory at its address.
struct Queue {
    char* at;
    int error;
    std::thread another;
};

TEST(GdaMemoryOfThreads, NewMemoryAtTheAddressOfAQueueIsShownAnew) {
    const Pages pages(1);
    void* device = nullptr;
    Queue queue{pages.at, EBUSY, {}};
    const auto destroy = [&queue] {
        void* const shown[] = {queue.at};
        return dingo_gda_hide_destroyed(
            &kSlow, shown, 1,
            [](void* object) {
                auto* const q = static_cast<Queue*>(object);
                if (q->error == 0) {
                    q->another = std::thread([q] {
                        void* at = nullptr;
                        EXPECT_EQ(dingo_gda_show(&kSlow, q->at, 8, false, &at), 0);
                    });
                    std::this_thread::sleep_for(std::chrono::milliseconds(20));
                }
                return q->error;
            },
            &queue);
    };
    const int before = slow_calls;
    ASSERT_EQ(dingo_gda_show(&kSlow, queue.at, 8, false, &device), 0);
    EXPECT_EQ(destroy(), EBUSY);
    ASSERT_EQ(dingo_gda_show(&kSlow, queue.at, 8, false, &device), 0);
    EXPECT_EQ(slow_calls, before + 2) << "it was shown again, once";
    dingo_gda_hide(&kSlow, queue.at);
    queue.error = 0;
    EXPECT_EQ(destroy(), 0);
    queue.another.join();
    EXPECT_EQ(slow_calls, before + 3);
    dingo_gda_hide(&kSlow, queue.at);
}

/// The driver knows memory no more when it is unmapped, and knows it again if it stays.
TEST_F(GdaMemory, IsHiddenBeforeItIsUnmapped) {
    const Pages pages(3);
    void* device = nullptr;
    void* const shown[] = {pages.at, pages.at + kPage, pages.at + kPage + 8, pages.at + 2 * kPage};
    for (void* const at : shown)
        ASSERT_EQ(dingo_gda_show(&memory, at, 8, false, &device), 0);
    ASSERT_EQ(dingo_gda_show(&memory, pages.at + 2 * kPage, 8, false, &device), 0);
    struct Seen {
        int error;
        int left;
    } seen{EBUSY, -1};
    const auto destroy = [&] {
        return dingo_gda_hide_destroyed(
            &memory, shown, 4,
            [](void* object) {
                auto* const s = static_cast<Seen*>(object);
                s->left = registered();
                return s->error;
            },
            &seen);
    };
    EXPECT_EQ(destroy(), EBUSY);
    EXPECT_EQ(seen.left, 1) << "a page that another object uses";
    EXPECT_EQ(registered(), 3);
    seen.error = 0;
    EXPECT_EQ(destroy(), 0);
    EXPECT_EQ(seen.left, 1);
    EXPECT_EQ(registered(), 1);
    dingo_gda_hide(&memory, pages.at + 2 * kPage);
    EXPECT_EQ(registered(), 0);
}

// CTest runs each test in its own process, so no context exists yet.
TEST(GdaOpening, ADeviceIsRetainedAndMadePresent) {
    EXPECT_EQ(dingo_gda_cuda_memory.open(2), EIO);
    EXPECT_EQ(std::string(dingo_gda_error()), "cuDeviceGet: CUDA_ERROR_NO_DEVICE");
    const int before = ask_fake("fake_cuda_current");
    EXPECT_EQ(before, -1);
    EXPECT_EQ(dingo_gda_cuda_memory.open(1), 0);
    EXPECT_EQ(ask_fake("fake_cuda_current"), 1);
    EXPECT_EQ(dingo_gda_cuda_memory.open(0), 0);
    EXPECT_EQ(ask_fake("fake_cuda_current"), 1) << "what the program has chosen stays";
}

TEST(GdaOpening, EveryRefusalIsSaid) {
    for (const std::string call : {"cuDevicePrimaryCtxRetain", "cuCtxSetCurrent"}) {
        ::setenv("FAKE_CUDA", call.c_str(), 1);
        EXPECT_EQ(dingo_gda_cuda_memory.open(0), EIO) << call;
        EXPECT_EQ(std::string(dingo_gda_error()),
                  "cuDevicePrimaryCtxRetain: CUDA_ERROR_NOT_SUPPORTED");
        EXPECT_EQ(ask_fake("fake_cuda_current"), -1);
    }
    ::unsetenv("FAKE_CUDA");
    EXPECT_EQ(dingo_gda_host_memory.open(0), 0);
}

TEST(GdaDevices, WhatIsNotThereIsNamed) {
    ::setenv("FAKE_CUDA", "no-gpu", 1);
    EXPECT_EQ(dingo_gda_cuda_memory.open(0), EIO);
    EXPECT_EQ(std::string(dingo_gda_error()), "cuInit: CUDA_ERROR_NO_DEVICE");
    ::unsetenv("FAKE_CUDA");
    EXPECT_EQ(dingo_gda_host_memory.open(1), ENODEV);
    EXPECT_EQ(std::string(dingo_gda_error()), "the host is one device, number 0");
}

}  // namespace
