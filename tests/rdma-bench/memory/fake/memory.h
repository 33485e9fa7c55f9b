// SPDX-License-Identifier: BSD-2-Clause
// Memory of a pretended GPU: addresses that the CPU cannot use, behind them a memfd, exported
// through /dev/udmabuf where there is one and else as the memfd itself.
#pragma once

#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

namespace fake {

constexpr std::uint64_t kPage = 4096;
/// No user space of x86-64 or arm64 reaches these addresses: using one as a pointer faults.
constexpr std::uint64_t kFirstAddress = 0x00f0'0000'0000'0000;

struct Allocation {
    int fd = -1;
    std::uint64_t start = 0;  ///< address of the memfd's first byte
    std::uint64_t bytes = 0;
    std::byte* map = nullptr;
};

class Memory {
  public:
    /// The address lies `lead` bytes into the memfd.
    std::uint64_t allocate(std::uint64_t bytes, std::uint64_t lead) {
        const std::lock_guard<std::mutex> lock(mutex_);
        Allocation a;
        a.start = next_;
        a.bytes = (lead + bytes + kPage - 1) / kPage * kPage;
        a.fd = memfd_create("fake gpu", MFD_ALLOW_SEALING | MFD_CLOEXEC);
        if (a.fd < 0 || ftruncate(a.fd, static_cast<off_t>(a.bytes)) != 0 ||
            fcntl(a.fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
            return 0;
        }
        void* map = mmap(nullptr, a.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, a.fd, 0);
        if (map == MAP_FAILED) {
            return 0;
        }
        a.map = static_cast<std::byte*>(map);
        next_ += a.bytes + (1U << 21U);
        const std::uint64_t address = a.start + lead;
        allocations_[address] = a;
        return address;
    }

    bool release(std::uint64_t address) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = allocations_.find(address);
        if (found == allocations_.end()) {
            return false;
        }
        munmap(found->second.map, found->second.bytes);
        close(found->second.fd);
        allocations_.erase(found);
        return true;
    }

    /// Null when the range is not inside one allocation.
    std::byte* host(std::uint64_t address, std::uint64_t bytes) {
        const Allocation* a = holder(address, bytes);
        return a == nullptr ? nullptr : a->map + (address - a->start);
    }

    /// A descriptor of the allocation that holds the range, and where the range is in it; -1 when
    /// none does.
    int export_range(std::uint64_t address, std::uint64_t bytes, std::uint64_t* offset) {
        const Allocation* a = holder(address, bytes);
        if (a == nullptr) {
            return -1;
        }
        *offset = address - a->start;
        const int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
        if (device < 0) {
            return fcntl(a->fd, F_DUPFD_CLOEXEC, 0);
        }
        udmabuf_create create{};
        create.memfd = static_cast<__u32>(a->fd);
        create.flags = UDMABUF_FLAGS_CLOEXEC;
        create.size = a->bytes;
        const int fd = ioctl(device, UDMABUF_CREATE, &create);
        close(device);
        return fd;
    }

  private:
    const Allocation* holder(std::uint64_t address, std::uint64_t bytes) {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (const auto& [at, a] : allocations_) {
            if (address >= a.start && address + bytes <= a.start + a.bytes) {
                return &a;
            }
        }
        return nullptr;
    }

    std::mutex mutex_;
    std::map<std::uint64_t, Allocation> allocations_;
    std::uint64_t next_ = kFirstAddress;
};

/// One for all fakes of a process: the HSA runtime exports what HIP allocated.
[[gnu::visibility("default")]] inline Memory& memory() {
    static Memory the_memory;
    return the_memory;
}

}  // namespace fake
