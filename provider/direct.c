// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The direct road: decides whether a request can be carried out directly, and moves its data. */
#include <sched.h>
#include <string.h>
#include <time.h>

#include "completion.h"
#include "direct.h"
#include "direct_abi.h"
#include "wqe.h"

/* Bytes of the longest direct request: the post of a longer one would block for too long. */
#define DIRECT_MOST (16U << 20)

/* Busy-wait iterations, some microseconds, before waits yield the processor. */
#define SPINS 100
/* Most ns that a SEND waits for a receive. */
#define RECEIVE_NS 100000
/* Most ns that a request waits for the card to complete earlier ones. */
#define DRAIN_NS 100000
/* Timeouts stop doubling the number of requests that skip the next wait at this number. */
#define MOST_SKIPPED 1000

/* Most pieces of a request's local memory: its SGEs, or the blocks of inline data. */
#define MOST_SPANS                                                             \
	(DINGO_SQ_MAX_SGE > DINGO_MAX_INLINE / DINGO_SQ_BLOCK + 2 ?            \
		 DINGO_SQ_MAX_SGE : DINGO_MAX_INLINE / DINGO_SQ_BLOCK + 2)

/* Loads and stores naturally aligned units of 8, 4, 2 or 1 bytes whole, in ascending order. */
static void copy_units(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	uint32_t unit;

	for (; bytes; to += unit, from += unit, bytes -= unit) {
		uintptr_t at = (uintptr_t)to;
		uint64_t eight;
		uint32_t four;
		uint16_t two;

		if (likely(bytes >= 8 && at % 8 == 0)) {
			unit = 8;
			memcpy(&eight, from, 8);
			__atomic_store_n((uint64_t *)to, eight, __ATOMIC_RELEASE);
		} else if (bytes >= 4 && at % 4 == 0) {
			unit = 4;
			memcpy(&four, from, 4);
			__atomic_store_n((uint32_t *)to, four, __ATOMIC_RELEASE);
		} else if (bytes >= 2 && at % 2 == 0) {
			unit = 2;
			memcpy(&two, from, 2);
			__atomic_store_n((uint16_t *)to, two, __ATOMIC_RELEASE);
		} else {
			unit = 1;
			__atomic_store_n(to, *from, __ATOMIC_RELEASE);
		}
	}
}

/* Stores the last aligned word last, in whole units: a program may poll it to detect that the data
 * is complete. The card does the same (hw/base/ordered_write.h).
 */
static void copy(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	uint32_t before = 0;

	atomic_thread_fence(memory_order_release);
	if (bytes > 64) {
		before = bytes - 1 - ((uintptr_t)to + bytes - 1) % 8;
		memcpy(to, from, before);
	}
	copy_units(to + before, from + before, bytes - before);
}

static uint8_t *resolve(struct dingo_direct_side *side, uint32_t pdn,
			struct dingo_direct_known *table, uint32_t key,
			uint32_t access, uint64_t addr, uint32_t length)
{
	uint32_t index = key >> DINGO_MR_INDEX_SHIFT;
	struct dingo_direct_known *known =
		&table[index & (DINGO_DIRECT_KNOWN - 1)];
	const struct dingo_direct_directory *dir = side->directory;

	if (unlikely(index >= side->num_regions))
		return NULL;
	if (unlikely(known->key != key || !known->seq ||
		     known->moves != atomic_load_explicit(&dingo_direct_moves,
							  memory_order_relaxed) ||
		     dingo_load_shared(&dir->regions[index].seq) != known->seq) &&
	    !dingo_direct_look_up(side, pdn, key, known))
		return NULL;
	if ((known->access & access) != access || addr < known->iova ||
	    length > known->length ||
	    addr - known->iova > known->length - length)
		return NULL;
	return known->at + (addr - known->iova);
}

/* Until end_busy() the peer's card waits for this request before it revokes a region; if the
 * request may complete a receive, the peer waits for it, too, before it waits for an event.
 */
