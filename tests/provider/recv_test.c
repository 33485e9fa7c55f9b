// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Posting receives to a QP and an SRQ: written entries and refused requests. usage: provider_recv_test CASE */
#include <errno.h>

#include "cases.h"
#include "ring.h"

static struct fake *new_fake(bool srq)
{
	struct fake_options options = rc;

	options.srq = srq;
	return fake_new(&options);
}

static int post(struct fake *fake, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return fake->qp.srq ? dingo_post_srq_recv(&fake->srq.vsrq.srq, wr, bad) : dingo_post_recv(&fake->qp.vqp.qp, wr, bad);
}

static struct dingo_rq_wqe *entry(struct fake *fake, uint32_t index)
{
	return dingo_ring_entry(fake->qp.srq ? &fake->srq.ring : &fake->qp.rq.ring, index);
}

static uint32_t known(struct fake *fake)
{
	return rung(fake, fake->qp.srq ? FAKE_DB_SRQ : FAKE_DB_RQ);
}

/* All words of header and SGEs are overwritten; those after them are not changed. */
static void an_entry_is_written_whole(void)
{
	unsigned int kind, i;

	for (kind = 0; kind < 2; kind++) {
		struct fake *fake = new_fake(kind);
		struct ibv_recv_wr *bad, wr = { .wr_id = 0x1122334455667788, .sg_list = sges, .num_sge = 2 };
		struct dingo_rq_wqe *wqe = entry(fake, 0);
		struct dingo_sge *sge = (void *)(wqe + 1);

		memset(wqe, 0xee, 64);
		CHECK(post(fake, &wr, &bad) == 0);
		CHECK(le32toh(wqe->tag) == 0 && le16toh(wqe->num_sge) == 2 && wqe->rsvd0 == 0 && wqe->rsvd1 == 0);
		for (i = 0; i < 2; i++)
			CHECK(le64toh(sge[i].addr) == sges[i].addr && le32toh(sge[i].lkey) == sges[i].lkey &&
			      le32toh(sge[i].length) == sges[i].length);
		CHECK(le32toh(sge[2].lkey) == 0xeeeeeeee);
		CHECK((kind ? fake->srq.wr_id[0] : fake->qp.rq.wr_id[0]) == wr.wr_id);
		fake_free(fake);
	}
}

/* Up to max_sge pieces are accepted. A refused request rings no doorbell. */
static void pieces_of_a_receive(void)
{
	static const struct {
		int num_sge, error;
	} rows[] = { { 0, 0 }, { 3, 0 }, { 4, EINVAL }, { -1, EINVAL }, { 0x10001, EINVAL } };
	unsigned int kind, i;

	for (kind = 0; kind < 2; kind++) {
		struct fake *fake = new_fake(kind);

		for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			struct ibv_recv_wr *bad = NULL, wr = { .sg_list = sges, .num_sge = rows[i].num_sge };

			fake->doorbell[kind ? FAKE_DB_SRQ : FAKE_DB_RQ] = 0;
			CHECK(post(fake, &wr, &bad) == rows[i].error && bad == (rows[i].error ? &wr : NULL));
			CHECK(known(fake) == (rows[i].error ? 0 : i + 1));
		}
		fake_free(fake);
	}
}

/* Requests before the first bad one of a list are posted with one doorbell; later ones are not. */
static void a_list_of_receives_ends_at_the_first_bad_one(void)
{
	unsigned int kind, i;

	for (kind = 0; kind < 2; kind++) {
		struct fake *fake = new_fake(kind);
		struct ibv_recv_wr *bad = NULL, wr[6];

		for (i = 0; i < 6; i++)
			wr[i] = (struct ibv_recv_wr){ .wr_id = i, .next = i < 5 ? &wr[i + 1] : NULL };
		wr[2].num_sge = 4;
		CHECK(post(fake, wr, &bad) == EINVAL && bad == &wr[2] && known(fake) == 2);
		wr[2].num_sge = 0;
		/* room for two more */
		CHECK(post(fake, &wr[2], &bad) == ENOMEM && bad == &wr[4] && known(fake) == 4);
		CHECK(post(fake, &wr[4], &bad) == ENOMEM && bad == &wr[4] && known(fake) == 4);
		CHECK((kind ? fake->srq.lock.held : fake->qp.rq.lock.held) == 0);
		for (i = 0; i < 4; i++)
			CHECK((kind ? fake->srq.wr_id[i] : fake->qp.rq.wr_id[i]) == i);
		fake_free(fake);
	}
}

