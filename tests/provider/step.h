/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Looks at memory after each instruction of a function, as another thread could. */
#ifndef TESTS_PROVIDER_STEP_H
#define TESTS_PROVIDER_STEP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* Volatile: the compiler assumes that raise() calls no function of this file. */
static volatile struct {
	void (*look)(void *arg);
	void *arg;
	uint32_t steps;
	bool on;
} stepping;

#ifdef __x86_64__
/* With the trap flag, the processor raises SIGTRAP after one instruction more. */
static void on_step(int sig, siginfo_t *info, void *context)
{
	greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];

	stepping.steps++;
	stepping.look(stepping.arg);
	*flags = stepping.on ? *flags | 0x100 : *flags & ~0x100LL;
}
#endif

#ifdef __x86_64__
#define CAN_STEP 1
#else
#define CAN_STEP 0
#endif

/* Calls work(arg), and look(arg) after each of its instructions. Returns the number of looks: 0 on processors where this
 * file does not know how.
 */
static inline uint32_t step_through(void (*work)(void *arg), void (*look)(void *arg), void *arg)
{
#ifdef __x86_64__
	struct sigaction action = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &action, NULL);
	stepping.look = look;
	stepping.arg = arg;
	stepping.steps = 0;
	stepping.on = true;
	raise(SIGTRAP);
	work(arg);
	stepping.on = false;
	raise(SIGTRAP);
	return stepping.steps;
#else
	work(arg);
	return 0;
#endif
}

#endif
