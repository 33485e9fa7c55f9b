// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What the provider writes into rings and reads from them, byte by byte. usage: provider_data_path_test CASE */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "completion.h"
#include "fake_rings.h"
#include "ring.h"

#define CHECK(what)                                                            \
	do {                                                                   \
		if (!(what)) {                                                 \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__,     \
				__LINE__, #what);                              \
			exit(1);                                               \
		}                                                              \
	} while (0)

static const struct fake_options rc = {
	.type = IBV_QPT_RC, .sq_blocks = 8, .max_blocks = 2,
	.rq_entries = 4, .cq_entries = 8,
};

static struct ibv_sge sges[3] = {
	{ .addr = 0x1000, .length = 100, .lkey = 0x11 },
	{ .addr = 0x2000, .length = 0, .lkey = 0x22 },
	{ .addr = 0x3000, .length = 7, .lkey = 0x33 },
};

static uint32_t rung(const struct fake *fake, unsigned int db)
{
	return fake->doorbell[db] >> 32;
}

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
	/* 8 blocks hold four WQEs of two: the fifth is refused, the four before are rung */
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

/* One small inline WR has a path of its own: it must leave what the general one (here: a list of two) leaves. */
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

/* Up to 32 bytes take a short way, more run into the next block. */
static void wr_api_inline_sizes(void)
{
	static const unsigned int sizes[] = { 0, 1, 7, 8, 31, 32, 33, 64 };
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
		if (blocks == 2)
			CHECK(memcmp(dingo_ring_entry(&fake->qp.sq.ring, at + 1), data + 32, sizes[i] - 32) == 0);
		CHECK(fake->qp.sq.producer == at + blocks);
		atomic_store(&fake->qp.sq.consumer, at + blocks);
	}
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

	/* one bad setter fails the whole batch, and the ring is as before */
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

static void post_recv(void)
{
	struct fake *fake = fake_new(&rc);
	struct ibv_recv_wr *bad, wr = { .wr_id = 1, .sg_list = sges, .num_sge = 2 };
	struct dingo_rq_wqe *wqe;
	int i;

	for (i = 0; i < 4; i++) {
		wr.wr_id = 100 + i;
		CHECK(dingo_post_recv(&fake->qp.vqp.qp, &wr, &bad) == 0);
	}
	CHECK(dingo_post_recv(&fake->qp.vqp.qp, &wr, &bad) == ENOMEM && bad == &wr);
	CHECK(fake->doorbell[FAKE_DB_RQ] == (4ULL << 32 | DINGO_DB_RQ << 24 | FAKE_QPN));
	wqe = dingo_ring_entry(&fake->qp.rq.ring, 3);
	CHECK(le32toh(wqe->tag) == 3 && le16toh(wqe->num_sge) == 2);
	CHECK(le32toh(((struct dingo_sge *)(wqe + 1))->length) == 100);
	wr.num_sge = 4;
	fake->qp.rq.consumer = 4;
	CHECK(dingo_post_recv(&fake->qp.vqp.qp, &wr, &bad) == EINVAL);
	fake_free(fake);
}

static void poll_cq_phases(void)
{
	struct fake *fake = fake_new(&rc);
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc[4];
	uint32_t i;

	/* three passes of the ring, with an old entry of the last pass always in sight */
	for (i = 0; i < 24; i++) {
		CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 4, wc) == 0);
		wr.wr_id = 1000 + i;
		CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
		fake_complete(fake, DINGO_WR_SEND, i, DINGO_WCS_SUCCESS, 0);
		CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 4, wc) == 1);
		CHECK(wc[0].wr_id == 1000 + i && wc[0].opcode == IBV_WC_SEND);
		CHECK(wc[0].status == IBV_WC_SUCCESS && wc[0].qp_num == FAKE_QPN);
		CHECK(atomic_load(&fake->qp.sq.consumer) == i + 1);
	}
	fake_free(fake);
}

