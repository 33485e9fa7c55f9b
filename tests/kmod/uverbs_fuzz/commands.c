// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fuzzes the commands of ib_user_verbs.h, by write() and by the ioctl INVOKE_WRITE.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fuzz.h"

typedef void (*fill_fn)(struct fuzzer *f, struct context *c, void *core);

struct command {
	const char *name;
	uint32_t number; /* IB_USER_VERBS_CMD_* */
	bool extended;
	bool answers; /* unless extended, the core begins with the response's address */
	uint16_t core; /* bytes */
	uint16_t response;
	fill_fn fill;
	enum request request;
	enum answer answer;
	uint8_t creates; /* object */
	uint8_t handle_at; /* offset in the response */
	uint8_t destroys;
	uint8_t destroyed_at; /* offset in the core */
};

#define CORE(type, name) struct type *name = core

static void none(struct fuzzer *f, struct context *c, void *core)
{
	(void)f;
	(void)c;
	(void)core;
}

static void query_port(struct fuzzer *f, struct context *c, void *core)
{
	CORE(ib_uverbs_query_port, q);

	(void)f;
	(void)c;
	q->port_num = 1;
}

static void region(struct fuzzer *f, uint64_t *start, uint64_t *length,
		   uint64_t *hca_va)
{
	*start = (uintptr_t)f->scratch + 512 * below(f, 16);
	*length = 1 + below(f, SCRATCH / 2);
	*hca_va = one_in(f, 4) ? draw(f) << 12 | (*start & 4095) : *start;
	if (one_in(f, 8))
		*start = (uintptr_t)f->constant;
	if (one_in(f, 32) && f->card)
		*start = (uintptr_t)f->card;
}

static void reg_mr(struct fuzzer *f, struct context *c, void *core)
{
	CORE(ib_uverbs_reg_mr, r);
	uint64_t start, length, va;

	region(f, &start, &length, &va);
	r->start = start;
	r->length = length;
	r->hca_va = va;
	r->pd_handle = pick(f, c, UVERBS_OBJECT_PD);
	r->access_flags = access_flags(f);
}

static void rereg_mr(struct fuzzer *f, struct context *c, void *core)
{
	CORE(ib_uverbs_rereg_mr, r);
	uint64_t start, length, va;

	region(f, &start, &length, &va);
	r->mr_handle = pick(f, c, UVERBS_OBJECT_MR);
	r->flags = 1 + below(f, 7);
	r->start = start;
	r->length = length;
	r->hca_va = va;
	r->pd_handle = pick(f, c, UVERBS_OBJECT_PD);
	r->access_flags = access_flags(f);
}

/* A command whose core is only a handle. */
#define ONLY_HANDLE(name, object)					\
static void name(struct fuzzer *f, struct context *c, void *core)	\
{									\
	*(uint32_t *)core = pick(f, c, object);				\
}
ONLY_HANDLE(dealloc_pd, UVERBS_OBJECT_PD)
ONLY_HANDLE(dereg_mr, UVERBS_OBJECT_MR)
ONLY_HANDLE(dealloc_mw, UVERBS_OBJECT_MW)
ONLY_HANDLE(destroy_ah, UVERBS_OBJECT_AH)
ONLY_HANDLE(close_xrcd, UVERBS_OBJECT_XRCD)

/* A command whose core is the response's address, a handle and a word. */
#define RESPONSE_AND_HANDLE(name, object)				\
static void name(struct fuzzer *f, struct context *c, void *core)	\
{									\
	((uint32_t *)core)[2] = pick(f, c, object);			\
}
RESPONSE_AND_HANDLE(destroy_cq, UVERBS_OBJECT_CQ)
RESPONSE_AND_HANDLE(destroy_qp, UVERBS_OBJECT_QP)
RESPONSE_AND_HANDLE(destroy_srq, UVERBS_OBJECT_SRQ)
RESPONSE_AND_HANDLE(query_srq, UVERBS_OBJECT_SRQ)
RESPONSE_AND_HANDLE(query_qp, UVERBS_OBJECT_QP)
RESPONSE_AND_HANDLE(post_send, UVERBS_OBJECT_QP)
RESPONSE_AND_HANDLE(post_srq_recv, UVERBS_OBJECT_SRQ)

