// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Results of ibv_poll_cq() and extended polling, and when they yield. usage: provider_poll_test CASE */
#include <errno.h>
#include <time.h>

#include "cases.h"
#include "step.h"

enum { SRC_QP = 0x654321, SL = 5 };

/* Code paths that read an entry. */
enum road { LAST_QP, OTHER_QP, SHARED, EXTENDED, EXTENDED_SHARED, ROADS };

static bool is_shared(enum road road)
{
	return road == SHARED || road == EXTENDED_SHARED;
}

static bool is_extended(enum road road)
{
	return road == EXTENDED || road == EXTENDED_SHARED;
}

static struct fake *new_fake(enum road road)
{
	struct fake_options options = rc;
	struct ibv_cq_init_attr_ex attr = {
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP };
	struct fake *fake;

	options.srq = is_shared(road);
	fake = fake_new(&options);
	CHECK(dingo_cq_fill_ex_ops(&fake->cq, &attr) == 0);
	fake->cq.last_qp = road == LAST_QP ? &fake->qp : &dingo_no_qp;
	return fake;
}

static void post_recv(struct fake *fake, uint64_t wr_id)
{
	struct ibv_recv_wr *bad, wr = { .wr_id = wr_id };

	CHECK((fake->qp.srq ? dingo_post_srq_recv(&fake->srq.vsrq.srq, &wr, &bad) :
			      dingo_post_recv(&fake->qp.vqp.qp, &wr, &bad)) == 0);
}

/* Polls one entry by any of the paths into a struct ibv_wc. Returns false if there was none. */
static bool poll_one(struct fake *fake, enum road road, struct ibv_wc *wc)
{
	struct ibv_cq_ex *ex = &fake->cq.vcq.cq_ex;
	struct ibv_poll_cq_attr none = {};

	memset(wc, 0xff, sizeof(*wc));
	if (!is_extended(road))
		return dingo_poll_cq(&fake->cq.vcq.cq, 1, wc) == 1;
	if (ibv_start_poll(ex, &none))
		return false;
	CHECK(fake->cq.lock.held == 1);
	wc->wr_id = ex->wr_id;
	wc->status = ex->status;
	wc->opcode = ibv_wc_read_opcode(ex);
	wc->vendor_err = ibv_wc_read_vendor_err(ex);
	wc->byte_len = ibv_wc_read_byte_len(ex);
	wc->wc_flags = ibv_wc_read_wc_flags(ex);
	if (wc->wc_flags & IBV_WC_WITH_INV)
		wc->invalidated_rkey = ibv_wc_read_invalidated_rkey(ex);
	else
		wc->imm_data = ibv_wc_read_imm_data(ex);
	wc->qp_num = ibv_wc_read_qp_num(ex);
	wc->src_qp = ibv_wc_read_src_qp(ex);
	wc->pkey_index = 0;
	wc->slid = ibv_wc_read_slid(ex);
	wc->sl = ibv_wc_read_sl(ex);
	wc->dlid_path_bits = ibv_wc_read_dlid_path_bits(ex);
	ibv_end_poll(ex);
	CHECK(!fake->cq.cur);
	return true;
}

static struct dingo_cqe *last_entry(struct fake *fake)
{
	return dingo_ring_entry(&fake->cq.ring, fake->cq_producer - 1);
}