/* Sends and receives in one poll, and an entry of a QP that was not seen last, come in the ring's order. */
static void poll_cq_mixed(void)
{
	struct fake *fake = fake_new(&rc);
	struct ibv_send_wr *bad_send, send = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_recv_wr *bad_recv, recv = { .wr_id = 900 };
	struct ibv_wc wc[6];
	int i;

	for (i = 0; i < 3; i++) {
		send.wr_id = i;
		CHECK(dingo_post_send(&fake->qp.vqp.qp, &send, &bad_send) == 0);
	}
	CHECK(dingo_post_recv(&fake->qp.vqp.qp, &recv, &bad_recv) == 0);
	fake->cq.last_qp = &dingo_no_qp;
	fake_complete(fake, DINGO_WR_SEND, 0, DINGO_WCS_SUCCESS, 0);
	fake_complete(fake, DINGO_WR_SEND, 1, DINGO_WCS_SUCCESS, 0);
	fake_complete(fake, DINGO_WC_RECV, 0, DINGO_WCS_SUCCESS, 33);
	fake_complete(fake, DINGO_WR_SEND, 2, DINGO_WCS_SUCCESS, 0);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 1, wc) == 1 && wc[0].wr_id == 0);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 6, wc) == 3);
	CHECK(wc[0].wr_id == 1 && wc[0].opcode == IBV_WC_SEND);
	CHECK(wc[1].wr_id == 900 && wc[1].opcode == IBV_WC_RECV && wc[1].byte_len == 33);
	CHECK(wc[2].wr_id == 2 && wc[2].opcode == IBV_WC_SEND);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 6, wc) == 0 && fake->cq.lock.held == 0);
	fake_free(fake);
}

static void poll_cq_errors(void)
{
	struct fake *fake = fake_new(&rc);
	struct ibv_send_wr *bad, wr = { .wr_id = 5, .opcode = IBV_WR_RDMA_READ };
	struct ibv_wc wc[2];

	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
	fake_complete(fake, DINGO_WR_READ, 0, DINGO_WCS_REM_ACCESS_ERR, 0);
	((struct dingo_cqe *)fake->cq.ring.buf)->vendor_err = DINGO_VERR_NAK_ACCESS;
	fake_complete(fake, DINGO_WR_READ, 1, 200, 0);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 2, wc) == 2);
	CHECK(wc[0].status == IBV_WC_REM_ACCESS_ERR && wc[0].vendor_err == DINGO_VERR_NAK_ACCESS);
	/* a status that verbs does not know is an error all the same */
	CHECK(wc[1].status == IBV_WC_GENERAL_ERR);
	fake_free(fake);
}

static void poll_skips_forgotten_qp(void)
{
	struct fake *fake = fake_new(&rc);
	struct ibv_recv_wr *bad, wr = { .wr_id = 1 };
	struct ibv_wc wc[2];

	CHECK(dingo_post_recv(&fake->qp.vqp.qp, &wr, &bad) == 0);
	fake_complete(fake, DINGO_WC_RECV, 0, DINGO_WCS_WR_FLUSH_ERR, 0);
	fake_complete(fake, DINGO_WC_RECV, 1, DINGO_WCS_WR_FLUSH_ERR, 0);
	dingo_cq_forget_qp(&fake->cq, &fake->qp);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 2, wc) == 0);
	CHECK(fake->cq.consumer == 2);
	fake_free(fake);
}

static void cq_reports_consumption(void)
{
	struct fake_options big = rc;
	struct ibv_wc wc[64];
	struct fake *fake;
	uint32_t i;

	big.cq_entries = 64;
	big.sq_blocks = 64;
	fake = fake_new(&big);
	for (i = 0; i < 64; i++) {
		fake->qp.sq.sent[i].blocks = 1;
		fake_complete(fake, DINGO_WR_SEND, i, 0, 0);
	}
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 4, wc) == 4);
	CHECK(fake->doorbell[FAKE_DB_CQ] == 0);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 16, wc) == 16);
	CHECK(fake->doorbell[FAKE_DB_CQ] == (20ULL << 32 | DINGO_DB_CQ << 24 | FAKE_CQN));
	fake_free(fake);
}

