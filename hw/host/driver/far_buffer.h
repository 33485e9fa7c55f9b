// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "dingo/held_memory.h"

namespace dingo::uverbs {

/// Buffers that a copy engine reads and writes itself.
class FarBufferPool {
  public:
    virtual ~FarBufferPool() = default;
    /// Called by any thread.
    virtual void give_back(std::byte* at) noexcept = 0;
};

/// Data of an access: on the heap, in a pool, or held memory. New bytes are not initialized.
class FarBuffer {
  public:
    FarBuffer() = default;
    explicit FarBuffer(std::size_t capacity)
        : at_(new std::byte[capacity], Return{nullptr, nullptr, false}), capacity_(capacity) {}
    FarBuffer(std::byte* at, std::size_t capacity, std::shared_ptr<FarBufferPool> pool)
        : at_(at, Return{std::move(pool), nullptr, false}), capacity_(capacity) {}
    /// Refers to `bytes`, which `held` keeps alive. `pinned`: they lie in a pool that a copy engine
    /// may read.
    FarBuffer(std::span<const std::byte> bytes, Held held, bool pinned)
        : at_(const_cast<std::byte*>(bytes.data()), Return{nullptr, std::move(held), pinned}),
          size_(bytes.size()),
          capacity_(bytes.size()) {}
    FarBuffer(FarBuffer&& other) noexcept
        : at_(std::move(other.at_)),
          size_(std::exchange(other.size_, 0)),
          capacity_(std::exchange(other.capacity_, 0)) {}
    FarBuffer& operator=(FarBuffer&& other) noexcept {
        at_ = std::move(other.at_);
        size_ = std::exchange(other.size_, 0);
        capacity_ = std::exchange(other.capacity_, 0);
        return *this;
    }

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t capacity() const { return capacity_; }
    /// Returns true if a copy engine can read the buffer.
    [[nodiscard]] bool is_pinned() const {
        return at_.get_deleter().pool != nullptr || at_.get_deleter().pinned;
    }
    /// Owner of the memory; null: this buffer.
    [[nodiscard]] const Held& held() const { return at_.get_deleter().held; }
    /// Adds the `bytes` that follow in the held memory.
    void extend(std::size_t bytes) { capacity_ = size_ += bytes; }
    [[nodiscard]] std::span<std::byte> bytes() { return {at_.get(), size_}; }
    [[nodiscard]] std::span<const std::byte> bytes() const { return {at_.get(), size_}; }

    /// Sets the size; at most the capacity.
    void resize(std::size_t size) { size_ = size; }
    void append(std::span<const std::byte> src) {
        std::memcpy(at_.get() + size_, src.data(), src.size());
        size_ += src.size();
    }

  private:
    struct Return {
        std::shared_ptr<FarBufferPool> pool;
        Held held;
        bool pinned;
        void operator()(std::byte* at) const noexcept {
            if (held != nullptr) {
                return;
            }
            if (pool != nullptr) {
                pool->give_back(at);
            } else {
                delete[] at;
            }
        }
    };

    std::unique_ptr<std::byte[], Return> at_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace dingo::uverbs
