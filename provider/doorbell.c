// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Doorbell pages: mapped once per context, shared by the rings whose slots lie in them. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "doorbell.h"

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
	/* with DB_MEMORY the page is also read: need_kick */
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
		verbs_err(&ctx->vctx, "kernel gave doorbell slot %u\n", slot);
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

		ibv_dofork_range(page->map, DINGO_DB_PAGE_SIZE);
		munmap(page->map, DINGO_DB_PAGE_SIZE);
		free(page);
		page = next;
	}
	ctx->db_pages = NULL;
}

/* EAGAIN: the eventfd's counter is full, so the card has kicks to see. Errors of a card that is gone
 * show up in polling. Callers of post functions do not expect errno to change.
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
