// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* QPs for a device: creates them by dingodv calls, maps them for the device, and describes them in
 * device memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/dingodv.h>

#include "dingo_gda_host.h"
#include "dingo_gda_types.h"
#include "dingo_hw.h"
#include "memory.h"

/* Lanes of the widest wavefront. The ring must hold what they post together. */
#define MOST_LANES 64

struct dingo_gda {
	const struct dingo_gda_memory *memory;
};

struct dingo_gda_queue {
	const struct dingo_gda_memory *memory;
	struct ibv_cq *cq;
	struct ibv_cq *recv_cq;			/* NULL: the caller's is used */
	struct ibv_qp *qp;
	struct dingodv_cq dv_cq;
	struct dingodv_qp dv_qp;
	void *shown[5];				/* addresses mapped by show_all() */
	unsigned int num_shown;
	struct dingo_gda_qp at_first;		/* initial content of the device's object */
	void *device;				/* struct dingo_gda_qp, then sizes[] */
};

struct dingo_gda *dingo_gda_open(enum dingo_gda_kind kind, int ordinal)
{
	static const struct dingo_gda_memory *const kinds[] = {
		[DINGO_GDA_HOST] = &dingo_gda_host_memory,
		[DINGO_GDA_CUDA] = &dingo_gda_cuda_memory,
		[DINGO_GDA_HIP] = &dingo_gda_hip_memory,
	};
	struct dingo_gda *gda;
	int err;

	if ((size_t)kind >= sizeof(kinds) / sizeof(kinds[0])) {
		errno = dingo_gda_fail(EINVAL, "unknown kind of device: %d", (int)kind);
		return NULL;
	}
	gda = calloc(1, sizeof(*gda));
	if (!gda)
		return NULL;
	gda->memory = kinds[kind];
	err = gda->memory->open(ordinal);
	if (err) {
		free(gda);
		errno = err;
		return NULL;
	}
	return gda;
}

void dingo_gda_close(struct dingo_gda *gda)
{
	free(gda);
}

static int show(struct dingo_gda_queue *q, void *at, size_t bytes, bool read_only, void *device)
{
	int err = dingo_gda_show(q->memory, at, bytes, read_only, device);

	if (!err)
		q->shown[q->num_shown++] = at;
	return err;
}

static int show_all(struct dingo_gda_queue *q)
{
	struct dingo_gda_qp *d = &q->at_first;
	int err;

	err = show(q, q->dv_qp.sq, (size_t)q->dv_qp.sq_blocks * DINGO_SQ_BLOCK, false, &d->sq);
	if (!err)
		err = show(q, q->dv_cq.entries, (size_t)q->dv_cq.num_entries * DINGO_CQE_SIZE, false, &d->cq);
	if (!err)
		err = show(q, q->dv_qp.sq_doorbell, sizeof(uint64_t), false, &d->sq_doorbell);
	if (!err)
		err = show(q, q->dv_cq.doorbell, sizeof(uint64_t), false, &d->cq_doorbell);
	/* optional: without it a kernel does not notice that the
	 * card has died, and waits forever
	 */
	if (!err && show(q, (void *)q->dv_cq.status, sizeof(uint32_t), true, &d->status))
		d->status = NULL;
	return err;
}

/* Writes the initial content of the device's object. */
static int put_first(struct dingo_gda_queue *q)
{
	const size_t sizes = q->dv_qp.sq_blocks * sizeof(*q->at_first.sizes);
	uint8_t *first = calloc(1, sizeof(q->at_first) + sizes);
	int err;

	if (!first)
		return dingo_gda_fail(ENOMEM, "no memory");
	memcpy(first, &q->at_first, sizeof(q->at_first));
	err = q->memory->put(q->device, first, sizeof(q->at_first) + sizes);
	free(first);
	return err;
}

