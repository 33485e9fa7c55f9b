// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ccan/minmax.h>

#include "completion.h"
#include "dingo.h"
#include "direct.h"

const struct dingo_cqe *dingo_cq_next_old(struct dingo_cq *cq)
{
	struct dingo_old_entries *old = cq->old;

	if (old->count) {
		old->count--;
		return &old->entries[old->next++];
	}
	/* the entry returned last, one of these, is settled by now */
	cq->old = NULL;
	free(old);
	return dingo_cq_next(cq);
}

/* sched_yield() yields only to threads on the same processor's run queue. A caller that keeps
 * polling an empty CQ therefore sleeps briefly after a while, so that a card's thread that waits
 * for another processor can migrate to this one. A single short request is answered before that.
 */
#define YIELDS_BEFORE_SLEEP 64
#define SHORTEST_SLEEP_NS 10000
#define LOG_LONGEST_SLEEP 5		/* log2 of the longest over the shortest */

void dingo_cq_yield(struct dingo_cq *cq)
{
	struct timespec time = {};
	uint32_t consumer = cq->consumer;
	uint32_t empty_polls;

	if (atomic_load_explicit(&cq->empty_at, memory_order_relaxed) !=
	    consumer) {
		atomic_store_explicit(&cq->empty_at, consumer,
				      memory_order_relaxed);
		atomic_store_explicit(&cq->empty_polls, 0, memory_order_relaxed);
	}
	empty_polls = atomic_fetch_add_explicit(&cq->empty_polls, 1, memory_order_relaxed);
	if (empty_polls < YIELDS_BEFORE_SLEEP) {
		sched_yield();
		return;
	}
	/* doubles with each empty poll, up to the longest */
	time.tv_nsec = SHORTEST_SLEEP_NS
		       << min_t(uint32_t, empty_polls - YIELDS_BEFORE_SLEEP,
				LOG_LONGEST_SLEEP);
	nanosleep(&time, NULL);
}

static const enum ibv_wc_opcode recv_opcodes[] = {
	[DINGO_WC_RECV - DINGO_WC_RECV] = IBV_WC_RECV,
	[DINGO_WC_RECV_IMM - DINGO_WC_RECV] = IBV_WC_RECV,
	[DINGO_WC_RECV_INV - DINGO_WC_RECV] = IBV_WC_RECV,
	[DINGO_WC_RECV_WRITE_IMM - DINGO_WC_RECV] = IBV_WC_RECV_RDMA_WITH_IMM,
};

/* The flags of a CQE and enum ibv_wc_flags have the same meaning in different bits. */
static inline unsigned int recv_flags(uint8_t flags)
{
	return (flags & DINGO_CQE_FLAGS_GRH_MASK ? IBV_WC_GRH : 0) |
	       (flags & DINGO_CQE_FLAGS_IMM_MASK ? IBV_WC_WITH_IMM : 0) |
	       (flags & DINGO_CQE_FLAGS_INV_MASK ? IBV_WC_WITH_INV : 0);
}

bool dingo_settle_recv(struct dingo_qp *qp, const struct dingo_cqe *cqe,
		       uint32_t op, struct dingo_completion *done)
{
	uint32_t tag = le32toh(cqe->wqe_index);
	uint32_t kind = op - DINGO_WC_RECV;

	if (kind >= sizeof(recv_opcodes) / sizeof(recv_opcodes[0]))
		return false;
	done->opcode = recv_opcodes[kind];
	done->flags = recv_flags(cqe->flags);
	if (qp->srq) {
		if (tag > qp->srq->ring.mask)
			return false;
		done->wr_id = qp->srq->wr_id[tag];
		dingo_srq_free_tag(qp->srq, tag);
		return true;
	}
	/* With the direct road, the card of a failing QP may report a receive that the peer has
	 * completed already, or one that does not exist, as the peer can write the QP's indexes.
	 */
	if (unlikely(qp->direct)) {
		uint32_t index = atomic_load_explicit(&qp->rq.consumer,
						      memory_order_relaxed);

		if ((tag ^ index) & qp->rq.ring.mask ||
		    !dingo_direct_has_receive(qp, index))
			return false;
		if (qp->direct->has_rq)
			dingo_direct_settled(qp, index);
	}
	done->wr_id = qp->rq.wr_id[tag & qp->rq.ring.mask];
	atomic_store_explicit(&qp->rq.consumer,
			      atomic_load_explicit(&qp->rq.consumer,
						   memory_order_relaxed) + 1,
			      memory_order_release);
	return true;
}

