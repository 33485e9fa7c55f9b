// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Byte-exact tests of receiving, polling and doorbells; send_test.c: sending, resize_test.c: resizing. usage:
 * provider_data_path_test CASE
 */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cases.h"
#include "completion.h"
#include "queue_size.h"
#include "ring.h"

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

	/* three passes through the ring, always with an old entry of the last pass as the next one */
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

/* One poll returns sends, receives and entries of another QP in ring order. */
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
	/* a status unknown to verbs is still an error */
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
	/* not at each poll */
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 4, wc) == 4);
	CHECK(rung(fake, FAKE_DB_CQ) == 20);
	fake_free(fake);
}

/* An ibv_start_poll() that finds nothing may have skipped entries of a destroyed QP, which must also
 * be reported to the card.
 */
static void start_poll_reports_what_it_skips(void)
{
	struct fake_options big = rc;
	struct ibv_cq_init_attr_ex attr = {};
	struct ibv_poll_cq_attr none = {};
	struct fake *fake;
	uint32_t i;

	big.cq_entries = 64;
	fake = fake_new(&big);
	CHECK(dingo_cq_fill_ex_ops(&fake->cq, &attr) == 0);
	for (i = 0; i < 40; i++)
		fake_complete(fake, DINGO_WC_RECV, i, DINGO_WCS_WR_FLUSH_ERR, 0);
	dingo_cq_forget_qp(&fake->cq, &fake->qp);
	CHECK(ibv_start_poll(&fake->cq.vcq.cq_ex, &none) == ENOENT);
	CHECK(rung(fake, FAKE_DB_CQ) == 40 && fake->cq.lock.held == 0);
	fake_free(fake);
}

/* A caller that posts again before ibv_end_poll() may cycle through the ring many times. Consumed
 * entries are reported to the card, except the current one.
 */
static void next_poll_reports_consumption(void)
{
	struct fake_options big = rc;
	struct ibv_cq_init_attr_ex attr = {};
	struct ibv_poll_cq_attr none = {};
	struct ibv_cq_ex *ex;
	struct fake *fake;
	uint32_t i, known;

	big.cq_entries = 64;
	big.sq_blocks = 64;
	fake = fake_new(&big);
	ex = &fake->cq.vcq.cq_ex;
	CHECK(dingo_cq_fill_ex_ops(&fake->cq, &attr) == 0);
	for (i = 0; i < 64; i++)
		fake->qp.sq.sent[i].blocks = 1;
	fake_complete(fake, DINGO_WR_SEND, 0, 0, 0);
	CHECK(ibv_start_poll(ex, &none) == 0);
	for (i = 1; i < 200; i++) {
		fake_complete(fake, DINGO_WR_SEND, i & 63, 0, 0);
		CHECK(ibv_next_poll(ex) == 0);
		known = rung(fake, FAKE_DB_CQ);
		CHECK(known <= i && i - known < 16);
	}
	ibv_end_poll(ex);
	fake_free(fake);
}

/* Posting an empty list succeeds, even to a full queue. */
static void no_receives(void)
{
	struct fake_options shared = rc;
	struct fake *fake = fake_new(&rc);
	struct ibv_recv_wr *bad = NULL;

	CHECK(dingo_post_recv(&fake->qp.vqp.qp, NULL, &bad) == 0 && !bad);
	fake->qp.vqp.qp.state = IBV_QPS_RESET;
	CHECK(dingo_post_recv(&fake->qp.vqp.qp, NULL, &bad) == 0 && !bad);
	CHECK(fake->doorbell[FAKE_DB_RQ] == 0);
	fake_free(fake);
	shared.srq = true;
	fake = fake_new(&shared);
	CHECK(dingo_post_recv(&fake->qp.vqp.qp, NULL, &bad) == 0 && !bad);
	CHECK(dingo_post_srq_recv(&fake->srq.vsrq.srq, NULL, &bad) == 0 && !bad);
	CHECK(fake->doorbell[FAKE_DB_SRQ] == 0);
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
	/* a request for solicited completions does not cancel one for any before its event */
	CHECK(dingo_req_notify_cq(cq, 0) == 0);
	CHECK(!(fake->doorbell[FAKE_DB_CQ] & DINGO_DOORBELL_WORD0_ARM_SOLICITED_MASK));
	CHECK(dingo_req_notify_cq(cq, 1) == 0);
	CHECK(!(fake->doorbell[FAKE_DB_CQ] & DINGO_DOORBELL_WORD0_ARM_SOLICITED_MASK));
	dingo_cq_event(cq);
	CHECK(dingo_req_notify_cq(cq, 1) == 0);
	CHECK(fake->doorbell[FAKE_DB_CQ] & DINGO_DOORBELL_WORD0_ARM_SOLICITED_MASK);
	fake_free(fake);
}

