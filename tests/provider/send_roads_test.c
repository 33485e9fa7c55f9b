// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* All code paths write the same WQE: a single request, a list, ibv_wr_*. usage: provider_send_roads_test CASE */
#include <errno.h>

#include "cases.h"
#include "wqe.h"

enum { SHORT = 7, REMOTE_QPN = 0x345, QKEY = 0x1ee7 };

static uint8_t text[128];

static const uint64_t all_operations =
	IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_WRITE |
	IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
	IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW;

static struct fake *new_fake(enum ibv_qp_type type)
{
	struct fake_options options = rc;
	struct ibv_qp_init_attr_ex attr = { .qp_type = type, .send_ops_flags = type == IBV_QPT_RC ?
		all_operations : IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM };
	struct fake *fake;
	unsigned int i;

	options.type = type;
	fake = fake_new(&options);
	attr.pd = &fake->pd.pd;
	CHECK(dingo_qp_fill_wr_ops(&fake->qp, &attr) == 0);
	memset(fake->qp.sq.ring.buf, 0xee, 512);
	for (i = 0; i < sizeof(fake->ah.av); i++)
		((uint8_t *)&fake->ah.av)[i] = 0x40 + i;
	for (i = 0; i < sizeof(text); i++)
		text[i] = i + 1;
	return fake;
}

