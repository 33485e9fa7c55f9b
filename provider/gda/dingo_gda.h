/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Device functions of libdingo-gda: a kernel on a GPU posts to a QP, rings its doorbell and polls
 * its CQ without the CPU. C++17 or later, compiled by nvcc, hipcc, or a CPU compiler (tests).
 * docs/gpu-initiated.md.
 *
 * Any number of threads and warps may use one QP concurrently. A post returns a ticket, which
 * stands for the work request and all posted before it; ticket 0 means not posted, because of a
 * wrong argument. The card starts after dingo_gda_ring(). Lanes of a warp that post together share
 * one reservation and one completion.
 *
 * The card sends what the ringing thread, or threads that it has synchronized with, stored before.
 */
#ifndef DINGO_GDA_H
#define DINGO_GDA_H

#include <stddef.h>
#include <stdint.h>

#include "dingo_gda_port.h"
#include "dingo_gda_queue.h"
#include "dingo_gda_types.h"

typedef uint64_t dingo_gda_ticket;

/* Results of dingo_gda_wait() and dingo_gda_quiet() in addition to
 * enum ibv_wc_status (0: success).
 */
enum {
	DINGO_GDA_GONE = -1,	/* the card has died: nothing completes any more */
	DINGO_GDA_INVALID = -2,	/* ticket 0 */
};

/* Rings the doorbell for all posted work requests, at least for those of this thread. */
DGDA_FN void dingo_gda_ring(struct dingo_gda_qp *qp)
{
	const dgda_lanes lanes = dgda_together(qp);

	/* a lane may have posted apart from the others: the first one must see its `ready` */
	dgda_join(lanes);
	if (dgda_lane() == dgda_first(lanes))
		dgda_ring_to(qp, dgda_load_acquire_device(&qp->ready));
	dgda_join(lanes);
}

/* Polls the CQ. Returns the number of entries consumed; 0 also if another thread is polling. */
DGDA_FN int dingo_gda_poll_cq(struct dingo_gda_qp *qp)
{
	return dgda_poll(qp);
}

/* Waits until the work request of the ticket is done; rings the doorbell if no thread has yet.
 * Returns 0, DINGO_GDA_*, or the enum ibv_wc_status that it failed with: WR_FLUSH_ERR if an earlier
 * one failed.
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

/* Waits for all work requests posted before, by this thread or threads that it has synchronized
 * with.
 * Returns what dingo_gda_wait() returns.
 */
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

/* The data goes to the next receive that the peer has posted. */
DGDA_FN dingo_gda_ticket dingo_gda_post_send(struct dingo_gda_qp *qp, uint64_t laddr, uint32_t lkey,
					     uint32_t bytes)
{
	return dgda_post(qp, DINGO_WR_SEND, 0, 0, laddr, dgda_key_length(lkey, bytes), 0, 0);
}

/* Adds `add` to the 8 bytes at raddr; their former value is stored at laddr, little endian. */
DGDA_FN dingo_gda_ticket dingo_gda_fetch_add(struct dingo_gda_qp *qp, uint64_t laddr, uint32_t lkey,
					     uint64_t raddr, uint32_t rkey, uint64_t add)
{
	return dgda_post(qp, DINGO_WR_FETCH_ADD, raddr, rkey, add, 0, laddr, dgda_key_length(lkey, 8));
}

/* Stores `swap` in the 8 bytes at raddr if they equal `compare`; their former value is stored at
 * laddr, little endian.
 */
DGDA_FN dingo_gda_ticket dingo_gda_cmp_swap(struct dingo_gda_qp *qp, uint64_t laddr, uint32_t lkey,
					    uint64_t raddr, uint32_t rkey, uint64_t compare,
					    uint64_t swap)
{
	return dgda_post(qp, DINGO_WR_CMP_SWAP, raddr, rkey, swap, compare, laddr,
			 dgda_key_length(lkey, 8));
}

/* Copies `data`, 1 to qp->max_inline bytes, into the queue: its memory need not be registered and
 * may be reused at once.
 */
DGDA_FN dingo_gda_ticket dingo_gda_post_write_inline(struct dingo_gda_qp *qp, const void *data, uint32_t bytes,
						     uint64_t raddr, uint32_t rkey)
{
	if (!bytes || bytes > qp->max_inline)
		return 0;
	return dgda_post_inline(qp, (const uint8_t *)data, bytes, raddr, rkey);
}

#endif
