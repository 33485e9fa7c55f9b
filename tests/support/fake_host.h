// SPDX-License-Identifier: BSD-2-Clause
//
// A host for tests: sparse memory by bus address, MSI-X counters, pages that fail.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "dingo/engine.h"
#include "dingo_hw.h"

namespace dingo::test {

/// Host memory at [kBase, kBase + capacity). Only memory from alloc() can be accessed; all other
/// accesses are bus errors. Pages that are not allocated cost nothing.
class TestHost final : public HostPort {
  public:
    static constexpr std::uint64_t kBase = 0x1'0000'0000;
    static constexpr std::uint64_t kPage = 4096;

    /// `capacity`: bytes of bus address space.
    explicit TestHost(std::uint64_t capacity = 4ull << 30);
    ~TestHost() override;
    TestHost(const TestHost&) = delete;
    TestHost& operator=(const TestHost&) = delete;

    // --- for the test
    /// Returns zeroed memory at a multiple of `align` (power of two, >= 4096), followed by a hole.
    /// Throws std::bad_alloc when the space is used up.
    std::uint64_t alloc(std::uint64_t bytes, std::uint64_t align = kPage);
    /// Returns `count` pages of `page_bytes`, neither contiguous nor in ascending order.
    std::vector<std::uint64_t> alloc_pages(std::size_t count, std::uint64_t page_bytes = kPage);
    /// Makes accesses to the pages of a range fail (or work again), like an IOMMU or a removed
    /// device.
    void break_range(std::uint64_t addr, std::uint64_t bytes, bool broken = true);

    /// The test's own access; throws std::out_of_range for unallocated memory.
    std::byte* at(std::uint64_t addr, std::uint64_t bytes = 1);
    std::span<std::byte> bytes(std::uint64_t addr, std::uint64_t length) {
        return {at(addr, length), static_cast<std::size_t>(length)};
    }
    template <typename T>
    T load(std::uint64_t addr) {
        static_assert(std::is_trivially_copyable_v<T>);
        T value;
        std::memcpy(&value, at(addr, sizeof value), sizeof value);
        return value;
    }
    template <typename T>
    void store(std::uint64_t addr, const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        std::memcpy(at(addr, sizeof value), &value, sizeof value);
    }
    /// Number of messages of `vector` since the start, or since the last take_msix().
    [[nodiscard]] unsigned msix(unsigned vector) const { return msix_.at(vector); }
    unsigned take_msix(unsigned vector);

    std::uint64_t dma_reads = 0;
    std::uint64_t dma_writes = 0;
    std::uint64_t dma_errors = 0;
    /// Whether dma_pointer() returns pointers; an engine must work without them, too.
    bool pointers = true;
    /// Result of pointers_last().
    bool last = true;
    /// Its far memory; nullptr: none.
    FarMemory* far = nullptr;
    /// Called before every DMA write.
    std::function<void(std::uint64_t addr, std::span<const std::byte> data)> on_write;

    // --- HostPort
    bool dma_read(std::uint64_t addr, std::span<std::byte> dst) override;
    bool dma_write(std::uint64_t addr, std::span<const std::byte> src) override;
    std::byte* dma_pointer(std::uint64_t addr, std::size_t len) override;
    [[nodiscard]] bool pointers_last() const override { return last; }
    void raise_msix(unsigned vector) override;
    FarMemory* far_memory() override { return far; }

  private:
    enum class Page : std::uint8_t { kHole, kMemory, kBroken };
    [[nodiscard]] bool accessible(std::uint64_t addr, std::uint64_t bytes, bool card) const;

    std::uint64_t capacity_;
    std::uint64_t next_ = 0;  // offset of the first byte never allocated
    std::byte* memory_ = nullptr;
    std::vector<Page> pages_;
    std::array<unsigned, DINGO_MSIX_MAX> msix_{};
};

}  // namespace dingo::test
