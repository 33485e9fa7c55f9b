// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shared receive queues.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "dingo_ib.h"

#define DINGO_NO_TAG U32_MAX

static void dingo_srq_event_work(struct work_struct *work)
{
	struct dingo_srq *srq = container_of(work, struct dingo_srq,
					     event_work);
	struct ib_event event = {
		.device = srq->ibsrq.device,
		.element.srq = &srq->ibsrq,
	};
	unsigned int kind;

	for (kind = 0; kind < BITS_PER_LONG; kind++) {
		if (!test_and_clear_bit(kind, &srq->events))
			continue;
		event.event = kind;
		if (srq->ibsrq.event_handler)
			srq->ibsrq.event_handler(&event,
						 srq->ibsrq.srq_context);
	}
}

/**
 * dingo_srq_event() - report an event to the owner of an SRQ
 * @ib: the device
 * @srqn: the SRQ; unknown numbers are ignored
 * @event: what happened
 *
 * Any context; the owner's handler runs in a workqueue.
 */
void dingo_srq_event(struct dingo_ibdev *ib, u32 srqn, enum ib_event_type event)
{
	struct dingo_srq *srq;
	unsigned long flags;

	xa_lock_irqsave(&ib->srqs, flags);
	srq = xa_load(&ib->srqs, srqn);
	if (srq) {
		set_bit(event, &srq->events);
		queue_work(ib->wq, &srq->event_work);
	}
	xa_unlock_irqrestore(&ib->srqs, flags);
}

static int dingo_srq_user_sizes(struct dingo_dev *dev, struct dingo_srq *srq,
				struct ib_udata *udata)
{
	struct dingo_create_srq_req req = {};
	int err;

	err = dingo_udata_in(udata, &req, sizeof(req));
	if (err)
		return err;
	if (req.comp_mask || req.reserved)
		return -EOPNOTSUPP;
	err = dingo_check_rq_size(dev, req.log_size, req.log_stride,
				  srq->max_wr, srq->max_sge);
	if (err)
		return err;
	srq->log_size = req.log_size;
	srq->log_stride = req.log_stride;
	return 0;
}

static int dingo_srq_kernel_init(struct dingo_srq *srq)
{
	u32 tag, num;

	srq->log_size = order_base_2(srq->max_wr);
	srq->log_stride = order_base_2(DINGO_RQ_HDR + max(srq->max_sge, 1U) *
					       sizeof(struct dingo_sge));
	num = BIT(srq->log_size);
	srq->receives = kvcalloc(num, sizeof(*srq->receives), GFP_KERNEL);
	srq->index = kvcalloc(num, sizeof(*srq->index), GFP_KERNEL);
	srq->posted = kvcalloc(BITS_TO_LONGS(num), sizeof(*srq->posted),
			       GFP_KERNEL);
	if (!srq->receives || !srq->index || !srq->posted)
		return -ENOMEM;
	for (tag = 0; tag < num; tag++)
		srq->index[tag] = tag + 1 < num ? tag + 1 : DINGO_NO_TAG;
	return 0;
}

static int dingo_srq_create_on_card(struct dingo_dev *dev,
				    struct dingo_srq *srq)
{
	struct dingo_cmd_create_srq cmd = {
		.srqn = cpu_to_le32(srq->srqn),
		.pdn = cpu_to_le32(to_dpd(srq->ibsrq.pd)->pdn),
		.db_page = cpu_to_le32(srq->db.page->index),
		.log_size = srq->log_size,
		.log_stride = srq->log_stride,
	};

	dingo_ring_describe(&srq->qmem->ring, &cmd.ring);
	return dingo_cmd_create_srq(dev, &cmd);
}

static int dingo_create_srq_answer(struct dingo_srq *srq,
				   struct dingo_ucontext *uc,
				   struct ib_udata *udata)
{
	struct dingo_create_srq_resp resp = { .srqn = srq->srqn };
	int err;

	err = dingo_ring_map_fill(uc, srq->qmem, &srq->db, srq->log_size,
				  srq->log_stride, &resp.ring);
	return err ?: dingo_udata_out(udata, &resp, sizeof(resp));
}

