/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Conversion of the application's work requests and SGEs to blocks and bytes of a ring. */
#ifndef DINGO_QUEUE_SIZE_H
#define DINGO_QUEUE_SIZE_H

#include <errno.h>

#include <ccan/ilog.h>
#include <ccan/minmax.h>

#include "dingo.h"

static inline uint8_t dingo_log2_up(uint64_t n)
{
	return n <= 1 ? 0 : ilog64(n - 1);
}

/* Computes log2 of entries and of bytes per entry of a receive
 * queue or SRQ. Returns 0 or EINVAL.
 */
static inline int dingo_rq_size(const struct dingo_context *ctx, uint32_t wrs,
				uint32_t sges, uint8_t *log_size,
				uint8_t *log_stride)
{
	if (sges > DINGO_RQ_MAX_SGE || wrs > 1U << ctx->log_max_rq)
		return EINVAL;
	*log_size = dingo_log2_up(wrs);
	*log_stride = dingo_log2_up(DINGO_RQ_HDR + max_t(uint32_t, sges, 1) *
				    sizeof(struct dingo_sge));
	return 0;
}

static inline uint32_t dingo_rq_sges(uint8_t log_stride)
{
	return ((1U << log_stride) - DINGO_RQ_HDR) / sizeof(struct dingo_sge);
}

/* Returns the blocks of a WQE whose data segment starts at `offset` and has `bytes` bytes. */
static inline uint32_t dingo_wqe_blocks(uint32_t offset, uint32_t bytes)
{
	return (offset + bytes + DINGO_SQ_BLOCK - 1) / DINGO_SQ_BLOCK;
}

#endif
