// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The direct road with a peer that writes what it likes where both can write. usage: provider_direct_test CASE */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "cases.h"
#include "direct.h"
#include "direct_abi.h"
#include "protocol.h"

#define GENERATION 7
#define PAGE 4096

/* A QP with a page, whose CQ looks for what a peer has completed; four receives. */
static struct fake *with_page(void)
{
	struct fake *fake = fake_new(&rc);
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

static void without_page(struct fake *fake)
{
	free(fake->qp.direct->own);
	free(fake->qp.direct);
	free(fake->cq.direct);
	fake_free(fake);
}

/* Receives of 107 bytes. */
static void post(struct fake *fake, uint32_t num)
{
	struct ibv_recv_wr *bad, wr = { .sg_list = sges, .num_sge = 3 };

	for (; num; num--) {
		wr.wr_id = 1000 + fake->qp.rq.producer;
		CHECK(dingo_post_recv_with_direct(&fake->qp.vqp.qp, &wr, &bad) == 0);
	}
}

/* The peer says that it has completed the receive `index`. */
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
	/* nor has the card, which takes the indexes from where the peer can write */
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

/* A send's, or one with an rkey that nothing has invalidated. */
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

/* What it says of the queue itself is not believed: that has been taken from the card's page before. */
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

static void *write_garbage(void *arg)
{
	struct fake *fake = arg;
	uint32_t *page = (uint32_t *)fake->qp.direct->own, seed = 1, n;

	while (!__atomic_load_n(&fake->status[1], __ATOMIC_RELAXED)) {
		seed = seed * 1664525 + 1013904223;
		n = seed >> 16;
		/* mostly what is looked at */
		say(fake, atomic_load(&fake->qp.rq.consumer) + n % 3, DINGO_WC_RECV + (n >> 4) % 8,
		    n % 5 ? (n >> 8) % 110 : seed);
		__atomic_store_n(&page[(n >> 2) % (PAGE / 4)], n & 1 ? seed : seed >> 31 ? GENERATION : 0,
				 __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Each receive is completed once, in order, with bytes that it has room for. */
static void peer_writes_garbage(void)
{
	struct fake *fake = with_page();
	uint32_t polled = 0, posted = 0;
	uint64_t until = dingo_now_ns() + 300000000;
	pthread_t thread;
	struct ibv_wc wc;

	CHECK(!pthread_create(&thread, NULL, write_garbage, fake));
	for (; dingo_now_ns() < until; posted++) {
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

static int file_of(size_t bytes, int seals)
{
	int fd = memfd_create("peer", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CHECK(fd >= 0 && !ftruncate(fd, bytes) && !fcntl(fd, F_ADD_SEALS, seals));
	return fd;
}

static void files_are_as_long_as_said(void)
{
	int good = file_of(2 * PAGE, F_SEAL_SHRINK), bad = file_of(2 * PAGE, F_SEAL_GROW);
	void *map = dingo_direct_map_foreign(good, PAGE, PAGE, PROT_READ);

	CHECK(map && !munmap(map, PAGE));
	CHECK(!dingo_direct_map_foreign(good, PAGE, 2 * PAGE, PROT_READ));
	CHECK(!dingo_direct_map_foreign(good, 3 * PAGE, PAGE, PROT_READ));
	CHECK(!dingo_direct_map_foreign(good, -(uint64_t)PAGE, 2 * PAGE, PROT_READ));
	CHECK(!dingo_direct_map_foreign(bad, 0, PAGE, PROT_READ));
	close(good);
	close(bad);
}

/* What a directory says of a region while it has the same seq. */
static void regions_stay_as_they_are(void)
{
	static uint64_t room[(sizeof(struct dingo_direct_directory) + 2 * sizeof(struct dingo_direct_region)) / 8];
	struct dingo_direct_directory *dir = (void *)room;
	struct dingo_direct_side side = { .directory = dir, .num_regions = 2, .num_files = 2 };
	struct dingo_direct_region *r = &dir->regions[1];
	const uint32_t key = 1 << DINGO_MR_INDEX_SHIFT;
	struct dingo_direct_known known;

	pthread_mutex_init(&side.mutex, NULL);
	side.files[0].fd = file_of(8 * PAGE, F_SEAL_SHRINK);
	side.files[1].fd = file_of(8 * PAGE, F_SEAL_SHRINK);
	side.files[1].number = 1;
	*r = (struct dingo_direct_region){ .seq = 2, .key = key, .pdn = 3, .iova = 0x1000, .length = 9 * PAGE };
	CHECK(!dingo_direct_look_up(&side, 3, key, &known));
	r->length = PAGE;
	r->offset = -(uint64_t)PAGE - 1;
	CHECK(!dingo_direct_look_up(&side, 3, key, &known));
	r->offset = PAGE;
	CHECK(dingo_direct_look_up(&side, 3, key, &known) && known.length == PAGE);
	r->length = 4 * PAGE;
	CHECK(!dingo_direct_look_up(&side, 3, key, &known));
	r->length = PAGE;
	r->offset = 2 * PAGE;
	CHECK(!dingo_direct_look_up(&side, 3, key, &known));
	r->offset = PAGE;
	r->file = 1;
	CHECK(!dingo_direct_look_up(&side, 3, key, &known) && !known.seq);
	r->file = 0;
	CHECK(dingo_direct_look_up(&side, 3, key, &known));
	r->seq = 4;
	r->length = 4 * PAGE;
	CHECK(dingo_direct_look_up(&side, 3, key, &known) && known.length == 4 * PAGE);
}

/* A program's own regions are within what it has registered. */
static void own_regions_are_within(void)
{
	static uint8_t memory[100];
	struct dingo_direct_side side = { .own = true };
	struct dingo_context ctx = { .direct = &side };
	struct dingo_direct_region r = { .key = 0x100, .iova = 5000, .length = 100 };

	dingo_direct_registered(&ctx, 0x100, memory, sizeof(memory), 5000);
	CHECK(dingo_direct_own_memory(&side, &r) == memory);
	r.length = 101;
	CHECK(!dingo_direct_own_memory(&side, &r));
	r.length = 50;
	r.iova = 5051;
	CHECK(!dingo_direct_own_memory(&side, &r));
	r.iova = 4999;
	CHECK(!dingo_direct_own_memory(&side, &r));
	r.iova = 5050;
	CHECK(dingo_direct_own_memory(&side, &r) == memory + 50);
	dingo_direct_deregistered(&ctx, 0x100);
}

/* A card that answers one link, with a page that says 2^`log` receives, and an RQ at `rq_offset`. */
struct lying_card {
	int listener;
	uint8_t log;
	uint64_t rq_offset;
	pthread_t thread;
};

static void *answer_link(void *arg)
{
	const struct lying_card *card = arg;
	struct dingo_direct_directory dir = { .on = 1 };
	struct dingo_direct_page page = { .open = GENERATION, .rq_log = card->log, .rq_log_stride = 6, .has_rq = 1,
					  .rq_offset = card->rq_offset };
	struct dingo_uverbs_reply reply = { .need_length = GENERATION };
	char request[512], control[CMSG_SPACE(4 * sizeof(int))] = {};
	struct iovec part = { request, sizeof(request) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
				  .msg_controllen = sizeof(control) };
	int fd = accept(card->listener, NULL, NULL), to, fds[4], i;

	CHECK(fd >= 0 && recvmsg(fd, &message, 0) > 0);
	memcpy(&to, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(to));
	for (i = 0; i < 4; i++)
		fds[i] = file_of(PAGE, F_SEAL_SHRINK);
	CHECK(pwrite(fds[0], &page, sizeof(page), 0) > 0 && pwrite(fds[1], &dir, sizeof(dir), 0) > 0);
	part = (struct iovec){ &reply, sizeof(reply) };
	message.msg_controllen = sizeof(control);
	*CMSG_FIRSTHDR(&message) = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(fds)), .cmsg_level = SOL_SOCKET,
						     .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), fds, sizeof(fds));
	CHECK(sendmsg(to, &message, 0) == sizeof(reply));
	for (i = 0; i < 4; i++)
		close(fds[i]);
	close(to);
	close(fd);
	return NULL;
}

/* How the QP's direct road is after it. */
static struct dingo_direct link_to(uint8_t log, uint64_t rq_offset)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct fake *fake = with_page();
	struct lying_card card = { .log = log, .rq_offset = rq_offset };
	struct dingo_direct result;

	card.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/dingo-direct-%d-%u", getpid(), log);
	unlink(address.sun_path);
	CHECK(!bind(card.listener, (struct sockaddr *)&address, sizeof(address)) && !listen(card.listener, 1));
	strcpy(fake->qp.direct->path, address.sun_path);
	CHECK(!pthread_create(&card.thread, NULL, answer_link, &card));
	dingo_direct_try(&fake->qp);
	pthread_join(card.thread, NULL);
	close(card.listener);
	unlink(address.sun_path);
	result = *fake->qp.direct;
	without_page(fake);
	return result;
}

static void pages_are_as_long_as_said(void)
{
	struct dingo_direct d = link_to(6, 0);

	CHECK(d.linked && d.peer_rq && d.peer_rq_mask == 63);
	d = link_to(9, 0);	/* 8 KiB of 4 for their completions */
	CHECK(!d.linked && !d.peer && !d.peer_rq);
	d = link_to(24, 0);
	CHECK(!d.linked && !d.peer && !d.peer_rq);
	d = link_to(5, PAGE);	/* receives behind the end of their file */
	CHECK(d.linked && !d.peer_rq);
	d = link_to(4, -(uint64_t)PAGE);
	CHECK(d.linked && !d.peer_rq);
}

static const struct test_case cases[] = {
	CASE(peer_completes),
	CASE(peer_completes_what_is_not_posted),
	CASE(peer_says_too_many_bytes),
	CASE(peer_says_another_opcode),
	CASE(peer_opens_what_is_closed),
	CASE(peer_writes_garbage),
	CASE(files_are_as_long_as_said),
	CASE(regions_stay_as_they_are),
	CASE(own_regions_are_within),
	CASE(pages_are_as_long_as_said),
};

int main(int argc, char **argv)
{
	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
