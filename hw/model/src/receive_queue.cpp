// SPDX-License-Identifier: BSD-2-Clause
#include "receive_queue.h"

#include <cstring>

namespace dingo::model {

bool ReceiveRing::ring(std::uint32_t new_producer) noexcept {
    const std::uint32_t held = new_producer - consumer;
    if (held > 1u << log_size || held < available()) {
        return false;
    }
    producer = new_producer;
    return true;
}

void ReceiveRing::load(CardContext& card) noexcept {
    if (record == 0) {
        return;
    }
    const auto read = [&](std::size_t offset, std::uint32_t& index) {
        return card.dma_read(record + offset, std::as_writable_bytes(std::span(&index, 1)));
    };
    if (!read(offsetof(dingo_queue_indexes, rq_consumer), consumer) ||
        !read(offsetof(dingo_queue_indexes, rq_producer), producer) ||
        available() > 1u << log_size) {
        producer = consumer;
    }
}

void ReceiveRing::store(CardContext& card) const noexcept {
    if (record != 0) {
        static_cast<void>(card.dma_write(record + offsetof(dingo_queue_indexes, rq_consumer),
                                         std::as_bytes(std::span(&consumer, 1))));
    }
}

ReceiveRing::Fetch ReceiveRing::fetch(CardContext& card, ReceiveWqe& wqe) {
    wqe.tag = 0;
    wqe.num_sge = 0;
    if (available() == 0) {
        return Fetch::kEmpty;
    }
    const std::uint64_t slot = consumer & ((1u << log_size) - 1);
    const std::size_t stride = std::size_t{1} << log_stride;
    ++consumer;

    alignas(8) std::array<std::byte, 256> entry;  // log_stride is 5..8
    if (!memory.read(card, slot << log_stride, std::span(entry).first(stride))) {
        return Fetch::kBusError;
    }
    dingo_rq_wqe header;
    std::memcpy(&header, entry.data(), sizeof header);
    wqe.tag = header.tag;
    if (header.rsvd0 != 0 || header.rsvd1 != 0 || header.num_sge > DINGO_RQ_MAX_SGE ||
        sizeof header + header.num_sge * sizeof(dingo_sge) > stride) {
        return Fetch::kBad;
    }
    wqe.num_sge = header.num_sge;
    std::memcpy(wqe.sge.data(), entry.data() + sizeof header, wqe.num_sge * sizeof(dingo_sge));
    return Fetch::kOk;
}

}  // namespace dingo::model