static void arming(void)
{
	struct fake *fake = fake_new(&rc);
	struct ibv_cq *cq = &fake->cq.vcq.cq;
	uint64_t db;
	uint32_t sn;

	for (sn = 1; sn <= 5; sn++) {
		CHECK(dingo_req_notify_cq(cq, 1) == 0);
		db = fake->doorbell[FAKE_DB_CQ];
		CHECK(DINGO_GET(DINGO_DOORBELL_WORD0_ARM_SN_MASK, (uint32_t)db) == (sn & 3));
		CHECK(db & DINGO_DOORBELL_WORD0_ARM_SOLICITED_MASK);
	}
	/* "any" is not taken back by "solicited" before its event */
	CHECK(dingo_req_notify_cq(cq, 0) == 0);
	CHECK(!(fake->doorbell[FAKE_DB_CQ] & DINGO_DOORBELL_WORD0_ARM_SOLICITED_MASK));
	CHECK(dingo_req_notify_cq(cq, 1) == 0);
	CHECK(!(fake->doorbell[FAKE_DB_CQ] & DINGO_DOORBELL_WORD0_ARM_SOLICITED_MASK));
	dingo_cq_event(cq);
	CHECK(dingo_req_notify_cq(cq, 1) == 0);
	CHECK(fake->doorbell[FAKE_DB_CQ] & DINGO_DOORBELL_WORD0_ARM_SOLICITED_MASK);
	fake_free(fake);
}

static void resize_drains_old_ring(void)
{
	struct fake *fake = fake_new(&rc);
	struct dingo_ring old = fake->cq.ring;
	struct ibv_wc wc[8];
	uint32_t i;

	for (i = 0; i < 8; i++)
		fake->qp.sq.sent[i].blocks = 1, fake->qp.sq.sent[i].wr_id = i;
	for (i = 0; i < 3; i++)
		fake_complete(fake, DINGO_WR_SEND, i, 0, 0);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 1, wc) == 1);
	/* what dingo_resize_cq does once the kernel answered: two entries left in the old ring */
	fake->cq.old = old;
	fake->cq.old.buf = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fake->cq.old.bytes = 4096;
	memcpy(fake->cq.old.buf, old.buf, old.bytes);
	memset(old.buf, 0, old.bytes);
	fake->cq.old_left = 2;
	fake->cq_producer = 0;
	fake_complete(fake, DINGO_WR_SEND, 3, 0, 0);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 8, wc) == 3);
	CHECK(wc[0].wr_id == 1 && wc[1].wr_id == 2 && wc[2].wr_id == 3);
	CHECK(!fake->cq.old.buf && fake->cq.consumer == 1);
	fake_free(fake);
}

static void srq_tags(void)
{
	struct fake_options shared = rc;
	struct ibv_recv_wr *bad, wr = { .sg_list = sges, .num_sge = 1 };
	struct dingo_rq_wqe *wqe;
	struct ibv_wc wc[2];
	struct fake *fake;
	int i;

	shared.srq = true;
	fake = fake_new(&shared);
	for (i = 0; i < 4; i++) {
		wr.wr_id = 10 + i;
		CHECK(dingo_post_srq_recv(&fake->srq.vsrq.srq, &wr, &bad) == 0);
	}
	CHECK(dingo_post_srq_recv(&fake->srq.vsrq.srq, &wr, &bad) == ENOMEM);
	/* completed out of order: its tag, and only that, is free again */
	fake_complete(fake, DINGO_WC_RECV, 2, 0, 64);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 2, wc) == 1);
	CHECK(wc[0].wr_id == 12 && wc[0].byte_len == 64);
	wr.wr_id = 99;
	CHECK(dingo_post_srq_recv(&fake->srq.vsrq.srq, &wr, &bad) == 0);
	wqe = dingo_ring_entry(&fake->srq.ring, 4);
	CHECK(le32toh(wqe->tag) == 2);
	CHECK(dingo_post_recv(&fake->qp.vqp.qp, &wr, &bad) == EINVAL);
	CHECK(fake->doorbell[FAKE_DB_SRQ] == (5ULL << 32 | DINGO_DB_SRQ << 24 | FAKE_SRQN));
	fake_free(fake);
}

