/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Direct verbs of Dingo cards: functions that libibverbs has no call for. See dingodv(7).
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

/* Returns true if the device is a Dingo card. The other calls need one. */
bool dingodv_is_supported(struct ibv_device *device);

/*
 * The resource_type passed to the allocators of a parent domain: the use of the memory. The upper
 * 32 bits are the driver's number, which is 0 (RDMA_DRIVER_UNKNOWN). Rings are allocated by the
 * card's driver, not by these allocators; a CQ has no other memory.
 */
enum dingodv_res_type {
	DINGODV_RES_TYPE_QP = 1,	/* records of posted work requests */
	DINGODV_RES_TYPE_SRQ = 2,
};

/* Ids of compute kernels in the card's data path; a card may have others. */
enum dingodv_kernel_id {
	DINGODV_KERNEL_PASS = 0,
	DINGODV_KERNEL_ADD_ONE = 1,
	DINGODV_KERNEL_DLRM = 2,
};

struct dingodv_kernel {
	char name[32];		/* NUL-terminated */
	uint32_t id;
	uint32_t smallest_param; /* 0: takes no parameter */
	uint32_t largest_param;
	uint32_t record_bytes;	/* records begin at multiples of this in a message */
};

/*
 * Lists the compute kernels of the card (docs/reference/compute.md).
 * @context: of a Dingo card.
 * @kernels: filled in, as many as there is room for; may be NULL when *num is 0.
 * @num: in: capacity of @kernels. Out: number of kernels of the card, which may be larger.
 * Returns 0; EOPNOTSUPP: no compute slot, or not a Dingo card; else the errno of the query.
 */
int dingodv_query_compute(struct ibv_context *context,
			  struct dingodv_kernel *kernels, size_t *num);

struct dingodv_compute_params {
	uint64_t comp_mask;	/* 0 */
	uint32_t param;		/* dlrm: the modulus; 0 if the kernel takes none */
	uint32_t reserved;	/* 0 */
};

/*
 * Sends the payload of the QP's SENDs and WRITEs through a compute kernel.
 * @qp: RC, UC or UD, in state RESET, INIT or RTR. RESET sets DINGODV_KERNEL_PASS again.
 * @kernel: id of the kernel.
 * @params: the kernel's parameter; NULL: all 0.
 * Returns 0; EOPNOTSUPP: no compute slot, not a Dingo card, or comp_mask or reserved not 0;
 * EINVAL: unknown kernel, parameter out of range, or wrong QP state.
 */
int dingodv_set_compute(struct ibv_qp *qp, uint32_t kernel,
			const struct dingodv_compute_params *params);

/*
 * Sends the payload of SENDs and WRITEs that the QP receives through a compute kernel on its way to
 * memory, whatever device the sender has. READ responses and atomics are not changed.
 * @qp: RC, UC or UD, in state RESET or INIT. RESET sets DINGODV_KERNEL_PASS again.
 * @kernel, @params: as for dingodv_set_compute(). A QP may have a kernel for each direction.
 * Returns 0; EOPNOTSUPP: not supported by this card or driver, not a Dingo card, or comp_mask or
 * reserved not 0; EINVAL: unknown kernel, parameter out of range, or wrong QP state.
 */
int dingodv_set_receive_compute(struct ibv_qp *qp, uint32_t kernel,
				const struct dingodv_compute_params *params);

/*
 * Flags for queues that a device, such as a GPU, posts to and polls; libdingo-gda has the code for
 * that (docs/gpu-initiated.md). They need a card with capability DB_WATCH.
 */
enum dingodv_cq_create_flags {
	DINGODV_CQ_CREATE_DEVICE_POLLS = 1 << 0,
};

enum dingodv_qp_create_flags {
	DINGODV_QP_CREATE_DEVICE_POSTS = 1 << 0,
};

struct dingodv_cq_init_attr {
	uint64_t comp_mask;	/* 0 */
	uint32_t create_flags;	/* enum dingodv_cq_create_flags */
	uint32_t reserved;	/* 0 */
};

struct dingodv_qp_init_attr {
	uint64_t comp_mask;	/* 0 */
	uint32_t create_flags;	/* enum dingodv_qp_create_flags */
	uint32_t reserved;	/* 0 */
};

