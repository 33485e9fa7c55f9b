// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Posting receives. */
#include <errno.h>

#include "dingo.h"
#include "direct.h"
#include "doorbell.h"
#include "ring.h"

static void write_entry(const struct dingo_ring *ring, uint32_t index,
			uint32_t tag, const struct ibv_recv_wr *wr)
{
	struct dingo_rq_wqe *wqe = dingo_ring_entry(ring, index);
	struct dingo_sge *sge = (struct dingo_sge *)(wqe + 1);
	int i;

	wqe->tag = htole32(tag);
	wqe->num_sge = htole16(wr->num_sge);
	wqe->rsvd0 = 0;
	wqe->rsvd1 = 0;
	for (i = 0; i < wr->num_sge; i++) {
		sge[i].addr = htole64(wr->sg_list[i].addr);
		sge[i].lkey = htole32(wr->sg_list[i].lkey);
		sge[i].length = htole32(wr->sg_list[i].length);
	}
}

static __attribute__((always_inline)) inline int
post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad,
	  bool direct)
{
	struct dingo_qp *qp = to_dingo_qp(ibqp);
	struct dingo_rq *rq = &qp->rq;
	uint32_t start;
	int err = 0;

	if (!wr)
		return 0;
	if (qp->srq || ibqp->state == IBV_QPS_RESET) {
		*bad = wr;
		return EINVAL;
	}
	dingo_lock(&rq->lock);
	start = rq->producer;
	for (; wr; wr = wr->next) {
		uint32_t used = rq->producer -
				atomic_load_explicit(&rq->consumer,
						     memory_order_acquire);

		if (!rq->ring.buf || used > rq->ring.mask) {
			err = ENOMEM;
			break;
		}
		if (wr->num_sge < 0 || (uint32_t)wr->num_sge > rq->max_sge) {
			err = EINVAL;
			break;
		}
		rq->wr_id[rq->producer & rq->ring.mask] = wr->wr_id;
		write_entry(&rq->ring, rq->producer,
			    rq->producer & rq->ring.mask, wr);
		rq->producer++;
	}
	if (err)
		*bad = wr;
	if (rq->producer != start &&
	    !(direct && qp->direct && dingo_direct_posted(qp))) {
		dingo_ring_doorbell(&rq->ring.db,
				    dingo_doorbell_word(DINGO_DB_RQ, qp->qpn),
				    rq->producer);
	}
	dingo_unlock(&rq->lock);
	return err;
}

int dingo_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad)
{
	return post_recv(ibqp, wr, bad, false);
}

int dingo_post_recv_with_direct(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
				struct ibv_recv_wr **bad)
{
	return post_recv(ibqp, wr, bad, true);
}

int dingo_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad)
{
	struct dingo_srq *srq = to_dingo_srq(ibsrq);
	uint32_t start, tag;
	int err = 0;

	dingo_lock(&srq->lock);
	start = srq->producer;
	for (; wr; wr = wr->next) {
		if (srq->free_head == DINGO_INVALID_ID) {
			err = ENOMEM;
			break;
		}
		if (wr->num_sge < 0 || (uint32_t)wr->num_sge > srq->max_sge) {
			err = EINVAL;
			break;
		}
		tag = srq->free_head;
		srq->free_head = srq->next_free[tag];
		srq->wr_id[tag] = wr->wr_id;
		write_entry(&srq->ring, srq->producer, tag, wr);
		srq->producer++;
	}
	if (err)
		*bad = wr;
	if (srq->producer != start) {
		dingo_ring_doorbell(&srq->ring.db,
				    dingo_doorbell_word(DINGO_DB_SRQ,
							srq->srqn),
				    srq->producer);
	}
	dingo_unlock(&srq->lock);
	return err;
}
