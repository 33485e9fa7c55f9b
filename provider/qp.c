// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Queue pairs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "completion.h"
#include "dingo.h"
#include "direct.h"
#include "dingodv.h"
#include "push.h"
#include "queue_size.h"
#include "rdma_core_compat.h"
#include "ring.h"
#include "wqe.h"

/* log2 of the blocks in a page of ring memory */
#define DINGO_LOG_PAGE_BLOCKS 6

static int check_attr(struct dingo_context *ctx,
		      const struct ibv_qp_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask,
			     IBV_QP_INIT_ATTR_PD |
				     IBV_QP_INIT_ATTR_CREATE_FLAGS |
				     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD))
		return EINVAL;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS &&
	    attr->create_flags)
		return EOPNOTSUPP;
	if (!attr->send_cq || !attr->recv_cq)
		return EINVAL;
	/* ibv_create_qp(3): shared receive queues are for RC and UD */
	if (attr->srq && attr->qp_type == IBV_QPT_UC)
		return EINVAL;
	switch (attr->qp_type) {
	case IBV_QPT_RC:
		return ctx->caps & DINGO_CAP_RC ? 0 : EOPNOTSUPP;
	case IBV_QPT_UC:
		return ctx->caps & DINGO_CAP_UC ? 0 : EOPNOTSUPP;
	case IBV_QPT_UD:
		return ctx->caps & DINGO_CAP_UD ? 0 : EOPNOTSUPP;
	default:
		return EOPNOTSUPP;
	}
}

/* Sizes the send queue in blocks, as if every WQE were as large as the caps allow. */
static int size_sq(const struct dingo_context *ctx, struct dingo_qp *qp,
		   struct ibv_qp_init_attr_ex *attr,
		   struct dingo_create_qp_req *req)
{
	uint32_t offset = attr->qp_type == IBV_QPT_UD ? DINGO_DATA_UD :
							DINGO_DATA_RC;
	uint32_t max_inline = attr->qp_type == IBV_QPT_UD ?
		min_t(uint32_t, ctx->max_inline, DINGO_MAX_INLINE_UD) :
		ctx->max_inline;
	uint32_t sges = max_t(uint32_t, attr->cap.max_send_sge, 1);
	uint32_t data, blocks;

	if (attr->cap.max_send_sge > DINGO_SQ_MAX_SGE ||
	    attr->cap.max_inline_data > max_inline ||
	    attr->cap.max_send_wr > 1U << ctx->log_max_sq)
		return EINVAL;
	data = max_t(uint32_t, sges * sizeof(struct dingo_sge),
		     attr->cap.max_inline_data);
	blocks = dingo_wqe_blocks(offset, data);
	req->log_sq = dingo_log2_up((uint64_t)blocks *
				    max_t(uint32_t, attr->cap.max_send_wr, 1));
	if (req->log_sq > ctx->log_max_sq)
		return EINVAL;
	/* a ring takes a page anyway, and ib_send_lat -e posts one more than it asked for */
	req->log_sq = max_t(uint8_t, req->log_sq, DINGO_LOG_PAGE_BLOCKS);
	qp->sq.max_blocks = blocks;
	/* what fits the blocks anyway is given */
	qp->sq.max_sge = min_t(uint32_t, DINGO_SQ_MAX_SGE,
			       (blocks * DINGO_SQ_BLOCK - offset) /
				       sizeof(struct dingo_sge));
	qp->sq.max_inline = min_t(uint32_t, max_inline,
				  blocks * DINGO_SQ_BLOCK - offset);
	return 0;
}

static int size_queues(const struct dingo_context *ctx, struct dingo_qp *qp,
		       struct ibv_qp_init_attr_ex *attr,
		       struct dingo_create_qp_req *req)
{
	int err = size_sq(ctx, qp, attr, req);

