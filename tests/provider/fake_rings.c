// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "fake_rings.h"

static void make_ring(struct fake *fake, struct dingo_ring *ring,
		      uint32_t entries, uint8_t log_stride, unsigned int db,
		      bool db_memory)
{
	ring->bytes = (size_t)entries << log_stride;
	ring->buf = aligned_alloc(4096, align(ring->bytes, 4096));
	memset(ring->buf, 0, ring->bytes);
	ring->mask = entries - 1;
	ring->log_stride = log_stride;
	ring->db.slot = &fake->doorbell[db];
	if (db_memory) {
		ring->db.dirty = &fake->dirty;
		ring->db.need_kick = &fake->need_kick;
		ring->db.kick = fake->kick_fd ? NULL : &fake->kick;
		ring->db.kick_fd = fake->kick_fd;
	}
}

struct fake *fake_new(const struct fake_options *o)
{
	struct fake *fake = calloc(1, sizeof(*fake));
	struct dingo_qp *qp = &fake->qp;
	uint32_t index = FAKE_QPN & 0xffff, i;

	fake->kick_fd = o->kick_fd;
	fake->ctx.caps = DINGO_CAP_RC | DINGO_CAP_UC | DINGO_CAP_UD |
			 DINGO_CAP_SRQ | DINGO_CAP_ATOMIC | DINGO_CAP_SEND_INV |
			 DINGO_CAP_MW;
	pthread_mutex_init(&fake->ctx.mutex, NULL);
	fake->pd.pd.context = &fake->ctx.vctx.context;
	fake->cq.cqn = FAKE_CQN;
	fake->cq.vcq.cq.context = &fake->ctx.vctx.context;
	make_ring(fake, &fake->cq.ring, o->cq_entries, 5, FAKE_DB_CQ, o->db_memory);
	dingo_lock_init(&fake->cq.lock, !o->single_threaded);
	fake->cq.last_qp = &dingo_no_qp;
	fake->cq.status = fake->status;
	fake->cq.report_at = fake->cq.ring.mask / 8 + 1;

	qp->qpn = FAKE_QPN;
	qp->vqp.qp.context = &fake->ctx.vctx.context;
	qp->vqp.qp.qp_num = FAKE_QPN;
	qp->vqp.qp.qp_type = o->type;
	qp->vqp.qp.pd = &fake->pd.pd;
	qp->vqp.qp.state = IBV_QPS_RTS;
	dingo_lock_init(&qp->sq.lock, !o->single_threaded);
	dingo_lock_init(&qp->rq.lock, !o->single_threaded);
	make_ring(fake, &qp->sq.ring, o->sq_blocks, 6, FAKE_DB_SQ, o->db_memory);
	qp->sq.sent = calloc(o->sq_blocks, sizeof(*qp->sq.sent));
	qp->sq.max_blocks = o->max_blocks;
	qp->sq.max_sge = (o->max_blocks * 64 - (o->type == IBV_QPT_UD ? 64 : 32)) / 16;
	qp->sq.max_inline = qp->sq.max_sge * 16;
	dingo_qp_init_send(qp, o->type, false, &fake->ctx);
	if (o->srq) {
		qp->srq = &fake->srq;
		fake->srq.srqn = FAKE_SRQN;
		fake->srq.max_sge = 3;
		dingo_lock_init(&fake->srq.lock, !o->single_threaded);
		make_ring(fake, &fake->srq.ring, o->rq_entries, 6, FAKE_DB_SRQ, o->db_memory);
		fake->srq.wr_id = calloc(o->rq_entries, 8);
		fake->srq.next_free = calloc(o->rq_entries, 4);
		for (i = 0; i < o->rq_entries; i++)
			fake->srq.next_free[i] = i + 1 < o->rq_entries ? i + 1 : DINGO_INVALID_ID;
	} else {
		make_ring(fake, &qp->rq.ring, o->rq_entries, 6, FAKE_DB_RQ, o->db_memory);
		qp->rq.wr_id = calloc(o->rq_entries, 8);
		qp->rq.max_sge = 3;
	}
	fake->ctx.qp_table[index >> DINGO_QP_TABLE_BITS] =
		calloc(DINGO_QP_TABLE_SIZE, sizeof(struct dingo_qp *));
	fake->ctx.qp_table[index >> DINGO_QP_TABLE_BITS][index & (DINGO_QP_TABLE_SIZE - 1)] = qp;
	return fake;
}

void fake_free(struct fake *fake)
{
	unsigned int i;

	free(fake->cq.ring.buf);
	free(fake->qp.sq.ring.buf);
	free(fake->qp.sq.sent);
	free(fake->qp.rq.ring.buf);
	free(fake->qp.rq.wr_id);
	free(fake->srq.ring.buf);
	free(fake->srq.wr_id);
	free(fake->srq.next_free);
	for (i = 0; i < DINGO_QP_TABLE_SIZE; i++)
		free(fake->ctx.qp_table[i]);
	free(fake);
}

void fake_complete(struct fake *fake, uint8_t opcode, uint32_t wqe_index,
		   uint8_t status, uint32_t byte_len)
{
	struct dingo_cqe *cqe = dingo_ring_entry(&fake->cq.ring, fake->cq_producer);
	bool second_pass = fake->cq_producer & (fake->cq.ring.mask + 1);

	memset(cqe, 0, offsetof(struct dingo_cqe, owner));
	cqe->wqe_index = htole32(wqe_index);
	cqe->byte_len = htole32(byte_len);
	cqe->qpn_op = htole32(DINGO_PREP(DINGO_CQE_QPN_OP_OPCODE_MASK, (uint32_t)opcode) | FAKE_QPN);
	cqe->status = status;
	cqe->owner = !second_pass;
	fake->cq_producer++;
}
