// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs: create, destroy, async events. dingo_qp_modify.c has the
 * attributes, dingo_kqp.c the parts for kernel users only.
 */
#include <linux/log2.h>
#include <linux/random.h>

#include "dingo_ib.h"

#define DINGO_LOG_SQ_BLOCK 6
#define DINGO_MIN_LOG_RQ_STRIDE 5
#define DINGO_MAX_LOG_RQ_STRIDE 8

static int dingo_qp_kind(struct dingo_dev *dev, enum ib_qp_type type, u8 *kind)
{
	switch (type) {
	case IB_QPT_RC:
		*kind = DINGO_QPT_RC;
		return dev->caps & DINGO_CAP_RC ? 0 : -EOPNOTSUPP;
	case IB_QPT_UC:
		*kind = DINGO_QPT_UC;
		return dev->caps & DINGO_CAP_UC ? 0 : -EOPNOTSUPP;
	case IB_QPT_UD:
		*kind = DINGO_QPT_UD;
		return dev->caps & DINGO_CAP_UD ? 0 : -EOPNOTSUPP;
	case IB_QPT_GSI:
		*kind = DINGO_QPT_GSI;
		return dev->caps & DINGO_CAP_UD ? 0 : -EOPNOTSUPP;
	default:
		return -EOPNOTSUPP;
	}
}

/* Allocates a random free index and a random tag, not the last one of the
 * index.
 */
static int dingo_qpn_alloc(struct dingo_ibdev *ib, struct dingo_qp *qp)
{
	u32 first = DINGO_FIRST_QP_INDEX;
	u32 last = le32_to_cpu(ib->dev->limits.max_qp) + 1;
	u32 start, index;
	int err;
	u8 tag;

	if (qp->ibqp.qp_type == IB_QPT_GSI) {
		qp->qpn = DINGO_QPN_GSI;
		return xa_insert_irq(&ib->qps, DINGO_QPN_GSI, qp, GFP_KERNEL);
	}
	last = min_t(u32, last, DINGO_QPN_INDEX_MASK);
	start = first + get_random_u32_below(last - first + 1);
	err = xa_alloc_irq(&ib->qps, &index, NULL, XA_LIMIT(start, last),
			   GFP_KERNEL);
	if (err == -EBUSY)
		err = xa_alloc_irq(&ib->qps, &index, NULL,
				   XA_LIMIT(first, last), GFP_KERNEL);
	if (err)
		return err == -EBUSY ? -ENOSPC : err;

	xa_lock_irq(&ib->qps);
	tag = get_random_u8();
	if (tag == ib->qp_tags[index])
		tag ^= 0x5a;
	ib->qp_tags[index] = tag;
	xa_unlock_irq(&ib->qps);
	qp->qpn = (u32)tag << DINGO_QPN_INDEX_BITS | index;
	return 0;
}

/* Makes the QP visible to events and completions. */
static int dingo_qpn_publish(struct dingo_ibdev *ib, struct dingo_qp *qp)
{
	return xa_err(xa_store_irq(&ib->qps, qp->qpn & DINGO_QPN_INDEX_MASK,
				   qp, GFP_KERNEL));
}

/* When this returns, no event and no completion accesses the QP. */
static void dingo_qpn_free(struct dingo_ibdev *ib, struct dingo_qp *qp)
{
	xa_erase_irq(&ib->qps, qp->qpn & DINGO_QPN_INDEX_MASK);
	cancel_work_sync(&qp->event_work);
	if (!qp->uc)
		dingo_kqp_detach(qp);
}

static void dingo_qp_event_work(struct work_struct *work)
{
	struct dingo_qp *qp = container_of(work, struct dingo_qp, event_work);
	struct ib_event event = {
		.device = qp->ibqp.device,
		.element.qp = &qp->ibqp,
	};
	unsigned int kind;

	for (kind = 0; kind < BITS_PER_LONG; kind++) {
		if (!test_and_clear_bit(kind, &qp->events))
			continue;
		event.event = kind;
		if (qp->ibqp.event_handler)
			qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
	}
}