/* Posts the request by ibv_wr_*. */
static int post_by_calls(struct fake *fake, const struct ibv_send_wr *wr)
{
	struct ibv_qp_ex *ex = &fake->qp.vqp.qp_ex;
	struct ibv_data_buf bufs[6];
	int i;

	ibv_wr_start(ex);
	ex->wr_id = wr->wr_id;
	ex->wr_flags = wr->send_flags & ~IBV_SEND_INLINE;
	switch (wr->opcode) {
	case IBV_WR_SEND:
		ibv_wr_send(ex);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(ex, wr->imm_data);
		break;
	case IBV_WR_SEND_WITH_INV:
		ibv_wr_send_inv(ex, wr->invalidate_rkey);
		break;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(ex, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(ex, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, wr->imm_data);
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(ex, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(ex, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr, wr->wr.atomic.compare_add,
				      wr->wr.atomic.swap);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		ibv_wr_atomic_fetch_add(ex, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr, wr->wr.atomic.compare_add);
		break;
	case IBV_WR_LOCAL_INV:
		ibv_wr_local_inv(ex, wr->invalidate_rkey);
		break;
	default:
		CHECK(!"an opcode of these tests");
	}
	if (fake->qp.is_ud)
		ibv_wr_set_ud_addr(ex, wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
	for (i = 0; i < wr->num_sge; i++)
		bufs[i] = (struct ibv_data_buf){ (void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length };
	if (wr->send_flags & IBV_SEND_INLINE && wr->num_sge == 1)
		ibv_wr_set_inline_data(ex, bufs[0].addr, bufs[0].length);
	else if (wr->send_flags & IBV_SEND_INLINE)
		ibv_wr_set_inline_data_list(ex, wr->num_sge, bufs);
	else if (wr->num_sge == 1)
		ibv_wr_set_sge(ex, wr->sg_list[0].lkey, wr->sg_list[0].addr, wr->sg_list[0].length);
	else if (wr->num_sge)
		ibv_wr_set_sge_list(ex, wr->num_sge, wr->sg_list);
	return ibv_wr_complete(ex);
}

/* Posts the request alone, at the head of a list of two, and by calls, and compares the WQEs. Returns the fake
 * with the single request, at index 0.
 */
static struct fake *post_each_way(enum ibv_qp_type type, struct ibv_send_wr wr)
{
	struct fake *alone = new_fake(type), *list = new_fake(type), *calls = new_fake(type);
	struct ibv_send_wr *bad, two[2];
	uint32_t blocks;

	if (type == IBV_QPT_UD) {
		wr.wr.ud.remote_qpn = REMOTE_QPN;
		wr.wr.ud.remote_qkey = QKEY;
		wr.wr.ud.ah = &list->ah.ah;
	}
	two[0] = wr;
	two[0].next = &two[1];
	two[1] = wr;
	CHECK(dingo_post_send(&list->qp.vqp.qp, two, &bad) == 0);
	if (type == IBV_QPT_UD)
		wr.wr.ud.ah = &alone->ah.ah;
	CHECK(dingo_post_send(&alone->qp.vqp.qp, &wr, &bad) == 0);
	if (type == IBV_QPT_UD)
		wr.wr.ud.ah = &calls->ah.ah;
	CHECK(post_by_calls(calls, &wr) == 0);

	blocks = alone->qp.sq.producer;
	CHECK(blocks >= 1 && rung(alone, FAKE_DB_SQ) == blocks && rung(list, FAKE_DB_SQ) == 2 * blocks &&
	      rung(calls, FAKE_DB_SQ) == blocks);
	CHECK(!memcmp(alone->qp.sq.ring.buf, list->qp.sq.ring.buf, blocks * 64));
	CHECK(!memcmp(alone->qp.sq.ring.buf, (uint8_t *)list->qp.sq.ring.buf + blocks * 64, blocks * 64));
	CHECK(!memcmp(alone->qp.sq.ring.buf, calls->qp.sq.ring.buf, blocks * 64));
	CHECK(!memcmp(alone->qp.sq.sent, list->qp.sq.sent, sizeof(alone->qp.sq.sent[0])));
	CHECK(!memcmp(alone->qp.sq.sent, calls->qp.sq.sent, sizeof(alone->qp.sq.sent[0])));
	CHECK(alone->qp.sq.sent[0].wr_id == wr.wr_id && alone->qp.sq.sent[0].blocks == blocks);
	fake_free(list);
	fake_free(calls);
	return alone;
}

static const struct row {
	enum ibv_wr_opcode opcode;
	uint8_t hw;
	enum ibv_wc_opcode wc;
	bool imm, key, rdma, atomic, data;
} rows[] = {
	{ IBV_WR_SEND, DINGO_WR_SEND, IBV_WC_SEND, .data = true },
	{ IBV_WR_SEND_WITH_IMM, DINGO_WR_SEND_IMM, IBV_WC_SEND, .imm = true, .data = true },
	{ IBV_WR_SEND_WITH_INV, DINGO_WR_SEND_INV, IBV_WC_SEND, .key = true, .data = true },
	{ IBV_WR_RDMA_WRITE, DINGO_WR_WRITE, IBV_WC_RDMA_WRITE, .rdma = true, .data = true },
	{ IBV_WR_RDMA_WRITE_WITH_IMM, DINGO_WR_WRITE_IMM, IBV_WC_RDMA_WRITE, .imm = true, .rdma = true, .data = true },
	{ IBV_WR_RDMA_READ, DINGO_WR_READ, IBV_WC_RDMA_READ, .rdma = true, .data = true },
	{ IBV_WR_ATOMIC_CMP_AND_SWP, DINGO_WR_CMP_SWAP, IBV_WC_COMP_SWAP, .rdma = true, .atomic = true, .data = true },
	{ IBV_WR_ATOMIC_FETCH_AND_ADD, DINGO_WR_FETCH_ADD, IBV_WC_FETCH_ADD, .rdma = true, .atomic = true, .data = true },
	{ IBV_WR_LOCAL_INV, DINGO_WR_LOCAL_INV, IBV_WC_LOCAL_INV, .key = true },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static struct ibv_send_wr request(const struct row *row, struct ibv_sge *list, int num_sge, unsigned int flags)
{
	struct ibv_send_wr wr = { .wr_id = 0x1234567890, .sg_list = list, .num_sge = row->data ? num_sge : 0,
				  .opcode = row->opcode, .send_flags = flags };

	if (row->imm)
		wr.imm_data = htobe32(0xabcd);
	if (row->key)
		wr.invalidate_rkey = 0x99887766;
	if (row->atomic) {
		wr.wr.atomic.remote_addr = 0x123456789a;
		wr.wr.atomic.rkey = 0x77;
		wr.wr.atomic.compare_add = 0x1111222233334444;
		wr.wr.atomic.swap = 0x5555666677778888;
	} else if (row->rdma) {
		wr.wr.rdma.remote_addr = 0x123456789a;
		wr.wr.rdma.rkey = 0x77;
	}
	return wr;
}

static uint8_t wqe_flags(unsigned int flags)
{
	return (flags & IBV_SEND_SIGNALED ? DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK : 0) |
	       (flags & IBV_SEND_SOLICITED ? DINGO_WQE_CTRL_FLAGS_SOLICITED_MASK : 0) |
	       (flags & IBV_SEND_FENCE ? DINGO_WQE_CTRL_FLAGS_FENCE_MASK : 0);
}

/* With 0, 1 and 3 pieces, and all flags in all combinations. */
static void every_operation(void)
{
	static const int pieces[] = { 0, 1, 3 };
	unsigned int r, f, p;
	int i;

	for (r = 0; r < ROWS * 24; r++) {
		const struct row *row = &rows[r / 24];

		f = r / 3 % 8;
		p = r % 3;
		if (row->atomic && pieces[p] != 1)
			continue;
		struct fake *fake = post_each_way(IBV_QPT_RC, request(row, sges, pieces[p], f));
		const struct dingo_wqe_ctrl *ctrl = fake->qp.sq.ring.buf;
		const struct dingo_wqe_rdma *rdma = (const void *)(ctrl + 1);
		const struct dingo_wqe_atomic *atomic = (const void *)(rdma + 1);
		const struct dingo_sge *sge = row->atomic ? (const void *)(atomic + 1) : (const void *)atomic;
		const int count = row->data ? pieces[p] : 0;

		CHECK(ctrl->opcode == row->hw && ctrl->flags == wqe_flags(f) && fake->qp.sq.sent[0].opcode == row->wc);
		CHECK(ctrl->num_sge == count && ctrl->inline_len == 0);
		CHECK(ctrl->blocks == ((uint8_t *)(sge + count) - (uint8_t *)ctrl + 63) / 64);
		CHECK(ctrl->imm == (row->imm ? htobe32(0xabcd) :
				    row->key ? (__force __be32)htole32(0x99887766) : 0));
		CHECK(le64toh(rdma->raddr) == (row->rdma ? 0x123456789a : 0) && le32toh(rdma->rkey) == (row->rdma ? 0x77 : 0));
		if (row->atomic) {
			const bool swaps = row->hw == DINGO_WR_CMP_SWAP;

			CHECK(le64toh(atomic->swap_add) == (swaps ? 0x5555666677778888 : 0x1111222233334444));
			CHECK(le64toh(atomic->compare) == (swaps ? 0x1111222233334444 : 0));
		}
		for (i = 0; i < count; i++)
			CHECK(le64toh(sge[i].addr) == sges[i].addr && le32toh(sge[i].lkey) == sges[i].lkey &&
			      le32toh(sge[i].length) == sges[i].length);
		fake_free(fake);
	}
}

/* Inline requests with one or several pieces, up to the limit of a block and beyond. */
static void inline_data(void)
{
	/* the second block is written only as far as there is data, so the sizes fill it */
	static const uint32_t sizes[][3] = { { 1, 0, 0 }, { 7, 0, 0 }, { 8, 0, 0 }, { 31, 0, 0 }, { 32, 0, 0 }, { 96, 0, 0 },
					     { 16, 16, 0 }, { 1, 62, 33 }, { 0, 0, 9 }, { 33, 32, 31 } };
	unsigned int r, s, i;

	for (r = 0; r < 5; r++) {
		for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			struct ibv_sge list[3] = {};
			const struct dingo_wqe_ctrl *ctrl;
			struct fake *fake;
			uint32_t total = 0;

			for (i = 0; i < 3; i++) {
				list[i] = (struct ibv_sge){ .addr = (uintptr_t)text + total, .length = sizes[s][i] };
				total += sizes[s][i];
			}
			fake = post_each_way(IBV_QPT_RC, request(&rows[r], list, sizes[s][1] || sizes[s][2] ? 3 : 1,
								 IBV_SEND_INLINE));
			ctrl = fake->qp.sq.ring.buf;
			CHECK(ctrl->opcode == rows[r].hw && ctrl->flags == DINGO_WQE_CTRL_FLAGS_INLINE_MASK);
			CHECK(ctrl->num_sge == 0 && le16toh(ctrl->inline_len) == total && ctrl->blocks == (32 + total + 63) / 64);
			CHECK(!memcmp(ctrl + 2, text, total));
			fake_free(fake);
		}
	}
}

/* INLINE is ignored for READ and atomics, which fetch data. */
static void inline_means_nothing_to_what_fetches(void)
{
	unsigned int r;

	for (r = 5; r < 8; r++) {
		struct ibv_send_wr *bad, wr = request(&rows[r], sges, 1, IBV_SEND_INLINE);
		struct fake *fake = new_fake(IBV_QPT_RC);
		const struct dingo_wqe_ctrl *ctrl = fake->qp.sq.ring.buf;

		CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
		CHECK(ctrl->flags == 0 && ctrl->num_sge == 1 && ctrl->inline_len == 0);
		fake_free(fake);
	}
}

static void datagrams(void)
{
	static const int pieces[] = { 0, 1, 2 };
	unsigned int r, p;

	for (r = 0; r < 2; r++) {
		for (p = 0; p < 3; p++) {
			struct fake *fake = post_each_way(IBV_QPT_UD, request(&rows[r], sges, pieces[p], IBV_SEND_SIGNALED));
			const struct dingo_wqe_ctrl *ctrl = fake->qp.sq.ring.buf;
			const struct dingo_wqe_ud *ud = (const void *)(ctrl + 1);
			struct dingo_wqe_ud wants = fake->ah.av;

			wants.dest_qpn = htole32(REMOTE_QPN);
			wants.qkey = htole32(QKEY);
			CHECK(!memcmp(ud, &wants, sizeof(wants)));
			CHECK(ctrl->opcode == rows[r].hw && ctrl->num_sge == pieces[p]);
			CHECK(ctrl->blocks == (pieces[p] ? 2 : 1));
			CHECK(ctrl->imm == (rows[r].imm ? htobe32(0xabcd) : 0));
			if (p)
				CHECK(!memcmp((uint8_t *)ctrl + 64, &(struct dingo_sge){
					htole64(0x1000), htole32(0x11), htole32(100) }, 16));
			fake_free(fake);
		}
	}
}

static void inline_datagrams(void)
{
	struct ibv_sge list = { .addr = (uintptr_t)text, .length = 64 };
	unsigned int r;

	for (r = 0; r < 2; r++) {
		struct fake *fake = post_each_way(IBV_QPT_UD, request(&rows[r], &list, 1, IBV_SEND_INLINE));
		const struct dingo_wqe_ctrl *ctrl = fake->qp.sq.ring.buf;

		CHECK(ctrl->blocks == 2 && le16toh(ctrl->inline_len) == 64 && !memcmp((uint8_t *)ctrl + 64, text, 64));
		fake_free(fake);
	}
}

/* sq_sig_all: each request is signaled. */
static void a_qp_that_signals_all(void)
{
	static const unsigned int flags[] = { 0, IBV_SEND_SOLICITED, IBV_SEND_INLINE };
	struct ibv_sge list = { .addr = (uintptr_t)text, .length = SHORT };
	unsigned int f;

	for (f = 0; f < 3; f++) {
		struct ibv_send_wr *bad, wr = request(&rows[0], &list, 1, flags[f]);
		struct fake *fake = new_fake(IBV_QPT_RC);
		const struct dingo_wqe_ctrl *ctrl = fake->qp.sq.ring.buf;

		dingo_qp_init_send(&fake->qp, IBV_QPT_RC, true, &fake->ctx);
		CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
		CHECK(ctrl->flags & DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK);
		CHECK(!(ctrl->flags & DINGO_WQE_CTRL_FLAGS_SOLICITED_MASK) == (f != 1));
		CHECK(post_by_calls(fake, &wr) == 0 && (ctrl + 4)->flags & DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK);
		fake_free(fake);
	}
}

/* Operations not supported by QP type or card are refused, alone and in a list. */
static void operations_of_types_and_cards(void)
{
	static const struct {
		enum ibv_qp_type type;
		uint64_t caps;
		uint32_t allowed;
	} kinds[] = {
#define OP_BIT(name) (1U << IBV_WR_##name)
#define SENDS (OP_BIT(SEND) | OP_BIT(SEND_WITH_IMM))
#define WRITES (OP_BIT(RDMA_WRITE) | OP_BIT(RDMA_WRITE_WITH_IMM))
		{ IBV_QPT_UD, ~0ULL, SENDS },
		{ IBV_QPT_UC, 0, SENDS | WRITES },
		{ IBV_QPT_UC, DINGO_CAP_SEND_INV, SENDS | WRITES | OP_BIT(LOCAL_INV) },
		{ IBV_QPT_UC, DINGO_CAP_MW, SENDS | WRITES | OP_BIT(BIND_MW) },
		{ IBV_QPT_UC, DINGO_CAP_ATOMIC, SENDS | WRITES },
		{ IBV_QPT_RC, 0, SENDS | WRITES | OP_BIT(RDMA_READ) },
		{ IBV_QPT_RC, DINGO_CAP_ATOMIC, SENDS | WRITES | OP_BIT(RDMA_READ) | OP_BIT(ATOMIC_CMP_AND_SWP) | OP_BIT(ATOMIC_FETCH_AND_ADD) },
		{ IBV_QPT_RC, DINGO_CAP_SEND_INV, SENDS | WRITES | OP_BIT(RDMA_READ) | OP_BIT(LOCAL_INV) | OP_BIT(SEND_WITH_INV) },
		{ IBV_QPT_RC, DINGO_CAP_MW, SENDS | WRITES | OP_BIT(RDMA_READ) | OP_BIT(BIND_MW) },
	};
	unsigned int k, o;

	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (o = 0; o <= IBV_WR_DRIVER1; o++) {
			struct fake *fake = new_fake(kinds[k].type);
			const int error = o < 32 && kinds[k].allowed >> o & 1 ? 0 : EINVAL;
			struct ibv_mw mw = { .pd = &fake->pd.pd };
			struct ibv_send_wr *bad = NULL, wr[2] = { { .opcode = o, .next = &wr[1] }, { .opcode = o } };
			unsigned int i;

			for (i = 0; i < 2; i++) {
				if (o == IBV_WR_ATOMIC_CMP_AND_SWP || o == IBV_WR_ATOMIC_FETCH_AND_ADD) {
					wr[i].sg_list = sges;
					wr[i].num_sge = 1;
				}
				if (o == IBV_WR_BIND_MW)
					wr[i].bind_mw.mw = &mw;
				if (kinds[k].type == IBV_QPT_UD)
					wr[i].wr.ud.ah = &fake->ah.ah;
			}
			fake->ctx.caps = kinds[k].caps;
			dingo_qp_init_send(&fake->qp, kinds[k].type, false, &fake->ctx);
			CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr[1], &bad) == error && bad == (error ? &wr[1] : NULL));
			bad = NULL;
			CHECK(dingo_post_send(&fake->qp.vqp.qp, wr, &bad) == error && bad == (error ? wr : NULL));
			CHECK(fake->qp.sq.producer == (error ? 0 : 3) && fake->qp.sq.lock.held == 0);
			fake_free(fake);
		}
	}
}

/* Before RTS no path posts; after an error requests are posted, to be flushed. */
static void states_in_which_sends_are_posted(void)
{
	static const struct {
		enum ibv_qp_state state;
		int error;
	} states[] = { { IBV_QPS_RESET, EINVAL }, { IBV_QPS_INIT, EINVAL }, { IBV_QPS_RTR, EINVAL }, { IBV_QPS_RTS, 0 },
		       { IBV_QPS_SQD, 0 }, { IBV_QPS_SQE, 0 }, { IBV_QPS_ERR, 0 } };
	struct ibv_sge list = { .addr = (uintptr_t)text, .length = SHORT };
	unsigned int s, f;

	for (s = 0; s < sizeof(states) / sizeof(states[0]); s++) {
		for (f = 0; f < 2; f++) {
			struct ibv_send_wr *bad = NULL, wr[2];
			struct fake *fake = new_fake(IBV_QPT_RC);

			wr[0] = request(&rows[0], &list, 1, f ? IBV_SEND_INLINE : 0);
			wr[1] = wr[0];
			wr[1].next = &wr[0];
			fake->qp.vqp.qp.state = states[s].state;
			CHECK(dingo_post_send(&fake->qp.vqp.qp, wr, &bad) == states[s].error);
			CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr[1], &bad) == states[s].error);
			CHECK(post_by_calls(fake, wr) == states[s].error);
			CHECK(fake->qp.sq.producer == (states[s].error ? 0 : 4));
			CHECK(rung(fake, FAKE_DB_SQ) == fake->qp.sq.producer && fake->qp.sq.lock.held == 0);
			fake_free(fake);
		}
	}
}

