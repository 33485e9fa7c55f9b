// SPDX-License-Identifier: BSD-2-Clause
#include "dma_table.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <limits>

#include "protocol.h"

namespace dingo::vfio_user {
namespace {

constexpr std::uint64_t kPage = 4096;

// The mappings of all tables, for the SIGBUS handler. A fixed array of atomics, as a signal handler
// can neither lock nor read a vector that is being changed.
struct Slot {
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::uintptr_t> end{0};
};
constexpr std::size_t kSlots = kMaxDmaMaps + 1;
std::array<Slot, kSlots> g_slots;
std::atomic<std::uint64_t> g_faults{0};

bool register_mapping(std::byte* base, std::size_t len) {
    const auto begin = reinterpret_cast<std::uintptr_t>(base);
    for (Slot& slot : g_slots) {
        std::uintptr_t none = 0;
        if (slot.begin.compare_exchange_strong(none, begin)) {
            slot.end.store(begin + len);
            return true;
        }
    }
    return false;
}

void forget_mapping(std::byte* base) {
    const auto begin = reinterpret_cast<std::uintptr_t>(base);
    for (Slot& slot : g_slots) {
        if (slot.begin.load() == begin) {
            slot.end.store(0);
            slot.begin.store(0);
            return;
        }
    }
}

bool zero_pages(std::uintptr_t begin, std::size_t len) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): rounded to pages, which takes a number
    return ::mmap(reinterpret_cast<void*>(begin), len, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

void on_sigbus(int, siginfo_t* info, void*) {
    const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
    for (const Slot& slot : g_slots) {
        const std::uintptr_t begin = slot.begin.load();
        if (begin != 0 && at >= begin && at < slot.end.load()) {
            // Replaces one page, or the whole mapping if it has huge pages, which cannot be
            // replaced in part.
            if (zero_pages(at & ~(kPage - 1), kPage) ||
                zero_pages(begin, slot.end.load() - begin)) {
                g_faults.fetch_add(1);
                return;
            }
        }
    }
    ::signal(SIGBUS, SIG_DFL);  // not a mapping of ours: the instruction is repeated and the
                                // default action kills the process
}

void unmap_span(std::span<std::byte> s) {
    forget_mapping(s.data());
    ::munmap(s.data(), s.size());
}

}  // namespace

DmaTable::DmaTable() = default;

DmaTable::~DmaTable() {
    held_ = false;
    unmap_all();
    release();
}

void DmaTable::install_fault_handler() {
    struct sigaction action {};
    action.sa_sigaction = on_sigbus;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    ::sigaction(SIGBUS, &action, nullptr);
}

std::uint64_t DmaTable::take_faults() {
    // The common case is a plain load.
    return g_faults.load(std::memory_order_relaxed) == 0 ? 0 : g_faults.exchange(0);
}

int DmaTable::map(std::uint64_t address, std::uint64_t size, std::uint64_t offset,
                  std::uint32_t flags, UniqueFd fd) {
    if (size == 0 || (address | size) % kPage != 0 ||
        size - 1 > std::numeric_limits<std::uint64_t>::max() - address ||
        (flags & ~(kDmaReadable | kDmaWritable)) != 0 || flags == 0) {
        return EINVAL;
    }
    if (regions_.size() >= kMaxDmaMaps) {
        return ENOSPC;
    }
    const auto next =
        std::upper_bound(regions_.begin(), regions_.end(), address,
                         [](std::uint64_t a, const DmaRegion& r) { return a < r.address; });
    const bool hits_next = next != regions_.end() && next->address - address < size;
    const bool hits_previous =
        next != regions_.begin() && address - std::prev(next)->address < std::prev(next)->size;
    if (hits_next || hits_previous) {
        return EEXIST;
    }
    DmaRegion region{address, size, nullptr, (flags & kDmaReadable) != 0,
                     (flags & kDmaWritable) != 0};
    struct stat st {};
    if (fd && ::fstat(fd.get(), &st) != 0) {
        return errno;
    }
    if (fd && S_ISREG(st.st_mode)) {
        const auto file_size = static_cast<std::uint64_t>(st.st_size);
        if (offset % kPage != 0) {
            return EINVAL;
        }
        if (offset > file_size || size > file_size - offset) {
            return ERANGE;
        }
        // x86 cannot map write-only; dma_read() checks the flag instead of the page tables.
        const int prot = PROT_READ | (region.writable ? PROT_WRITE : 0);
        void* at = ::mmap(nullptr, size, prot, MAP_SHARED | MAP_NORESERVE, fd.get(),
                          static_cast<off_t>(offset));
        if (at == MAP_FAILED) {
            return errno;
        }
        region.base = static_cast<std::byte*>(at);
        if (!register_mapping(region.base, size)) {
            ::munmap(at, size);
            return ENOSPC;
        }
    }
    regions_.insert(next, region);
    last_ = 0;
    return 0;
}

int DmaTable::unmap(std::uint64_t address, std::uint64_t size) {
    const auto first =
        std::lower_bound(regions_.begin(), regions_.end(), address,
                         [](const DmaRegion& r, std::uint64_t a) { return r.address < a; });
    const bool cuts_previous =
        first != regions_.begin() && address - std::prev(first)->address < std::prev(first)->size;
    auto end = first;
    while (end != regions_.end() && end->address - address < size) {
        if (end->size > size - (end->address - address)) {
            return ENOENT;
        }
        ++end;
    }
    if (end == first || cuts_previous) {
        return ENOENT;
    }
    for (auto at = first; at != end; ++at) {
        if (at->base != nullptr) {
            graveyard_.emplace_back(at->base, at->size);
        }
    }
    regions_.erase(first, end);
    last_ = 0;
    if (!held_) {
        release();
    }
    return 0;
}

void DmaTable::unmap_all() {
    for (const DmaRegion& region : regions_) {
        if (region.base != nullptr) {
            graveyard_.emplace_back(region.base, region.size);
        }
    }
    regions_.clear();
    last_ = 0;
    if (!held_) {
        release();
    }
}

void DmaTable::release() {
    held_ = false;
    for (const auto& dead : graveyard_) {
        unmap_span(dead);
    }
    graveyard_.clear();
}

const DmaRegion* DmaTable::find_slow(std::uint64_t addr) const {
    const auto next =
        std::upper_bound(regions_.begin(), regions_.end(), addr,
                         [](std::uint64_t a, const DmaRegion& r) { return a < r.address; });
    if (next == regions_.begin()) {
        return nullptr;
    }
    const auto at = static_cast<std::size_t>(std::prev(next) - regions_.begin());
    if (addr - regions_[at].address >= regions_[at].size) {
        return nullptr;
    }
    last_ = at;
    return &regions_[at];
}

std::uint64_t DmaTable::mapped_bytes() const {
    std::uint64_t sum = 0;
    for (const DmaRegion& region : regions_) {
        sum += region.base != nullptr ? region.size : 0;
    }
    return sum;
}

}  // namespace dingo::vfio_user
