// SPDX-License-Identifier: BSD-2-Clause
#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>

#include "host/driver/state.h"

namespace dingo::uverbs {
Srq::Srq(Driver& driver, Context& context, Pd& pd, std::uint32_t& max_wr, std::uint32_t& max_sge,
         EventListener& listener, Udata& udata) {
    Driver::State& d = driver.state();
    d.need(DINGO_CAP_SRQ);
    if (max_wr == 0 || max_wr > 1U << d.limits.log_max_rq || max_sge > d.limits.max_recv_sge) {
        throw ErrnoError(EINVAL);
    }
    const auto req = udata_in<dingo_create_srq_req>(udata);
    if (req.comp_mask != 0 || req.reserved != 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
    if (req.log_size > d.limits.log_max_rq || 1U << req.log_size < max_wr || req.log_stride < 5 ||
        req.log_stride > 8 || 1U << req.log_stride < DINGO_RQ_HDR + max_sge * sizeof(dingo_sge)) {
        throw ErrnoError(EINVAL);
    }
    state_ = std::make_unique<State>(d, context.state(), listener);
    State& srq = *state_;
    // What the entries hold anyway is given; the limit is armed by modify() only.
    srq.max_wr = max_wr = 1U << req.log_size;
    srq.max_sge = max_sge = std::min<std::uint32_t>(
        d.limits.max_recv_sge, ((1U << req.log_stride) - DINGO_RQ_HDR) / sizeof(dingo_sge));
    srq.queue = std::make_unique<ClientQueue>(context.state(),
                                              std::size_t{1} << (req.log_size + req.log_stride));
    dingo_cmd_create_srq cmd{};
    cmd.srqn = srq.number.get();
    cmd.pdn = pd.pdn();
    cmd.db_page = srq.doorbell.page().index();
    cmd.log_size = req.log_size;
    cmd.log_stride = req.log_stride;
    cmd.ring = srq.queue->describe();
    d.admin->execute(DINGO_OP_CREATE_SRQ, cmd);
    srq.on_card = true;
    d.srqs[srq.number.get()] = &srq;

    dingo_create_srq_resp resp{};
    resp.srqn = srq.number.get();
    resp.ring = srq.queue->map(srq.doorbell, req.log_size, req.log_stride);
    udata_out(udata, resp);
}

Srq::State::~State() {
    if (on_card) {
        driver.srqs[number.get()] = nullptr;
        if (!driver.destroy(DINGO_OP_DESTROY_SRQ, number.get())) {
            number.lose();
        }
    }
}

Srq::~Srq() = default;

void Srq::modify(std::uint32_t mask, std::uint32_t /*max_wr*/, std::uint32_t limit, Udata& udata) {
    udata_none(udata);
    if ((mask & ~std::uint32_t{IBV_SRQ_LIMIT}) != 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
    if (mask == 0) {
        return;
    }
    if (limit > state_->max_wr) {
        throw ErrnoError(EINVAL);
    }
    dingo_cmd_modify_srq cmd{};
    cmd.srqn = number();
    cmd.limit = limit;
    state_->driver.admin->execute(DINGO_OP_MODIFY_SRQ, cmd);
}

Srq::Attr Srq::query() {
    dingo_cmd_destroy cmd{};
    cmd.id = number();
    const auto results = state_->driver.admin->execute(DINGO_OP_QUERY_SRQ, cmd);
    return {state_->max_wr, state_->max_sge, static_cast<std::uint32_t>(results[0])};
}

std::uint32_t Srq::number() const {
    return state_->number.get();
}

}  // namespace dingo::uverbs
