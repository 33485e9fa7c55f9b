// SPDX-License-Identifier: BSD-2-Clause
// Tests of GPU memory with the fake drivers in fake/, which main.cpp loads before the real ones
// could be.
#include "memory/gpu.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <ostream>
#include <stdexcept>
#include <vector>

namespace rdma_bench {
namespace {

struct Kind {
    const char* name;
    const char* variable;  ///< environment variable that makes its fake fail
    std::unique_ptr<Gpu> (*open)(int);
};

void PrintTo(const Kind& kind, std::ostream* out) {
    *out << kind.name;
}

class GpuOfKind : public testing::TestWithParam<Kind> {
  protected:
    void SetUp() override { ::unsetenv(GetParam().variable); }
    void TearDown() override { ::unsetenv(GetParam().variable); }

    static void fail_with(const char* mode) { ::setenv(GetParam().variable, mode, 1); }
    static std::unique_ptr<Gpu> open(int index = 0) { return GetParam().open(index); }

    /// Returns the text of the exception that `call` throws, or "" if it throws none.
    template <typename Call>
    static std::string error_of(Call call) {
        try {
            call();
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        return {};
    }
};

std::vector<std::byte> counted(std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        data[i] = static_cast<std::byte>(i * 7 + i / 256);
    }
    return data;
}

TEST_P(GpuOfKind, CopiesToTheDeviceAndBack) {
    const auto gpu = open();
    EXPECT_NE(gpu->description().find("Fake GPU"), std::string::npos);
    const std::uint64_t address = gpu->allocate(10000);
    const auto data = counted(10000);
    gpu->write(address, data);
    std::vector<std::byte> back(5000);
    gpu->read(address + 5000, back);
    EXPECT_TRUE(std::equal(back.begin(), back.end(), data.begin() + 5000));
    gpu->release(address);
    EXPECT_NE(error_of([&] { gpu->read(address, back); }), "") << "released, and still there";
}

TEST_P(GpuOfKind, TheExportHasTheDataAtItsOffset) {
    const auto gpu = open();
    const std::uint64_t address = gpu->allocate(20000);
    const auto data = counted(20000);
    gpu->write(address, data);
    // The fakes' buffers are not page-aligned, and this range begins inside the buffer.
    constexpr std::size_t kInside = 64;
    const Gpu::Export exported = gpu->export_dmabuf(address + kInside, 8000);
    ASSERT_TRUE(exported.fd);
    EXPECT_NE(exported.offset, 0U);
    const std::size_t mapped = exported.offset + 8000;
    void* map = ::mmap(nullptr, mapped, PROT_READ, MAP_SHARED, exported.fd.get(), 0);
    ASSERT_NE(map, MAP_FAILED);
    const auto* bytes = static_cast<const std::byte*>(map) + exported.offset;
    EXPECT_TRUE(std::equal(bytes, bytes + 8000, data.begin() + kInside));
    ::munmap(map, mapped);
    gpu->release(address);
}

TEST_P(GpuOfKind, WorkThatFailedIsSaidByWhoWaitsForIt) {
    const auto gpu = open();
    gpu->synchronize();
    fail_with("sync-fails");
    EXPECT_NE(error_of([&] { gpu->synchronize(); }).find("Synchronize: "), std::string::npos);
}

TEST_P(GpuOfKind, NoGpuIsSaidWithWhereToLook) {
    fail_with("no-gpu");
    EXPECT_NE(error_of([] { open(); }).find("finds no GPU"), std::string::npos);
}

TEST_P(GpuOfKind, AnIndexBeyondTheLastIsSaidWithHowManyThereAre) {
    EXPECT_NE(error_of([] { open(7); }).find(":7: this machine has "), std::string::npos);
}

TEST_P(GpuOfKind, AFullGpuIsSaidWithTheBytesAskedFor) {
    const auto gpu = open();
    fail_with("full");
    EXPECT_NE(error_of([&] { gpu->allocate(12345); }).find("12345 bytes"), std::string::npos);
}

TEST_P(GpuOfKind, ASystemThatCannotExportIsSaidWithWhatItTakes) {
    const auto gpu = open();
    const std::uint64_t address = gpu->allocate(4096);
    fail_with("no-dmabuf");
    const std::string why = error_of([&] { gpu->export_dmabuf(address, 4096); });
    EXPECT_NE(why.find("cannot export DMABufs"), std::string::npos) << why;
    EXPECT_NE(why.find("Linux"), std::string::npos) << why;
}

TEST_P(GpuOfKind, AFailedExportNamesTheCall) {
    const auto gpu = open();
    const std::uint64_t address = gpu->allocate(4096);
    fail_with("export-fails");
    const std::string why = error_of([&] { gpu->export_dmabuf(address, 4096); });
    EXPECT_TRUE(why.find("cuMemGetHandleForAddressRange") != std::string::npos ||
                why.find("hsa_amd_portable_export_dmabuf") != std::string::npos)
        << why;
}

INSTANTIATE_TEST_SUITE_P(, GpuOfKind,
                         testing::Values(Kind{"cuda", "FAKE_CUDA", open_cuda},
                                         Kind{"hip", "FAKE_HIP", open_hip}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace rdma_bench
