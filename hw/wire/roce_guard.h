// SPDX-License-Identifier: BSD-2-Clause
//
// Reserves UDP port 4791 of this host's other addresses. A socket there could send with any source
// address of the host (IP_PKTINFO), so also in the name of a card.
#pragma once

#include "base/unique_fd.h"

namespace dingo {

/// While it exists, no other user can bind to the port, at any address of the family.
class RoceGuard {
  public:
    /// Prints to stderr if another user already has the port.
    explicit RoceGuard(int family);

  private:
    UniqueFd socket_;
};

/// Call before bind() on a socket that must coexist with guards of cards of the same user.
void live_beside_guards(int socket);

}  // namespace dingo
