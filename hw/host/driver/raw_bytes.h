// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace dingo::uverbs {

/// As std::allocator, but resize() leaves new bytes as they are: who makes room for data writes it.
template <typename T>
struct UnsetAllocator : std::allocator<T> {
    template <typename U>
    struct rebind {
        using other = UnsetAllocator<U>;
    };
    template <typename U>
    void construct(U* at) noexcept {
        ::new (static_cast<void*>(at)) U;
    }
    template <typename U, typename... Args>
    void construct(U* at, Args&&... args) {
        std::construct_at(at, std::forward<Args>(args)...);
    }
};

using RawBytes = std::vector<std::byte, UnsetAllocator<std::byte>>;

}  // namespace dingo::uverbs
