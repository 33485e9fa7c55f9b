// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The direct road: completions that no card has written, their order, and events. */
#include <sched.h>
#include <string.h>

#include <ccan/minmax.h>

#include "completion.h"
#include "direct.h"
#include "direct_abi.h"
#include "doorbell.h"
#include "ring.h"

/* Most ns that arming waits for a peer that is completing a receive. */
#define AWAIT_NS 100000000

void dingo_direct_add_entry(struct dingo_cq_direct *c, struct dingo_qp *qp,
			    uint32_t start, uint32_t bytes)
{
	const struct dingo_sent *sent = &qp->sq.sent[start & qp->sq.ring.mask];
	struct dingo_direct_entry *entry;
	uint32_t tail;

	dingo_lock(&c->lock);
	tail = atomic_load_explicit(&c->tail, memory_order_relaxed);
	entry = &c->entries[tail % DINGO_DIRECT_ENTRIES];
	entry->cqe.byte_len = htole32(bytes);
	entry->cqe.qpn_op = htole32(DINGO_PREP(DINGO_CQE_QPN_OP_QPN_MASK, qp->qpn));
	entry->wr_id = sent->wr_id;
	entry->opcode = sent->opcode;
	entry->qp = qp;
	/* `signaled` out of range is old: its completion has been polled */
	if (start - qp->direct->signaled > qp->sq.ring.mask + 1)
		qp->direct->signaled = atomic_load_explicit(&qp->sq.consumer,
							    memory_order_relaxed);
	entry->after = qp->direct->signaled;
	entry->upto = start;
	entry->used = qp->direct->used;
	atomic_store_explicit(&c->tail, tail + 1, memory_order_release);
	dingo_unlock(&c->lock);
}

/* Other QPs may post concurrently: `posters` counts the entries that they may add. */
bool dingo_direct_begin_post(struct dingo_cq_direct *c)
{
	uint32_t posters = atomic_fetch_add(&c->posters, 1);
	uint32_t used = atomic_load_explicit(&c->tail, memory_order_relaxed) -
			atomic_load_explicit(&c->head, memory_order_acquire);

	if (likely(!atomic_load(&c->armed) &&
		   used + posters < DINGO_DIRECT_ENTRIES - 1))
		return true;
	atomic_fetch_sub(&c->posters, 1);
	return false;
}

void dingo_direct_end_post(struct dingo_cq_direct *c)
{
	atomic_fetch_sub_explicit(&c->posters, 1, memory_order_release);
}

/* Returns true if completions of the card, in the ring, precede the entry. Else marks all WQEs
 * before it as done.
 */
static bool comes_later(const struct dingo_direct_entry *entry)
{
	struct dingo_sq *sq = &entry->qp->sq;
	uint32_t polled = atomic_load_explicit(&sq->consumer, memory_order_relaxed);

	if ((int32_t)(polled - entry->after) < 0)
		return true;
	if ((int32_t)(entry->upto - polled) > 0)
		atomic_store_explicit(&sq->consumer, entry->upto,
				      memory_order_release);
	return false;
}

/*
 * Resets the backoff of empty polls (dingo_cq_yield()), as this poll found a completion.
 */
static inline void note_progress(struct dingo_cq *cq)
{
	if (atomic_load_explicit(&cq->empty_polls, memory_order_relaxed))
		atomic_store_explicit(&cq->empty_polls, 0, memory_order_relaxed);
}

/* Consumes the oldest direct send completion, unless completions of the card precede it. */
static const struct dingo_direct_entry *next_entry(struct dingo_cq *cq)
{
	struct dingo_cq_direct *c = cq->direct;
	uint32_t head = atomic_load_explicit(&c->head, memory_order_relaxed);

	while (head != atomic_load_explicit(&c->tail, memory_order_acquire)) {
		c->current = c->entries[head % DINGO_DIRECT_ENTRIES];
		if (c->current.qp && comes_later(&c->current))
			return NULL;
		atomic_store_explicit(&c->head, ++head, memory_order_release);
		if (c->current.qp) {
			atomic_store_explicit(&c->current.qp->direct->freed, c->current.used,
					      memory_order_relaxed);
			note_progress(cq);
			return &c->current;
		}
	}
	return NULL;
}

