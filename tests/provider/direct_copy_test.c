// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The direct road: what a program that polls memory can see of a copy. usage: provider_direct_copy_test CASE */
#include <signal.h>
#include <ucontext.h>

#include "direct.c"

#include "cases.h"

#define OLD 0xee

/* The copy that the trap handler watches. Volatile: the compiler knows that raise() calls nothing here. */
static volatile struct {
	const uint8_t *to;
	uint32_t bytes;
	bool on;
	uint32_t torn, early, steps;
} watch;

static bool is_old(uint32_t at)
{
	return watch.to[at] == OLD;
}

/* Checks the naturally aligned units behind the last 8-byte boundary, or all if there is none. */
static void look(void)
{
	uintptr_t start = (uintptr_t)watch.to, end = start + watch.bytes, last = (end - 1) & ~(uintptr_t)7;
	uint32_t at = last > start ? last - start : 0, unit, i;
	const uint32_t tail = at;
	bool new_tail = false;

	for (; at < watch.bytes; at += unit) {
		for (unit = 8; unit > watch.bytes - at || (start + at) % unit; unit /= 2)
			;
		for (i = 1; i < unit; i++)
			watch.torn += is_old(at + i) != is_old(at);
		new_tail |= !is_old(at);
	}
	for (i = 0; new_tail && i < tail; i++)
		watch.early += is_old(i);
}

#ifdef __x86_64__
/* Executes one instruction more: the trap flag stays set until the copy has ended. */
static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	watch.steps++;
	look();
	if (watch.on)
		interrupted->uc_mcontext.gregs[REG_EFL] |= 0x100;
	else
		interrupted->uc_mcontext.gregs[REG_EFL] &= ~0x100LL;
}
#endif

static void copy_watched(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	memset(to - 1, OLD, bytes + 2);
	watch.to = to;
	watch.bytes = bytes;
	watch.torn = watch.early = watch.steps = 0;
#ifdef __x86_64__
	watch.on = true;
	raise(SIGTRAP);
	copy(to, from, bytes);
	watch.on = false;
	raise(SIGTRAP);
	CHECK(watch.steps > 2);
#else
	copy(to, from, bytes);
#endif
	CHECK(!memcmp(to, from, bytes) && to[-1] == OLD && to[bytes] == OLD);
}

/* As the card promises (hw/base/ordered_write.h), after each instruction. */
static void aligned_units_of_the_end_appear_whole_and_last(void)
{
	static const uint32_t lengths[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 20, 33,
					    64, 65, 68, 100 };
	static uint8_t to[256] __attribute__((aligned(64))), from[256] __attribute__((aligned(64)));
	uint32_t i, shift, place;
#ifdef __x86_64__
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	CHECK(!sigaction(SIGTRAP, &action, NULL));
#endif
	for (i = 0; i < sizeof(from); i++)
		from[i] = 1 + i % 200;
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (place = 0; place < 8; place++)
			for (shift = 0; shift < 8; shift += 4) {
				copy_watched(to + 8 + place, from + (place + shift) % 8, lengths[i]);
				if (watch.torn || watch.early)
					fprintf(stderr, "%u bytes at %u, from %u: %u torn, %u early\n", lengths[i], place,
						(place + shift) % 8, watch.torn, watch.early);
				CHECK(!watch.torn && !watch.early);
			}
}

static const struct test_case cases[] = {
	CASE(aligned_units_of_the_end_appear_whole_and_last),
};

int main(int argc, char **argv)
{
	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
