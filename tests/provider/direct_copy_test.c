// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The direct road: what a program that polls memory can see of a copy. usage: provider_direct_copy_test CASE */
#include "direct.c"

#include "cases.h"
#include "step.h"

#define OLD 0xee

/* A copy, and what was wrong while it ran. */
struct watch {
	uint8_t *to;
	const uint8_t *from;
	uint32_t bytes, torn, early;
};

static bool is_old(const struct watch *watch, uint32_t at)
{
	return watch->to[at] == OLD;
}

/* Checks the naturally aligned units behind the last 8-byte boundary, or all if there is none. */
static void look(void *arg)
{
	struct watch *watch = arg;
	uintptr_t start = (uintptr_t)watch->to, end = start + watch->bytes, last = (end - 1) & ~(uintptr_t)7;
	uint32_t at = last > start ? last - start : 0, unit, i;
	const uint32_t tail = at;
	bool new_tail = false;

	for (; at < watch->bytes; at += unit) {
		for (unit = 8; unit > watch->bytes - at || (start + at) % unit; unit /= 2)
			;
		for (i = 1; i < unit; i++)
			watch->torn += is_old(watch, at + i) != is_old(watch, at);
		new_tail |= !is_old(watch, at);
	}
	for (i = 0; new_tail && i < tail; i++)
		watch->early += is_old(watch, i);
}

static void copy_watched(void *arg)
{
	struct watch *watch = arg;

	copy(watch->to, watch->from, watch->bytes);
}

/* As the card promises (hw/base/ordered_write.h), after each instruction. */
static void aligned_units_of_the_end_appear_whole_and_last(void)
{
	static const uint32_t lengths[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 20, 33,
					    64, 65, 68, 100 };
	static uint8_t to[256] __attribute__((aligned(64))), from[256] __attribute__((aligned(64)));
	uint32_t i, shift, place;

	for (i = 0; i < sizeof(from); i++)
		from[i] = 1 + i % 200;
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (place = 0; place < 8; place++)
			for (shift = 0; shift < 8; shift += 4) {
				struct watch watch = { .to = to + 8 + place, .from = from + (place + shift) % 8, .bytes = lengths[i] };

				memset(to, OLD, sizeof(to));
				CHECK(step_through(copy_watched, look, &watch) > 1 || !CAN_STEP);
				if (watch.torn || watch.early)
					fprintf(stderr, "%u bytes at %u, from %u: %u torn, %u early\n", lengths[i], place,
						(place + shift) % 8, watch.torn, watch.early);
				CHECK(!watch.torn && !watch.early && !memcmp(watch.to, watch.from, watch.bytes));
				CHECK(watch.to[-1] == OLD && watch.to[watch.bytes] == OLD);
			}
}

static const struct test_case cases[] = {
	CASE(aligned_units_of_the_end_appear_whole_and_last),
};

int main(int argc, char **argv)
{
	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