void dingo_direct_fill(struct ibv_wc *wc, const struct dingo_direct_entry *entry)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = entry->wr_id;
	wc->status = IBV_WC_SUCCESS;
	wc->opcode = entry->opcode;
	wc->byte_len = le32toh(entry->cqe.byte_len);
	wc->qp_num = entry->qp->qpn;
}

/* Returns the record of the QP's receive `index` if a peer has completed it, else NULL. */
static const struct dingo_direct_receive *receipt_at(const struct dingo_qp *qp,
						     uint32_t index)
{
	const struct dingo_direct_receive *done =
		&qp->direct->own->done[index & qp->rq.ring.mask];

	return dingo_load_shared(&done->seq) == index + 1 &&
			       dingo_direct_has_receive(qp, index) ?
		       done : NULL;
}

/* Returns the record of the QP's next receive if a peer has completed it, else NULL. */
static const struct dingo_direct_receive *receipt_of(const struct dingo_qp *qp)
{
	return receipt_at(qp, atomic_load_explicit(&qp->rq.consumer,
						   memory_order_relaxed));
}

/* The record of a receive that the card completed gets a seq that is invalid in its slot: each
 * settled receive thus leaves a seq of its own pass, and none is taken for valid 2^32 receives later.
 */
void dingo_direct_settled(struct dingo_qp *qp, uint32_t index)
{
	struct dingo_direct_receive *done =
		&qp->direct->own->done[index & qp->rq.ring.mask];

	if (dingo_load_shared(&done->seq) != index + 1)
		__atomic_store_n(&done->seq, index, __ATOMIC_RELAXED);
}

/* Returns true if the receive can hold `bytes`: the peer's length is not trusted. */
static bool fits(const struct dingo_qp *qp, uint32_t index, uint32_t bytes)
{
	const struct dingo_rq_wqe *wqe = dingo_ring_entry(&qp->rq.ring, index);
	const struct dingo_sge *sges = (const struct dingo_sge *)(wqe + 1);
	uint32_t i, num = min_t(uint32_t, le16toh(wqe->num_sge), qp->rq.max_sge);
	uint64_t room = 0;

	for (i = 0; i < num && room < bytes; i++)
		room += le32toh(sges[i].length);
	return bytes <= room;
}

/* Converts a receive that a peer completed to a CQE. Reads each word that the peer writes once. An
 * invalid one becomes LOC_LEN_ERR and closes the direct road of the QP.
 */
static const struct dingo_cqe *take_receipt(struct dingo_cq_direct *c,
					    struct dingo_qp *qp, uint32_t index,
					    const struct dingo_direct_receive *done)
{
	uint32_t opcode = dingo_load_shared(&done->opcode);
	uint32_t bytes = dingo_load_shared(&done->byte_len);
	bool good = true;

	if (unlikely(opcode < DINGO_WC_RECV || opcode > DINGO_WC_RECV_WRITE_IMM ||
		     opcode == DINGO_WC_RECV_INV)) {
		opcode = DINGO_WC_RECV;
		good = false;
	}
	if (opcode != DINGO_WC_RECV_WRITE_IMM)
		good = good && likely(fits(qp, index, bytes));
	c->received.wqe_index = htole32(index & qp->rq.ring.mask);
	c->received.byte_len = htole32(good ? bytes : 0);
	c->received.imm = (__force __be32)dingo_load_shared(&done->imm);
	c->received.qpn_op = htole32(DINGO_PREP(DINGO_CQE_QPN_OP_QPN_MASK, qp->qpn) |
				     DINGO_PREP(DINGO_CQE_QPN_OP_OPCODE_MASK, opcode));
	c->received.flags = opcode == DINGO_WC_RECV ? 0 : DINGO_CQE_FLAGS_IMM_MASK;
	c->received.status = good ? IBV_WC_SUCCESS : IBV_WC_LOC_LEN_ERR;
	if (unlikely(!good))
		dingo_direct_failed(qp);
	return &c->received;
}

uint32_t dingo_direct_waiting(const struct dingo_cq *cq)
{
	const struct dingo_cq_direct *c = cq->direct;
	uint32_t n, index, count;

	if (!c)
		return 0;
	count = atomic_load(&c->tail) - atomic_load(&c->head);
	for (n = 0; n < atomic_load(&c->num_receivers); n++) {
		const struct dingo_qp *qp = c->receivers[n];

		index = atomic_load(&qp->rq.consumer);
		while (receipt_at(qp, index)) {
			index++;
			count++;
		}
	}
	return count;
}

