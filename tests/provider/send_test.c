// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Byte-exact tests of what ibv_post_send() and ibv_wr_* write to the send queue. usage: provider_send_test CASE */
#include <errno.h>

#include "cases.h"

static void post_send_layout(void)
{
	struct fake *fake = fake_new(&rc);
	struct ibv_send_wr *bad, wr = {
		.wr_id = 42, .sg_list = sges, .num_sge = 3,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE | IBV_SEND_SOLICITED,
		.imm_data = htobe32(0xabcd),
		.wr.rdma = { .remote_addr = 0x123456789a, .rkey = 0x77 },
	};
	struct dingo_wqe_ctrl *ctrl = fake->qp.sq.ring.buf;
	struct dingo_wqe_rdma *rdma = (void *)(ctrl + 1);
	struct dingo_sge *sge = (void *)(rdma + 1);

	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
	CHECK(ctrl->opcode == DINGO_WR_WRITE_IMM && ctrl->num_sge == 3);
	CHECK(ctrl->flags == (DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK | DINGO_WQE_CTRL_FLAGS_FENCE_MASK |
			      DINGO_WQE_CTRL_FLAGS_SOLICITED_MASK));
	CHECK(ctrl->blocks == 2 && ctrl->imm == htobe32(0xabcd));
	CHECK(le64toh(rdma->raddr) == 0x123456789a && le32toh(rdma->rkey) == 0x77);
	CHECK(le64toh(sge[0].addr) == 0x1000 && le32toh(sge[0].length) == 100 && le32toh(sge[0].lkey) == 0x11);
	CHECK(le64toh(sge[2].addr) == 0x3000 && le32toh(sge[2].length) == 7);
	CHECK(fake->doorbell[FAKE_DB_SQ] == (2ULL << 32 | DINGO_DB_SQ << 24 | FAKE_QPN));

	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.num_sge = 1;
	wr.wr.atomic.remote_addr = 0x88;
	wr.wr.atomic.rkey = 9;
	wr.wr.atomic.compare_add = 5;
	wr.wr.atomic.swap = 6;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
	ctrl = dingo_ring_entry(&fake->qp.sq.ring, 2);
	CHECK(ctrl->opcode == DINGO_WR_CMP_SWAP && ctrl->blocks == 1);
	struct dingo_wqe_atomic *atomic = (void *)((char *)ctrl + 32);

	CHECK(le64toh(atomic->swap_add) == 6 && le64toh(atomic->compare) == 5);
	CHECK(le64toh(((struct dingo_sge *)(atomic + 1))->addr) == 0x1000);

	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
	ctrl = dingo_ring_entry(&fake->qp.sq.ring, 3);
	atomic = (void *)((char *)ctrl + 32);
	CHECK(ctrl->opcode == DINGO_WR_FETCH_ADD);
	CHECK(le64toh(atomic->swap_add) == 5 && le64toh(atomic->compare) == 0);
	fake_free(fake);
}

static void post_send_wraps(void)
{
	struct fake *fake = fake_new(&rc);
	struct ibv_send_wr *bad, wr = { .sg_list = sges, .num_sge = 3, .opcode = IBV_WR_SEND };
	struct dingo_sge *last;

	fake->qp.sq.producer = 7;
	fake->qp.sq.consumer = 7;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
	/* the third SGE is byte 64 of the WQE, that is, block 0 of the ring */
	last = fake->qp.sq.ring.buf;
	CHECK(le64toh(last->addr) == 0x3000);
	CHECK(rung(fake, FAKE_DB_SQ) == 9);
	fake_free(fake);
}