/* The caller holds the lock of the table of QPs. */
static void dingo_qp_tell(struct dingo_ibdev *ib, struct dingo_qp *qp,
			  enum ib_event_type event)
{
	set_bit(event, &qp->events);
	queue_work(ib->wq, &qp->event_work);
}

/**
 * dingo_qp_event() - report an event to the owner of a QP
 * @ib: the device
 * @qpn: the QP; unknown numbers are ignored
 * @event: what happened
 *
 * Any context; the owner's handler runs in a workqueue.
 */
void dingo_qp_event(struct dingo_ibdev *ib, u32 qpn, enum ib_event_type event)
{
	struct dingo_qp *qp;
	unsigned long flags;

	xa_lock_irqsave(&ib->qps, flags);
	qp = xa_load(&ib->qps, qpn & DINGO_QPN_INDEX_MASK);
	if (qp && qp->qpn == qpn)
		dingo_qp_tell(ib, qp, event);
	xa_unlock_irqrestore(&ib->qps, flags);
}

/**
 * dingo_qp_wake_all() - end kernel users' waits for the last receive of an SRQ
 * after the card died
 * @ib: the device
 *
 * The card may have died between the change of a QP to the error state and its
 * event. A second event is harmless.
 */
void dingo_qp_wake_all(struct dingo_ibdev *ib)
{
	unsigned long index;
	struct dingo_qp *qp;

	xa_for_each(&ib->qps, index, qp) {
		xa_lock_irq(&ib->qps);
		qp = xa_load(&ib->qps, index);
		if (qp && !qp->uc && qp->ibqp.srq &&
		    READ_ONCE(qp->state) == IB_QPS_ERR)
			dingo_qp_tell(ib, qp, IB_EVENT_QP_LAST_WQE_REACHED);
		xa_unlock_irq(&ib->qps);
	}
}

/* Checks the attributes common to kernel and user QPs. */
static int dingo_qp_check(struct dingo_dev *dev,
			  const struct ib_qp_init_attr *attr, bool user)
{
	const struct ib_qp_cap *cap = &attr->cap;
	bool ud = attr->qp_type == IB_QPT_UD || attr->qp_type == IB_QPT_GSI;
	u32 max_inline = min_t(u32, le32_to_cpu(dev->limits.max_inline),
			       ud ? DINGO_MAX_INLINE_UD : DINGO_MAX_INLINE);

	if (attr->create_flags || attr->rwq_ind_tbl)
		return -EOPNOTSUPP;
	if (user && attr->qp_type == IB_QPT_GSI)
		return -EOPNOTSUPP;
	/* ibv_create_qp(3): shared receive queues are for RC and UD */
	if (attr->srq && attr->qp_type != IB_QPT_RC &&
	    attr->qp_type != IB_QPT_UD)
		return -EINVAL;
	if (!attr->send_cq || !attr->recv_cq)
		return -EINVAL;
	if (cap->max_send_wr > DINGO_MAX_QP_WR ||
	    cap->max_send_sge > dev->limits.max_send_sge ||
	    cap->max_inline_data > max_inline)
		return -EINVAL;
	if (!attr->srq && (cap->max_recv_wr > DINGO_MAX_QP_WR ||
			   cap->max_recv_sge > dev->limits.max_recv_sge))
		return -EINVAL;
	return 0;
}

/**
 * dingo_check_rq_size() - check the sizes of a process's receive ring
 * @dev: the card
 * @log_size: entries
 * @log_stride: bytes of an entry
 * @max_wr: requested entries
 * @max_sge: requested SGEs per entry
 *
 * Return: 0 or -EINVAL.
 */
int dingo_check_rq_size(struct dingo_dev *dev, u8 log_size, u8 log_stride,
			u32 max_wr, u32 max_sge)
{
	if (log_size > dev->limits.log_max_rq || BIT(log_size) < max_wr ||
	    log_stride < DINGO_MIN_LOG_RQ_STRIDE ||
	    log_stride > DINGO_MAX_LOG_RQ_STRIDE ||
	    BIT(log_stride) < DINGO_RQ_HDR + max_sge * sizeof(struct dingo_sge))
		return -EINVAL;
	return 0;
}

