// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* ibv_post_send(3). */
#include <errno.h>

#include "dingo.h"
#include "direct.h"
#include "wqe.h"

/* Returns the opcodes that the QP's type and the card support, as a mask of enum ibv_wr_opcode. */
static uint32_t allowed_opcodes(const struct dingo_context *ctx,
				enum ibv_qp_type type)
{
	uint32_t send = 1U << IBV_WR_SEND | 1U << IBV_WR_SEND_WITH_IMM;
	uint32_t mask = send;

	if (type == IBV_QPT_UD)
		return mask;
	mask |= 1U << IBV_WR_RDMA_WRITE | 1U << IBV_WR_RDMA_WRITE_WITH_IMM;
	if (ctx->caps & DINGO_CAP_SEND_INV)
		mask |= 1U << IBV_WR_LOCAL_INV;
	if (ctx->caps & DINGO_CAP_MW)
		mask |= 1U << IBV_WR_BIND_MW;
	if (type == IBV_QPT_UC)
		return mask;
	mask |= 1U << IBV_WR_RDMA_READ;
	if (ctx->caps & DINGO_CAP_ATOMIC)
		mask |= 1U << IBV_WR_ATOMIC_CMP_AND_SWP |
			1U << IBV_WR_ATOMIC_FETCH_AND_ADD;
	if (ctx->caps & DINGO_CAP_SEND_INV)
		mask |= 1U << IBV_WR_SEND_WITH_INV;
	return mask;
}

int dingo_wqe_bind(struct dingo_qp *qp, struct dingo_wqe_ctrl *ctrl,
		   const struct ibv_mw *mw, uint32_t rkey,
		   const struct ibv_mw_bind_info *info)
{
	struct dingo_wqe_bind *bind = (struct dingo_wqe_bind *)(ctrl + 1);

	/* window, region and QP must have the same PD; length 0 unbinds, without a region */
	if (mw->pd->handle != qp->vqp.qp.pd->handle)
		return EPERM;
	if (info->length && (!info->mr || info->mr->pd->handle != mw->pd->handle))
		return EPERM;
	bind->addr = htole64(info->addr);
	bind->length = htole64(info->length);
	bind->mr_key = htole32(info->mr ? info->mr->lkey : 0);
	bind->mw_key = htole32(mw->rkey);
	bind->new_key = htole32(rkey);
	/* local rights come from the region: LOCAL_WRITE is accepted and ignored */
	bind->access = htole32(info->mw_access_flags & ~IBV_ACCESS_LOCAL_WRITE);
	return 0;
}

static int write_inline(struct dingo_sq *sq, struct dingo_wqe_ctrl *ctrl,
			uint32_t offset, const struct ibv_send_wr *wr,
			uint32_t *bytes)
{
	uint32_t total = 0;
	int i;

	/* the common case: one small piece, all in the first block */
	if (likely(wr->num_sge == 1 &&
		   wr->sg_list->length <= DINGO_SQ_BLOCK - offset &&
		   wr->sg_list->length <= sq->max_inline)) {
		total = wr->sg_list->length;
		dingo_copy_small((uint8_t *)ctrl + offset,
				 (void *)(uintptr_t)wr->sg_list->addr, total);
		goto done;
	}
	for (i = 0; i < wr->num_sge; i++) {
		const void *data = (void *)(uintptr_t)wr->sg_list[i].addr;
		uint32_t length = wr->sg_list[i].length;

		if (unlikely(length > sq->max_inline - total))
			return ENOMEM;
		dingo_wqe_copy(sq, offset + total, data, length);
		total += length;
	}
done:
	ctrl->flags |= DINGO_WQE_CTRL_FLAGS_INLINE_MASK;
	ctrl->inline_len = htole16(total);
	*bytes = total;
	return 0;
}

static int write_data(struct dingo_sq *sq, struct dingo_wqe_ctrl *ctrl,
		      uint32_t offset, const struct ibv_send_wr *wr,
		      uint32_t *bytes)
{
	int i;

	/* unsigned comparison also catches a negative count */
	if (unlikely((uint32_t)wr->num_sge > sq->max_sge ||
		     (offset == DINGO_DATA_ATOMIC && wr->num_sge != 1)))
		return EINVAL;
	if (wr->send_flags & IBV_SEND_INLINE &&
	    wr->opcode != IBV_WR_RDMA_READ && offset != DINGO_DATA_ATOMIC)
		return write_inline(sq, ctrl, offset, wr, bytes);
	for (i = 0; i < wr->num_sge; i++)
		dingo_wqe_sge(sq, offset + i * sizeof(struct dingo_sge),
			      wr->sg_list[i].addr, wr->sg_list[i].lkey,
			      wr->sg_list[i].length);
	ctrl->num_sge = wr->num_sge;
	*bytes = wr->num_sge * sizeof(struct dingo_sge);
	return 0;
}

