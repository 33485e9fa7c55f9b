/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dingo_gda_port.h for HIP, by Clang's scoped atomics. Compiled only: no AMD GPU has run it. */
#ifndef DINGO_GDA_PORT_HIP_H
#define DINGO_GDA_PORT_HIP_H

#include <hip/hip_runtime.h>

#define DGDA_FN static __device__ __forceinline__
#define DGDA_SLOW static __device__ __attribute__((noinline, unused))
#define DGDA_DEVICE __HIP_MEMORY_SCOPE_AGENT
#define DGDA_SYSTEM __HIP_MEMORY_SCOPE_SYSTEM

DGDA_FN uint64_t dgda_load_acquire_device(const uint64_t *p)
{
	return __hip_atomic_load(p, __ATOMIC_ACQUIRE, DGDA_DEVICE);
}

DGDA_FN uint64_t dgda_load_device(const uint64_t *p)
{
	return __hip_atomic_load(p, __ATOMIC_RELAXED, DGDA_DEVICE);
}

DGDA_FN void dgda_store_release_device(uint64_t *p, uint64_t v)
{
	__hip_atomic_store(p, v, __ATOMIC_RELEASE, DGDA_DEVICE);
}

DGDA_FN void dgda_store_device(uint64_t *p, uint64_t v)
{
	__hip_atomic_store(p, v, __ATOMIC_RELAXED, DGDA_DEVICE);
}

DGDA_FN uint32_t dgda_load_device32(const uint32_t *p)
{
	return __hip_atomic_load(p, __ATOMIC_RELAXED, DGDA_DEVICE);
}

DGDA_FN void dgda_store_device32(uint32_t *p, uint32_t v)
{
	__hip_atomic_store(p, v, __ATOMIC_RELAXED, DGDA_DEVICE);
}

DGDA_FN uint64_t dgda_add_device(uint64_t *p, uint64_t v)
{
	return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, DGDA_DEVICE);
}

DGDA_FN bool dgda_trylock(uint32_t *p)
{
	uint32_t none = 0;

	return __hip_atomic_compare_exchange_strong(p, &none, 1, __ATOMIC_ACQUIRE,
						    __ATOMIC_RELAXED, DGDA_DEVICE);
}

DGDA_FN void dgda_unlock(uint32_t *p)
{
	__hip_atomic_store(p, 0, __ATOMIC_RELEASE, DGDA_DEVICE);
}

DGDA_FN void dgda_store_and_unlock(uint64_t *p, uint64_t v, uint32_t *lock)
{
	__threadfence();
	dgda_store_device(p, v);
	dgda_store_device32(lock, 0);
}

DGDA_FN uint64_t dgda_load_acquire_system(const uint64_t *p)
{
	return __hip_atomic_load(p, __ATOMIC_ACQUIRE, DGDA_SYSTEM);
}

DGDA_FN uint32_t dgda_load_system32(const void *p)
{
	return __hip_atomic_load((const uint32_t *)p, __ATOMIC_RELAXED, DGDA_SYSTEM);
}

DGDA_FN void dgda_store_release_system(uint64_t *p, uint64_t v)
{
	__threadfence_system();
	__hip_atomic_store(p, v, __ATOMIC_RELAXED, DGDA_SYSTEM);
}

DGDA_FN void dgda_store_pair(uint64_t *p, uint64_t a, uint64_t b)
{
	__hip_atomic_store(p, a, __ATOMIC_RELAXED, DGDA_SYSTEM);
	__hip_atomic_store(p + 1, b, __ATOMIC_RELAXED, DGDA_SYSTEM);
}

DGDA_FN void dgda_pause(unsigned int tries)
{
	if (tries > 64)
		__builtin_amdgcn_s_sleep(1);
}

DGDA_FN unsigned int dgda_lane(void)
{
	return __lane_id();
}

/* ROCm 5 has no match_any: the loop picks the first lane's key; the lanes with that key return. */
DGDA_FN dgda_lanes dgda_together(const void *key)
{
	const uint64_t mine = (uint64_t)key;

	for (;;) {
		const unsigned int leader = (unsigned int)__ffsll((unsigned long long)__ballot(1)) - 1;
		const uint64_t chosen = (uint64_t)__shfl((unsigned long long)mine, (int)leader);

		if (chosen == mine)
			return __ballot(1);
	}
}

DGDA_FN uint64_t dgda_from_lane(dgda_lanes lanes, uint64_t v, unsigned int lane)
{
	(void)lanes;
	return (uint64_t)__shfl((unsigned long long)v, (int)lane);
}

/* Lanes of a wavefront run in lockstep: only the compiler could change the order. */
DGDA_FN void dgda_join(dgda_lanes lanes)
{
	(void)lanes;
	__builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
	__builtin_amdgcn_wave_barrier();
}

DGDA_FN unsigned int dgda_count(dgda_lanes lanes)
{
	return (unsigned int)__popcll(lanes);
}

DGDA_FN unsigned int dgda_first(dgda_lanes lanes)
{
	return (unsigned int)__ffsll((unsigned long long)lanes) - 1;
}

DGDA_FN unsigned int dgda_last(dgda_lanes lanes)
{
	return 63 - (unsigned int)__clzll((long long)lanes);
}

#endif
