// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <vector>

#include "fake_verbs.h"
#include "memory/buffer.h"

namespace rdma_bench {
namespace {

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

template <typename Call>
std::string error_of(Call call) {
    try {
        call();
    } catch (const std::exception& error) {
        return error.what();
    }
    return {};
}

BufferRequest request(std::size_t size, std::size_t device_memory = 0) {
    return {fake_verbs::pd(device_memory), size, kAccess};
}

std::vector<std::byte> counted(std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        data[i] = static_cast<std::byte>(i * 3 + i / 256 + 1);
    }
    return data;
}

/// Checks what every kind must do, from the CPU's and from the device's view.
void check_kind(const std::string& kind, std::size_t size, std::size_t device_memory = 0) {
    const auto buffer = make_buffer(kind, request(size, device_memory));
    ASSERT_EQ(buffer->size(), size);
    const auto& device = fake_verbs::registration(buffer->mr());
    ASSERT_EQ(device.length, size);
    EXPECT_TRUE(
        std::all_of(device.data, device.data + size, [](std::byte b) { return b == std::byte{0}; }))
        << kind << ": not zeroed";
    EXPECT_EQ(device.access & IBV_ACCESS_REMOTE_WRITE, unsigned{IBV_ACCESS_REMOTE_WRITE});

    const auto data = counted(size - 7);
    buffer->write(5, data);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), device.data + 5))
        << kind << ": the device sees other data";
    EXPECT_EQ(device.data[4], std::byte{0});
    EXPECT_EQ(device.data[size - 2], std::byte{0});
    device.data[size - 1] = std::byte{0x5A};
    std::vector<std::byte> back(3);
    buffer->read(size - 3, back);
    EXPECT_EQ(back[2], std::byte{0x5A}) << kind << ": what the device wrote is not read";
    EXPECT_EQ(back[0], data[size - 8]);

    EXPECT_THROW(buffer->write(size - 1, back), std::out_of_range);
    EXPECT_THROW(buffer->read(size + 1, {}), std::out_of_range);
    EXPECT_THROW(buffer->read(SIZE_MAX, back), std::out_of_range);

    ibv_mr* again = buffer->register_again();
    EXPECT_EQ(fake_verbs::registration(again).data[5], data[0])
        << kind << ": a second region of other memory";
    EXPECT_EQ(fake_verbs::registration(again).iova, device.iova);
    ibv_dereg_mr(again);
    EXPECT_NE(buffer->description(), "");
}

TEST(MemoryKinds, CudaAndHipAreRegisteredByTheirDmabufAtItsOffset) {
    for (const std::string kind : {"cuda", "hip", "cuda:1"}) {
        const auto buffer = make_buffer(kind, request(10000));
        const auto& device = fake_verbs::registration(buffer->mr());
        EXPECT_TRUE(device.dmabuf);
        // The fakes' buffers begin 512 bytes (CUDA), or 3 pages and 512 bytes (HIP), into the
        // DMABuf.
        EXPECT_EQ(device.offset, kind == "hip" ? 3 * 4096 + 512 : 512U);
        EXPECT_EQ(device.iova, buffer->address());
        EXPECT_EQ(buffer->host(), nullptr) << "a GPU's address is none of the CPU's";
        EXPECT_NE(buffer->description().find("Fake GPU"), std::string::npos);
    }
    check_kind("cuda", 70000);
    check_kind("hip:0", 70000);
    check_kind("cuda", 3 * (1U << 20U) + 17);
    EXPECT_EQ(fake_verbs::live_registrations(), 0U);
}

TEST(MemoryKinds, DeviceMemoryIsZeroBasedAndCopiedInWords) {
    check_kind("dm", 1001, 4096);
    EXPECT_EQ(fake_verbs::live_device_memory(), 0U);
    EXPECT_EQ(make_buffer("dm", request(64, 64))->address(), 0U);
}

TEST(MemoryKinds, DeviceMemoryThatIsNotThereIsSaid) {
    EXPECT_NE(
        error_of([] { make_buffer("dm", request(64)); }).find("fake0 has no memory of its own"),
        std::string::npos);
    EXPECT_NE(
        error_of([] { make_buffer("dm", request(8192, 4096)); }).find("fake0 has 4096 in all"),
        std::string::npos);
}

TEST(MemoryKinds, HugePagesWorkOrSayWhatToSet) {
    const std::string why = error_of([] { make_buffer("huge", request(100000)); });
    if (why.empty()) {
        check_kind("huge", 100000);
    } else {
        EXPECT_TRUE(why.find("sysctl vm.nr_hugepages=") != std::string::npos ||
                    why.find("has no huge pages") != std::string::npos)
            << why;
    }
}

TEST(MemoryKinds, ExportersWorkOrSayWhatIsMissing) {
    for (const std::string path : {"/dev/udmabuf", "/dev/dma_heap/system"}) {
        const std::string kind = "dmabuf:" + path;
        const std::string why = error_of([&] { make_buffer(kind, request(10000)); });
        if (why.empty()) {
            check_kind(kind, 10000);
            check_kind(kind + ",offset=12800", 10000);
        } else {
            EXPECT_EQ(why.find("memory kind " + kind + ": open: "), 0U) << why;
            EXPECT_NE(why.find(';'), std::string::npos) << why;
        }
    }
}

TEST(MemoryKinds, NoOtherWayIsTriedWhenTheDeviceTakesNoDmabuf) {
    const std::pair<int, const char*> kCases[] = {{EOPNOTSUPP, "takes no DMABufs"},
                                                  {EPROTONOSUPPORT, "Linux 5.12"},
                                                  {EINVAL, "no DMABuf of this kernel"},
                                                  {ENOMEM, "ulimit -l"},
                                                  {EIO, "kernel's log"}};
    for (const auto& [error, words] : kCases) {
        const BufferRequest wanted = request(4096);
        fake_verbs::fail_next_dmabuf(error);
        const std::string why = error_of([&] { make_buffer("cuda", wanted); });
        EXPECT_NE(why.find("ibv_reg_dmabuf_mr of 4096 bytes at offset 512"), std::string::npos)
            << why;
        EXPECT_NE(why.find(words), std::string::npos) << why;
    }
    EXPECT_EQ(fake_verbs::live_registrations(), 0U);
}

TEST(MemoryKinds, WhatIsNoKindIsSaidWithTheKinds) {
    for (const char* bad : {"", "gpu", "huge:2", "cuda:x", "cuda:-1", "hip:1x", "dmabuf", "dmabuf:",
                            "dmabuf:/dev/udmabuf,offset=", "dmabuf:/dev/udmabuf,offset=1x"}) {
        EXPECT_THROW(make_buffer(bad, request(64)), std::invalid_argument) << bad;
    }
    EXPECT_NE(error_of([] { make_buffer("gpu", request(64)); }).find("cuda[:n]"),
              std::string::npos);
    EXPECT_NE(error_of([] {
                  make_buffer("dmabuf:/dev/null", request(64));
              }).find("neither /dev/udmabuf nor"),
              std::string::npos);
}

}  // namespace
}  // namespace rdma_bench