static void doorbell_memory(void)
{
	struct fake_options memory = rc;
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND };
	struct fake *fake;

	memory.db_memory = true;
	fake = fake_new(&memory);
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
	CHECK(atomic_load(&fake->dirty) == 1 && fake->kick == 0);
	atomic_store(&fake->need_kick, 1);
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
	CHECK(fake->kick == 1);
	fake_free(fake);
}

static void card_takes_arm(struct fake *fake)
{
	fake->doorbell[FAKE_DB_CQ] |= DINGO_DOORBELL_WORD0_TAKEN_MASK;
}

/* A card that polls the page sees the last value only: a request to arm counts on from one that it took, and no other. */
static void arming_in_memory(void)
{
	struct fake_options memory = rc;
	struct fake *fake;
	struct ibv_cq *cq;
	uint64_t *db;
	uint32_t i;

	memory.db_memory = true;
	fake = fake_new(&memory);
	cq = &fake->cq.vcq.cq;
	db = &fake->doorbell[FAKE_DB_CQ];
	for (i = 0; i < 9; i++) {
		CHECK(dingo_req_notify_cq(cq, 1) == 0);
		CHECK(DINGO_GET(DINGO_DOORBELL_WORD0_ARM_SN_MASK, (uint32_t)*db) == 1);
		CHECK(!(*db & DINGO_DOORBELL_WORD0_TAKEN_MASK));
		CHECK(atomic_exchange(&fake->dirty, 0) == 1);
	}
	/* "any" joins a request that waits, and a stale event does not take it back */
	CHECK(dingo_req_notify_cq(cq, 0) == 0);
	dingo_cq_event(cq);
	CHECK(dingo_req_notify_cq(cq, 1) == 0);
	CHECK(!(*db & DINGO_DOORBELL_WORD0_ARM_SOLICITED_MASK));

	card_takes_arm(fake);
	atomic_store(&fake->need_kick, 1);
	CHECK(dingo_req_notify_cq(cq, 1) == 0);
	CHECK(DINGO_GET(DINGO_DOORBELL_WORD0_ARM_SN_MASK, (uint32_t)*db) == 2);
	CHECK(*db & DINGO_DOORBELL_WORD0_ARM_SOLICITED_MASK);
	CHECK(fake->kick == 1);
	fake_free(fake);
}

/* Reporting what was consumed neither asks for an event nor forgets that the card took the request. */
static void reporting_in_memory(void)
{
	struct fake_options memory = rc;
	struct fake *fake;
	uint64_t *db;

	memory.db_memory = true;
	fake = fake_new(&memory);
	db = &fake->doorbell[FAKE_DB_CQ];
	dingo_cq_ring(&fake->cq);
	CHECK((uint32_t)*db == (DINGO_DB_CQ << 24 | FAKE_CQN | DINGO_DOORBELL_WORD0_TAKEN_MASK));
	CHECK(dingo_req_notify_cq(&fake->cq.vcq.cq, 0) == 0);
	fake->cq.consumer = 5;
	dingo_cq_ring(&fake->cq);
	CHECK(*db == (5ULL << 32 | 1 << 29 | DINGO_DB_CQ << 24 | FAKE_CQN));
	card_takes_arm(fake);
	fake->cq.consumer = 6;
	dingo_cq_ring(&fake->cq);
	CHECK(*db == (6ULL << 32 | DINGO_DOORBELL_WORD0_TAKEN_MASK | 1 << 29 | DINGO_DB_CQ << 24 | FAKE_CQN));
	fake_free(fake);
}

/* A sleeping card that is kicked through a file; errno is the caller's. */
static void kick_fd(void)
{
	struct fake_options memory = rc;
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND };
	struct fake *fake;
	uint64_t kicks = 0;

	memory.db_memory = true;
	memory.kick_fd = eventfd(0, EFD_NONBLOCK);
	CHECK(memory.kick_fd > 0);
	fake = fake_new(&memory);
	errno = 77;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
	CHECK(read(memory.kick_fd, &kicks, sizeof(kicks)) < 0);
	atomic_store(&fake->need_kick, 1);
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
	CHECK(read(memory.kick_fd, &kicks, sizeof(kicks)) == 8 && kicks == 2);
	CHECK(fake->kick == 0);
	/* full: the card has not looked for long, but it will */
	kicks = ~0ULL - 1;
	CHECK(write(memory.kick_fd, &kicks, sizeof(kicks)) == 8);
	errno = 77;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
	CHECK(errno == 77);
	close(memory.kick_fd);
	fake_free(fake);
}

