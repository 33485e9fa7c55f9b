/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Translation of a struct dingo_cqe into a verbs completion, for classic and extended polling. */
#ifndef DINGO_COMPLETION_H
#define DINGO_COMPLETION_H

#include <errno.h>
#include <rdma/dingo-abi.h>

#include "dingo.h"
#include "ring.h"

/* srq.c: frees the tag of a completed receive. */
void dingo_srq_free_tag(struct dingo_srq *srq, uint32_t tag);

/* cq.c: rings the CQ doorbell with the consumer index; the arm bits stay as last rung. */
void dingo_cq_ring(struct dingo_cq *cq);

/* The owner bit is the phase: 1 in the first pass through the ring, then alternating. */
static inline bool dingo_cqe_valid(const struct dingo_cqe *cqe,
				   const struct dingo_ring *ring,
				   uint32_t index)
{
	bool owner = *(const volatile uint8_t *)&cqe->owner & 1;

	return owner == !(index & (ring->mask + 1));
}

static inline bool dingo_cqe_is_recv(uint32_t qpn_op)
{
	return DINGO_GET(DINGO_CQE_QPN_OP_OPCODE_MASK, qpn_op) >= DINGO_WC_RECV;
}

/*
 * ibv_wc.sl of a receive. For a datagram it gives the network header as mlx4 and mlx5 do (bit 3:
 * UDP encapsulated, bits 2..0: 1 IPv6, 2 IPv4), which UCX relies on; for other receives it is the
 * VLAN priority.
 */
static inline uint8_t dingo_cqe_sl(const struct dingo_cqe *cqe)
{
	if (cqe->flags & DINGO_CQE_FLAGS_GRH_MASK)
		return cqe->flags & DINGO_CQE_FLAGS_IPV4_MASK ? 8 | 2 : 8 | 1;
	return DINGO_GET(DINGO_CQE_SRC_QPN_SL_MASK, le32toh(cqe->src_qpn));
}

/* cq_resize.c: entries that wait to be polled, plus one for each signaled send in flight. */
uint32_t dingo_cq_entries_needed(struct dingo_context *ctx, struct dingo_cq *cq);

/* cq_resize.c: allocates memory for all entries that can be unpolled when the ring is switched.
 * Returns NULL if out of memory.
 */
struct dingo_old_entries *dingo_cq_make_room(const struct dingo_cq *cq);

/* cq_resize.c: replaces the CQ's ring by `ring`, to which the card writes from entry 0 on. Unpolled
 * entries of the present ring, which ends at `switch_index`, move to `room`; the ring is unmapped.
 */
void dingo_cq_switch_ring(struct dingo_cq *cq, const struct dingo_ring *ring,
			  uint32_t switch_index, struct dingo_old_entries *room);

/* Consumes the next entry, or returns NULL. The caller holds the lock and calls dingo_cq_polled()
 * later.
 */
const struct dingo_cqe *dingo_cq_next_old(struct dingo_cq *cq);

/* Returns the ring's entry at index `consumer` without consuming it; NULL if the card has not
 * written it. Does not see entries from before a resize, which precede those of the ring.
 */
static inline const struct dingo_cqe *
dingo_cq_peek_at(const struct dingo_cq *cq, uint32_t consumer)
{
	const struct dingo_cqe *cqe = (const struct dingo_cqe *)cq->ring.buf +
				      (consumer & cq->ring.mask);

	if (!dingo_cqe_valid(cqe, &cq->ring, consumer))
		return NULL;
	udma_from_device_barrier();
	return cqe;
}

static inline const struct dingo_cqe *dingo_cq_next(struct dingo_cq *cq)
{
	const struct dingo_cqe *cqe;

	if (unlikely(cq->old))
		return dingo_cq_next_old(cq);
	cqe = dingo_cq_peek_at(cq, cq->consumer);
	if (cqe)
		cq->consumer++;
	return cqe;
}

/* Result of a poll that found nothing: 0, or EIO if the card is gone and nothing completes any
 * more.
 */
static inline int dingo_cq_empty(const struct dingo_cq *cq)
{
	return unlikely(atomic_load_explicit(cq->status, memory_order_relaxed) &
			DINGO_STATUS_GONE) ? EIO : 0;
}