static void alloc_mw(struct fuzzer *f, struct context *c, void *core)
{
	CORE(ib_uverbs_alloc_mw, m);

	m->pd_handle = pick(f, c, UVERBS_OBJECT_PD);
	m->mw_type = 1 + below(f, 2);
}

static void create_cq(struct fuzzer *f, struct context *c, void *core)
{
	CORE(ib_uverbs_create_cq, q);

	q->user_handle = draw(f);
	q->cqe = small_number(f);
	q->comp_channel = one_in(f, 2) ? -1 : (int)pick(f, c, UVERBS_OBJECT_COMP_CHANNEL);
}

static void ex_create_cq(struct fuzzer *f, struct context *c, void *core)
{
	CORE(ib_uverbs_ex_create_cq, q);

	q->user_handle = draw(f);
	q->cqe = small_number(f);
	q->comp_channel = one_in(f, 2) ? -1 : (int)pick(f, c, UVERBS_OBJECT_COMP_CHANNEL);
	q->flags = below(f, 4) ? 0 : below(f, 4);
}

static void resize_cq(struct fuzzer *f, struct context *c, void *core)
{
	CORE(ib_uverbs_resize_cq, q);

	q->cq_handle = pick(f, c, UVERBS_OBJECT_CQ);
	q->cqe = small_number(f);
}

static void poll_cq(struct fuzzer *f, struct context *c, void *core)
{
	CORE(ib_uverbs_poll_cq, q);

	q->cq_handle = pick(f, c, UVERBS_OBJECT_CQ);
	q->ne = below(f, 8);
}

static void notify_cq(struct fuzzer *f, struct context *c, void *core)
{
	CORE(ib_uverbs_req_notify_cq, q);

	q->cq_handle = pick(f, c, UVERBS_OBJECT_CQ);
	q->solicited_only = below(f, 2);
}

static void modify_cq(struct fuzzer *f, struct context *c, void *core)
{
	CORE(ib_uverbs_ex_modify_cq, q);

	q->cq_handle = pick(f, c, UVERBS_OBJECT_CQ);
	q->attr_mask = 1;
	q->attr.cq_count = below(f, 100);
	q->attr.cq_period = below(f, 100);
}

static uint8_t qp_type(struct fuzzer *f)
{
	static const uint8_t types[] = { 2, 2, 2, 3, 4, 4, 1, 8, 9, 10, 255 };

	return types[below(f, sizeof(types))];
}

static void create_qp(struct fuzzer *f, struct context *c, void *core)
{
	CORE(ib_uverbs_create_qp, q);

	q->user_handle = draw(f);
	q->pd_handle = pick(f, c, UVERBS_OBJECT_PD);
	q->send_cq_handle = pick(f, c, UVERBS_OBJECT_CQ);
	q->recv_cq_handle = one_in(f, 2) ? q->send_cq_handle : pick(f, c, UVERBS_OBJECT_CQ);
	q->is_srq = f->with_srq = one_in(f, 3);
	q->srq_handle = q->is_srq ? pick(f, c, UVERBS_OBJECT_SRQ) : 0;
	q->max_send_wr = small_number(f);
	q->max_recv_wr = q->is_srq ? 0 : small_number(f);
	q->max_send_sge = 1 + below(f, 4);
	q->max_recv_sge = q->is_srq ? 0 : 1 + below(f, 4);
	q->max_inline_data = one_in(f, 2) ? 0 : below(f, 512);
	q->sq_sig_all = below(f, 2);
	q->qp_type = qp_type(f);
}

/* Up to comp_mask, the structures differ only by the response's address. */
static void ex_create_qp(struct fuzzer *f, struct context *c, void *core)
{
	struct ib_uverbs_create_qp q = {};
	CORE(ib_uverbs_ex_create_qp, x);

	create_qp(f, c, &q);
	memcpy(x, &q.user_handle, offsetof(struct ib_uverbs_ex_create_qp, comp_mask));
	x->create_flags = one_in(f, 4) ? 1u << below(f, 13) : 0;
}

