// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Instructions of the data path, counted by valgrind: posts and polls one 8-byte inline SEND at a time.
 * usage: hot_path COUNT [single] [extended] [write] [receive]; run under `valgrind --tool=callgrind` with two COUNTs: the
 * difference divided by the difference of COUNTs is exact (scripts/bench.sh provider does it). "single": as in a thread domain,
 * without locks; "extended": posts by ibv_wr_*; "write": posts a WRITE of one SGE; "receive": posts and polls receives.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_rings.h"

static int post_extended(struct ibv_qp_ex *qp, const struct ibv_sge *sge)
{
	ibv_wr_start(qp);
	qp->wr_id = 0;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qp);
	ibv_wr_set_inline_data(qp, (void *)(uintptr_t)sge->addr, sge->length);
	return ibv_wr_complete(qp);
}

static bool has(int argc, char **argv, const char *word)
{
	while (argc-- > 2)
		if (!strcmp(argv[argc], word))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	struct fake_options options = { .type = IBV_QPT_RC, .sq_blocks = 1024, .max_blocks = 1,
					.rq_entries = 4, .cq_entries = 1024, .db_memory = true };
	uint32_t count = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000, i;
	uint64_t value = 1;
	struct ibv_sge sge = { .addr = (uintptr_t)&value, .length = 8 };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED };
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC, .send_ops_flags = IBV_QP_EX_WITH_SEND };
	struct ibv_recv_wr *bad_recv, recv = { .sg_list = &sge, .num_sge = 1 };
	bool extended = has(argc, argv, "extended"), receive = has(argc, argv, "receive");
	struct fake *fake;
	struct ibv_wc wc;

	options.single_threaded = has(argc, argv, "single");
	if (has(argc, argv, "write")) {
		wr.opcode = IBV_WR_RDMA_WRITE;
		wr.send_flags = IBV_SEND_SIGNALED;
	}
	fake = fake_new(&options);
	attr.pd = &fake->pd.pd;
	if (extended && dingo_qp_fill_wr_ops(&fake->qp, &attr))
		return 1;
	for (i = 0; i < count; i++) {
		if (receive ? dingo_post_recv(&fake->qp.vqp.qp, &recv, &bad_recv) :
		    extended ? post_extended(&fake->qp.vqp.qp_ex, &sge) :
			       dingo_post_send(&fake->qp.vqp.qp, &wr, &bad))
			return 1;
		if (receive)
			fake_complete(fake, DINGO_WC_RECV, i & 3, 0, 8);
		else
			fake_complete(fake, DINGO_WR_SEND, i, 0, 0);
		if (dingo_poll_cq(&fake->cq.vcq.cq, 1, &wc) != 1)
			return 1;
	}
	printf("%u posts and polls\n", count);
	fake_free(fake);
	return 0;
}