static int dingo_srq_check(struct dingo_dev *dev,
			   const struct ib_srq_init_attr *init)
{
	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!init->attr.max_wr ||
	    init->attr.max_wr > BIT(dev->limits.log_max_rq) ||
	    init->attr.max_sge > dev->limits.max_recv_sge)
		return -EINVAL;
	return 0;
}

/**
 * dingo_create_srq() - create a shared receive queue
 * @ibsrq: the queue
 * @init: sizes, rounded up on success; the limit is ignored
 * (dingo_modify_srq())
 * @udata: struct dingo_create_srq_req and _resp; NULL: called by the kernel
 *
 * Return: 0 or a negative error.
 */
int dingo_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		     struct ib_udata *udata)
{
	struct dingo_ibdev *ib = to_dibdev(ibsrq->device);
	struct dingo_srq *srq = to_dsrq(ibsrq);
	struct dingo_ucontext *uc = NULL;
	struct dingo_dev *dev = ib->dev;
	int err;

	err = dingo_srq_check(dev, init);
	if (err)
		return err;
	srq->max_wr = init->attr.max_wr;
	srq->max_sge = init->attr.max_sge;
	spin_lock_init(&srq->lock);
	INIT_WORK(&srq->event_work, dingo_srq_event_work);
	if (udata) {
		uc = dingo_udata_ucontext(udata);
		err = dingo_srq_user_sizes(dev, srq, udata);
	} else {
		err = dingo_srq_kernel_init(srq);
	}
	if (err)
		goto err_arrays;
	/* report the actual capacity of the entries */
	srq->max_wr = BIT(srq->log_size);
	srq->max_sge = min_t(u32, dev->limits.max_recv_sge,
			     (BIT(srq->log_stride) - DINGO_RQ_HDR) /
				     sizeof(struct dingo_sge));

	err = dingo_qmem_alloc(dev, uc,
			       1UL << (srq->log_size + srq->log_stride),
			       &srq->qmem);
	if (err)
		goto err_arrays;
	err = dingo_db_alloc(dingo_db_space(dev, uc), &srq->db);
	if (err)
		goto err_qmem;
	err = xa_alloc_irq(&ib->srqs, &srq->srqn, srq,
			   XA_LIMIT(0, le32_to_cpu(dev->limits.max_srq) - 1),
			   GFP_KERNEL);
	if (err) {
		err = err == -EBUSY ? -ENOSPC : err;
		goto err_db;
	}
	err = dingo_srq_create_on_card(dev, srq);
	if (err)
		goto err_srqn;
	if (udata) {
		err = dingo_create_srq_answer(srq, uc, udata);
		if (err)
			goto err_card;
	}
	init->attr.max_wr = srq->max_wr;
	init->attr.max_sge = srq->max_sge;
	return 0;

err_card:
	dingo_cmd_destroy_srq(dev, srq->srqn);
err_srqn:
	xa_erase_irq(&ib->srqs, srq->srqn);
	cancel_work_sync(&srq->event_work);
err_db:
	dingo_db_free(dingo_db_space(dev, uc), &srq->db);
err_qmem:
	dingo_qmem_free(srq->qmem);
err_arrays:
	kvfree(srq->receives);
	kvfree(srq->index);
	kvfree(srq->posted);
	return err;
}

/**
 * dingo_modify_srq() - arm the limit event
 * @ibsrq: the queue
 * @attr: the limit
 * @mask: IB_SRQ_LIMIT; the size cannot change
 * @udata: must be empty
 *
 * Return: 0, -EOPNOTSUPP, -EINVAL, -EIO.
 */
int dingo_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct dingo_srq *srq = to_dsrq(ibsrq);
	int err;

	err = dingo_udata_none(udata);
	if (err)
		return err;
	if (mask & ~IB_SRQ_LIMIT)
		return -EOPNOTSUPP;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit > srq->max_wr)
		return -EINVAL;
	return dingo_cmd_modify_srq(to_ddev(ibsrq->device), srq->srqn,
				    attr->srq_limit);
}