static void open_qp(struct fuzzer *f, struct context *c, void *core)
{
	CORE(ib_uverbs_open_qp, q);

	q->pd_handle = pick(f, c, UVERBS_OBJECT_XRCD);
	q->qpn = odd_number(f);
	q->qp_type = 10;
}

#define TO_INIT (1u << 0 | 1u << 3 | 1u << 4 | 1u << 5)
#define TO_RTR (1u << 0 | 1u << 7 | 1u << 8 | 1u << 20 | 1u << 12 | 1u << 17 | 1u << 15)
#define TO_RTS (1u << 0 | 1u << 9 | 1u << 10 | 1u << 11 | 1u << 16 | 1u << 13)
#define TO_INIT_UD (1u << 0 | 1u << 4 | 1u << 5 | 1u << 6)
#define TO_RTS_UD (1u << 0 | 1u << 16)

static void modify_qp(struct fuzzer *f, struct context *c, void *core)
{
	static const struct { uint8_t state; uint32_t mask; } steps[] = {
		{ 1, TO_INIT }, { 2, TO_RTR }, { 3, TO_RTS },
		{ 1, TO_INIT_UD }, { 2, 1 }, { 3, TO_RTS_UD },
		{ 6, 1 }, { 0, 1 }, { 4, 1 }, { 1, 1u << 3 },
	};
	CORE(ib_uverbs_modify_qp, m);
	unsigned int n = below(f, sizeof(steps) / sizeof(steps[0]));

	m->qp_handle = pick(f, c, UVERBS_OBJECT_QP);
	m->attr_mask = steps[n].mask;
	m->qp_state = steps[n].state;
	m->port_num = 1;
	m->path_mtu = 1 + below(f, 5);
	m->dest_qp_num = one_in(f, 2) ? below(f, 1 << 24) : 1 + below(f, 64);
	m->rq_psn = m->sq_psn = below(f, 1 << 24);
	m->qkey = draw(f);
	m->qp_access_flags = below(f, 16) & ~1u;
	m->max_rd_atomic = m->max_dest_rd_atomic = 1 + below(f, 4);
	m->timeout = 8 + below(f, 8);
	m->retry_cnt = m->rnr_retry = below(f, 8);
	m->min_rnr_timer = below(f, 32);
	m->dest.is_global = 1;
	m->dest.sgid_index = below(f, 6);
	m->dest.hop_limit = 64;
	m->dest.port_num = 1;
	/* ::ffff:10.77.0.2, the peer, or this card */
	m->dest.dgid[10] = m->dest.dgid[11] = 0xff;
	m->dest.dgid[12] = 10;
	m->dest.dgid[13] = 77;
	m->dest.dgid[15] = 1 + below(f, 2);
}

static void ex_modify_qp(struct fuzzer *f, struct context *c, void *core)
{
	CORE(ib_uverbs_ex_modify_qp, m);

	modify_qp(f, c, &m->base);
	if (one_in(f, 4))
		m->base.attr_mask = 0;
	else if (one_in(f, 8))
		m->base.attr_mask = 1u << 25, m->rate_limit = draw(f);
}

static void mcast(struct fuzzer *f, struct context *c, void *core)
{
	CORE(ib_uverbs_attach_mcast, m);

	m->gid[0] = 0xff;
	m->gid[1] = 0x0e;
	m->gid[15] = below(f, 8);
	m->qp_handle = pick(f, c, UVERBS_OBJECT_QP);
	m->mlid = 0xc000;
}

static void create_ah(struct fuzzer *f, struct context *c, void *core)
{
	CORE(ib_uverbs_create_ah, a);

	a->user_handle = draw(f);
	a->pd_handle = pick(f, c, UVERBS_OBJECT_PD);
	a->attr.is_global = 1;
	a->attr.port_num = 1;
	a->attr.grh.sgid_index = below(f, 6);
	a->attr.grh.hop_limit = 1;
	a->attr.grh.dgid[10] = a->attr.grh.dgid[11] = 0xff;
	a->attr.grh.dgid[12] = one_in(f, 4) ? 224 : 10;
	a->attr.grh.dgid[13] = 77;
	a->attr.grh.dgid[15] = 1 + below(f, 2);
}

