// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* ibv_wr_post(3): WQEs are built in the ring between wr_start and wr_complete, which rings the
 * doorbell.
 */
#include <errno.h>

#include "dingo.h"
#include "direct.h"
#include "wqe.h"

#define DINGO_SEND_OPS_UD (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define DINGO_SEND_OPS_UC                                                      \
	(DINGO_SEND_OPS_UD | IBV_QP_EX_WITH_RDMA_WRITE |                       \
	 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_BIND_MW |         \
	 IBV_QP_EX_WITH_LOCAL_INV)
#define DINGO_SEND_OPS_RC                                                      \
	(DINGO_SEND_OPS_UC | IBV_QP_EX_WITH_SEND_WITH_INV |                    \
	 IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |        \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

static void wr_start(struct ibv_qp_ex *ibqp)
{
	struct dingo_qp *qp = qp_ex_to_dingo_qp(ibqp);

	dingo_lock(&qp->sq.lock);
	qp->sq.start = qp->sq.producer;
	qp->sq.error = qp->vqp.qp.state < IBV_QPS_RTS ? EINVAL : 0;
}

/* Ends the current WQE once its setters are done, that is, at the next begin() or at complete(). */
static inline void close_wqe(struct dingo_sq *sq)
{
	if (sq->ctrl && !sq->error)
		dingo_wqe_end(sq, sq->ctrl, dingo_sq_sent(sq), sq->data_offset, sq->data_bytes);
	sq->ctrl = NULL;
}

/* Returns true if there was a single request and it was carried out directly. */
static __attribute__((noinline)) bool take_directly(struct dingo_qp *qp)
{
	struct dingo_sq *sq = &qp->sq;
	uint32_t end = sq->producer, at = sq->start;
	const struct dingo_wqe_ctrl *ctrl;

	if (end - at == sq->sent[at & sq->ring.mask].blocks)
		return dingo_direct_take(qp, at, at);
	for (; at != end; at += sq->sent[at & sq->ring.mask].blocks) {
		ctrl = dingo_ring_entry(&sq->ring, at);
		if (ctrl->flags & DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK)
			qp->direct->signaled = at + sq->sent[at & sq->ring.mask].blocks;
	}
	return false;
}

static __attribute__((always_inline)) inline int
complete(struct ibv_qp_ex *ibqp, bool direct)
{
	struct dingo_qp *qp = qp_ex_to_dingo_qp(ibqp);
	struct dingo_sq *sq = &qp->sq;
	int err;

	close_wqe(sq);
	err = sq->error;
	if (err)
		sq->producer = sq->start;
	else if (sq->producer != sq->start && direct && qp->direct &&
		 take_directly(qp))
		; /* done directly */
	else if (sq->producer != sq->start)
		dingo_sq_ring(qp);
	dingo_unlock(&sq->lock);
	return err;
}

static int wr_complete(struct ibv_qp_ex *ibqp)
{
	return complete(ibqp, false);
}

static int wr_complete_with_direct(struct ibv_qp_ex *ibqp)
{
	return complete(ibqp, true);
}

static void wr_abort(struct ibv_qp_ex *ibqp)
{
	struct dingo_sq *sq = &qp_ex_to_dingo_qp(ibqp)->sq;

	sq->producer = sq->start;
	sq->ctrl = NULL;
	dingo_unlock(&sq->lock);
}

/* Inlined, so that the fields of `kind` are constants. */
static inline __attribute__((always_inline)) struct dingo_wqe_ctrl *
begin(struct ibv_qp_ex *ibqp, enum ibv_wr_opcode opcode)
{
	const struct dingo_wr_kind *kind = &dingo_wr_kinds[opcode];
	struct dingo_qp *qp = qp_ex_to_dingo_qp(ibqp);
	struct dingo_sq *sq = &qp->sq;

	close_wqe(sq);
	if (unlikely(sq->error))
		return NULL;
	if (unlikely(dingo_sq_room(sq) < sq->max_blocks)) {
		sq->error = ENOMEM;
		return NULL;
	}
	sq->ctrl = dingo_wqe_begin(sq, kind, ibqp->wr_id,
				   dingo_wqe_flags(qp, ibqp->wr_flags));
	sq->data_offset = qp->is_ud ? DINGO_DATA_UD : kind->data_offset;
	sq->data_bytes = 0;
	return sq->ctrl;
}

static void wr_send(struct ibv_qp_ex *ibqp)
{
	begin(ibqp, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ibqp, __be32 imm)
{
	struct dingo_wqe_ctrl *ctrl = begin(ibqp, IBV_WR_SEND_WITH_IMM);

	if (ctrl)
		ctrl->imm = imm;
}

static void wr_send_inv(struct ibv_qp_ex *ibqp, uint32_t rkey)
{
	struct dingo_wqe_ctrl *ctrl = begin(ibqp, IBV_WR_SEND_WITH_INV);

	if (ctrl)
		ctrl->imm = (__force __be32)htole32(rkey);
}

static void wr_rdma_write(struct ibv_qp_ex *ibqp, uint32_t rkey, uint64_t addr)
{
	struct dingo_wqe_ctrl *ctrl = begin(ibqp, IBV_WR_RDMA_WRITE);

	if (ctrl)
		dingo_wqe_rdma(ctrl, addr, rkey);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ibqp, uint32_t rkey,
			      uint64_t addr, __be32 imm)
{
	struct dingo_wqe_ctrl *ctrl = begin(ibqp, IBV_WR_RDMA_WRITE_WITH_IMM);

	if (ctrl) {
		dingo_wqe_rdma(ctrl, addr, rkey);
		ctrl->imm = imm;
	}
}

static void wr_rdma_read(struct ibv_qp_ex *ibqp, uint32_t rkey, uint64_t addr)
{
	struct dingo_wqe_ctrl *ctrl = begin(ibqp, IBV_WR_RDMA_READ);

	if (ctrl)
		dingo_wqe_rdma(ctrl, addr, rkey);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ibqp, uint32_t rkey,
			      uint64_t addr, uint64_t compare, uint64_t swap)
{
	struct dingo_wqe_ctrl *ctrl = begin(ibqp, IBV_WR_ATOMIC_CMP_AND_SWP);

	if (ctrl) {
		dingo_wqe_rdma(ctrl, addr, rkey);
		dingo_wqe_atomic(ctrl, swap, compare);
	}
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ibqp, uint32_t rkey,
				uint64_t addr, uint64_t add)
{
	struct dingo_wqe_ctrl *ctrl = begin(ibqp, IBV_WR_ATOMIC_FETCH_AND_ADD);

	if (ctrl) {
		dingo_wqe_rdma(ctrl, addr, rkey);
		dingo_wqe_atomic(ctrl, add, 0);
	}
}

static void wr_local_inv(struct ibv_qp_ex *ibqp, uint32_t rkey)
{
	struct dingo_wqe_ctrl *ctrl = begin(ibqp, IBV_WR_LOCAL_INV);

	if (ctrl)
		ctrl->imm = (__force __be32)htole32(rkey);
}

static void wr_bind_mw(struct ibv_qp_ex *ibqp, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct dingo_qp *qp = qp_ex_to_dingo_qp(ibqp);
	struct dingo_wqe_ctrl *ctrl = begin(ibqp, IBV_WR_BIND_MW);
	int err;

	if (!ctrl)
		return;
	err = dingo_wqe_bind(qp, ctrl, mw, rkey, info);
	if (err)
		qp->sq.error = err;
}

static void wr_set_ud_addr(struct ibv_qp_ex *ibqp, struct ibv_ah *ah,
			   uint32_t qpn, uint32_t qkey)
{
	struct dingo_qp *qp = qp_ex_to_dingo_qp(ibqp);

	if (likely(qp->sq.ctrl))
		dingo_wqe_address(qp->sq.ctrl, to_dingo_ah(ah), qpn, qkey);
}

static void wr_set_sge_list(struct ibv_qp_ex *ibqp, size_t count,
			    const struct ibv_sge *list)
{
	struct dingo_sq *sq = &qp_ex_to_dingo_qp(ibqp)->sq;
	size_t i;

	if (unlikely(!sq->ctrl))
		return;
	if (unlikely(count > sq->max_sge ||
		     (sq->data_offset == DINGO_DATA_ATOMIC && count != 1))) {
		sq->error = EINVAL;
		return;
	}
	for (i = 0; i < count; i++)
		dingo_wqe_sge(sq, sq->data_offset + i * sizeof(struct dingo_sge),
			      list[i].addr, list[i].lkey, list[i].length);
	sq->ctrl->num_sge = count;
	sq->data_bytes = count * sizeof(struct dingo_sge);
}

static void wr_set_sge(struct ibv_qp_ex *ibqp, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	struct dingo_sq *sq = &qp_ex_to_dingo_qp(ibqp)->sq;
	struct dingo_wqe_ctrl *ctrl = sq->ctrl;

	if (unlikely(!ctrl))
		return;
	if (unlikely(!sq->max_sge)) {
		sq->error = EINVAL;
		return;
	}
	/* a datagram's lies in the second block, maybe at the ring's start */
	dingo_wqe_sge(sq, sq->data_offset, addr, lkey, length);
	ctrl->num_sge = 1;
	sq->data_bytes = sizeof(struct dingo_sge);
}

static inline void set_inline(struct dingo_sq *sq, uint32_t bytes)
{
	sq->ctrl->flags |= DINGO_WQE_CTRL_FLAGS_INLINE_MASK;
	sq->ctrl->inline_len = htole16(bytes);
	sq->data_bytes = bytes;
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ibqp, size_t count,
				    const struct ibv_data_buf *list)
{
	struct dingo_sq *sq = &qp_ex_to_dingo_qp(ibqp)->sq;
	uint32_t total = 0;
	size_t i;

	if (unlikely(!sq->ctrl))
		return;
	if (unlikely(sq->data_offset == DINGO_DATA_ATOMIC)) {
		sq->error = EINVAL;
		return;
	}
	for (i = 0; i < count; i++) {
		if (list[i].length > sq->max_inline - total) {
			sq->error = ENOMEM;
			return;
		}
		dingo_wqe_copy(sq, sq->data_offset + total, list[i].addr,
			       list[i].length);
		total += list[i].length;
	}
	set_inline(sq, total);
}

static void wr_set_inline_data(struct ibv_qp_ex *ibqp, void *addr,
			       size_t length)
{
	struct ibv_data_buf buf = { .addr = addr, .length = length };
	struct dingo_sq *sq = &qp_ex_to_dingo_qp(ibqp)->sq;

	if (unlikely(!sq->ctrl))
		return;
	if (unlikely(sq->data_offset == DINGO_DATA_ATOMIC ||
		     length > DINGO_SQ_BLOCK - sq->data_offset ||
		     length > sq->max_inline)) {
		wr_set_inline_data_list(ibqp, 1, &buf);
		return;
	}
	dingo_copy_small((uint8_t *)sq->ctrl + sq->data_offset, addr, length);
	set_inline(sq, length);
}

static uint64_t supported_ops(const struct dingo_context *ctx,
			      enum ibv_qp_type type)
{
	uint64_t ops = type == IBV_QPT_RC ? DINGO_SEND_OPS_RC :
		       type == IBV_QPT_UC ? DINGO_SEND_OPS_UC :
					    DINGO_SEND_OPS_UD;

	if (!(ctx->caps & DINGO_CAP_ATOMIC))
		ops &= ~(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD);
	if (!(ctx->caps & DINGO_CAP_SEND_INV))
		ops &= ~(IBV_QP_EX_WITH_SEND_WITH_INV |
			 IBV_QP_EX_WITH_LOCAL_INV);
	if (!(ctx->caps & DINGO_CAP_MW))
		ops &= ~IBV_QP_EX_WITH_BIND_MW;
	return ops;
}

int dingo_qp_fill_wr_ops(struct dingo_qp *qp,
			 const struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	if (attr->send_ops_flags &
	    ~supported_ops(to_dingo_context(attr->pd->context), attr->qp_type))
		return EOPNOTSUPP;
	ex->wr_start = wr_start;
	ex->wr_complete = to_dingo_context(attr->pd->context)->direct ?
				  wr_complete_with_direct : wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_local_inv = wr_local_inv;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	return 0;
}
