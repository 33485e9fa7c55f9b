// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* ibv_resize_cq(3): copies the entries of a ring that the card has left, then unmaps the ring. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ccan/minmax.h>

#include "abi.h"
#include "completion.h"
#include "dingo.h"
#include "direct.h"
#include "queue_size.h"
#include "ring.h"

/* Returns true if `cqe` completes a signaled send, which signaled_sends() counts. */
static bool is_signaled_send(struct dingo_context *ctx,
			     const struct dingo_cqe *cqe)
{
	uint32_t word = le32toh(cqe->qpn_op);
	const struct dingo_wqe_ctrl *ctrl;
	struct dingo_qp *qp;

	if (dingo_cqe_is_recv(word))
		return false;
	qp = dingo_find_qp(ctx, DINGO_GET(DINGO_CQE_QPN_OP_QPN_MASK, word));
	if (!qp)
		return false;
	ctrl = dingo_ring_entry(&qp->sq.ring, le32toh(cqe->wqe_index));
	return ctrl->flags & DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK;
}

/* Counts signaled sends whose completion is unpolled; their WQEs stay in the ring until then. */
static uint32_t signaled_sends(struct dingo_qp *qp)
{
	struct dingo_sq *sq = &qp->sq;
	const struct dingo_wqe_ctrl *ctrl;
	uint32_t index, count = 0;

	dingo_lock(&sq->lock);
	index = atomic_load_explicit(&sq->consumer, memory_order_acquire);
	while (index != sq->producer) {
		ctrl = dingo_ring_entry(&sq->ring, index);
		if (ctrl->flags & DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK)
			count++;
		index += sq->sent[index & sq->ring.mask].blocks;
	}
	dingo_unlock(&sq->lock);
	return count;
}

/* Counts unpolled entries of the ring, at most `most`. */
static uint32_t entries_in_ring(const struct dingo_cq *cq, uint32_t most)
{
	const struct dingo_ring *ring = &cq->ring;
	uint32_t n = 0;

	while (n < most &&
	       dingo_cqe_valid(dingo_ring_entry(ring, cq->consumer + n), ring,
			       cq->consumer + n))
		n++;
	udma_from_device_barrier();
	return n;
}

uint32_t dingo_cq_entries_needed(struct dingo_context *ctx, struct dingo_cq *cq)
{
	uint32_t waiting = entries_in_ring(cq, cq->ring.mask + 1);
	const struct dingo_old_entries *old = cq->old;
	uint32_t leaf, n, count = dingo_direct_waiting(cq);

	/* completions of signaled sends are left out: they are counted below, by WQE */
	for (n = 0; old && n < old->count; n++)
		count += !is_signaled_send(ctx, &old->entries[old->next + n]);
	for (n = 0; n < waiting; n++)
		count += !is_signaled_send(ctx, dingo_ring_entry(&cq->ring, cq->consumer + n));
	pthread_mutex_lock(&ctx->mutex);
	for (leaf = 0; leaf < DINGO_QP_TABLE_SIZE; leaf++) {
		struct dingo_qp **qps = ctx->qp_table[leaf];

		for (n = 0; qps && n < DINGO_QP_TABLE_SIZE; n++) {
			if (qps[n] && qps[n]->vqp.qp.send_cq == &cq->vcq.cq)
				count += signaled_sends(qps[n]);
		}
	}
	pthread_mutex_unlock(&ctx->mutex);
	return count;
}

static uint32_t old_count(const struct dingo_cq *cq)
{
	return cq->old ? cq->old->count : 0;
}

static size_t room_bytes(size_t entries)
{
	return sizeof(struct dingo_old_entries) +
	       entries * sizeof(struct dingo_cqe);
}

struct dingo_old_entries *dingo_cq_make_room(const struct dingo_cq *cq)
{
	size_t most = (size_t)old_count(cq) + cq->ring.mask + 1;
	struct dingo_old_entries *room = malloc(room_bytes(most));

