// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues. Processes poll their own rings; kernel CQs are polled
 * here.
 */
#include <linux/log2.h>

#include "dingo_ib.h"

#define DINGO_MIN_LOG_CQ 2
#define DINGO_LOG_CQE_SIZE 5
/* A ring fills at least one page: users then report
 * every 16th completion only.
 */
#define DINGO_MIN_LOG_CQ_RING 7

static struct dingo_cq *core_to_dcq(struct dingo_cq_core *core)
{
	return container_of(core, struct dingo_cq, core);
}

/* Entries that may be in use, see struct dingo_create_cq_resp. */
static u32 dingo_cq_usable(u8 log_size)
{
	return BIT(log_size) - BIT(log_size) / 4;
}

/*
 * Return: log2 of the ring for @cqe entries, or an error. @promised: number of
 * entries reported to the user, which is that of the smallest sufficient ring.
 */
static int dingo_cq_log_ring(struct dingo_dev *dev, unsigned int cqe,
			     u32 *promised)
{
	u8 log_size = DINGO_MIN_LOG_CQ;

	if (!cqe)
		return -EINVAL;
	while (log_size <= dev->limits.log_max_cq) {
		*promised = dingo_cq_usable(log_size);
		if (*promised >= cqe)
			return clamp_t(u8, DINGO_MIN_LOG_CQ_RING, log_size,
				       dev->limits.log_max_cq);
		log_size++;
	}
	return -EINVAL;
}

/* Hard interrupt: the CQ was armed and has an entry. */
static void dingo_cq_comp(struct dingo_cq_core *core)
{
	struct ib_cq *ibcq = &core_to_dcq(core)->ibcq;

	/* A kernel CQ has no handler while it is being created, and one that
	 * is polled directly must not be called.
	 */
	if (ibcq->comp_handler && ibcq->poll_ctx != IB_POLL_DIRECT)
		ibcq->comp_handler(ibcq, ibcq->cq_context);
}

/* Hard interrupt; the handlers of kernel users may sleep. */
static void dingo_cq_error(struct dingo_cq_core *core)
{
	struct dingo_cq *cq = core_to_dcq(core);

	queue_work(to_dibdev(cq->ibcq.device)->wq, &cq->event_work);
}

static void dingo_cq_event_work(struct work_struct *work)
{
	struct dingo_cq *cq = container_of(work, struct dingo_cq, event_work);
	struct ib_event event = {
		.device = cq->ibcq.device,
		.element.cq = &cq->ibcq,
		.event = IB_EVENT_CQ_ERR,
	};

	ibdev_warn_ratelimited(cq->ibcq.device, "CQ %u overflowed\n",
			       cq->core.cqn);
	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&event, cq->ibcq.cq_context);
}

static int dingo_create_cq_answer(struct dingo_cq *cq,
				  struct dingo_ucontext *uc,
				  struct ib_udata *udata)
{
	struct dingo_create_cq_resp resp = { .cqn = cq->core.cqn };
	int err;

	err = dingo_ring_map_fill(uc, cq->qmem, &cq->db, cq->log_size,
				  DINGO_LOG_CQE_SIZE, &resp.ring);
	return err ?: dingo_udata_out(udata, &resp, sizeof(resp));
}

static int dingo_create_cq_check(struct dingo_dev *dev,
				 const struct ib_cq_init_attr *attr,
				 struct ib_udata *udata)
{
	struct dingo_create_cq_req req = {};
	int err;

	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	if ((attr->flags & IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION) &&
	    !(dev->caps & DINGO_CAP_TIMESTAMP))
		return -EOPNOTSUPP;
	if (!udata)
		return 0;
	err = dingo_udata_in(udata, &req, sizeof(req));
	if (err)
		return err;
	return req.comp_mask || req.reserved ? -EOPNOTSUPP : 0;
}