/* Returns a receive that a peer has completed, of each QP in turn. */
static const struct dingo_cqe *next_receipt(struct dingo_cq *cq)
{
	struct dingo_cq_direct *c = cq->direct;
	uint32_t num = atomic_load_explicit(&c->num_receivers, memory_order_acquire);
	uint32_t n;

	for (n = 0; n < num; n++) {
		struct dingo_qp *qp = c->receivers[(c->next_receiver + n) % num];
		const struct dingo_direct_receive *done = receipt_of(qp);
		uint32_t index = atomic_load_explicit(&qp->rq.consumer,
						      memory_order_relaxed);

		if (!done)
			continue;
		c->next_receiver += n + 1;
		note_progress(cq);
		return take_receipt(c, qp, index, done);
	}
	return NULL;
}

bool dingo_direct_posted(struct dingo_qp *qp)
{
	struct dingo_direct *d = qp->direct;

	atomic_store_explicit(&d->receives_end, qp->rq.producer, memory_order_relaxed);
	/* if the page is closed concurrently, dingo_direct_failed() tells the card */
	__atomic_store_n(&d->own->indexes.rq_producer, qp->rq.producer, __ATOMIC_RELEASE);
	/* `told` is checked, too, as the peer could write `open` */
	return d->has_rq && !atomic_load_explicit(&d->told, memory_order_relaxed) &&
	       dingo_load_shared(&d->own->open) == d->generation;
}

/* Waits until a peer that did not see the CQ armed has completed its receive. A peer that was
 * preempted in a SEND for longer than AWAIT_NS loses the direct road: the page is closed, so it
 * cannot complete the receive.
 */
static void await_peer(struct dingo_qp *qp)
{
	struct dingo_direct_page *own = qp->direct->own;
	uint32_t busy = dingo_load_shared(&own->busy);
	uint64_t until;

	if (likely((busy & DINGO_DIRECT_BUSY_RECEIVE) != DINGO_DIRECT_BUSY_RECEIVE))
		return;
	until = dingo_now_ns() + AWAIT_NS;
	while (!atomic_load(&qp->direct->told) && dingo_load_shared(&own->open) &&
	       dingo_load_shared(&own->busy) == busy) {
		if (dingo_now_ns() >= until) {
			dingo_direct_failed(qp);
			return;
		}
		sched_yield();
	}
}

/* Sets `armed` of the CQ and in the pages of its receivers. The caller holds the lock of `c`. */
static void tell_armed(struct dingo_cq_direct *c, bool armed)
{
	uint32_t n;

	atomic_store(&c->armed, armed);
	for (n = 0; n < atomic_load(&c->num_receivers); n++)
		__atomic_exchange_n(&c->receivers[n]->direct->own->armed, armed,
				    __ATOMIC_SEQ_CST);
	dingo_full_fence();
}

void dingo_direct_arm(struct dingo_cq *cq)
{
	struct dingo_cq_direct *c = cq->direct;
	uint32_t n;

	c->arms++;
	/* if armed for solicited completions only, armed_at says nothing: others raise no event */
	c->any = cq->armed_any;
	/* entries already present may have raised their event before */
	c->armed_at = cq->consumer;
	while (c->any && dingo_cq_peek_at(cq, c->armed_at))
		c->armed_at++;
	dingo_lock(&c->lock);
	tell_armed(c, true);
	dingo_unlock(&c->lock);
	for (n = 0; n < atomic_load(&c->num_receivers); n++)
		await_peer(c->receivers[n]);
	/*
	 * a poster that did not see `armed` adds its completion before the caller
	 * polls again
	 */
	while (atomic_load(&c->posters))
		sched_yield();
}

static void disarm(struct dingo_cq *cq)
{
	struct dingo_cq_direct *c = cq->direct;

	c->arms = 0;
	dingo_lock(&c->lock);
	tell_armed(c, false);
	dingo_unlock(&c->lock);
}

void dingo_direct_event(struct dingo_cq *cq)
{
	struct dingo_cq_direct *c = cq->direct;

	/* the event may be that of an earlier arming */
	if (c->arms > 1)
		c->arms--;
	else if (c->arms)
		disarm(cq);
}

static void note_failure(struct dingo_cq *cq, const struct dingo_cqe *cqe)
{
	struct dingo_qp *qp = dingo_cq_qp(cq, DINGO_GET(DINGO_CQE_QPN_OP_QPN_MASK,
							le32toh(cqe->qpn_op)));

	if (qp && qp->direct)
		dingo_direct_failed(qp);
}

