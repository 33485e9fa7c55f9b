// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Conversion between the card's clock and the time of day. */
#include <errno.h>
#include <time.h>

#include <rdma/dingo-abi.h>

#include "dingo.h"

/* Most tries to read the pair. A write takes a few instructions, longer if the writer is preempted,
 * and never ends if it was killed.
 */
#define READS 10000

/* bits of cqe.ts_hi and ts_lo */
#define STAMP_BITS 48

void dingo_clock_read(const struct dingo_clock_page *page,
		      struct dingo_clock *clock)
{
	unsigned int reads;

	for (reads = 0; reads < READS; reads++) {
		uint32_t sequence = __atomic_load_n(&page->sequence,
						    __ATOMIC_ACQUIRE);
		struct dingo_clock now = {
			__atomic_load_n(&page->card_ns, __ATOMIC_RELAXED),
			__atomic_load_n(&page->real_ns, __ATOMIC_RELAXED),
		};

		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(sequence & 1) &&
		    __atomic_load_n(&page->sequence, __ATOMIC_RELAXED) == sequence) {
			*clock = now;
			return;
		}
	}
}

/* Assumes that the stamp is less than 39 hours, half the range of its bits, before or after the
 * pair.
 */
uint64_t dingo_clock_real(const struct dingo_clock *clock, uint64_t stamp)
{
	int64_t apart = (int64_t)((stamp - clock->card_ns)
				  << (64 - STAMP_BITS)) >> (64 - STAMP_BITS);

	return clock->real_ns + apart;
}

/* Register CLOCK is not mapped: its value is extrapolated from the pair by the time of day. */
static int present_clock(struct dingo_context *ctx, uint64_t *card_ns)
{
	struct dingo_clock clock = {};
	struct timespec now;

	if (!ctx->clock)
		return EOPNOTSUPP;
	dingo_clock_read(ctx->clock, &clock);
	clock_gettime(CLOCK_REALTIME, &now);
	*card_ns = clock.card_ns + now.tv_sec * 1000000000ULL + now.tv_nsec -
		   clock.real_ns;
	return 0;
}

/* raw_clock.tv_nsec is the whole 64-bit clock, as with other providers; completions have its bits
 * 47:0.
 */
int dingo_query_rt_values(struct ibv_context *context,
			  struct ibv_values_ex *values)
{
	uint32_t wanted = values->comp_mask;
	uint64_t card_ns;
	int err;

	values->comp_mask = 0;
	if (!check_comp_mask(wanted, IBV_VALUES_MASK_RAW_CLOCK))
		return EINVAL;
	if (!wanted)
		return 0;
	err = present_clock(to_dingo_context(context), &card_ns);
	if (err)
		return err;
	values->raw_clock = (struct timespec){ .tv_nsec = card_ns };
	values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	return 0;
}
