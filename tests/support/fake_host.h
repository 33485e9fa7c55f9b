// SPDX-License-Identifier: BSD-2-Clause
//
// A host for tests: memory by bus address with holes, MSI-X counters, broken pages.
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

/// Host memory lives at [kBase, kBase + capacity); only what alloc() gave can be accessed, anything
/// else is a bus error. Not allocated pages cost nothing.
class TestHost final : public HostPort {
  public:
    static constexpr std::uint64_t kBase = 0x1'0000'0000;
    static constexpr std::uint64_t kPage = 4096;

    /// `capacity` = bytes of bus address space.
    explicit TestHost(std::uint64_t capacity = 4ull << 30);
    ~TestHost() override;
    TestHost(const TestHost&) = delete;
    TestHost& operator=(const TestHost&) = delete;

    // --- for the test
    /// Zeroed memory at a multiple of `align` (power of two, >= 4096), with a hole behind it.
    /// Throws std::bad_alloc when the space is used up.
    std::uint64_t alloc(std::uint64_t bytes, std::uint64_t align = kPage);
    /// `count` pages of `page_bytes` that are not contiguous and not in ascending order.
    std::vector<std::uint64_t> alloc_pages(std::size_t count, std::uint64_t page_bytes = kPage);
    /// Makes the pages of a range fail (or work again), as an IOMMU or a vanished peer would.
    void break_range(std::uint64_t addr, std::uint64_t bytes, bool broken = true);

    /// The test's own view; throws std::out_of_range where there is no memory.
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
    /// Messages of `vector` since the start, or since the last take_msix().
    [[nodiscard]] unsigned msix(unsigned vector) const { return msix_.at(vector); }
    unsigned take_msix(unsigned vector);

    std::uint64_t dma_reads = 0;
    std::uint64_t dma_writes = 0;
    std::uint64_t dma_errors = 0;
    /// Whether dma_pointer() works; an engine must do without it, too.
    bool pointers = true;
    /// Whether they last.
    bool last = true;
    /// Its way to far memory; nullptr: it has none.
    FarMemory* far = nullptr;
    /// Sees every DMA write before it happens.
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
    std::uint64_t next_ = 0;  // offset of the first byte never given out
    std::byte* memory_ = nullptr;
    std::vector<Page> pages_;
    std::array<unsigned, DINGO_MSIX_MAX> msix_{};
};

}  // namespace dingo::test