static void post_send_limits(void)
{
	struct fake *fake = fake_new(&rc);
	struct ibv_send_wr *bad = NULL, wr[6];
	int i;

	for (i = 0; i < 6; i++)
		wr[i] = (struct ibv_send_wr){ .next = i < 5 ? &wr[i + 1] : NULL, .sg_list = sges,
					      .num_sge = 3, .opcode = IBV_WR_SEND };
	/* 8 blocks hold four WQEs of two: the fifth is refused, the first four are rung */
	CHECK(dingo_post_send(&fake->qp.vqp.qp, wr, &bad) == ENOMEM);
	CHECK(bad == &wr[4] && rung(fake, FAKE_DB_SQ) == 8);
	atomic_store(&fake->qp.sq.consumer, 8);
	wr[5].num_sge = 7;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr[5], &bad) == EINVAL && bad == &wr[5]);
	wr[5].num_sge = -1;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr[5], &bad) == EINVAL);
	wr[5].num_sge = 0;
	wr[5].opcode = IBV_WR_TSO;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr[5], &bad) == EINVAL);
	wr[5].opcode = 77;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr[5], &bad) == EINVAL);
	wr[5].opcode = IBV_WR_SEND;
	fake->qp.vqp.qp.state = IBV_QPS_RTR;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr[5], &bad) == EINVAL);
	CHECK(rung(fake, FAKE_DB_SQ) == 8);
	fake->qp.vqp.qp.state = IBV_QPS_RTS;
	wr[5].opcode = IBV_WR_SEND_WITH_INV;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr[5], &bad) == 0);
	dingo_qp_init_send(&fake->qp, IBV_QPT_UC, false, &fake->ctx);
	wr[5].opcode = IBV_WR_RDMA_READ;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr[5], &bad) == EINVAL);
	fake_free(fake);
}

static void post_send_inline(void)
{
	struct fake *fake = fake_new(&rc);
	uint8_t data[97], *block;
	struct ibv_sge sge[2] = { { .addr = (uintptr_t)data, .length = 90 },
				  { .addr = (uintptr_t)data + 90, .length = 6 } };
	struct ibv_send_wr *bad, wr = { .sg_list = sge, .num_sge = 2, .opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_INLINE };
	struct dingo_wqe_ctrl *ctrl;
	unsigned int i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = i + 1;
	fake->qp.sq.producer = 7;
	fake->qp.sq.consumer = 7;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
	ctrl = dingo_ring_entry(&fake->qp.sq.ring, 7);
	CHECK(ctrl->flags == DINGO_WQE_CTRL_FLAGS_INLINE_MASK);
	CHECK(le16toh(ctrl->inline_len) == 96 && ctrl->blocks == 2 && ctrl->num_sge == 0);
	CHECK(memcmp((uint8_t *)ctrl + 32, data, 32) == 0);
	block = fake->qp.sq.ring.buf;
	CHECK(memcmp(block, data + 32, 64) == 0);
	sge[1].length = 7;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == ENOMEM);
	CHECK(rung(fake, FAKE_DB_SQ) == 9);
	fake_free(fake);
}

/* One small inline WR has a separate path, which must write the same as the general one (a list of two). */
static void post_send_small(void)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE };
	uint8_t data[40];
	unsigned int o, length, i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = 0x80 + i;
	for (o = 0; o < 2; o++) {
		for (length = 0; length <= sizeof(data); length++) {
			struct fake *one = fake_new(&rc), *list = fake_new(&rc);
			struct ibv_sge sge = { .addr = (uintptr_t)data, .length = length };
			struct ibv_send_wr *bad, wr[2];

			for (i = 0; i < 2; i++)
				wr[i] = (struct ibv_send_wr){ .wr_id = 77, .sg_list = &sge, .num_sge = 1,
							      .opcode = opcodes[o],
							      .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
							      .wr.rdma = { .remote_addr = 0x1234567890, .rkey = 9 } };
			memset(one->qp.sq.ring.buf, 0xee, 512);
			memset(list->qp.sq.ring.buf, 0xee, 512);
			CHECK(dingo_post_send(&one->qp.vqp.qp, &wr[0], &bad) == 0);
			CHECK(dingo_post_send(&one->qp.vqp.qp, &wr[0], &bad) == 0);
			wr[0].next = &wr[1];
			CHECK(dingo_post_send(&list->qp.vqp.qp, wr, &bad) == 0);
			CHECK(one->qp.sq.producer == list->qp.sq.producer);
			/* the second block of a WQE is only written as far as there is data */
			CHECK(length > 32 || memcmp(one->qp.sq.ring.buf, list->qp.sq.ring.buf, 128) == 0);
			CHECK(memcmp(one->qp.sq.ring.buf, list->qp.sq.ring.buf, 64) == 0);
			CHECK(memcmp(one->qp.sq.sent, list->qp.sq.sent, sizeof(*one->qp.sq.sent)) == 0);
			CHECK(rung(one, FAKE_DB_SQ) == rung(list, FAKE_DB_SQ));
			CHECK(one->qp.sq.lock.held == 0);
			fake_free(one);
			fake_free(list);
		}
	}
}

