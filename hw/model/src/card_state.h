// SPDX-License-Identifier: BSD-2-Clause
//
// All state that a function-level reset destroys; a reset creates a new CardState.
#pragma once

#include "card_context.h"
#include "completion_queue.h"
#include "cq_moderation.h"
#include "ethernet.h"
#include "event_queue.h"
#include "memory_region.h"
#include "object_table.h"
#include "port.h"
#include "queue_pair.h"
#include "transport/transport.h"

namespace dingo::model {

struct CardState {
    CardState(CardContext& context, TransportHost& host)
        : card(context),
          moderation(context),
          memory(context),
          ethernet(context, port, cqs),
          transport(context, host, memory, port) {}

    [[nodiscard]] QueuePair* find_qp(std::uint32_t qpn) const noexcept {
        QueuePair* qp = qps.find(qpn & ((1u << DINGO_QPN_INDEX_BITS) - 1));
        return qp != nullptr && qp->qpn == qpn ? qp : nullptr;
    }

    // In order of dependence: a member refers only to members above it.
    CardContext& card;
    AsyncEvents async;
    Port port;
    ObjectTable<EventQueue> eqs;
    CqModeration moderation;
    ObjectTable<CompletionQueue> cqs;
    ObjectTable<SharedReceiveQueue> srqs;
    ObjectTable<QueuePair> qps;  ///< by QPN index
    MemoryTable memory;
    Ethernet ethernet;
    Transport transport;
};

}  // namespace dingo::model
