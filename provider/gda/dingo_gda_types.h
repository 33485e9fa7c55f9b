/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Description and state of a QP and its CQ in the device's memory, created by libdingo-gda
 * (dingo_gda_host.h) and used by dingo_gda.h. Counters of blocks and entries have 64 bits and never
 * wrap; rings and doorbells use their low 32 bits.
 */
#ifndef DINGO_GDA_TYPES_H
#define DINGO_GDA_TYPES_H

#include <stdint.h>

#define DINGO_GDA_LINE 64
#define DINGO_GDA_NEVER UINT64_MAX

struct dingo_gda_qp {
	/* Constant. Addresses are those of the device. */
	uint64_t *sq;			/* blocks of 8 words */
	uint64_t *sq_doorbell;
	const uint64_t *cq;		/* entries of 4 words */
	uint64_t *cq_doorbell;
	const uint32_t *status;		/* bit 30: the card is gone; NULL: not known */
	/* by block: blocks of the WQE that begins there; bits 31:16: of all posted with it */
	uint32_t *sizes;
	uint32_t sq_mask;
	uint32_t cq_mask;
	uint32_t sq_doorbell_word;
	uint32_t cq_doorbell_word;
	uint32_t max_inline;		/* bytes */
	uint32_t qpn;
	uint64_t reserved[5];

	/* Changed by posting. taken: end of the blocks reserved by threads; ready: of those
	 * written.
	 */
	uint64_t taken;
	uint64_t pad0[7];
	uint64_t ready;
	uint64_t pad1[7];

	/* Changed by the holder of ring_lock. */
	uint64_t rung;			/* blocks announced by the doorbell */
	uint32_t ring_lock;
	uint32_t pad2[13];

	/* Changed by the holder of poll_lock. */
	uint64_t done;			/* blocks completed */
	uint64_t failed_at;		/* first block of the first WQE that failed, or NEVER */
	uint64_t failed_end;		/* the block after it */
	uint64_t consumer;		/* CQ entries consumed */
	uint64_t reported;		/* consumer index last written to the doorbell */
	uint32_t failed_status;		/* enum ibv_wc_status */
	uint32_t failed_vendor;		/* vendor_err */
	uint32_t poll_lock;
	uint32_t polled;		/* low 32 bits of `done`, current for the lock's holder */
	uint32_t pad3[2];
};

#endif