static void create_srq(struct fuzzer *f, struct context *c, void *core)
{
	CORE(ib_uverbs_create_srq, s);

	s->user_handle = draw(f);
	s->pd_handle = pick(f, c, UVERBS_OBJECT_PD);
	s->max_wr = small_number(f);
	s->max_sge = 1 + below(f, 4);
}

static void create_xsrq(struct fuzzer *f, struct context *c, void *core)
{
	CORE(ib_uverbs_create_xsrq, s);

	s->user_handle = draw(f);
	s->srq_type = below(f, 3);
	s->pd_handle = pick(f, c, UVERBS_OBJECT_PD);
	s->max_wr = small_number(f);
	s->max_sge = 1 + below(f, 4);
	s->xrcd_handle = pick(f, c, UVERBS_OBJECT_XRCD);
	s->cq_handle = pick(f, c, UVERBS_OBJECT_CQ);
}

static void modify_srq(struct fuzzer *f, struct context *c, void *core)
{
	CORE(ib_uverbs_modify_srq, s);

	s->srq_handle = pick(f, c, UVERBS_OBJECT_SRQ);
	s->attr_mask = 1 + below(f, 3);
	s->max_wr = small_number(f);
	s->srq_limit = below(f, 32);
}

static void open_xrcd(struct fuzzer *f, struct context *c, void *core)
{
	CORE(ib_uverbs_open_xrcd, x);

	(void)f;
	(void)c;
	x->fd = -1;
	x->oflags = 0100;
}

static void create_wq(struct fuzzer *f, struct context *c, void *core)
{
	CORE(ib_uverbs_ex_create_wq, w);

	w->pd_handle = pick(f, c, UVERBS_OBJECT_PD);
	w->cq_handle = pick(f, c, UVERBS_OBJECT_CQ);
	w->max_wr = small_number(f);
	w->max_sge = 1;
}

static void create_flow(struct fuzzer *f, struct context *c, void *core)
{
	CORE(ib_uverbs_create_flow, w);

	w->qp_handle = pick(f, c, UVERBS_OBJECT_QP);
	w->flow_attr.port = 1;
	w->flow_attr.size = sizeof(w->flow_attr);
}

#define RESPONSE(type) sizeof(struct type)
/* name, fill, core, response; the core has the response's address */
#define ASKS(n, fn, in, out) .name = #n, .number = IB_USER_VERBS_CMD_##n, .answers = true, \
	.core = sizeof(struct in), .response = RESPONSE(out), .fill = fn,		\
	.creates = NO_OBJECT, .destroys = NO_OBJECT
#define TELLS(n, fn, in) .name = #n, .number = IB_USER_VERBS_CMD_##n,			\
	.core = sizeof(struct in), .fill = fn, .creates = NO_OBJECT, .destroys = NO_OBJECT
#define EXTENDED(n, fn, in, out) .name = "EX_" #n, .number = IB_USER_VERBS_EX_CMD_##n,	\
	.extended = true, .answers = true, .core = sizeof(struct in),			\
	.response = RESPONSE(out), .fill = fn, .creates = NO_OBJECT, .destroys = NO_OBJECT
#pragma GCC diagnostic ignored "-Woverride-init"