/* Checks the sizes of a process's rings, which the provider has computed. */
static int dingo_qp_user_sizes(struct dingo_dev *dev, struct dingo_qp *qp,
			       const struct ib_qp_init_attr *attr,
			       struct ib_udata *udata)
{
	struct dingo_create_qp_req req = {};
	int err;

	err = dingo_udata_in(udata, &req, sizeof(req));
	if (err)
		return err;
	if (req.comp_mask || req.reserved)
		return -EOPNOTSUPP;
	if (req.log_sq > dev->limits.log_max_sq ||
	    BIT(req.log_sq) < attr->cap.max_send_wr)
		return -EINVAL;
	qp->log_sq = req.log_sq;
	if (attr->srq)
		return req.log_rq || req.log_rq_stride ? -EINVAL : 0;

	err = dingo_check_rq_size(dev, req.log_rq, req.log_rq_stride,
				  attr->cap.max_recv_wr,
				  attr->cap.max_recv_sge);
	if (err)
		return err;
	qp->log_rq = req.log_rq;
	qp->log_rq_stride = req.log_rq_stride;
	return 0;
}

static int dingo_qp_alloc_rings(struct dingo_dev *dev, struct dingo_qp *qp)
{
	struct dingo_db_space *space = dingo_db_space(dev, qp->uc);
	int err;

	err = dingo_qmem_alloc(dev, qp->uc, (size_t)DINGO_SQ_BLOCK << qp->log_sq,
			       &qp->sq_mem);
	if (err)
		return err;
	if (!qp->ibqp.srq) {
		err = dingo_qmem_alloc(dev, qp->uc,
				       1UL << (qp->log_rq + qp->log_rq_stride),
				       &qp->rq_mem);
		if (err)
			goto err_sq;
	}
	err = dingo_db_alloc_pair(space, &qp->sq_db, &qp->rq_db);
	if (err)
		goto err_rq;
	return 0;

err_rq:
	dingo_qmem_free(qp->rq_mem);
err_sq:
	dingo_qmem_free(qp->sq_mem);
	return err;
}

static void dingo_qp_free_rings(struct dingo_dev *dev, struct dingo_qp *qp)
{
	struct dingo_db_space *space = dingo_db_space(dev, qp->uc);

	dingo_db_free(space, &qp->sq_db);
	dingo_db_free(space, &qp->rq_db);
	dingo_qmem_free(qp->rq_mem);
	dingo_qmem_free(qp->sq_mem);
}

static int dingo_qp_create_on_card(struct dingo_dev *dev, struct dingo_qp *qp,
				   u8 kind)
{
	struct ib_qp *ibqp = &qp->ibqp;
	struct dingo_cmd_create_qp cmd = {
		.qpn = cpu_to_le32(qp->qpn),
		.pdn = cpu_to_le32(to_dpd(ibqp->pd)->pdn),
		.send_cqn = cpu_to_le32(to_dcq(ibqp->send_cq)->core.cqn),
		.recv_cqn = cpu_to_le32(to_dcq(ibqp->recv_cq)->core.cqn),
		.srqn = cpu_to_le32(ibqp->srq ? to_dsrq(ibqp->srq)->srqn :
						DINGO_INVALID_ID),
		.db_page = cpu_to_le32(qp->sq_db.page->index),
		.kind = kind,
		.log_sq = qp->log_sq,
		.log_rq = qp->log_rq,
		.log_rq_stride = qp->log_rq_stride,
	};

	if (qp->sig_type == IB_SIGNAL_ALL_WR)
		cmd.flags |= DINGO_CMD_CREATE_QP_FLAGS_SIGNAL_ALL_MASK;
	if (!qp->uc)
		cmd.flags |= DINGO_CMD_CREATE_QP_FLAGS_PRIVILEGED_MASK;
	else if (dev->caps & DINGO_CAP_GID_DOMAINS)
		cmd.domain = cpu_to_le16(qp->uc->domain);
	dingo_ring_describe(&qp->sq_mem->ring, &cmd.sq);
	if (qp->rq_mem)
		dingo_ring_describe(&qp->rq_mem->ring, &cmd.rq);
	return dingo_cmd_create_qp(dev, &cmd);
}