/* ibv_post_send() refuses a send queue that a device posts to. */
static void a_queue_of_a_device(void)
{
	struct ibv_sge list = { .addr = (uintptr_t)text, .length = SHORT };
	unsigned int f;

	for (f = 0; f < 2; f++) {
		struct ibv_send_wr *bad = NULL, wr = request(&rows[0], &list, 1, f ? IBV_SEND_INLINE : 0);
		struct fake *fake = new_fake(IBV_QPT_RC);

		fake->qp.device_posts = true;
		dingo_qp_init_send(&fake->qp, IBV_QPT_RC, false, &fake->ctx);
		CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == EINVAL && bad == &wr && fake->qp.sq.producer == 0);
		fake_free(fake);
	}
}

/* max_inline bytes in one piece or two are accepted, one more is not. */
static void the_limit_of_inline_data(void)
{
	static const uint32_t limits[] = { 0, 5, 20, 96 };
	unsigned int l, over;

	for (l = 0; l < 4; l++) {
		for (over = 0; over < 2; over++) {
			const uint32_t most = limits[l] + over;
			struct ibv_sge list[2] = { { .addr = (uintptr_t)text, .length = most / 2 },
						   { .addr = (uintptr_t)text + most / 2, .length = most - most / 2 } };
			struct ibv_sge one = { .addr = (uintptr_t)text, .length = most };
			struct ibv_send_wr *bad, wr = request(&rows[0], &one, 1, IBV_SEND_INLINE);
			struct fake *fake = new_fake(IBV_QPT_RC);
			const int error = over ? ENOMEM : 0;

			fake->qp.sq.max_inline = limits[l];
			dingo_qp_init_send(&fake->qp, IBV_QPT_RC, false, &fake->ctx);
			CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == error);
			CHECK(post_by_calls(fake, &wr) == error);
			wr.sg_list = list;
			wr.num_sge = 2;
			CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == error);
			if (!error)
				atomic_store(&fake->qp.sq.consumer, fake->qp.sq.producer);
			CHECK(post_by_calls(fake, &wr) == error);
			fake_free(fake);
		}
	}
}

