/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dingo_gda_port.h for CUDA, compute capability 7.0 or later (memory model: PTX ISA, chapter 8). */
#ifndef DINGO_GDA_PORT_CUDA_H
#define DINGO_GDA_PORT_CUDA_H

#define DGDA_FN static __device__ __forceinline__
#define DGDA_SLOW static __device__ __noinline__

DGDA_FN uint64_t dgda_load_acquire_device(const uint64_t *p)
{
	uint64_t v;

	asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}

DGDA_FN uint64_t dgda_load_device(const uint64_t *p)
{
	uint64_t v;

	asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}

DGDA_FN void dgda_store_release_device(uint64_t *p, uint64_t v)
{
	asm volatile("st.release.gpu.u64 [%0], %1;" :: "l"(p), "l"(v) : "memory");
}

DGDA_FN void dgda_store_device(uint64_t *p, uint64_t v)
{
	asm volatile("st.relaxed.gpu.u64 [%0], %1;" :: "l"(p), "l"(v) : "memory");
}

DGDA_FN uint32_t dgda_load_device32(const uint32_t *p)
{
	uint32_t v;

	asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
	return v;
}

DGDA_FN void dgda_store_device32(uint32_t *p, uint32_t v)
{
	asm volatile("st.relaxed.gpu.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory");
}

DGDA_FN uint64_t dgda_add_device(uint64_t *p, uint64_t v)
{
	uint64_t old;

	asm volatile("atom.relaxed.gpu.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(p), "l"(v) : "memory");
	return old;
}

DGDA_FN bool dgda_trylock(uint32_t *p)
{
	uint32_t old;

	asm volatile("atom.acquire.gpu.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(p) : "memory");
	return old == 0;
}

DGDA_FN void dgda_unlock(uint32_t *p)
{
	asm volatile("st.release.gpu.u32 [%0], 0;" :: "l"(p) : "memory");
}

DGDA_FN void dgda_store_and_unlock(uint64_t *p, uint64_t v, uint32_t *lock)
{
	asm volatile("fence.acq_rel.gpu;" ::: "memory");
	dgda_store_device(p, v);
	dgda_store_device32(lock, 0);
}

DGDA_FN uint64_t dgda_load_acquire_system(const uint64_t *p)
{
	uint64_t v;

	asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}

DGDA_FN uint32_t dgda_load_system32(const void *p)
{
	uint32_t v;

	asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
	return v;
}

DGDA_FN void dgda_store_release_system(uint64_t *p, uint64_t v)
{
	asm volatile("fence.acq_rel.sys;" ::: "memory");
	asm volatile("st.relaxed.sys.u64 [%0], %1;" :: "l"(p), "l"(v) : "memory");
}

DGDA_FN void dgda_store_pair(uint64_t *p, uint64_t a, uint64_t b)
{
	asm volatile("st.v2.u64 [%0], {%1, %2};" :: "l"(p), "l"(a), "l"(b) : "memory");
}

DGDA_FN void dgda_pause(unsigned int tries)
{
	if (tries > 64)
		__nanosleep(100);
}

DGDA_FN unsigned int dgda_lane(void)
{
	unsigned int lane;

	asm("mov.u32 %0, %%laneid;" : "=r"(lane));
	return lane;
}

DGDA_FN dgda_lanes dgda_together(const void *key)
{
	return __match_any_sync(__activemask(), (unsigned long long)key);
}

DGDA_FN uint64_t dgda_from_lane(dgda_lanes lanes, uint64_t v, unsigned int lane)
{
	return __shfl_sync((unsigned int)lanes, (unsigned long long)v, (int)lane);
}

DGDA_FN void dgda_join(dgda_lanes lanes)
{
	__syncwarp((unsigned int)lanes);
}

DGDA_FN unsigned int dgda_count(dgda_lanes lanes)
{
	return (unsigned int)__popcll(lanes);
}

DGDA_FN unsigned int dgda_first(dgda_lanes lanes)
{
	return (unsigned int)__ffsll((long long)lanes) - 1;
}

DGDA_FN unsigned int dgda_last(dgda_lanes lanes)
{
	return 63 - (unsigned int)__clzll((long long)lanes);
}

#endif
