// SPDX-License-Identifier: BSD-2-Clause
#include "admin_queue.h"

namespace dingo::model {

bool AdminQueue::enable(std::uint64_t asq_base, std::uint64_t acq_base, unsigned log_depth) {
    constexpr std::uint64_t kAlignMask = 0xfff;
    enabled_ = (asq_base & kAlignMask) == 0 && (acq_base & kAlignMask) == 0 && log_depth >= 1 &&
               log_depth <= DINGO_ADMIN_MAX_LOG_DEPTH;
    asq_base_ = asq_base;
    acq_base_ = acq_base;
    log_depth_ = log_depth;
    producer_ = 0;
    consumer_ = 0;
    held_since.reset();
    return enabled_;
}

bool AdminQueue::doorbell(std::uint32_t producer) {
    const std::uint32_t held = producer - consumer_;
    if (!enabled_ || held > 1u << log_depth_ || held < producer_ - consumer_) {
        return false;
    }
    producer_ = producer;
    return true;
}

bool AdminQueue::fetch(CardContext& card, AdminCommand& command) {
    const std::uint64_t slot = consumer_ & ((1u << log_depth_) - 1);
    return card.dma_read(asq_base_ + slot * DINGO_ADMIN_CMD_SIZE, command.bytes);
}

bool AdminQueue::complete(CardContext& card, const AdminCommand& command,
                          const AdminResult& result) {
    const auto header = command.as<dingo_admin_hdr>();
    dingo_admin_cpl completion{};
    completion.cmd_id = header.cmd_id;
    completion.opcode = header.opcode;
    completion.status = result.status;
    completion.detail = result.detail;
    std::ranges::copy(result.result, completion.result);
    completion.owner = (consumer_ >> log_depth_ & 1) == 0 ? 1 : 0;
    const std::uint64_t slot = consumer_ & ((1u << log_depth_) - 1);
    ++consumer_;
    held_since.reset();
    if (!card.dma_write(acq_base_ + slot * DINGO_ADMIN_CPL_SIZE,
                        std::as_bytes(std::span(&completion, 1)))) {
        return false;
    }
    card.host.raise_msix(0);
    return true;
}

}  // namespace dingo::model