	if (err || attr->srq)
		return err;
	err = dingo_rq_size(ctx, max_t(uint32_t, attr->cap.max_recv_wr, 1),
			    attr->cap.max_recv_sge, &req->log_rq,
			    &req->log_rq_stride);
	qp->rq.max_sge = dingo_rq_sges(req->log_rq_stride);
	return err;
}

static int table_insert(struct dingo_context *ctx, struct dingo_qp *qp)
{
	uint32_t index = qp->qpn & ((1U << DINGO_QPN_INDEX_BITS) - 1);
	struct dingo_qp **_Atomic *slot =
		&ctx->qp_table[index >> DINGO_QP_TABLE_BITS];
	struct dingo_qp **leaf;
	int err = 0;

	pthread_mutex_lock(&ctx->mutex);
	leaf = atomic_load(slot);
	if (!leaf) {
		leaf = calloc(DINGO_QP_TABLE_SIZE, sizeof(*leaf));
		if (leaf)
			atomic_store(slot, leaf);
		else
			err = ENOMEM;
	}
	if (leaf)
		leaf[index & (DINGO_QP_TABLE_SIZE - 1)] = qp;
	pthread_mutex_unlock(&ctx->mutex);
	return err;
}

static void table_remove(struct dingo_context *ctx, struct dingo_qp *qp)
{
	uint32_t index = qp->qpn & ((1U << DINGO_QPN_INDEX_BITS) - 1);
	struct dingo_qp **leaf;

	pthread_mutex_lock(&ctx->mutex);
	leaf = atomic_load(&ctx->qp_table[index >> DINGO_QP_TABLE_BITS]);
	if (leaf && leaf[index & (DINGO_QP_TABLE_SIZE - 1)] == qp)
		leaf[index & (DINGO_QP_TABLE_SIZE - 1)] = NULL;
	pthread_mutex_unlock(&ctx->mutex);
}

static int map_queues(struct dingo_context *ctx, struct dingo_qp *qp,
		      const struct dingo_create_qp_resp *resp)
{
	size_t sent_bytes, id_bytes = 0;
	int err;

	err = dingo_ring_map(ctx, &qp->sq.ring, &resp->sq);
	if (!err)
		err = dingo_push_init(qp, resp->sq.db_mmap, resp->push_mmap);
	if (err)
		return err;
	sent_bytes = (qp->sq.ring.mask + 1ULL) * sizeof(*qp->sq.sent);
	if (!qp->srq) {
		err = dingo_ring_map(ctx, &qp->rq.ring, &resp->rq);
		if (err)
			return err;
		id_bytes = (qp->rq.ring.mask + 1ULL) * sizeof(*qp->rq.wr_id);
	}
	err = dingo_buf_alloc(&qp->work, qp->parent_domain,
			      sent_bytes + id_bytes, DINGODV_RES_TYPE_QP);
	if (err)
		return err;
	qp->sq.sent = qp->work.at;
	if (!qp->srq)
		qp->rq.wr_id = (uint64_t *)((uint8_t *)qp->work.at + sent_bytes);
	return 0;
}

static void free_qp(struct dingo_qp *qp)
{
	dingo_ring_unmap(&qp->sq.ring);
	dingo_ring_unmap(&qp->rq.ring);
	dingo_buf_free(&qp->work);
	dingo_put_parent_domain(qp->parent_domain);
	free(qp);
}

static void report_caps(const struct dingo_qp *qp, struct ibv_qp_cap *cap)
{
	/* more than that cannot be asked for, though there may be room */
	cap->max_send_wr = min_t(uint32_t, DINGO_MAX_QP_WR,
				 (qp->sq.ring.mask + 1) / qp->sq.max_blocks);
	cap->max_send_sge = qp->sq.max_sge;
	cap->max_inline_data = qp->sq.max_inline;
	cap->max_recv_wr = qp->srq ? 0 : qp->rq.ring.mask + 1;
	cap->max_recv_sge = qp->srq ? 0 : qp->rq.max_sge;
}

