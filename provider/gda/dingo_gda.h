/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a kernel on a GPU does with a QP of libdingo-gda: it posts, rings the doorbell and polls, without the
 * processor. C++17 or later, under nvcc, hipcc, or a compiler for the processor (tests). docs/gpu-initiated.md.
 *
 * Any number of threads and warps use one QP at once. A post gives a ticket, which stands for the work
 * request and all that were posted before it; ticket 0: not posted, an argument was wrong. The card begins after
 * dingo_gda_ring(). Lanes of a warp that post together share one reservation and one completion.
 *
 * Data that the caller has stored by the thread that rings, or by threads that it has synchronized with, is sent.
 */
#ifndef DINGO_GDA_H
#define DINGO_GDA_H

#include <stddef.h>
#include <stdint.h>

#include "dingo_gda_port.h"
#include "dingo_gda_queue.h"
#include "dingo_gda_types.h"

typedef uint64_t dingo_gda_ticket;

/* Answers of dingo_gda_wait() and dingo_gda_quiet() beside those of enum ibv_wc_status, of which 0 is success. */
enum {
	DINGO_GDA_GONE = -1,	/* the card has died: nothing completes any more */
	DINGO_GDA_INVALID = -2,	/* ticket 0 */
};

/* Begins all that was posted; what this thread has posted at least. */
DGDA_FN void dingo_gda_ring(struct dingo_gda_qp *qp)
{
	const dgda_lanes lanes = dgda_together(qp);

	if (dgda_lane() == dgda_first(lanes))
		dgda_ring_to(qp, dgda_load_acquire_device(&qp->ready));
	dgda_join(lanes);
}

/* Takes completions. Returns how many this thread has taken: 0 also where another thread is at it. */
DGDA_FN int dingo_gda_poll_cq(struct dingo_gda_qp *qp)
{
	return dgda_poll(qp);
}

/* Waits until the work request of the ticket is done; rings where nobody has. Returns 0, DINGO_GDA_* or the status
 * of enum ibv_wc_status that it failed with: WR_FLUSH_ERR after another one's failure.
 */
DGDA_FN int dingo_gda_wait(struct dingo_gda_qp *qp, dingo_gda_ticket ticket)
{
	unsigned int tries = 0;

	if (!ticket)
		return DINGO_GDA_INVALID;
	dgda_ring_to(qp, ticket);
	while (dgda_poll_until(qp, ticket) < ticket) {
		if (dgda_gone(qp, ++tries))
			return DINGO_GDA_GONE;
		dgda_pause(tries);
	}
	return dgda_result(qp, ticket);
}

/* Waits for all that was posted before, by any thread that this one knows of. As dingo_gda_wait(). */
DGDA_FN int dingo_gda_quiet(struct dingo_gda_qp *qp)
{
	const uint64_t ready = dgda_load_acquire_device(&qp->ready);

	return ready ? dingo_gda_wait(qp, ready) : 0;
}

DGDA_FN dingo_gda_ticket dingo_gda_post_write(struct dingo_gda_qp *qp, uint64_t laddr, uint32_t lkey,
					      uint64_t raddr, uint32_t rkey, uint32_t bytes)
{
	return dgda_post(qp, DINGO_WR_WRITE, raddr, rkey, laddr, dgda_key_length(lkey, bytes), 0, 0);
}

DGDA_FN dingo_gda_ticket dingo_gda_post_read(struct dingo_gda_qp *qp, uint64_t laddr, uint32_t lkey,
					     uint64_t raddr, uint32_t rkey, uint32_t bytes)
{
	return dgda_post(qp, DINGO_WR_READ, raddr, rkey, laddr, dgda_key_length(lkey, bytes), 0, 0);
}

/* Into the receive that the peer has posted. */
DGDA_FN dingo_gda_ticket dingo_gda_post_send(struct dingo_gda_qp *qp, uint64_t laddr, uint32_t lkey,
					     uint32_t bytes)
{
	return dgda_post(qp, DINGO_WR_SEND, 0, 0, laddr, dgda_key_length(lkey, bytes), 0, 0);
}

/* The 8 bytes at raddr get `add` added; what they were comes to laddr, little endian. */
DGDA_FN dingo_gda_ticket dingo_gda_fetch_add(struct dingo_gda_qp *qp, uint64_t laddr, uint32_t lkey,
					     uint64_t raddr, uint32_t rkey, uint64_t add)
{
	return dgda_post(qp, DINGO_WR_FETCH_ADD, raddr, rkey, add, 0, laddr, dgda_key_length(lkey, 8));
}

/* The 8 bytes at raddr become `swap` if they are `compare`; what they were comes to laddr, little endian. */
DGDA_FN dingo_gda_ticket dingo_gda_cmp_swap(struct dingo_gda_qp *qp, uint64_t laddr, uint32_t lkey,
					    uint64_t raddr, uint32_t rkey, uint64_t compare,
					    uint64_t swap)
{
	return dgda_post(qp, DINGO_WR_CMP_SWAP, raddr, rkey, swap, compare, laddr,
			 dgda_key_length(lkey, 8));
}

/* `data`, of 1 to qp->max_inline bytes, is copied into the queue: its memory need not be registered, and may be used
 * again at once.
 */
DGDA_FN dingo_gda_ticket dingo_gda_post_write_inline(struct dingo_gda_qp *qp, const void *data, uint32_t bytes,
						     uint64_t raddr, uint32_t rkey)
{
	if (!bytes || bytes > qp->max_inline)
		return 0;
	return dgda_post_inline(qp, (const uint8_t *)data, bytes, raddr, rkey);
}

#endif
