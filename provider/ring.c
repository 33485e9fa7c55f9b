// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "doorbell.h"
#include "ring.h"

static int check_ring(struct dingo_context *ctx,
		      const struct dingo_ring_map *map)
{
	if (map->log_size > 31 || map->log_stride > 12 ||
	    map->ring_mmap % sysconf(_SC_PAGESIZE) ||
	    map->ring_bytes < 1ULL << (map->log_size + map->log_stride)) {
		verbs_err(&ctx->vctx, "the kernel returned an invalid ring: %ju bytes at offset 0x%jx for 2^%u entries of 2^%u bytes\n",
			  (uintmax_t)map->ring_bytes,
			  (uintmax_t)map->ring_mmap, map->log_size,
			  map->log_stride);
		return EINVAL;
	}
	return 0;
}

static int map_ring(struct dingo_context *ctx, struct dingo_ring *ring,
		    const struct dingo_ring_map *map, void *place)
{
	int err;

	ring->bytes = map->ring_bytes;
	ring->mask = (1U << map->log_size) - 1;
	ring->log_stride = map->log_stride;
	ring->buf = mmap(place, ring->bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | (place ? MAP_FIXED : 0),
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

int dingo_ring_map(struct dingo_context *ctx, struct dingo_ring *ring,
		   const struct dingo_ring_map *map)
{
	int err;

	err = dingo_doorbell_init(ctx, &ring->db, map->db_mmap, map->db_slot);
	if (!err)
		err = check_ring(ctx, map);
	return err ? err : map_ring(ctx, ring, map, NULL);
}

void *dingo_ring_reserve(size_t bytes)
{
	void *place = mmap(NULL, bytes, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return place == MAP_FAILED ? NULL : place;
}

void dingo_ring_unreserve(void *place, size_t bytes)
{
	if (place)
		munmap(place, bytes);
}

int dingo_ring_map_at(struct dingo_context *ctx, struct dingo_ring *ring,
		      const struct dingo_ring_map *map, void *place,
		      size_t bytes)
{
	int err = check_ring(ctx, map);

	if (err || map->ring_bytes > bytes) {
		dingo_ring_unreserve(place, bytes);
		return err ? err : map_ring(ctx, ring, map, NULL);
	}
	err = map_ring(ctx, ring, map, place);
	/* Unmaps only the rest: if mmap() failed, another thread may
	 * already use the ring's part.
	 */
	if (map->ring_bytes < bytes)
		munmap((uint8_t *)place + map->ring_bytes,
		       bytes - map->ring_bytes);
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
