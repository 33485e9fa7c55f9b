// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The direct road: receives whose peer writes arbitrary data to the shared page. usage: provider_direct_test CASE */
#include "cases.h"
#include "direct.h"
#include "direct_abi.h"

#define GENERATION 7
#define PAGE 4096

/* A QP with a page and four receives, whose CQ polls for receives completed by a peer. */
static struct fake *with_page_and(const struct fake_options *options)
{
	struct fake *fake = fake_new(options);
	struct dingo_direct *d = calloc(1, sizeof(*d));
	struct dingo_cq_direct *c = calloc(1, sizeof(*c));

	d->own = aligned_alloc(PAGE, PAGE);
	memset(d->own, 0, PAGE);
	d->own->open = d->generation = GENERATION;
	d->own->has_rq = d->has_rq = true;
	d->own->has_indexes = d->has_indexes = true;
	d->cq = c;
	dingo_lock_init(&c->lock, true);
	c->receivers[0] = &fake->qp;
	c->num_receivers = 1;
	fake->qp.direct = d;
	fake->cq.direct = c;
	return fake;
}

static struct fake *with_page(void)
{
	return with_page_and(&rc);
}

static void without_page(struct fake *fake)
{
	free(fake->qp.direct->own);
	free(fake->qp.direct);
	free(fake->cq.direct);
	fake_free(fake);
}

/* Posts receives of 107 bytes. */
static void post(struct fake *fake, uint32_t num)
{
	struct ibv_recv_wr *bad, wr = { .sg_list = sges, .num_sge = 3 };

	for (; num; num--) {
		wr.wr_id = 1000 + fake->qp.rq.producer;
		CHECK(dingo_post_recv_with_direct(&fake->qp.vqp.qp, &wr, &bad) == 0);
	}
}

/* Completes the receive `index` as the peer. */
static void say(struct fake *fake, uint32_t index, uint32_t opcode, uint32_t bytes)
{
	struct dingo_direct_receive *done = &fake->qp.direct->own->done[index & 3];

	done->opcode = opcode;
	done->byte_len = bytes;
	__atomic_store_n(&done->seq, index + 1, __ATOMIC_RELEASE);
}

static int poll(struct fake *fake, struct ibv_wc *wc)
{
	return dingo_poll_cq_with_direct(&fake->cq.vcq.cq, 1, wc);
}

static bool is_closed(const struct fake *fake)
{
	return !fake->qp.direct->own->open && rung(fake, FAKE_DB_RQ) == fake->qp.rq.producer;
}

static void peer_completes(void)
{
	struct fake *fake = with_page();
	struct ibv_wc wc;

	post(fake, 3);
	CHECK(!rung(fake, FAKE_DB_RQ));
	say(fake, 0, DINGO_WC_RECV, 107);
	say(fake, 1, DINGO_WC_RECV_IMM, 0);
	say(fake, 2, DINGO_WC_RECV_WRITE_IMM, 1U << 24);	/* its bytes lie elsewhere */
	CHECK(poll(fake, &wc) == 1 && wc.wr_id == 1000 && !wc.status && wc.byte_len == 107);
	CHECK(poll(fake, &wc) == 1 && wc.wr_id == 1001 && !wc.status && wc.byte_len == 0);
	CHECK(poll(fake, &wc) == 1 && wc.wr_id == 1002 && !wc.status && wc.byte_len == 1U << 24);
	CHECK(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && !is_closed(fake));
	without_page(fake);
}

static void peer_completes_what_is_not_posted(void)
{
	struct fake *fake = with_page();
	struct ibv_wc wc;
	uint32_t i;

	for (i = 0; i < 4; i++)
		say(fake, i, DINGO_WC_RECV, 1);
	CHECK(poll(fake, &wc) == 0 && dingo_direct_waiting(&fake->cq) == 0);
	post(fake, 1);
	CHECK(dingo_direct_waiting(&fake->cq) == 1 && poll(fake, &wc) == 1 && wc.wr_id == 1000);
	CHECK(poll(fake, &wc) == 0 && fake->qp.rq.consumer == 1);
	/* nor by the card, which reads indexes that the peer can write */
	fake_complete(fake, DINGO_WC_RECV, 1, IBV_WC_SUCCESS, 1);
	CHECK(poll(fake, &wc) == 0 && fake->qp.rq.consumer == 1);
	post(fake, 4);
	CHECK(poll(fake, &wc) == 1 && wc.wr_id == 1001);
	without_page(fake);
}

