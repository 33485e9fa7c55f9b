// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "wire/wire.h"

namespace dingo {

/// The request is valid, but this machine refuses it (privilege, port in use).
class WireSystemError : public WireError {
  public:
    using WireError::WireError;
};

}  // namespace dingo
