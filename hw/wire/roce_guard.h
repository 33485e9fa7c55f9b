// SPDX-License-Identifier: BSD-2-Clause
//
// Keeps UDP port 4791 of this host's other addresses from other users. A socket there can send with
// any source address of the host (IP_PKTINFO), so also in the name of a card.
#pragma once

#include "base/unique_fd.h"

namespace dingo {

/// While it lives, no other user can bind to the port, at any address of the family.
class RoceGuard {
  public:
    /// Prints to stderr when another user has the port already.
    explicit RoceGuard(int family);

  private:
    UniqueFd socket_;
};

/// For a socket that is to live beside guards of our own user's cards; before bind().
void live_beside_guards(int socket);

}  // namespace dingo
