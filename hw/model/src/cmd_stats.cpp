// SPDX-License-Identifier: BSD-2-Clause
#include "commands.h"

namespace dingo::model::commands {
namespace {

/// Copies the counters of BAR_MEM, which its server maintains.
void take_memory_counters(CardContext& card) {
    if (const CardMemory* memory = card.config.memory; memory != nullptr && memory->counted) {
        card.counters[DINGO_CARD_MEM_IN_REQUESTS] = memory->in_requests;
        card.counters[DINGO_CARD_MEM_IN_BYTES] = memory->in_bytes;
        card.counters[DINGO_CARD_MEM_OUT_REQUESTS] = memory->out_requests;
        card.counters[DINGO_CARD_MEM_OUT_BYTES] = memory->out_bytes;
    }
}

}  // namespace

AdminResult query_stats(CardState& card, const AdminCommand& command) {
    using Command = dingo_cmd_query_stats;
    constexpr std::uint32_t kScopeCard = 0;
    constexpr std::uint32_t kScopeQp = 1;
    const auto cmd = command.as<Command>();
    FieldCheck check;
    check.zero(cmd.out_addr & 7, offsetof(Command, out_addr))
        .zero(cmd.out_len & 7, offsetof(Command, out_len))
        .require(cmd.scope <= kScopeQp, offsetof(Command, scope))
        .require(cmd.scope != kScopeCard || cmd.id == 0, offsetof(Command, id))
        .zero(cmd.rsvd, offsetof(Command, rsvd));
    if (check.failed()) {
        return check.result();
    }
    take_memory_counters(card.card);
    std::span<const std::uint64_t> counters = card.card.counters;
    if (cmd.scope == kScopeQp) {
        const QueuePair* qp = card.find_qp(cmd.id);
        if (qp == nullptr) {
            return refuse(DINGO_ST_BAD_ID);
        }
        counters = qp->counters;
    }
    const auto bytes = std::as_bytes(counters);
    const std::size_t length = std::min<std::size_t>(cmd.out_len, bytes.size());
    if (length != 0 && !card.card.dma_write(cmd.out_addr, bytes.first(length))) {
        return refuse(DINGO_ST_BUS_ERROR);
    }
    AdminResult result;
    result.result[0] = length;
    return result;
}

}  // namespace dingo::model::commands