/* All paths return the same for every kind of receive. */
static void receives(void)
{
	static const struct {
		uint8_t op, flags;
		enum ibv_wc_opcode opcode;
		unsigned int wc_flags, sl;
		bool invalidates;
	} rows[] = {
		{ DINGO_WC_RECV, 0, IBV_WC_RECV, 0, SL, false },
		{ DINGO_WC_RECV, DINGO_CQE_FLAGS_GRH_MASK, IBV_WC_RECV, IBV_WC_GRH, 9, false },
		{ DINGO_WC_RECV, DINGO_CQE_FLAGS_GRH_MASK | DINGO_CQE_FLAGS_IPV4_MASK, IBV_WC_RECV, IBV_WC_GRH, 10, false },
		{ DINGO_WC_RECV_IMM, DINGO_CQE_FLAGS_IMM_MASK, IBV_WC_RECV, IBV_WC_WITH_IMM, SL, false },
		{ DINGO_WC_RECV_IMM, DINGO_CQE_FLAGS_IMM_MASK | DINGO_CQE_FLAGS_GRH_MASK, IBV_WC_RECV,
		  IBV_WC_WITH_IMM | IBV_WC_GRH, 9, false },
		{ DINGO_WC_RECV_INV, DINGO_CQE_FLAGS_INV_MASK, IBV_WC_RECV, IBV_WC_WITH_INV, SL, true },
		{ DINGO_WC_RECV_WRITE_IMM, DINGO_CQE_FLAGS_IMM_MASK, IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM, SL, false },
	};
	enum road road;
	unsigned int i;

	for (road = 0; road < ROADS; road++) {
		struct fake *fake = new_fake(road);

		for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			struct dingo_cqe *cqe;
			struct ibv_wc wc;

			post_recv(fake, 700 + i);
			fake_complete(fake, rows[i].op, is_shared(road) ? 0 : i & 3, DINGO_WCS_SUCCESS, 64 + i);
			cqe = last_entry(fake);
			cqe->flags = rows[i].flags;
			cqe->imm = (__force __be32)htole32(0x11223344);
			cqe->src_qpn = htole32(DINGO_PREP(DINGO_CQE_SRC_QPN_SL_MASK, SL) | SRC_QP);
			if (road == OTHER_QP)
				fake->cq.last_qp = &dingo_no_qp;
			CHECK(poll_one(fake, road, &wc));
			CHECK(wc.wr_id == 700 + i && wc.status == IBV_WC_SUCCESS && wc.opcode == rows[i].opcode);
			CHECK(wc.vendor_err == 0 && wc.byte_len == 64 + i && wc.qp_num == FAKE_QPN && wc.src_qp == SRC_QP);
			CHECK(wc.wc_flags == rows[i].wc_flags && wc.sl == rows[i].sl);
			CHECK(wc.pkey_index == 0 && wc.slid == 0 && wc.dlid_path_bits == 0);
			if (rows[i].invalidates)
				CHECK(wc.invalidated_rkey == 0x11223344);
			else
				CHECK(wc.imm_data == (__force __be32)htole32(0x11223344));
			CHECK(!poll_one(fake, road, &wc) && fake->cq.lock.held == 0);
		}
		fake_free(fake);
	}
}

/* Each polled receive makes room for another. */
static void a_polled_receive_makes_room(void)
{
	enum road road;
	unsigned int i;

	for (road = 0; road < ROADS; road++) {
		struct fake *fake = new_fake(road);
		struct ibv_recv_wr *bad, wr = {};
		struct ibv_wc wc;

		for (i = 0; i < 4; i++)
			post_recv(fake, i);
		for (i = 0; i < 9; i++) {
			fake_complete(fake, DINGO_WC_RECV, i & 3, DINGO_WCS_SUCCESS, 0);
			if (road == OTHER_QP)
				fake->cq.last_qp = &dingo_no_qp;
			CHECK(poll_one(fake, road, &wc));
			post_recv(fake, i);
			CHECK((is_shared(road) ? dingo_post_srq_recv(&fake->srq.vsrq.srq, &wr, &bad) :
						 dingo_post_recv(&fake->qp.vqp.qp, &wr, &bad)) == ENOMEM);
		}
		fake_free(fake);
	}
}

/* A send completion has its request's wr_id and opcode, and no flag of a receive. */
static void sends(void)
{
	enum road road;

	for (road = 0; road < ROADS; road++) {
		struct fake *fake = new_fake(road);
		struct ibv_send_wr *bad, wr = { .wr_id = 40, .opcode = IBV_WR_RDMA_READ, .send_flags = IBV_SEND_SIGNALED };
		struct ibv_wc wc;

		CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
		fake_complete(fake, DINGO_WR_READ, 0, DINGO_WCS_SUCCESS, 99);
		last_entry(fake)->flags = 0xff;
		CHECK(poll_one(fake, road, &wc));
		CHECK(wc.wr_id == 40 && wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RDMA_READ);
		CHECK(wc.wc_flags == 0 && wc.vendor_err == 0 && wc.byte_len == 99 && wc.qp_num == FAKE_QPN);
		fake_free(fake);
	}
}

