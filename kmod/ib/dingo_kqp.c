// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs of kernel users: outstanding work requests and completions.
 *
 * Locking: a CQ's lock is taken before those of the queues that complete there,
 * and before that of the table of QPs.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "dingo_ib.h"

/* Return: blocks of the largest work request that the caps allow. */
static u32 dingo_max_blocks(enum ib_qp_type type, const struct ib_qp_cap *cap)
{
	bool ud = type == IB_QPT_UD || type == IB_QPT_GSI;
	u32 head = sizeof(struct dingo_wqe_ctrl) +
		   (ud ? sizeof(struct dingo_wqe_ud) :
			 sizeof(struct dingo_wqe_rdma));
	u32 data = max_t(u32, cap->max_send_sge * sizeof(struct dingo_sge),
			 cap->max_inline_data);

	/* Atomics put 16 bytes before their one entry: 64 at least. */
	return max_t(u32, 1, DIV_ROUND_UP(head + data, DINGO_SQ_BLOCK));
}

/**
 * dingo_kqp_init() - set the sizes and allocate the arrays of a kernel QP
 * @qp: the QP
 * @attr: in: requested sizes; out: actual sizes
 *
 * Return: 0, -EINVAL, -ENOMEM.
 */
int dingo_kqp_init(struct dingo_qp *qp, struct ib_qp_init_attr *attr)
{
	struct dingo_dev *dev = to_ddev(qp->ibqp.device);
	struct ib_qp_cap *cap = &attr->cap;
	u32 blocks = dingo_max_blocks(attr->qp_type, cap);
	u32 stride;

	qp->log_sq = order_base_2(max_t(u32, cap->max_send_wr, 1) * blocks);
	if (qp->log_sq > dev->limits.log_max_sq)
		return -EINVAL;
	if (!attr->srq) {
		qp->log_rq = order_base_2(max_t(u32, cap->max_recv_wr, 1));
		stride = DINGO_RQ_HDR +
			 max_t(u32, cap->max_recv_sge, 1) *
				 sizeof(struct dingo_sge);
		qp->log_rq_stride = order_base_2(stride);
		if (qp->log_rq > dev->limits.log_max_rq)
			return -EINVAL;
	}

	spin_lock_init(&qp->sq.lock);
	spin_lock_init(&qp->rq.lock);
	qp->sq.wr_id = kvcalloc(BIT(qp->log_sq), sizeof(*qp->sq.wr_id),
				GFP_KERNEL);
	qp->sq.blocks = kvcalloc(BIT(qp->log_sq), 1, GFP_KERNEL);
	qp->sq.opcode = kvcalloc(BIT(qp->log_sq), 1, GFP_KERNEL);
	if (!attr->srq)
		qp->rq.posted = kvcalloc(BIT(qp->log_rq),
					 sizeof(*qp->rq.posted), GFP_KERNEL);
	if (!qp->sq.wr_id || !qp->sq.blocks || !qp->sq.opcode ||
	    (!attr->srq && !qp->rq.posted)) {
		dingo_kqp_free(qp);
		return -ENOMEM;
	}
	return 0;
}

/**
 * dingo_kqp_free() - free the arrays of a kernel QP
 * @qp: the QP, without further completions; a user QP has no arrays
 */
void dingo_kqp_free(struct dingo_qp *qp)
{
	kvfree(qp->sq.wr_id);
	kvfree(qp->sq.blocks);
	kvfree(qp->sq.opcode);
	kvfree(qp->rq.posted);
	qp->sq.wr_id = NULL;
	qp->sq.blocks = NULL;
	qp->sq.opcode = NULL;
	qp->rq.posted = NULL;
}

/**
 * dingo_kqp_attach() - add the QP to its CQs
 * @qp: the QP
 */
void dingo_kqp_attach(struct dingo_qp *qp)
{
	struct dingo_cq *send = to_dcq(qp->ibqp.send_cq);
	struct dingo_cq *recv = to_dcq(qp->ibqp.recv_cq);

	spin_lock_irq(&send->lock);
	list_add_tail(&qp->send_entry, &send->send_qps);
	spin_unlock_irq(&send->lock);
	spin_lock_irq(&recv->lock);
	list_add_tail(&qp->recv_entry, &recv->recv_qps);
	spin_unlock_irq(&recv->lock);
}

/**
 * dingo_kqp_detach() - remove the QP from its CQs
 * @qp: the QP, destroyed on the card and removed from the table
 *
 * When this returns, no completion of this QP is being polled.
 */
void dingo_kqp_detach(struct dingo_qp *qp)
{
	struct dingo_cq *send = to_dcq(qp->ibqp.send_cq);
	struct dingo_cq *recv = to_dcq(qp->ibqp.recv_cq);

	spin_lock_irq(&send->lock);
	list_del_init(&qp->send_entry);
	dingo_cq_clean(send, qp);
	spin_unlock_irq(&send->lock);
	spin_lock_irq(&recv->lock);
	list_del_init(&qp->recv_entry);
	dingo_cq_clean(recv, qp);
	spin_unlock_irq(&recv->lock);
}

