// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Work requests of kernel users.
 */
#include <linux/etherdevice.h>

#include "dingo_ib.h"

/* A WQE under construction, built in a buffer because WQEs wrap at the ring's
 * end.
 */
struct dingo_wqe {
	union {
		struct dingo_wqe_ctrl ctrl;
		u8 bytes[DINGO_SQ_MAX_BLOCKS * DINGO_SQ_BLOCK];
	};
	u32 used; /* bytes */
};

/* Appends a segment to the WQE. */
static void *dingo_wqe_add(struct dingo_wqe *wqe, size_t size)
{
	void *segment = wqe->bytes + wqe->used;

	wqe->used += size;
	return segment;
}

static int dingo_wqe_opcode(const struct ib_send_wr *wr, u8 *wc_opcode)
{
	switch (wr->opcode) {
	case IB_WR_SEND:
		*wc_opcode = IB_WC_SEND;
		return DINGO_WR_SEND;
	case IB_WR_SEND_WITH_IMM:
		*wc_opcode = IB_WC_SEND;
		return DINGO_WR_SEND_IMM;
	case IB_WR_SEND_WITH_INV:
		*wc_opcode = IB_WC_SEND;
		return DINGO_WR_SEND_INV;
	case IB_WR_RDMA_WRITE:
		*wc_opcode = IB_WC_RDMA_WRITE;
		return DINGO_WR_WRITE;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		*wc_opcode = IB_WC_RDMA_WRITE;
		return DINGO_WR_WRITE_IMM;
	case IB_WR_RDMA_READ:
		*wc_opcode = IB_WC_RDMA_READ;
		return DINGO_WR_READ;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		*wc_opcode = IB_WC_COMP_SWAP;
		return DINGO_WR_CMP_SWAP;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		*wc_opcode = IB_WC_FETCH_ADD;
		return DINGO_WR_FETCH_ADD;
	case IB_WR_LOCAL_INV:
		*wc_opcode = IB_WC_LOCAL_INV;
		return DINGO_WR_LOCAL_INV;
	case IB_WR_REG_MR:
		*wc_opcode = IB_WC_REG_MR;
		return DINGO_WR_REG_MR;
	default:
		return -EINVAL;
	}
}

static void dingo_wqe_ud(struct dingo_wqe *wqe, const struct ib_ud_wr *wr)
{
	const struct dingo_av *av = &to_dah(wr->ah)->av;
	struct dingo_wqe_ud *ud = dingo_wqe_add(wqe, sizeof(*ud));

	ud->dest_qpn = cpu_to_le32(wr->remote_qpn & DINGO_QPN_MASK);
	ud->qkey = cpu_to_le32(wr->remote_qkey);
	memcpy(ud->dgid, av->dgid, sizeof(ud->dgid));
	ether_addr_copy(ud->dmac, av->dmac);
	ud->sgid_index = cpu_to_le16(av->sgid_index);
	ud->flow_label = cpu_to_le32(av->flow_label);
	ud->udp_sport = cpu_to_le16(av->udp_sport);
	ud->hop_limit = av->hop_limit;
	ud->tclass = av->tclass;
	ud->sl = av->sl;
}

static void dingo_wqe_rdma(struct dingo_wqe *wqe, u64 raddr, u32 rkey)
{
	struct dingo_wqe_rdma *rdma = dingo_wqe_add(wqe, sizeof(*rdma));

	rdma->raddr = cpu_to_le64(raddr);
	rdma->rkey = cpu_to_le32(rkey);
}

static void dingo_wqe_atomic(struct dingo_wqe *wqe, const struct ib_atomic_wr *wr)
{
	struct dingo_wqe_atomic *atomic;

	dingo_wqe_rdma(wqe, wr->remote_addr, wr->rkey);
	atomic = dingo_wqe_add(wqe, sizeof(*atomic));
	if (wr->wr.opcode == IB_WR_ATOMIC_CMP_AND_SWP) {
		atomic->swap_add = cpu_to_le64(wr->swap);
		atomic->compare = cpu_to_le64(wr->compare_add);
	} else {
		atomic->swap_add = cpu_to_le64(wr->compare_add);
	}
}

