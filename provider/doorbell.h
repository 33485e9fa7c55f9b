/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef DINGO_DOORBELL_H
#define DINGO_DOORBELL_H

#include <util/mmio.h>

#include "dingo.h"

/* Fills `db` for slot `slot` of the doorbell page at mmap offset `offset`; maps the page when it
 * is new to the context. Returns 0 or an errno value.
 */
int dingo_doorbell_init(struct dingo_context *ctx, struct dingo_db *db,
			uint64_t offset, uint32_t slot);
void dingo_doorbell_unmap_all(struct dingo_context *ctx);

/* Wakes a sleeping card. */
void dingo_kick(const struct dingo_db *db) __attribute__((cold, noinline));

/* Tells a card that polls the page of a new value; says whether dingo_kick() must follow. */
static inline bool dingo_mark_dirty(const struct dingo_db *db)
{
	atomic_store_explicit(db->dirty, 1, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst);
	return unlikely(atomic_load_explicit(db->need_kick,
					     memory_order_relaxed));
}

/* Rings, and says whether dingo_kick() must follow: one 8-byte MemWr TLP. Everything written to ring memory before is visible to the card
 * first. With DB_MEMORY (contract, doorbell page) the write goes to memory that the card polls: mark the
 * line, then look whether the card sleeps; the full barrier pairs with the card's own between need_kick and its last look.
 */
static inline bool dingo_ring_quietly(const struct dingo_db *db,
				      uint32_t word0, uint32_t index)
{
	__le64 value = htole64((uint64_t)index << 32 | word0);

	udma_to_device_barrier();
	mmio_write64_le(db->slot, value);
	/* the page of a card behind PCI is not cached: a write neither waits nor is combined */
	if (!db->dirty)
		return false;
	return dingo_mark_dirty(db);
}

/* Rings the doorbell of a CQ and, with `arm`, asks for an event: after any completion, or after a solicited one. `arm_bits` are
 * ARM_SN and ARM_SOLICITED as last rung. A card that polls the page may pass over a value, but not over the
 * request to arm in it (contract, doorbell page: TAKEN).
 */
void dingo_ring_cq_doorbell(const struct dingo_db *db, uint32_t cqn,
			    uint32_t index, bool arm, bool solicited,
			    uint32_t *arm_bits);

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