/**
 * dingo_create_cq() - create a completion queue
 * @ibcq: the queue
 * @attr: size and completion vector
 * @attrs: struct dingo_create_cq_req and _resp; NULL: called by the kernel
 *
 * Return: 0 or a negative error.
 */
int dingo_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	struct dingo_ibdev *ib = to_dibdev(ibcq->device);
	struct dingo_dev *dev = ib->dev;
	struct dingo_cq *cq = to_dcq(ibcq);
	struct dingo_ucontext *uc = NULL;
	struct dingo_mem mem;
	u32 promised;
	int log_size;
	int err;

	err = dingo_create_cq_check(dev, attr, udata);
	if (err)
		return err;
	log_size = dingo_cq_log_ring(dev, attr->cqe, &promised);
	if (log_size < 0)
		return log_size;
	if (udata)
		uc = dingo_udata_ucontext(udata);

	cq->log_size = log_size;
	mutex_init(&cq->resize_lock);
	spin_lock_init(&cq->lock);
	INIT_WORK(&cq->event_work, dingo_cq_event_work);
	INIT_LIST_HEAD(&cq->kcq_entry);
	INIT_LIST_HEAD(&cq->send_qps);
	INIT_LIST_HEAD(&cq->recv_qps);
	cq->core.comp = dingo_cq_comp;
	cq->core.error = dingo_cq_error;

	err = dingo_qmem_alloc(dev, uc, DINGO_CQE_SIZE << log_size, &cq->qmem);
	if (err)
		return err;
	err = dingo_db_alloc(dingo_db_space(dev, uc), &cq->db);
	if (err)
		goto err_qmem;
	err = dingo_cq_add(dev, &cq->core, attr->comp_vector);
	if (err)
		goto err_db;
	dingo_ring_describe(&cq->qmem->ring, &mem);
	err = dingo_cmd_create_cq(dev, cq->core.cqn, cq->core.eqn,
				  cq->db.page->index, log_size, &mem);
	if (err)
		goto err_core;
	ibcq->cqe = promised;

	if (udata) {
		err = dingo_create_cq_answer(cq, uc, udata);
		if (err)
			goto err_card;
	} else {
		spin_lock_irq(&ib->kcq_lock);
		list_add_tail(&cq->kcq_entry, &ib->kcqs);
		spin_unlock_irq(&ib->kcq_lock);
	}
	return 0;

err_card:
	dingo_cmd_destroy_cq(dev, cq->core.cqn);
err_core:
	dingo_cq_del(dev, &cq->core);
	cancel_work_sync(&cq->event_work);
err_db:
	dingo_db_free(dingo_db_space(dev, uc), &cq->db);
err_qmem:
	dingo_qmem_free(cq->qmem);
	return err;
}

/**
 * dingo_destroy_cq() - destroy a completion queue
 * @ibcq: the queue; no QP uses it
 * @udata: NULL: called by the kernel
 *
 * Return: 0 or a negative error.
 */
int dingo_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct dingo_ucontext *uc = udata ? dingo_udata_ucontext(udata) : NULL;
	struct dingo_ibdev *ib = to_dibdev(ibcq->device);
	struct dingo_cq *cq = to_dcq(ibcq);
	int err;

	err = dingo_cmd_destroy_cq(ib->dev, cq->core.cqn);
	if (err)
		return err;
	if (!uc) {
		spin_lock_irq(&ib->kcq_lock);
		list_del(&cq->kcq_entry);
		spin_unlock_irq(&ib->kcq_lock);
	}
	dingo_cq_del(ib->dev, &cq->core);
	cancel_work_sync(&cq->event_work);
	dingo_db_free(dingo_db_space(ib->dev, uc), &cq->db);
	dingo_qmem_free(cq->qmem);
	mutex_destroy(&cq->resize_lock);
	return 0;
}

