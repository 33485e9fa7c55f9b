// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "host/driver/numbers.h"

namespace dingo::uverbs {

/// Keys of memory regions and windows: an index and an unpredictable tag.
class MrKeys {
  public:
    explicit MrKeys(std::uint32_t limit = 0) : indexes_(limit), tags_(limit) {}

    [[nodiscard]] IdPool& indexes() { return indexes_; }
    /// Returns a key for this index whose tag differs from the previous one.
    std::uint32_t make_key(std::uint32_t index);

  private:
    IdPool indexes_;
    std::vector<std::uint16_t> tags_;  ///< last tag of each index
};

}  // namespace dingo::uverbs
