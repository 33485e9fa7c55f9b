// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Completion queues: creation, destruction and arming. cq_resize.c resizes; cq_poll*.c polls. */
#include <errno.h>
#include <stdlib.h>

#include "abi.h"
#include "completion.h"
#include "dingo.h"
#include "direct.h"
#include "doorbell.h"
#include "rdma_core_compat.h"
#include "ring.h"

#define DINGO_CQ_SUPPORTED_WC_FLAGS                                            \
	(IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |         \
	 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

static int check_attr(struct dingo_context *ctx,
		      const struct ibv_cq_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask,
			     IBV_CQ_INIT_ATTR_MASK_FLAGS |
				     IBV_CQ_INIT_ATTR_MASK_PD))
		return EOPNOTSUPP;
	if (!check_comp_mask(attr->wc_flags, DINGO_CQ_SUPPORTED_WC_FLAGS))
		return EOPNOTSUPP;
	if (attr->wc_flags & (IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			      IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) &&
	    !(ctx->caps & DINGO_CAP_TIMESTAMP))
		return EOPNOTSUPP;
	if (attr->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK &&
	    !ctx->clock)
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    !check_comp_mask(attr->flags, IBV_CREATE_CQ_ATTR_SINGLE_THREADED))
		return EOPNOTSUPP;
	if (attr->cqe == 0)
		return EINVAL;
	return 0;
}

static struct dingo_pd *attr_domain(const struct ibv_cq_init_attr_ex *attr)
{
	if (!(attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD))
		return NULL;
	return dingo_hold_parent_domain(attr->parent_domain);
}

/* Gives a CQ that a device polls an empty ring for ibv_poll_cq(), which then needs no flag to
 * check.
 */
static void leave_to_device(struct dingo_cq *cq)
{
	static struct dingo_cqe nothing;

	cq->device_ring = cq->ring;
	cq->ring.buf = &nothing;
	cq->ring.mask = 0;
}

static struct dingo_cq *dingo_make_cq(struct ibv_context *context,
				      struct ibv_cq_init_attr_ex *attr,
				      bool device_polls)
{
	struct dingo_context *ctx = to_dingo_context(context);
	struct udingo_create_cq_ex_resp resp = {};
	struct udingo_create_cq_ex req = {};
	struct ibv_cq_init_attr_ex core = *attr;
	struct dingo_cq *cq;
	bool single;
	int err;

	err = check_attr(ctx, attr);
	if (!err && device_polls && !(ctx->caps & DINGO_CAP_DB_WATCH))
		err = EOPNOTSUPP;
	if (err) {
		errno = err;
		return NULL;
	}
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;
	cq->parent_domain = attr_domain(attr);
	single = dingo_single_threaded(cq->parent_domain) ||
		 (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
		  attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	dingo_lock_init(&cq->lock, !single);
	/* handled here, not in the kernel */
	core.comp_mask &= ~(IBV_CQ_INIT_ATTR_MASK_PD |
			    IBV_CQ_INIT_ATTR_MASK_FLAGS);
	core.flags = 0;
	if (device_polls)
		req.comp_mask = DINGO_CREATE_WATCHED;
	err = dingo_cmd_create_cq_ex(context, &core, &cq->vcq, &req.ibv_cmd,
				     sizeof(req), &resp.ibv_resp, sizeof(resp),
				     CREATE_CQ_CMD_FLAGS_TS_IGNORED_EX);
	if (err)
		goto err_free;
	cq->cqn = resp.cqn;
	cq->last_qp = &dingo_no_qp;
	cq->status = ctx->status;
	cq->clock_page = ctx->clock;
	cq->wants_time = attr->wc_flags & (IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
					   IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
	if (cq->clock_page)
		dingo_clock_read(cq->clock_page, &cq->clock);
	err = dingo_ring_map(ctx, &cq->ring, &resp.drv_payload.ring);
	if (err)
		goto err_cq;
	dingo_cq_reported(cq, 0);
	if (device_polls)
		leave_to_device(cq);
	else
		err = dingo_direct_init_cq(cq);
	if (err)
		goto err_ring;
	return cq;

err_ring:
	dingo_ring_unmap(&cq->ring);
err_cq:
	ibv_cmd_destroy_cq(&cq->vcq.cq);
err_free:
	dingo_put_parent_domain(cq->parent_domain);
	free(cq);
	errno = err;
	return NULL;
}

struct ibv_cq *dingo_create_cq(struct ibv_context *context, int cqe,
			       struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.channel = channel,
		.comp_vector = vector,
	};
	struct dingo_cq *cq;

	if (cqe <= 0) {
		errno = EINVAL;
		return NULL;
	}
	cq = dingo_make_cq(context, &attr, false);
	return cq ? &cq->vcq.cq : NULL;
}

struct dingo_cq *dingo_make_cq_ex(struct ibv_context *context,
				  struct ibv_cq_init_attr_ex *attr,
				  bool device_polls)
{
	struct dingo_cq *cq = dingo_make_cq(context, attr, device_polls);
	int err;

	if (!cq)
		return NULL;
	err = dingo_cq_fill_ex_ops(cq, attr);
	if (err) {
		dingo_destroy_cq(&cq->vcq.cq);
		errno = err;
		return NULL;
	}
	return cq;
}

struct ibv_cq_ex *dingo_create_cq_ex(struct ibv_context *context,
				     struct ibv_cq_init_attr_ex *attr)
{
	struct dingo_cq *cq = dingo_make_cq_ex(context, attr, false);

	return cq ? &cq->vcq.cq_ex : NULL;
}

int dingo_destroy_cq(struct ibv_cq *ibcq)
{
	struct dingo_cq *cq = to_dingo_cq(ibcq);
	int err = ibv_cmd_destroy_cq(ibcq);

	if (err)
		return err;
	free(cq->old);
	free(cq->direct);
	dingo_ring_unmap(cq->device_ring.buf ? &cq->device_ring : &cq->ring);
	dingo_put_parent_domain(cq->parent_domain);
	free(cq);
	return 0;
}

static void ring(struct dingo_cq *cq, bool arm)
{
	bool pending;

	dingo_cq_reported(cq, cq->consumer);
	pending = dingo_ring_cq_doorbell(&cq->ring.db, cq->cqn, cq->consumer, arm,
					 !cq->armed_any, &cq->arm);
	/* the entry at armed_at may raise no event: only the next event disarms */
	if (pending && !arm && cq->direct)
		cq->direct->any = false;
}

void dingo_cq_ring(struct dingo_cq *cq)
{
	ring(cq, false);
}

int dingo_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct dingo_cq *cq = to_dingo_cq(ibcq);
	/* between start_poll and end_poll this thread has the lock */
	bool locked = atomic_load_explicit(&cq->poller, memory_order_relaxed) ==
		      pthread_self();

	if (unlikely(dingo_device_polls(ibcq)))
		return EINVAL;
	if (!locked)
		dingo_lock(&cq->lock);
	/* ibv_req_notify_cq(3): a request for solicited completions does not cancel one for any */
	if (!solicited_only)
		cq->armed_any = true;
	if (cq->direct)
		dingo_direct_arm(cq);
	ring(cq, true);
	if (!locked)
		dingo_unlock(&cq->lock);
	return 0;
}