static void dingo_wqe_reg(struct dingo_wqe *wqe, const struct ib_reg_wr *wr)
{
	struct dingo_wqe_reg *reg = dingo_wqe_add(wqe, sizeof(*reg));
	struct dingo_mr *mr = to_dmr(wr->mr);

	dma_wmb(); /* order the page list before its request */
	reg->iova = cpu_to_le64(mr->ibmr.iova);
	reg->length = cpu_to_le64(mr->ibmr.length);
	reg->pbl_addr = cpu_to_le64(mr->frwr_dma);
	reg->key = cpu_to_le32(wr->key);
	reg->access = cpu_to_le32(dingo_access(wr->access));
	reg->offset = cpu_to_le32(mr->ibmr.iova & (mr->ibmr.page_size - 1));
	reg->page_shift = ilog2(mr->ibmr.page_size);
}

static int dingo_wqe_inline(struct dingo_wqe *wqe, const struct ib_send_wr *wr,
			    u32 max)
{
	u32 total = 0;
	int n;

	for (n = 0; n < wr->num_sge; n++) {
		const struct ib_sge *sge = &wr->sg_list[n];

		if (sge->length > max - total)
			return -EINVAL;
		memcpy(dingo_wqe_add(wqe, sge->length),
		       (void *)(uintptr_t)sge->addr, sge->length);
		total += sge->length;
	}
	wqe->ctrl.flags |= DINGO_WQE_CTRL_FLAGS_INLINE_MASK;
	wqe->ctrl.inline_len = cpu_to_le16(total);
	return 0;
}

static void dingo_put_sge(struct dingo_sge *to, const struct ib_sge *sge)
{
	to->addr = cpu_to_le64(sge->addr);
	to->lkey = cpu_to_le32(sge->lkey);
	to->length = cpu_to_le32(sge->length);
}

static int dingo_wqe_data(struct dingo_wqe *wqe, const struct dingo_qp *qp,
			  const struct ib_send_wr *wr)
{
	int n;

	if (wr->num_sge > qp->cap.max_send_sge)
		return -EINVAL;
	if (wr->send_flags & IB_SEND_INLINE)
		return dingo_wqe_inline(wqe, wr, qp->cap.max_inline_data);
	for (n = 0; n < wr->num_sge; n++)
		dingo_put_sge(dingo_wqe_add(wqe, sizeof(struct dingo_sge)),
			      &wr->sg_list[n]);
	wqe->ctrl.num_sge = wr->num_sge;
	return 0;
}

/* Return: true for READ and atomics, which only write to local memory. */
static bool dingo_wr_fetches(enum ib_wr_opcode opcode)
{
	return opcode == IB_WR_RDMA_READ ||
	       opcode == IB_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == IB_WR_ATOMIC_FETCH_AND_ADD;
}

