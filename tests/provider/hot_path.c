// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Instructions of the data path, counted by valgrind: posts and polls one 8-byte inline SEND at a time.
 * usage: hot_path COUNT [single]; run under `valgrind --tool=callgrind` with two COUNTs: the difference divided by the
 * difference of COUNTs is exact (scripts/bench-provider.sh does it). "single": as in a thread domain, without locks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_rings.h"

int main(int argc, char **argv)
{
	struct fake_options options = { .type = IBV_QPT_RC, .sq_blocks = 1024, .max_blocks = 1,
					.rq_entries = 4, .cq_entries = 1024, .db_memory = true };
	uint32_t count = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000, i;
	uint64_t value = 1;
	struct ibv_sge sge = { .addr = (uintptr_t)&value, .length = 8 };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED };
	struct fake *fake;
	struct ibv_wc wc;

	options.single_threaded = argc > 2 && !strcmp(argv[2], "single");
	fake = fake_new(&options);
	for (i = 0; i < count; i++) {
		if (dingo_post_send(&fake->qp.vqp.qp, &wr, &bad))
			return 1;
		fake_complete(fake, DINGO_WR_SEND, i, 0, 0);
		if (dingo_poll_cq(&fake->cq.vcq.cq, 1, &wc) != 1)
			return 1;
	}
	printf("%u posts and polls\n", count);
	fake_free(fake);
	return 0;
}