/* A dead card: what it has completed is seen, then polling fails. */
static void card_gone(void)
{
	struct fake *fake = fake_new(&rc);
	struct ibv_poll_cq_attr none = {};
	struct ibv_cq_init_attr_ex attr = {};
	struct ibv_cq_ex *ex = &fake->cq.vcq.cq_ex;
	struct ibv_wc wc[4];

	CHECK(dingo_cq_fill_ex_ops(&fake->cq, &attr) == 0);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 4, wc) == 0);
	CHECK(ibv_start_poll(ex, &none) == ENOENT);
	fake_complete(fake, DINGO_WR_SEND, 0, 0, 0);
	fake_complete(fake, DINGO_WR_SEND, 1, 0, 0);
	atomic_store(&fake->status[0], DINGO_STATUS_GONE | 1234);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 1, wc) == 1);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 4, wc) == 1);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 4, wc) == -EIO);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 4, wc) == -EIO);
	CHECK(ibv_start_poll(ex, &none) == EIO);
	/* bit 31 (FUTEX_WAITERS) and the holder's number mean nothing here */
	atomic_store(&fake->status[0], 0x80000000U | 1234);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 4, wc) == 0);
	fake_free(fake);
}

/* What ibv_wc.sl means to users of mlx4 and mlx5: UCX drops every datagram whose network header it is not told. */
static void datagram_service_level(void)
{
	struct dingo_cqe cqe = { .src_qpn = htole32(DINGO_PREP(DINGO_CQE_SRC_QPN_SL_MASK, 5)) };

	CHECK(dingo_cqe_sl(&cqe) == 5);
	cqe.flags = DINGO_CQE_FLAGS_GRH_MASK;
	CHECK(dingo_cqe_sl(&cqe) == 9);
	cqe.flags = DINGO_CQE_FLAGS_GRH_MASK | DINGO_CQE_FLAGS_IPV4_MASK;
	CHECK(dingo_cqe_sl(&cqe) == 10);
}

struct lender {
	void *next;			/* what it gives */
	void *back;			/* what it got back */
	uint64_t type;
	size_t size;
};

static void *lend(struct ibv_pd *pd, void *context, size_t size,
		  size_t alignment, uint64_t type)
{
	struct lender *lender = context;

	CHECK(alignment && !(alignment & (alignment - 1)) && size % alignment == 0);
	lender->size = size;
	lender->type = type;
	return lender->next;
}

static void take_back(struct ibv_pd *pd, void *context, void *at, uint64_t type)
{
	struct lender *lender = context;

	CHECK(type == lender->type);
	lender->back = at;
}

/* ibv_alloc_parent_domain(3): NULL is an error, IBV_ALLOCATOR_USE_DEFAULT asks for ours, which is not given back. */
static void parent_domain_allocators(void)
{
	static uint8_t memory[4096];
	struct lender lender = { .next = memory };
	struct dingo_pd domain = { .alloc = lend, .free = take_back, .pd_context = &lender };
	struct dingo_buf buf = {};

	memset(memory, 0xff, sizeof(memory));
	CHECK(dingo_buf_alloc(&buf, &domain, 100, 7) == 0);
	CHECK(buf.at == memory && lender.type == 7 && lender.size >= 100);
	CHECK(memory[0] == 0 && memory[99] == 0);
	dingo_buf_free(&buf);
	CHECK(lender.back == memory && !buf.at);
	lender.back = NULL;
	dingo_buf_free(&buf);
	CHECK(!lender.back);

	lender.next = NULL;
	CHECK(dingo_buf_alloc(&buf, &domain, 100, 7) == ENOMEM && !buf.at);
	dingo_buf_free(&buf);
	CHECK(!lender.back);

	lender.next = IBV_ALLOCATOR_USE_DEFAULT;
	CHECK(dingo_buf_alloc(&buf, &domain, 100, 7) == 0);
	CHECK(buf.at && buf.at != IBV_ALLOCATOR_USE_DEFAULT && ((uint8_t *)buf.at)[99] == 0);
	dingo_buf_free(&buf);
	CHECK(!lender.back);

	CHECK(dingo_buf_alloc(&buf, NULL, 1, 7) == 0 && buf.at);
	dingo_buf_free(&buf);
}

