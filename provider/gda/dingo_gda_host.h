/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Host side of QPs whose send queue and CQ are used by a GPU: creates, resets and destroys them;
 * kernels use dingo_gda.h. docs/gpu-initiated.md. Link with -ldingo-gda -ldingo -libverbs; the
 * GPU's library is loaded at run time.
 */
#ifndef DINGO_GDA_HOST_H
#define DINGO_GDA_HOST_H

#include <stdint.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

enum dingo_gda_kind {
	DINGO_GDA_HOST = 0,	/* threads of this process: for tests and machines without a GPU */
	DINGO_GDA_CUDA = 1,	/* libcuda.so.1 */
	DINGO_GDA_HIP = 2,	/* libamdhip64.so; no GPU has run it */
};

struct dingo_gda;		/* a device that posts */
struct dingo_gda_queue;		/* a QP of that device, with its CQ */
struct dingo_gda_qp;		/* the QP as kernels use it; dingo_gda_types.h */

/*
 * Opens a device.
 * @ordinal: device number of CUDA or HIP. With CUDA the calling thread's current context is used if
 * it has one, else the device's primary context, which becomes current; threads of all later calls
 * must have it current.
 * Returns the device, or NULL and errno; dingo_gda_error() says more.
 */
struct dingo_gda *dingo_gda_open(enum dingo_gda_kind kind, int ordinal);
/* Closes the device. All its QPs must have been destroyed. */
void dingo_gda_close(struct dingo_gda *gda);

struct dingo_gda_qp_attr {
	struct ibv_pd *pd;
	struct ibv_cq *recv_cq;		/* NULL: creates one, for a QP without receives */
	struct ibv_srq *srq;		/* or NULL */
	enum ibv_qp_type qp_type;	/* IBV_QPT_RC or IBV_QPT_UC */
	uint32_t max_send_wr;		/* outstanding at once; further posts wait */
	uint32_t max_inline;		/* bytes of dingo_gda_post_write_inline() */
	uint32_t max_recv_wr;
	uint32_t max_recv_sge;
};

/*
 * Creates a QP in state RESET with its own CQ, and maps their rings and doorbells for the device.
 * The caller connects it by ibv_modify_qp() on dingo_gda_ibv_qp() and posts its receives.
 * Returns the queue, or NULL and errno. EOPNOTSUPP: not a Dingo card, or a card without watched
 * slots (a kernel driver, engine rtl); EINVAL: wrong @attr; ENOMEM; EIO: the GPU's driver refused a
 * call.
 */
struct dingo_gda_queue *dingo_gda_create(struct dingo_gda *gda, const struct dingo_gda_qp_attr *attr);
/* Destroys the QP, which no kernel may be using. Returns 0, or the error of ibv_destroy_qp(). */
int dingo_gda_destroy(struct dingo_gda_queue *queue);

struct ibv_qp *dingo_gda_ibv_qp(const struct dingo_gda_queue *queue);
/* Returns the device address of the QP, for kernels. */
struct dingo_gda_qp *dingo_gda_device_qp(const struct dingo_gda_queue *queue);

/*
 * Returns the device addresses of a queue's rings and doorbells, with their sizes and doorbell
 * words: for programs that keep the counters themselves and use dingo_gda_slot.h. Include
 * dingo_gda_types.h.
 */
void dingo_gda_describe(const struct dingo_gda_queue *queue, struct dingo_gda_qp *out);

/*
 * Resets the device's counters and its record of a failure. Call it after ibv_modify_qp() to RESET
 * and before the QP is used again; no kernel may use the QP meanwhile. Returns 0 or an errno value.
 */
int dingo_gda_reset(struct dingo_gda_queue *queue);

struct dingo_gda_state {
	uint64_t posted;		/* in blocks of 64 bytes, like rung and done */
	uint64_t rung;
	uint64_t done;
	uint32_t failed_status;		/* enum ibv_wc_status of the first failed one; 0: none */
	uint32_t failed_vendor;
};

/* Reads the device's counters. No kernel may be changing them. Returns 0 or an errno value. */
int dingo_gda_query(struct dingo_gda_queue *queue, struct dingo_gda_state *state);

/* Returns why this thread's last call failed, in one line; "" if errno says all. */
const char *dingo_gda_error(void);

#ifdef __cplusplus
}
#endif

#endif