/* All fields of ibv_wc are overwritten. */
static void every_field_is_written(void)
{
	struct fake *fake = fake_new(&rc);
	struct ibv_recv_wr *bad, wr = { .wr_id = 5 };
	struct ibv_wc wc;

	CHECK(dingo_post_recv(&fake->qp.vqp.qp, &wr, &bad) == 0);
	fake_complete(fake, DINGO_WC_RECV, 0, 0, 64);
	memset(&wc, 0xff, sizeof(wc));
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 1, &wc) == 1);
	CHECK(wc.wr_id == 5 && wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV && wc.byte_len == 64);
	CHECK(wc.vendor_err == 0 && wc.wc_flags == 0 && wc.qp_num == FAKE_QPN);
	CHECK(wc.pkey_index == 0 && wc.slid == 0 && wc.sl == 0 && wc.dlid_path_bits == 0);
	fake_free(fake);
}

/* The readers of an extended CQ return the same for a receive as ibv_poll_cq(). */
static void extended_poll_of_a_receive(void)
{
	struct fake *fake = fake_new(&rc);
	struct ibv_poll_cq_attr none = {};
	struct ibv_cq_init_attr_ex attr = { .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_QP_NUM };
	struct ibv_cq_ex *ex = &fake->cq.vcq.cq_ex;
	struct ibv_recv_wr *bad, wr = { .wr_id = 5 };

	CHECK(dingo_cq_fill_ex_ops(&fake->cq, &attr) == 0);
	CHECK(dingo_post_recv(&fake->qp.vqp.qp, &wr, &bad) == 0);
	wr.wr_id = 6;
	CHECK(dingo_post_recv(&fake->qp.vqp.qp, &wr, &bad) == 0);
	fake_complete(fake, DINGO_WC_RECV, 0, 0, 64);
	fake_complete(fake, DINGO_WC_RECV, 1, DINGO_WCS_WR_FLUSH_ERR, 0);
	CHECK(ibv_start_poll(ex, &none) == 0);
	CHECK(ex->wr_id == 5 && ex->status == IBV_WC_SUCCESS);
	CHECK(ibv_wc_read_opcode(ex) == IBV_WC_RECV && ibv_wc_read_byte_len(ex) == 64);
	CHECK(ibv_wc_read_qp_num(ex) == FAKE_QPN);
	CHECK(ibv_next_poll(ex) == 0);
	CHECK(ex->wr_id == 6 && ex->status == IBV_WC_WR_FLUSH_ERR);
	CHECK(ibv_next_poll(ex) == ENOENT);
	ibv_end_poll(ex);
	CHECK(fake->cq.consumer == 2);
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
	bad = NULL;
	CHECK(dingo_post_srq_recv(&fake->srq.vsrq.srq, &wr, &bad) == ENOMEM);
	CHECK(bad == &wr);
	/* completed out of order: only its tag is freed */
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

/* Receives of a destroyed QP are not delivered, and their tags of the SRQ are freed. */
static void forgotten_qp_gives_srq_tags_back(void)
{
	struct fake_options shared = rc;
	struct ibv_recv_wr *bad, wr = { .sg_list = sges, .num_sge = 1 };
	struct dingo_rq_wqe *wqe;
	struct ibv_wc wc[2];
	struct fake *fake;
	int i;

	shared.srq = true;
	fake = fake_new(&shared);
	for (i = 0; i < 4; i++)
		CHECK(dingo_post_srq_recv(&fake->srq.vsrq.srq, &wr, &bad) == 0);
	fake_complete(fake, DINGO_WC_RECV, 3, DINGO_WCS_WR_FLUSH_ERR, 0);
	fake_complete(fake, DINGO_WR_SEND, 0, DINGO_WCS_WR_FLUSH_ERR, 0);
	dingo_cq_forget_qp(&fake->cq, &fake->qp);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 2, wc) == 0);
	CHECK(dingo_post_srq_recv(&fake->srq.vsrq.srq, &wr, &bad) == 0);
	wqe = dingo_ring_entry(&fake->srq.ring, 4);
	CHECK(le32toh(wqe->tag) == 3);
	CHECK(dingo_post_srq_recv(&fake->srq.vsrq.srq, &wr, &bad) == ENOMEM);
	fake_free(fake);
}