/* Builds the segments after the control segment. */
static int dingo_wqe_body(struct dingo_wqe *wqe, struct dingo_qp *qp,
			  const struct ib_send_wr *wr)
{
	bool ud = qp->ibqp.qp_type == IB_QPT_UD ||
		  qp->ibqp.qp_type == IB_QPT_GSI;

	if (ud && wr->opcode != IB_WR_SEND && wr->opcode != IB_WR_SEND_WITH_IMM)
		return -EINVAL;
	/* READ and atomics take no inline data; the operands would leave no
	 * room.
	 */
	if ((wr->send_flags & IB_SEND_INLINE) && dingo_wr_fetches(wr->opcode))
		return -EINVAL;
	switch (wr->opcode) {
	case IB_WR_SEND_WITH_IMM:
		wqe->ctrl.imm = wr->ex.imm_data;
		fallthrough;
	case IB_WR_SEND:
		if (ud)
			dingo_wqe_ud(wqe, ud_wr(wr));
		else
			dingo_wqe_rdma(wqe, 0, 0);
		return dingo_wqe_data(wqe, qp, wr);
	case IB_WR_SEND_WITH_INV:
		wqe->ctrl.imm = (__force __be32)
			cpu_to_le32(wr->ex.invalidate_rkey);
		dingo_wqe_rdma(wqe, 0, 0);
		return dingo_wqe_data(wqe, qp, wr);
	case IB_WR_RDMA_WRITE_WITH_IMM:
		wqe->ctrl.imm = wr->ex.imm_data;
		fallthrough;
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_READ:
		dingo_wqe_rdma(wqe, rdma_wr(wr)->remote_addr,
			       rdma_wr(wr)->rkey);
		return dingo_wqe_data(wqe, qp, wr);
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		if (wr->num_sge != 1)
			return -EINVAL;
		dingo_wqe_atomic(wqe, atomic_wr(wr));
		return dingo_wqe_data(wqe, qp, wr);
	case IB_WR_LOCAL_INV:
		wqe->ctrl.imm = (__force __be32)
			cpu_to_le32(wr->ex.invalidate_rkey);
		return 0;
	case IB_WR_REG_MR:
		dingo_wqe_reg(wqe, reg_wr(wr));
		return 0;
	default:
		return -EINVAL;
	}
}

static int dingo_wqe_build(struct dingo_wqe *wqe, struct dingo_qp *qp,
			   const struct ib_send_wr *wr, u8 *wc_opcode)
{
	int opcode = dingo_wqe_opcode(wr, wc_opcode);

	if (opcode < 0)
		return opcode;
	memset(wqe, 0, sizeof(*wqe));
	wqe->used = sizeof(wqe->ctrl);
	wqe->ctrl.opcode = opcode;
	if ((wr->send_flags & IB_SEND_SIGNALED) ||
	    qp->sig_type == IB_SIGNAL_ALL_WR)
		wqe->ctrl.flags |= DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK;
	if (wr->send_flags & IB_SEND_SOLICITED)
		wqe->ctrl.flags |= DINGO_WQE_CTRL_FLAGS_SOLICITED_MASK;
	if (wr->send_flags & IB_SEND_FENCE)
		wqe->ctrl.flags |= DINGO_WQE_CTRL_FLAGS_FENCE_MASK;
	return dingo_wqe_body(wqe, qp, wr);
}

/* Copies the WQE to the ring; not yet announced to the card. */
static int dingo_sq_put(struct dingo_qp *qp, struct dingo_wqe *wqe, u64 wr_id,
			u8 wc_opcode)
{
	u32 blocks = DIV_ROUND_UP(wqe->used, DINGO_SQ_BLOCK);
	u32 mask = BIT(qp->log_sq) - 1;
	struct dingo_sq *sq = &qp->sq;
	u8 *ring = qp->sq_mem->ring.va;
	u32 n;

	lockdep_assert_held(&sq->lock);
	if (sq->producer + blocks - sq->consumer > BIT(qp->log_sq))
		return -ENOMEM;
	wqe->ctrl.blocks = blocks;
	for (n = 0; n < blocks; n++) {
		memcpy(ring + ((sq->producer + n) & mask) * DINGO_SQ_BLOCK,
		       wqe->bytes + n * DINGO_SQ_BLOCK, DINGO_SQ_BLOCK);
		sq->blocks[(sq->producer + n) & mask] = 0;
	}
	sq->wr_id[sq->producer & mask] = wr_id;
	sq->opcode[sq->producer & mask] = wc_opcode;
	sq->blocks[sq->producer & mask] = blocks;
	sq->producer += blocks;
	return 0;
}

/* Makes users poll, which returns flush errors as the card is gone. */
static void dingo_post_dead(struct dingo_qp *qp)
{
	struct dingo_ibdev *ib = to_dibdev(qp->ibqp.device);

	queue_work(ib->wq, &ib->wake_work);
}

