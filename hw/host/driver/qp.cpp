// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/qp.h"

#include <algorithm>
#include <cerrno>

#include "dingo-abi.h"
#include "host/driver/driver.h"
#include "host/driver/udata.h"

namespace dingo::uverbs {
namespace {

static_assert(kMaxQpWr == DINGO_MAX_QP_WR);

constexpr unsigned kLogBlock = 6;
static_assert(1U << kLogBlock == DINGO_SQ_BLOCK);
constexpr std::uint8_t kMinLogStride = 5;
constexpr std::uint8_t kMaxLogStride = 8;

void check_init(const Capabilities& card, const QpInit& init) {
    switch (init.type) {
        case DINGO_QPT_RC:
            card.need(DINGO_CAP_RC);
            break;
        case DINGO_QPT_UC:
            card.need(DINGO_CAP_UC);
            break;
        case DINGO_QPT_UD:
            card.need(DINGO_CAP_UD);
            break;
        default:  // QP1 belongs to the kernel
            throw ErrnoError(EOPNOTSUPP);
    }
    if (init.create_flags != 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
    if (init.srq != nullptr && init.type == DINGO_QPT_UC) {  // ibv_create_qp(3): RC and UD only
        throw ErrnoError(EINVAL);
    }
    const QpCap& cap = init.cap;
    const std::uint32_t max_inline = std::min<std::uint32_t>(
        card.limits().max_inline, init.type == DINGO_QPT_UD ? std::uint32_t{DINGO_MAX_INLINE_UD}
                                                            : std::uint32_t{DINGO_MAX_INLINE});
    if (init.send_cq == nullptr || init.recv_cq == nullptr || cap.max_send_wr > kMaxQpWr ||
        cap.max_send_sge > card.limits().max_send_sge || cap.max_inline_data > max_inline ||
        (init.srq == nullptr &&
         (cap.max_recv_wr > kMaxQpWr || cap.max_recv_sge > card.limits().max_recv_sge))) {
        throw ErrnoError(EINVAL);
    }
}

/// Checks the sizes computed by the provider.
void check_sizes(const dingo_limits& limits, const QpInit& init, const dingo_create_qp_req& req) {
    if ((req.comp_mask & ~DINGO_CREATE_WATCHED) != 0 || req.reserved != 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
    bool ok = req.log_sq <= limits.log_max_sq && 1U << req.log_sq >= init.cap.max_send_wr;
    if (init.srq != nullptr) {
        ok = ok && req.log_rq == 0 && req.log_rq_stride == 0;
    } else {
        ok = ok && req.log_rq <= limits.log_max_rq && 1U << req.log_rq >= init.cap.max_recv_wr &&
             req.log_rq_stride >= kMinLogStride && req.log_rq_stride <= kMaxLogStride &&
             1U << req.log_rq_stride >= DINGO_RQ_HDR + init.cap.max_recv_sge * sizeof(dingo_sge);
    }
    if (!ok) {
        throw ErrnoError(EINVAL);
    }
}

}  // namespace

Qp::Sizes Qp::checked_sizes(const Driver& driver, const QpInit& init, const Udata& udata) {
    check_init(driver.capabilities(), init);
    const auto req = udata_in<dingo_create_qp_req>(udata);
    check_sizes(driver.capabilities().limits(), init, req);
    const bool watched = (req.comp_mask & DINGO_CREATE_WATCHED) != 0;
    if (watched) {
        driver.capabilities().need(DINGO_CAP_DB_WATCH);
    }
    return {req.log_sq, req.log_rq, req.log_rq_stride, watched};
}

Qp::Qp(Driver& driver, Context& context, Pd& pd, const QpInit& init, EventListener& listener,
       Udata& udata)
    : driver_(driver),
      init_(init),
      pdn_(pd.pdn()),
      listener_(listener),
      sizes_(checked_sizes(driver, init, udata)),
      doorbells_(context.doorbells(sizes_.watched).take_pair()),
      sq_(context, std::size_t{DINGO_SQ_BLOCK} << sizes_.log_sq),
      rq_(init.srq != nullptr
              ? nullptr
              : std::make_unique<ClientQueue>(
                    context, std::size_t{1} << (sizes_.log_rq + sizes_.log_rq_stride))),
      number_(driver.qps(), *this) {
    dingo_cmd_create_qp cmd{};
    cmd.qpn = number();
    cmd.pdn = pd.pdn();
    cmd.send_cqn = init.send_cq->number();
    cmd.recv_cqn = init.recv_cq->number();
    cmd.srqn = init.srq != nullptr ? init.srq->number() : std::uint32_t{DINGO_INVALID_ID};
    cmd.db_page = doorbells_.first.page().index();
    cmd.share = context.share();
    cmd.kind = init.type;
    cmd.flags = init.sq_sig_all ? DINGO_CMD_CREATE_QP_FLAGS_SIGNAL_ALL_MASK : 0;
    cmd.log_sq = sizes_.log_sq;
    cmd.log_rq = sizes_.log_rq;
    cmd.log_rq_stride = sizes_.log_rq_stride;
    driver.card().gate()->run([&] {
        sq_.attach();
        cmd.sq = sq_.describe();
        if (rq_) {
            rq_->attach();
            cmd.rq = rq_->describe();
        }
        driver.admin().execute(DINGO_OP_CREATE_QP, cmd);
    });
    on_card_.emplace(driver.admin(), DINGO_OP_DESTROY_QP, number());

    if (sizes_.watched) {
        doorbells_.first.watch();
    }

    dingo_create_qp_resp resp{};
    resp.sq = sq_.map(doorbells_.first, sizes_.log_sq, kLogBlock);
    if (rq_) {
        resp.rq = rq_->map(doorbells_.second, sizes_.log_rq, sizes_.log_rq_stride);
    }
    udata_out(udata, resp);
}

Qp::~Qp() {
    driver_.card().gate()->run([this] {
        if (on_card_) {
            driver_.count_gone(number());
        }
        on_card_.reset();
        sq_.detach();
        if (rq_) {
            rq_->detach();
        }
        doorbells_.first.release();
        doorbells_.second.release();
    });
}

}  // namespace dingo::uverbs
