// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Resizing of CQs with rings in the test's memory. usage: provider_resize_test CASE */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "abi.h"
#include "cases.h"
#include "completion.h"
#include "ring.h"

/* Does what dingo_resize_cq() does after the kernel's answer: the card continues at entry 0 of a new
 * ring.
 */
static void resize(struct fake *fake)
{
	struct dingo_ring ring = fake->cq.ring;
	struct dingo_old_entries *room = dingo_cq_make_room(&fake->cq);
	uint32_t switch_index = fake->cq_producer;

	/* a mapped ring replaces the fake's heap ring, as the old ring will be unmapped */
	ring.bytes = 4096;
	ring.buf = mmap(NULL, ring.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(ring.buf != MAP_FAILED);
	dingo_cq_switch_ring(&fake->cq, &ring, switch_index, room);
	fake->cq_producer = 0;
}

static struct fake *new_fake(void)
{
	struct fake *fake = fake_new(&rc);
	uint32_t i;

	/* a first resize, with nothing to drain, replaces the heap's ring by a mapped one */
	void *heap = fake->cq.ring.buf;

	fake->cq.ring.bytes = 4096;
	fake->cq.ring.buf = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	free(heap);
	resize(fake);
	for (i = 0; i < 8; i++) {
		fake->qp.sq.sent[i].blocks = 1;
		fake->qp.sq.sent[i].wr_id = i;
	}
	return fake;
}

static void drop_fake(struct fake *fake)
{
	free(fake->cq.old);
	dingo_ring_unmap(&fake->cq.ring);
	fake_free(fake);
}

static void resize_drains_old_ring(void)
{
	struct fake *fake = new_fake();
	struct ibv_wc wc[8];
	uint32_t i;

	for (i = 0; i < 3; i++)
		fake_complete(fake, DINGO_WR_SEND, i, 0, 0);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 1, wc) == 1);
	resize(fake);
	fake_complete(fake, DINGO_WR_SEND, 3, 0, 0);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 8, wc) == 3);
	CHECK(wc[0].wr_id == 1 && wc[1].wr_id == 2 && wc[2].wr_id == 3);
	CHECK(!fake->cq.old && fake->cq.consumer == 1);
	drop_fake(fake);
}

/* Repeated resizes, with entries left in all, some or no rings, or half polled. */
static void resize_again_before_polling(void)
{
	struct fake *fake = new_fake();
	struct ibv_wc wc[8];
	uint32_t i;

	fake_complete(fake, DINGO_WR_SEND, 0, 0, 0);
	fake_complete(fake, DINGO_WR_SEND, 1, 0, 0);
	resize(fake);
	fake_complete(fake, DINGO_WR_SEND, 2, 0, 0);
	fake_complete(fake, DINGO_WR_SEND, 3, 0, 0);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 1, wc) == 1 && wc[0].wr_id == 0);
	resize(fake);
	resize(fake);
	fake_complete(fake, DINGO_WR_SEND, 4, 0, 0);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 2, wc) == 2 && wc[0].wr_id == 1 && wc[1].wr_id == 2);
	resize(fake);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 1, wc) == 1 && wc[0].wr_id == 3);
	/* all old entries are polled, but no new one */
	resize(fake);
	fake_complete(fake, DINGO_WR_SEND, 5, 0, 0);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 8, wc) == 2 && wc[0].wr_id == 4 && wc[1].wr_id == 5);
	CHECK(!fake->cq.old && fake->cq.consumer == 1);
	/* fully drained, with an empty current ring */
	resize(fake);
	CHECK(fake->cq.consumer == 0);
	for (i = 0; i < 24; i++) {
		fake_complete(fake, DINGO_WR_SEND, i & 7, 0, 0);
		CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 8, wc) == 1 && wc[0].wr_id == (i & 7));
	}
	drop_fake(fake);
}