/**
 * dingo_kqp_reset() - empty the queues of a QP in RESET
 * @qp: the QP
 *
 * Discards unpolled completions, as their work requests are gone.
 */
void dingo_kqp_reset(struct dingo_qp *qp)
{
	struct dingo_cq *send = to_dcq(qp->ibqp.send_cq);
	struct dingo_cq *recv = to_dcq(qp->ibqp.recv_cq);

	spin_lock_irq(&send->lock);
	dingo_cq_clean(send, qp);
	spin_lock(&qp->sq.lock);
	qp->sq.producer = 0;
	qp->sq.consumer = 0;
	spin_unlock(&qp->sq.lock);
	spin_unlock_irq(&send->lock);

	spin_lock_irq(&recv->lock);
	dingo_cq_clean(recv, qp);
	spin_lock(&qp->rq.lock);
	qp->rq.producer = 0;
	qp->rq.consumer = 0;
	spin_unlock(&qp->rq.lock);
	spin_unlock_irq(&recv->lock);
}

/* Return: true if @qp, which must not be freed meanwhile, completes such work
 * to @cq.
 */
static bool dingo_kqp_is(const struct dingo_qp *qp, const struct dingo_cq *cq,
			 u32 qpn_op)
{
	const struct ib_cq *owner = dingo_cqe_is_recv(qpn_op) ?
					    qp->ibqp.recv_cq : qp->ibqp.send_cq;

	return qp->qpn == FIELD_GET(DINGO_CQE_QPN_OP_QPN_MASK, qpn_op) &&
	       !qp->uc && owner == &cq->ibcq;
}

/**
 * dingo_kqp_find() - find the kernel QP of a completion
 * @cq: the queue that has the completion, locked
 * @last: last result since @cq was locked, or NULL
 * @qpn_op: that of the completion
 *
 * A QP of @cq lives until @cq is unlocked: dingo_kqp_detach() takes that lock.
 * A faulty card may name a QP of another queue, which may be freed as soon as
 * the table's lock is released and must not be accessed after that.
 * Return: the QP, which completes such work to @cq, or NULL.
 */
struct dingo_qp *dingo_kqp_find(struct dingo_cq *cq, struct dingo_qp *last,
				u32 qpn_op)
{
	struct dingo_ibdev *ib = to_dibdev(cq->ibcq.device);
	u32 qpn = FIELD_GET(DINGO_CQE_QPN_OP_QPN_MASK, qpn_op);
	struct dingo_qp *qp;

	lockdep_assert_held(&cq->lock);
	if (last && dingo_kqp_is(last, cq, qpn_op))
		return last;
	xa_lock(&ib->qps); /* interrupts are off */
	qp = xa_load(&ib->qps, qpn & DINGO_QPN_INDEX_MASK);
	if (qp && !dingo_kqp_is(qp, cq, qpn_op))
		qp = NULL;
	xa_unlock(&ib->qps);
	return qp;
}

/* Return: false if nothing was posted there, or it has completed already. */
static bool dingo_complete_send(struct dingo_qp *qp,
				const struct dingo_cqe *cqe, struct ib_wc *wc)
{
	u32 index = le32_to_cpu(cqe->wqe_index);
	u32 slot = index & (BIT(qp->log_sq) - 1);
	bool posted;

	spin_lock(&qp->sq.lock);
	posted = index - qp->sq.consumer < qp->sq.producer - qp->sq.consumer &&
		 qp->sq.blocks[slot];
	if (posted) {
		wc->wr_id = qp->sq.wr_id[slot];
		wc->opcode = qp->sq.opcode[slot];
		qp->sq.consumer = index + qp->sq.blocks[slot];
	}
	spin_unlock(&qp->sq.lock);
	return posted;
}

static bool dingo_complete_recv(struct dingo_qp *qp, u32 tag,
				struct dingo_receive *receive)
{
	bool posted;

	if (qp->ibqp.srq)
		return dingo_srq_complete(to_dsrq(qp->ibqp.srq), tag,
					  receive);
	spin_lock(&qp->rq.lock);
	posted = tag - qp->rq.consumer < qp->rq.producer - qp->rq.consumer;
	if (posted) {
		*receive = qp->rq.posted[tag & (BIT(qp->log_rq) - 1)];
		qp->rq.consumer = tag + 1;
	}
	spin_unlock(&qp->rq.lock);
	return posted;
}