static void post_send_small_limits(void)
{
	struct fake_options options = rc;
	struct fake *fake;
	uint64_t value = 7;
	struct ibv_sge sge = { .addr = (uintptr_t)&value, .length = 8 };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_INLINE };
	int i;

	options.db_memory = true;
	fake = fake_new(&options);
	fake->qp.vqp.qp.state = IBV_QPS_RTR;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == EINVAL && bad == &wr);
	fake->qp.vqp.qp.state = IBV_QPS_RTS;
	fake->need_kick = 1;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0 && fake->kick != 0 && fake->dirty);
	for (i = 1; i < 7; i++)
		CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
	/* 7 of 8 blocks are taken, and a WQE may need two */
	bad = NULL;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == ENOMEM && bad == &wr);
	CHECK(rung(fake, FAKE_DB_SQ) == 7 && fake->qp.sq.lock.held == 0);
	fake_free(fake);

	options.type = IBV_QPT_UD;
	fake = fake_new(&options);
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == EINVAL); /* no address */
	fake_free(fake);
}

static struct fake *wr_fake(void)
{
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND };
	struct fake *fake = fake_new(&rc);

	attr.pd = &fake->pd.pd;
	CHECK(dingo_qp_fill_wr_ops(&fake->qp, &attr) == 0);
	return fake;
}

/* Up to max_sge SGEs are accepted. */
static void wr_api_sge_list_limit(void)
{
	struct fake *fake = wr_fake();
	struct ibv_qp_ex *qp = &fake->qp.vqp.qp_ex;
	struct dingo_wqe_ctrl *ctrl = fake->qp.sq.ring.buf;
	struct ibv_sge list[64] = {};
	uint32_t most = fake->qp.sq.max_sge, i;

	CHECK(most + 1 < sizeof(list) / sizeof(list[0]));
	for (i = 0; i < most; i++)
		list[i].length = 1;
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_sge_list(qp, most, list);
	CHECK(ibv_wr_complete(qp) == 0);
	CHECK(ctrl->num_sge == most);
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_sge_list(qp, most + 1, list);
	CHECK(ibv_wr_complete(qp) == EINVAL);
	CHECK(rung(fake, FAKE_DB_SQ) == ctrl->blocks);
	fake_free(fake);
}

static void wr_api(void)
{
	struct fake *fake = wr_fake();
	struct ibv_qp_ex *qp = &fake->qp.vqp.qp_ex;
	struct dingo_wqe_ctrl *ctrl = fake->qp.sq.ring.buf;
	char text[] = "hello";

	ibv_wr_start(qp);
	qp->wr_id = 1;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qp, 5, 0x100);
	ibv_wr_set_sge(qp, 0x11, 0x1000, 100);
	qp->wr_id = 2;
	ibv_wr_send(qp);
	ibv_wr_set_inline_data(qp, text, 5);
	CHECK(rung(fake, FAKE_DB_SQ) == 0);
	CHECK(ibv_wr_complete(qp) == 0);
	CHECK(rung(fake, FAKE_DB_SQ) == 2);
	CHECK(ctrl->opcode == DINGO_WR_WRITE && ctrl->num_sge == 1 && ctrl->blocks == 1);
	ctrl = dingo_ring_entry(&fake->qp.sq.ring, 1);
	CHECK(ctrl->opcode == DINGO_WR_SEND && le16toh(ctrl->inline_len) == 5);
	CHECK(memcmp((char *)ctrl + 32, text, 5) == 0);
	CHECK(fake->qp.sq.sent[1].wr_id == 2 && fake->qp.sq.sent[0].opcode == IBV_WC_RDMA_WRITE);
	fake_free(fake);
}