static void write_target(struct dingo_wqe_ctrl *ctrl,
			 const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ctrl->imm = wr->imm_data;
		SWITCH_FALLTHROUGH;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_READ:
		dingo_wqe_rdma(ctrl, wr->wr.rdma.remote_addr,
			       wr->wr.rdma.rkey);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ctrl->imm = wr->imm_data;
		break;
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		ctrl->imm = (__force __be32)htole32(wr->invalidate_rkey);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		dingo_wqe_rdma(ctrl, wr->wr.atomic.remote_addr,
			       wr->wr.atomic.rkey);
		dingo_wqe_atomic(ctrl, wr->wr.atomic.swap,
				 wr->wr.atomic.compare_add);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		dingo_wqe_rdma(ctrl, wr->wr.atomic.remote_addr,
			       wr->wr.atomic.rkey);
		dingo_wqe_atomic(ctrl, wr->wr.atomic.compare_add, 0);
		break;
	default:
		break;
	}
}

static inline int post_one(struct dingo_qp *qp, const struct ibv_send_wr *wr)
{
	const enum ibv_wr_opcode opcode = wr->opcode;
	const struct dingo_wr_kind *kind = &dingo_wr_kinds[opcode];
	struct dingo_sq *sq = &qp->sq;
	struct dingo_sent *sent = dingo_sq_sent(sq);
	uint32_t offset = kind->data_offset, bytes = 0;
	struct dingo_wqe_ctrl *ctrl;
	int err = 0;

	ctrl = dingo_wqe_begin(sq, kind, wr->wr_id,
			       dingo_wqe_flags(qp, wr->send_flags));
	if (unlikely(qp->is_ud)) {
		if (!wr->wr.ud.ah)
			return EINVAL;
		dingo_wqe_address(ctrl, to_dingo_ah(wr->wr.ud.ah),
				  wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
		offset = DINGO_DATA_UD;
	}
	if (opcode != IBV_WR_SEND)
		write_target(ctrl, wr);
	if (likely(kind->data_offset != DINGO_DATA_NONE))
		err = write_data(sq, ctrl, offset, wr, &bytes);
	else if (opcode == IBV_WR_BIND_MW)
		err = dingo_wqe_bind(qp, ctrl, wr->bind_mw.mw, wr->bind_mw.rkey,
				     &wr->bind_mw.bind_info);
	if (unlikely(err))
		return err;
	dingo_wqe_end(sq, ctrl, sent, offset, bytes);
	return 0;
}

static __attribute__((noinline)) int post_list(struct ibv_qp *ibqp,
					       struct ibv_send_wr *wr,
					       struct ibv_send_wr **bad)
{
	struct dingo_qp *qp = to_dingo_qp(ibqp);
	struct dingo_sq *sq = &qp->sq;
	uint32_t start, before;
	int err = 0;

	/* ibv_post_send(3) needs RTS; in later states requests are flushed */
	if (unlikely(ibqp->state < IBV_QPS_RTS || qp->device_posts)) {
		*bad = wr;
		return EINVAL;
	}
	dingo_lock(&sq->lock);
	start = sq->producer;
	for (; wr; wr = wr->next) {
		if (unlikely(wr->opcode > IBV_WR_SEND_WITH_INV ||
			     !(qp->allowed_opcodes & 1U << wr->opcode))) {
			err = EINVAL;
			break;
		}
		if (unlikely(dingo_sq_room(sq) < sq->max_blocks)) {
			err = ENOMEM;
			break;
		}
		before = sq->producer;
		err = post_one(qp, wr);
		if (unlikely(err))
			break;
		if (unlikely(qp->direct))
			dingo_direct_take(qp, before, start);
	}
	if (err)
		*bad = wr;
	if (sq->producer != start)
		dingo_sq_ring(qp);
	dingo_unlock(&sq->lock);
	return err;
}

/* Returns true if post_small() can handle the list: one inline SEND or WRITE of 1 to small_inline
 * bytes in one piece, or one SEND, WRITE or READ with one SGE.
 */
static inline bool is_small(const struct dingo_qp *qp,
			    const struct ibv_send_wr *wr, bool is_inline)
{
	if (wr->next || wr->num_sge != 1)
		return false;
	if (is_inline)
		return wr->sg_list->length - 1 < qp->sq.small_inline &&
		       !(wr->opcode & ~(IBV_WR_SEND ^ IBV_WR_RDMA_WRITE));
	return wr->opcode <= IBV_WR_RDMA_READ &&
	       qp->sq.small_opcodes & 1U << wr->opcode;
}

/* Fast path for short lists, which determines latency and message rate. All calls are tail calls,
 * so no register has to be saved.
 */
static __attribute__((always_inline)) inline bool
post_small(struct dingo_qp *qp, const struct ibv_send_wr *wr, bool is_inline)
{
	const struct dingo_wr_kind *kind = &dingo_wr_kinds[wr->opcode];
	const struct ibv_sge *sge = wr->sg_list;
	struct dingo_sq *sq = &qp->sq;
	struct dingo_sent *sent = dingo_sq_sent(sq);
	struct dingo_wqe_ctrl *ctrl;
	uint8_t *data;

	if (unlikely(dingo_sq_room(sq) < sq->max_blocks))
		return false;
	ctrl = dingo_wqe_begin(sq, kind, wr->wr_id,
			       dingo_wqe_flags(qp, wr->send_flags) |
				       (is_inline ? DINGO_WQE_CTRL_FLAGS_INLINE_MASK : 0));
	data = (uint8_t *)ctrl + DINGO_DATA_RC;
	if (is_inline ? wr->opcode == IBV_WR_RDMA_WRITE :
			wr->opcode != IBV_WR_SEND)
		dingo_wqe_rdma(ctrl, wr->wr.rdma.remote_addr,
			       wr->wr.rdma.rkey);
	if (is_inline) {
		ctrl->inline_len = htole16(sge->length);
		dingo_copy_small(data, (void *)(uintptr_t)sge->addr,
				 sge->length);
	} else {
		*(struct dingo_sge *)data = (struct dingo_sge){
			.addr = htole64(sge->addr),
			.lkey = htole32(sge->lkey),
			.length = htole32(sge->length),
		};
		ctrl->num_sge = 1;
	}
	ctrl->blocks = 1;
	sent->blocks = 1;
	sq->producer++;
	return true;
}

static __attribute__((always_inline)) inline int
try_small(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
	  struct ibv_send_wr **bad, bool is_inline)
{
	struct dingo_qp *qp = to_dingo_qp(ibqp);
	struct dingo_sq *sq = &qp->sq;
	bool posted, kick;

	if (!is_small(qp, wr, is_inline) || ibqp->state < IBV_QPS_RTS ||
	    unlikely(!dingo_trylock(&sq->lock)))
		return post_list(ibqp, wr, bad);
	posted = post_small(qp, wr, is_inline);
	kick = posted && dingo_sq_ring_quietly(qp);
	dingo_unlock(&sq->lock);
	if (unlikely(!posted))
		return post_list(ibqp, wr, bad);
	if (unlikely(kick))
		dingo_kick(&sq->ring.db);
	return 0;
}

int dingo_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad)
{
	if (unlikely(!wr))
		return 0;
	if (wr->send_flags & IBV_SEND_INLINE)
		return try_small(ibqp, wr, bad, true);
	return try_small(ibqp, wr, bad, false);
}

int dingo_post_send_with_direct(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
				struct ibv_send_wr **bad)
{
	return wr ? post_list(ibqp, wr, bad) : 0;
}

void dingo_qp_init_send(struct dingo_qp *qp, enum ibv_qp_type type,
			bool signal_all, const struct dingo_context *ctx)
{
	qp->allowed_opcodes = allowed_opcodes(ctx, type);
	qp->is_ud = type == IBV_QPT_UD;
	/* 0: always post_list() */
	qp->sq.small_inline = qp->is_ud || qp->device_posts ? 0 : min_t(uint32_t, qp->sq.max_inline,
						    DINGO_SQ_BLOCK - DINGO_DATA_RC);
	qp->sq.small_opcodes = qp->is_ud || qp->device_posts ? 0 :
			       qp->allowed_opcodes &
				       (1U << IBV_WR_SEND | 1U << IBV_WR_RDMA_WRITE |
					1U << IBV_WR_RDMA_READ);
	qp->default_flags = signal_all ? DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK : 0;
}