static int describe(struct dingo_gda_queue *q)
{
	struct dingo_gda_qp *d = &q->at_first;
	int err;

	err = show_all(q);
	if (!err)
		err = q->memory->alloc(sizeof(*d) + q->dv_qp.sq_blocks * sizeof(*d->sizes), &q->device);
	if (err)
		return err;
	d->sizes = (uint32_t *)((uint8_t *)q->device + sizeof(*d));
	d->sq_mask = q->dv_qp.sq_blocks - 1;
	d->cq_mask = q->dv_cq.num_entries - 1;
	d->sq_doorbell_word = q->dv_qp.sq_doorbell_word;
	d->cq_doorbell_word = q->dv_cq.doorbell_word;
	d->max_inline = q->dv_qp.max_inline;
	d->qpn = q->dv_qp.qpn;
	d->failed_at = DINGO_GDA_NEVER;
	return put_first(q);
}

/* Returns max_send_wr, raised so that the ring holds the largest posts of all lanes of a warp. */
static uint32_t enough_wrs(const struct dingo_gda_qp_attr *attr)
{
	return attr->max_send_wr < MOST_LANES ? MOST_LANES : attr->max_send_wr;
}

static int make_qp(struct dingo_gda_queue *q, const struct dingo_gda_qp_attr *attr)
{
	struct dingodv_qp_init_attr dv = { .create_flags = DINGODV_QP_CREATE_DEVICE_POSTS };
	struct ibv_qp_init_attr_ex init = {
		.send_cq = q->cq,
		.recv_cq = attr->recv_cq ? attr->recv_cq : q->recv_cq,
		.srq = attr->srq,
		.cap = {
			.max_send_wr = enough_wrs(attr),
			.max_recv_wr = attr->srq ? 0 : attr->max_recv_wr,
			.max_send_sge = 1,
			.max_recv_sge = attr->srq ? 0 : attr->max_recv_sge,
			.max_inline_data = attr->max_inline,
		},
		.qp_type = attr->qp_type,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = attr->pd,
	};
	struct dingodv_obj obj = { .qp = { .out = &q->dv_qp }, .cq = { .in = q->cq, .out = &q->dv_cq } };

	q->qp = dingodv_create_qp(attr->pd->context, &init, &dv);
	if (!q->qp)
		return errno;
	obj.qp.in = q->qp;
	return dingodv_init_obj(&obj, DINGODV_OBJ_QP | DINGODV_OBJ_CQ);
}

/* Upper bound for the blocks of the ring made by make_qp(): the CQ has an entry for each. */
static uint32_t most_blocks(const struct dingo_gda_qp_attr *attr)
{
	const uint32_t inline_blocks = (32 + attr->max_inline + DINGO_SQ_BLOCK - 1) / DINGO_SQ_BLOCK;
	const uint64_t blocks = (uint64_t)enough_wrs(attr) * (inline_blocks ? inline_blocks : 1);
	uint32_t ring = DINGO_SQ_BLOCK;

	while (ring < blocks && ring < 1U << DINGO_MAX_LOG_SQ)
		ring *= 2;
	return ring;
}

static int make_cqs(struct dingo_gda_queue *q, const struct dingo_gda_qp_attr *attr)
{
	struct dingodv_cq_init_attr dv = { .create_flags = DINGODV_CQ_CREATE_DEVICE_POLLS };
	struct ibv_cq_init_attr_ex init = { .cqe = most_blocks(attr) };
	struct ibv_cq_ex *cq = dingodv_create_cq(attr->pd->context, &init, &dv);

	if (!cq)
		return errno;
	q->cq = ibv_cq_ex_to_cq(cq);
	if (attr->recv_cq)
		return 0;
	q->recv_cq = ibv_create_cq(attr->pd->context, attr->max_recv_wr ? (int)attr->max_recv_wr : 1, NULL, NULL, 0);
	return q->recv_cq ? 0 : errno;
}

