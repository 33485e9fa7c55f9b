// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/srq.h"

#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>

#include "dingo-abi.h"
#include "host/driver/driver.h"
#include "host/driver/udata.h"

namespace dingo::uverbs {

// Returns as many SGEs as an entry holds, maybe more than requested. modify() alone arms the limit.
Srq::Size Srq::checked_size(const Driver& driver, std::uint32_t max_wr, std::uint32_t max_sge,
                            const Udata& udata) {
    driver.capabilities().need(DINGO_CAP_SRQ);
    const dingo_limits& limits = driver.capabilities().limits();
    if (max_wr == 0 || max_wr > 1U << limits.log_max_rq || max_sge > limits.max_recv_sge) {
        throw ErrnoError(EINVAL);
    }
    const auto req = udata_in<dingo_create_srq_req>(udata);
    if (req.comp_mask != 0 || req.reserved != 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
    if (req.log_size > limits.log_max_rq || 1U << req.log_size < max_wr || req.log_stride < 5 ||
        req.log_stride > 8 || 1U << req.log_stride < DINGO_RQ_HDR + max_sge * sizeof(dingo_sge)) {
        throw ErrnoError(EINVAL);
    }
    return {.log_size = req.log_size,
            .log_stride = req.log_stride,
            .max_sge = std::min<std::uint32_t>(
                limits.max_recv_sge, ((1U << req.log_stride) - DINGO_RQ_HDR) / sizeof(dingo_sge))};
}

Srq::Srq(Driver& driver, Context& context, Pd& pd, std::uint32_t& max_wr, std::uint32_t& max_sge,
         EventListener& listener, Udata& udata)
    : driver_(driver),
      listener_(listener),
      size_(checked_size(driver, max_wr, max_sge, udata)),
      doorbell_(context.doorbells().take()),
      number_(driver.srqs(), *this),
      queue_(context, std::size_t{1} << (size_.log_size + size_.log_stride)) {
    max_wr = size_.max_wr();
    max_sge = size_.max_sge;
    dingo_cmd_create_srq cmd{};
    cmd.srqn = number();
    cmd.pdn = pd.pdn();
    cmd.db_page = doorbell_.page().index();
    cmd.log_size = size_.log_size;
    cmd.log_stride = size_.log_stride;
    driver.card().gate()->run([&] {
        queue_.attach();
        cmd.ring = queue_.describe();
        driver.admin().execute(DINGO_OP_CREATE_SRQ, cmd);
    });
    on_card_.emplace(driver.admin(), DINGO_OP_DESTROY_SRQ, number(), [this] { number_.lose(); });

    dingo_create_srq_resp resp{};
    resp.srqn = number();
    resp.ring = queue_.map(doorbell_, size_.log_size, size_.log_stride);
    udata_out(udata, resp);
}

Srq::~Srq() {
    driver_.card().gate()->run([this] {
        on_card_.reset();
        queue_.detach();
        doorbell_.release();
    });
}

void Srq::modify(std::uint32_t mask, std::uint32_t /*max_wr*/, std::uint32_t limit, Udata& udata) {
    udata_none(udata);
    if ((mask & ~std::uint32_t{IBV_SRQ_LIMIT}) != 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
    if (mask == 0) {
        return;
    }
    if (limit > size_.max_wr()) {
        throw ErrnoError(EINVAL);
    }
    dingo_cmd_modify_srq cmd{};
    cmd.srqn = number();
    cmd.limit = limit;
    driver_.admin().execute(DINGO_OP_MODIFY_SRQ, cmd);
}

Srq::Attr Srq::query() {
    dingo_cmd_destroy cmd{};
    cmd.id = number();
    const auto results = driver_.admin().execute(DINGO_OP_QUERY_SRQ, cmd);
    return {size_.max_wr(), size_.max_sge, static_cast<std::uint32_t>(results[0])};
}

}  // namespace dingo::uverbs