/* A post succeeds while the largest request fits, and fails with one block less. */
static void the_limit_of_the_queue(void)
{
	struct ibv_sge list = { .addr = (uintptr_t)text, .length = SHORT };
	unsigned int f, way;

	for (f = 0; f < 2; f++) {
		for (way = 0; way < 3; way++) {
			struct ibv_send_wr *bad, wr[2];
			struct fake *fake = new_fake(IBV_QPT_RC);
			int error, n;

			wr[0] = request(&rows[0], &list, 1, f ? IBV_SEND_INLINE : 0);
			wr[1] = wr[0];
			wr[1].next = wr;
			fake->qp.sq.producer = 5;
			fake->qp.sq.consumer = 5;
			/* two of eight blocks are reserved for the largest request */
			for (n = 0, error = 0; n < 9 && !error; n++)
				error = way == 0 ? dingo_post_send(&fake->qp.vqp.qp, wr, &bad) :
					way == 1 ? post_by_calls(fake, wr) :
						   dingo_post_send(&fake->qp.vqp.qp, &wr[1], &bad);
			CHECK(error == ENOMEM && fake->qp.sq.producer == 5 + 7);
			if (way == 2)
				CHECK(bad == &wr[0]);
			CHECK(rung(fake, FAKE_DB_SQ) == 5 + 7 && fake->qp.sq.lock.held == 0);
			fake_free(fake);
		}
	}
}