static int check(const struct dingo_gda_qp_attr *attr)
{
	if (!attr->pd || (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC) ||
	    attr->max_inline > DINGO_MAX_INLINE || attr->max_send_wr > 1U << DINGO_MAX_LOG_SQ)
		return dingo_gda_fail(EINVAL, "invalid PD, QP type, max_inline or max_send_wr");
	if (!dingodv_is_supported(attr->pd->context->device))
		return dingo_gda_fail(EOPNOTSUPP, "%s is no Dingo card", ibv_get_device_name(attr->pd->context->device));
	return 0;
}

struct dingo_gda_queue *dingo_gda_create(struct dingo_gda *gda, const struct dingo_gda_qp_attr *attr)
{
	struct dingo_gda_queue *q;
	int err;

	dingo_gda_fail(0, "%s", "");
	err = check(attr);
	if (err) {
		errno = err;
		return NULL;
	}
	q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->memory = gda->memory;
	err = make_cqs(q, attr);
	if (err == EOPNOTSUPP)
		dingo_gda_fail(err, "the card or its driver cannot watch doorbells: use a kernel-less card with engine model");
	if (!err)
		err = make_qp(q, attr);
	if (!err)
		err = describe(q);
	if (err) {
		dingo_gda_destroy(q);
		errno = err;
		return NULL;
	}
	return q;
}

static int destroy_qp(void *qp)
{
	return qp ? ibv_destroy_qp(qp) : 0;
}

int dingo_gda_destroy(struct dingo_gda_queue *q)
{
	int err = dingo_gda_hide_destroyed(q->memory, q->shown, q->num_shown, destroy_qp, q->qp);

	if (err)
		return err;
	if (q->device)
		q->memory->free(q->device);
	if (q->cq)
		ibv_destroy_cq(q->cq);
	if (q->recv_cq)
		ibv_destroy_cq(q->recv_cq);
	free(q);
	return 0;
}

struct ibv_qp *dingo_gda_ibv_qp(const struct dingo_gda_queue *q)
{
	return q->qp;
}

struct dingo_gda_qp *dingo_gda_device_qp(const struct dingo_gda_queue *q)
{
	return q->device;
}

void dingo_gda_describe(const struct dingo_gda_queue *q, struct dingo_gda_qp *out)
{
	*out = q->at_first;
}

/* Returns the index after the last CQ entry. Skips entries from before the reset; no more are
 * written.
 */
static uint64_t end_of_cq(const struct dingo_gda_queue *q, uint64_t consumer)
{
	const struct dingo_cqe *entries = q->dv_cq.entries;
	const uint32_t size = q->dv_cq.num_entries;

	for (;; consumer++) {
		const uint8_t owner = __atomic_load_n(&entries[consumer & (size - 1)].owner, __ATOMIC_ACQUIRE);

		if ((owner & 1) == !!(consumer & size))
			return consumer;
	}
}

int dingo_gda_reset(struct dingo_gda_queue *q)
{
	struct dingo_gda_qp now;
	int err;

	if (q->qp->state != IBV_QPS_RESET)
		return dingo_gda_fail(EINVAL, "the QP is not in state RESET");
	err = q->memory->get(&now, q->device, sizeof(now));
	if (err)
		return err;
	q->at_first.consumer = end_of_cq(q, now.consumer);
	q->at_first.reported = q->at_first.consumer;
	__atomic_store_n(q->dv_cq.doorbell, q->at_first.consumer << 32 | q->dv_cq.doorbell_word, __ATOMIC_RELEASE);
	return put_first(q);
}

int dingo_gda_query(struct dingo_gda_queue *q, struct dingo_gda_state *state)
{
	struct dingo_gda_qp now;
	int err = q->memory->get(&now, q->device, sizeof(now));

	if (err)
		return err;
	memset(state, 0, sizeof(*state));
	state->posted = now.ready;
	state->rung = now.rung;
	state->done = now.done;
	if (now.failed_at != DINGO_GDA_NEVER) {
		state->failed_status = now.failed_status;
		state->failed_vendor = now.failed_vendor;
	}
	return 0;
}
