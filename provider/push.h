/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Push pages (contract, capability PUSH): the last blocks of a send queue are written to the card itself, which then need
 * not read them from host memory. The ring has them all the same.
 */
#ifndef DINGO_PUSH_H
#define DINGO_PUSH_H

#include "dingo.h"

/* Lets the SQ of `qp` push through the page at mmap() offset `offset`; its doorbell page is mapped. 0, or an environment
 * with DINGO_PUSH=0: it does not. Returns 0 or an errno value.
 */
int dingo_push_init(struct dingo_qp *qp, uint64_t db_offset, uint64_t offset);
void dingo_push_unmap(struct dingo_db_page *page);
/* Rings the doorbell of an SQ that pushes. The caller holds the SQ's lock. */
void dingo_push_ring(struct dingo_qp *qp);

#endif
