/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Code shared by the test programs: each run executes one case, named on the command line. */
#ifndef TESTS_PROVIDER_CASES_H
#define TESTS_PROVIDER_CASES_H

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_rings.h"

#define CHECK(what)                                                            \
	do {                                                                   \
		if (!(what)) {                                                 \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__,     \
				__LINE__, #what);                              \
			exit(1);                                               \
		}                                                              \
	} while (0)

static const struct fake_options rc = {
	.type = IBV_QPT_RC, .sq_blocks = 8, .max_blocks = 2,
	.rq_entries = 4, .cq_entries = 8,
};

static struct ibv_sge sges[3] __attribute__((unused)) = {
	{ .addr = 0x1000, .length = 100, .lkey = 0x11 },
	{ .addr = 0x2000, .length = 0, .lkey = 0x22 },
	{ .addr = 0x3000, .length = 7, .lkey = 0x33 },
};

static inline uint32_t rung(const struct fake *fake, unsigned int db)
{
	return fake->doorbell[db] >> 32;
}

static inline bool is_mapped(void *page)
{
	unsigned char resident;

	return mincore(page, 4096, &resident) == 0;
}

/* Returns the bytes allocated by malloc() and not freed. */
static inline size_t heap_in_use(void)
{
	return mallinfo2().uordblks;
}

/* Returns the size of this process's address space in pages. */
static inline unsigned long space_in_use(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	CHECK(file && fscanf(file, "%lu", &pages) == 1);
	fclose(file);
	return pages;
}

/* A thread that holds a lock or mutex for a while. */
struct holder {
	struct dingo_lock *lock;
	pthread_mutex_t *mutex;
	_Atomic(bool) held;
	_Atomic(bool) released;
	pthread_t thread;
};

static inline void *hold_for_a_while(void *arg)
{
	struct holder *holder = arg;

	if (holder->lock)
		dingo_lock(holder->lock);
	else
		pthread_mutex_lock(holder->mutex);
	atomic_store(&holder->held, true);
	usleep(3000);
	atomic_store(&holder->released, true);
	if (holder->lock)
		dingo_unlock(holder->lock);
	else
		pthread_mutex_unlock(holder->mutex);
	return NULL;
}

static inline void begin_to_hold(struct holder *holder)
{
	CHECK(!pthread_create(&holder->thread, NULL, hold_for_a_while, holder));
	while (!atomic_load(&holder->held))
		usleep(100);
}

static inline void hold(struct holder *holder, struct dingo_lock *lock)
{
	*holder = (struct holder){ .lock = lock };
	begin_to_hold(holder);
}

static inline void hold_mutex(struct holder *holder, pthread_mutex_t *mutex)
{
	*holder = (struct holder){ .mutex = mutex };
	begin_to_hold(holder);
}

/* Returns true if the call since hold() returned only after the lock was released, and left it free. */
static inline bool was_waited_for(struct holder *holder)
{
	const bool waited = atomic_load(&holder->released);

	pthread_join(holder->thread, NULL);
	if (holder->mutex && !pthread_mutex_trylock(holder->mutex))
		return waited && !pthread_mutex_unlock(holder->mutex);
	return waited && holder->lock && !atomic_load(&holder->lock->held);
}

struct test_case {
	const char *name;
	void (*run)(void);
};

#define CASE(name) { #name, name }

static inline int run_case(const struct test_case *cases, size_t count, int argc, char **argv)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (argc == 2 && !strcmp(argv[1], cases[i].name)) {
			cases[i].run();
			return 0;
		}
	}
	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (i = 0; i < count; i++)
			puts(cases[i].name);
		return 0;
	}
	fprintf(stderr, "usage: %s CASE | --list\n", argv[0]);
	return 2;
}

#endif
