// SPDX-License-Identifier: BSD-2-Clause
//
// QUERY_COMPUTE and SET_COMPUTE.
#include "capabilities.h"
#include "commands.h"
#include "compute/kernels.h"

namespace dingo::model::commands {

AdminResult query_compute(CardState&, const AdminCommand& command) {
    using Command = dingo_cmd_query_compute;
    const auto cmd = command.as<Command>();
    if (cmd.rsvd != 0) {
        return bad_field(offsetof(Command, rsvd));
    }
    const auto all = compute::kernels();
    if (cmd.index >= all.size()) {
        return refuse(DINGO_ST_BAD_ID);
    }
    const compute::Kernel& kernel = all[cmd.index];
    AdminResult answer;
    answer.result[0] = std::uint64_t{all.size()} << 32 | cmd.index;
    std::memcpy(&answer.result[1], kernel.name.data(), kernel.name.size());
    answer.result[3] = std::uint64_t{kernel.largest_param} << 32 | kernel.smallest_param;
    answer.result[4] = kernel.record;
    return answer;
}

AdminResult set_compute(CardState& card, const AdminCommand& command) {
    using Command = dingo_cmd_set_compute;
    const auto cmd = command.as<Command>();
    const auto all = compute::kernels();
    FieldCheck check;
    check.require(cmd.qpn != DINGO_QPN_GSI, offsetof(Command, qpn))
        .require(cmd.kernel < all.size(), offsetof(Command, kernel));
    if (!check.failed()) {
        const compute::Kernel& kernel = all[cmd.kernel];
        check.require(cmd.param >= kernel.smallest_param && cmd.param <= kernel.largest_param,
                      offsetof(Command, param));
    }
    const bool receive = cmd.direction == DINGO_COMPUTE_RECEIVE;
    const bool can_receive = (capabilities(card.card.config) & DINGO_CAP_COMPUTE_RX) != 0;
    check
        .require(cmd.direction == DINGO_COMPUTE_SEND || (receive && can_receive),
                 offsetof(Command, direction))
        .zero(cmd.rsvd1, offsetof(Command, rsvd1));
    if (check.failed()) {
        return check.result();
    }
    QueuePair* qp = card.find_qp(cmd.qpn);
    if (qp == nullptr) {
        return refuse(DINGO_ST_BAD_ID);
    }
    if (qp->state > (receive ? QpState::kInit : QpState::kRtr)) {
        return refuse(DINGO_ST_BAD_STATE);
    }
    (receive ? qp->receive_kernel : qp->kernel) = compute::configure(cmd.kernel, cmd.param);
    return {};
}

}  // namespace dingo::model::commands
