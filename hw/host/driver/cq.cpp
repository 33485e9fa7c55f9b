// SPDX-License-Identifier: BSD-2-Clause
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include <algorithm>
#include <cerrno>

#include "host/driver/state.h"

namespace dingo::uverbs {
namespace {

constexpr unsigned kMinLogCq = 2;
/// A ring fills the page that it takes anyway: the client reports every 16th completion, not each.
constexpr unsigned kMinLogRing = 7;
constexpr unsigned kLogEntry = 5;
static_assert(1U << kLogEntry == DINGO_CQE_SIZE);

/// Entries that may be in use, see dingo_create_cq_resp.
std::uint32_t usable(unsigned log_size) {
    return (1U << log_size) - (1U << log_size) / 4;
}

struct Size {
    unsigned log_ring;
    std::uint32_t promised;  ///< entries that the client is told: what the smallest ring would hold
};

Size size_for(const Driver::State& driver, std::uint32_t cqe) {
    const unsigned most = driver.limits.log_max_cq;
    for (unsigned log = kMinLogCq; cqe != 0 && log <= most; ++log) {
        if (usable(log) >= cqe) {
            return {std::clamp(kMinLogRing, log, most), usable(log)};
        }
    }
    throw ErrnoError(EINVAL);
}

/// Numbers are given out in turn, so that a late event rarely meets a new CQ.
std::uint32_t take_number(Driver::State& driver, Cq::State* cq) {
    const auto max = static_cast<std::uint32_t>(driver.cqs.size());
    for (std::uint32_t n = 0; n < max; ++n) {
        const std::uint32_t number = (driver.next_cqn + n) % max;
        if (driver.cqs[number] == nullptr) {
            driver.cqs[number] = cq;
            driver.next_cqn = number + 1;
            return number;
        }
    }
    throw ErrnoError(EBUSY);
}

}  // namespace

Cq::Cq(Driver& driver, Context& context, std::uint32_t cqe, std::uint32_t comp_vector,
       std::uint32_t flags, CqListener& listener, Udata& udata) {
    Driver::State& d = driver.state();
    if ((flags & ~std::uint32_t{IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION}) != 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
    if (flags != 0) {
        d.need(DINGO_CAP_TIMESTAMP);
    }
    const auto req = udata_in<dingo_create_cq_req>(udata);
    if (req.comp_mask != 0 || req.reserved != 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
    const auto [log_size, promised] = size_for(d, cqe);
    if (comp_vector >= d.eqs->comp_vectors()) {
        throw ErrnoError(EINVAL);
    }
    state_ = std::make_unique<State>(d, context.state(), listener);
    State& cq = *state_;
    cq.entries = promised;
    cq.queue =
        std::make_unique<ClientQueue>(context.state(), std::size_t{DINGO_CQE_SIZE} << log_size);
    cq.number = take_number(d, &cq);

    dingo_cmd_create_cq cmd{};
    cmd.cqn = cq.number;
    cmd.eqn = d.eqs->eqn(comp_vector);
    cmd.db_page = cq.doorbell.page().index();
    cmd.log_size = static_cast<std::uint8_t>(log_size);
    cmd.ring = cq.queue->describe();
    d.admin->execute(DINGO_OP_CREATE_CQ, cmd);
    cq.on_card = true;

    dingo_create_cq_resp resp{};
    resp.cqn = cq.number;
    resp.ring = cq.queue->map(cq.doorbell, log_size, kLogEntry);
    udata_out(udata, resp);
}

Cq::State::~State() {
    if (on_card) {
        driver.destroy(DINGO_OP_DESTROY_CQ, number);
    }
    if (number != DINGO_INVALID_ID) {
        driver.cqs[number] = nullptr;
    }
}

Cq::~Cq() = default;

std::uint32_t Cq::entries() const {
    return state_->entries;
}

void Cq::resize(std::uint32_t cqe, Udata& udata) {
    State& cq = *state_;
    Driver::State& d = cq.driver;
    d.need(DINGO_CAP_RESIZE_CQ);
    udata_none(udata);
    const auto [log_size, promised] = size_for(d, cqe);
    auto queue = std::make_unique<ClientQueue>(cq.context, std::size_t{DINGO_CQE_SIZE} << log_size);
    dingo_cmd_create_cq cmd{};
    cmd.cqn = cq.number;
    cmd.log_size = static_cast<std::uint8_t>(log_size);
    cmd.ring = queue->describe();
    dingo_resize_cq_resp resp{};
    resp.ring = queue->map(cq.doorbell, log_size, kLogEntry);
    resp.switch_index = static_cast<std::uint32_t>(d.admin->execute(DINGO_OP_RESIZE_CQ, cmd)[0]);
    cq.queue->withdraw();
    cq.old_queue = std::move(cq.queue);
    cq.queue = std::move(queue);
    cq.entries = promised;
    udata_out(udata, resp);
}

}  // namespace dingo::uverbs
