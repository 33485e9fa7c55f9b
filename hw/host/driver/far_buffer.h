// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace dingo::uverbs {

/// Buffers that a copy engine reads and writes itself.
class FarBufferPool {
  public:
    virtual ~FarBufferPool() = default;
    /// By any thread.
    virtual void give_back(std::byte* at) noexcept = 0;
};

/// Data of an access: of the heap, or of a pool. New bytes are not cleared: who makes room writes
/// it.
class FarBuffer {
  public:
    FarBuffer() = default;
    explicit FarBuffer(std::size_t capacity)
        : at_(new std::byte[capacity], Return{}), capacity_(capacity) {}
    FarBuffer(std::byte* at, std::size_t capacity, std::shared_ptr<FarBufferPool> pool)
        : at_(at, Return{std::move(pool)}), capacity_(capacity) {}
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
    [[nodiscard]] bool is_pooled() const { return at_.get_deleter().pool != nullptr; }
    [[nodiscard]] std::span<std::byte> bytes() { return {at_.get(), size_}; }
    [[nodiscard]] std::span<const std::byte> bytes() const { return {at_.get(), size_}; }

    /// Not beyond the capacity.
    void resize(std::size_t size) { size_ = size; }
    void append(std::span<const std::byte> src) {
        std::memcpy(at_.get() + size_, src.data(), src.size());
        size_ += src.size();
    }

  private:
    struct Return {
        std::shared_ptr<FarBufferPool> pool;
        void operator()(std::byte* at) const noexcept {
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