/* A stamp has 48 bits of the card's clock: the pair says which of their rounds is meant, before it and behind it. */
static void wallclock(void)
{
	const uint64_t second = 1000000000, round = 1ULL << 48;
	struct dingo_clock clock = { .card_ns = 5 * round + 10, .real_ns = 1700000000 * second };
	struct dingo_clock_page page = { .sequence = 2, .card_ns = 77, .real_ns = 1000 };

	CHECK(dingo_clock_real(&clock, 10) == clock.real_ns);
	CHECK(dingo_clock_real(&clock, 10 + second) == clock.real_ns + second);
	CHECK(dingo_clock_real(&clock, 9) == clock.real_ns - 1);
	CHECK(dingo_clock_real(&clock, round - 1) == clock.real_ns - 11);
	clock.card_ns = round - 1;
	CHECK(dingo_clock_real(&clock, 5) == clock.real_ns + 6);

	dingo_clock_read(&page, &clock);
	CHECK(clock.card_ns == 77 && clock.real_ns == 1000);
	/* the card died while it wrote: what was read before still counts, and the reader comes back */
	page = (struct dingo_clock_page){ .sequence = 3, .card_ns = 1, .real_ns = 2 };
	dingo_clock_read(&page, &clock);
	CHECK(clock.card_ns == 77 && clock.real_ns == 1000);
}

/* Extended polling with wall clock: the time of day of each entry by the pair that is there when it is read. */
static void poll_wallclock(void)
{
	struct fake *fake = fake_new(&rc);
	struct ibv_cq_init_attr_ex attr = { .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK };
	struct dingo_clock_page page = { .sequence = 2, .card_ns = 1000, .real_ns = 500000 };
	struct ibv_cq_ex *ex = &fake->cq.vcq.cq_ex;
	struct dingo_cqe *cqe = fake->cq.ring.buf;
	struct ibv_poll_cq_attr none = {};

	fake->cq.clock_page = &page;
	fake->qp.sq.sent[0].blocks = 1;
	CHECK(dingo_cq_fill_ex_ops(&fake->cq, &attr) == 0);
	CHECK(ex->read_completion_wallclock_ns && !ex->read_completion_ts);
	fake_complete(fake, DINGO_WR_SEND, 0, 0, 0);
	cqe->ts_lo = htole32(1234);
	CHECK(ibv_start_poll(ex, &none) == 0);
	CHECK(ibv_wc_read_completion_wallclock_ns(ex) == 500234);
	page = (struct dingo_clock_page){ .sequence = 4, .card_ns = 1000, .real_ns = 900000 };
	CHECK(ibv_wc_read_completion_wallclock_ns(ex) == 900234);
	ibv_end_poll(ex);
	fake_free(fake);
}

#define CASE(name) { #name, name }
static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	CASE(post_send_layout), CASE(post_send_wraps), CASE(post_send_limits), CASE(post_send_inline),
	CASE(post_send_small), CASE(post_send_small_limits),
	CASE(wr_api), CASE(wr_api_inline_sizes), CASE(wr_api_errors), CASE(post_recv), CASE(poll_cq_phases), CASE(poll_cq_mixed), CASE(poll_cq_errors),
	CASE(datagram_service_level),
	CASE(poll_skips_forgotten_qp), CASE(cq_reports_consumption), CASE(arming), CASE(resize_drains_old_ring),
	CASE(srq_tags), CASE(doorbell_memory), CASE(arming_in_memory), CASE(reporting_in_memory), CASE(kick_fd), CASE(card_gone),
	CASE(parent_domain_allocators), CASE(wallclock), CASE(poll_wallclock),
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (argc == 2 && !strcmp(argv[1], cases[i].name)) {
			cases[i].run();
			return 0;
		}
	}
	fprintf(stderr, "usage: %s CASE\n", argv[0]);
	return 2;
}
