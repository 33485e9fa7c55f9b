// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "host/driver/numbers.h"

namespace dingo::uverbs {

/// Keys of memory regions and windows: an index, and a tag that nobody can guess.
class MrKeys {
  public:
    explicit MrKeys(std::uint32_t limit = 0) : indexes_(limit), tags_(limit) {}

    [[nodiscard]] IdPool& indexes() { return indexes_; }
    /// Makes a key for this index with a tag other than its last one.
    std::uint32_t make_key(std::uint32_t index);

  private:
    IdPool indexes_;
    std::vector<std::uint16_t> tags_;  ///< the last one of each index
};

}  // namespace dingo::uverbs