static void peer_says_too_many_bytes(void)
{
	const uint32_t lies[] = { 108, 1U << 31, UINT32_MAX };
	struct ibv_wc wc;
	uint32_t i;

	for (i = 0; i < 3; i++) {
		struct fake *fake = with_page();

		post(fake, 2);
		say(fake, 0, DINGO_WC_RECV, lies[i]);
		CHECK(poll(fake, &wc) == 1 && wc.wr_id == 1000 && wc.byte_len == 0);
		CHECK(wc.status == IBV_WC_LOC_LEN_ERR && is_closed(fake));
		say(fake, 1, DINGO_WC_RECV, 1);
		CHECK(poll(fake, &wc) == 1 && wc.wr_id == 1001 && wc.status == IBV_WC_SUCCESS);
		without_page(fake);
	}
}

/* Opcodes of sends, or of a receive with an rkey that was not invalidated. */
static void peer_says_another_opcode(void)
{
	const uint32_t lies[] = { 0, DINGO_WC_RECV - 1, DINGO_WC_RECV_INV, UINT32_MAX };
	struct ibv_wc wc;
	uint32_t i;

	for (i = 0; i < 4; i++) {
		struct fake *fake = with_page();

		post(fake, 1);
		say(fake, 0, lies[i], 1);
		CHECK(poll(fake, &wc) == 1 && wc.wr_id == 1000 && wc.opcode == IBV_WC_RECV);
		CHECK(wc.status == IBV_WC_LOC_LEN_ERR && !wc.wc_flags && is_closed(fake));
		without_page(fake);
	}
}

/* Changes of the queue's description are ignored: it was copied before. */
static void peer_opens_what_is_closed(void)
{
	struct fake *fake = with_page();
	uint64_t start;

	dingo_direct_failed(&fake->qp);
	fake->qp.direct->own->open = GENERATION;
	fake->qp.direct->own->busy = DINGO_DIRECT_BUSY_RECEIVE;
	post(fake, 1);
	CHECK(rung(fake, FAKE_DB_RQ) == 1);
	start = dingo_now_ns();
	dingo_direct_arm(&fake->cq);
	CHECK(dingo_now_ns() - start < 50000000);
	fake->qp.direct->has_rq = false;
	atomic_store(&fake->qp.direct->told, false);
	post(fake, 1);
	CHECK(rung(fake, FAKE_DB_RQ) == 2);
	without_page(fake);
}

/* Completes the next receive as the card. */
static void card_completes(struct fake *fake)
{
	uint32_t index = fake->qp.rq.consumer;
	struct ibv_wc wc;

	fake_complete(fake, DINGO_WC_RECV, index & 3, IBV_WC_SUCCESS, 1);
	CHECK(poll(fake, &wc) == 1 && wc.wr_id == 1000 + index && wc.byte_len == 1);
}

/* Records of receives are compared by their low 32 bits. */
static void peer_record_is_of_this_pass(void)
{
	struct fake *fake = with_page();
	struct ibv_wc wc;
	uint32_t i;

	fake->qp.rq.producer = fake->qp.rq.consumer = 0xfffffff8;
	for (i = 0; i < 7; i++) {
		post(fake, 1);
		card_completes(fake);
	}
	/* 0 is the seq of an unused record, and that of index 0xffffffff */
	post(fake, 1);
	CHECK(poll(fake, &wc) == 0 && dingo_direct_waiting(&fake->cq) == 0);
	card_completes(fake);
	post(fake, 1);
	say(fake, 0, DINGO_WC_RECV, 7);
	CHECK(poll(fake, &wc) == 1 && wc.byte_len == 7);
	for (i = 1; i < 5; i++) {
		post(fake, 1);
		card_completes(fake);
	}
	/* receive 2^32 */
	fake->qp.rq.producer = fake->qp.rq.consumer = 0;
	post(fake, 1);
	CHECK(poll(fake, &wc) == 0 && dingo_direct_waiting(&fake->cq) == 0);
	without_page(fake);
}

static void card_takes_arm(struct fake *fake)
{
	fake->doorbell[FAKE_DB_CQ] |= DINGO_DOORBELL_WORD0_TAKEN_MASK;
}