static const struct command commands[] = {
	{ ASKS(GET_CONTEXT, none, ib_uverbs_get_context, ib_uverbs_get_context_resp),
	  .request = REQUEST_CONTEXT, .answer = ANSWER_CONTEXT,
	  .creates = UVERBS_OBJECT_ASYNC_EVENT },
	{ ASKS(QUERY_DEVICE, none, ib_uverbs_query_device, ib_uverbs_query_device_resp) },
	{ ASKS(QUERY_PORT, query_port, ib_uverbs_query_port, ib_uverbs_query_port_resp) },
	{ ASKS(ALLOC_PD, none, ib_uverbs_alloc_pd, ib_uverbs_alloc_pd_resp),
	  .answer = ANSWER_CQ, .creates = UVERBS_OBJECT_PD },
	{ TELLS(DEALLOC_PD, dealloc_pd, ib_uverbs_dealloc_pd), .destroys = UVERBS_OBJECT_PD },
	{ ASKS(CREATE_AH, create_ah, ib_uverbs_create_ah, ib_uverbs_create_ah_resp),
	  .answer = ANSWER_CQ, .creates = UVERBS_OBJECT_AH },
	{ TELLS(DESTROY_AH, destroy_ah, ib_uverbs_destroy_ah), .destroys = UVERBS_OBJECT_AH },
	{ ASKS(REG_MR, reg_mr, ib_uverbs_reg_mr, ib_uverbs_reg_mr_resp),
	  .creates = UVERBS_OBJECT_MR },
	{ ASKS(REREG_MR, rereg_mr, ib_uverbs_rereg_mr, ib_uverbs_rereg_mr_resp) },
	{ TELLS(DEREG_MR, dereg_mr, ib_uverbs_dereg_mr), .destroys = UVERBS_OBJECT_MR },
	{ ASKS(ALLOC_MW, alloc_mw, ib_uverbs_alloc_mw, ib_uverbs_alloc_mw_resp),
	  .creates = UVERBS_OBJECT_MW },
	{ TELLS(DEALLOC_MW, dealloc_mw, ib_uverbs_dealloc_mw), .destroys = UVERBS_OBJECT_MW },
	{ ASKS(CREATE_COMP_CHANNEL, none, ib_uverbs_create_comp_channel,
	       ib_uverbs_create_comp_channel_resp), .creates = UVERBS_OBJECT_COMP_CHANNEL },
	{ ASKS(CREATE_CQ, create_cq, ib_uverbs_create_cq, ib_uverbs_create_cq_resp),
	  .request = REQUEST_CQ, .answer = ANSWER_CQ, .creates = UVERBS_OBJECT_CQ },
	{ ASKS(RESIZE_CQ, resize_cq, ib_uverbs_resize_cq, ib_uverbs_resize_cq_resp),
	  .answer = ANSWER_RESIZE },
	{ ASKS(DESTROY_CQ, destroy_cq, ib_uverbs_destroy_cq, ib_uverbs_destroy_cq_resp),
	  .destroys = UVERBS_OBJECT_CQ, .destroyed_at = 8 },
	{ ASKS(POLL_CQ, poll_cq, ib_uverbs_poll_cq, ib_uverbs_poll_cq_resp) },
	{ TELLS(REQ_NOTIFY_CQ, notify_cq, ib_uverbs_req_notify_cq) },
	{ ASKS(CREATE_QP, create_qp, ib_uverbs_create_qp, ib_uverbs_create_qp_resp),
	  .request = REQUEST_QP, .answer = ANSWER_QP, .creates = UVERBS_OBJECT_QP },
	{ ASKS(QUERY_QP, query_qp, ib_uverbs_query_qp, ib_uverbs_query_qp_resp) },
	{ TELLS(MODIFY_QP, modify_qp, ib_uverbs_modify_qp) },
	{ ASKS(DESTROY_QP, destroy_qp, ib_uverbs_destroy_qp, ib_uverbs_destroy_qp_resp),
	  .destroys = UVERBS_OBJECT_QP, .destroyed_at = 8 },
	{ ASKS(POST_SEND, post_send, ib_uverbs_post_send, ib_uverbs_post_send_resp) },
	{ ASKS(POST_RECV, post_send, ib_uverbs_post_recv, ib_uverbs_post_recv_resp) },
	{ TELLS(ATTACH_MCAST, mcast, ib_uverbs_attach_mcast) },
	{ TELLS(DETACH_MCAST, mcast, ib_uverbs_detach_mcast) },
	{ ASKS(CREATE_SRQ, create_srq, ib_uverbs_create_srq, ib_uverbs_create_srq_resp),
	  .request = REQUEST_SRQ, .answer = ANSWER_SRQ, .creates = UVERBS_OBJECT_SRQ },
	{ TELLS(MODIFY_SRQ, modify_srq, ib_uverbs_modify_srq) },
	{ ASKS(QUERY_SRQ, query_srq, ib_uverbs_query_srq, ib_uverbs_query_srq_resp) },
	{ ASKS(DESTROY_SRQ, destroy_srq, ib_uverbs_destroy_srq, ib_uverbs_destroy_srq_resp),
	  .destroys = UVERBS_OBJECT_SRQ, .destroyed_at = 8 },
	{ ASKS(POST_SRQ_RECV, post_srq_recv, ib_uverbs_post_srq_recv,
	       ib_uverbs_post_srq_recv_resp) },
	{ ASKS(OPEN_XRCD, open_xrcd, ib_uverbs_open_xrcd, ib_uverbs_open_xrcd_resp),
	  .creates = UVERBS_OBJECT_XRCD },
	{ TELLS(CLOSE_XRCD, close_xrcd, ib_uverbs_close_xrcd), .destroys = UVERBS_OBJECT_XRCD },
	{ ASKS(CREATE_XSRQ, create_xsrq, ib_uverbs_create_xsrq, ib_uverbs_create_srq_resp),
	  .request = REQUEST_SRQ, .answer = ANSWER_SRQ, .creates = UVERBS_OBJECT_SRQ },
	{ ASKS(OPEN_QP, open_qp, ib_uverbs_open_qp, ib_uverbs_create_qp_resp),
	  .creates = UVERBS_OBJECT_QP },
	{ EXTENDED(QUERY_DEVICE, none, ib_uverbs_ex_query_device,
		   ib_uverbs_ex_query_device_resp), .answer = ANSWER_QP },
	{ EXTENDED(CREATE_CQ, ex_create_cq, ib_uverbs_ex_create_cq, ib_uverbs_ex_create_cq_resp),
	  .request = REQUEST_CQ, .answer = ANSWER_CQ, .creates = UVERBS_OBJECT_CQ },
	{ EXTENDED(CREATE_QP, ex_create_qp, ib_uverbs_ex_create_qp, ib_uverbs_ex_create_qp_resp),
	  .request = REQUEST_QP, .answer = ANSWER_QP, .creates = UVERBS_OBJECT_QP },
	{ EXTENDED(MODIFY_QP, ex_modify_qp, ib_uverbs_ex_modify_qp, ib_uverbs_ex_modify_qp_resp) },
	{ EXTENDED(MODIFY_CQ, modify_cq, ib_uverbs_ex_modify_cq, ib_uverbs_ex_modify_qp_resp) },
	{ EXTENDED(CREATE_WQ, create_wq, ib_uverbs_ex_create_wq, ib_uverbs_ex_create_wq_resp),
	  .creates = UVERBS_OBJECT_WQ, .handle_at = 8 },
	{ EXTENDED(CREATE_FLOW, create_flow, ib_uverbs_create_flow, ib_uverbs_create_flow_resp),
	  .creates = UVERBS_OBJECT_FLOW, .handle_at = 4 },
};
#define NUM_COMMANDS (sizeof(commands) / sizeof(commands[0]))

