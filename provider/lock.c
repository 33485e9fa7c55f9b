// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <sched.h>

#include "dingo.h"

/* The holder releases the lock soon unless it was preempted; then yielding lets it run. */
#define SPINS_BEFORE_YIELD 1000

void dingo_lock_contended(struct dingo_lock *lock)
{
	unsigned int spins = 0;

	do {
		while (atomic_load_explicit(&lock->held, memory_order_relaxed)) {
			if (++spins % SPINS_BEFORE_YIELD == 0)
				sched_yield();
#if defined(__x86_64__) || defined(__i386__)
			__builtin_ia32_pause();
#endif
		}
	} while (atomic_exchange_explicit(&lock->held, 1, memory_order_acquire));
}