/*
 * Creates a CQ like ibv_create_cq_ex(). With DEVICE_POLLS ibv_poll_cq() never finds a completion,
 * and ibv_req_notify_cq() and ibv_resize_cq() fail with EINVAL.
 * @context: of a Dingo card.
 * @attr: as for ibv_create_cq_ex(); cqe in entries.
 * @dv_attr: flags; NULL: none.
 * Returns the CQ, to be destroyed by ibv_destroy_cq(); NULL and errno of ibv_create_cq_ex(), or
 * EOPNOTSUPP: not a Dingo card, card or driver without such queues, or unknown bits.
 */
struct ibv_cq_ex *dingodv_create_cq(struct ibv_context *context,
				    struct ibv_cq_init_attr_ex *attr,
				    const struct dingodv_cq_init_attr *dv_attr);

/*
 * Creates a QP like ibv_create_qp_ex(). With DEVICE_POSTS ibv_post_send() fails with EINVAL;
 * ibv_post_recv() works as usual.
 * @context: of a Dingo card.
 * @attr: as for ibv_create_qp_ex(). With DEVICE_POSTS send_cq must have DEVICE_POLLS and recv_cq
 * must not; max_send_wr counts work requests of the largest size that the other limits allow.
 * @dv_attr: flags; NULL: none.
 * Returns the QP, to be destroyed by ibv_destroy_qp(); NULL and errno of ibv_create_qp_ex(), or
 * EOPNOTSUPP: not a Dingo card, card or driver without such queues, or unknown bits; EINVAL: a CQ
 * of the wrong kind, or @attr asks for ibv_wr_* operations.
 */
struct ibv_qp *dingodv_create_qp(struct ibv_context *context,
				 struct ibv_qp_init_attr_ex *attr,
				 const struct dingodv_qp_init_attr *dv_attr);

/*
 * Returns the address at which this process has mapped card memory of ibv_alloc_dm():
 * ibv_alloc_dm_attr.length bytes, for ordinary loads and stores, which are slow on a board. While
 * peer to peer is on (docs/p2p.md) its pages can be pinned, so a file opened with O_DIRECT can be
 * read into it without host memory.
 * @dm: of a Dingo card.
 * Returns NULL if @dm is not of a Dingo card.
 */
void *dingodv_dm_address(struct ibv_dm *dm);

/*
 * Exports card memory as a DMABuf for ibv_reg_dmabuf_mr() of any device that can reach the card.
 * Valid until ibv_free_dm().
 * @dm: of a Dingo card.
 * Returns a file descriptor, which the caller closes, or -1 and errno. EOPNOTSUPP: the kernel
 * cannot export it (Linux 7.2 can), the card is not behind PCI, peer to peer is off, or not a Dingo
 * card.
 */
int dingodv_export_dm(struct ibv_dm *dm);

/* docs/reference/contract.md has the layouts: wqe_ctrl and the structures that follow it; cqe. */
struct dingodv_qp {
	uint64_t comp_mask;	/* in: 0. Out: 0 */
	void *sq;		/* blocks of 64 bytes */
	/* store index << 32 | sq_doorbell_word; the device must not access the rest of the page */
	uint64_t *sq_doorbell;
	uint32_t sq_blocks;	/* a power of two */
	uint32_t sq_doorbell_word;
	uint32_t max_inline;	/* bytes */
	uint32_t qpn;
};

struct dingodv_cq {
	uint64_t comp_mask;	/* in: 0. Out: 0 */
	void *entries;		/* of 32 bytes */
	uint64_t *doorbell;	/* store consumer index << 32 | doorbell_word */
	const uint32_t *status;	/* read only; bit 30 is set once the card is gone */
	uint32_t num_entries;	/* a power of two; a quarter is spare, for late reports */
	uint32_t doorbell_word;
	uint32_t cqn;
	uint32_t reserved;
};

struct dingodv_obj {
	struct {
		struct ibv_qp *in;
		struct dingodv_qp *out;
	} qp;
	struct {
		struct ibv_cq *in;
		struct dingodv_cq *out;
	} cq;
};

enum dingodv_obj_type {
	DINGODV_OBJ_QP = 1 << 0,
	DINGODV_OBJ_CQ = 1 << 1,
};

/*
 * Fills in the addresses of the queues of a QP with DEVICE_POSTS and of a CQ with DEVICE_POLLS.
 * They do not change until the object is destroyed.
 * @obj_type: enum dingodv_obj_type, one or more.
 * Returns 0; EINVAL: an object without that flag; EOPNOTSUPP: not a Dingo card, unknown type or
 * comp_mask.
 */
int dingodv_init_obj(struct dingodv_obj *obj, uint64_t obj_type);

#ifdef __cplusplus
}
#endif

#endif
