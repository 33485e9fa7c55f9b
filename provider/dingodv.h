/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Direct verbs of Dingo cards: what libibverbs has no call for. dingodv(7).
 * Link with -ldingo -libverbs.
 */
#ifndef DINGODV_H
#define DINGODV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns whether the device is a Dingo card. The other calls need one. */
bool dingodv_is_supported(struct ibv_device *device);

/*
 * The resource_type that the allocators of a parent domain get: what the memory is for. The upper
 * 32 bits are the driver's number, which is 0 (RDMA_DRIVER_UNKNOWN). Rings are memory of the card's
 * driver and come from no allocator; a CQ has nothing else.
 */
enum dingodv_res_type {
	DINGODV_RES_TYPE_QP = 1,	/* what is remembered of posted work requests */
	DINGODV_RES_TYPE_SRQ = 2,
};

/* Compute kernels of the card's data path; a card may have more. */
enum dingodv_kernel_id {
	DINGODV_KERNEL_PASS = 0,
	DINGODV_KERNEL_ADD_ONE = 1,
	DINGODV_KERNEL_DLRM = 2,
};

struct dingodv_kernel {
	char name[32];		/* ends with 0 */
	uint32_t id;
	uint32_t smallest_param; /* 0: takes no parameter */
	uint32_t largest_param;
	uint32_t record_bytes;	/* its records begin at multiples of this in a message */
};

/*
 * Lists the compute kernels of the card (docs/reference/compute.md).
 * @context: of a Dingo card.
 * @kernels: filled in, as many as there is room for; may be NULL when *num is 0.
 * @num: in: room in @kernels. Out: how many kernels the card has, which may be more.
 * Returns 0; EOPNOTSUPP: no compute slot, or not a Dingo card; else the errno of the query.
 */
int dingodv_query_compute(struct ibv_context *context,
			  struct dingodv_kernel *kernels, size_t *num);

struct dingodv_compute_params {
	uint64_t comp_mask;	/* 0 */
	uint32_t param;		/* dlrm: the modulus; 0 where the kernel takes none */
	uint32_t reserved;	/* 0 */
};

/*
 * Sends the payload of the QP's SENDs and WRITEs through a compute kernel.
 * @qp: RC, UC or UD, in state RESET, INIT or RTR. RESET sets DINGODV_KERNEL_PASS again.
 * @kernel: id of the kernel.
 * @params: its parameter; NULL: all 0.
 * Returns 0; EOPNOTSUPP: no compute slot, not a Dingo card, or comp_mask or reserved not 0;
 * EINVAL: unknown kernel, parameter out of range, or wrong QP state.
 */
int dingodv_set_compute(struct ibv_qp *qp, uint32_t kernel,
			const struct dingodv_compute_params *params);

#ifdef __cplusplus
}
#endif

#endif