/* In struct verbs_qp comp_mask follows struct ibv_qp_ex, which got wr_atomic_write in libibverbs 44
 * and wr_flush in 45 without a change of the private ABI. So the running library may have comp_mask
 * up to two pointers before the place compiled in here, where these two operations are, which this
 * card lacks.
 */
#define DINGO_QP_LAYOUTS 3

static uint32_t *comp_mask_at(struct dingo_qp *qp, unsigned int missing)
{
	return (uint32_t *)((uint8_t *)&qp->vqp.comp_mask -
			    missing * sizeof(void *));
}

static void mark_comp_masks(struct dingo_qp *qp)
{
	unsigned int n;

	for (n = 0; n < DINGO_QP_LAYOUTS; n++)
		*comp_mask_at(qp, n) = UINT32_MAX;
}

/* Sets `value` at the place that the library has cleared or set, and removes the marks at the
 * others.
 */
static void set_comp_mask(struct dingo_qp *qp, uint32_t value)
{
	unsigned int n;

	for (n = 0; n < DINGO_QP_LAYOUTS; n++) {
		if (*comp_mask_at(qp, n) == UINT32_MAX)
			*comp_mask_at(qp, n) = 0;
		else
			*comp_mask_at(qp, n) |= value;
	}
}

/* Checks that a QP to which a device posts has no ibv_wr_* operations and a send CQ that a device
 * polls, and that other QPs use no such CQ.
 */
static int check_device_posts(const struct dingo_context *ctx,
			      const struct ibv_qp_init_attr_ex *attr,
			      bool device_posts)
{
	if (!device_posts)
		return dingo_device_polls(attr->send_cq) ||
				       dingo_device_polls(attr->recv_cq) ?
			       EINVAL :
			       0;
	if (!(ctx->caps & DINGO_CAP_DB_WATCH))
		return EOPNOTSUPP;
	return attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS ||
			       !dingo_device_polls(attr->send_cq) ||
			       dingo_device_polls(attr->recv_cq) ?
		       EINVAL :
		       0;
}

struct ibv_qp *dingo_make_qp(struct ibv_context *context,
			     struct ibv_qp_init_attr_ex *attr, bool device_posts)
{
	struct dingo_context *ctx = to_dingo_context(context);
	struct ibv_qp_init_attr_ex core = *attr;
	struct udingo_create_qp_ex_resp resp = {};
	struct udingo_create_qp_ex req = {};
	struct dingo_qp *qp;
	int err;

	err = check_attr(ctx, attr);
	if (!err)
		err = check_device_posts(ctx, attr, device_posts);
	if (err)
		goto err_attr;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	qp->parent_domain = dingo_hold_parent_domain(attr->pd);
	dingo_lock_init(&qp->sq.lock, !dingo_single_threaded(qp->parent_domain));
	dingo_lock_init(&qp->rq.lock, !dingo_single_threaded(qp->parent_domain));
	qp->device_posts = device_posts;
	if (device_posts)
		req.comp_mask = DINGO_CREATE_WATCHED;
	qp->srq = attr->srq ? to_dingo_srq(attr->srq) : NULL;
	err = size_queues(ctx, qp, attr, &req.drv_payload);
	if (err)
		goto err_free;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		err = dingo_qp_fill_wr_ops(qp, attr);
		if (err)
			goto err_free;
	}
	/* handled here, not in the kernel */
	core.comp_mask &= ~(IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
			    IBV_QP_INIT_ATTR_CREATE_FLAGS);
	mark_comp_masks(qp);
	err = dingo_cmd_create_qp_ex2(context, &qp->vqp, &core, &req.ibv_cmd,
				      sizeof(req), &resp.ibv_resp, sizeof(resp));
	if (err)
		goto err_free;
	set_comp_mask(qp, attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS ?
				  VERBS_QP_EX :
				  0);
	qp->qpn = qp->vqp.qp.qp_num;
	err = map_queues(ctx, qp, &resp.drv_payload);
	if (err)
		goto err_qp;
	err = table_insert(ctx, qp);
	if (err)
		goto err_qp;
	dingo_qp_init_send(qp, attr->qp_type, attr->sq_sig_all, ctx);
	report_caps(qp, &attr->cap);
	return &qp->vqp.qp;