/* An extended CQ has the requested readers only. */
static void extended_readers(void)
{
	struct fake *fake = fake_new(&rc);
	struct ibv_cq_ex *ex = &fake->cq.vcq.cq_ex;
	struct ibv_cq_init_attr_ex attr = {};
	const uint64_t flags[] = {
		IBV_WC_EX_WITH_BYTE_LEN, IBV_WC_EX_WITH_IMM, IBV_WC_EX_WITH_QP_NUM, IBV_WC_EX_WITH_SRC_QP,
		IBV_WC_EX_WITH_SLID, IBV_WC_EX_WITH_SL, IBV_WC_EX_WITH_DLID_PATH_BITS,
		IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	};
	size_t asked, n;

	for (asked = 0; asked < sizeof(flags) / sizeof(flags[0]); asked++) {
		bool has[sizeof(flags) / sizeof(flags[0])];

		ex->read_byte_len = NULL;
		ex->read_imm_data = NULL;
		ex->read_qp_num = NULL;
		ex->read_src_qp = NULL;
		ex->read_slid = NULL;
		ex->read_sl = NULL;
		ex->read_dlid_path_bits = NULL;
		ex->read_completion_ts = NULL;
		ex->read_completion_wallclock_ns = NULL;
		attr.wc_flags = flags[asked];
		CHECK(dingo_cq_fill_ex_ops(&fake->cq, &attr) == 0);
		CHECK(ex->start_poll && ex->next_poll && ex->end_poll && ex->read_opcode && ex->read_vendor_err &&
		      ex->read_wc_flags);
		has[0] = ex->read_byte_len;
		has[1] = ex->read_imm_data;
		has[2] = ex->read_qp_num;
		has[3] = ex->read_src_qp;
		has[4] = ex->read_slid;
		has[5] = ex->read_sl;
		has[6] = ex->read_dlid_path_bits;
		has[7] = ex->read_completion_ts;
		has[8] = ex->read_completion_wallclock_ns;
		for (n = 0; n < sizeof(flags) / sizeof(flags[0]); n++)
			CHECK(has[n] == (n == asked));
	}
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

/* A polling card sees the last value only: ARM_SN is incremented only if the card took the last request. */
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
	/* a request for any completion merges into a pending one; a stale event does not cancel it */
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

/* Reporting consumption neither requests an event nor clears TAKEN. */
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

/* A sleeping card with an eventfd is kicked; errno is preserved. */
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
	/* full counter: the kick is already pending */
	kicks = ~0ULL - 1;
	CHECK(write(memory.kick_fd, &kicks, sizeof(kicks)) == 8);
	errno = 77;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
	CHECK(errno == 77);
	close(memory.kick_fd);
	fake_free(fake);
}

/* After the card's death its completions are polled first, then polling fails. */
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
	/* bit 31 (FUTEX_WAITERS) and the owner's thread id are ignored */
	atomic_store(&fake->status[0], 0x80000000U | 1234);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 4, wc) == 0);
	fake_free(fake);
}

/* ibv_wc.sl reports the network header as in mlx4 and mlx5; UCX drops datagrams without it. */
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
	void *next;			/* memory to return */
	void *back;			/* memory that was freed */
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