/**
 * dingo_resize_cq() - move a user queue to a ring of another size
 * @ibcq: the queue
 * @cqe: required usable entries
 * @udata: struct dingo_resize_cq_resp
 *
 * The old ring is freed at once; the process keeps its pages until it unmaps
 * them.
 * Return: 0, -EOPNOTSUPP for kernel queues, -EINVAL, -ENOMEM.
 */
int dingo_resize_cq(struct ib_cq *ibcq, DINGO_CQE_COUNT cqe,
		    struct ib_udata *udata)
{
	struct dingo_dev *dev = to_ddev(ibcq->device);
	struct dingo_cq *cq = to_dcq(ibcq);
	struct dingo_resize_cq_resp resp = {};
	struct dingo_ucontext *uc;
	struct dingo_qmem *qmem;
	struct dingo_mem mem;
	u32 promised;
	int log_size;
	int err;

	if (!udata)
		return -EOPNOTSUPP;
	err = dingo_udata_none(udata);
	if (err)
		return err;
	log_size = dingo_cq_log_ring(dev, cqe, &promised);
	if (log_size < 0)
		return log_size;
	uc = dingo_udata_ucontext(udata);

	mutex_lock(&cq->resize_lock);
	err = dingo_qmem_alloc(dev, uc, DINGO_CQE_SIZE << log_size, &qmem);
	if (err)
		goto out;
	err = dingo_ring_map_fill(uc, qmem, &cq->db, log_size,
				  DINGO_LOG_CQE_SIZE, &resp.ring);
	if (err)
		goto err_qmem;
	/* Check before the switch that the response can be written. */
	err = dingo_udata_out(udata, &resp, sizeof(resp));
	if (err)
		goto err_qmem;
	dingo_ring_describe(&qmem->ring, &mem);
	err = dingo_cmd_resize_cq(dev, cq->core.cqn, log_size, &mem,
				  &resp.switch_index);
	if (err)
		goto err_qmem;
	dingo_qmem_free(cq->qmem);
	cq->qmem = qmem;
	cq->log_size = log_size;
	ibcq->cqe = promised;
	err = dingo_udata_out(udata, &resp, sizeof(resp));
	goto out;

err_qmem:
	dingo_qmem_free(qmem);
out:
	mutex_unlock(&cq->resize_lock);
	return err;
}

/**
 * dingo_modify_cq() - set the event moderation
 * @ibcq: a queue of a user or of the kernel
 * @count: completions after which an event is sent; 0: no limit
 * @period: largest delay of an event in microseconds; 0: none
 *
 * Return: 0 or a negative error.
 */
int dingo_modify_cq(struct ib_cq *ibcq, u16 count, u16 period)
{
	return dingo_cmd_modify_cq(to_ddev(ibcq->device), to_dcq(ibcq)->core.cqn,
				   count, period);
}

/* Return: the entry at index @n if the card has written it, else NULL. */
static struct dingo_cqe *dingo_cq_entry(struct dingo_cq *cq, u32 n)
{
	struct dingo_cqe *ring = cq->qmem->ring.va;
	struct dingo_cqe *cqe = &ring[n & (BIT(cq->log_size) - 1)];
	u8 phase = !(n & BIT(cq->log_size));

	if ((READ_ONCE(cqe->owner) & 1) != phase)
		return NULL;
	dma_rmb(); /* read the owner bit before the rest of the entry */
	return cqe;
}

static void dingo_cq_ring(struct dingo_cq *cq, bool arm, bool solicited)
{
	lockdep_assert_held(&cq->lock);
	dingo_db_ring_cq(to_ddev(cq->ibcq.device), &cq->db, cq->core.cqn,
			 cq->consumer, arm, solicited, &cq->arm);
	cq->rung = cq->consumer;
}

/**
 * dingo_poll_cq() - poll a kernel queue
 * @ibcq: the queue
 * @num: capacity of @wc
 * @wc: the result
 *
 * Return: the number of completions.
 */