/**
 * dingo_query_srq() - query size and limit
 * @ibsrq: the queue
 * @attr: the result
 *
 * Return: 0 or a negative error.
 */
int dingo_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct dingo_srq *srq = to_dsrq(ibsrq);
	u32 limit, available;
	int err;

	err = dingo_cmd_query_srq(to_ddev(ibsrq->device), srq->srqn, &limit,
				  &available);
	if (err)
		return err;
	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = limit;
	return 0;
}

/**
 * dingo_destroy_srq() - destroy a shared receive queue
 * @ibsrq: the queue; no QP uses it
 * @udata: NULL: called by the kernel
 *
 * Return: 0 or a negative error.
 */
int dingo_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct dingo_ucontext *uc = udata ? dingo_udata_ucontext(udata) : NULL;
	struct dingo_ibdev *ib = to_dibdev(ibsrq->device);
	struct dingo_srq *srq = to_dsrq(ibsrq);
	int err;

	err = dingo_cmd_destroy_srq(ib->dev, srq->srqn);
	if (err)
		return err;
	xa_erase_irq(&ib->srqs, srq->srqn);
	cancel_work_sync(&srq->event_work);
	dingo_db_free(dingo_db_space(ib->dev, uc), &srq->db);
	dingo_qmem_free(srq->qmem);
	kvfree(srq->receives);
	kvfree(srq->index);
	kvfree(srq->posted);
	return 0;
}

/**
 * dingo_post_srq_recv() - post receives to a kernel SRQ
 * @ibsrq: the queue
 * @wr: list of work requests
 * @bad: the first that was not posted
 *
 * Any context.
 * Return: 0, -EINVAL, -ENOMEM if the queue is full.
 */
int dingo_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad)
{
	struct dingo_dev *dev = to_ddev(ibsrq->device);
	struct dingo_srq *srq = to_dsrq(ibsrq);
	u32 mask = BIT(srq->log_size) - 1;
	unsigned long flags;
	bool posted = false;
	int err = 0;
	u32 tag;

	if (!srq->receives) {
		*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&srq->lock, flags);
	for (; wr; wr = wr->next) {
		if (wr->num_sge > srq->max_sge)
			err = -EINVAL;
		else if (srq->free_tag == DINGO_NO_TAG ||
			 srq->producer - srq->consumer > mask)
			err = -ENOMEM;
		if (err) {
			*bad = wr;
			break;
		}
		tag = srq->free_tag;
		srq->free_tag = srq->index[tag];
		srq->index[tag] = srq->producer;
		__set_bit(tag, srq->posted);
		dingo_recv_wqe(srq->qmem->ring.va +
			       ((srq->producer & mask) << srq->log_stride),
			       tag, wr, &srq->receives[tag]);
		srq->producer++;
		posted = true;
	}
	if (posted && likely(dingo_is_up(dev)))
		dingo_db_ring(dev, &srq->db,
			      dingo_db_word0(DINGO_DB_SRQ, srq->srqn),
			      srq->producer);
	spin_unlock_irqrestore(&srq->lock, flags);
	return err;
}

/**
 * dingo_srq_complete() - complete a receive of a kernel SRQ
 * @srq: the queue
 * @tag: that of the completion
 * @receive: the result
 *
 * Called with the CQ's lock held.
 * Return: true if it was posted.
 */
bool dingo_srq_complete(struct dingo_srq *srq, u32 tag,
			struct dingo_receive *receive)
{
	if (tag >= BIT(srq->log_size))
		return false;
	spin_lock(&srq->lock);
	if (!__test_and_clear_bit(tag, srq->posted)) {
		spin_unlock(&srq->lock);
		return false;
	}
	*receive = srq->receives[tag];
	if ((s32)(srq->index[tag] + 1 - srq->consumer) > 0)
		srq->consumer = srq->index[tag] + 1;
	srq->index[tag] = srq->free_tag;
	srq->free_tag = tag;
	spin_unlock(&srq->lock);
	return true;
}
