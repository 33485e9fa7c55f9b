/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Inside of dingo_gda.h: room, order and completion. A post takes blocks (taken), waits until they are free, writes
 * its WQE and makes it ready after all earlier ones. The doorbell follows `ready`, under ring_lock, so that it never
 * goes back; completions move `done`, under poll_lock. A thread without room polls and rings by itself, so threads
 * that only post make progress.
 *
 * Times on an H100: a load that nothing overlaps 0.13 us, a fence for the device 0.34 us and for the system 0.74 us,
 * a load of the host's memory 1.03 us. So constants are loaded before the first ordered access.
 */
#ifndef DINGO_GDA_QUEUE_H
#define DINGO_GDA_QUEUE_H

#include "dingo_gda_port.h"
#include "dingo_gda_types.h"
#include "dingo_hw.h"

#define DGDA_BLOCK_WORDS (DINGO_SQ_BLOCK / 8)
#define DGDA_INLINE_FIRST (DINGO_SQ_BLOCK - 32)	/* bytes in the first block */
#define DGDA_POLL_MOST 64			/* entries in one call */
#define DGDA_STATUS_GONE 0x40000000U		/* DINGO_STATUS_GONE of dingo-abi.h */
#define DGDA_LOOK_AT_STATUS 256			/* polls without result between two looks */
#define DGDA_LOOKS 16				/* looks at a missing entry, by the thread that waits for it */
#define DGDA_SHARE_SHIFT 16			/* sizes[]: above it the blocks of all lanes, at their first */

/* The words below are put together by hand; this is what they are. */
static_assert(offsetof(struct dingo_wqe_ctrl, opcode) == 0 && offsetof(struct dingo_wqe_ctrl, flags) == 1 &&
	      offsetof(struct dingo_wqe_ctrl, blocks) == 2 && offsetof(struct dingo_wqe_ctrl, num_sge) == 3 &&
	      offsetof(struct dingo_wqe_ctrl, inline_len) == 8 && sizeof(struct dingo_wqe_ctrl) == 16 &&
	      offsetof(struct dingo_wqe_rdma, rkey) == 8 && sizeof(struct dingo_wqe_rdma) == 16 &&
	      offsetof(struct dingo_wqe_atomic, compare) == 8 && offsetof(struct dingo_sge, lkey) == 8 &&
	      offsetof(struct dingo_sge, length) == 12, "WQE of the contract");
static_assert(offsetof(struct dingo_cqe, wqe_index) == 0 && offsetof(struct dingo_cqe, status) == 26 &&
	      offsetof(struct dingo_cqe, vendor_err) == 27 && offsetof(struct dingo_cqe, owner) == 31 &&
	      sizeof(struct dingo_cqe) == 32, "CQE of the contract");

DGDA_FN uint64_t dgda_key_length(uint32_t lkey, uint32_t bytes)
{
	return (uint64_t)bytes << 32 | lkey;
}

DGDA_FN bool dgda_gone(const struct dingo_gda_qp *qp, unsigned int tries)
{
	return tries % DGDA_LOOK_AT_STATUS == 0 && qp->status &&
	       dgda_load_system32(qp->status) & DGDA_STATUS_GONE;
}

/* Sees to it that the card knows of the blocks up to `target`, which are ready. */
DGDA_SLOW void dgda_ring_to(struct dingo_gda_qp *qp, uint64_t target)
{
	uint64_t *const doorbell = qp->sq_doorbell;
	const uint32_t word = qp->sq_doorbell_word;
	unsigned int tries = 0;

	while (dgda_load_acquire_device(&qp->rung) < target) {
		if (dgda_trylock(&qp->ring_lock)) {
			const uint64_t rung = dgda_load_device(&qp->rung);
			const uint64_t ready = dgda_load_acquire_device(&qp->ready);

			if (ready > rung) {
				dgda_store_release_system(doorbell, ready << 32 | word);
				dgda_store_device(&qp->rung, ready);
			}
			dgda_unlock(&qp->ring_lock);
		} else {
			dgda_pause(++tries);
		}
	}
}

/* Takes the entry whose last word is `last`; the blocks before `done` were done before. Returns what is done now. */
DGDA_FN uint64_t dgda_take_entry(struct dingo_gda_qp *qp, const uint64_t *entry, uint64_t last, uint64_t done)
{
	const uint32_t status = (uint32_t)(last >> 16) & 0xff;
	uint64_t begin, end;

	/* Lanes that posted together have one entry: the entry's first word, a read of the host's memory, is not needed. */
	if (status == DINGO_WCS_SUCCESS && qp->failed_at == DINGO_GDA_NEVER)
		return done + (dgda_load_device32(&qp->sizes[done & qp->sq_mask]) >> DGDA_SHARE_SHIFT);
	/* From the first failure on each request has one. */
	begin = done + (uint32_t)(dgda_load_system32(entry) - (uint32_t)done);
	end = begin + (dgda_load_device32(&qp->sizes[begin & qp->sq_mask]) & ((1u << DGDA_SHARE_SHIFT) - 1));
	if (qp->failed_at == DINGO_GDA_NEVER) {
		qp->failed_status = status;
		qp->failed_vendor = (uint32_t)(last >> 24) & 0xff;
		qp->failed_end = end;
		dgda_store_device(&qp->failed_at, begin);
	}
	return end;
}