/* The last status of verbs, and the one after it. */
static void failures(void)
{
	static const struct {
		uint8_t status;
		enum ibv_wc_status wants;
	} rows[] = {
		{ DINGO_WCS_LOC_LEN_ERR, IBV_WC_LOC_LEN_ERR },
		{ DINGO_WCS_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR },
		{ IBV_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR },
		{ IBV_WC_GENERAL_ERR + 1, IBV_WC_GENERAL_ERR },
		{ 255, IBV_WC_GENERAL_ERR },
	};
	enum road road;
	size_t i;

	for (road = 0; road < ROADS; road++) {
		struct fake *fake = new_fake(road);

		for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			struct ibv_wc wc;

			post_recv(fake, 5);
			fake_complete(fake, DINGO_WC_RECV, is_shared(road) ? 0 : i & 3, rows[i].status, 0);
			last_entry(fake)->vendor_err = 0x81 + i;
			CHECK(poll_one(fake, road, &wc));
			CHECK(wc.wr_id == 5 && wc.status == rows[i].wants && wc.vendor_err == 0x81 + i);
		}
		fake_free(fake);
	}
}

/* An invalid entry, or one of a destroyed QP, is skipped and consumes no receive. */
static void senseless_entries_are_skipped(void)
{
	/* QPNs: unused, without a table, and formerly in the slot */
	static const uint32_t strangers[] = { FAKE_QPN + 1, FAKE_QPN + DINGO_QP_TABLE_SIZE, FAKE_QPN ^ 0x10000 };
	enum road road;
	unsigned int i;

	for (road = 0; road < ROADS; road++) {
		struct fake *fake = new_fake(road);
		struct ibv_wc wc;

		post_recv(fake, 8);
		fake_complete(fake, DINGO_WC_RECV_WRITE_IMM + 1, 0, DINGO_WCS_SUCCESS, 0);
		fake_complete(fake, 255, 0, DINGO_WCS_SUCCESS, 0);
		for (i = 0; i < 3; i++) {
			fake_complete(fake, i == 1 ? DINGO_WR_SEND : DINGO_WC_RECV, 0, DINGO_WCS_SUCCESS, 0);
			last_entry(fake)->qpn_op = htole32((le32toh(last_entry(fake)->qpn_op) & ~DINGO_CQE_QPN_OP_QPN_MASK) |
							   strangers[i]);
		}
		CHECK(!poll_one(fake, road, &wc));
		CHECK(fake->cq.consumer == 5 && fake->qp.rq.consumer == 0 && fake->qp.sq.consumer == 0);
		fake_complete(fake, DINGO_WC_RECV, 0, DINGO_WCS_SUCCESS, 0);
		CHECK(poll_one(fake, road, &wc) && wc.wr_id == 8);
		fake_free(fake);
	}
}

/* The last tag of an SRQ is valid, the next number is not. */
static void tags_of_an_srq_end(void)
{
	static const enum road roads[] = { SHARED, EXTENDED_SHARED };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct fake *fake = new_fake(roads[i]);
		struct ibv_recv_wr *bad, wr = {};
		struct ibv_wc wc;
		unsigned int n;

		for (n = 0; n < 4; n++)
			post_recv(fake, n);
		fake_complete(fake, DINGO_WC_RECV, 4, DINGO_WCS_SUCCESS, 0);
		CHECK(!poll_one(fake, roads[i], &wc));
		dingo_srq_free_tag(&fake->srq, 4);
		CHECK(dingo_post_srq_recv(&fake->srq.vsrq.srq, &wr, &bad) == ENOMEM);
		fake_complete(fake, DINGO_WC_RECV, 3, DINGO_WCS_SUCCESS, 0);
		CHECK(poll_one(fake, roads[i], &wc) && wc.wr_id == 3);
		CHECK(fake->srq.lock.held == 0);
		fake_free(fake);
	}
}