int dingo_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct dingo_dev *dev = to_ddev(ibcq->device);
	struct dingo_cq *cq = to_dcq(ibcq);
	struct dingo_qp *qp = NULL;
	struct dingo_cqe *cqe;
	unsigned long flags;
	int done = 0;
	u32 taken;

	spin_lock_irqsave(&cq->lock, flags);
	/* A faulty card may write entries of nothing without end. */
	for (taken = 0; done < num && taken < BIT(cq->log_size); taken++) {
		cqe = dingo_cq_entry(cq, cq->consumer);
		if (!cqe)
			break;
		cq->consumer++;
		if (cqe->flags & DINGO_CQE_DEAD)
			continue;
		qp = dingo_kqp_find(cq, qp, le32_to_cpu(cqe->qpn_op));
		if (qp && dingo_kqp_complete(qp, cqe, &wc[done]))
			done++;
		else
			ibdev_dbg(ibcq->device,
				  "CQ %u: entry of nothing that was posted\n",
				  cq->core.cqn);
	}
	/* A dead card completes nothing: flush in its place. */
	if (done < num && unlikely(!dingo_is_up(dev)))
		done += dingo_kqp_flush(cq, num - done, wc + done);
	if (cq->consumer - cq->rung >= BIT(cq->log_size) / 4)
		dingo_cq_ring(cq, false, false);
	spin_unlock_irqrestore(&cq->lock, flags);
	return done;
}

/**
 * dingo_req_notify_cq() - request an event
 * @ibcq: a kernel queue
 * @flags: which completions count, and whether to report missed ones
 *
 * Return: 1 if missed completions are to be reported and exist, else 0.
 */
int dingo_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct dingo_cq *cq = to_dcq(ibcq);
	unsigned long irqflags;
	int ret = 0;

	spin_lock_irqsave(&cq->lock, irqflags);
	dingo_cq_ring(cq, true,
		      (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED);
	if ((flags & IB_CQ_REPORT_MISSED_EVENTS) &&
	    dingo_cq_entry(cq, cq->consumer))
		ret = 1;
	spin_unlock_irqrestore(&cq->lock, irqflags);
	return ret;
}

/**
 * dingo_cq_clean() - discard the entries of a QP that was destroyed or reset
 * @cq: a kernel queue, locked
 * @qp: the QP
 *
 * Frees receives of an SRQ whose completions are discarded.
 */
void dingo_cq_clean(struct dingo_cq *cq, struct dingo_qp *qp)
{
	struct ib_srq *srq = qp->ibqp.srq;
	struct dingo_cqe *cqe;
	struct dingo_receive receive;
	u32 word;
	u32 n;

	lockdep_assert_held(&cq->lock);
	for (n = cq->consumer; n - cq->consumer < BIT(cq->log_size); n++) {
		cqe = dingo_cq_entry(cq, n);
		if (!cqe)
			break;
		word = le32_to_cpu(cqe->qpn_op);
		if (FIELD_GET(DINGO_CQE_QPN_OP_QPN_MASK, word) != qp->qpn ||
		    cqe->flags & DINGO_CQE_DEAD)
			continue;
		cqe->flags |= DINGO_CQE_DEAD;
		if (srq && dingo_cqe_is_recv(word))
			dingo_srq_complete(to_dsrq(srq),
					   le32_to_cpu(cqe->wqe_index), &receive);
	}
}

/**
 * dingo_cq_wake_all() - make all kernel users poll after the card died
 * @ib: the device
 *
 * Any context.
 */
void dingo_cq_wake_all(struct dingo_ibdev *ib)
{
	struct dingo_cq *cq;
	unsigned long flags;

	spin_lock_irqsave(&ib->kcq_lock, flags);
	list_for_each_entry(cq, &ib->kcqs, kcq_entry)
		dingo_cq_comp(&cq->core);
	spin_unlock_irqrestore(&ib->kcq_lock, flags);
}