/* Takes entries until `target` is done, or none was there `looks` times: to look at one that is not there takes as
 * long as the PCIe bus, and the lock as long again. Returns how many; *now: what is done then, where that is not 0.
 */
DGDA_FN int dgda_poll_entries(struct dingo_gda_qp *qp, uint64_t target, unsigned int looks, uint64_t *now)
{
	const uint64_t *const cq = qp->cq;
	const uint64_t entries = qp->cq_mask + 1ull;
	uint64_t seen, done, consumer;
	int n = 0;

	if (!dgda_trylock(&qp->poll_lock))
		return 0;
	/*
	 * The store to `done` by the lock's previous holder may not be visible yet; its
	 * `polled` is.
	 */
	seen = dgda_load_device(&qp->done);
	done = seen + (uint32_t)(qp->polled - (uint32_t)seen);
	consumer = qp->consumer;
	while (n < DGDA_POLL_MOST && done < target) {
		const uint64_t *entry = cq + (consumer & (entries - 1)) * 4;
		const uint64_t last = dgda_load_acquire_system(entry + 3);

		/* phase: 1 in the ring's first pass, then alternating */
		if ((last >> 56 & 1) == !!(consumer & entries)) {
			if (n || !--looks)
				break;
			continue;
		}
		done = dgda_take_entry(qp, entry, last, done);
		consumer++;
		n++;
	}
	if (!n) {
		/* Two holders' stores of `done` have no order: the older may have come last. */
		if (done != seen)
			dgda_store_and_unlock(&qp->done, done, &qp->poll_lock);
		else
			dgda_unlock(&qp->poll_lock);
		return 0;
	}
	qp->consumer = consumer;
	qp->polled = (uint32_t)done;
	if (consumer - qp->reported >= entries / 4) {
		dgda_store_release_system(qp->cq_doorbell, consumer << 32 | qp->cq_doorbell_word);
		qp->reported = consumer;
	}
	dgda_store_and_unlock(&qp->done, done, &qp->poll_lock);
	*now = done;
	return n;
}

/* Takes what is there. Returns how many entries. */
DGDA_SLOW int dgda_poll(struct dingo_gda_qp *qp)
{
	uint64_t now;

	return dgda_poll_entries(qp, DINGO_GDA_NEVER, 1, &now);
}

/* Takes entries until `target` is done, and waits a while for them. Returns what is done as far as this thread knows. */
DGDA_SLOW uint64_t dgda_poll_until(struct dingo_gda_qp *qp, uint64_t target)
{
	uint64_t now;

	return dgda_poll_entries(qp, target, DGDA_LOOKS, &now) ? now : dgda_load_acquire_device(&qp->done);
}

/* Result of a ticket that is done. */
DGDA_FN int dgda_result(const struct dingo_gda_qp *qp, uint64_t ticket)
{
	if (ticket <= dgda_load_device(&qp->failed_at))
		return DINGO_WCS_SUCCESS;
	return ticket <= qp->failed_end ? (int)qp->failed_status : DINGO_WCS_WR_FLUSH_ERR;
}

/* Blocks of the lanes that post together. */
struct dgda_share {
	dgda_lanes lanes;
	uint64_t *sq;
	uint32_t mask;
	uint64_t base;		/* first block of all */
	uint64_t mine;		/* first block of this lane's WQE */
	uint32_t total;
};

/* Waits until the blocks before `end` are free. */
DGDA_SLOW void dgda_wait_for_room(struct dingo_gda_qp *qp, uint64_t end)
{
	unsigned int tries = 0;

	while (end - dgda_load_acquire_device(&qp->done) > qp->sq_mask + 1ull) {
		dgda_ring_to(qp, dgda_load_acquire_device(&qp->ready));
		if (dgda_poll(qp))
			continue;
		if (dgda_gone(qp, ++tries))
			return;		/* nobody reads what is overwritten */
		dgda_pause(tries);
	}
}