/* A request without data after one with three SGEs has one block: its length is not inherited. */
static void wr_api_no_data(void)
{
	struct fake *fake = wr_fake();
	struct ibv_qp_ex *qp = &fake->qp.vqp.qp_ex;
	struct dingo_wqe_ctrl *ctrl;

	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_sge_list(qp, 3, sges);
	ibv_wr_send(qp);
	CHECK(ibv_wr_complete(qp) == 0);
	CHECK(rung(fake, FAKE_DB_SQ) == 3);
	ctrl = dingo_ring_entry(&fake->qp.sq.ring, 2);
	CHECK(ctrl->opcode == DINGO_WR_SEND && ctrl->blocks == 1 && ctrl->num_sge == 0 && ctrl->inline_len == 0);
	fake_free(fake);
}

/* Up to 32 bytes take the fast path, more extend into the next block. */
static void wr_api_inline_sizes(void)
{
	static const unsigned int sizes[] = { 0, 1, 7, 8, 9, 17, 25, 31, 32, 33, 64 };
	struct fake *fake = wr_fake();
	struct ibv_qp_ex *qp = &fake->qp.vqp.qp_ex;
	char data[64];
	unsigned int i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = i + 1;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t at = fake->qp.sq.producer, blocks = sizes[i] > 32 ? 2 : 1;
		struct dingo_wqe_ctrl *ctrl = dingo_ring_entry(&fake->qp.sq.ring, at);

		ibv_wr_start(qp);
		ibv_wr_send(qp);
		ibv_wr_set_inline_data(qp, data, sizes[i]);
		CHECK(ibv_wr_complete(qp) == 0);
		CHECK(ctrl->blocks == blocks && le16toh(ctrl->inline_len) == sizes[i]);
		CHECK(memcmp((char *)ctrl + 32, data, sizes[i] < 32 ? sizes[i] : 32) == 0);
		CHECK(sizes[i] >= 32 || ((uint8_t *)ctrl)[32 + sizes[i]] == 0);
		if (blocks == 2)
			CHECK(memcmp(dingo_ring_entry(&fake->qp.sq.ring, at + 1), data + 32, sizes[i] - 32) == 0);
		CHECK(fake->qp.sq.producer == at + blocks);
		atomic_store(&fake->qp.sq.consumer, at + blocks);
	}
	fake_free(fake);
}

/* A datagram's data begins in the second block, which wraps to the ring's first block. */
static void wr_api_datagram_wraps(void)
{
	static const struct fake_options ud = {
		.type = IBV_QPT_UD, .sq_blocks = 4, .max_blocks = 2, .rq_entries = 4, .cq_entries = 8,
	};
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_UD, .send_ops_flags = IBV_QP_EX_WITH_SEND };
	struct fake *fake = fake_new(&ud);
	struct ibv_qp_ex *qp = &fake->qp.vqp.qp_ex;
	struct dingo_sge *sge = fake->qp.sq.ring.buf;
	struct dingo_ah ah = {};
	char text[] = "hello";

	attr.pd = &fake->pd.pd;
	CHECK(dingo_qp_fill_wr_ops(&fake->qp, &attr) == 0);
	fake->qp.sq.producer = 3;
	atomic_store(&fake->qp.sq.consumer, 3);
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_ud_addr(qp, &ah.ah, 5, 6);
	ibv_wr_set_sge(qp, 0x11, 0x1000, 100);
	CHECK(ibv_wr_complete(qp) == 0);
	CHECK(fake->qp.sq.producer == 5);
	CHECK(le64toh(sge->addr) == 0x1000 && le32toh(sge->length) == 100 && le32toh(sge->lkey) == 0x11);

	fake->qp.sq.producer = 7;
	atomic_store(&fake->qp.sq.consumer, 7);
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_ud_addr(qp, &ah.ah, 5, 6);
	ibv_wr_set_inline_data(qp, text, sizeof(text));
	CHECK(ibv_wr_complete(qp) == 0);
	CHECK(memcmp(sge, text, sizeof(text)) == 0);
	fake_free(fake);
}