/* The peer leaves requests to the card, which alone sends events, until the event of the last arming is certain. */
static void peer_waits_until_an_event_is_certain(void)
{
	struct fake_options options = rc;
	struct dingo_direct_page *page;
	struct fake *fake;
	struct ibv_wc wc;

	/* each poll overwrites an arming that the card has not taken */
	options.db_memory = true;
	fake = with_page_and(&options);
	page = fake->qp.direct->own;
	post(fake, 4);
	CHECK(!dingo_req_notify_cq(&fake->cq.vcq.cq, 0) && page->armed);
	fake_complete(fake, DINGO_WC_RECV, 0, IBV_WC_SUCCESS, 1);
	CHECK(poll(fake, &wc) == 1 && page->armed && rung(fake, FAKE_DB_CQ) == 1);
	card_takes_arm(fake);
	CHECK(poll(fake, &wc) == 0 && page->armed);
	fake_complete(fake, DINGO_WC_RECV, 1, IBV_WC_SUCCESS, 1);
	CHECK(poll(fake, &wc) == 1 && page->armed);
	dingo_cq_event(&fake->cq.vcq.cq);
	CHECK(!page->armed);
	/* taken in time */
	CHECK(!dingo_req_notify_cq(&fake->cq.vcq.cq, 0) && page->armed);
	card_takes_arm(fake);
	CHECK(poll(fake, &wc) == 0 && page->armed);
	fake_complete(fake, DINGO_WC_RECV, 2, IBV_WC_SUCCESS, 1);
	CHECK(poll(fake, &wc) == 1 && !page->armed);
	without_page(fake);
	/* taken after the poll, which rings nothing */
	options.cq_entries = 64;
	fake = with_page_and(&options);
	page = fake->qp.direct->own;
	post(fake, 4);
	CHECK(!dingo_req_notify_cq(&fake->cq.vcq.cq, 0) && page->armed);
	fake_complete(fake, DINGO_WC_RECV, 0, IBV_WC_SUCCESS, 1);
	CHECK(poll(fake, &wc) == 1 && page->armed && rung(fake, FAKE_DB_CQ) == 0);
	card_takes_arm(fake);
	CHECK(poll(fake, &wc) == 0 && !page->armed);
	without_page(fake);
}

static void *write_garbage(void *arg)
{
	struct fake *fake = arg;
	uint32_t *page = (uint32_t *)fake->qp.direct->own, seed = 1, n;

	while (!__atomic_load_n(&fake->status[1], __ATOMIC_RELAXED)) {
		seed = seed * 1664525 + 1013904223;
		n = seed >> 16;
		/* mostly indexes that are checked next */
		say(fake, atomic_load(&fake->qp.rq.consumer) + n % 3, DINGO_WC_RECV + (n >> 4) % 8,
		    n % 5 ? (n >> 8) % 110 : seed);
		__atomic_store_n(&page[(n >> 2) % (PAGE / 4)], n & 1 ? seed : seed >> 31 ? GENERATION : 0,
				 __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Each receive completes once, in order, with at most the bytes that it has room for. */
static void peer_writes_garbage(void)
{
	struct fake *fake = with_page();
	uint32_t polled = 0, posted = 0;
	uint64_t until = dingo_now_ns() + 10000000000;
	pthread_t thread;
	struct ibv_wc wc;

	CHECK(!pthread_create(&thread, NULL, write_garbage, fake));
	for (; polled < 500 && dingo_now_ns() < until; posted++) {
		post(fake, 1);
		if (posted % 2)
			continue;
		while (poll(fake, &wc) == 1) {
			CHECK(polled <= posted && wc.wr_id == 1000 + polled++);
			CHECK(wc.status == IBV_WC_SUCCESS || (wc.status == IBV_WC_LOC_LEN_ERR && !wc.byte_len));
			CHECK(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM || wc.byte_len <= 107);
		}
		CHECK(dingo_direct_waiting(&fake->cq) <= 4);
		while (posted + 1 - polled > 2 && dingo_now_ns() < until)
			polled += poll(fake, &wc);
	}
	__atomic_store_n(&fake->status[1], 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	CHECK(polled > 100);
	without_page(fake);
}

static const struct test_case cases[] = {
	CASE(peer_completes),
	CASE(peer_completes_what_is_not_posted),
	CASE(peer_says_too_many_bytes),
	CASE(peer_says_another_opcode),
	CASE(peer_opens_what_is_closed),
	CASE(peer_waits_until_an_event_is_certain),
	CASE(peer_record_is_of_this_pass),
	CASE(peer_writes_garbage),
};

int main(int argc, char **argv)
{
	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