/* Repeated resizing without polling keeps only one ring and the unpolled entries. */
static void a_ring_that_is_left_is_unmapped_at_once(void)
{
	struct fake *fake = new_fake();
	struct ibv_wc wc[8];
	void *left;
	uint32_t i;

	for (i = 0; i < 6; i++) {
		left = fake->cq.ring.buf;
		if (i < 3)
			fake_complete(fake, DINGO_WR_SEND, i, 0, 0);
		CHECK(is_mapped(left));
		resize(fake);
		CHECK(!is_mapped(left));
	}
	CHECK(fake->cq.old->count == 3);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 8, wc) == 3 && wc[2].wr_id == 2);
	CHECK(!fake->cq.old);
	drop_fake(fake);
}

/* In the second pass through the ring the phase is inverted; unwritten entries are not copied. */
static void resize_in_any_pass(void)
{
	struct fake *fake = new_fake();
	struct ibv_wc wc[8];
	uint32_t i;

	for (i = 0; i < 6; i++) {
		fake_complete(fake, DINGO_WR_SEND, i, 0, 0);
		CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 8, wc) == 1);
	}
	for (; i < 10; i++)
		fake_complete(fake, DINGO_WR_SEND, i & 7, 0, 0);
	fake->cq_producer += 4; /* a card that reports a larger index than it has written */
	resize(fake);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 8, wc) == 4);
	CHECK(wc[0].wr_id == 6 && wc[1].wr_id == 7 && wc[2].wr_id == 0 && wc[3].wr_id == 1);
	drop_fake(fake);
}

/* Entries of a destroyed QP are discarded in all rings. */
static void forget_in_all_rings(void)
{
	struct fake *fake = new_fake();
	struct ibv_wc wc[8];

	fake_complete(fake, DINGO_WR_SEND, 0, 0, 0);
	resize(fake);
	fake_complete(fake, DINGO_WR_SEND, 1, 0, 0);
	resize(fake);
	fake_complete(fake, DINGO_WR_SEND, 2, 0, 0);
	dingo_cq_forget_qp(&fake->cq, &fake->qp);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 8, wc) == 0);
	drop_fake(fake);
}

static unsigned int kernel_resizes;
static int kernel_error;
static bool kernel_takes_space;		/* no address space is left after its answer */
static struct dingo_ring_map kernel_ring = { .ring_bytes = 4096, .log_size = 7, .log_stride = 5 };

/* Replaces libibverbs' function: returns a ring in the file cmd_fd. */
int ibv_cmd_resize_cq(struct ibv_cq *cq, int cqe, struct ibv_resize_cq *cmd, size_t cmd_size,
		      struct ib_uverbs_resize_cq_resp *resp, size_t resp_size)
{
	struct udingo_resize_cq_resp *answer = container_of(resp, struct udingo_resize_cq_resp, ibv_resp);
	struct rlimit limit = { .rlim_max = RLIM_INFINITY };

	CHECK(cmd_size == sizeof(*cmd) && resp_size == sizeof(*answer));
	if (kernel_error)
		return kernel_error;
	kernel_resizes++;
	answer->drv_payload.ring = kernel_ring;
	answer->drv_payload.switch_index = to_dingo_cq(cq)->consumer;
	cq->cqe = cqe;
	if (kernel_takes_space) {
		limit.rlim_cur = space_in_use() * 4096;
		CHECK(!setrlimit(RLIMIT_AS, &limit));
	}
	return 0;
}

/* Creates a fake with a command file of `pages`. */
static struct fake *new_fake_with_file(unsigned int pages)
{
	struct fake *fake = new_fake();

	fake->ctx.vctx.context.cmd_fd = memfd_create("rings", MFD_CLOEXEC);
	CHECK(!ftruncate(fake->ctx.vctx.context.cmd_fd, pages * 4096));
	fake->cq.vcq.cq.cqe = 6;
	return fake;
}

static void drop_fake_with_file(struct fake *fake)
{
	close(fake->ctx.vctx.context.cmd_fd);
	drop_fake(fake);
}