	if (room)
		room->count = room->next = 0;
	return room;
}

void dingo_cq_switch_ring(struct dingo_cq *cq, const struct dingo_ring *ring,
			  uint32_t switch_index, struct dingo_old_entries *room)
{
	uint32_t i, waiting = switch_index - cq->consumer;
	struct dingo_old_entries *shrunk;

	room->count = old_count(cq);
	if (room->count)
		memcpy(room->entries, &cq->old->entries[cq->old->next],
		       room->count * sizeof(room->entries[0]));
	waiting = entries_in_ring(cq, min(waiting, cq->ring.mask + 1));
	for (i = 0; i < waiting; i++)
		memcpy(&room->entries[room->count++],
		       dingo_ring_entry(&cq->ring, cq->consumer + i),
		       sizeof(room->entries[0]));
	shrunk = realloc(room, room_bytes(room->count));
	if (shrunk)
		room = shrunk;
	free(cq->old);
	cq->old = room;
	cq->last_qp = &dingo_no_qp;
	dingo_ring_unmap(&cq->ring);
	cq->ring = *ring;
	cq->consumer = 0;
	dingo_cq_reported(cq, 0);
	/* indexes restart at 0, so armed_at is invalid: only the next event disarms */
	if (cq->direct)
		cq->direct->any = false;
}

/*
 * Upper bound for the bytes of the ring that the kernel makes for `cqe` entries: a quarter of the
 * ring stays unused, and it has at least 128 entries and one page.
 */
static size_t most_ring_bytes(uint32_t cqe)
{
	size_t bytes = sizeof(struct dingo_cqe) << (dingo_log2_up(cqe) + 1);

	return align(max_t(size_t, bytes, 128 * sizeof(struct dingo_cqe)),
		     sysconf(_SC_PAGESIZE));
}

/* The card switches to the new ring at once and reports where the old one ends. Unpolled entries
 * are copied, as the driver keeps an old ring only until the next resize. As ibv_resize_cq(3)
 * promises, a size too small for all unpolled and outstanding completions fails. A resize cannot be
 * undone, so address space for the new ring is reserved before the kernel is asked.
 */
int dingo_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct dingo_context *ctx = to_dingo_context(ibcq->context);
	struct udingo_resize_cq_resp resp = {};
	struct dingo_cq *cq = to_dingo_cq(ibcq);
	struct dingo_old_entries *room = NULL;
	size_t bytes = most_ring_bytes(cqe);
	struct ibv_resize_cq req = {};
	struct dingo_ring ring;
	void *place = NULL;
	int err;

	if (cqe <= 0 || dingo_device_polls(ibcq))
		return EINVAL;
	dingo_lock(&cq->lock);
	if (cqe < ibcq->cqe &&
	    dingo_cq_entries_needed(ctx, cq) > (uint32_t)cqe) {
		err = EINVAL;
		goto out;
	}
	room = dingo_cq_make_room(cq);
	if (room)
		place = dingo_ring_reserve(bytes);
	if (!place) {
		err = ENOMEM;
		goto out;
	}
	err = ibv_cmd_resize_cq(ibcq, cqe, &req, sizeof(req), &resp.ibv_resp,
				sizeof(resp));
	if (err) {
		dingo_ring_unreserve(place, bytes);
		goto out;
	}
	ring = cq->ring;
	err = dingo_ring_map_at(ctx, &ring, &resp.drv_payload.ring, place, bytes);
	if (err) {
		/* The card already writes to the ring that cannot be mapped: no more completions
		 * are seen.
		 */
		verbs_err(&ctx->vctx, "CQ %u cannot be used any more: its new ring cannot be mapped\n", cq->cqn);
		goto out;
	}
	dingo_cq_switch_ring(cq, &ring, resp.switch_index, room);
	room = NULL;
out:
	dingo_unlock(&cq->lock);
	free(room);
	return err;
}
