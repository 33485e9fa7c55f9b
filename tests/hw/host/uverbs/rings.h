// SPDX-License-Identifier: BSD-2-Clause
//
// Queues and doorbell pages mapped through the uverbs descriptor, as the provider maps them.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <span>
#include <utility>

#include "client.h"
#include "dingo-abi.h"
#include "dingo_hw.h"

namespace dingo::uverbs::test {

/// Result of mmap() on the uverbs descriptor.
class Mapping {
  public:
    Mapping() = default;
    Mapping(Client& client, std::uint64_t offset, std::size_t length,
            int protection = PROT_READ | PROT_WRITE) {
        Request r(DINGO_UVERBS_MMAP);
        r.header.arg = offset;
        r.header.arg2 = length;
        Answer answer = client.send(r);
        if (answer.result() < 0 || answer.fds.empty()) {
            return;
        }
        file_ = std::move(answer.fds[0]);
        void* const at = ::mmap(nullptr, length, protection, MAP_SHARED, file_.get(),
                                static_cast<off_t>(answer.header.map_offset));
        if (at != MAP_FAILED) {
            bytes_ = {static_cast<std::byte*>(at), length};
        }
    }
    Mapping(Mapping&& other) noexcept
        : file_(std::move(other.file_)), bytes_(std::exchange(other.bytes_, {})) {}
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(file_, other.file_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Mapping() {
        if (!bytes_.empty()) {
            ::munmap(bytes_.data(), bytes_.size());
        }
    }

    [[nodiscard]] int file() const { return file_.get(); }
    /// Empty if the mapping was refused.
    [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

  private:
    UniqueFd file_;
    std::span<std::byte> bytes_;
};

/// A ring with its doorbell.
class Ring {
  public:
    Ring() = default;
    Ring(Client& client, const dingo_ring_map& where)
        : map(where),
          memory(client, where.ring_mmap, where.ring_bytes),
          page(client, where.db_mmap, DINGO_DB_PAGE_SIZE) {}

    [[nodiscard]] bool mapped() const { return !memory.bytes().empty() && !page.bytes().empty(); }
    /// Returns an entry of 2^log_stride bytes.
    [[nodiscard]] std::byte* entry(std::uint32_t index) const {
        return memory.bytes().data() +
               (std::size_t{index & ((1U << map.log_size) - 1)} << map.log_stride);
    }
    /// Stores the 8-byte doorbell. Returns true if the card sleeps and needs a kick.
    bool ring(std::uint32_t type, std::uint32_t object, std::uint32_t index,
              std::uint32_t more = 0) const {
        return store(map.db_slot, std::uint64_t{index} << 32 | more | type << 24 | object);
    }
    bool store(std::uint32_t slot, std::uint64_t value) const {
        std::byte* const at = page.bytes().data();
        std::atomic_ref<std::uint64_t>(reinterpret_cast<std::uint64_t*>(at)[slot]).store(value);
        std::atomic_ref<std::byte>(at[DINGO_DB_DIRTY_OFFSET + slot / 8]).store(std::byte{1});
        return std::atomic_ref<std::uint32_t>(
                   *reinterpret_cast<std::uint32_t*>(at + DINGO_DB_NEED_KICK_OFFSET))
                   .load() != 0;
    }

    dingo_ring_map map{};
    Mapping memory;
    Mapping page;
};

}  // namespace dingo::uverbs::test