/* Parent domains of an imported PD may be deallocated after ibv_unimport_pd(3). */
static void unimported_pd_is_freed_at_last(void)
{
	struct dingo_context ctx = {};
	size_t bytes = 0;
	int i, n;

	/* freed memory counts as in use while malloc() caches it, so the first rounds are left out */
	for (n = 0; n < 40; n++) {
		struct dingo_pd *pd = calloc(1, sizeof(*pd));
		struct ibv_parent_domain_init_attr attr = { .pd = &pd->pd };
		struct ibv_pd *domains[2];

		atomic_init(&pd->refcount, 1);
		pd->pd.context = &ctx.vctx.context;
		for (i = 0; i < 2; i++)
			CHECK((domains[i] = dingo_alloc_parent_domain(&ctx.vctx.context, &attr)));
		dingo_unimport_pd(&pd->pd);
		for (i = 0; i < 2; i++)
			CHECK(to_dingo_pd(domains[i])->parent == pd && dingo_dealloc_pd(domains[i]) == 0);
		if (n == 19)
			bytes = heap_in_use();
	}
	CHECK(heap_in_use() == bytes);
}

/* ibv_alloc_parent_domain(3): NULL is an error; with IBV_ALLOCATOR_USE_DEFAULT `free` is not called. */
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

/* A stamp has 48 bits of the card's clock; the pair resolves the wrap-around, before and after it. */
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
	/* the card died while writing: the reader returns, with the former pair */
	page = (struct dingo_clock_page){ .sequence = 3, .card_ns = 1, .real_ns = 2 };
	dingo_clock_read(&page, &clock);
	CHECK(clock.card_ns == 77 && clock.real_ns == 1000);
}

/* Extended polling with wall clock converts by the pair at the time of reading. */
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

/* Attributes refused before the kernel is asked (there is no fake kernel: it would crash). */
static int cq_error(struct fake *fake, struct ibv_cq_init_attr_ex attr, bool device_polls)
{
	errno = 0;
	CHECK(!dingo_make_cq_ex(&fake->ctx.vctx.context, &attr, device_polls));
	return errno;
}

static void cq_refusals(void)
{
	static const struct {
		struct ibv_cq_init_attr_ex attr;
		uint64_t caps;
		int error;
	} rows[] = {
		{ { .cqe = 0 }, 0, EINVAL },
		{ { .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD << 1 }, 0, EOPNOTSUPP },
		{ { .cqe = 1, .wc_flags = IBV_WC_EX_WITH_CVLAN }, 0, EOPNOTSUPP },
		{ { .cqe = 1, .wc_flags = IBV_WC_EX_WITH_FLOW_TAG }, 0, EOPNOTSUPP },
		{ { .cqe = 1, .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP }, 0, EOPNOTSUPP },
		{ { .cqe = 0, .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP }, DINGO_CAP_TIMESTAMP, EINVAL },
		{ { .cqe = 1, .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK }, DINGO_CAP_TIMESTAMP, EOPNOTSUPP },
		{ { .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN }, 0, EOPNOTSUPP },
		{ { .cqe = 0, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED }, 0, EINVAL },
		/* flags without the bit in comp_mask are ignored */
		{ { .cqe = 0, .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN }, 0, EINVAL },
	};
	struct fake *fake = fake_new(&rc);
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fake->ctx.caps = rows[i].caps;
		CHECK(cq_error(fake, rows[i].attr, false) == rows[i].error);
	}
	fake->ctx.caps = 0;
	CHECK(cq_error(fake, (struct ibv_cq_init_attr_ex){ .cqe = 1 }, true) == EOPNOTSUPP);
	for (i = 0; i < 2; i++) {
		errno = 0;
		CHECK(!dingo_create_cq(&fake->ctx.vctx.context, -(int)i, NULL, 0) && errno == EINVAL);
	}
	fake_free(fake);
}

