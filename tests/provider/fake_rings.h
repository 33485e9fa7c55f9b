/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A context, CQ, SRQ and QP of the provider with rings and doorbells in the test's memory. */
#ifndef FAKE_RINGS_H
#define FAKE_RINGS_H

#include "completion.h"
#include "dingo.h"

#define FAKE_QPN 0x120005
#define FAKE_CQN 7
#define FAKE_SRQN 9

struct fake {
	struct dingo_context ctx;
	struct dingo_pd pd;
	struct dingo_cq cq;
	struct dingo_srq srq;
	struct dingo_qp qp;
	struct dingo_ah ah;
	/* the card's side */
	uint64_t doorbell[4];		/* SQ, RQ, CQ, SRQ */
	_Atomic(uint8_t) dirty;
	_Atomic(uint32_t) need_kick;
	uint32_t kick;
	int kick_fd;			/* 0: kicks go to `kick` */
	_Atomic(uint32_t) status[DINGO_STATUS_CROWDED_OFFSET / 4 + 1]; /* the status page */
	uint32_t cq_producer;
};

enum { FAKE_DB_SQ, FAKE_DB_RQ, FAKE_DB_CQ, FAKE_DB_SRQ };

struct fake_options {
	enum ibv_qp_type type;
	uint32_t sq_blocks, max_blocks, rq_entries, cq_entries;
	bool srq, single_threaded, db_memory;
	int kick_fd;
};

/* Creates a QP that may post; to be freed by fake_free(). */
struct fake *fake_new(const struct fake_options *options);
void fake_free(struct fake *fake);

/* Completes as the card: writes the next CQE with the right phase. */
void fake_complete(struct fake *fake, uint8_t opcode, uint32_t wqe_index,
		   uint8_t status, uint32_t byte_len);

#endif
