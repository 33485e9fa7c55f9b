// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <sys/mman.h>

#include "doorbell.h"
#include "ring.h"

int dingo_ring_map(struct dingo_context *ctx, struct dingo_ring *ring,
		   const struct dingo_ring_map *map, bool reuse_db)
{
	int err;

	if (map->log_size > 31 || map->log_stride > 12 ||
	    map->ring_bytes < 1ULL << (map->log_size + map->log_stride)) {
		verbs_err(&ctx->vctx, "kernel gave a ring of %ju bytes for 2^%u entries of 2^%u bytes\n",
			  (uintmax_t)map->ring_bytes, map->log_size,
			  map->log_stride);
		return EINVAL;
	}
	if (!reuse_db) {
		err = dingo_doorbell_init(ctx, &ring->db, map->db_mmap,
					  map->db_slot);
		if (err)
			return err;
	}
	ring->bytes = map->ring_bytes;
	ring->mask = (1U << map->log_size) - 1;
	ring->log_size = map->log_size;
	ring->log_stride = map->log_stride;
	ring->buf = mmap(NULL, ring->bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			 ctx->vctx.context.cmd_fd, map->ring_mmap);
	if (ring->buf == MAP_FAILED) {
		err = errno;
		ring->buf = NULL;
		verbs_err(&ctx->vctx, "cannot map a ring of %zu bytes: %m\n",
			  ring->bytes);
		return err;
	}
	err = ibv_dontfork_range(ring->buf, ring->bytes);
	if (err) {
		munmap(ring->buf, ring->bytes);
		ring->buf = NULL;
	}
	return err;
}

void dingo_ring_unmap(struct dingo_ring *ring)
{
	if (!ring->buf)
		return;
	ibv_dofork_range(ring->buf, ring->bytes);
	munmap(ring->buf, ring->bytes);
	ring->buf = NULL;
}
