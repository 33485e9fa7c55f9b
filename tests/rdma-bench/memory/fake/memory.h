// SPDX-License-Identifier: BSD-2-Clause
// Memory of a fake GPU: addresses that the CPU cannot access, backed by a memfd, which is exported
// through /dev/udmabuf if that exists and otherwise as the memfd itself.
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
/// Outside the user address space of x86-64 and arm64: dereferencing such an address faults.
constexpr std::uint64_t kFirstAddress = 0x00f0'0000'0000'0000;

struct Allocation {
    int fd = -1;
    std::uint64_t start = 0;  ///< address of the memfd's first byte
    std::uint64_t bytes = 0;
    std::byte* map = nullptr;
    std::uint64_t lead = 0;   ///< offset of the address in the memfd
    std::uint64_t asked = 0;  ///< requested bytes, from the address on
    bool secret = false;      ///< cannot be shared with other processes

    /// Returns true if the owner has freed it. The mark lies in the lead, where other processes see
    /// it.
    [[nodiscard]] bool freed() const { return lead != 0 && map[0] != std::byte{0}; }
};

class Memory {
  public:
    /// Returns an address that is `lead` bytes into a new memfd, or 0 on failure.
    std::uint64_t allocate(std::uint64_t bytes, std::uint64_t lead) {
        const std::lock_guard<std::mutex> lock(mutex_);
        return add(create((lead + bytes + kPage - 1) / kPage * kPage), lead, bytes);
    }

    /// Creates a memfd of that size. Returns -1 on failure.
    static int create(std::uint64_t bytes) {
        const int fd = memfd_create("fake gpu", MFD_ALLOW_SEALING | MFD_CLOEXEC);
        return fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0 ||
                       fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0
                   ? -1
                   : fd;
    }

    /// Maps memory that another process has allocated. Takes the descriptor; returns a new address.
    std::uint64_t adopt(int fd, std::uint64_t lead, std::uint64_t bytes) {
        const std::lock_guard<std::mutex> lock(mutex_);
        return add(fd, lead, bytes);
    }

    /// Returns the allocation that holds the range, or nullptr. Valid until it is released.
    const Allocation* find(std::uint64_t address, std::uint64_t bytes) {
        return holder(address, bytes);
    }
    void keep_secret(std::uint64_t address) {
        const std::lock_guard<std::mutex> lock(mutex_);
        allocations_[address].secret = true;
    }

  private:
    std::uint64_t add(int fd, std::uint64_t lead, std::uint64_t bytes) {
        Allocation a;
        a.start = next_;
        a.bytes = (lead + bytes + kPage - 1) / kPage * kPage;
        a.lead = lead;
        a.asked = bytes;
        a.fd = fd;
        if (a.fd < 0) {
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

  public:
    /// Returns false if nothing is allocated at the address. `owner`: marks it freed for all
    /// processes.
    bool release(std::uint64_t address, bool owner = true) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = allocations_.find(address);
        if (found == allocations_.end()) {
            return false;
        }
        if (owner && found->second.lead != 0) {
            found->second.map[0] = std::byte{1};
        }
        munmap(found->second.map, found->second.bytes);
        close(found->second.fd);
        allocations_.erase(found);
        return true;
    }

    void release_all() {
        while (!allocations_.empty()) {
            release(allocations_.begin()->first);
        }
    }

    /// Returns the CPU's pointer, or nullptr if the range is not inside one allocation.
    std::byte* host(std::uint64_t address, std::uint64_t bytes) {
        const Allocation* a = holder(address, bytes);
        return a == nullptr ? nullptr : a->map + (address - a->start);
    }

    /// Returns a descriptor of the allocation that holds the range, and the range's offset in it;
    /// -1 if none holds it or the export fails.
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

/// Shared by all fakes of a process, as the HSA runtime exports memory that HIP allocated.
[[gnu::visibility("default")]] inline Memory& memory() {
    static Memory& the_memory = *new Memory;  // never destroyed: a card's threads may still use it
    return the_memory;
}

}  // namespace fake