/* Returns true if the completion that the last arming waited for exists, and the card has taken the
 * arming: its event has been or will be sent. Before that, the doorbell of a poll may replace it.
 */
static bool has_fired(const struct dingo_cq *cq)
{
	const struct dingo_cq_direct *c = cq->direct;

	return c->any && dingo_arm_is_taken(&cq->ring.db) &&
	       ((int32_t)(cq->consumer - c->armed_at) > 0 ||
		dingo_cq_peek_at(cq, c->armed_at));
}

/* Returns the next direct completion, alternating between sends and receives. */
static const struct dingo_cqe *next_direct(struct dingo_cq *cq,
					   const struct dingo_direct_entry **entry)
{
	bool receives = cq->direct->receives = !cq->direct->receives;
	const struct dingo_cqe *cqe = receives ? next_receipt(cq) : NULL;

	*entry = cqe ? NULL : next_entry(cq);
	return cqe || *entry || receives ? cqe : next_receipt(cq);
}

/* Returns true if the ring's next entry must be polled before further direct completions: the
 * direct sends that existed when the entry was first seen have been polled. A receive in the ring
 * follows direct receives with lower indexes.
 */
static bool is_turn_of_ring(struct dingo_cq *cq)
{
	struct dingo_cq_direct *c = cq->direct;
	const struct dingo_cqe *cqe = dingo_cq_peek_at(cq, cq->consumer);
	uint32_t head = atomic_load_explicit(&c->head, memory_order_relaxed);
	const struct dingo_qp *qp;
	uint32_t word;

	if (!cqe)
		return false;
	if (!c->marked) {
		c->marked = true;
		c->mark = atomic_load_explicit(&c->tail, memory_order_acquire);
	}
	if ((int32_t)(head - c->mark) < 0)
		return false;
	word = le32toh(cqe->qpn_op);
	qp = dingo_cq_qp(cq, DINGO_GET(DINGO_CQE_QPN_OP_QPN_MASK, word));
	return !dingo_cqe_is_recv(word) || !qp || !qp->direct ||
	       !qp->direct->has_rq || !receipt_of(qp);
}

const struct dingo_cqe *
dingo_direct_next_of_all(struct dingo_cq *cq,
			 const struct dingo_direct_entry **entry)
{
	struct dingo_cq_direct *c = cq->direct;
	bool old = cq->old && cq->old->count;
	/* read first: direct completions from before the card wrote this entry are seen, and go
	 * first
	 */
	bool waits = old || dingo_cq_peek_at(cq, cq->consumer);
	const struct dingo_cqe *cqe;

	if (unlikely(atomic_load_explicit(&c->armed, memory_order_relaxed)) &&
	    !old && has_fired(cq))
		disarm(cq);
	*entry = NULL;
	if (!waits || old || likely(!is_turn_of_ring(cq))) {
		cqe = next_direct(cq, entry);
		if (cqe || *entry || !waits)
			return cqe;
	}
	cqe = dingo_cq_next(cq);
	c->marked = false;
	/* before the failed request can be taken for completed */
	if (unlikely(cqe && cqe->status))
		note_failure(cq, cqe);
	return cqe;
}

void dingo_direct_forget_qp(struct dingo_cq *cq, struct dingo_qp *qp)
{
	struct dingo_cq_direct *c = cq->direct;
	uint32_t i;

	dingo_lock(&c->lock);
	for (i = atomic_load(&c->head); i != atomic_load(&c->tail); i++)
		if (c->entries[i % DINGO_DIRECT_ENTRIES].qp == qp)
			c->entries[i % DINGO_DIRECT_ENTRIES].qp = NULL;
	dingo_unlock(&c->lock);
}

void dingo_direct_failed(struct dingo_qp *qp)
{
	struct dingo_direct *d = qp->direct;

	__atomic_store_n(&d->own->open, 0, __ATOMIC_SEQ_CST);
	if (atomic_exchange(&d->told, true) || !qp->rq.ring.buf)
		return;
	/* tells the card of all receives */
	dingo_lock(&qp->rq.lock);
	dingo_ring_doorbell(&qp->rq.ring.db,
			    dingo_doorbell_word(DINGO_DB_RQ, qp->qpn),
			    qp->rq.producer);
	dingo_unlock(&qp->rq.lock);
}
