/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef DINGO_RING_H
#define DINGO_RING_H

#include <rdma/dingo-abi.h>

#include "dingo.h"

/* Maps the ring that the kernel described, and its doorbell page. Returns 0, or an errno value with
 * the ring not mapped.
 */
int dingo_ring_map(struct dingo_context *ctx, struct dingo_ring *ring,
		   const struct dingo_ring_map *map);

/* Reserves address space for a future ring, so that mapping it cannot fail for lack of it. Returns
 * NULL if there is not enough.
 */
void *dingo_ring_reserve(size_t bytes);
void dingo_ring_unreserve(void *place, size_t bytes);

/* Like dingo_ring_map(), but keeps ring->db and maps the ring at `place` if it fits into `bytes`.
 * The reservation `place` is consumed in any case.
 */
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
