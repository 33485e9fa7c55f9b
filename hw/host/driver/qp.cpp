// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>

#include "host/driver/state.h"

namespace dingo::uverbs {
namespace {

constexpr unsigned kLogBlock = 6;
static_assert(1U << kLogBlock == DINGO_SQ_BLOCK);
constexpr std::uint8_t kMinLogStride = 5;
constexpr std::uint8_t kMaxLogStride = 8;
constexpr std::uint32_t kFirstIndex = 2;  // 1 is the GSI QP
constexpr std::uint32_t kIndexMask = (1U << DINGO_QPN_INDEX_BITS) - 1;

void check_init(const Driver::State& d, const QpInit& init) {
    switch (init.type) {
        case DINGO_QPT_RC:
            d.need(DINGO_CAP_RC);
            break;
        case DINGO_QPT_UC:
            d.need(DINGO_CAP_UC);
            break;
        case DINGO_QPT_UD:
            d.need(DINGO_CAP_UD);
            break;
        default:  // the GSI QP is the kernel's
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
        d.limits.max_inline, init.type == DINGO_QPT_UD ? std::uint32_t{DINGO_MAX_INLINE_UD}
                                                       : std::uint32_t{DINGO_MAX_INLINE});
    if (init.send_cq == nullptr || init.recv_cq == nullptr || cap.max_send_wr > kMaxQpWr ||
        cap.max_send_sge > d.limits.max_send_sge || cap.max_inline_data > max_inline ||
        (init.srq == nullptr &&
         (cap.max_recv_wr > kMaxQpWr || cap.max_recv_sge > d.limits.max_recv_sge))) {
        throw ErrnoError(EINVAL);
    }
}

/// Sizes as the provider computed them.
void check_sizes(const Driver::State& d, const QpInit& init, const dingo_create_qp_req& req) {
    if (req.comp_mask != 0 || req.reserved != 0) {
        throw ErrnoError(EOPNOTSUPP);
    }
    bool ok = req.log_sq <= d.limits.log_max_sq && 1U << req.log_sq >= init.cap.max_send_wr;
    if (init.srq != nullptr) {
        ok = ok && req.log_rq == 0 && req.log_rq_stride == 0;
    } else {
        ok = ok && req.log_rq <= d.limits.log_max_rq && 1U << req.log_rq >= init.cap.max_recv_wr &&
             req.log_rq_stride >= kMinLogStride && req.log_rq_stride <= kMaxLogStride &&
             1U << req.log_rq_stride >= DINGO_RQ_HDR + init.cap.max_recv_sge * sizeof(dingo_sge);
    }
    if (!ok) {
        throw ErrnoError(EINVAL);
    }
}

/// A random free index and a random tag that is not the index's last one.
std::uint32_t take_number(Driver::State& d, Qp::State* qp) {
    const auto end = static_cast<std::uint32_t>(d.qps.size());
    const std::uint32_t count = end - kFirstIndex;
    const std::uint32_t bits = random_bits();
    for (std::uint32_t n = 0; n < count; ++n) {
        const std::uint32_t index = kFirstIndex + (bits % count + n) % count;
        if (d.qps[index] != nullptr) {
            continue;
        }
        auto tag = static_cast<std::uint8_t>(random_bits());
        if (tag == d.qp_tags[index]) {
            tag ^= 0x5a;
        }
        d.qp_tags[index] = tag;
        d.qps[index] = qp;
        return std::uint32_t{tag} << DINGO_QPN_INDEX_BITS | index;
    }
    throw ErrnoError(ENOSPC);
}

}  // namespace

Qp::Qp(Driver& driver, Context& context, Pd& pd, const QpInit& init, EventListener& listener,
       Udata& udata) {
    Driver::State& d = driver.state();
    check_init(d, init);
    const auto req = udata_in<dingo_create_qp_req>(udata);
    check_sizes(d, init, req);

    state_ = std::make_unique<State>(d, context.state(), init, listener);
    State& qp = *state_;
    qp.log_sq = req.log_sq;
    qp.log_rq = req.log_rq;
    qp.log_rq_stride = req.log_rq_stride;
    qp.sq =
        std::make_unique<ClientQueue>(context.state(), std::size_t{DINGO_SQ_BLOCK} << qp.log_sq);
    if (init.srq == nullptr) {
        qp.rq = std::make_unique<ClientQueue>(context.state(),
                                              std::size_t{1} << (qp.log_rq + qp.log_rq_stride));
    }
    qp.number = take_number(d, &qp);

    dingo_cmd_create_qp cmd{};
    cmd.qpn = qp.number;
    cmd.pdn = pd.pdn();
    cmd.send_cqn = init.send_cq->state().number;
    cmd.recv_cqn = init.recv_cq->state().number;
    cmd.srqn = init.srq != nullptr ? init.srq->number() : std::uint32_t{DINGO_INVALID_ID};
    cmd.db_page = qp.doorbells.first.page().index();
    cmd.kind = init.type;
    cmd.flags = init.sq_sig_all ? DINGO_CMD_CREATE_QP_FLAGS_SIGNAL_ALL_MASK : 0;
    cmd.log_sq = req.log_sq;
    cmd.log_rq = req.log_rq;
    cmd.log_rq_stride = req.log_rq_stride;
    cmd.sq = qp.sq->describe();
    if (qp.rq) {
        cmd.rq = qp.rq->describe();
    }
    d.admin->execute(DINGO_OP_CREATE_QP, cmd);
    qp.on_card = true;

    dingo_create_qp_resp resp{};
    resp.sq = qp.sq->map(qp.doorbells.first, qp.log_sq, kLogBlock);
    if (qp.rq) {
        resp.rq = qp.rq->map(qp.doorbells.second, qp.log_rq, qp.log_rq_stride);
    }
    udata_out(udata, resp);
}

Qp::State::~State() {
    if (on_card) {
        driver.destroy(DINGO_OP_DESTROY_QP, number);
    }
    if (number != 0) {
        driver.qps[number & kIndexMask] = nullptr;
    }
}

Qp::~Qp() = default;

std::uint32_t Qp::number() const {
    return state_->number;
}

const QpInit& Qp::init() const {
    return state_->init;
}

}  // namespace dingo::uverbs
