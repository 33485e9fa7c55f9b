// SPDX-License-Identifier: BSD-2-Clause
//
// Rings of receive WQEs: a QP's own RQ, or an SRQ. Entries are fetched once each, in ring order.
#pragma once

#include <array>
#include <cstdint>

#include "ring_memory.h"

namespace dingo::model {

/// A fetched receive WQE.
struct ReceiveWqe {
    std::uint32_t tag = 0;
    std::uint32_t num_sge = 0;
    std::array<dingo_sge, DINGO_RQ_MAX_SGE> sge{};
};

class ReceiveRing {
  public:
    enum class Fetch : std::uint8_t { kOk, kEmpty, kBad /* reserved bits, num_sge */, kBusError };

    RingMemory memory;
    unsigned log_size = 0;
    unsigned log_stride = 0;
    std::uint32_t producer = 0;  ///< from the doorbell
    std::uint32_t consumer = 0;  ///< entries fetched
    /// bus address of struct queue_indexes; 0: the indexes are kept here
    std::uint64_t record = 0;

    [[nodiscard]] std::uint32_t available() const noexcept { return producer - consumer; }

    /// Load the indexes from the record, and store the consumer there; no-ops without a record.
    void load(CardContext& card) noexcept;
    void store(CardContext& card) const noexcept;

    /// Handles a doorbell. Returns false, and changes nothing, if the index goes backwards or
    /// beyond the ring.
    bool ring(std::uint32_t new_producer) noexcept;

    /// Fetches the next entry. On kBad and kBusError the entry is consumed, and `wqe.tag` is set if
    /// it could be read.
    Fetch fetch(CardContext& card, ReceiveWqe& wqe);
};

/// Shared receive queue.
struct SharedReceiveQueue {
    std::uint32_t srqn = 0;
    std::uint32_t pdn = 0;
    std::uint32_t db_page = 0;
    std::uint32_t users = 0;  ///< QPs
    std::uint32_t limit = 0;  ///< SRQ_LIMIT fires when available() < limit; 0 = off
    bool error = false;
    ReceiveRing ring;
};

}  // namespace dingo::model