/* More than one would not fit into the blocks that a request may have. */
static void an_atomic_has_one_sge(void)
{
	struct ibv_data_buf data[2] = { { (void *)text, 16 }, { (void *)text, 16 } };
	struct ibv_sge list[6];
	unsigned int r, n;

	for (n = 0; n < 6; n++)
		list[n] = sges[0];
	for (r = 6; r < 8; r++) {
		struct fake *fake = new_fake(IBV_QPT_RC);
		struct ibv_qp_ex *ex = &fake->qp.vqp.qp_ex;

		for (n = 0; n <= fake->qp.sq.max_sge; n++) {
			struct ibv_send_wr *bad, wr = request(&rows[r], list, n, 0);

			CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == (n == 1 ? 0 : EINVAL));
			if (n)
				CHECK(post_by_calls(fake, &wr) == (n == 1 ? 0 : EINVAL));
			CHECK(fake->qp.sq.producer == (n ? 2 : 0));
		}
		ibv_wr_start(ex);
		ibv_wr_atomic_fetch_add(ex, 1, 0, 1);
		ibv_wr_set_inline_data_list(ex, 2, data);
		CHECK(ibv_wr_complete(ex) == EINVAL && fake->qp.sq.producer == 2);
		ibv_wr_start(ex);
		ibv_wr_atomic_fetch_add(ex, 1, 0, 1);
		ibv_wr_set_inline_data(ex, text, 8);
		CHECK(ibv_wr_complete(ex) == EINVAL && fake->qp.sq.producer == 2);
		fake_free(fake);
	}
}

