// SPDX-License-Identifier: BSD-2-Clause
//
// Numbers and keys of objects.
#pragma once

#include <cerrno>
#include <cstdint>
#include <set>

#include "base/errno_error.h"

namespace dingo::uverbs {

/// Unpredictable bits for tags of QPNs and keys.
std::uint32_t random_bits();

/// Gives out the lowest free number of [0, limit).
class IdPool {
  public:
    explicit IdPool(std::uint32_t limit = 0) : limit_(limit) {}

    /// Throws ErrnoError(ENOMEM) if all are in use.
    std::uint32_t take() {
        if (!returned_.empty()) {
            const std::uint32_t id = *returned_.begin();
            returned_.erase(returned_.begin());
            return id;
        }
        if (next_ >= limit_) {
            throw ErrnoError(ENOMEM);
        }
        return next_++;
    }

    void give_back(std::uint32_t id) {
        returned_.insert(id);
        // Keep the set small: merge the highest numbers into the part that was never allocated.
        while (!returned_.empty() && *returned_.rbegin() + 1 == next_) {
            returned_.erase(std::prev(returned_.end()));
            --next_;
        }
    }

    /// All numbers in use are smaller.
    [[nodiscard]] std::uint32_t end() const { return next_; }
    [[nodiscard]] std::size_t in_use() const { return next_ - returned_.size(); }

  private:
    std::uint32_t limit_;
    std::uint32_t next_ = 0;
    std::set<std::uint32_t> returned_;
};

/// An MR index, PDN ... that is freed with its object.
class OwnedId {
  public:
    explicit OwnedId(IdPool& pool) : pool_(pool), id_(pool.take()) {}
    ~OwnedId() {
        if (!lost_) {
            pool_.give_back(id_);
        }
    }
    OwnedId(const OwnedId&) = delete;
    OwnedId& operator=(const OwnedId&) = delete;
    [[nodiscard]] std::uint32_t get() const { return id_; }
    /// Called if the card failed to destroy the object: the number is never reused.
    void lose() { lost_ = true; }

  private:
    IdPool& pool_;
    std::uint32_t id_;
    bool lost_ = false;
};

}  // namespace dingo::uverbs