/* Without address space for its ring a resize fails before the kernel is asked, and the CQ still works. */
static void a_resize_without_room_changes_nothing(void)
{
	struct rlimit limit = { .rlim_cur = 1, .rlim_max = RLIM_INFINITY }, was;
	struct fake *fake = new_fake_with_file(1);
	struct ibv_cq *ibcq = &fake->cq.vcq.cq;
	struct ibv_wc wc[8];
	void *ring = fake->cq.ring.buf;

	free(malloc(16384)); /* grows the heap in advance */
	CHECK(!getrlimit(RLIMIT_AS, &was) && !setrlimit(RLIMIT_AS, &limit));
	CHECK(dingo_resize_cq(ibcq, 96) == ENOMEM);
	CHECK(!setrlimit(RLIMIT_AS, &was));
	CHECK(kernel_resizes == 0 && fake->cq.ring.buf == ring);
	fake_complete(fake, DINGO_WR_SEND, 0, 0, 0);
	CHECK(dingo_poll_cq(ibcq, 8, wc) == 1);

	CHECK(dingo_resize_cq(ibcq, 96) == 0 && kernel_resizes == 1);
	CHECK(fake->cq.ring.buf != ring && fake->cq.ring.mask == 127 && is_mapped(fake->cq.ring.buf));
	/* the unused rest of the reservation is unmapped */
	CHECK(!is_mapped((uint8_t *)fake->cq.ring.buf + 4096));
	fake->cq_producer = 0;
	fake_complete(fake, DINGO_WR_SEND, 1, 0, 0);
	CHECK(dingo_poll_cq(ibcq, 8, wc) == 1);
	drop_fake_with_file(fake);
}

/* The new ring can be mapped even if no address space is left after the kernel's answer. */
static void a_ring_of_any_size_has_its_room_before(void)
{
	static const struct {
		int cqe;
		uint8_t log_size;
	} sizes[] = { { 1, 7 }, { 96, 7 }, { 97, 8 }, { 192, 8 }, { 193, 9 }, { 3072, 12 }, { 3073, 13 } };
	struct rlimit no_limit = { .rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY };
	struct fake *fake = new_fake_with_file(64);
	struct ibv_cq *ibcq = &fake->cq.vcq.cq;
	unsigned int i;

	kernel_takes_space = true;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		kernel_ring.log_size = sizes[i].log_size;
		kernel_ring.ring_bytes = 32ULL << sizes[i].log_size;
		CHECK(dingo_resize_cq(ibcq, sizes[i].cqe) == 0);
		CHECK(!setrlimit(RLIMIT_AS, &no_limit));
		CHECK(fake->cq.ring.mask + 1 == 1U << sizes[i].log_size && fake->cq.ring.bytes == kernel_ring.ring_bytes);
		CHECK(fake->cq.consumer == 0 && fake->cq.report_at == (1U << sizes[i].log_size) / 8);
		((uint8_t *)fake->cq.ring.buf)[fake->cq.ring.bytes - 1] = 1;
		((uint8_t *)fake->cq.ring.buf)[fake->cq.ring.bytes - 1] = 0;
	}
	drop_fake_with_file(fake);
}

/* After a resize or a refusal only the current ring's memory and address space are kept. */
static void a_resize_keeps_nothing(void)
{
	static const struct {
		int kernel, cqe, error;
		struct dingo_ring_map ring;
	} rows[] = {
		{ 0, 96, 0, { .ring_bytes = 4096, .log_size = 7, .log_stride = 5 } },
		/* larger than requested, and than the reservation */
		{ 0, 96, 0, { .ring_bytes = 65536, .log_size = 11, .log_stride = 5 } },
		{ EBUSY, 96, EBUSY, { .ring_bytes = 4096, .log_size = 7, .log_stride = 5 } },
		{ 0, 96, EINVAL, { .ring_mmap = 1, .ring_bytes = 4096, .log_size = 7, .log_stride = 5 } },
		{ 0, 96, EINVAL, { .ring_mmap = 1, .ring_bytes = 65536, .log_size = 7, .log_stride = 5 } },
		{ 0, 96, EINVAL, { .ring_bytes = 4096, .log_size = 8, .log_stride = 5 } },
		{ 0, 0, EINVAL, { 0 } },
		{ 0, -1, EINVAL, { 0 } },
	};
	struct fake *fake = new_fake_with_file(16);
	unsigned int i, n;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned long pages = 0;
		size_t bytes = 0;

		kernel_error = rows[i].kernel;
		kernel_ring = rows[i].ring;
		for (n = 0; n < 40; n++) {
			CHECK(dingo_resize_cq(&fake->cq.vcq.cq, rows[i].cqe) == rows[i].error);
			CHECK(fake->cq.lock.held == 0 && is_mapped(fake->cq.ring.buf));
			if (n == 19) {
				pages = space_in_use();
				bytes = heap_in_use();
			}
		}
		CHECK(heap_in_use() == bytes && space_in_use() == pages);
	}
	drop_fake_with_file(fake);
}

