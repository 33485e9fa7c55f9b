// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "host/driver/admin_queue.h"

namespace dingo::uverbs {

/// An object on the card, destroyed by the destructor. Declare it as the last member: the card must
/// release an object before its memory, doorbell and number are freed.
class CardObject {
  public:
    /// `opcode`: DINGO_OP_DESTROY_*. `kept` is called if the card fails to destroy the object.
    CardObject(AdminQueue& admin, std::uint16_t opcode, std::uint32_t id,
               std::function<void()> kept = {})
        : admin_(admin), opcode_(opcode), id_(id), kept_(std::move(kept)) {}
    ~CardObject();
    /// Destroys the object now. Throws ErrnoError if that fails; then the object stays.
    void destroy();
    CardObject(const CardObject&) = delete;
    CardObject& operator=(const CardObject&) = delete;

  private:
    AdminQueue& admin_;
    std::uint16_t opcode_;
    std::uint32_t id_;
    std::function<void()> kept_;
    bool gone_ = false;
};

}  // namespace dingo::uverbs