static int dingo_create_qp_answer(struct dingo_qp *qp, struct ib_udata *udata)
{
	struct dingo_create_qp_resp resp = {};
	int err;

	err = dingo_ring_map_fill(qp->uc, qp->sq_mem, &qp->sq_db, qp->log_sq,
				  DINGO_LOG_SQ_BLOCK, &resp.sq);
	if (!err && qp->rq_mem)
		err = dingo_ring_map_fill(qp->uc, qp->rq_mem, &qp->rq_db,
					  qp->log_rq, qp->log_rq_stride,
					  &resp.rq);
	if (!err)
		err = dingo_push_map(qp->uc, &qp->sq_db, &resp.push_mmap);
	return err ?: dingo_udata_out(udata, &resp, sizeof(resp));
}

/**
 * dingo_create_qp() - create a queue pair
 * @ibqp: the QP, with domain, queues and type
 * @attr: sizes; for kernel users replaced by the actual ones
 * @udata: struct dingo_create_qp_req and _resp; NULL: called by the kernel
 *
 * Return: 0 or a negative error.
 */
int dingo_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		    struct ib_udata *udata)
{
	struct dingo_ibdev *ib = to_dibdev(ibqp->device);
	struct dingo_dev *dev = ib->dev;
	struct dingo_qp *qp = to_dqp(ibqp);
	u8 kind;
	int err;

	err = dingo_qp_kind(dev, attr->qp_type, &kind);
	if (!err)
		err = dingo_qp_check(dev, attr, udata);
	if (err)
		return err;

	qp->state = IB_QPS_RESET;
	qp->sig_type = attr->sq_sig_type;
	mutex_init(&qp->mutex);
	INIT_LIST_HEAD(&qp->groups);
	INIT_WORK(&qp->event_work, dingo_qp_event_work);
	INIT_LIST_HEAD(&qp->send_entry);
	INIT_LIST_HEAD(&qp->recv_entry);
	if (udata) {
		qp->uc = dingo_udata_ucontext(udata);
		err = dingo_qp_user_sizes(dev, qp, attr, udata);
	} else {
		err = dingo_kqp_init(qp, attr);
	}
	if (err)
		return err;
	qp->cap = attr->cap;

	err = dingo_qp_alloc_rings(dev, qp);
	if (err)
		goto err_kqp;
	err = dingo_qpn_alloc(ib, qp);
	if (err)
		goto err_rings;
	ibqp->qp_num = qp->qpn;
	err = dingo_qp_create_on_card(dev, qp, kind);
	if (err)
		goto err_qpn;
	if (udata) {
		err = dingo_create_qp_answer(qp, udata);
		if (err)
			goto err_card;
	} else {
		dingo_kqp_attach(qp);
	}
	err = dingo_qpn_publish(ib, qp);
	if (err)
		goto err_card;
	return 0;

err_card:
	dingo_cmd_destroy_qp(dev, qp->qpn);
err_qpn:
	dingo_qpn_free(ib, qp);
err_rings:
	dingo_qp_free_rings(dev, qp);
err_kqp:
	dingo_kqp_free(qp);
	return err;
}

/**
 * dingo_destroy_qp() - destroy a queue pair
 * @ibqp: the QP
 * @udata: not used
 *
 * Destroys the QP on the card first, so that nothing writes to freed memory.
 * Return: 0 or a negative error.
 */
int dingo_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct dingo_ibdev *ib = to_dibdev(ibqp->device);
	struct dingo_qp *qp = to_dqp(ibqp);
	int err;

	err = dingo_cmd_destroy_qp(ib->dev, qp->qpn);
	if (err)
		return err;
	/* `rdma resource` may query the QP until ib_core frees it. */
	mutex_lock(&qp->mutex);
	qp->dead = true;
	mutex_unlock(&qp->mutex);
	dingo_qpn_free(ib, qp);
	dingo_qp_free_rings(ib->dev, qp);
	dingo_kqp_free(qp);
	return 0;
}
