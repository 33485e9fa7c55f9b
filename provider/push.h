/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Push pages (contract, capability PUSH): the newest blocks of a send queue are also written to the
 * card, which then need not read them from the ring in host memory.
 */
#ifndef DINGO_PUSH_H
#define DINGO_PUSH_H

#include "dingo.h"

/* Enables pushing for the SQ of `qp` through the page at mmap() offset `offset`; its doorbell page
 * must be mapped. Does nothing if `offset` is 0 or the environment has DINGO_PUSH set to other than
 * 1. Returns 0 or an errno value.
 */
int dingo_push_init(struct dingo_qp *qp, uint64_t db_offset, uint64_t offset);
void dingo_push_unmap(struct dingo_db_page *page);
/* Pushes the blocks since the last doorbell and rings the SQ's. The caller holds the SQ's lock. */
void dingo_push_ring(struct dingo_qp *qp);

#endif