/* A post waits while another thread holds the queue's lock. */
static void posting_waits_for_another_thread(void)
{
	struct ibv_sge list = { .addr = (uintptr_t)text, .length = SHORT };
	unsigned int way;

	for (way = 0; way < 3; way++) {
		struct ibv_send_wr *bad, wr = request(&rows[0], &list, 1, way == 1 ? IBV_SEND_INLINE : 0);
		struct fake *fake = new_fake(IBV_QPT_RC);
		struct holder holder;

		hold(&holder, &fake->qp.sq.lock);
		CHECK((way == 2 ? post_by_calls(fake, &wr) : dingo_post_send(&fake->qp.vqp.qp, &wr, &bad)) == 0);
		CHECK(was_waited_for(&holder) && fake->qp.sq.producer == 1);
		fake_free(fake);
	}
}

/* Other threads wait between start and complete; an empty batch rings no doorbell. */
static void a_batch_of_calls_is_one(void)
{
	struct fake *fake = new_fake(IBV_QPT_RC);
	struct ibv_qp_ex *ex = &fake->qp.vqp.qp_ex;

	ibv_wr_start(ex);
	CHECK(fake->qp.sq.lock.held == 1);
	CHECK(ibv_wr_complete(ex) == 0 && fake->doorbell[FAKE_DB_SQ] == 0 && fake->qp.sq.lock.held == 0);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_abort(ex);
	CHECK(fake->qp.sq.lock.held == 0 && fake->qp.sq.producer == 0 && fake->doorbell[FAKE_DB_SQ] == 0);
	ibv_wr_start(ex);
	CHECK(ibv_wr_complete(ex) == 0 && fake->qp.sq.producer == 0);
	fake_free(fake);
}