/* Fills in fields that are valid only for a successful receive. */
static void dingo_wc_recv(const struct dingo_qp *qp,
			  const struct dingo_cqe *cqe, struct ib_wc *wc)
{
	u32 src = le32_to_cpu(cqe->src_qpn);

	if (cqe->flags & DINGO_CQE_FLAGS_IMM_MASK) {
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = cqe->imm;
	} else if (cqe->flags & DINGO_CQE_FLAGS_INV_MASK) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = le32_to_cpu((__force __le32)cqe->imm);
	}
	if (qp->ibqp.qp_type != IB_QPT_UD && qp->ibqp.qp_type != IB_QPT_GSI)
		return;

	wc->src_qp = FIELD_GET(DINGO_CQE_SRC_QPN_QPN_MASK, src);
	wc->sl = FIELD_GET(DINGO_CQE_SRC_QPN_SL_MASK, src);
	wc->port_num = DINGO_PORT;
	if (cqe->flags & DINGO_CQE_FLAGS_GRH_MASK)
		wc->wc_flags |= IB_WC_GRH;
	wc->wc_flags |= IB_WC_WITH_NETWORK_HDR_TYPE;
	wc->network_hdr_type = cqe->flags & DINGO_CQE_FLAGS_IPV4_MASK ?
				       RDMA_NETWORK_IPV4 : RDMA_NETWORK_IPV6;
	if (cqe->flags & DINGO_CQE_FLAGS_VLAN_MASK) {
		wc->wc_flags |= IB_WC_WITH_VLAN;
		wc->vlan_id = le16_to_cpu(cqe->vlan) & 0xfff;
	}
}

/**
 * dingo_kqp_complete() - convert a completion of the card to an ib_wc
 * @qp: the QP
 * @cqe: the completion
 * @wc: the result
 *
 * Return: true if it completes a posted work request.
 */
bool dingo_kqp_complete(struct dingo_qp *qp, const struct dingo_cqe *cqe,
			struct ib_wc *wc)
{
	u32 op = FIELD_GET(DINGO_CQE_QPN_OP_OPCODE_MASK,
			   le32_to_cpu(cqe->qpn_op));
	struct dingo_receive receive;

	*wc = (struct ib_wc){
		.qp = &qp->ibqp,
		.status = min_t(u32, cqe->status, IB_WC_GENERAL_ERR),
		.vendor_err = cqe->vendor_err,
		.byte_len = le32_to_cpu(cqe->byte_len),
	};
	if (op < DINGO_WC_RECV)
		return dingo_complete_send(qp, cqe, wc);
	if (!dingo_complete_recv(qp, le32_to_cpu(cqe->wqe_index), &receive))
		return false;
	wc->wr_id = receive.wr_id;
	wc->opcode = op == DINGO_WC_RECV_WRITE_IMM ? IB_WC_RECV_RDMA_WITH_IMM :
						     IB_WC_RECV;
	/* Users trust byte_len, so it must not exceed the buffer. */
	if (wc->opcode == IB_WC_RECV && wc->byte_len > receive.bytes) {
		wc->byte_len = 0;
		wc->status = wc->status ?: IB_WC_LOC_LEN_ERR;
	}
	if (wc->status == IB_WC_SUCCESS)
		dingo_wc_recv(qp, cqe, wc);
	return true;
}

static int dingo_flush_sends(struct dingo_qp *qp, int num, struct ib_wc *wc)
{
	int done = 0;

	spin_lock(&qp->sq.lock);
	while (done < num && qp->sq.consumer != qp->sq.producer) {
		u32 slot = qp->sq.consumer & (BIT(qp->log_sq) - 1);

		wc[done++] = (struct ib_wc){
			.qp = &qp->ibqp,
			.wr_id = qp->sq.wr_id[slot],
			.opcode = qp->sq.opcode[slot],
			.status = IB_WC_WR_FLUSH_ERR,
		};
		qp->sq.consumer += qp->sq.blocks[slot];
	}
	spin_unlock(&qp->sq.lock);
	return done;
}

static int dingo_flush_recvs(struct dingo_qp *qp, int num, struct ib_wc *wc)
{
	int done = 0;

	if (!qp->rq.posted)
		return 0;
	spin_lock(&qp->rq.lock);
	while (done < num && qp->rq.consumer != qp->rq.producer) {
		u32 slot = qp->rq.consumer++ & (BIT(qp->log_rq) - 1);

		wc[done++] = (struct ib_wc){
			.qp = &qp->ibqp,
			.wr_id = qp->rq.posted[slot].wr_id,
			.opcode = IB_WC_RECV,
			.status = IB_WC_WR_FLUSH_ERR,
		};
	}
	spin_unlock(&qp->rq.lock);
	return done;
}

/**
 * dingo_kqp_flush() - complete work requests that a dead card does not complete
 * @cq: the queue that is polled, locked
 * @num: capacity of @wc
 * @wc: the result
 *
 * Return: the number of completions.
 */
int dingo_kqp_flush(struct dingo_cq *cq, int num, struct ib_wc *wc)
{
	struct dingo_qp *qp;
	int done = 0;

	lockdep_assert_held(&cq->lock);
	list_for_each_entry(qp, &cq->send_qps, send_entry)
		done += dingo_flush_sends(qp, num - done, wc + done);
	list_for_each_entry(qp, &cq->recv_qps, recv_entry)
		done += dingo_flush_recvs(qp, num - done, wc + done);
	return done;
}
