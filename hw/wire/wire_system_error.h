// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "wire/wire.h"

namespace dingo {

/// The wire was asked for rightly, and this machine does not grant it (a privilege, a port in use).
class WireSystemError : public WireError {
  public:
    using WireError::WireError;
};

}  // namespace dingo
