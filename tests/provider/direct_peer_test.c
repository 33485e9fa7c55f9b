// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The direct road: invalid descriptions of a peer's memory, and sends to a malicious peer. usage:
 * provider_direct_peer_test CASE
 */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "cases.h"
#include "direct.h"
#include "direct_abi.h"
#include "protocol.h"

#define GENERATION 7
#define PAGE 4096
#define KEY (1U << DINGO_MR_INDEX_SHIFT)
#define IOVA 0x10000

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

/* A directory must not change a region under the same seq. */
static void regions_stay_as_they_are(void)
{
	static uint64_t room[(sizeof(struct dingo_direct_directory) + 2 * sizeof(struct dingo_direct_region)) / 8];
	struct dingo_direct_directory *dir = (void *)room;
	struct dingo_direct_side side = { .directory = dir, .num_regions = 2, .num_files = 2 };
	struct dingo_direct_region *r = &dir->regions[1];
	const uint32_t key = KEY;
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

/* A program's own regions must be within registered memory. */
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

/* A card that answers one link request, with a page of 2^`log` receives and an RQ at `rq_offset`. */
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

/* Returns the QP's direct road after linking. */
static struct dingo_direct link_to(uint8_t log, uint64_t rq_offset)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct fake *fake = fake_new(&rc);
	struct dingo_direct_page *own = calloc(1, PAGE);
	struct lying_card card = { .log = log, .rq_offset = rq_offset };
	struct dingo_direct result;

	fake->qp.direct = calloc(1, sizeof(*fake->qp.direct));
	fake->qp.direct->own = own;
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
	free(fake->qp.direct);
	free(own);
	fake_free(fake);
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
	d = link_to(5, PAGE);	/* receives beyond the end of their file */
	CHECK(d.linked && !d.peer_rq);
	d = link_to(4, -(uint64_t)PAGE);
	CHECK(d.linked && !d.peer_rq);
}

/* A QP linked to a peer with one region of a page and eight receives, all writable by the test. */
struct victim {
	struct fake *fake;
	struct dingo_direct *d;
	struct dingo_direct_side sides[2];
	_Atomic(uint32_t) status;
	_Atomic(bool) over;
	uint8_t *memory;
};

static struct dingo_direct_directory *directory_with(uint32_t seq)
{
	struct dingo_direct_directory *dir = calloc(1, sizeof(*dir) + 2 * sizeof(dir->regions[0]));

	dir->on = 1;
	dir->num_regions = 2;
	dir->regions[1] = (struct dingo_direct_region){ .seq = seq, .key = KEY, .pdn = 3, .access = DINGO_ACC_ALL,
							.iova = IOVA, .length = PAGE };
	return dir;
}

static struct victim *linked_victim(void)
{
	struct victim *v = calloc(1, sizeof(*v));
	struct dingo_direct *d = v->d = calloc(1, sizeof(*d));
	uint32_t i;

	v->fake = fake_new(&rc);
	v->memory = aligned_alloc(PAGE, PAGE);
	memset(v->memory, 0x55, PAGE);
	for (i = 0; i < 2; i++) {
		pthread_mutex_init(&v->sides[i].mutex, NULL);
		v->sides[i].directory = directory_with(2);
		v->sides[i].num_regions = 2;
		v->sides[i].status = &v->status;
	}
	v->sides[0].own = true;
	v->fake->ctx.direct = &v->sides[0];
	dingo_direct_registered(&v->fake->ctx, KEY, v->memory, PAGE, IOVA);
	v->sides[1].card = dingo_direct_get_card("/nonexistent");	/* for other files */
	v->sides[1].num_files = 1;
	v->sides[1].files[0].fd = file_of(PAGE, F_SEAL_SHRINK);
	d->here = &v->sides[0];
	d->there = &v->sides[1];
	d->own = calloc(1, PAGE);
	d->own->open = d->generation = GENERATION;
	d->own->pdn = 3;
	d->own->can_read = 1;
	d->peer = calloc(1, PAGE);
	d->peer_generation = GENERATION;
	d->peer_rq_mask = 7;
	d->peer_rq_log_stride = 6;
	d->peer_rq = calloc(8, 64);
	d->linked = true;
	d->cq = calloc(1, sizeof(*d->cq));
	dingo_lock_init(&d->cq->lock, true);
	v->fake->cq.direct = d->cq;
	v->fake->qp.direct = d;
	v->fake->qp.vqp.qp.send_cq = v->fake->qp.vqp.qp.recv_cq = &v->fake->cq.vcq.cq;
	return v;
}

