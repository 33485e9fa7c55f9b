/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Scoped loads, stores and fences, and what threads of a warp do together: the contract of the functions that
 * dingo_gda_port_cuda.h, dingo_gda_port_hip.h and dingo_gda_port_host.h (threads of a processor) implement.
 *
 * "device" scope: all threads that post to a QP. "system" scope: the card, too. Pointers are aligned to the value's
 * size. Relaxed: atomic, without order.
 *
 * uint64_t dgda_load_acquire_device(p)     load, device scope, acquire
 * uint64_t dgda_load_device(p)             load, device scope, relaxed
 * void dgda_store_release_device(p, v)     store, device scope, release
 * void dgda_store_device(p, v)             store, device scope, relaxed
 * uint32_t dgda_load_device32(p)           the same for 32 bits
 * void dgda_store_device32(p, v)           the same for 32 bits
 * uint64_t dgda_add_device(p, v)           adds, device scope, relaxed; returns the value before
 * bool dgda_trylock(lock)                  takes a lock, which is 0 when free; false: another thread has it; acquire
 * void dgda_unlock(lock)                   gives it back; release
 * void dgda_store_and_unlock(p, v, lock)   stores v and gives the lock back; both are seen after all that this thread
 *                                          stored before, by one fence of device scope
 * uint64_t dgda_load_acquire_system(p)     load, system scope, acquire
 * uint32_t dgda_load_system32(p)           load of 32 bits, system scope, relaxed
 * void dgda_store_release_system(p, v)     store, system scope: the card sees all that this thread stored before, or
 *                                          acquired from others, before v
 * void dgda_store_pair(p, a, b)            two words of a WQE at p, aligned to 16 bytes; ordered by what follows
 * void dgda_pause(tries)                   gives way in a loop that has looked `tries` times without result
 * unsigned int dgda_lane(void)             number of this lane in its warp, from 0
 * dgda_lanes dgda_together(key)            lanes that run this call together with the same `key`; each of them gets the
 *                                          same answer
 * uint64_t dgda_from_lane(lanes, v, lane)  v of that lane; all `lanes` call it
 * void dgda_join(lanes)                    waits for the lanes; what they stored before is ordered before what each of
 *                                          them does later
 * unsigned int dgda_count(lanes)           how many they are
 * unsigned int dgda_first(lanes)           number of the first and of the last one; `lanes` is not 0
 * unsigned int dgda_last(lanes)
 */
#ifndef DINGO_GDA_PORT_H
#define DINGO_GDA_PORT_H

#include <stdint.h>

/* Lanes of one warp or wavefront: bit n is lane n. */
typedef uint64_t dgda_lanes;

/* DGDA_FN: a function of the device; DGDA_SLOW: one that is not worth a copy in each caller. */

#if defined(__CUDACC__)
#include "dingo_gda_port_cuda.h"
#elif defined(__HIPCC__) || defined(__HIP__)
#include "dingo_gda_port_hip.h"
#else
#include "dingo_gda_port_host.h"
#endif

#endif