err_qp:
	ibv_cmd_destroy_qp(&qp->vqp.qp);
err_free:
	free_qp(qp);
err_attr:
	errno = err;
	return NULL;
}

struct ibv_qp *dingo_create_qp_ex(struct ibv_context *context,
				  struct ibv_qp_init_attr_ex *attr)
{
	return dingo_make_qp(context, attr, false);
}

struct ibv_qp *dingo_create_qp(struct ibv_pd *pd,
			       struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex attr_ex = {};
	struct ibv_qp *qp;

	memcpy(&attr_ex, attr, sizeof(*attr));
	attr_ex.comp_mask = IBV_QP_INIT_ATTR_PD;
	attr_ex.pd = pd;
	qp = dingo_create_qp_ex(pd->context, &attr_ex);
	if (qp)
		attr->cap = attr_ex.cap;
	return qp;
}

/* In RESET the card has emptied the queues: empties them here,
 * and discards unpolled completions.
 */
static void reset_queues(struct dingo_qp *qp)
{
	dingo_cq_forget_qp(to_dingo_cq(qp->vqp.qp.recv_cq), qp);
	dingo_cq_forget_qp(to_dingo_cq(qp->vqp.qp.send_cq), qp);
	dingo_direct_reset(qp);
	dingo_lock(&qp->sq.lock);
	qp->sq.producer = 0;
	qp->sq.rung = 0;
	atomic_store(&qp->sq.consumer, 0);
	dingo_unlock(&qp->sq.lock);
	dingo_lock(&qp->rq.lock);
	qp->rq.producer = 0;
	atomic_store(&qp->rq.consumer, 0);
	dingo_unlock(&qp->rq.lock);
}

int dingo_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct dingo_qp *qp = to_dingo_qp(ibqp);
	struct ibv_modify_qp cmd = {};
	int err;

	if (mask & IBV_QP_STATE && attr->qp_state != IBV_QPS_RTR &&
	    attr->qp_state != IBV_QPS_RTS)
		dingo_direct_leave(qp);
	err = ibv_cmd_modify_qp(ibqp, attr, mask, &cmd, sizeof(cmd));
	/* a change of access rights has closed the page, too: it is opened again */
	if (!err && mask & (IBV_QP_STATE | IBV_QP_ACCESS_FLAGS))
		dingo_direct_enter(qp, mask & IBV_QP_STATE ? attr->qp_state : ibqp->state);
	if (!err && mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET)
		reset_queues(qp);
	return err;
}

int dingo_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		   struct ibv_qp_init_attr *init_attr)
{
	struct dingo_qp *qp = to_dingo_qp(ibqp);
	struct ibv_query_qp cmd;
	int err;

	err = ibv_cmd_query_qp(ibqp, attr, mask, init_attr, &cmd, sizeof(cmd));
	if (err)
		return err;
	/* the kernel counts blocks; the application asked for work requests */
	report_caps(qp, &init_attr->cap);
	init_attr->sq_sig_all = qp->default_flags != 0;
	attr->cap = init_attr->cap;
	return 0;
}

int dingo_destroy_qp(struct ibv_qp *ibqp)
{
	struct dingo_context *ctx = to_dingo_context(ibqp->context);
	struct dingo_qp *qp = to_dingo_qp(ibqp);
	int err;

	dingo_direct_begin_destroy(qp);
	err = ibv_cmd_destroy_qp(ibqp);
	if (err) {
		dingo_direct_end_destroy(qp, false);
		return err;
	}
	table_remove(ctx, qp);
	dingo_cq_forget_qp(to_dingo_cq(ibqp->recv_cq), qp);
	dingo_cq_forget_qp(to_dingo_cq(ibqp->send_cq), qp);
	dingo_direct_end_destroy(qp, true);
	free_qp(qp);
	return 0;
}