static inline void begin_busy(struct dingo_direct *d, uint8_t opcode)
{
	bool one_sided = opcode == DINGO_WR_WRITE || opcode == DINGO_WR_READ ||
			 opcode == DINGO_WR_CMP_SWAP || opcode == DINGO_WR_FETCH_ADD;

	d->busy += one_sided ? DINGO_DIRECT_BUSY : DINGO_DIRECT_BUSY_RECEIVE;
	__atomic_store_n(&d->peer->key, 0, __ATOMIC_RELAXED);
	__atomic_exchange_n(&d->peer->busy, d->busy, __ATOMIC_SEQ_CST);
	dingo_full_fence();
}

/* Declares that until end_busy() only this region of the peer is used: others can be revoked. */
static inline void use_only(struct dingo_direct *d, uint32_t key)
{
	__atomic_store_n(&d->peer->key, key, __ATOMIC_RELEASE);
}

static inline void end_busy(struct dingo_direct *d)
{
	d->busy = (d->busy | DINGO_DIRECT_BUSY_RECEIVE) + 1;
	__atomic_store_n(&d->peer->busy, d->busy, __ATOMIC_RELEASE);
}

static inline bool is_gone(const struct dingo_direct_side *side)
{
	return atomic_load_explicit(side->status, memory_order_relaxed) &
	       DINGO_STATUS_GONE;
}

static inline bool may_go(const struct dingo_direct *d)
{
	return dingo_load_shared(&d->own->open) == d->generation &&
	       dingo_load_shared(&d->peer->open) == d->peer_generation &&
	       dingo_load_shared(&d->here->directory->on) &&
	       dingo_load_shared(&d->there->directory->on) && !is_gone(d->here) &&
	       !is_gone(d->there);
}

/* Increments a counter with a single writer. */
static void count_one(uint64_t *messages)
{
	__atomic_store_n(messages, *messages + 1, __ATOMIC_RELAXED);
}

static void count(uint64_t *messages, uint64_t *all_bytes, uint32_t bytes)
{
	count_one(messages);
	__atomic_store_n(all_bytes, *all_bytes + bytes, __ATOMIC_RELAXED);
}

/* Splits inline data into the parts in the WQE's blocks, which wrap at the ring's end. */
static uint32_t inline_pieces(struct dingo_sq *sq, uint32_t left,
			      uint8_t **at, uint32_t *length, uint32_t *total)
{
	uint32_t offset = DINGO_DATA_RC, num;

	*total = left;
	for (num = 0; left; num++) {
		uint32_t now = min_t(uint32_t, left,
				     DINGO_SQ_BLOCK - offset % DINGO_SQ_BLOCK);

		at[num] = dingo_wqe_at(sq, offset);
		length[num] = now;
		offset += now;
		left -= now;
	}
	return num;
}

/* Local memory of a request, as pieces. */
struct here {
	uint8_t *at[MOST_SPANS];
	uint32_t length[MOST_SPANS];
	uint32_t num;
	uint32_t bytes;
};

/* Finds the local memory of a WQE whose SGEs are at `data`. Returns false if the card must handle
 * it.
 */
static bool find_here(struct dingo_qp *qp, const struct dingo_wqe_ctrl *ctrl,
		      uint32_t data, uint32_t access, struct here *here)
{
	struct dingo_direct *d = qp->direct;
	const struct dingo_sge *sge;
	uint32_t i;

	here->bytes = 0;
	if (ctrl->flags & DINGO_WQE_CTRL_FLAGS_INLINE_MASK) {
		here->num = inline_pieces(&qp->sq, le16toh(ctrl->inline_len),
					  here->at, here->length, &here->bytes);
		return true;
	}
	here->num = ctrl->num_sge;
	for (i = 0; i < here->num; i++) {
		sge = dingo_wqe_at(&qp->sq, data + i * sizeof(*sge));
		here->length[i] = le32toh(sge->length);
		/* length 0 has special rules, which the card knows */
		if (!here->length[i] ||
		    here->length[i] > DIRECT_MOST - here->bytes)
			return false;
		here->bytes += here->length[i];
		here->at[i] = resolve(d->here, dingo_load_shared(&d->own->pdn),
				      d->local, le32toh(sge->lkey), access,
				      le64toh(sge->addr), here->length[i]);
		if (!here->at[i])
			return false;
	}
	return true;
}

