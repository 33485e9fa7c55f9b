/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Functions that build send WQEs in the ring, for ibv_post_send() and ibv_wr_*(). The caller holds
 * the SQ's lock.
 */
#ifndef DINGO_WQE_H
#define DINGO_WQE_H

#include <string.h>

#include <ccan/minmax.h>

#include "dingo.h"
#include "doorbell.h"
#include "queue_size.h"
#include "push.h"
#include "ring.h"

/* Offset in bytes of a WQE's data (SGEs or inline bytes). */
enum {
	DINGO_DATA_RC = sizeof(struct dingo_wqe_ctrl) +
			sizeof(struct dingo_wqe_rdma),
	DINGO_DATA_ATOMIC = DINGO_DATA_RC + sizeof(struct dingo_wqe_atomic),
	DINGO_DATA_UD = sizeof(struct dingo_wqe_ctrl) +
			sizeof(struct dingo_wqe_ud),
	DINGO_DATA_NONE = DINGO_SQ_BLOCK,
};

struct dingo_wr_kind {
	uint8_t hw;			/* enum wr */
	uint8_t wc;			/* enum ibv_wc_opcode */
	uint16_t data_offset;		/* on RC and UC */
};

/* Defined in the header so that ibv_wr_*() compile to constants. */
static const struct dingo_wr_kind dingo_wr_kinds[] = {
	[IBV_WR_SEND] = { DINGO_WR_SEND, IBV_WC_SEND, DINGO_DATA_RC },
	[IBV_WR_SEND_WITH_IMM] = { DINGO_WR_SEND_IMM, IBV_WC_SEND, DINGO_DATA_RC },
	[IBV_WR_SEND_WITH_INV] = { DINGO_WR_SEND_INV, IBV_WC_SEND, DINGO_DATA_RC },
	[IBV_WR_RDMA_WRITE] = { DINGO_WR_WRITE, IBV_WC_RDMA_WRITE, DINGO_DATA_RC },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { DINGO_WR_WRITE_IMM, IBV_WC_RDMA_WRITE, DINGO_DATA_RC },
	[IBV_WR_RDMA_READ] = { DINGO_WR_READ, IBV_WC_RDMA_READ, DINGO_DATA_RC },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = { DINGO_WR_CMP_SWAP, IBV_WC_COMP_SWAP, DINGO_DATA_ATOMIC },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = { DINGO_WR_FETCH_ADD, IBV_WC_FETCH_ADD, DINGO_DATA_ATOMIC },
	[IBV_WR_LOCAL_INV] = { DINGO_WR_LOCAL_INV, IBV_WC_LOCAL_INV, DINGO_DATA_NONE },
	[IBV_WR_BIND_MW] = { DINGO_WR_BIND_MW, IBV_WC_BIND_MW, DINGO_DATA_NONE },
};

static inline uint32_t dingo_sq_room(struct dingo_sq *sq)
{
	return sq->ring.mask + 1 -
	       (sq->producer - atomic_load_explicit(&sq->consumer,
						    memory_order_acquire));
}

/* Returns the address of byte `offset` of the WQE at the
 * producer; blocks wrap at the ring's end.
 */
static inline void *dingo_wqe_at(struct dingo_sq *sq, uint32_t offset)
{
	uint32_t block = sq->producer + offset / DINGO_SQ_BLOCK;

	return (uint8_t *)sq->ring.buf +
	       (size_t)(block & sq->ring.mask) * DINGO_SQ_BLOCK +
	       offset % DINGO_SQ_BLOCK;
}

/* Maps bits 2:0 of enum ibv_send_flags to those of the contract. INLINE is set where data is
 * copied.
 */
