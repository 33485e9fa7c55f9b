// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <memory>

namespace dingo {

/// Memory whose bytes do not change while it lives. Any thread may drop the last reference.
class HeldMemory {
  public:
    virtual ~HeldMemory() = default;
    /// A copy engine of a GPU may read it.
    [[nodiscard]] virtual bool is_pinned() const { return false; }
};
using Held = std::shared_ptr<const HeldMemory>;

/// Where the payload of a frame is that is not in the frame.
struct Elsewhere {
    const std::byte* at = nullptr;  ///< null: it is in the frame
    Held held;                      ///< null: it is there only until the call returns
};

}  // namespace dingo