/* Returns the remote memory of a request, or NULL if the card must handle it. */
static uint8_t *find_there(struct dingo_direct *d,
			   const struct dingo_wqe_ctrl *ctrl, uint32_t right,
			   uint32_t bytes)
{
	const struct dingo_wqe_rdma *rdma = (const struct dingo_wqe_rdma *)(ctrl + 1);

	if (!(dingo_load_shared(&d->peer->access) & right))
		return NULL;
	use_only(d, le32toh(rdma->rkey));
	return resolve(d->there, dingo_load_shared(&d->peer->pdn), d->remote,
		       le32toh(rdma->rkey), right, le64toh(rdma->raddr), bytes);
}

static bool do_write(struct dingo_qp *qp, const struct dingo_wqe_ctrl *ctrl,
		     uint32_t *bytes)
{
	struct here here;
	uint8_t *there;
	uint32_t i;

	if (!find_here(qp, ctrl, DINGO_DATA_RC, 0, &here))
		return false;
	*bytes = here.bytes;
	if (!here.bytes)
		return ctrl->opcode == DINGO_WR_WRITE_IMM &&
		       dingo_load_shared(&qp->direct->peer->access) &
			       DINGO_ACC_REMOTE_WRITE;
	there = find_there(qp->direct, ctrl, DINGO_ACC_REMOTE_WRITE, here.bytes);
	if (!there)
		return false;
	for (i = 0; i < here.num; i++) {
		copy(there, here.at[i], here.length[i]);
		there += here.length[i];
	}
	return true;
}

static bool do_read(struct dingo_qp *qp, const struct dingo_wqe_ctrl *ctrl,
		    uint32_t *bytes)
{
	struct here here;
	uint8_t *there;
	uint32_t i;

	if (!dingo_load_shared(&qp->direct->peer->reads) ||
	    !dingo_load_shared(&qp->direct->own->can_read) ||
	    !find_here(qp, ctrl, DINGO_DATA_RC, DINGO_ACC_LOCAL_WRITE, &here) ||
	    !here.bytes)
		return false;
	*bytes = here.bytes;
	there = find_there(qp->direct, ctrl, DINGO_ACC_REMOTE_READ, here.bytes);
	if (!there)
		return false;
	for (i = 0; i < here.num; i++) {
		copy(here.at[i], there, here.length[i]);
		there += here.length[i];
	}
	return true;
}

