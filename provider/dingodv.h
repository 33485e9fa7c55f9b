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

/*
 * Puts the payload of SENDs and WRITEs that the QP receives through a compute kernel, on its way to
 * memory, whatever device the sender has. READ data and atomics are not changed.
 * @qp: RC, UC or UD, in state RESET or INIT. RESET sets DINGODV_KERNEL_PASS again.
 * @kernel, @params: as of dingodv_set_compute(). A QP may have a kernel for each direction.
 * Returns 0; EOPNOTSUPP: not on this card or with this driver, not a Dingo card, or comp_mask or
 * reserved not 0; EINVAL: unknown kernel, parameter out of range, or wrong QP state.
 */
int dingodv_set_receive_compute(struct ibv_qp *qp, uint32_t kernel,
				const struct dingodv_compute_params *params);

/*
 * Queues that a device, such as a GPU, posts to and polls: libdingo-gda has the code for that
 * (docs/gpu-initiated.md). A card without capability DB_WATCH has none.
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
 * Creates a CQ as ibv_create_cq_ex() does. With DEVICE_POLLS ibv_poll_cq() finds nothing in it, and
 * ibv_req_notify_cq() and ibv_resize_cq() fail with EINVAL.
 * @context: of a Dingo card.
 * @attr: as for ibv_create_cq_ex(); cqe in entries.
 * @dv_attr: flags; NULL: none.
 * Returns the CQ, for ibv_destroy_cq(); NULL and errno as ibv_create_cq_ex(), and EOPNOTSUPP: not a
 * Dingo card, card or driver without such queues, or unknown bits.
 */
struct ibv_cq_ex *dingodv_create_cq(struct ibv_context *context,
				    struct ibv_cq_init_attr_ex *attr,
				    const struct dingodv_cq_init_attr *dv_attr);

/*
 * Creates a QP as ibv_create_qp_ex() does. With DEVICE_POSTS ibv_post_send() fails with EINVAL;
 * receives are posted as ever.
 * @context: of a Dingo card.
 * @attr: as for ibv_create_qp_ex(). With DEVICE_POSTS send_cq is a CQ with DEVICE_POLLS and recv_cq
 * one without; max_send_wr in work requests of one block.
 * @dv_attr: flags; NULL: none.
 * Returns the QP, for ibv_destroy_qp(); NULL and errno as ibv_create_qp_ex(), and EOPNOTSUPP: not a
 * Dingo card, card or driver without such queues, or unknown bits; EINVAL: a CQ of the wrong kind,
 * or @attr asks for ibv_wr_* operations.
 */
struct ibv_qp *dingodv_create_qp(struct ibv_context *context,
				 struct ibv_qp_init_attr_ex *attr,
				 const struct dingodv_qp_init_attr *dv_attr);

/*
 * Card memory of ibv_alloc_dm() as this process sees it: ibv_alloc_dm_attr.length bytes, read and
 * written as other memory, though slowly on a board. While peer to peer is on (docs/p2p.md) its
 * pages can be pinned, so that a file opened with O_DIRECT is read into it without host memory.
 * @dm: of a Dingo card.
 * Returns its first byte; NULL: not of a Dingo card.
 */
void *dingodv_dm_address(struct ibv_dm *dm);

/*
 * Exports card memory as a DMABuf, which ibv_reg_dmabuf_mr() of any device takes that can reach the
 * card. It is good until ibv_free_dm().
 * @dm: of a Dingo card.
 * Returns a descriptor, the caller's to close; or -1 and errno. EOPNOTSUPP: the kernel has no export
 * (Linux 7.2 has), the card is not behind PCI, peer to peer is off, or not a Dingo card.
 */
int dingodv_export_dm(struct ibv_dm *dm);

/* Layouts: docs/reference/contract.md, wqe_ctrl and what follows it; cqe. */
struct dingodv_qp {
	uint64_t comp_mask;	/* in: 0. Out: 0 */
	void *sq;		/* blocks of 64 bytes */
	uint64_t *sq_doorbell;	/* store index << 32 | sq_doorbell_word; nothing else in this page is a device's */
	uint32_t sq_blocks;	/* a power of two */
	uint32_t sq_doorbell_word;
	uint32_t max_inline;	/* bytes */
	uint32_t qpn;
};

struct dingodv_cq {
	uint64_t comp_mask;	/* in: 0. Out: 0 */
	void *entries;		/* of 32 bytes */
	uint64_t *doorbell;	/* store consumer index << 32 | doorbell_word */
	const uint32_t *status;	/* read only; bit 30 is set once the card is gone: nothing completes any more */
	uint32_t num_entries;	/* a power of two; a quarter of it is spare for consumers that report late */
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
 * Says where the queues of a QP with DEVICE_POSTS and of a CQ with DEVICE_POLLS are. They stay there
 * until the object is destroyed.
 * @obj_type: enum dingodv_obj_type, one or more.
 * Returns 0; EINVAL: other objects; EOPNOTSUPP: not a Dingo card, unknown type or comp_mask.
 */
int dingodv_init_obj(struct dingodv_obj *obj, uint64_t obj_type);

#ifdef __cplusplus
}
#endif

#endif
