// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <memory>

namespace dingo {

/// Memory whose bytes do not change while the object exists. Any thread may drop the last
/// reference.
class HeldMemory {
  public:
    virtual ~HeldMemory() = default;
    /// Returns true if a GPU's copy engine may read it.
    [[nodiscard]] virtual bool is_pinned() const { return false; }
};
using Held = std::shared_ptr<const HeldMemory>;

/// Location of a frame's payload that is not in the frame.
struct Elsewhere {
    const std::byte* at = nullptr;  ///< null: the payload is in the frame
    Held held;                      ///< null: the memory is valid only until the call returns
};

}  // namespace dingo
