// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Shared receive queues. The ring is filled in order; each receive has a tag from a free list until
 * it completes.
 */
#include <errno.h>
#include <stdlib.h>

#include "abi.h"
#include "completion.h"
#include "dingo.h"
#include "dingodv.h"
#include "queue_size.h"
#include "ring.h"

void dingo_srq_free_tag(struct dingo_srq *srq, uint32_t tag)
{
	if (tag > srq->ring.mask)
		return;
	dingo_lock(&srq->lock);
	srq->next_free[tag] = srq->free_head;
	srq->free_head = tag;
	dingo_unlock(&srq->lock);
}

static int init_tags(struct dingo_srq *srq)
{
	uint32_t count = srq->ring.mask + 1, i;
	int err;

	err = dingo_buf_alloc(&srq->work, srq->parent_domain,
			      (size_t)count * (sizeof(*srq->wr_id) +
					       sizeof(*srq->next_free)),
			      DINGODV_RES_TYPE_SRQ);
	if (err)
		return err;
	srq->wr_id = srq->work.at;
	srq->next_free = (uint32_t *)(srq->wr_id + count);
	for (i = 0; i < count; i++)
		srq->next_free[i] = i + 1 < count ? i + 1 : DINGO_INVALID_ID;
	return 0;
}

static void free_srq(struct dingo_srq *srq)
{
	dingo_ring_unmap(&srq->ring);
	dingo_buf_free(&srq->work);
	dingo_put_parent_domain(srq->parent_domain);
	free(srq);
}

/* Maps the ring of an SRQ after the command that created it, whose result is `err`. */
static struct ibv_srq *finish_srq(struct dingo_context *ctx,
				  struct dingo_srq *srq, int err,
				  const struct dingo_create_srq_resp *resp,
				  struct ibv_srq_attr *attr)
{
	if (err)
		goto err_free;
	srq->srqn = resp->srqn;
	srq->vsrq.srq_num = resp->srqn;
	err = dingo_ring_map(ctx, &srq->ring, &resp->ring);
	if (err)
		goto err_srq;
	err = init_tags(srq);
	if (err)
		goto err_srq;
	attr->max_wr = srq->ring.mask + 1;
	attr->max_sge = srq->max_sge;
	return &srq->vsrq.srq;

err_srq:
	ibv_cmd_destroy_srq(&srq->vsrq.srq);
err_free:
	free_srq(srq);
	errno = err;
	return NULL;
}

static struct dingo_srq *alloc_srq(struct ibv_pd *pd,
				   const struct ibv_srq_attr *attr,
				   struct dingo_create_srq_req *req)
{
	struct dingo_context *ctx = to_dingo_context(pd->context);
	struct dingo_srq *srq;
	int err;

	err = dingo_rq_size(ctx, attr->max_wr, attr->max_sge, &req->log_size,
			    &req->log_stride);
	if (err) {
		errno = err;
		return NULL;
	}
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;
	srq->max_sge = dingo_rq_sges(req->log_stride);
	srq->parent_domain = dingo_hold_parent_domain(pd);
	dingo_lock_init(&srq->lock,
			!dingo_single_threaded(srq->parent_domain));
	return srq;
}

struct ibv_srq *dingo_create_srq(struct ibv_pd *pd,
				 struct ibv_srq_init_attr *attr)
{
	struct udingo_create_srq_resp resp = {};
	struct udingo_create_srq req = {};
	struct dingo_srq *srq = alloc_srq(pd, &attr->attr, &req.drv_payload);
	int err;

	if (!srq)
		return NULL;
	err = ibv_cmd_create_srq(pd, &srq->vsrq.srq, attr, &req.ibv_cmd,
				 sizeof(req), &resp.ibv_resp, sizeof(resp));
	return finish_srq(to_dingo_context(pd->context), srq, err,
			  &resp.drv_payload, &attr->attr);
}

struct ibv_srq *dingo_create_srq_ex(struct ibv_context *context,
				    struct ibv_srq_init_attr_ex *attr)
{
	struct udingo_create_srq_ex_resp resp = {};
	struct udingo_create_srq_ex req = {};
	struct dingo_srq *srq;
	int err;

	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD)) {
		errno = EINVAL;
		return NULL;
	}
	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE &&
	    attr->srq_type != IBV_SRQT_BASIC) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	srq = alloc_srq(attr->pd, &attr->attr, &req.drv_payload);
	if (!srq)
		return NULL;
	err = ibv_cmd_create_srq_ex(context, &srq->vsrq, attr, &req.ibv_cmd,
				    sizeof(req), &resp.ibv_resp, sizeof(resp));
	return finish_srq(to_dingo_context(context), srq, err,
			  &resp.drv_payload, &attr->attr);
}

int dingo_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	struct ibv_modify_srq cmd;

	return ibv_cmd_modify_srq(srq, attr, mask, &cmd, sizeof(cmd));
}

int dingo_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd;

	return ibv_cmd_query_srq(srq, attr, &cmd, sizeof(cmd));
}

int dingo_get_srq_num(struct ibv_srq *srq, uint32_t *srqn)
{
	*srqn = to_dingo_srq(srq)->srqn;
	return 0;
}

int dingo_destroy_srq(struct ibv_srq *srq)
{
	int err = ibv_cmd_destroy_srq(srq);

	if (err)
		return err;
	free_srq(to_dingo_srq(srq));
	return 0;
}