static void post(struct fake *fake, unsigned int flags)
{
	struct ibv_send_wr *bad, wr = { .sg_list = sges, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = flags };

	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
}

/* Each present or future completion counts once: a signaled send whether its entry exists or not. */
static void entries_are_counted_once(void)
{
	struct fake *fake = new_fake();
	struct dingo_context *ctx = &fake->ctx;
	struct ibv_wc wc[8];

	fake->qp.vqp.qp.send_cq = &fake->cq.vcq.cq;
	CHECK(dingo_cq_entries_needed(ctx, &fake->cq) == 0);
	post(fake, 0);
	CHECK(dingo_cq_entries_needed(ctx, &fake->cq) == 0);
	post(fake, IBV_SEND_SIGNALED);
	post(fake, IBV_SEND_SIGNALED);
	CHECK(dingo_cq_entries_needed(ctx, &fake->cq) == 2);
	fake_complete(fake, DINGO_WR_SEND, 1, 0, 0);
	CHECK(dingo_cq_entries_needed(ctx, &fake->cq) == 2);
	fake_complete(fake, DINGO_WC_RECV, 0, 0, 0);
	CHECK(dingo_cq_entries_needed(ctx, &fake->cq) == 3);
	resize(fake);
	fake_complete(fake, DINGO_WR_SEND, 2, 0, 0);
	CHECK(dingo_cq_entries_needed(ctx, &fake->cq) == 3);
	/* an unsignaled one completes only with an error, and then needs its entry */
	post(fake, 0);
	fake_complete(fake, DINGO_WR_SEND, 3, DINGO_WCS_WR_FLUSH_ERR, 0);
	CHECK(dingo_cq_entries_needed(ctx, &fake->cq) == 4);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 1, wc) == 1);
	CHECK(dingo_cq_entries_needed(ctx, &fake->cq) == 3);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 8, wc) == 3);
	CHECK(dingo_cq_entries_needed(ctx, &fake->cq) == 0);
	drop_fake(fake);
}

/* A size that holds all unpolled and outstanding completions is accepted; one less is refused before the
 * kernel is asked. Growing is never refused.
 */
static void a_cq_shrinks_to_what_it_holds(void)
{
	struct fake *fake = new_fake_with_file(1);
	struct ibv_cq *ibcq = &fake->cq.vcq.cq;
	uint32_t i;

	fake->qp.vqp.qp.send_cq = ibcq;
	for (i = 0; i < 5; i++)
		post(fake, IBV_SEND_SIGNALED);
	fake_complete(fake, DINGO_WR_SEND, 0, 0, 0);
	ibcq->cqe = 100;
	CHECK(dingo_resize_cq(ibcq, 4) == EINVAL && kernel_resizes == 0 && ibcq->cqe == 100 && fake->cq.lock.held == 0);
	CHECK(dingo_resize_cq(ibcq, 5) == 0 && kernel_resizes == 1 && ibcq->cqe == 5);
	ibcq->cqe = 3;
	CHECK(dingo_resize_cq(ibcq, 3) == 0 && dingo_resize_cq(ibcq, 4) == 0);
	drop_fake_with_file(fake);
}

/* A receive's index refers to another queue, so the send queue's WQE there is irrelevant. */
static void a_receive_is_no_signaled_send(void)
{
	struct fake *fake = new_fake();

	fake->qp.vqp.qp.send_cq = &fake->cq.vcq.cq;
	post(fake, IBV_SEND_SIGNALED);
	fake_complete(fake, DINGO_WC_RECV, 0, 0, 0);
	CHECK(dingo_cq_entries_needed(&fake->ctx, &fake->cq) == 2);
	resize(fake);
	CHECK(dingo_cq_entries_needed(&fake->ctx, &fake->cq) == 2);
	drop_fake(fake);
}