/* Must not fail after the atomic operation: the card would repeat it. */
static bool do_atomic(struct dingo_qp *qp, const struct dingo_wqe_ctrl *ctrl,
		      uint32_t *bytes)
{
	const struct dingo_wqe_atomic *operands =
		dingo_wqe_at(&qp->sq, DINGO_DATA_RC);
	struct dingo_direct *d = qp->direct;
	uint64_t before = le64toh(operands->compare);
	uint64_t operand = le64toh(operands->swap_add);
	struct here here;
	uint64_t *there;

	if (!dingo_load_shared(&d->peer->atomics) ||
	    !dingo_load_shared(&d->peer->reads) ||
	    !dingo_load_shared(&d->own->can_read) || ctrl->num_sge != 1 ||
	    !find_here(qp, ctrl, DINGO_DATA_ATOMIC, DINGO_ACC_LOCAL_WRITE, &here) ||
	    here.bytes != sizeof(before))
		return false;
	there = (uint64_t *)find_there(d, ctrl, DINGO_ACC_REMOTE_ATOMIC, sizeof(before));
	if (!there || (uintptr_t)there % sizeof(before))
		return false;
	if (ctrl->opcode == DINGO_WR_FETCH_ADD)
		before = __atomic_fetch_add(there, operand, __ATOMIC_SEQ_CST);
	else
		__atomic_compare_exchange_n(there, &before, operand, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	copy(here.at[0], (const uint8_t *)&before, sizeof(before));
	*bytes = sizeof(before);
	return true;
}

/* Finds the index of the peer's next receive. Returns false if none is posted, or if the peer's CQ
 * is armed. Waits briefly for a receive: that is faster than the card's retry after an RNR NAK.
 */
static bool next_receive(struct dingo_direct *d, uint32_t *index)
{
	const struct dingo_direct_page *peer = d->peer;
	unsigned int looks;
	uint64_t until = 0;

	if (!d->peer_rq || !dingo_load_shared(&peer->receives) ||
	    dingo_load_shared(&peer->armed))
		return false;
	*index = dingo_load_shared(&peer->indexes.rq_consumer);
	/* the cached producer suffices: saves a read of the cache line that the receiver writes */
	if (likely(d->posted - *index - 1 <= d->peer_rq_mask))
		return true;
	for (looks = 0;; looks++) {
		uint32_t posted;

		d->posted = dingo_load_shared(&peer->indexes.rq_producer);
		posted = d->posted - *index;
		if (likely(posted && posted - 1 <= d->peer_rq_mask)) {
			d->impatient = false;
			/* after a long wait, check again */
			return !until || (may_go(d) && !dingo_load_shared(&peer->armed));
		}
		if (posted || d->impatient)
			return false;
		if (looks < SPINS) {
			dingo_relax();
			continue;
		}
		if (!until)
			until = dingo_now_ns() + RECEIVE_NS;
		else if (dingo_now_ns() >= until)
			break;
		sched_yield();
	}
	d->impatient = true;
	return false;
}

/*
 * Completes the receive. Returns false if the page was closed during the copy because the card
 * stopped waiting.
 */
static bool complete_receive(struct dingo_direct *d, uint32_t index,
			     const struct dingo_wqe_ctrl *ctrl, uint32_t opcode,
			     uint32_t bytes)
{
	struct dingo_direct_page *peer = d->peer;
	struct dingo_direct_receive *done = &peer->done[index & d->peer_rq_mask];

	if (unlikely(dingo_load_shared(&peer->open) != d->peer_generation))
		return false;
	done->byte_len = bytes;
	done->imm = opcode == DINGO_WC_RECV ? 0 : (__force uint32_t)ctrl->imm;
	done->opcode = opcode;
	/* This order: if the process dies in between, the card completes the receive a second time,
	 * which polling ignores.
	 */
	__atomic_store_n(&done->seq, index + 1, __ATOMIC_RELEASE);
	/* fails if the card has advanced the index, as the QP has failed meanwhile */
	__atomic_compare_exchange_n(&peer->indexes.rq_consumer, &index, index + 1,
				    false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	return true;
}

/* Copies the data into the peer's next receive and completes it. */
static bool do_send(struct dingo_qp *qp, const struct dingo_wqe_ctrl *ctrl,
		    uint32_t *bytes)
{
	struct dingo_direct *d = qp->direct;
	struct dingo_sge sges[DINGO_RQ_MAX_SGE];
	uint8_t *to[DINGO_RQ_MAX_SGE];
	const struct dingo_rq_wqe *wqe;
	uint32_t index, num, i, n, left, at = 0;
	struct here here;

	if (!next_receive(d, &index))
		return false;
	/* the receiver polls this line */
	dingo_prefetch_to_write(&d->peer->done[index & d->peer_rq_mask]);
	if (!find_here(qp, ctrl, DINGO_DATA_RC, 0, &here))
		return false;
	wqe = (const struct dingo_rq_wqe *)
		(d->peer_rq + ((size_t)(index & d->peer_rq_mask)
			       << d->peer_rq_log_stride));
	num = le16toh(*(const volatile __le16 *)&wqe->num_sge);
	if (num > DINGO_RQ_MAX_SGE ||
	    sizeof(*wqe) + num * sizeof(sges[0]) > 1U << d->peer_rq_log_stride)
		return false;
	memcpy(sges, wqe + 1, num * sizeof(sges[0]));
	atomic_signal_fence(memory_order_seq_cst);
	if (num == 1)
		use_only(d, le32toh(sges[0].lkey));
	left = here.bytes;
	for (i = 0; i < num; i++) {
		uint32_t room = min_t(uint32_t, left, le32toh(sges[i].length));

		sges[i].length = room;
		left -= room;
		to[i] = NULL;
		if (room)
			to[i] = resolve(d->there, dingo_load_shared(&d->peer->pdn),
					d->remote, le32toh(sges[i].lkey),
					DINGO_ACC_LOCAL_WRITE,
					le64toh(sges[i].addr), room);
		if (room && !to[i])
			return false;
	}
	if (left)
		return false;
	for (i = 0, n = 0; n < here.num; n++) {
		for (left = here.length[n]; left;) {
			uint32_t now;

			while (at == sges[i].length) {
				i++;
				at = 0;
			}
			now = min_t(uint32_t, left, sges[i].length - at);
			copy(to[i] + at, here.at[n] + here.length[n] - left, now);
			at += now;
			left -= now;
		}
	}
	*bytes = here.bytes;
	/* index + 2: two entries with a stride of 32 bytes share a line */
	__builtin_prefetch(d->peer_rq + ((size_t)((index + 2) & d->peer_rq_mask)
				  << d->peer_rq_log_stride));
	return complete_receive(d, index, ctrl,
				ctrl->opcode == DINGO_WR_SEND_IMM ?
					DINGO_WC_RECV_IMM : DINGO_WC_RECV,
				here.bytes);
}

static bool do_write_imm(struct dingo_qp *qp, const struct dingo_wqe_ctrl *ctrl,
			 uint32_t *bytes)
{
	uint32_t index;

	return next_receive(qp->direct, &index) && do_write(qp, ctrl, bytes) &&
	       complete_receive(qp->direct, index, ctrl, DINGO_WC_RECV_WRITE_IMM,
				*bytes);
}

/* Carries out the WQE. Returns false if the card has to: then nothing has happened, except that
 * data may have been written, which the card writes again.
 */
static bool carry_out(struct dingo_qp *qp, const struct dingo_wqe_ctrl *ctrl,
		      uint32_t *bytes)
{
	struct dingo_direct *d = qp->direct;
	struct dingo_direct_page *own = d->own, *peer = d->peer;

	switch (ctrl->opcode) {
	case DINGO_WR_WRITE:
		if (!do_write(qp, ctrl, bytes))
			return false;
		break;
	case DINGO_WR_WRITE_IMM:
		if (!do_write_imm(qp, ctrl, bytes))
			return false;
		break;
	case DINGO_WR_READ:
		if (!do_read(qp, ctrl, bytes))
			return false;
		count(&own->tx_reads, &own->tx_read_bytes, *bytes);
		count(&peer->rx_reads, &peer->rx_read_bytes, *bytes);
		return true;
	case DINGO_WR_CMP_SWAP:
	case DINGO_WR_FETCH_ADD:
		if (!do_atomic(qp, ctrl, bytes))
			return false;
		count_one(&own->tx_atomics);
		count_one(&peer->rx_atomics);
		return true;
	case DINGO_WR_SEND:
	case DINGO_WR_SEND_IMM:
		if (!do_send(qp, ctrl, bytes))
			return false;
		count(&own->tx_sends, &own->tx_send_bytes, *bytes);
		count(&peer->rx_sends, &peer->rx_send_bytes, *bytes);
		return true;
	default:
		return false;
	}
	count(&own->tx_writes, &own->tx_write_bytes, *bytes);
	count(&peer->rx_writes, &peer->rx_write_bytes, *bytes);
	return true;
}

static inline bool card_is_done(const struct dingo_direct *d, uint32_t start)
{
	return dingo_load_shared(&d->own->indexes.sq_consumer) == start;
}

static void dont_wait(struct dingo_direct *d)
{
	d->waits = d->waits < MOST_SKIPPED ? 2 * d->waits + 1 : d->waits;
	d->skip = d->waits;
}

/* Returns true if the card has completed all WQEs before block `start`. Waits for it, as the direct
 * request is then done sooner than by the card; after a timeout some requests do not wait.
 */
static bool is_drained(struct dingo_direct *d, const struct dingo_sq *sq,
		       uint32_t start)
{
	unsigned int looks;
	uint64_t until;

	if (likely(start == atomic_load_explicit(&sq->consumer, memory_order_acquire)))
		return true;
	if (!d->has_indexes)
		return false;
	if (card_is_done(d, start))
		return true;
	if (d->skip) {
		d->skip--;
		return false;
	}
	for (looks = 0; looks < SPINS; looks++) {
		if (card_is_done(d, start))
			return true;
		dingo_relax();
	}
	until = dingo_now_ns() + DRAIN_NS;
	do {
		if (card_is_done(d, start))
			return true;
		sched_yield();
	} while (dingo_now_ns() < until);
	dont_wait(d);
	return false;
}

/* Returns true if the SQ would have room for `blocks` more if direct requests kept their blocks
 * until a completion is polled. Otherwise requests go to the card, and the SQ fills up as without
 * the direct road.
 */
static bool has_room(struct dingo_direct *d, const struct dingo_sq *sq, uint32_t blocks)
{
	uint32_t consumer = atomic_load_explicit(&sq->consumer, memory_order_relaxed);

	if (unlikely(consumer != d->consumer)) {
		d->consumer = consumer;
		atomic_store_explicit(&d->freed, d->used, memory_order_relaxed);
	}
	return d->used + blocks - atomic_load_explicit(&d->freed, memory_order_relaxed) <=
	       sq->ring.mask + 1;
}

/* Cheap check whether the request can go directly, before waiting for the card. */
static bool could_go(const struct dingo_direct *d, uint8_t opcode, bool signaled)
{
	switch (opcode) {
	case DINGO_WR_WRITE:
	case DINGO_WR_READ:
	case DINGO_WR_CMP_SWAP:
	case DINGO_WR_FETCH_ADD:
		break;
	case DINGO_WR_SEND:
	case DINGO_WR_SEND_IMM:
	case DINGO_WR_WRITE_IMM:
		if (!d->peer_rq || !dingo_load_shared(&d->peer->receives) ||
		    dingo_load_shared(&d->peer->armed))
			return false;
		break;
	default:
		return false;
	}
	return !(signaled && atomic_load_explicit(&d->cq->armed,
						  memory_order_relaxed)) &&
	       may_go(d);
}

/* Tries to carry out the WQE. Returns false if the card has to. */
static bool try_take(struct dingo_qp *qp, uint32_t start,
		     const struct dingo_wqe_ctrl *ctrl, bool signaled)
{
	struct dingo_direct *d = qp->direct;
	struct dingo_sq *sq = &qp->sq;
	uint32_t producer = sq->producer, bytes = 0;
	bool done = false;

	if (unlikely(!d->linked)) {
		if (d->wait && !--d->wait)
			dingo_direct_try(qp);
		if (!d->linked)
			return false;
	}
	if (qp->vqp.qp.state != IBV_QPS_RTS || !has_room(d, sq, producer - start) ||
	    !could_go(d, ctrl->opcode, signaled) || !is_drained(d, sq, start))
		return false;
	if (signaled && !dingo_direct_begin_post(d->cq))
		return false;
	/* dingo_wqe_at() counts from the producer */
	sq->producer = start;
	begin_busy(d, ctrl->opcode);
	if (likely(may_go(d)))
		done = carry_out(qp, ctrl, &bytes);
	end_busy(d);
	if (done) {
		d->waits = 0;
		d->used += producer - start;
	}
	if (done && signaled)
		dingo_direct_add_entry(d->cq, qp, start, bytes);
	if (signaled)
		dingo_direct_end_post(d->cq);
	if (!done) {
		sq->producer = producer;
		/* the next requests do not wait either */
		dont_wait(d);
		if (unlikely(dingo_load_shared(&d->peer->open) != d->peer_generation))
			dingo_direct_lost(qp);
	}
	return done;
}

bool dingo_direct_take(struct dingo_qp *qp, uint32_t start, uint32_t rung)
{
	struct dingo_sq *sq = &qp->sq;
	const struct dingo_wqe_ctrl *ctrl = dingo_ring_entry(&sq->ring, start);
	bool signaled = ctrl->flags & DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK;

	/* no earlier WQE waits for the doorbell */
	if (start == rung && try_take(qp, start, ctrl, signaled))
		return true;
	if (signaled)
		qp->direct->signaled = sq->producer;
	return false;
}