unsigned int num_commands(void)
{
	return NUM_COMMANDS;
}

const char *command_name(unsigned int n)
{
	return commands[n].name;
}

/* The parts of a command to send. */
struct parts {
	const struct command *command;
	uint8_t *core; /* followed by the driver data */
	size_t core_bytes;
	size_t driver_bytes;
	uint8_t *response;
	size_t response_bytes;
	size_t answer_bytes;
};

static void build(struct fuzzer *f, struct context *c, struct parts *p)
{
	const struct command *d = p->command;

	p->core = room(f, d->core + 256);
	p->response = room(f, 2048);
	p->core_bytes = d->core;
	f->with_srq = false;
	d->fill(f, c, p->core);
	p->driver_bytes = fill_request(f, d->request, p->core + d->core);
	p->response_bytes = d->response;
	p->answer_bytes = answer_bytes(d->answer);
	if (!d->extended && d->answers)
		*(uint64_t *)p->core = (uintptr_t)p->response;
}

/* Changes some of the core and driver data, but not the response's address. */
static void bend(struct fuzzer *f, struct parts *p)
{
	size_t first = p->command->answers && !p->command->extended ? 8 : 0;
	size_t bytes = p->core_bytes + p->driver_bytes;
	unsigned int n;

	for (n = 1 + below(f, 2); n && bytes > first + 4; n--) {
		size_t at = first + below(f, bytes - first - 3);

		switch (below(f, 4)) {
		case 0:
			p->core[at] ^= 1u << below(f, 8);
			break;
		case 1:
			at &= ~3ul;
			if (at >= first)
				memcpy(p->core + at, &(uint32_t){ odd_number(f) }, 4);
			break;
		case 2:
			at &= ~7ul;
			if (at >= first)
				memcpy(p->core + at, &(uint64_t){ odd_pointer(f) }, 8);
			break;
		default:
			p->core[at] = draw(f);
		}
	}
}