/* Entries beyond the requested number stay in the CQ. */
static void no_more_than_asked_for(void)
{
	struct fake *fake = new_fake(LAST_QP);
	struct ibv_wc wc[4] = {};
	unsigned int i;

	for (i = 0; i < 3; i++) {
		post_recv(fake, i);
		fake_complete(fake, DINGO_WC_RECV, i, DINGO_WCS_SUCCESS, 0);
	}
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 0, wc) == 0 && fake->cq.consumer == 0);
	wc[2].wr_id = 77;
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 2, wc) == 2 && wc[1].wr_id == 1 && wc[2].wr_id == 77);
	fake->cq.last_qp = &dingo_no_qp;
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 0, wc) == 0 && fake->cq.consumer == 2);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 1, wc) == 1 && wc[0].wr_id == 2);
	CHECK(fake->cq.lock.held == 0);
	fake_free(fake);
}

/* All paths report consumption to the card after an eighth of the ring, and not before. */
static void consumption_is_reported_when_an_eighth_is_polled(void)
{
	enum road road;
	uint32_t i;

	for (road = LAST_QP; road <= EXTENDED; road += EXTENDED - LAST_QP) {
		struct fake_options big = rc;
		struct ibv_cq_init_attr_ex attr = { .wc_flags = IBV_WC_STANDARD_FLAGS };
		struct fake *fake;
		struct ibv_wc wc;

		big.cq_entries = 64;
		fake = fake_new(&big);
		CHECK(dingo_cq_fill_ex_ops(&fake->cq, &attr) == 0);
		for (i = 0; i < 30; i++) {
			fake->qp.sq.sent[i & 7].blocks = 1;
			fake_complete(fake, DINGO_WR_SEND, i, 0, 0);
			CHECK(poll_one(fake, road, &wc));
			CHECK(rung(fake, FAKE_DB_CQ) == (i + 1) / 8 * 8);
		}
		fake_free(fake);
	}
}

/* A new QP with the number of a destroyed one gets its own completions. */
static void a_forgotten_qp_is_not_the_last_one(void)
{
	struct fake *fake = new_fake(LAST_QP);
	struct dingo_qp gone = fake->qp;
	struct ibv_wc wc;

	fake->cq.last_qp = &gone;
	dingo_cq_forget_qp(&fake->cq, &fake->qp);
	CHECK(fake->cq.last_qp == &gone);
	dingo_cq_forget_qp(&fake->cq, &gone);
	CHECK(fake->cq.last_qp == &dingo_no_qp && fake->cq.lock.held == 0);
	post_recv(fake, 3);
	fake_complete(fake, DINGO_WC_RECV, 0, DINGO_WCS_SUCCESS, 0);
	CHECK(poll_one(fake, LAST_QP, &wc) && fake->qp.rq.consumer == 1 && gone.rq.consumer == 0);
	fake_free(fake);
}

/* Only the QP's own entries are discarded, and only those that the card has written. */
static void who_is_forgotten_takes_nothing_of_others(void)
{
	struct fake *fake = new_fake(OTHER_QP);
	struct dingo_qp other = { .qpn = FAKE_QPN + 1 };
	struct ibv_wc wc[2];

	post_recv(fake, 3);
	fake_complete(fake, DINGO_WC_RECV, 0, DINGO_WCS_SUCCESS, 0);
	dingo_cq_forget_qp(&fake->cq, &other);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 2, wc) == 1 && wc[0].wr_id == 3);
	fake_free(fake);
}

/* Polled entries stay in the ring until overwritten; their receives must not be freed twice. */
static void what_was_polled_is_not_forgotten_again(void)
{
	struct fake *fake = new_fake(SHARED);
	struct ibv_recv_wr *bad, wr = {};
	struct ibv_wc wc;
	unsigned int i;

	for (i = 0; i < 4; i++)
		post_recv(fake, i);
	fake_complete(fake, DINGO_WC_RECV, 2, DINGO_WCS_SUCCESS, 0);
	CHECK(poll_one(fake, SHARED, &wc));
	post_recv(fake, 9);
	/* in the second pass the polled entries of the first pass lie ahead */
	fake->cq.consumer = 8;
	dingo_cq_forget_qp(&fake->cq, &fake->qp);
	CHECK(dingo_post_srq_recv(&fake->srq.vsrq.srq, &wr, &bad) == ENOMEM);
	fake_free(fake);
}