/* After the first failure of a batch further calls do nothing, and complete returns the error; the next batch works. */
static void calls_after_a_failure_do_nothing(void)
{
	struct fake *fake = new_fake(IBV_QPT_RC);
	struct ibv_qp_ex *ex = &fake->qp.vqp.qp_ex;
	struct ibv_data_buf buf = { text, 8 };
	struct ibv_mw mw = { .pd = &fake->pd.pd };
	struct ibv_mw_bind_info info = {};
	uint8_t before[512];
	unsigned int n;

	memcpy(before, fake->qp.sq.ring.buf, sizeof(before));
	for (n = 0; n < 10; n++) {
		fake->qp.vqp.qp.state = IBV_QPS_INIT;
		ibv_wr_start(ex);
		switch (n) {
		case 0: ibv_wr_send(ex); break;
		case 1: ibv_wr_send_imm(ex, 1); break;
		case 2: ibv_wr_send_inv(ex, 1); break;
		case 3: ibv_wr_rdma_write(ex, 1, 2); break;
		case 4: ibv_wr_rdma_write_imm(ex, 1, 2, 3); break;
		case 5: ibv_wr_rdma_read(ex, 1, 2); break;
		case 6: ibv_wr_atomic_cmp_swp(ex, 1, 2, 3, 4); break;
		case 7: ibv_wr_atomic_fetch_add(ex, 1, 2, 3); break;
		case 8: ibv_wr_local_inv(ex, 1); break;
		default: ibv_wr_bind_mw(ex, &mw, 1, &info); break;
		}
		ibv_wr_set_ud_addr(ex, &fake->ah.ah, 1, 2);
		ibv_wr_set_sge(ex, 1, 2, 3);
		ibv_wr_set_sge_list(ex, 3, sges);
		ibv_wr_set_inline_data(ex, text, 8);
		ibv_wr_set_inline_data_list(ex, 1, &buf);
		CHECK(ibv_wr_complete(ex) == EINVAL && fake->qp.sq.producer == 0 && fake->doorbell[FAKE_DB_SQ] == 0);
		CHECK(!memcmp(before, fake->qp.sq.ring.buf, sizeof(before)));
	}
	fake->qp.vqp.qp.state = IBV_QPS_RTS;
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	CHECK(ibv_wr_complete(ex) == 0 && rung(fake, FAKE_DB_SQ) == 1);
	fake_free(fake);
}

