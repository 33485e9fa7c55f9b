// SPDX-License-Identifier: BSD-2-Clause
//
// The interface that the transport needs from the host side.
#pragma once

#include <cstdint>

#include "../queue_pair.h"

namespace dingo::model {

class TransportHost {
  public:
    virtual ~TransportHost() = default;
    /// Returns the QP with this QPN, index and tag, or nullptr.
    virtual QueuePair* find_qp(std::uint32_t qpn) = 0;
    /// Raises an asynchronous event (enum ev) for the driver; `id`: the QPN or SRQN.
    virtual void async_event(std::uint8_t kind, std::uint32_t id) = 0;
};

}  // namespace dingo::model