static void extended_polling_takes_no_options(void)
{
	struct fake *fake = new_fake(EXTENDED);
	struct ibv_poll_cq_attr attr = { .comp_mask = 1 };

	post_recv(fake, 3);
	fake_complete(fake, DINGO_WC_RECV, 0, DINGO_WCS_SUCCESS, 0);
	CHECK(ibv_start_poll(&fake->cq.vcq.cq_ex, &attr) == EINVAL);
	CHECK(fake->cq.lock.held == 0 && fake->cq.consumer == 0);
	fake_free(fake);
}

/* All 48 bits are returned. */
static void the_time_stamp_of_an_entry(void)
{
	struct fake *fake = new_fake(EXTENDED);
	struct ibv_poll_cq_attr none = {};
	struct ibv_cq_ex *ex = &fake->cq.vcq.cq_ex;

	post_recv(fake, 3);
	fake_complete(fake, DINGO_WC_RECV, 0, DINGO_WCS_SUCCESS, 0);
	last_entry(fake)->ts_hi = htole16(0x8123);
	last_entry(fake)->ts_lo = htole32(0x87654321);
	CHECK(ibv_start_poll(ex, &none) == 0);
	CHECK(ibv_wc_read_completion_ts(ex) == 0x812387654321);
	ibv_end_poll(ex);
	fake_free(fake);
}

/* A poll waits while another thread holds the CQ's lock. */
static void polling_waits_for_another_thread(void)
{
	enum road road;

	for (road = 0; road < ROADS; road++) {
		struct fake *fake = new_fake(road);
		struct holder holder;
		struct ibv_wc wc;

		post_recv(fake, 3);
		fake_complete(fake, DINGO_WC_RECV, 0, DINGO_WCS_SUCCESS, 0);
		hold(&holder, &fake->cq.lock);
		CHECK(poll_one(fake, road, &wc) && wc.wr_id == 3);
		CHECK(was_waited_for(&holder));
		fake_free(fake);
	}
}

/* A receive of an SRQ is freed under the SRQ's lock. */
static void a_polled_receive_waits_for_who_posts(void)
{
	static const enum road roads[] = { SHARED, EXTENDED_SHARED };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct fake *fake = new_fake(roads[i]);
		struct holder holder;
		struct ibv_wc wc;

		post_recv(fake, 3);
		fake_complete(fake, DINGO_WC_RECV, 0, DINGO_WCS_SUCCESS, 0);
		hold(&holder, &fake->srq.lock);
		CHECK(poll_one(fake, roads[i], &wc));
		CHECK(was_waited_for(&holder));
		fake_free(fake);
	}
}

/* Arming, events and discarding of a QP's entries are done under the CQ's lock. */
static void all_of_a_cq_is_one_threads(void)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		struct fake *fake = new_fake(LAST_QP);
		struct holder holder;

		hold(&holder, &fake->cq.lock);
		if (i == 0)
			CHECK(dingo_req_notify_cq(&fake->cq.vcq.cq, 0) == 0);
		else if (i == 1)
			dingo_cq_event(&fake->cq.vcq.cq);
		else
			dingo_cq_forget_qp(&fake->cq, &fake->qp);
		CHECK(was_waited_for(&holder));
		fake_free(fake);
	}
}

static unsigned int yields;
static long slept, sleeps;
static bool counting;

int sched_yield(void)
{
	yields++;
	return 0;
}

/* Replaces libc's function, to record the calls of cq_poll.c. */
int nanosleep(const struct timespec *time, struct timespec *rest)
{
	if (!counting)
		return clock_nanosleep(CLOCK_MONOTONIC, 0, time, rest);
	CHECK(time->tv_sec == 0);
	sleeps++;
	slept = time->tv_nsec;
	return 0;
}