/* Requests before a failed one are posted, and `bad` is the failed one. */
static void a_list_of_sends_ends_at_the_first_bad_one(void)
{
	struct fake *fake = new_fake(IBV_QPT_RC);
	struct ibv_send_wr *bad = NULL, wr[3];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		wr[i] = request(&rows[0], sges, 1, 0);
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	wr[1].num_sge = 7;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, wr, &bad) == EINVAL && bad == &wr[1]);
	CHECK(fake->qp.sq.producer == 1 && rung(fake, FAKE_DB_SQ) == 1 && fake->qp.sq.lock.held == 0);
	fake->doorbell[FAKE_DB_SQ] = 0;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr[1], &bad) == EINVAL && bad == &wr[1] && !fake->doorbell[FAKE_DB_SQ]);
	wr[1].num_sge = 6;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr[1], &bad) == 0);
	fake_free(fake);
}

static const struct test_case cases[] = {
	CASE(every_operation), CASE(inline_data), CASE(inline_means_nothing_to_what_fetches), CASE(datagrams), CASE(inline_datagrams),
	CASE(a_qp_that_signals_all), CASE(operations_of_types_and_cards), CASE(states_in_which_sends_are_posted), CASE(a_queue_of_a_device),
	CASE(the_limit_of_inline_data), CASE(the_limit_of_the_queue), CASE(an_atomic_has_one_sge), CASE(posting_waits_for_another_thread),
	CASE(a_batch_of_calls_is_one), CASE(calls_after_a_failure_do_nothing), CASE(a_list_of_sends_ends_at_the_first_bad_one),
};

int main(int argc, char **argv)
{
	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
