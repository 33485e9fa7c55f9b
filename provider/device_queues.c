// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* dingodv calls for queues that a device posts to and polls. */
#include <errno.h>

#include "dingo.h"
#include "dingodv.h"
#include "doorbell.h"

struct ibv_cq_ex *dingodv_create_cq(struct ibv_context *context,
				    struct ibv_cq_init_attr_ex *attr,
				    const struct dingodv_cq_init_attr *dv_attr)
{
	uint32_t flags = dv_attr ? dv_attr->create_flags : 0;
	struct dingo_cq *cq;

	if (!dingodv_is_supported(context->device) ||
	    flags & ~DINGODV_CQ_CREATE_DEVICE_POLLS ||
	    (dv_attr && (dv_attr->comp_mask || dv_attr->reserved))) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	cq = dingo_make_cq_ex(context, attr,
			      flags & DINGODV_CQ_CREATE_DEVICE_POLLS);
	if (!cq)
		return NULL;
	verbs_init_cq(&cq->vcq.cq, context, attr->channel, attr->cq_context);
	return &cq->vcq.cq_ex;
}

struct ibv_qp *dingodv_create_qp(struct ibv_context *context,
				 struct ibv_qp_init_attr_ex *attr,
				 const struct dingodv_qp_init_attr *dv_attr)
{
	uint32_t flags = dv_attr ? dv_attr->create_flags : 0;

	if (!dingodv_is_supported(context->device) ||
	    flags & ~DINGODV_QP_CREATE_DEVICE_POSTS ||
	    (dv_attr && (dv_attr->comp_mask || dv_attr->reserved))) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return dingo_make_qp(context, attr,
			     flags & DINGODV_QP_CREATE_DEVICE_POSTS);
}

static int init_qp(const struct ibv_qp *ibqp, struct dingodv_qp *out)
{
	const struct dingo_qp *qp;

	if (!dingodv_is_supported(ibqp->context->device) || out->comp_mask)
		return EOPNOTSUPP;
	qp = to_dingo_qp(ibqp);
	if (!qp->device_posts)
		return EINVAL;
	out->sq = qp->sq.ring.buf;
	out->sq_doorbell = qp->sq.ring.db.slot;
	out->sq_blocks = qp->sq.ring.mask + 1;
	out->sq_doorbell_word = dingo_doorbell_word(DINGO_DB_SQ, qp->qpn);
	out->max_inline = qp->sq.max_inline;
	out->qpn = qp->qpn;
	return 0;
}

static int init_cq(const struct ibv_cq *ibcq, struct dingodv_cq *out)
{
	const struct dingo_cq *cq;

	if (!dingodv_is_supported(ibcq->context->device) || out->comp_mask)
		return EOPNOTSUPP;
	if (!dingo_device_polls(ibcq))
		return EINVAL;
	cq = to_dingo_cq(ibcq);
	out->entries = cq->device_ring.buf;
	out->doorbell = cq->device_ring.db.slot;
	out->status = (const uint32_t *)cq->status;
	out->num_entries = cq->device_ring.mask + 1;
	out->doorbell_word = dingo_doorbell_word(DINGO_DB_CQ, cq->cqn);
	out->cqn = cq->cqn;
	out->reserved = 0;
	return 0;
}

int dingodv_init_obj(struct dingodv_obj *obj, uint64_t obj_type)
{
	int err = 0;

	if (!obj_type || obj_type & ~(DINGODV_OBJ_QP | DINGODV_OBJ_CQ))
		return EOPNOTSUPP;
	if (obj_type & DINGODV_OBJ_QP)
		err = init_qp(obj->qp.in, obj->qp.out);
	if (!err && obj_type & DINGODV_OBJ_CQ)
		err = init_cq(obj->cq.in, obj->cq.out);
	return err;
}
