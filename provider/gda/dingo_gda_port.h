/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Scoped loads, stores and fences, and what threads of a warp do together, for CUDA, HIP and threads of
 * a processor. "device" scope: all threads that post to a QP. "system" scope: the card, too.
 */
#ifndef DINGO_GDA_PORT_H
#define DINGO_GDA_PORT_H

#include <stdint.h>

/* Threads of one warp or wavefront: bit n is lane n. */
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
