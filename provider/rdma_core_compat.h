/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Wrappers for functions that versions of rdma-core declare differently; rdma_core_compat.cmake
 * detects which declaration the source has.
 */
#ifndef DINGO_RDMA_CORE_COMPAT_H
#define DINGO_RDMA_CORE_COMPAT_H

#include <infiniband/driver.h>

/* Some versions take further file descriptors of the context: none. */
#ifdef DINGO_GET_CONTEXT_TAKES_FDS
#define dingo_cmd_get_context(context, cmd, cmd_size, ...) \
	ibv_cmd_get_context(context, cmd, cmd_size, NULL, __VA_ARGS__)
#else
#define dingo_cmd_get_context ibv_cmd_get_context
#endif

/* Some versions take memory of the application for the CQ's ring: none, the kernel has it. */
#ifdef DINGO_CREATE_CQ_TAKES_BUFFER
#define dingo_cmd_create_cq_ex(context, attr, ...) \
	ibv_cmd_create_cq_ex(context, attr, NULL, __VA_ARGS__)
#else
#define dingo_cmd_create_cq_ex ibv_cmd_create_cq_ex
#endif

/* Some versions take a chain of driver attributes: none. */
#ifdef DINGO_CREATE_QP_TAKES_LINK
#define dingo_cmd_create_qp_ex2(...) ibv_cmd_create_qp_ex2(__VA_ARGS__, NULL)
#else
#define dingo_cmd_create_qp_ex2 ibv_cmd_create_qp_ex2
#endif

#endif