/* Writes random words, mostly plausible ones so that requests go on. */
static void *be_anything(void *arg)
{
	struct victim *v = arg;
	struct dingo_direct_page *page = v->d->peer;
	uint32_t *words[3] = { (uint32_t *)page, (uint32_t *)v->d->peer_rq, (uint32_t *)&v->sides[1].directory->regions[1] };
	const uint32_t sizes[3] = { PAGE / 4, 8 * 64 / 4, sizeof(struct dingo_direct_region) / 4 };
	uint32_t seed = 1, i;

	while (!atomic_load(&v->over)) {
		for (i = 0; i < 8; i++) {
			struct dingo_rq_wqe *wqe = (struct dingo_rq_wqe *)(v->d->peer_rq + 64 * i);

			wqe->num_sge = htole16(i % 4);
			*(struct dingo_sge *)(wqe + 1) = (struct dingo_sge){ .addr = htole64(IOVA + 64 * i),
									     .lkey = htole32(KEY), .length = htole32(100) };
		}
		page->open = GENERATION;
		page->access = DINGO_ACC_ALL;
		page->pdn = 3;
		page->reads = page->atomics = page->receives = 1;
		page->armed = 0;
		page->indexes.rq_producer = page->indexes.rq_consumer + 4;
		v->sides[1].directory->regions[1] = (struct dingo_direct_region){
			.seq = 2, .key = KEY, .pdn = 3, .access = DINGO_ACC_ALL, .iova = IOVA, .length = PAGE };
		for (i = 0; i < 6; i++) {
			uint32_t *word;

			seed = seed * 1664525 + 1013904223;
			word = &words[seed >> 30 ? (seed >> 30) - 1 : 0][(seed >> 8) % sizes[seed >> 30 ? (seed >> 30) - 1 : 0]];
			/* not `open`: once closed, nothing more would be tested */
			if (word != &page->open)
				__atomic_store_n(word, seed & 1 ? seed : 1U << (seed >> 1) % 32, __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

/* Only mapped memory of the peer is accessed; ASan detects other accesses. */
static void sends_to_a_peer_that_says_anything(void)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ,
						      IBV_WR_SEND_WITH_IMM, IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct victim *v = linked_victim();
	struct ibv_sge sge = { .lkey = KEY };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED };
	uint64_t until = dingo_now_ns() + 10000000000;
	uint32_t posts = 0, direct = 0, i;
	struct ibv_wc wc;
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, be_anything, v));
	for (; direct < 20000 && dingo_now_ns() < until; posts++) {
		uint32_t producer = v->fake->qp.sq.producer;

		wr.opcode = opcodes[posts % 5];
		sge.length = posts % 5 == 4 ? 8 : 1 + posts % 100;
		sge.addr = IOVA + PAGE - sge.length;
		if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			wr.wr.atomic.remote_addr = IOVA + posts % 500 * 8;
			wr.wr.atomic.rkey = KEY;
		} else {
			wr.wr.rdma.remote_addr = posts % 7 ? IOVA + posts % 4200 : UINT64_MAX - posts % 100;
			wr.wr.rdma.rkey = KEY + (posts % 11 == 0) * 0x10000;
		}
		CHECK(dingo_post_send_with_direct(&v->fake->qp.vqp.qp, &wr, &bad) == 0);
		if (v->fake->qp.sq.producer == producer) {
			CHECK(dingo_poll_cq_with_direct(&v->fake->cq.vcq.cq, 1, &wc) == 1 && !wc.status);
			direct++;
		} else {	/* left to the card, which completes it */
			fake_complete(v->fake, 0, producer, IBV_WC_SUCCESS, 0);
			CHECK(dingo_poll_cq_with_direct(&v->fake->cq.vcq.cq, 1, &wc) == 1);
		}
		for (i = 0; i < DINGO_DIRECT_KNOWN; i++) {
			const struct dingo_direct_known *known = &v->d->remote[i];

			CHECK(!known->seq || (known->length <= PAGE && (uintptr_t)known->at % PAGE + known->length <= PAGE));
		}
	}
	atomic_store(&v->over, true);
	pthread_join(thread, NULL);
	CHECK(posts > 100 && direct > 20);
}

static const struct test_case cases[] = {
	CASE(files_are_as_long_as_said),
	CASE(regions_stay_as_they_are),
	CASE(own_regions_are_within),
	CASE(pages_are_as_long_as_said),
	CASE(sends_to_a_peer_that_says_anything),
};

int main(int argc, char **argv)
{
	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
