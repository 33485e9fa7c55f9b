// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Doorbell pages: mapped once per context, shared by the rings whose slots lie in them. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "doorbell.h"
#include "push.h"

static struct dingo_db_page *find_page(struct dingo_context *ctx,
				       uint64_t offset)
{
	struct dingo_db_page *page = ctx->db_pages;

	while (page && page->offset != offset)
		page = page->next;
	return page;
}

static struct dingo_db_page *map_page(struct dingo_context *ctx,
				      uint64_t offset)
{
	/* with DB_MEMORY need_kick in the page is read, too */
	int prot = ctx->caps & DINGO_CAP_DB_MEMORY ? PROT_READ | PROT_WRITE :
						     PROT_WRITE;
	struct dingo_db_page *page = calloc(1, sizeof(*page));

	if (!page)
		return NULL;
	page->offset = offset;
	page->map = mmap(NULL, DINGO_DB_PAGE_SIZE, prot, MAP_SHARED,
			 ctx->vctx.context.cmd_fd, offset);
	if (page->map == MAP_FAILED) {
		verbs_err(&ctx->vctx, "cannot map doorbell page %#jx: %m\n",
			  (uintmax_t)offset);
		free(page);
		return NULL;
	}
	ibv_dontfork_range(page->map, DINGO_DB_PAGE_SIZE);
	page->next = ctx->db_pages;
	ctx->db_pages = page;
	return page;
}

int dingo_doorbell_init(struct dingo_context *ctx, struct dingo_db *db,
			uint64_t offset, uint32_t slot)
{
	struct dingo_db_page *page;
	uint8_t *base;

	if (slot < DINGO_DB_FIRST_SLOT || slot >= DINGO_DB_SLOTS) {
		verbs_err(&ctx->vctx, "the kernel returned an invalid doorbell slot: %u\n", slot);
		return EINVAL;
	}
	pthread_mutex_lock(&ctx->mutex);
	page = find_page(ctx, offset);
	if (!page)
		page = map_page(ctx, offset);
	pthread_mutex_unlock(&ctx->mutex);
	if (!page)
		return errno;

	base = page->map;
	db->slot = base + slot * 8;
	if (ctx->caps & DINGO_CAP_DB_MEMORY) {
		db->dirty = (void *)(base + DINGO_DB_DIRTY_OFFSET + slot / 8);
		db->need_kick = (void *)(base + DINGO_DB_NEED_KICK_OFFSET);
		db->kick = ctx->kick_page;
		db->kick_fd = ctx->kick_fd;
	}
	return 0;
}

void dingo_doorbell_unmap_all(struct dingo_context *ctx)
{
	struct dingo_db_page *page = ctx->db_pages;

	while (page) {
		struct dingo_db_page *next = page->next;

		dingo_push_unmap(page);
		ibv_dofork_range(page->map, DINGO_DB_PAGE_SIZE);
		munmap(page->map, DINGO_DB_PAGE_SIZE);
		free(page);
		page = next;
	}
	ctx->db_pages = NULL;
}

/* Errors are ignored: EAGAIN means that the eventfd's counter is full, so the card has unread
 * kicks, and polling reports a card that is gone. errno is preserved, as post functions must not
 * change it.
 */
void dingo_kick(const struct dingo_db *db)
{
	uint64_t one = 1;
	int saved = errno;

	if (db->kick) {
		mmio_write32_le(db->kick, htole32(1));
		return;
	}
	while (write(db->kick_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	errno = saved;
}

static uint32_t next_arm_bits(uint32_t bits, bool seen, bool solicited)
{
	uint32_t sn = DINGO_GET(DINGO_DOORBELL_WORD0_ARM_SN_MASK, bits);

	/* a request that the card has not seen is merged: any completion if one of the two wants
	 * that
	 */
	if (!seen && !(bits & DINGO_DOORBELL_WORD0_ARM_SOLICITED_MASK))
		solicited = false;
	return DINGO_PREP(DINGO_DOORBELL_WORD0_ARM_SN_MASK, sn + seen) |
	       (solicited ? DINGO_DOORBELL_WORD0_ARM_SOLICITED_MASK : 0);
}

bool dingo_ring_cq_doorbell(const struct dingo_db *db, uint32_t cqn,
			    uint32_t index, bool arm, bool solicited,
			    uint32_t *arm_bits)
{
	const uint32_t word0 = dingo_doorbell_word(DINGO_DB_CQ, cqn);
	_Atomic(uint64_t) *slot = db->slot;
	uint64_t old, value;
	uint32_t bits;
	bool seen;

	if (!db->dirty) {
		if (arm)
			*arm_bits = next_arm_bits(*arm_bits, true, solicited);
		dingo_ring_doorbell(db, word0 | *arm_bits, index);
		return false;
	}
	udma_to_device_barrier();
	old = atomic_load_explicit(slot, memory_order_relaxed);
	do {
		seen = !old || (le64toh(old) & DINGO_DOORBELL_WORD0_TAKEN_MASK);
		bits = arm ? next_arm_bits(*arm_bits, seen, solicited) :
			     *arm_bits;
		value = (uint64_t)index << 32 | word0 | bits;
		if (seen && !arm)
			value |= DINGO_DOORBELL_WORD0_TAKEN_MASK;
	} while (!atomic_compare_exchange_weak_explicit(slot, &old,
							htole64(value),
							memory_order_release,
							memory_order_relaxed));
	*arm_bits = bits;
	if (dingo_mark_dirty(db))
		dingo_kick(db);
	return !seen;
}
