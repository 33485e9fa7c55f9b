/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dingo_gda_port.h for threads of the CPU: each is a warp of one lane. For tests and machines
 * without a GPU; GCC and Clang.
 */
#ifndef DINGO_GDA_PORT_HOST_H
#define DINGO_GDA_PORT_HOST_H

#include <sched.h>

#define DGDA_FN static inline
#define DGDA_SLOW static __attribute__((noinline, unused))

DGDA_FN uint64_t dgda_load_acquire_device(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

DGDA_FN uint64_t dgda_load_device(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

DGDA_FN void dgda_store_release_device(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

DGDA_FN void dgda_store_device(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

DGDA_FN uint32_t dgda_load_device32(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

DGDA_FN void dgda_store_device32(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

DGDA_FN uint64_t dgda_add_device(uint64_t *p, uint64_t v)
{
	return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}

DGDA_FN bool dgda_trylock(uint32_t *p)
{
	return !__atomic_exchange_n(p, 1, __ATOMIC_ACQUIRE);
}

DGDA_FN void dgda_unlock(uint32_t *p)
{
	__atomic_store_n(p, 0, __ATOMIC_RELEASE);
}

DGDA_FN void dgda_store_and_unlock(uint64_t *p, uint64_t v, uint32_t *lock)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

DGDA_FN uint64_t dgda_load_acquire_system(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

DGDA_FN uint32_t dgda_load_system32(const void *p)
{
	return __atomic_load_n((const uint32_t *)p, __ATOMIC_RELAXED);
}

DGDA_FN void dgda_store_release_system(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

DGDA_FN void dgda_store_pair(uint64_t *p, uint64_t a, uint64_t b)
{
	__atomic_store_n(p, a, __ATOMIC_RELAXED);
	__atomic_store_n(p + 1, b, __ATOMIC_RELAXED);
}

DGDA_FN void dgda_pause(unsigned int tries)
{
	if (tries > 64)
		sched_yield();
}

DGDA_FN unsigned int dgda_lane(void)
{
	return 0;
}

DGDA_FN dgda_lanes dgda_together(const void *key)
{
	(void)key;
	return 1;
}

DGDA_FN uint64_t dgda_from_lane(dgda_lanes lanes, uint64_t v, unsigned int lane)
{
	(void)lanes;
	(void)lane;
	return v;
}

DGDA_FN void dgda_join(dgda_lanes lanes)
{
	(void)lanes;
}

DGDA_FN unsigned int dgda_count(dgda_lanes lanes)
{
	return (unsigned int)__builtin_popcountll(lanes);
}

DGDA_FN unsigned int dgda_first(dgda_lanes lanes)
{
	return (unsigned int)__builtin_ctzll(lanes);
}

DGDA_FN unsigned int dgda_last(dgda_lanes lanes)
{
	return 63 - (unsigned int)__builtin_clzll(lanes);
}

#endif