static void finish(struct context *c, const struct parts *p)
{
	const struct command *d = p->command;
	uint32_t handle;

	if (d->creates != NO_OBJECT) {
		memcpy(&handle, p->response + d->handle_at, 4);
		remember(c, d->creates, handle);
	}
	if (d->destroys != NO_OBJECT) {
		memcpy(&handle, p->core + d->destroyed_at, 4);
		forget(c, d->destroys, handle);
	}
	take_answer(c, d->answer, p->response + d->response);
}

static bool by_write(struct fuzzer *f, int fd, struct parts *p, bool bent)
{
	const struct command *d = p->command;
	struct ib_uverbs_cmd_hdr *hdr;
	struct ib_uverbs_ex_cmd_hdr *ex;
	size_t unit = d->extended ? 8 : 4;
	size_t head = sizeof(*hdr) + (d->extended ? sizeof(*ex) : 0);
	size_t out = p->response_bytes;
	size_t bytes = head + p->core_bytes + p->driver_bytes;
	uint8_t *text = room(f, bytes + 512);

	hdr = (void *)text;
	ex = (void *)(hdr + 1);
	hdr->command = d->number;
	if (d->extended) {
		hdr->command |= IB_USER_VERBS_CMD_FLAG_EXTENDED;
		hdr->in_words = p->core_bytes / unit;
		hdr->out_words = out / unit;
		ex->response = (uintptr_t)p->response;
		ex->provider_in_words = p->driver_bytes / unit;
		ex->provider_out_words = p->answer_bytes / unit;
	} else {
		hdr->in_words = (bytes + 3) / unit;
		hdr->out_words = (out + p->answer_bytes) / unit;
	}
	memcpy(text + head, p->core, p->core_bytes + p->driver_bytes);
	if (bent && one_in(f, 3)) {
		switch (below(f, 8)) {
		case 0: hdr->command = draw(f); break;
		case 1: hdr->command ^= 1u << below(f, 32); break;
		case 2: hdr->in_words += (int)below(f, 5) - 2; break;
		case 3: hdr->out_words = below(f, 40); break;
		case 4: bytes = below(f, bytes + 64); break;
		case 5:
			if (d->extended)
				ex->provider_in_words = below(f, 40);
			break;
		case 6:
			if (d->extended)
				ex->provider_out_words = below(f, 80);
			break;
		default:
			if (d->answers)
				memcpy(text + sizeof(*hdr), &(uint64_t){ odd_pointer(f) }, 8);
		}
	}
	return counted(f, d - commands, write(fd, text, bytes)) >= 0;
}