struct dingo_qp dingo_no_qp = { .qpn = UINT32_MAX };

struct dingo_qp *dingo_cq_switch_qp(struct dingo_cq *cq, uint32_t qpn)
{
	struct dingo_context *ctx = to_dingo_context(cq->vcq.cq.context);
	struct dingo_qp *qp = dingo_find_qp(ctx, qpn);

	if (qp && !cq->old)
		cq->last_qp = qp;
	return qp;
}

/* Settles and fills in a receive. Returns false if the entry is invalid. */
static __attribute__((noinline)) bool
fill_recv(struct ibv_wc *wc, const struct dingo_cqe *cqe, struct dingo_qp *qp,
	  uint32_t op)
{
	struct dingo_completion done;

	if (!dingo_settle_recv(qp, cqe, op, &done))
		return false;
	wc->wr_id = done.wr_id;
	wc->opcode = done.opcode;
	wc->wc_flags = done.flags;
	/* with INV these bytes are the rkey, little endian */
	if (done.flags & IBV_WC_WITH_INV)
		wc->invalidated_rkey = le32toh((__force __le32)cqe->imm);
	else
		wc->imm_data = cqe->imm;
	wc->src_qp = DINGO_GET(DINGO_CQE_SRC_QPN_QPN_MASK,
			       le32toh(cqe->src_qpn));
	wc->pkey_index = 0;
	wc->slid = 0;
	wc->sl = dingo_cqe_sl(cqe);
	wc->dlid_path_bits = 0;
	return true;
}

static inline void fill_send(struct ibv_wc *wc, const struct dingo_cqe *cqe,
			     struct dingo_qp *qp)
{
	dingo_settle_send(qp, cqe, &wc->wr_id, &wc->opcode);
	wc->wc_flags = 0;
}

/* Fills in the fields common to sends and receives. */
static inline void fill_rest(struct ibv_wc *wc, const struct dingo_cqe *cqe,
			     uint32_t qpn)
{
	uint16_t ended;

	/* status and vendor_err in one load: mostly both are 0 */
	memcpy(&ended, &cqe->status, sizeof(ended));
	wc->status = IBV_WC_SUCCESS;
	wc->vendor_err = 0;
	if (unlikely(ended)) {
		wc->status = dingo_cqe_status(cqe);
		wc->vendor_err = cqe->vendor_err;
	}
	wc->byte_len = le32toh(cqe->byte_len);
	wc->qp_num = qpn;
}

/* Settles an entry and fills in `wc`. Returns false if the entry must be skipped. */
static inline bool fill_wc(struct ibv_wc *wc, const struct dingo_cqe *cqe,
			   struct dingo_cq *cq)
{
	uint32_t word = le32toh(cqe->qpn_op);
	uint32_t qpn = DINGO_GET(DINGO_CQE_QPN_OP_QPN_MASK, word);
	uint32_t op = DINGO_GET(DINGO_CQE_QPN_OP_OPCODE_MASK, word);
	struct dingo_qp *qp = dingo_cq_qp(cq, qpn);

	if (unlikely(!qp))
		return false;
	if (op < DINGO_WC_RECV)
		fill_send(wc, cqe, qp);
	else if (!fill_recv(wc, cqe, qp, op))
		return false;
	fill_rest(wc, cqe, qpn);
	return true;
}

/* Completes a poll that has `polled` entries already, with `wc` for the next one. Releases the
 * lock.
 */
static __attribute__((noinline)) int
poll_locked(struct dingo_cq *cq, int count, struct ibv_wc *wc, int polled)
{
	const struct dingo_direct_entry *entry = NULL;
	const struct dingo_cqe *cqe;

	while (polled < count) {
		cqe = unlikely(cq->direct) ? dingo_direct_next_of_all(cq, &entry) :
					     dingo_cq_next(cq);
		if (unlikely(entry)) {
			dingo_direct_fill(wc++, entry);
			polled++;
			continue;
		}
		if (!cqe) {
			if (!polled)
				polled = -dingo_cq_empty(cq);
			break;
		}
		if (likely(fill_wc(wc, cqe, cq))) {
			wc++;
			polled++;
		}
	}
	dingo_cq_polled(cq);
	dingo_unlock(&cq->lock);
	if (unlikely(!polled))
		dingo_cq_give_way(cq);
	return polled;
}