/* cq_poll.c: yields the processor, and sleeps after many empty polls. */
void dingo_cq_yield(struct dingo_cq *cq);

/* Called after an empty poll, without the lock: the card's thread may be waiting for this
 * processor.
 */
static inline void dingo_cq_give_way(struct dingo_cq *cq)
{
	if (atomic_load_explicit(cq->status + DINGO_STATUS_CROWDED_OFFSET / 4,
				 memory_order_relaxed))
		dingo_cq_yield(cq);
}

/* The card must be told of consumed entries before a quarter of the ring is unreported
 * (dingo-abi.h, struct dingo_create_cq_resp).
 */
static inline bool dingo_cq_report_due(const struct dingo_cq *cq)
{
	return (int32_t)(cq->consumer - cq->report_at) >= 0;
}

/* Called after a poll: reports consumed entries to the card when that is due. */
static inline void dingo_cq_polled(struct dingo_cq *cq)
{
	if (unlikely(dingo_cq_report_due(cq)))
		dingo_cq_ring(cq);
}

/* Notes that consumer index `index` has been reported to the card. */
static inline void dingo_cq_reported(struct dingo_cq *cq, uint32_t index)
{
	cq->report_at = index + cq->ring.mask / 8 + 1;
}

struct dingo_completion {
	uint64_t wr_id;
	enum ibv_wc_opcode opcode;
	unsigned int flags;		/* IBV_WC_* */
};

/* cq_poll.c: settles a completed receive. Returns false if the entry is invalid and must be
 * skipped.
 */
bool dingo_settle_recv(struct dingo_qp *qp, const struct dingo_cqe *cqe,
		       uint32_t op, struct dingo_completion *done);

/* cq_poll.c: looks the QP up; returns NULL if it was destroyed. Caches it in last_qp unless entries
 * from before a resize wait: with another last_qp dingo_poll_cq() cannot overtake them.
 */
struct dingo_qp *dingo_cq_switch_qp(struct dingo_cq *cq, uint32_t qpn);

/* Returns the QP of an entry, or NULL if it was destroyed. */
static inline struct dingo_qp *dingo_cq_qp(struct dingo_cq *cq, uint32_t qpn)
{
	struct dingo_qp *qp = cq->last_qp;

	return likely(qp->qpn == qpn) ? qp : dingo_cq_switch_qp(cq, qpn);
}

/* Reads the record of a completed send, then frees its blocks: a poster may overwrite the record. */
static inline void dingo_settle_send(struct dingo_qp *qp,
				     const struct dingo_cqe *cqe,
				     uint64_t *wr_id, enum ibv_wc_opcode *opcode)
{
	uint32_t index = le32toh(cqe->wqe_index);
	const struct dingo_sent *sent =
		&qp->sq.sent[index & qp->sq.ring.mask];

	*wr_id = sent->wr_id;
	*opcode = sent->opcode;
	atomic_store_explicit(&qp->sq.consumer, index + sent->blocks,
			      memory_order_release);
}

/* Settles the work request that `cqe` completes. Returns false if the entry must be skipped: its QP
 * was destroyed or the entry is invalid.
 */
static inline bool dingo_settle(struct dingo_cq *cq,
				const struct dingo_cqe *cqe,
				struct dingo_completion *done)
{
	uint32_t word = le32toh(cqe->qpn_op);
	uint32_t qpn = DINGO_GET(DINGO_CQE_QPN_OP_QPN_MASK, word);
	uint32_t op = DINGO_GET(DINGO_CQE_QPN_OP_OPCODE_MASK, word);
	struct dingo_qp *qp = dingo_cq_qp(cq, qpn);

	if (unlikely(!qp))
		return false;
	if (op >= DINGO_WC_RECV)
		return dingo_settle_recv(qp, cqe, op, done);
	dingo_settle_send(qp, cqe, &done->wr_id, &done->opcode);
	done->flags = 0;
	return true;
}

static inline enum ibv_wc_status dingo_cqe_status(const struct dingo_cqe *cqe)
{
	/* enum wcs has the values of enum ibv_wc_status */
	if (likely(cqe->status == IBV_WC_SUCCESS))
		return IBV_WC_SUCCESS;
	return cqe->status <= IBV_WC_GENERAL_ERR ? cqe->status :
						   IBV_WC_GENERAL_ERR;
}

#endif