/* Sends the command by the ioctl INVOKE_WRITE. */
static bool by_ioctl(struct fuzzer *f, int fd, struct parts *p, bool bent)
{
	const struct command *d = p->command;
	struct ib_uverbs_ioctl_hdr *hdr = room(f, sizeof(*hdr) + 5 * sizeof(hdr->attrs[0]));
	struct ib_uverbs_attr attrs[5] = {
		{ UVERBS_ATTR_CORE_IN, p->core_bytes, 1, {}, { (uintptr_t)p->core } },
		{ UVERBS_ATTR_WRITE_CMD, 8, 1, {},
		  { d->number | (d->extended ? IB_USER_VERBS_CMD_FLAG_EXTENDED : 0) } },
		{ UVERBS_ATTR_CORE_OUT, p->response_bytes, 0, {}, { (uintptr_t)p->response } },
		{ UVERBS_ATTR_UHW_IN, p->driver_bytes, 0, {},
		  { (uintptr_t)(p->core + p->core_bytes) } },
		{ UVERBS_ATTR_UHW_OUT, p->answer_bytes, 0, {},
		  { (uintptr_t)(p->response + d->response) } },
	};
	unsigned int n;

	if (p->driver_bytes <= 8) /* short data are inline in the attribute */
		memcpy(&attrs[3].data, p->core + p->core_bytes, p->driver_bytes);
	if (p->core_bytes <= 8)
		memcpy(&attrs[0].data, p->core, p->core_bytes);
	for (n = 0; n < 5; n++) {
		if (!attrs[n].len)
			continue;
		if (bent && one_in(f, 8)) {
			if (one_in(f, 2))
				attrs[n].data = odd_pointer(f);
			else
				attrs[n].len = below(f, 400);
		}
		hdr->attrs[hdr->num_attrs++] = attrs[n];
	}
	hdr->length = sizeof(*hdr) + hdr->num_attrs * sizeof(hdr->attrs[0]);
	hdr->object_id = UVERBS_OBJECT_DEVICE;
	hdr->method_id = UVERBS_METHOD_INVOKE_WRITE;
	return counted(f, NUM_COMMANDS + (d - commands), ioctl(fd, RDMA_VERBS_IOCTL, hdr)) >= 0;
}

/* Sends a random command; creations are more frequent than destructions. */
void fuzz_write(struct fuzzer *f, struct context *c)
{
	struct parts p = {};
	bool bent = one_in(f, 3);
	int fd = atomic_load(&c->fd);
	bool ok;

	if (fd < 0)
		return;
	do
		p.command = &commands[1 + below(f, NUM_COMMANDS - 1)];
	while (p.command->destroys != NO_OBJECT && !one_in(f, 3));
	f->used = 0;
	build(f, c, &p);
	if (bent)
		bend(f, &p);
	ok = one_in(f, 2) ? by_write(f, fd, &p, bent) : by_ioctl(f, fd, &p, bent);
	if (ok)
		finish(c, &p);
}

void populate(struct fuzzer *f, struct context *c, int fd)
{
	static const uint32_t wanted[] = {
		IB_USER_VERBS_CMD_ALLOC_PD, IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL,
		IB_USER_VERBS_CMD_CREATE_CQ, IB_USER_VERBS_CMD_CREATE_CQ,
		IB_USER_VERBS_CMD_CREATE_SRQ, IB_USER_VERBS_CMD_CREATE_QP,
		IB_USER_VERBS_CMD_CREATE_QP, IB_USER_VERBS_CMD_CREATE_QP,
		IB_USER_VERBS_CMD_REG_MR, IB_USER_VERBS_CMD_REG_MR, IB_USER_VERBS_CMD_CREATE_AH,
		IB_USER_VERBS_CMD_MODIFY_QP, IB_USER_VERBS_CMD_MODIFY_QP,
		IB_USER_VERBS_CMD_MODIFY_QP,
	};
	unsigned int n, i;

	for (n = 0; n < sizeof(wanted) / sizeof(wanted[0]); n++) {
		struct parts p = { .command = commands };

		for (i = 0; commands[i].number != wanted[n]; i++)
			p.command = &commands[i + 1];
		f->used = 0;
		build(f, c, &p);
		if (one_in(f, 2) ? by_write(f, fd, &p, false) : by_ioctl(f, fd, &p, false))
			finish(c, &p);
	}
}

/* Gets a context in one of the possible ways, sometimes with bad arguments. */
bool open_context(struct fuzzer *f, struct context *c, int fd)
{
	struct parts p = { .command = &commands[0] };
	bool bent = one_in(f, 5);
	bool ok;

	f->used = 0;
	build(f, c, &p);
	if (bent)
		bend(f, &p);
	ok = one_in(f, 2) ? by_write(f, fd, &p, bent) : by_ioctl(f, fd, &p, bent);
	if (ok)
		finish(c, &p);
	return ok;
}
