/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Low-level operations for programs that support many NICs and keep the counters of a queue
 * themselves: MORI, rocSHMEM. They number the WQEs (32 bits, wrapping) and must not overwrite a
 * slot before its WQE is done, nor move the doorbell backwards. dingo_gda.h does all that itself; a
 * queue is used through one of the two only. docs/mori.md.
 *
 * A slot is a block of 64 bytes and holds one WQE. Addresses, sizes and doorbell words:
 * dingo_gda_describe().
 */
#ifndef DINGO_GDA_SLOT_H
#define DINGO_GDA_SLOT_H

#include "dingo_gda_port.h"
#include "dingo_gda_queue.h"

#define DINGO_GDA_SLOT_INLINE DGDA_INLINE_FIRST	/* bytes of inline data in a slot */
#define DINGO_GDA_SLOT_NOTHING (-1)		/* dingo_gda_slot_poll(): no completion yet */

/* Returns the address of WQE `number` in a ring of `slots`, a power of two. */
DGDA_FN uint64_t *dingo_gda_slot(void *sq, uint32_t slots, uint32_t number)
{
	return (uint64_t *)sq + (uint64_t)(number & (slots - 1)) * DGDA_BLOCK_WORDS;
}

DGDA_FN uint64_t dgda_slot_signaled(bool signaled)
{
	return signaled ? (uint64_t)DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK << 8 : 0;
}

/* Writes a WQE; `opcode`: DINGO_WR_WRITE, DINGO_WR_READ, or DINGO_WR_SEND, without raddr and rkey.
 * An unsignaled WQE has a completion of its own only if it fails; a later completion covers it.
 */
DGDA_FN void dingo_gda_slot_transfer(uint64_t *slot, uint32_t opcode, bool signaled, uint64_t laddr, uint32_t lkey,
				     uint64_t raddr, uint32_t rkey, uint32_t bytes)
{
	dgda_write(slot, opcode | dgda_slot_signaled(signaled), raddr, rkey, laddr, dgda_key_length(lkey, bytes), 0, 0);
}

/* Writes a WQE; `opcode`: DINGO_WR_FETCH_ADD or DINGO_WR_CMP_SWAP of 8 bytes, whose former value is
 * stored at laddr.
 */
DGDA_FN void dingo_gda_slot_atomic(uint64_t *slot, uint32_t opcode, bool signaled, uint64_t laddr, uint32_t lkey,
				   uint64_t raddr, uint32_t rkey, uint64_t swap_or_add, uint64_t compare)
{
	dgda_write(slot, opcode | dgda_slot_signaled(signaled), raddr, rkey, swap_or_add, compare, laddr,
		   dgda_key_length(lkey, 8));
}

/* Writes an invalid WQE in place of one that cannot be posted: it completes with LOC_QP_OP_ERR, and
 * the QP fails. A reserved slot must not keep its old WQE, which the card would execute again.
 */
DGDA_FN void dingo_gda_slot_wrong(uint64_t *slot)
{
	dgda_write(slot, 0xff | dgda_slot_signaled(true), 0, 0, 0, 0, 0, 0);
}

/* Writes a WRITE of 1 to DINGO_GDA_SLOT_INLINE inline bytes; with any other size an invalid WQE. */
DGDA_FN void dingo_gda_slot_write_inline(uint64_t *slot, bool signaled, const void *data, uint32_t bytes,
					 uint64_t raddr, uint32_t rkey)
{
	const uint8_t *const from = (const uint8_t *)data;

	if (!bytes || bytes > DINGO_GDA_SLOT_INLINE) {
		dingo_gda_slot_wrong(slot);
		return;
	}
	dgda_store_pair(slot, DINGO_WR_WRITE | dgda_slot_signaled(signaled) |
			(uint64_t)DINGO_WQE_CTRL_FLAGS_INLINE_MASK << 8 | 1 << 16, bytes);
	dgda_store_pair(slot + 2, raddr, rkey);
	dgda_store_pair(slot + 4, dgda_word(from, bytes, 0), dgda_word(from, bytes, 8));
	dgda_store_pair(slot + 6, dgda_word(from, bytes, 16), dgda_word(from, bytes, 24));
}

/* Returns the doorbell value for all WQEs before `number`. */
DGDA_FN uint64_t dingo_gda_slot_doorbell(uint32_t number, uint32_t doorbell_word)
{
	return (uint64_t)number << 32 | doorbell_word;
}

/* Rings a doorbell, ordered after all that this thread has stored or acquired. Send queue: starts
 * the WQEs. CQ: returns the entries to the card.
 */
DGDA_FN void dingo_gda_slot_ring(void *doorbell, uint64_t value)
{
	dgda_store_release_system((uint64_t *)doorbell, value);
}

/*
 * Reads entry `number` of a CQ with `entries`, a power of two.
 * Returns its enum ibv_wc_status (0: success) and stores the number of its WQE in *wqe; or returns
 * DINGO_GDA_SLOT_NOTHING.
 */
DGDA_FN int dingo_gda_slot_poll(const void *cq, uint32_t entries, uint32_t number, uint32_t *wqe)
{
	const uint64_t *const entry = (const uint64_t *)cq + (uint64_t)(number & (entries - 1)) * 4;
	const uint64_t last = dgda_load_acquire_system(entry + 3);

	if ((last >> 56 & 1) == !!(number & entries))
		return DINGO_GDA_SLOT_NOTHING;
	*wqe = dgda_load_system32(entry);
	return (int)(last >> 16 & 0xff);
}

#endif