static __attribute__((cold, noinline)) int
poll_contended(struct dingo_cq *cq, int count, struct ibv_wc *wc)
{
	dingo_lock_contended(&cq->lock);
	return poll_locked(cq, count, wc, 0);
}

/* Faster fill_recv() for a receive from the QP's own queue. */
static inline void fill_own_recv(struct ibv_wc *wc, const struct dingo_cqe *cqe,
				 struct dingo_qp *qp, uint32_t word)
{
	uint32_t tag = le32toh(cqe->wqe_index);

	wc->wr_id = qp->rq.wr_id[tag & qp->rq.ring.mask];
	atomic_store_explicit(&qp->rq.consumer,
			      atomic_load_explicit(&qp->rq.consumer,
						   memory_order_relaxed) + 1,
			      memory_order_release);
	wc->opcode = IBV_WC_RECV;
	wc->imm_data = cqe->imm;
	/* src_qp to the end: all 0 for a plain SEND */
	memset(&wc->src_qp, 0, sizeof(*wc) - offsetof(struct ibv_wc, src_qp));
	if (likely(!(cqe->flags | (__force uint32_t)cqe->src_qpn)))
		return;
	/* the code below loads cqe's fields again, so that the fast
	 * path needs no register for them
	 */
	atomic_signal_fence(memory_order_seq_cst);
	if (DINGO_GET(DINGO_CQE_QPN_OP_OPCODE_MASK, word) ==
	    DINGO_WC_RECV_WRITE_IMM)
		wc->opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	wc->wc_flags = recv_flags(cqe->flags);
	if (cqe->flags & DINGO_CQE_FLAGS_INV_MASK)
		wc->invalidated_rkey = le32toh((__force __le32)cqe->imm);
	wc->src_qp = DINGO_GET(DINGO_CQE_SRC_QPN_QPN_MASK,
			       le32toh(cqe->src_qpn));
	wc->sl = dingo_cqe_sl(cqe);
}

int dingo_poll_cq_with_direct(struct ibv_cq *ibcq, int count, struct ibv_wc *wc)
{
	struct dingo_cq *cq = to_dingo_cq(ibcq);

	dingo_lock(&cq->lock);
	return poll_locked(cq, count, wc, 0);
}

/* Handles completions of the last seen QP, except receives of an SRQ; poll_locked() handles the
 * rest from the first other entry on. All calls are tail calls, so no register has to be saved.
 */
int dingo_poll_cq(struct ibv_cq *ibcq, int count, struct ibv_wc *wc)
{
	struct dingo_cq *cq = to_dingo_cq(ibcq);
	const struct dingo_cqe *cqe;
	struct dingo_qp *qp;
	int polled = 0;
	uint32_t word, consumer;

	if (unlikely(!dingo_trylock(&cq->lock)))
		return poll_contended(cq, count, wc);
	consumer = cq->consumer;
	while (polled < count) {
		cqe = dingo_cq_peek_at(cq, consumer);
		if (!cqe) {
			if (polled)
				break;
			return poll_locked(cq, count, wc, 0);
		}
		word = le32toh(cqe->qpn_op);
		qp = cq->last_qp;
		if (DINGO_GET(DINGO_CQE_QPN_OP_QPN_MASK, word) != qp->qpn)
			return poll_locked(cq, count, wc, polled);
		if (!dingo_cqe_is_recv(word))
			fill_send(wc, cqe, qp);
		else if (word < DINGO_PREP(DINGO_CQE_QPN_OP_OPCODE_MASK,
					   DINGO_WC_RECV_WRITE_IMM + 1) &&
			 likely(!qp->srq))
			fill_own_recv(wc, cqe, qp, word);
		else
			return poll_locked(cq, count, wc, polled);
		cq->consumer = ++consumer;
		fill_rest(wc, cqe, qp->qpn);
		wc++;
		polled++;
	}
	if (unlikely(dingo_cq_report_due(cq)))
		return poll_locked(cq, polled, wc, polled);
	dingo_unlock(&cq->lock);
	return polled;
}
