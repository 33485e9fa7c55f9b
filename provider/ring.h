/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef DINGO_RING_H
#define DINGO_RING_H

#include <rdma/dingo-abi.h>

#include "dingo.h"

/* Maps the ring that the kernel described, with its doorbell. `reuse_db`: keep ring->db as it is.
 * Returns 0 or an errno value, with nothing left mapped.
 */
int dingo_ring_map(struct dingo_context *ctx, struct dingo_ring *ring,
		   const struct dingo_ring_map *map, bool reuse_db);
void dingo_ring_unmap(struct dingo_ring *ring);

static inline void *dingo_ring_entry(const struct dingo_ring *ring,
				     uint32_t index)
{
	return (uint8_t *)ring->buf +
	       ((size_t)(index & ring->mask) << ring->log_stride);
}

#endif
