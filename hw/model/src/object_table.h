// SPDX-License-Identifier: BSD-2-Clause
//
// Objects by number. Memory grows with the highest number used.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace dingo::model {

template <typename T>
class ObjectTable {
  public:
    [[nodiscard]] T* find(std::uint32_t number) const noexcept {
        return number < objects_.size() ? objects_[number].get() : nullptr;
    }
    T& insert(std::uint32_t number, std::unique_ptr<T> object) {
        if (number >= objects_.size()) {
            objects_.resize(std::size_t{number} + 1);
        }
        objects_[number] = std::move(object);
        return *objects_[number];
    }
    void erase(std::uint32_t number) { objects_[number].reset(); }

  private:
    std::vector<std::unique_ptr<T>> objects_;
};

}  // namespace dingo::model