DGDA_FN struct dgda_share dgda_begin(struct dingo_gda_qp *qp, uint32_t blocks, bool all_the_same)
{
	uint32_t *const sizes = qp->sizes;
	struct dgda_share share;
	uint32_t before = 0;

	share.lanes = dgda_together(qp);
	share.sq = qp->sq;
	share.mask = qp->sq_mask;
	share.total = 0;
	if (all_the_same) {
		before = blocks * dgda_count(share.lanes & ((1ull << dgda_lane()) - 1));
		share.total = blocks * dgda_count(share.lanes);
	} else {
		for (dgda_lanes left = share.lanes; left; left &= left - 1) {
			const unsigned int lane = dgda_first(left);
			const uint32_t its = (uint32_t)dgda_from_lane(share.lanes, blocks, lane);

			if (lane < dgda_lane())
				before += its;
			share.total += its;
		}
	}
	share.base = 0;
	if (dgda_lane() == dgda_first(share.lanes)) {
		share.base = dgda_add_device(&qp->taken, share.total);
		if (share.base + share.total - dgda_load_acquire_device(&qp->done) > share.mask + 1ull)
			dgda_wait_for_room(qp, share.base + share.total);
	}
	share.base = dgda_from_lane(share.lanes, share.base, dgda_first(share.lanes));
	share.mine = share.base + before;
	dgda_store_device32(&sizes[share.mine & share.mask],
			    blocks | (share.mine == share.base ? share.total << DGDA_SHARE_SHIFT : 0));
	return share;
}

/* The WQE is written. Returns the ticket. */
DGDA_FN uint64_t dgda_end(struct dingo_gda_qp *qp, const struct dgda_share *share, uint32_t blocks)
{
	dgda_join(share->lanes);
	if (dgda_lane() == dgda_first(share->lanes)) {
		unsigned int tries = 0;

		while (dgda_load_acquire_device(&qp->ready) != share->base)
			dgda_pause(++tries);
		dgda_store_release_device(&qp->ready, share->base + share->total);
	}
	dgda_join(share->lanes);
	return share->mine + blocks;
}

/* One completion tells that all lanes' requests are done: that of the last one. */
DGDA_FN uint64_t dgda_flags(const struct dgda_share *share)
{
	return dgda_lane() == dgda_last(share->lanes) ? (uint64_t)DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK << 8 : 0;
}

/* A WQE of one block with one SGE, by its words from the fifth on. */
DGDA_FN void dgda_write(uint64_t *block, uint64_t opcode_flags, uint64_t raddr, uint32_t rkey, uint64_t word4,
			uint64_t word5, uint64_t word6, uint64_t word7)
{
	dgda_store_pair(block, opcode_flags | 1 << 16 | 1 << 24, 0);
	dgda_store_pair(block + 2, raddr, rkey);
	dgda_store_pair(block + 4, word4, word5);
	dgda_store_pair(block + 6, word6, word7);
}

DGDA_FN uint64_t dgda_post(struct dingo_gda_qp *qp, uint32_t opcode, uint64_t raddr, uint32_t rkey,
			   uint64_t word4, uint64_t word5, uint64_t word6, uint64_t word7)
{
	const struct dgda_share share = dgda_begin(qp, 1, true);

	dgda_write(share.sq + (share.mine & share.mask) * DGDA_BLOCK_WORDS, opcode | dgda_flags(&share), raddr, rkey,
		   word4, word5, word6, word7);
	return dgda_end(qp, &share, 1);
}

/* Bytes from `offset` on as a word, 0 behind the end. */
DGDA_FN uint64_t dgda_word(const uint8_t *data, uint32_t bytes, uint32_t offset)
{
	uint64_t word = 0;

	for (uint32_t i = 0; i < 8 && offset + i < bytes; i++)
		word |= (uint64_t)data[offset + i] << 8 * i;
	return word;
}

DGDA_FN uint64_t dgda_post_inline(struct dingo_gda_qp *qp, const uint8_t *data, uint32_t bytes, uint64_t raddr,
				  uint32_t rkey)
{
	const uint32_t blocks = 1 + (bytes > DGDA_INLINE_FIRST ?
				     (bytes - DGDA_INLINE_FIRST + DINGO_SQ_BLOCK - 1) / DINGO_SQ_BLOCK : 0);
	const struct dgda_share share = dgda_begin(qp, blocks, false);
	uint64_t *block = share.sq + (share.mine & share.mask) * DGDA_BLOCK_WORDS;
	const uint64_t flags = dgda_flags(&share) | (uint64_t)DINGO_WQE_CTRL_FLAGS_INLINE_MASK << 8;
	uint32_t at = 0;

	dgda_store_pair(block, DINGO_WR_WRITE | flags | (uint64_t)blocks << 16, bytes);
	dgda_store_pair(block + 2, raddr, rkey);
	for (uint32_t word = 4; word < blocks * DGDA_BLOCK_WORDS; word += 2, at += 16) {
		const uint64_t n = share.mine + word / DGDA_BLOCK_WORDS;

		dgda_store_pair(share.sq + (n & share.mask) * DGDA_BLOCK_WORDS + word % DGDA_BLOCK_WORDS,
				dgda_word(data, bytes, at), dgda_word(data, bytes, at + 8));
	}
	return dgda_end(qp, &share, blocks);
}

#endif
