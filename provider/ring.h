/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef DINGO_RING_H
#define DINGO_RING_H

#include <rdma/dingo-abi.h>

#include "dingo.h"

/* Maps the ring that the kernel described, with its doorbell. Returns 0 or an errno value, with nothing left mapped. */
int dingo_ring_map(struct dingo_context *ctx, struct dingo_ring *ring,
		   const struct dingo_ring_map *map);

/* Address space for a ring that does not exist yet, so that mapping it cannot fail for want of some. NULL: there is none. */
void *dingo_ring_reserve(size_t bytes);
void dingo_ring_unreserve(void *place, size_t bytes);

/* As dingo_ring_map(), but ring->db stays, and the ring lies in `place` of `bytes`, which is used up, if it fits there. */
int dingo_ring_map_at(struct dingo_context *ctx, struct dingo_ring *ring,
		      const struct dingo_ring_map *map, void *place,
		      size_t bytes);
void dingo_ring_unmap(struct dingo_ring *ring);

static inline void *dingo_ring_entry(const struct dingo_ring *ring,
				     uint32_t index)
{
	return (uint8_t *)ring->buf +
	       ((size_t)(index & ring->mask) << ring->log_stride);
}

#endif
