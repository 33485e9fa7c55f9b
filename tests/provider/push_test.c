// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Writes of a send queue to its push page, and the doorbell after them. usage: provider_push_test CASE */
#include "cases.h"
#include "ring.h"

static uint8_t window[DINGO_DB_PAGE_SIZE] __attribute__((aligned(64)));
static struct dingo_push page = { .window = window };

/* A pushing QP whose queues are at block `at`. */
static struct fake *pushing(uint32_t at)
{
	struct fake *fake = fake_new(&rc);

	memset(window, 0xee, sizeof(window));
	dingo_lock_init(&page.lock, true);
	fake->qp.sq.push = &page;
	fake->qp.sq.producer = at;
	fake->qp.sq.rung = at;
	atomic_store(&fake->qp.sq.consumer, at);
	return fake;
}

static uint32_t pushed(const struct fake *fake)
{
	return DINGO_GET(DINGO_DOORBELL_WORD0_PUSHED_MASK, (uint32_t)fake->doorbell[FAKE_DB_SQ]);
}

/* Returns true if the window begins with the ring's blocks from `index` on and is unchanged after them. */
static bool holds(const struct fake *fake, uint32_t index, uint32_t blocks)
{
	uint32_t n;

	for (n = 0; n < blocks; n++)
		if (memcmp(window + n * DINGO_SQ_BLOCK, dingo_ring_entry(&fake->qp.sq.ring, index + n),
			   DINGO_SQ_BLOCK))
			return false;
	for (n = blocks * DINGO_SQ_BLOCK; n < sizeof(window); n++)
		if (window[n] != 0xee)
			return false;
	return true;
}

static void push_one(void)
{
	struct fake *fake = pushing(0);
	struct ibv_send_wr *bad, wr = { .sg_list = sges, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
					.wr.rdma = { .remote_addr = 0x1234, .rkey = 5 } };

	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
	CHECK(holds(fake, 0, 1) && pushed(fake) == 1 && rung(fake, FAKE_DB_SQ) == 1);
	CHECK((uint32_t)fake->doorbell[FAKE_DB_SQ] ==
	      (DINGO_DB_SQ << 24 | FAKE_QPN | DINGO_PREP(DINGO_DOORBELL_WORD0_PUSHED_MASK, 1)));
	wr.wr.rdma.remote_addr = 0x5678;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
	CHECK(holds(fake, 1, 1) && pushed(fake) == 1 && rung(fake, FAKE_DB_SQ) == 2);
	CHECK(!atomic_load(&page.lock.held));
	fake_free(fake);
}

static void push_wraps(void)
{
	struct fake *fake = pushing(7);
	struct ibv_send_wr *bad, wr = { .sg_list = sges, .num_sge = 3, .opcode = IBV_WR_SEND };

	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
	CHECK(holds(fake, 7, 2) && pushed(fake) == 2 && rung(fake, FAKE_DB_SQ) == 9);
	fake_free(fake);
}

static void push_list(void)
{
	struct fake *fake = pushing(4);
	struct ibv_send_wr *bad, wr[3];
	int i;

	for (i = 0; i < 3; i++)
		wr[i] = (struct ibv_send_wr){ .next = i < 2 ? &wr[i + 1] : NULL, .sg_list = sges,
					      .num_sge = 3, .opcode = IBV_WR_SEND };
	wr[1].next = NULL;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, wr, &bad) == 0);
	CHECK(holds(fake, 4, 4) && pushed(fake) == 4 && rung(fake, FAKE_DB_SQ) == 8);
	fake_free(fake);

	/* six blocks do not fit */
	fake = pushing(4);
	wr[1].next = &wr[2];
	CHECK(dingo_post_send(&fake->qp.vqp.qp, wr, &bad) == 0);
	CHECK(holds(fake, 4, 0) && pushed(fake) == 0 && rung(fake, FAKE_DB_SQ) == 10);
	/* and do not belong to the next doorbell */
	atomic_store(&fake->qp.sq.consumer, 10);
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr[2], &bad) == 0);
	CHECK(holds(fake, 10, 2) && pushed(fake) == 2 && rung(fake, FAKE_DB_SQ) == 12);
	fake_free(fake);
}

static void push_of_another(void)
{
	struct fake *fake = pushing(0);
	struct ibv_send_wr *bad, wr = { .sg_list = sges, .num_sge = 1, .opcode = IBV_WR_SEND };

	/* another QP holds the push page: the post does not wait */
	dingo_lock(&page.lock);
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
	CHECK(holds(fake, 0, 0) && pushed(fake) == 0 && rung(fake, FAKE_DB_SQ) == 1);
	dingo_unlock(&page.lock);
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
	CHECK(holds(fake, 1, 1) && pushed(fake) == 1 && rung(fake, FAKE_DB_SQ) == 2);
	fake_free(fake);
}

static void push_wr_api(void)
{
	struct fake *fake = pushing(0);
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC,
					    .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE };
	struct ibv_qp_ex *ex = &fake->qp.vqp.qp_ex;
	uint8_t data[100];

	attr.pd = &fake->pd.pd;
	memset(data, 0x5a, sizeof(data));
	CHECK(dingo_qp_fill_wr_ops(&fake->qp, &attr) == 0);
	ibv_wr_start(ex);
	ibv_wr_rdma_write(ex, 5, 0x1000);
	ibv_wr_set_inline_data(ex, data, 90);
	CHECK(ibv_wr_complete(ex) == 0);
	CHECK(holds(fake, 0, 2) && pushed(fake) == 2 && rung(fake, FAKE_DB_SQ) == 2);
	/* aborted requests are not pushed */
	ibv_wr_start(ex);
	ibv_wr_rdma_write(ex, 5, 0x1000);
	ibv_wr_set_inline_data(ex, data, 10);
	ibv_wr_abort(ex);
	CHECK(rung(fake, FAKE_DB_SQ) == 2);
	ibv_wr_start(ex);
	ibv_wr_rdma_write(ex, 5, 0x2000);
	ibv_wr_set_sge(ex, 1, 0x3000, 4);
	CHECK(ibv_wr_complete(ex) == 0);
	CHECK(pushed(fake) == 1 && rung(fake, FAKE_DB_SQ) == 3);
	CHECK(!memcmp(window, dingo_ring_entry(&fake->qp.sq.ring, 2), DINGO_SQ_BLOCK));
	fake_free(fake);
}

static const struct test_case cases[] = {
	CASE(push_one), CASE(push_wraps), CASE(push_list), CASE(push_of_another), CASE(push_wr_api),
};

int main(int argc, char **argv)
{
	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
