/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Scoped loads, stores and fences, and operations of a warp: the interface implemented by
 * dingo_gda_port_cuda.h, dingo_gda_port_hip.h and dingo_gda_port_host.h (threads of the CPU).
 *
 * "device" scope: all threads that post to a QP. "system" scope: these and the card. Pointers are
 * aligned to the value's size. Relaxed: atomic, unordered.
 *
 * uint64_t dgda_load_acquire_device(p)     load, device scope, acquire
 * uint64_t dgda_load_device(p)             load, device scope, relaxed
 * void dgda_store_release_device(p, v)     store, device scope, release
 * void dgda_store_device(p, v)             store, device scope, relaxed
 * uint32_t dgda_load_device32(p)           the same for 32 bits
 * void dgda_store_device32(p, v)           the same for 32 bits
 * uint64_t dgda_add_device(p, v)           adds, device scope, relaxed; returns the former value
 * bool dgda_trylock(lock)                  takes a lock, which is 0 when free; acquire; returns
 *                                          false if another thread holds it
 * void dgda_unlock(lock)                   releases the lock; release
 * void dgda_store_and_unlock(p, v, lock)   stores v and releases the lock, both after all earlier
 *                                          stores of this thread, by one fence of device scope
 * uint64_t dgda_load_acquire_system(p)     load, system scope, acquire
 * uint32_t dgda_load_system32(p)           load of 32 bits, system scope, relaxed
 * void dgda_store_release_system(p, v)     store, system scope: the card sees all that this thread
 *                                          stored before, or acquired from others, before v
 * void dgda_store_pair(p, a, b)            stores two words of a WQE at p, aligned to 16 bytes;
 *                                          ordered only by later release operations
 * void dgda_pause(tries)                   backs off in a loop after `tries` unsuccessful tries
 * unsigned int dgda_lane(void)             number of this lane in its warp, from 0
 * dgda_lanes dgda_together(key)            lanes that execute this call together with the same
 *                                          `key`; the same result in each of them
 * uint64_t dgda_from_lane(lanes, v, lane)  v of lane `lane`; all of `lanes` must call it
 * void dgda_join(lanes)                    barrier of the lanes: their earlier stores are ordered
 *                                          before later operations of each of them
 * unsigned int dgda_count(lanes)           number of lanes
 * unsigned int dgda_first(lanes)           number of the first lane; `lanes` is not 0
 * unsigned int dgda_last(lanes)            number of the last lane; `lanes` is not 0
 */
#ifndef DINGO_GDA_PORT_H
#define DINGO_GDA_PORT_H

#include <stdint.h>

/* Lanes of one warp or wavefront: bit n is lane n. */
typedef uint64_t dgda_lanes;

/* DGDA_FN: an inlined device function; DGDA_SLOW: one that is not inlined. */

#if defined(__CUDACC__)
#include "dingo_gda_port_cuda.h"
#elif defined(__HIPCC__) || defined(__HIP__)
#include "dingo_gda_port_hip.h"
#else
#include "dingo_gda_port_host.h"
#endif

#endif