/* ibv_modify_cq(3): event moderation, which the card implements. */
int dingo_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd = {};

	return ibv_cmd_modify_cq(ibcq, attr, &cmd, sizeof(cmd));
}

void dingo_cq_event(struct ibv_cq *ibcq)
{
	struct dingo_cq *cq = to_dingo_cq(ibcq);

	dingo_lock(&cq->lock);
	cq->armed_any = false;
	if (cq->direct)
		dingo_direct_event(cq);
	dingo_unlock(&cq->lock);
}

static void forget_entry(struct dingo_cqe *cqe, struct dingo_qp *qp)
{
	uint32_t word = le32toh(cqe->qpn_op);

	if (DINGO_GET(DINGO_CQE_QPN_OP_QPN_MASK, word) != qp->qpn)
		return;
	if (qp->srq && dingo_cqe_is_recv(word))
		dingo_srq_free_tag(qp->srq, le32toh(cqe->wqe_index));
	/* no QP has number 0: polling skips it */
	cqe->qpn_op = htole32(word & ~DINGO_CQE_QPN_OP_QPN_MASK);
}

/* Discards unpolled entries of a QP that was destroyed or reset.
 * The card writes no more of them.
 */
void dingo_cq_forget_qp(struct dingo_cq *cq, struct dingo_qp *qp)
{
	struct dingo_cqe *cqe;
	uint32_t i;

	dingo_lock(&cq->lock);
	if (cq->direct)
		dingo_direct_forget_qp(cq, qp);
	for (i = 0; cq->old && i < cq->old->count; i++)
		forget_entry(&cq->old->entries[cq->old->next + i], qp);
	for (i = 0; i <= cq->ring.mask; i++) {
		cqe = dingo_ring_entry(&cq->ring, cq->consumer + i);
		if (!dingo_cqe_valid(cqe, &cq->ring, cq->consumer + i))
			break;
		udma_from_device_barrier();
		forget_entry(cqe, qp);
	}
	if (cq->last_qp == qp)
		cq->last_qp = &dingo_no_qp;
	dingo_unlock(&cq->lock);
}