static void srq_refusals(void)
{
	static const struct {
		uint32_t comp_mask, type, max_wr, max_sge;
		int error;
	} rows[] = {
		{ 0, 0, 1, 1, EINVAL },
		{ IBV_SRQ_INIT_ATTR_TYPE, 0, 1, 1, EINVAL },
		{ IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE, IBV_SRQT_XRC, 1, 1, EOPNOTSUPP },
		{ IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE, IBV_SRQT_BASIC, 17, 1, EINVAL },
		{ IBV_SRQ_INIT_ATTR_PD, IBV_SRQT_XRC, 1, DINGO_RQ_MAX_SGE + 1, EINVAL },
	};
	struct fake *fake = fake_new(&rc);
	struct ibv_context *context = &fake->ctx.vctx.context;
	struct ibv_srq_init_attr small = { .attr = { .max_wr = 17, .max_sge = 1 } };
	size_t i;

	fake->ctx.log_max_rq = 4;
	fake->pd.pd.context = context;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ibv_srq_init_attr_ex attr = {
			.attr = { .max_wr = rows[i].max_wr, .max_sge = rows[i].max_sge },
			.comp_mask = rows[i].comp_mask, .srq_type = rows[i].type, .pd = &fake->pd.pd,
		};

		errno = 0;
		CHECK(!dingo_create_srq_ex(context, &attr) && errno == rows[i].error);
	}
	errno = 0;
	CHECK(!dingo_create_srq(&fake->pd.pd, &small) && errno == EINVAL);
	fake_free(fake);
}

/* The largest valid number, and one more. */
static void queue_sizes(void)
{
	struct dingo_context ctx = { .log_max_rq = 4 };
	uint8_t size = 99, stride = 99;

	CHECK(dingo_rq_size(&ctx, 16, DINGO_RQ_MAX_SGE, &size, &stride) == 0 && size == 4);
	CHECK(dingo_rq_size(&ctx, 17, 1, &size, &stride) == EINVAL);
	CHECK(dingo_rq_size(&ctx, 16, DINGO_RQ_MAX_SGE + 1, &size, &stride) == EINVAL);
	CHECK(dingo_rq_size(&ctx, 9, 0, &size, &stride) == 0 && size == 4 && stride == 5);
	CHECK(dingo_rq_size(&ctx, 8, 1, &size, &stride) == 0 && size == 3 && stride == 5);
	CHECK(dingo_rq_size(&ctx, 1, 2, &size, &stride) == 0 && size == 0 && stride == 6);
	CHECK(dingo_rq_sges(5) == 1 && dingo_rq_sges(6) == 3 && dingo_rq_sges(8) == DINGO_RQ_MAX_SGE);
	CHECK(dingo_log2_up(0) == 0 && dingo_log2_up(1) == 0 && dingo_log2_up(2) == 1);
	CHECK(dingo_log2_up(3) == 2 && dingo_log2_up(4) == 2 && dingo_log2_up(5) == 3);
	CHECK(dingo_wqe_blocks(32, 0) == 1 && dingo_wqe_blocks(32, 32) == 1);
	CHECK(dingo_wqe_blocks(32, 33) == 2 && dingo_wqe_blocks(48, 80) == 2);
}

static const struct test_case cases[] = {
	CASE(cq_refusals), CASE(srq_refusals), CASE(queue_sizes),
	CASE(post_recv), CASE(poll_cq_phases), CASE(poll_cq_mixed), CASE(poll_cq_errors), CASE(datagram_service_level),
	CASE(poll_skips_forgotten_qp), CASE(cq_reports_consumption), CASE(start_poll_reports_what_it_skips),
	CASE(next_poll_reports_consumption), CASE(no_receives), CASE(arming),
	CASE(srq_tags), CASE(doorbell_memory), CASE(arming_in_memory), CASE(reporting_in_memory), CASE(kick_fd), CASE(card_gone),
	CASE(every_field_is_written), CASE(extended_poll_of_a_receive),
	CASE(forgotten_qp_gives_srq_tags_back), CASE(extended_readers), CASE(parent_domain_allocators), CASE(unimported_pd_is_freed_at_last), CASE(wallclock), CASE(poll_wallclock),
};

int main(int argc, char **argv)
{
	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
