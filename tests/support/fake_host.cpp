// SPDX-License-Identifier: BSD-2-Clause
#include "fake_host.h"

#include <sys/mman.h>

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace dingo::test {

TestHost::TestHost(std::uint64_t capacity)
    : capacity_(capacity), pages_(capacity / kPage, Page::kHole) {
    void* map = ::mmap(nullptr, capacity, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) {
        throw std::bad_alloc();
    }
    memory_ = static_cast<std::byte*>(map);
}

TestHost::~TestHost() {
    ::munmap(memory_, capacity_);
}

std::uint64_t TestHost::alloc(std::uint64_t bytes, std::uint64_t align) {
    const std::uint64_t start = (next_ + align - 1) & ~(align - 1);
    const std::uint64_t pages = (bytes + kPage - 1) / kPage;
    if (start + (pages + 1) * kPage > capacity_) {
        throw std::bad_alloc();
    }
    for (std::uint64_t i = 0; i < pages; ++i) {
        pages_[start / kPage + i] = Page::kMemory;
    }
    next_ = start + (pages + 1) * kPage;
    return kBase + start;
}

std::vector<std::uint64_t> TestHost::alloc_pages(std::size_t count, std::uint64_t page_bytes) {
    std::vector<std::uint64_t> list(count);
    for (std::size_t i = 0; i < count; ++i) {
        list[i / 2 * 2 + (i + 1) % 2 < count ? i / 2 * 2 + (i + 1) % 2 : i] =
            alloc(page_bytes, page_bytes);
    }
    return list;
}

void TestHost::break_range(std::uint64_t addr, std::uint64_t bytes, bool broken) {
    at(addr, bytes);
    for (std::uint64_t page = (addr - kBase) / kPage; page * kPage < addr - kBase + bytes; ++page) {
        pages_[page] = broken ? Page::kBroken : Page::kMemory;
    }
}

bool TestHost::accessible(std::uint64_t addr, std::uint64_t bytes, bool card) const {
    if (addr < kBase || addr - kBase >= capacity_ || bytes > capacity_ - (addr - kBase)) {
        return false;
    }
    const std::uint64_t first = (addr - kBase) / kPage;
    const std::uint64_t last_page = (addr - kBase + (bytes == 0 ? 0 : bytes - 1)) / kPage;
    for (std::uint64_t page = first; page <= last_page; ++page) {
        if (pages_[page] == Page::kHole || (card && pages_[page] == Page::kBroken)) {
            return false;
        }
    }
    return true;
}

std::byte* TestHost::at(std::uint64_t addr, std::uint64_t bytes) {
    if (!accessible(addr, bytes, false)) {
        throw std::out_of_range("no test memory at bus address " + std::to_string(addr));
    }
    return memory_ + (addr - kBase);
}

unsigned TestHost::take_msix(unsigned vector) {
    return std::exchange(msix_.at(vector), 0);
}

bool TestHost::dma_read(std::uint64_t addr, std::span<std::byte> dst) {
    ++dma_reads;
    if (!accessible(addr, dst.size(), true)) {
        ++dma_errors;
        return false;
    }
    std::memcpy(dst.data(), memory_ + (addr - kBase), dst.size());
    return true;
}

bool TestHost::dma_write(std::uint64_t addr, std::span<const std::byte> src) {
    ++dma_writes;
    if (!accessible(addr, src.size(), true)) {
        ++dma_errors;
        return false;
    }
    if (on_write) {
        on_write(addr, src);
    }
    std::memmove(memory_ + (addr - kBase), src.data(), src.size());
    return true;
}

std::byte* TestHost::dma_pointer(std::uint64_t addr, std::size_t len) {
    return pointers && accessible(addr, len, true) ? memory_ + (addr - kBase) : nullptr;
}

void TestHost::raise_msix(unsigned vector) {
    ++msix_.at(vector);
}

}  // namespace dingo::test
