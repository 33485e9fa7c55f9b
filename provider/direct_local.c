// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The direct road: addresses of the regions that this process has registered, valid until the
 * program unmaps or moves the memory.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* RTLD_DEFAULT */
#endif
#include <dlfcn.h>
#include <stdlib.h>

#include "direct.h"
#include "direct_abi.h"

struct dingo_direct_local {
	struct dingo_direct_local *next;
	const struct dingo_direct_side *side;
	uint32_t key;
	uint64_t iova;
	uint8_t *addr;			/* NULL: unmapped, moved or protected since, in part */
	size_t length;
};

/* Nothing is allocated or freed while it is held: an allocator may unmap memory, which calls
 * moved().
 */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct dingo_direct_local *locals[256];
/* Bounds of all local regions; the range never shrinks. */
static _Atomic(uintptr_t) lowest = UINTPTR_MAX, highest;
_Atomic(uint32_t) dingo_direct_moves;

static struct dingo_direct_local **list_of(uint32_t key)
{
	return &locals[key >> DINGO_MR_INDEX_SHIFT & 255];
}

static bool overlaps(const struct dingo_direct_local *local, uintptr_t start, uintptr_t end)
{
	uintptr_t at = (uintptr_t)local->addr;

	return at && at < end && start < at + local->length;
}

/* Called by the preload library before the memory is unmapped, moved or protected. */
static void moved(uintptr_t start, uintptr_t end)
{
	struct dingo_direct_local *local;
	bool any = false;
	unsigned int i;

	if (start >= atomic_load(&highest) || end <= atomic_load(&lowest))
		return;
	pthread_mutex_lock(&mutex);
	for (i = 0; i < sizeof(locals) / sizeof(locals[0]); i++)
		for (local = locals[i]; local; local = local->next)
			if (overlaps(local, start, end)) {
				local->addr = NULL;
				any = true;
			}
	if (any)
		atomic_fetch_add(&dingo_direct_moves, 1);
	pthread_mutex_unlock(&mutex);
}

static void watch_moves(void)
{
	void (*watch)(void (*)(uintptr_t, uintptr_t)) =
		(void (*)(void (*)(uintptr_t, uintptr_t)))dlsym(RTLD_DEFAULT,
								"dingo_preload_watch_moves");

	if (watch)
		watch(moved);
}

void dingo_direct_registered(struct dingo_context *ctx, uint32_t key, void *addr,
			     size_t length, uint64_t iova)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct dingo_direct_side *side = ctx->direct;
	struct dingo_direct_local *local = side ? calloc(1, sizeof(*local)) : NULL;

	if (!local)
		return;		/* requests on this region go to the card */
	pthread_once(&once, watch_moves);
	local->side = side;
	local->key = key;
	local->iova = iova;
	local->addr = addr;
	local->length = length;
	pthread_mutex_lock(&mutex);
	local->next = *list_of(key);
	*list_of(key) = local;
	if ((uintptr_t)addr < atomic_load(&lowest))
		atomic_store(&lowest, (uintptr_t)addr);
	if ((uintptr_t)addr + length > atomic_load(&highest))
		atomic_store(&highest, (uintptr_t)addr + length);
	pthread_mutex_unlock(&mutex);
}

/* Removes the side's entries with this key, or if `all` with any key, from one list and returns
 * them.
 */
static struct dingo_direct_local *take_out(struct dingo_direct_local **at,
					   const struct dingo_direct_side *side,
					   uint32_t key, bool all)
{
	struct dingo_direct_local *local, *taken = NULL;

	pthread_mutex_lock(&mutex);
	while ((local = *at)) {
		if (local->side == side && (all || local->key == key)) {
			*at = local->next;
			local->next = taken;
			taken = local;
		} else {
			at = &local->next;
		}
	}
	pthread_mutex_unlock(&mutex);
	return taken;
}

static void free_all(struct dingo_direct_local *local)
{
	struct dingo_direct_local *next;

	for (; local; local = next) {
		next = local->next;
		free(local);
	}
}

void dingo_direct_deregistered(struct dingo_context *ctx, uint32_t key)
{
	if (ctx->direct)
		free_all(take_out(list_of(key), ctx->direct, key, false));
}

void dingo_direct_forget_locals(const struct dingo_direct_side *side)
{
	unsigned int i;

	for (i = 0; side->own && i < sizeof(locals) / sizeof(locals[0]); i++)
		free_all(take_out(&locals[i], side, 0, true));
}

uint8_t *dingo_direct_own_memory(const struct dingo_direct_side *side,
				 const struct dingo_direct_region *region)
{
	struct dingo_direct_local *local;
	uint8_t *at = NULL;

	pthread_mutex_lock(&mutex);
	for (local = *list_of(region->key); local; local = local->next)
		if (local->side == side && local->key == region->key && local->addr &&
		    region->length <= local->length &&
		    region->iova - local->iova <= local->length - region->length)
			at = local->addr + (region->iova - local->iova);
	pthread_mutex_unlock(&mutex);
	return at;
}
