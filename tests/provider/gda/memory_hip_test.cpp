// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// Calls of libdingo-gda to HIP's runtime, replaced by that of cpu_hip.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

extern "C" {
#include "dingo_gda_host.h"
#include "memory.h"

int fake_hip_registered(void);
int fake_hip_allocated(void);
}

namespace {

constexpr std::size_t kPage = 4096;

struct GdaMemoryHip : ::testing::Test {
    GdaMemoryHip() {
        EXPECT_EQ(memory.open(0), 0);
        EXPECT_NE(at, MAP_FAILED);
    }
    ~GdaMemoryHip() override {
        EXPECT_EQ(fake_hip_registered(), 0);
        EXPECT_EQ(fake_hip_allocated(), 0);
        ::unsetenv("FAKE_HIP");
        ::munmap(at, kPage);
    }
    const dingo_gda_memory& memory = dingo_gda_hip_memory;
    char* at = static_cast<char*>(
        ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    void* device = nullptr;
};

TEST_F(GdaMemoryHip, APageIsShownOnceHoweverManyUseIt) {
    void* second = nullptr;
    ASSERT_EQ(dingo_gda_show(&memory, at + 128, 8, false, &device), 0);
    ASSERT_EQ(dingo_gda_show(&memory, at + 136, 8, false, &second), 0);
    EXPECT_EQ(fake_hip_registered(), 1);
    EXPECT_EQ(static_cast<char*>(second) - static_cast<char*>(device), 8);
    dingo_gda_hide(&memory, at + 128);
    EXPECT_EQ(fake_hip_registered(), 1);
    dingo_gda_hide(&memory, at + 136);
}

TEST_F(GdaMemoryHip, TheStatusPageIsNotShownAsItIsReadOnly) {
    EXPECT_EQ(dingo_gda_show(&memory, at, 4, true, &device), EOPNOTSUPP);
}

TEST_F(GdaMemoryHip, DeviceMemoryIsPutAndGot) {
    const std::string text = "rings";
    char got[8] = {};
    ASSERT_EQ(memory.alloc(text.size() + 1, &device), 0);
    EXPECT_EQ(memory.put(device, text.c_str(), text.size() + 1), 0);
    EXPECT_EQ(memory.get(got, device, text.size() + 1), 0);
    EXPECT_EQ(got, text);
    memory.free(device);
}

TEST_F(GdaMemoryHip, WhatIsRefusedIsSaidByTheCallsName) {
    const auto refused = [](const char* call, int error) {
        EXPECT_EQ(error, EIO) << call;
        EXPECT_EQ(std::string(dingo_gda_error()).find(std::string(call) + ": hipError"), 0u)
            << dingo_gda_error();
    };
    ::setenv("FAKE_HIP", "hipHostRegister", 1);
    refused("hipHostRegister", dingo_gda_show(&memory, at, 8, false, &device));
    ::setenv("FAKE_HIP", "hipHostGetDevicePointer", 1);
    refused("hipHostGetDevicePointer", dingo_gda_show(&memory, at, 8, false, &device));
    ::setenv("FAKE_HIP", "hipMalloc", 1);
    refused("hipMalloc", memory.alloc(8, &device));
    ::setenv("FAKE_HIP", "hipMemcpyAsync", 1);
    refused("hipMemcpyAsync", memory.put(at, at, 8));
    refused("hipMemcpyAsync", memory.get(at, at, 8));
    ::setenv("FAKE_HIP", "hipInit", 1);
    refused("hipInit", memory.open(0));
    ::unsetenv("FAKE_HIP");
    refused("hipSetDevice", memory.open(7));
}

}  // namespace