static void wr_api_errors(void)
{
	struct fake *fake = wr_fake();
	struct ibv_qp_ex *qp = &fake->qp.vqp.qp_ex;
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_UD, .pd = &fake->pd.pd,
					    .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE };
	char data[200];
	int i;

	/* one bad setter fails the whole batch; the ring is unchanged */
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, 1, 2, 3);
	ibv_wr_send(qp);
	ibv_wr_set_inline_data(qp, data, sizeof(data));
	CHECK(ibv_wr_complete(qp) == ENOMEM);
	CHECK(fake->qp.sq.producer == 0 && rung(fake, FAKE_DB_SQ) == 0);
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_abort(qp);
	CHECK(fake->qp.sq.producer == 0);
	ibv_wr_start(qp);
	for (i = 0; i < 9; i++) {
		ibv_wr_send(qp);
		ibv_wr_set_sge(qp, 1, 2, 3);
	}
	CHECK(ibv_wr_complete(qp) == ENOMEM);
	fake->qp.sq.max_sge = 0;
	ibv_wr_start(qp);
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, 1, 2, 3);
	CHECK(ibv_wr_complete(qp) == EINVAL && fake->qp.sq.producer == 0);
	CHECK(dingo_qp_fill_wr_ops(&fake->qp, &attr) == EOPNOTSUPP);
	fake_free(fake);
}

/* A bind names region, window and new key; ibv_post_send() and ibv_wr_bind_mw() write the same. */
static void bind_window(void)
{
	struct fake *fake = wr_fake();
	struct ibv_pd other = { .handle = 77 };
	struct ibv_mr mr = { .pd = &fake->pd.pd, .lkey = 0x1234 };
	struct ibv_mw mw = { .pd = &fake->pd.pd, .rkey = 0x5601, .type = IBV_MW_TYPE_2 };
	struct ibv_mw_bind_info info = {
		.mr = &mr, .addr = 0x123456789a, .length = 0x100000001,
		.mw_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED,
	};
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE,
		.bind_mw = { .mw = &mw, .rkey = 0x5602, .bind_info = info },
	};
	struct ibv_qp *qp = &fake->qp.vqp.qp;
	struct ibv_qp_ex *ex = &fake->qp.vqp.qp_ex;
	struct ibv_wc wc;
	unsigned int i;

	ex->wr_id = 0;
	ex->wr_flags = wr.send_flags;
	CHECK(dingo_post_send(qp, &wr, &bad) == 0);
	ibv_wr_start(ex);
	ibv_wr_bind_mw(ex, &mw, 0x5602, &info);
	CHECK(ibv_wr_complete(ex) == 0);
	for (i = 0; i < 2; i++) {
		struct dingo_wqe_ctrl *ctrl = dingo_ring_entry(&fake->qp.sq.ring, i);
		struct dingo_wqe_bind *bind = (void *)(ctrl + 1);

		CHECK(ctrl->opcode == DINGO_WR_BIND_MW && ctrl->num_sge == 0 && ctrl->blocks == 1);
		CHECK(ctrl->flags == (DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK | DINGO_WQE_CTRL_FLAGS_FENCE_MASK));
		CHECK(le64toh(bind->addr) == 0x123456789a && le64toh(bind->length) == 0x100000001);
		CHECK(le32toh(bind->mr_key) == 0x1234 && le32toh(bind->mw_key) == 0x5601);
		CHECK(le32toh(bind->new_key) == 0x5602);
		CHECK(le32toh(bind->access) == (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED));
		fake_complete(fake, DINGO_WR_BIND_MW, i, DINGO_WCS_SUCCESS, 0);
		CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 1, &wc) == 1 && wc.opcode == IBV_WC_BIND_MW);
	}

	/* length 0 unbinds, without a region */
	wr.bind_mw.bind_info.mr = NULL;
	CHECK(dingo_post_send(qp, &wr, &bad) == EPERM && bad == &wr);
	wr.bind_mw.bind_info.length = 0;
	CHECK(dingo_post_send(qp, &wr, &bad) == 0);
	CHECK(((struct dingo_wqe_bind *)((struct dingo_wqe_ctrl *)dingo_ring_entry(&fake->qp.sq.ring, 2) + 1))->mr_key == 0);
	/* region, window and QP belong to one PD */
	mr.pd = &other;
	wr.bind_mw.bind_info = info;
	CHECK(dingo_post_send(qp, &wr, &bad) == EPERM);
	mw.pd = &other;
	CHECK(dingo_post_send(qp, &wr, &bad) == EPERM);
	ibv_wr_start(ex);
	ibv_wr_bind_mw(ex, &mw, 0x5602, &info);
	CHECK(ibv_wr_complete(ex) == EPERM);
	CHECK(fake->qp.sq.producer == 3);
	fake_free(fake);
}

