// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* ibv_resize_cq(3). The rings that the card has left stay until their entries are polled. */
#include <errno.h>
#include <stdlib.h>

#include "abi.h"
#include "completion.h"
#include "dingo.h"
#include "ring.h"

void dingo_cq_drop_old(struct dingo_cq *cq)
{
	struct dingo_old_ring *old = cq->old;

	cq->old = old->next;
	dingo_ring_unmap(&old->ring);
	free(old);
	cq->consumer = 0;
	dingo_cq_reported(cq, 0);
}

/* Whether the work request that `cqe` completes is a signaled send, which signaled_sends() counts. */
static bool is_signaled_send(struct dingo_context *ctx,
			     const struct dingo_cqe *cqe)
{
	uint32_t word = le32toh(cqe->qpn_op);
	const struct dingo_wqe_ctrl *ctrl;
	struct dingo_qp *qp;

	if (dingo_cqe_is_recv(word))
		return false;
	qp = dingo_find_qp(ctx, DINGO_GET(DINGO_CQE_QPN_OP_QPN_MASK, word));
	if (!qp)
		return false;
	ctrl = dingo_ring_entry(&qp->sq.ring, le32toh(cqe->wqe_index));
	return ctrl->flags & DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK;
}

/* Entries from `index` on that the card has written and nobody has polled, `most` at most, without those of signaled sends. */
static uint32_t entries_waiting(struct dingo_context *ctx,
				const struct dingo_ring *ring, uint32_t index,
				uint32_t most)
{
	uint32_t count = 0;

	for (; most--; index++) {
		const struct dingo_cqe *cqe = dingo_ring_entry(ring, index);

		if (!dingo_cqe_valid(cqe, ring, index))
			break;
		if (!is_signaled_send(ctx, cqe))
			count++;
	}
	return count;
}

/* Signaled sends whose completion nobody has polled. The WQEs stay in the ring until then. */
static uint32_t signaled_sends(struct dingo_qp *qp)
{
	struct dingo_sq *sq = &qp->sq;
	const struct dingo_wqe_ctrl *ctrl;
	uint32_t index, count = 0;

	dingo_lock(&sq->lock);
	index = atomic_load_explicit(&sq->consumer, memory_order_acquire);
	while (index != sq->producer) {
		ctrl = dingo_ring_entry(&sq->ring, index);
		if (ctrl->flags & DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK)
			count++;
		index += sq->sent[index & sq->ring.mask].blocks;
	}
	dingo_unlock(&sq->lock);
	return count;
}

uint32_t dingo_cq_entries_needed(struct dingo_context *ctx, struct dingo_cq *cq)
{
	const struct dingo_old_ring *old;
	uint32_t leaf, n, count = 0, index = cq->consumer;

	for (old = cq->old; old; old = old->next, index = 0)
		count += entries_waiting(ctx, &old->ring, index, old->left);
	count += entries_waiting(ctx, &cq->ring, index, cq->ring.mask + 1);
	pthread_mutex_lock(&ctx->mutex);
	for (leaf = 0; leaf < DINGO_QP_TABLE_SIZE; leaf++) {
		struct dingo_qp **qps = ctx->qp_table[leaf];

		for (n = 0; qps && n < DINGO_QP_TABLE_SIZE; n++) {
			if (qps[n] && qps[n]->vqp.qp.send_cq == &cq->vcq.cq)
				count += signaled_sends(qps[n]);
		}
	}
	pthread_mutex_unlock(&ctx->mutex);
	return count;
}

void dingo_cq_switch_ring(struct dingo_cq *cq, const struct dingo_ring *ring,
			  uint32_t switch_index, struct dingo_old_ring *old)
{
	struct dingo_old_ring **last = &cq->old;

	old->ring = cq->ring;
	old->left = cq->old ? switch_index : switch_index - cq->consumer;
	old->next = NULL;
	cq->ring = *ring;
	while (*last)
		last = &(*last)->next;
	*last = old;
	while (cq->old && !cq->old->left)
		dingo_cq_drop_old(cq);
}

/* The card moves to a new ring at once and says where the old one ends; polling drains the old ones first. A size that
 * does not hold what waits, or will, is refused: ibv_resize_cq(3) promises an error.
 */
int dingo_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct dingo_context *ctx = to_dingo_context(ibcq->context);
	struct udingo_resize_cq_resp resp = {};
	struct dingo_cq *cq = to_dingo_cq(ibcq);
	struct ibv_resize_cq req = {};
	struct dingo_old_ring *old;
	struct dingo_ring ring;
	int err;

	if (cqe <= 0)
		return EINVAL;
	old = malloc(sizeof(*old));
	if (!old)
		return ENOMEM;
	dingo_lock(&cq->lock);
	if (cqe < ibcq->cqe &&
	    dingo_cq_entries_needed(ctx, cq) > (uint32_t)cqe) {
		err = EINVAL;
		goto out;
	}
	err = ibv_cmd_resize_cq(ibcq, cqe, &req, sizeof(req), &resp.ibv_resp,
				sizeof(resp));
	if (err)
		goto out;
	ring = cq->ring;
	err = dingo_ring_map(ctx, &ring, &resp.drv_payload.ring, true);
	if (err) {
		/* The card writes where we cannot read: nothing more can be polled. */
		verbs_err(&ctx->vctx, "CQ %u is lost: its new ring cannot be mapped\n", cq->cqn);
		goto out;
	}
	dingo_cq_switch_ring(cq, &ring, resp.switch_index, old);
	old = NULL;
out:
	dingo_unlock(&cq->lock);
	free(old);
	return err;
}