/*
 * Empty polls yield while the card waits for a processor: first by sched_yield(), then by sleeping with increasing
 * duration, up to a third of a millisecond. A successful poll resets the backoff.
 */
static void empty_polls_give_way_to_a_crowded_card(void)
{
	enum road road;
	long n;

	for (road = LAST_QP; road <= EXTENDED; road += EXTENDED - LAST_QP) {
		struct fake *fake = new_fake(road);
		struct ibv_wc wc;
		int pass;

		counting = true;
		yields = sleeps = 0;
		CHECK(!poll_one(fake, road, &wc) && yields == 0);
		atomic_store(&fake->status[DINGO_STATUS_CROWDED_OFFSET / 4], 1);
		for (pass = 0; pass < 2; pass++) {
			yields = sleeps = 0;
			for (n = 1; n <= 64; n++)
				CHECK(!poll_one(fake, road, &wc) && yields == n && sleeps == 0);
			for (n = 0; n < 8; n++) {
				CHECK(!poll_one(fake, road, &wc) && yields == 64 && sleeps == n + 1);
				CHECK(slept == 10000L << (n < 5 ? n : 5));
			}
			post_recv(fake, 3);
			fake_complete(fake, DINGO_WC_RECV, pass, DINGO_WCS_SUCCESS, 0);
			CHECK(poll_one(fake, road, &wc) && yields == 64 && sleeps == 8);
		}
		atomic_store(&fake->status[DINGO_STATUS_CROWDED_OFFSET / 4], 0);
		CHECK(!poll_one(fake, road, &wc) && yields == 64 && sleeps == 8);
		counting = false;
		fake_free(fake);
	}
}

struct poll_and_post {
	struct fake *fake;
	struct ibv_wc wc;
};

static void poll_stepped(void *arg)
{
	struct poll_and_post *both = arg;

	CHECK(dingo_poll_cq(&both->fake->cq.vcq.cq, 1, &both->wc) == 1);
}

/* Posts as another thread that finds the queue full until now. */
static void overwrite_freed_record(void *arg)
{
	struct dingo_sq *sq = &((struct poll_and_post *)arg)->fake->qp.sq;

	if (atomic_load(&sq->consumer))
		sq->sent[0] = (struct dingo_sent){ .wr_id = 2, .blocks = 1, .opcode = IBV_WC_RDMA_READ };
}

static void freed_record_is_not_read(void)
{
	struct poll_and_post both = { .fake = fake_new(&rc) };
	struct ibv_send_wr *bad, wr = { .wr_id = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };

	CHECK(dingo_post_send(&both.fake->qp.vqp.qp, &wr, &bad) == 0);
	fake_complete(both.fake, DINGO_WR_SEND, 0, IBV_WC_SUCCESS, 0);
	both.fake->cq.last_qp = &both.fake->qp;
	CHECK(step_through(poll_stepped, overwrite_freed_record, &both) > 1 || !CAN_STEP);
	CHECK(both.wc.wr_id == 1 && both.wc.opcode == IBV_WC_SEND);
	fake_free(both.fake);
}

static const struct test_case cases[] = {
	CASE(receives), CASE(a_polled_receive_makes_room), CASE(sends), CASE(failures), CASE(senseless_entries_are_skipped),
	CASE(tags_of_an_srq_end), CASE(no_more_than_asked_for), CASE(consumption_is_reported_when_an_eighth_is_polled),
	CASE(a_forgotten_qp_is_not_the_last_one), CASE(who_is_forgotten_takes_nothing_of_others),
	CASE(what_was_polled_is_not_forgotten_again), CASE(extended_polling_takes_no_options), CASE(the_time_stamp_of_an_entry), CASE(polling_waits_for_another_thread),
	CASE(a_polled_receive_waits_for_who_posts), CASE(all_of_a_cq_is_one_threads),
	CASE(empty_polls_give_way_to_a_crowded_card), CASE(freed_record_is_not_read),
};

int main(int argc, char **argv)
{
	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