/* An operation that the card has not, or the type of QP has not, is refused when the QP is made. */
static void wr_api_operations(void)
{
	static const struct {
		enum ibv_qp_type type;
		uint64_t caps, operation;
		int error;
	} all[] = {
		{ IBV_QPT_RC, DINGO_CAP_MW, IBV_QP_EX_WITH_BIND_MW, 0 },
		{ IBV_QPT_RC, 0, IBV_QP_EX_WITH_BIND_MW, EOPNOTSUPP },
		{ IBV_QPT_UD, DINGO_CAP_MW, IBV_QP_EX_WITH_BIND_MW, EOPNOTSUPP },
		{ IBV_QPT_RC, DINGO_CAP_SEND_INV, IBV_QP_EX_WITH_LOCAL_INV, 0 },
		{ IBV_QPT_RC, DINGO_CAP_SEND_INV, IBV_QP_EX_WITH_SEND_WITH_INV, 0 },
		{ IBV_QPT_RC, DINGO_CAP_MW, IBV_QP_EX_WITH_LOCAL_INV, EOPNOTSUPP },
		{ IBV_QPT_RC, DINGO_CAP_MW, IBV_QP_EX_WITH_SEND_WITH_INV, EOPNOTSUPP },
		{ IBV_QPT_RC, DINGO_CAP_ATOMIC, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, 0 },
		{ IBV_QPT_RC, DINGO_CAP_ATOMIC, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, 0 },
		{ IBV_QPT_RC, DINGO_CAP_MW, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, EOPNOTSUPP },
		{ IBV_QPT_UC, DINGO_CAP_ATOMIC, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, EOPNOTSUPP },
		{ IBV_QPT_UC, 0, IBV_QP_EX_WITH_RDMA_READ, EOPNOTSUPP },
		{ IBV_QPT_UC, 0, IBV_QP_EX_WITH_RDMA_WRITE, 0 },
	};
	struct fake *fake = wr_fake();
	unsigned int i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct ibv_qp_init_attr_ex attr = { .qp_type = all[i].type, .pd = &fake->pd.pd,
						    .send_ops_flags = all[i].operation };

		fake->ctx.caps = DINGO_CAP_RC | DINGO_CAP_UC | DINGO_CAP_UD | all[i].caps;
		if (dingo_qp_fill_wr_ops(&fake->qp, &attr) != all[i].error) {
			fprintf(stderr, "row %u\n", i);
			exit(1);
		}
	}
	fake_free(fake);
}

/* An empty list is a success and rings no doorbell, in any state. */
static void no_sends(void)
{
	struct fake *fake = fake_new(&rc);
	struct ibv_send_wr *bad = NULL;

	CHECK(dingo_post_send(&fake->qp.vqp.qp, NULL, &bad) == 0 && !bad);
	fake->qp.vqp.qp.state = IBV_QPS_INIT;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, NULL, &bad) == 0 && !bad);
	CHECK(fake->doorbell[FAKE_DB_SQ] == 0 && fake->qp.sq.lock.held == 0);
	fake_free(fake);
}

static const struct test_case cases[] = {
	CASE(post_send_layout), CASE(post_send_wraps), CASE(post_send_limits), CASE(post_send_inline),
	CASE(post_send_small), CASE(post_send_small_limits),
	CASE(wr_api), CASE(wr_api_no_data), CASE(wr_api_sge_list_limit), CASE(wr_api_inline_sizes), CASE(wr_api_datagram_wraps),
	CASE(wr_api_errors), CASE(bind_window), CASE(wr_api_operations), CASE(no_sends),
};

int main(int argc, char **argv)
{
	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
