/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef DINGO_DOORBELL_H
#define DINGO_DOORBELL_H

#include <util/mmio.h>

#include "dingo.h"

/* Fills `db` for slot `slot` of the doorbell page at mmap offset `offset`, which is mapped unless
 * the context has it already. Returns 0 or an errno value.
 */
int dingo_doorbell_init(struct dingo_context *ctx, struct dingo_db *db,
			uint64_t offset, uint32_t slot);
void dingo_doorbell_unmap_all(struct dingo_context *ctx);

/* Wakes a sleeping card. */
void dingo_kick(const struct dingo_db *db) __attribute__((cold, noinline));

/* Tells a card that polls the page of a new value. Returns true if dingo_kick() must follow. */
static inline bool dingo_mark_dirty(const struct dingo_db *db)
{
	atomic_store_explicit(db->dirty, 1, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst);
	return unlikely(atomic_load_explicit(db->need_kick,
					     memory_order_relaxed));
}

/* Rings a doorbell by one 8-byte store (one MemWr TLP) and returns true if dingo_kick() must
 * follow. Earlier writes to ring memory are visible to the card first. With DB_MEMORY (contract,
 * doorbell page) the store goes to memory that the card polls: the line is marked dirty, then
 * need_kick is read; the full barrier between them pairs with the card's between setting need_kick
 * and its last look.
 */
static inline bool dingo_ring_quietly(const struct dingo_db *db,
				      uint32_t word0, uint32_t index)
{
	__le64 value = htole64((uint64_t)index << 32 | word0);

	udma_to_device_barrier();
	mmio_write64_le(db->slot, value);
	/* a card behind PCI: the page is uncached, so the write is neither delayed nor combined */
	if (!db->dirty)
		return false;
	return dingo_mark_dirty(db);
}

/* Rings the doorbell of a CQ and, with `arm`, requests an event: at the next completion, or with
 * `solicited` at the next solicited one. `arm_bits`: ARM_SN and ARM_SOLICITED as last rung,
 * updated. A card that polls the page may miss a value that is overwritten, so a request to arm
 * that it has not taken yet is kept in the new value (contract, doorbell page: TAKEN). Returns true
 * if there was one: the card sees it with the new index, and no event comes for entries before.
 */
bool dingo_ring_cq_doorbell(const struct dingo_db *db, uint32_t cqn,
			    uint32_t index, bool arm, bool solicited,
			    uint32_t *arm_bits);

/* Returns true if the card has taken the last request to arm. */
static inline bool dingo_arm_is_taken(const struct dingo_db *db)
{
	_Atomic(uint64_t) *slot = db->slot;

	return !db->dirty || (le64toh(atomic_load_explicit(slot, memory_order_relaxed)) &
			      DINGO_DOORBELL_WORD0_TAKEN_MASK);
}

static inline void dingo_ring_doorbell(const struct dingo_db *db,
				       uint32_t word0, uint32_t index)
{
	if (dingo_ring_quietly(db, word0, index))
		dingo_kick(db);
}

static inline uint32_t dingo_doorbell_word(uint32_t type, uint32_t object)
{
	return DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, type) |
	       DINGO_PREP(DINGO_DOORBELL_WORD0_OBJECT_MASK, object);
}

#endif
