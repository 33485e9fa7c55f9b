// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// What libdingo-gda asks of a GPU's driver, with a pretended libcuda.so.1.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdlib>
#include <string>

extern "C" {
#include "dingo_gda_host.h"
#include "memory.h"
}

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::uintptr_t kElsewhere = 0x100000000000;

int registered() {
    void* const lib = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<int (*)()>(::dlsym(lib, "fake_cuda_registered"))();
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
    ASSERT_EQ(memory.show(pages.at, kPage, false), 0);  // by somebody else
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

TEST(GdaDevices, WhatIsNotThereIsNamed) {
    ::setenv("FAKE_CUDA", "no-gpu", 1);
    EXPECT_EQ(dingo_gda_cuda_memory.open(0), EIO);
    EXPECT_EQ(std::string(dingo_gda_error()), "cuInit: CUDA_ERROR_NO_DEVICE");
    ::unsetenv("FAKE_CUDA");
    EXPECT_EQ(dingo_gda_host_memory.open(1), ENODEV);
    EXPECT_EQ(std::string(dingo_gda_error()), "the host is one device, number 0");
}

}  // namespace
