/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Implementation of dingo_gda.h: space, order and completion. A post reserves blocks (taken), waits
 * until they are free, writes its WQE and advances `ready` after all earlier posts have. The
 * doorbell is rung with `ready`, under ring_lock, so that it never goes backwards; completions
 * advance `done`, under poll_lock. A thread that finds the queue full polls and rings itself, so
 * threads that only post make progress.
 *
 * Measured on an H100: a dependent load 0.13 us, a fence of device scope 0.34 us and of system
 * scope 0.74 us, a load from host memory 1.03 us. So constants are loaded before the first ordered
 * access.
 */
#ifndef DINGO_GDA_QUEUE_H
#define DINGO_GDA_QUEUE_H

#include "dingo_gda_port.h"
#include "dingo_gda_types.h"
#include "dingo_hw.h"

#define DGDA_BLOCK_WORDS (DINGO_SQ_BLOCK / 8)
#define DGDA_INLINE_FIRST (DINGO_SQ_BLOCK - 32)	/* bytes in the first block */
#define DGDA_POLL_MOST 64			/* entries consumed in one call */
#define DGDA_STATUS_GONE 0x40000000U		/* DINGO_STATUS_GONE of dingo-abi.h */
#define DGDA_LOOK_AT_STATUS 256			/* empty polls between two reads of the status */
#define DGDA_LOOKS 16				/* reads of a missing entry by a waiting thread */
#define DGDA_SHARE_SHIFT 16			/* sizes[]: shift of the blocks of all lanes */

/* Layouts that the code below assumes when it composes words by hand. */
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

/* Ensures that the doorbell was rung for the blocks up to `target`, which are ready. */
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

/* Consumes the entry whose last word is `last`; the blocks before `done` were done already. Returns
 * the new value of `done`.
 */
DGDA_FN uint64_t dgda_take_entry(struct dingo_gda_qp *qp, const uint64_t *entry, uint64_t last, uint64_t done)
{
	const uint32_t status = (uint32_t)(last >> 16) & 0xff;
	uint64_t begin, end;

	/* Lanes that posted together have one entry, so its first word, in host memory, is not
	 * needed.
	 */
	if (status == DINGO_WCS_SUCCESS && qp->failed_at == DINGO_GDA_NEVER)
		return done + (dgda_load_device32(&qp->sizes[done & qp->sq_mask]) >> DGDA_SHARE_SHIFT);
	/* From the first failure on each request has an entry. */
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

/* Consumes entries until `target` is done or an entry was missing `looks` times: a read of a
 * missing entry costs a round trip of the PCIe bus, and taking the lock as much again. Returns the
 * number of entries; if that is not 0, *now is the new value of `done`.
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

		/* phase: 1 in the first pass through the ring, then alternating */
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
		/* Stores of `done` by two holders are unordered: the older may have landed last. */
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

/* Consumes the entries that are there. Returns their number. */
DGDA_SLOW int dgda_poll(struct dingo_gda_qp *qp)
{
	uint64_t now;

	return dgda_poll_entries(qp, DINGO_GDA_NEVER, 1, &now);
}

/* Consumes entries until `target` is done, waiting briefly for missing ones. Returns `done` as far
 * as this thread knows.
 */
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
			return;		/* the card is gone: overwriting is harmless */
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

/* Marks the written WQE ready, after all earlier ones. Returns the ticket. */
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

/* Flags of this lane's WQE: only the last lane's is signaled; its completion covers all lanes. */
DGDA_FN uint64_t dgda_flags(const struct dgda_share *share)
{
	return dgda_lane() == dgda_last(share->lanes) ? (uint64_t)DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK << 8 : 0;
}

/* Writes a WQE of one block with one SGE; word4 to word7 are the words after raddr and rkey. */
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

/* Returns 8 bytes from `offset` on as a word; bytes beyond the end are 0. */
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
