/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The driver data that follows the kernel's uverbs commands, declared for the ibv_cmd_* calls. */
#ifndef DINGO_PROVIDER_ABI_H
#define DINGO_PROVIDER_ABI_H

#include <infiniband/kern-abi.h>
#include <rdma/dingo-abi.h>
#include <kernel-abi/dingo-abi.h>

DECLARE_DRV_CMD(udingo_alloc_ucontext, IB_USER_VERBS_CMD_GET_CONTEXT,
		dingo_alloc_ucontext_req, dingo_alloc_ucontext_resp);
DECLARE_DRV_CMD(udingo_alloc_pd, IB_USER_VERBS_CMD_ALLOC_PD, empty,
		dingo_alloc_pd_resp);
DECLARE_DRV_CMD(udingo_create_ah, IB_USER_VERBS_CMD_CREATE_AH, empty,
		dingo_create_ah_resp);
DECLARE_DRV_CMD(udingo_create_cq_ex, IB_USER_VERBS_EX_CMD_CREATE_CQ,
		dingo_create_cq_req, dingo_create_cq_resp);
DECLARE_DRV_CMD(udingo_resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ, empty,
		dingo_resize_cq_resp);
DECLARE_DRV_CMD(udingo_create_qp_ex, IB_USER_VERBS_EX_CMD_CREATE_QP,
		dingo_create_qp_req, dingo_create_qp_resp);
DECLARE_DRV_CMD(udingo_query_device_ex, IB_USER_VERBS_EX_CMD_QUERY_DEVICE,
		empty, dingo_query_device_resp);
DECLARE_DRV_CMD(udingo_create_srq, IB_USER_VERBS_CMD_CREATE_SRQ,
		dingo_create_srq_req, dingo_create_srq_resp);
DECLARE_DRV_CMD(udingo_create_srq_ex, IB_USER_VERBS_CMD_CREATE_XSRQ,
		dingo_create_srq_req, dingo_create_srq_resp);

#endif
