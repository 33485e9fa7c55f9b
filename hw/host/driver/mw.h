// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "host/driver/card_object.h"
#include "host/driver/numbers.h"
#include "host/driver/pd.h"
#include "host/driver/verbs_types.h"

namespace dingo::uverbs {

class Driver;

/// A memory window: a key without memory of its own.
class Mw {
  public:
    Mw(Driver& driver, Pd& pd, std::uint8_t type, Udata& udata);  ///< enum ibv_mw_type
    Mw(const Mw&) = delete;
    Mw& operator=(const Mw&) = delete;
    [[nodiscard]] std::uint32_t key() const { return key_; }

  private:
    OwnedId index_;
    std::uint32_t key_ = 0;
    std::optional<CardObject> on_card_;
};

}  // namespace dingo::uverbs
