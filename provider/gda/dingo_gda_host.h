/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * QPs whose send queue and CQ are used by a GPU: the host's side. It creates and connects them; kernels use
 * dingo_gda.h. docs/gpu-initiated.md. Link with -ldingo-gda -ldingo -libverbs; the GPU's library is loaded at run time.
 */
#ifndef DINGO_GDA_HOST_H
#define DINGO_GDA_HOST_H

#include <stdint.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

enum dingo_gda_kind {
	DINGO_GDA_HOST = 0,	/* threads of this process: for tests, and without a GPU */
	DINGO_GDA_CUDA = 1,	/* libcuda.so.1 */
	DINGO_GDA_HIP = 2,	/* libamdhip64.so; no GPU has run it */
};

struct dingo_gda;		/* a device that posts */
struct dingo_gda_queue;		/* a QP of it, with its CQ */
struct dingo_gda_qp;		/* the QP as kernels take it; dingo_gda_types.h */

/*
 * Opens a device.
 * @ordinal: of CUDA's or HIP's numbering. With CUDA the calling thread's context is taken where there is one, and the
 * primary context of the device else; all later calls come from threads that have it as theirs.
 * Returns NULL and sets errno; dingo_gda_error() says more.
 */
struct dingo_gda *dingo_gda_open(enum dingo_gda_kind kind, int ordinal);
/* After all its QPs were destroyed. */
void dingo_gda_close(struct dingo_gda *gda);

struct dingo_gda_qp_attr {
	struct ibv_pd *pd;
	struct ibv_cq *recv_cq;		/* NULL: one is made, for a QP that gets no receives */
	struct ibv_srq *srq;		/* or NULL */
	enum ibv_qp_type qp_type;	/* IBV_QPT_RC or IBV_QPT_UC */
	uint32_t max_send_wr;		/* what is outstanding at once; more waits */
	uint32_t max_inline;		/* bytes of dingo_gda_post_write_inline() */
	uint32_t max_recv_wr;
	uint32_t max_recv_sge;
};

/*
 * Makes a QP in state RESET with a CQ of its own, and shows their rings and doorbells to the device. To connect it
 * ibv_modify_qp() is for the caller, on dingo_gda_ibv_qp(); so are its receives.
 * Returns NULL and sets errno. EOPNOTSUPP: not a Dingo card, or one that watches no doorbells (a kernel driver,
 * engine rtl); EINVAL: @attr; ENOMEM; EIO: the GPU's driver refused.
 */
struct dingo_gda_queue *dingo_gda_create(struct dingo_gda *gda, const struct dingo_gda_qp_attr *attr);
/* No kernel uses it any more. Returns 0, or what ibv_destroy_qp() does. */
int dingo_gda_destroy(struct dingo_gda_queue *queue);

struct ibv_qp *dingo_gda_ibv_qp(const struct dingo_gda_queue *queue);
/* An address of the device, for kernels. */
struct dingo_gda_qp *dingo_gda_device_qp(const struct dingo_gda_queue *queue);

/*
 * Where the rings and doorbells of a queue are, as the device finds them, with their sizes and doorbell words: for
 * programs that keep the counters themselves and use dingo_gda_slot.h. include dingo_gda_types.h.
 */
void dingo_gda_describe(const struct dingo_gda_queue *queue, struct dingo_gda_qp *out);

/*
 * After ibv_modify_qp() to RESET, and before the QP is used again: the device begins anew, and forgets the failure. No
 * kernel uses the QP meanwhile. Returns 0, or an errno value.
 */
int dingo_gda_reset(struct dingo_gda_queue *queue);

struct dingo_gda_state {
	uint64_t posted;		/* blocks of 64 bytes, as the others */
	uint64_t rung;
	uint64_t done;
	uint32_t failed_status;		/* enum ibv_wc_status of the first that failed; 0: none */
	uint32_t failed_vendor;
};

/* What the device remembers; not while a kernel changes it. Returns 0, or an errno value. */
int dingo_gda_query(struct dingo_gda_queue *queue, struct dingo_gda_state *state);

/* Why the last call of this thread failed, one line; "" where errno says all. */
const char *dingo_gda_error(void);

#ifdef __cplusplus
}
#endif

#endif
