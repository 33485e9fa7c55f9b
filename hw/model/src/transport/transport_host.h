// SPDX-License-Identifier: BSD-2-Clause
//
// What the transport needs of the host side.
#pragma once

#include <cstdint>

#include "../queue_pair.h"

namespace dingo::model {

class TransportHost {
  public:
    virtual ~TransportHost() = default;
    /// The QP whose index and tag are those of `qpn`, or nullptr.
    virtual QueuePair* find_qp(std::uint32_t qpn) = 0;
    /// Asynchronous event (enum ev) for the driver; `id` is the QPN or SRQN.
    virtual void async_event(std::uint8_t kind, std::uint32_t id) = 0;
};

}  // namespace dingo::model