static void counting_waits_for_who_posts(void)
{
	struct fake *fake = new_fake();
	struct holder holder;

	fake->qp.vqp.qp.send_cq = &fake->cq.vcq.cq;
	hold(&holder, &fake->qp.sq.lock);
	CHECK(dingo_cq_entries_needed(&fake->ctx, &fake->cq) == 0);
	CHECK(was_waited_for(&holder));
	hold_mutex(&holder, &fake->ctx.mutex);
	CHECK(dingo_cq_entries_needed(&fake->ctx, &fake->cq) == 0);
	CHECK(was_waited_for(&holder));
	kernel_error = EBUSY;
	hold(&holder, &fake->cq.lock);
	CHECK(dingo_resize_cq(&fake->cq.vcq.cq, 1) == EBUSY);
	CHECK(was_waited_for(&holder));
	drop_fake(fake);
}

/* Requests for another CQ and entries of destroyed QPs do not count as signaled sends. */
static void only_its_own_sends_count(void)
{
	struct fake *fake = new_fake();
	struct dingo_context *ctx = &fake->ctx;
	struct dingo_cqe *cqe = fake->cq.ring.buf;
	struct ibv_cq other;

	fake->qp.vqp.qp.send_cq = &other;
	post(fake, IBV_SEND_SIGNALED);
	CHECK(dingo_cq_entries_needed(ctx, &fake->cq) == 0);
	fake->qp.vqp.qp.send_cq = &fake->cq.vcq.cq;
	CHECK(dingo_cq_entries_needed(ctx, &fake->cq) == 1);
	fake_complete(fake, DINGO_WR_SEND, 0, 0, 0);
	CHECK(dingo_cq_entries_needed(ctx, &fake->cq) == 1);
	cqe->qpn_op = htole32(le32toh(cqe->qpn_op) ^ 0x10000);
	CHECK(dingo_cq_entries_needed(ctx, &fake->cq) == 2);
	CHECK(fake->qp.sq.lock.held == 0);
	drop_fake(fake);
}

/* All entries of a full ring are kept, in the first and the second pass. */
static void a_full_ring_is_drained_whole(void)
{
	struct fake *fake = new_fake();
	struct ibv_wc wc[16];
	uint32_t i, pass;

	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < 3 * pass; i++) {
			fake_complete(fake, DINGO_WR_SEND, i, 0, 0);
			CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 1, wc) == 1);
		}
		for (i = 0; i < 8; i++)
			fake_complete(fake, DINGO_WR_SEND, i, 0, 0);
		resize(fake);
		CHECK(fake->cq.old->count == 8);
		CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 16, wc) == 8 && wc[0].wr_id == 0 && wc[7].wr_id == 7);
	}
	drop_fake(fake);
}

/* Entries after the switch index are leftovers of an earlier pass and are ignored. */
static void what_lies_behind_the_switch_is_left(void)
{
	struct fake *fake = new_fake();
	struct ibv_wc wc[8];
	uint32_t i;

	for (i = 0; i < 5; i++)
		fake_complete(fake, DINGO_WR_SEND, i, 0, 0);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 1, wc) == 1);
	fake->cq_producer -= 2;
	resize(fake);
	CHECK(dingo_poll_cq(&fake->cq.vcq.cq, 8, wc) == 2 && wc[1].wr_id == 2);
	drop_fake(fake);
}

static const struct test_case cases[] = {
	CASE(a_ring_of_any_size_has_its_room_before), CASE(a_resize_keeps_nothing), CASE(a_cq_shrinks_to_what_it_holds),
	CASE(only_its_own_sends_count), CASE(a_receive_is_no_signaled_send), CASE(counting_waits_for_who_posts), CASE(a_full_ring_is_drained_whole), CASE(what_lies_behind_the_switch_is_left),
	CASE(resize_drains_old_ring), CASE(resize_again_before_polling), CASE(forget_in_all_rings), CASE(entries_are_counted_once),
	CASE(a_ring_that_is_left_is_unmapped_at_once), CASE(resize_in_any_pass),
	CASE(a_resize_without_room_changes_nothing),
};

int main(int argc, char **argv)
{
	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