static inline uint8_t dingo_wqe_flags(const struct dingo_qp *qp,
				      unsigned int send_flags)
{
#define DINGO_SEND_FLAG(verbs, flag, n)                                        \
	((n) & (verbs) ? DINGO_WQE_CTRL_FLAGS_##flag##_MASK : 0)
#define DINGO_SEND_FLAGS(n)                                                    \
	(DINGO_SEND_FLAG(IBV_SEND_SIGNALED, SIGNALED, n) |                     \
	 DINGO_SEND_FLAG(IBV_SEND_SOLICITED, SOLICITED, n) |                   \
	 DINGO_SEND_FLAG(IBV_SEND_FENCE, FENCE, n))
	static const uint8_t table[8] = {
		DINGO_SEND_FLAGS(0), DINGO_SEND_FLAGS(1), DINGO_SEND_FLAGS(2),
		DINGO_SEND_FLAGS(3), DINGO_SEND_FLAGS(4), DINGO_SEND_FLAGS(5),
		DINGO_SEND_FLAGS(6), DINGO_SEND_FLAGS(7),
	};

	return table[send_flags & 7] | qp->default_flags;
}

/* Returns the record of the WQE at the producer. */
static inline struct dingo_sent *dingo_sq_sent(const struct dingo_sq *sq)
{
	return &sq->sent[sq->producer & sq->ring.mask];
}

/* Begins a WQE at the producer: zeroes its first block, then sets opcode, flags and record. */
static inline struct dingo_wqe_ctrl *
dingo_wqe_begin(struct dingo_sq *sq, const struct dingo_wr_kind *kind,
		uint64_t wr_id, uint8_t flags)
{
	struct dingo_wqe_ctrl *ctrl = dingo_wqe_at(sq, 0);
	struct dingo_sent *sent = dingo_sq_sent(sq);

	memset(ctrl, 0, DINGO_SQ_BLOCK);
	ctrl->opcode = kind->hw;
	ctrl->flags = flags;
	sent->wr_id = wr_id;
	sent->opcode = kind->wc;
	return ctrl;
}

/* Completes a WQE and advances the producer. `sent`: its record; `offset`, `bytes`: its data
 * segment.
 */
static inline void dingo_wqe_end(struct dingo_sq *sq,
				 struct dingo_wqe_ctrl *ctrl,
				 struct dingo_sent *sent, uint32_t offset,
				 uint32_t bytes)
{
	uint32_t blocks = dingo_wqe_blocks(offset, bytes);

	ctrl->blocks = blocks;
	sent->blocks = blocks;
	sq->producer += blocks;
}

static inline void dingo_wqe_sge(struct dingo_sq *sq, uint32_t offset,
				 uint64_t addr, uint32_t lkey, uint32_t length)
{
	struct dingo_sge *sge = dingo_wqe_at(sq, offset);

	sge->addr = htole64(addr);
	sge->lkey = htole32(lkey);
	sge->length = htole32(length);
}

/* memcpy() of a few bytes without a call; the last word may overlap the one before it. */
static inline void dingo_copy_small(uint8_t *to, const uint8_t *from,
				    uint32_t bytes)
{
	if (bytes >= 8) {
		uint64_t tail;

		memcpy(&tail, from + bytes - 8, 8);
		for (uint32_t i = 0; i + 8 < bytes; i += 8)
			memcpy(to + i, from + i, 8);
		memcpy(to + bytes - 8, &tail, 8);
		return;
	}
	while (bytes--)
		*to++ = *from++;
}

/* Copies inline data to byte `offset` of the WQE, block by block. */
static inline void dingo_wqe_copy(struct dingo_sq *sq, uint32_t offset,
				  const void *data, uint32_t bytes)
{
	const uint8_t *from = data;

	while (bytes) {
		uint32_t room = DINGO_SQ_BLOCK - offset % DINGO_SQ_BLOCK;
		uint32_t now = min_t(uint32_t, room, bytes);

		dingo_copy_small(dingo_wqe_at(sq, offset), from, now);
		offset += now;
		from += now;
		bytes -= now;
	}
}

static inline void dingo_wqe_rdma(struct dingo_wqe_ctrl *ctrl, uint64_t raddr,
				  uint32_t rkey)
{
	struct dingo_wqe_rdma *rdma = (struct dingo_wqe_rdma *)(ctrl + 1);

	rdma->raddr = htole64(raddr);
	rdma->rkey = htole32(rkey);
}

static inline void dingo_wqe_atomic(struct dingo_wqe_ctrl *ctrl,
				    uint64_t swap_add, uint64_t compare)
{
	struct dingo_wqe_rdma *rdma = (struct dingo_wqe_rdma *)(ctrl + 1);
	struct dingo_wqe_atomic *atomic = (struct dingo_wqe_atomic *)(rdma + 1);

	atomic->swap_add = htole64(swap_add);
	atomic->compare = htole64(compare);
}

static inline void dingo_wqe_address(struct dingo_wqe_ctrl *ctrl,
				     const struct dingo_ah *ah, uint32_t qpn,
				     uint32_t qkey)
{
	struct dingo_wqe_ud *ud = (struct dingo_wqe_ud *)(ctrl + 1);

	*ud = ah->av;
	ud->dest_qpn = htole32(qpn);
	ud->qkey = htole32(qkey);
}

/* send.c: fills in the WQE of BIND_MW. Returns 0, or EPERM if
 * window, region and QP differ in PD.
 */
int dingo_wqe_bind(struct dingo_qp *qp, struct dingo_wqe_ctrl *ctrl,
		   const struct ibv_mw *mw, uint32_t rkey,
		   const struct ibv_mw_bind_info *info);

/* dingo_ring_quietly() and dingo_ring_doorbell() for the SQ, which may push. */
static inline bool dingo_sq_ring_quietly(struct dingo_qp *qp)
{
	if (qp->sq.push) {
		dingo_push_ring(qp);
		return false;
	}
	return dingo_ring_quietly(&qp->sq.ring.db,
				  dingo_doorbell_word(DINGO_DB_SQ, qp->qpn),
				  qp->sq.producer);
}

static inline void dingo_sq_ring(struct dingo_qp *qp)
{
	if (dingo_sq_ring_quietly(qp))
		dingo_kick(&qp->sq.ring.db);
}

#endif