/**
 * dingo_post_send() - post to a kernel QP
 * @ibqp: the QP
 * @wr: list of work requests
 * @bad: the first that was not posted
 *
 * Any context.
 * Return: 0, -EINVAL, -ENOMEM if the queue is full.
 */
int dingo_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad)
{
	struct dingo_dev *dev = to_ddev(ibqp->device);
	struct dingo_qp *qp = to_dqp(ibqp);
	struct dingo_wqe wqe;
	unsigned long flags;
	bool posted = false;
	u8 wc_opcode;
	int err = 0;

	if (qp->uc) {
		*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&qp->sq.lock, flags);
	for (; wr; wr = wr->next) {
		err = dingo_wqe_build(&wqe, qp, wr, &wc_opcode);
		if (!err)
			err = dingo_sq_put(qp, &wqe, wr->wr_id, wc_opcode);
		if (err) {
			*bad = wr;
			break;
		}
		posted = true;
	}
	if (posted && likely(dingo_is_up(dev)))
		dingo_db_ring(dev, &qp->sq_db,
			      dingo_db_word0(DINGO_DB_SQ, qp->qpn),
			      qp->sq.producer);
	spin_unlock_irqrestore(&qp->sq.lock, flags);
	if (posted && unlikely(!dingo_is_up(dev)))
		dingo_post_dead(qp);
	return err;
}

/**
 * dingo_recv_wqe() - write a receive WQE
 * @entry: the entry of the ring
 * @tag: returned in the completion
 * @wr: the request, not larger than the entry
 * @receive: the result: record of the receive
 */
void dingo_recv_wqe(void *entry, u32 tag, const struct ib_recv_wr *wr,
		    struct dingo_receive *receive)
{
	struct dingo_rq_wqe *wqe = entry;
	struct dingo_sge *sge = entry + sizeof(*wqe);
	u64 bytes = 0;
	int n;

	*wqe = (struct dingo_rq_wqe){
		.tag = cpu_to_le32(tag),
		.num_sge = cpu_to_le16(wr->num_sge),
	};
	for (n = 0; n < wr->num_sge; n++) {
		dingo_put_sge(&sge[n], &wr->sg_list[n]);
		bytes += wr->sg_list[n].length;
	}
	*receive = (struct dingo_receive){
		.wr_id = wr->wr_id,
		.bytes = min_t(u64, bytes, U32_MAX),
	};
}

/**
 * dingo_post_recv() - post receives to a kernel QP
 * @ibqp: the QP, without SRQ
 * @wr: list of work requests
 * @bad: the first that was not posted
 *
 * Any context.
 * Return: 0, -EINVAL, -ENOMEM if the queue is full.
 */
int dingo_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad)
{
	struct dingo_dev *dev = to_ddev(ibqp->device);
	struct dingo_qp *qp = to_dqp(ibqp);
	struct dingo_rq *rq = &qp->rq;
	u32 mask = BIT(qp->log_rq) - 1;
	unsigned long flags;
	bool posted = false;
	int err = 0;

	if (qp->uc || !qp->rq_mem) {
		*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&rq->lock, flags);
	for (; wr; wr = wr->next) {
		if (wr->num_sge > qp->cap.max_recv_sge)
			err = -EINVAL;
		else if (rq->producer - rq->consumer > mask)
			err = -ENOMEM;
		if (err) {
			*bad = wr;
			break;
		}
		dingo_recv_wqe(qp->rq_mem->ring.va +
			       ((rq->producer & mask) << qp->log_rq_stride),
			       rq->producer, wr,
			       &rq->posted[rq->producer & mask]);
		rq->producer++;
		posted = true;
	}
	if (posted && likely(dingo_is_up(dev)))
		dingo_db_ring(dev, &qp->rq_db,
			      dingo_db_word0(DINGO_DB_RQ, qp->qpn),
			      rq->producer);
	spin_unlock_irqrestore(&rq->lock, flags);
	if (posted && unlikely(!dingo_is_up(dev)))
		dingo_post_dead(qp);
	return err;
}