/* In RESET nothing may be posted; in other states receives wait or are flushed. */
static void states_in_which_receives_are_posted(void)
{
	static const struct {
		enum ibv_qp_state state;
		int error;
	} rows[] = { { IBV_QPS_RESET, EINVAL }, { IBV_QPS_INIT, 0 }, { IBV_QPS_RTR, 0 }, { IBV_QPS_RTS, 0 }, { IBV_QPS_ERR, 0 } };
	struct fake *fake = new_fake(false);
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ibv_recv_wr *bad = NULL, wr = {};

		fake->qp.vqp.qp.state = rows[i].state;
		CHECK(dingo_post_recv(&fake->qp.vqp.qp, &wr, &bad) == rows[i].error && bad == (rows[i].error ? &wr : NULL));
	}
	CHECK(known(fake) == 4);
	fake_free(fake);
}

static void a_qp_with_an_srq_has_no_queue_of_its_own(void)
{
	struct fake *fake = new_fake(true);
	struct ibv_recv_wr *bad = NULL, wr = {};

	CHECK(dingo_post_recv(&fake->qp.vqp.qp, &wr, &bad) == EINVAL && bad == &wr);
	CHECK(fake->doorbell[FAKE_DB_RQ] == 0 && fake->srq.producer == 0);
	fake_free(fake);
}

/* A QP created without receives. */
static void no_queue_has_no_room(void)
{
	struct fake *fake = new_fake(false);
	struct ibv_recv_wr *bad = NULL, wr = {};
	void *ring = fake->qp.rq.ring.buf;

	fake->qp.rq.ring.buf = NULL;
	CHECK(dingo_post_recv(&fake->qp.vqp.qp, &wr, &bad) == ENOMEM && bad == &wr && known(fake) == 0);
	CHECK(fake->qp.rq.lock.held == 0);
	fake->qp.rq.ring.buf = ring;
	fake_free(fake);
}

/* Wrap-around at the end of the ring and at the largest index. */
static void indices_wrap(void)
{
	struct fake *fake = new_fake(false);
	struct ibv_recv_wr *bad, wr = { .sg_list = sges, .num_sge = 1 };
	uint32_t i;

	fake->qp.rq.producer = UINT32_MAX - 1;
	atomic_store(&fake->qp.rq.consumer, UINT32_MAX - 1);
	for (i = 0; i < 4; i++)
		CHECK(dingo_post_recv(&fake->qp.vqp.qp, &wr, &bad) == 0);
	CHECK(dingo_post_recv(&fake->qp.vqp.qp, &wr, &bad) == ENOMEM);
	CHECK(known(fake) == 2);
	for (i = 0; i < 4; i++)
		CHECK(le32toh(entry(fake, i)->tag) == i);
	fake_free(fake);
}

static void posting_a_receive_waits_for_another_thread(void)
{
	unsigned int kind;

	for (kind = 0; kind < 2; kind++) {
		struct fake *fake = new_fake(kind);
		struct ibv_recv_wr *bad, wr = {};
		struct holder holder;

		hold(&holder, kind ? &fake->srq.lock : &fake->qp.rq.lock);
		CHECK(post(fake, &wr, &bad) == 0);
		CHECK(was_waited_for(&holder));
		fake_free(fake);
	}
}

static const struct test_case cases[] = {
	CASE(posting_a_receive_waits_for_another_thread),
	CASE(an_entry_is_written_whole), CASE(pieces_of_a_receive), CASE(a_list_of_receives_ends_at_the_first_bad_one), CASE(states_in_which_receives_are_posted),
	CASE(a_qp_with_an_srq_has_no_queue_of_its_own), CASE(no_queue_has_no_room), CASE(indices_wrap),
};

int main(int argc, char **argv)
{
	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
