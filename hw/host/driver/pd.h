// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "host/driver/numbers.h"
#include "host/driver/verbs_types.h"

namespace dingo::uverbs {

class Driver;

/// A protection domain: a number.
class Pd {
  public:
    Pd(Driver& driver, Udata& udata);  ///< dingo_alloc_pd_resp
    [[nodiscard]] std::uint32_t pdn() const { return pdn_.get(); }

  private:
    OwnedId pdn_;
};

}  // namespace dingo::uverbs
