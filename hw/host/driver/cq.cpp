// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/cq.h"

#include <rdma/ib_user_ioctl_verbs.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "dingo-abi.h"
#include "host/driver/driver.h"
#include "host/driver/udata.h"

namespace dingo::uverbs {
namespace {

constexpr unsigned kMinLogCq = 2;
/// The smallest ring fills one page, which is allocated anyway. So the client needs to ring the
/// doorbell only for every 16th completion.
constexpr unsigned kMinLogRing = 7;
constexpr unsigned kLogEntry = 5;
static_assert(1U << kLogEntry == DINGO_CQE_SIZE);

/// Entries that may be in use, see dingo_create_cq_resp.
std::uint32_t usable(unsigned log_size) {
    return (1U << log_size) - (1U << log_size) / 4;
}

std::size_t ring_bytes(unsigned log_size) {
    return std::size_t{DINGO_CQE_SIZE} << log_size;
}

}  // namespace

Cq::Size Cq::size_for(const Driver& driver, std::uint32_t cqe) {
    const unsigned most = driver.capabilities().limits().log_max_cq;
    for (unsigned log = kMinLogCq; cqe != 0 && log <= most; ++log) {
        if (usable(log) >= cqe) {
            return {std::clamp(kMinLogRing, log, most), usable(log), false};
        }
    }
    throw ErrnoError(EINVAL);
}

Cq::Size Cq::checked_size(Driver& driver, std::uint32_t cqe, std::uint32_t comp_vector,
                          std::uint32_t flags, const Udata& udata) {
    if ((flags & ~std::uint32_t{IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION}) != 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
    if (flags != 0) {
        driver.capabilities().need(DINGO_CAP_TIMESTAMP);
    }
    const auto req = udata_in<dingo_create_cq_req>(udata);
    if ((req.comp_mask & ~DINGO_CREATE_WATCHED) != 0 || req.reserved != 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
    Size size = size_for(driver, cqe);
    size.watched = (req.comp_mask & DINGO_CREATE_WATCHED) != 0;
    if (size.watched) {
        driver.capabilities().need(DINGO_CAP_DB_WATCH);
    }
    if (comp_vector >= driver.num_comp_vectors()) {
        throw ErrnoError(EINVAL);
    }
    return size;
}

Cq::Cq(Driver& driver, Context& context, std::uint32_t cqe, std::uint32_t comp_vector,
       std::uint32_t flags, CqListener& listener, Udata& udata)
    : driver_(driver),
      context_(context),
      listener_(listener),
      size_(checked_size(driver, cqe, comp_vector, flags, udata)),
      doorbell_(context.doorbells(size_.watched).take()),
      queue_(std::make_unique<ClientQueue>(context, ring_bytes(size_.log_ring))),
      number_(driver.cqs(), *this) {
    dingo_cmd_create_cq cmd{};
    cmd.cqn = number();
    cmd.eqn = driver.event_queues().eqn(comp_vector);
    cmd.db_page = doorbell_.page().index();
    cmd.log_size = static_cast<std::uint8_t>(size_.log_ring);
    driver.card().gate()->run([&] {
        queue_->attach();
        cmd.ring = queue_->describe();
        driver.admin().execute(DINGO_OP_CREATE_CQ, cmd);
    });
    on_card_.emplace(driver.admin(), DINGO_OP_DESTROY_CQ, number());
    if (size_.watched) {
        doorbell_.watch();
    }

    dingo_create_cq_resp resp{};
    resp.cqn = number();
    resp.ring = queue_->map(doorbell_, size_.log_ring, kLogEntry);
    udata_out(udata, resp);
}

Cq::~Cq() {
    driver_.card().gate()->run([this] {
        on_card_.reset();
        queue_->detach();
        if (old_queue_) {
            old_queue_->detach();
        }
        doorbell_.release();
    });
}

void Cq::resize(std::uint32_t cqe, Udata& udata) {
    driver_.capabilities().need(DINGO_CAP_RESIZE_CQ);
    udata_none(udata);
    if (size_.watched) {  // a poller of the CQ would not learn of the new ring
        throw ErrnoError(EINVAL);
    }
    const Size size = size_for(driver_, cqe);
    auto queue = std::make_unique<ClientQueue>(context_, ring_bytes(size.log_ring));
    dingo_cmd_create_cq cmd{};
    cmd.cqn = number();
    cmd.log_size = static_cast<std::uint8_t>(size.log_ring);
    dingo_resize_cq_resp resp{};
    resp.ring = queue->map(doorbell_, size.log_ring, kLogEntry);
    driver_.card().gate()->run([&] {
        queue->attach();
        cmd.ring = queue->describe();
        resp.switch_index =
            static_cast<std::uint32_t>(driver_.admin().execute(DINGO_OP_RESIZE_CQ, cmd)[0]);
    });
    queue_->withdraw();
    old_queue_ = std::move(queue_);
    queue_ = std::move(queue);
    size_ = size;
    udata_out(udata, resp);
}

void Cq::moderate(std::uint16_t count, std::uint16_t period) {
    driver_.capabilities().need(DINGO_CAP_CQ_MODERATION);
    dingo_cmd_modify_cq cmd{};
    cmd.cqn = number();
    cmd.count = count;
    cmd.period = period;
    driver_.admin().execute(DINGO_OP_MODIFY_CQ, cmd);
}

}  // namespace dingo::uverbs
