// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "doorbell.h"
#include "push.h"
#include "ring.h"

static bool is_wanted(void)
{
	const char *wanted = getenv("DINGO_PUSH");

	return !wanted || !strcmp(wanted, "1");
}

static int map_window(struct dingo_context *ctx, struct dingo_push *push,
		      uint64_t offset)
{
	void *window = mmap(NULL, DINGO_DB_PAGE_SIZE, PROT_WRITE, MAP_SHARED,
			    ctx->vctx.context.cmd_fd, offset);

	if (window == MAP_FAILED) {
		int err = errno;

		verbs_err(&ctx->vctx, "cannot map push page %#jx: %m\n",
			  (uintmax_t)offset);
		return err;
	}
	ibv_dontfork_range(window, DINGO_DB_PAGE_SIZE);
	dingo_lock_init(&push->lock, true);
	push->window = window;
	return 0;
}

int dingo_push_init(struct dingo_qp *qp, uint64_t db_offset, uint64_t offset)
{
	struct dingo_context *ctx = to_dingo_context(qp->vqp.qp.context);
	struct dingo_db_page *page;
	int err = 0;

	if (!offset || qp->device_posts || !is_wanted())
		return 0;
	pthread_mutex_lock(&ctx->mutex);
	for (page = ctx->db_pages; page->offset != db_offset; page = page->next)
		;
	if (!page->push.window)
		err = map_window(ctx, &page->push, offset);
	pthread_mutex_unlock(&ctx->mutex);
	if (!err)
		qp->sq.push = &page->push;
	return err;
}

void dingo_push_unmap(struct dingo_db_page *page)
{
	if (!page->push.window)
		return;
	ibv_dofork_range(page->push.window, DINGO_DB_PAGE_SIZE);
	munmap(page->push.window, DINGO_DB_PAGE_SIZE);
}

void dingo_push_ring(struct dingo_qp *qp)
{
	struct dingo_sq *sq = &qp->sq;
	struct dingo_push *push = sq->push;
	uint32_t blocks = sq->producer - sq->rung, n;
	uint32_t word0 = dingo_doorbell_word(DINGO_DB_SQ, qp->qpn);
	uint64_t value;

	sq->rung = sq->producer;
	/* waiting for the page would cost more than pushing saves */
	if (blocks > DINGO_PUSH_BLOCKS || !dingo_trylock(&push->lock)) {
		dingo_ring_quietly(&sq->ring.db, word0, sq->producer);
		return;
	}
	udma_to_device_barrier();
	mmio_wc_start();
	for (n = 0; n < blocks; n++)
		mmio_memcpy_x64((uint8_t *)push->window + n * DINGO_SQ_BLOCK,
				dingo_ring_entry(&sq->ring,
						 sq->producer - blocks + n),
				DINGO_SQ_BLOCK);
	/* orders the blocks before the doorbell */
	mmio_flush_writes();
	value = (uint64_t)sq->producer << 32 | word0 |
		DINGO_PREP(DINGO_DOORBELL_WORD0_PUSHED_MASK, blocks);
	mmio_write64_le(sq->ring.db.slot, htole64(value));
#if !defined(__x86_64__) && !defined(__i386__)
	/* orders the doorbell before the next push; x86 does that without a fence */
	mmio_flush_writes();
#endif
	dingo_unlock(&push->lock);
}
