// SPDX-License-Identifier: BSD-2-Clause
/*
 * Checks memory regions of DMA buffers byte by byte, through a pair of RC QPs
 * of one device: writes, reads, bounds, the offset in the buffer, the close of
 * the descriptor, and (exporter only) moves while traffic runs. With
 * "pinned" (a card without PAUSE_MR) the region pins its buffer; with
 * "refused" (a card that refuses PAUSE_MR) a move invalidates the region, or
 * makes the card fail.
 *
 * usage: dmabuf_move DEVICE GID-INDEX exporter|udmabuf|heap MOVES|pinned|refused
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dmabuf_exporter.h"

#define BUFFER_BYTES (3UL << 20)
#define OFFSET (4096UL * 5 + 768)
#define LENGTH (2UL * 1024 * 1024)
#define IOVA (0x7100000000UL + 768)

#define REQUIRE(what) do {						\
	if (!(what)) {							\
		fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__,	\
			#what, strerror(errno));			\
		exit(1);						\
	}								\
} while (0)

struct fixture {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
	union ibv_gid gid;
	int gid_index;
	uint8_t *local; /* LENGTH bytes */
	struct ibv_mr *local_mr;
	int fd; /* the DMA buffer */
	uint8_t *view; /* the CPU's view of it */
	bool pinned;
	struct ibv_mr *mr;
};

static int exporter = -1;

static int make_exporter(void)
{
	struct dmabuf_exporter_create create = { .size = BUFFER_BYTES };

	exporter = open("/dev/dmabuf_exporter", O_RDWR | O_CLOEXEC);
	REQUIRE(exporter >= 0);
	REQUIRE(!ioctl(exporter, DMABUF_EXPORTER_CREATE, &create));
	return create.fd;
}

static int make_udmabuf(void)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC,
					 .size = BUFFER_BYTES };
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	int fd;

	REQUIRE(device >= 0);
	create.memfd = memfd_create("buffer", MFD_ALLOW_SEALING);
	REQUIRE((int)create.memfd >= 0);
	REQUIRE(!ftruncate(create.memfd, BUFFER_BYTES));
	REQUIRE(!fcntl(create.memfd, F_ADD_SEALS, F_SEAL_SHRINK));
	fd = ioctl(device, UDMABUF_CREATE, &create);
	REQUIRE(fd >= 0);
	close(create.memfd);
	close(device);
	return fd;
}

static int make_heap(void)
{
	struct dma_heap_allocation_data data = { .len = BUFFER_BYTES,
						 .fd_flags = O_RDWR | O_CLOEXEC };
	int heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);

	REQUIRE(heap >= 0);
	REQUIRE(!ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &data));
	close(heap);
	return data.fd;
}

static int make_buffer(const char *kind)
{
	if (!strcmp(kind, "exporter"))
		return make_exporter();
	if (!strcmp(kind, "udmabuf"))
		return make_udmabuf();
	REQUIRE(!strcmp(kind, "heap"));
	return make_heap();
}

static uint64_t move_buffer(struct fixture *f)
{
	struct dmabuf_exporter_move move = { .fd = f->fd };

	REQUIRE(!ioctl(exporter, DMABUF_EXPORTER_MOVE, &move));
	return move.moves;
}

/* Checks that the exporter cannot move the buffer: an importer has pinned it. */
static void require_pinned(int fd)
{
	struct dmabuf_exporter_move move = { .fd = fd };

	REQUIRE(ioctl(exporter, DMABUF_EXPORTER_MOVE, &move) == -1);
	REQUIRE(errno == EBUSY);
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;
	int n;

	REQUIRE(list);
	for (n = 0; list[n]; n++) {
		if (!strcmp(ibv_get_device_name(list[n]), name))
			context = ibv_open_device(list[n]);
	}
	ibv_free_device_list(list);
	return context;
}

static void connect_qp(struct fixture *f, struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ,
	};

	REQUIRE(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				       IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .dgid = f->gid, .hop_limit = 64,
				 .sgid_index = f->gid_index },
		},
	};
	REQUIRE(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV |
				       IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				       IBV_QP_RQ_PSN |
				       IBV_QP_MAX_DEST_RD_ATOMIC |
				       IBV_QP_MIN_RNR_TIMER));
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7, /* a moving region answers RNR NAK */
		.max_rd_atomic = 4,
	};
	REQUIRE(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT |
				       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				       IBV_QP_SQ_PSN |
				       IBV_QP_MAX_QP_RD_ATOMIC));
}

static void make_qps(struct fixture *f)
{
	struct ibv_qp_init_attr init = {
		.send_cq = f->cq,
		.recv_cq = f->cq,
		.cap = { .max_send_wr = 16, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	int n;

	for (n = 0; n < 2; n++) {
		f->qp[n] = ibv_create_qp(f->pd, &init);
		REQUIRE(f->qp[n]);
	}
	for (n = 0; n < 2; n++)
		connect_qp(f, f->qp[n], f->qp[!n]->qp_num);
}

static void set_up(struct fixture *f, const char *device, int gid_index,
		   const char *kind, bool pinned)
{
	f->context = open_device(device);
	REQUIRE(f->context);
	f->gid_index = gid_index;
	REQUIRE(!ibv_query_gid(f->context, 1, gid_index, &f->gid));
	f->pd = ibv_alloc_pd(f->context);
	REQUIRE(f->pd);
	f->cq = ibv_create_cq(f->context, 32, NULL, NULL, 0);
	REQUIRE(f->cq);
	make_qps(f);

	f->local = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(f->local != MAP_FAILED);
	f->local_mr = ibv_reg_mr(f->pd, f->local, LENGTH,
				 IBV_ACCESS_LOCAL_WRITE);
	REQUIRE(f->local_mr);

	f->fd = make_buffer(kind);
	f->view = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		       f->fd, 0);
	REQUIRE(f->view != MAP_FAILED);
	f->pinned = pinned;
	f->mr = ibv_reg_dmabuf_mr(f->pd, OFFSET, LENGTH, IOVA, f->fd,
				  IBV_ACCESS_LOCAL_WRITE |
				  IBV_ACCESS_REMOTE_WRITE |
				  IBV_ACCESS_REMOTE_READ);
	REQUIRE(f->mr);
}

static enum ibv_wc_status wait_for_one(struct fixture *f)
{
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(f->cq, 1, &wc);
		if (n < 0) /* the card is dead */
			return IBV_WC_FATAL_ERR;
	} while (!n);
	return wc.status;
}

/* One WRITE or READ between the local buffer and the region. */
static enum ibv_wc_status transfer(struct fixture *f, enum ibv_wr_opcode op,
				   uint64_t offset, uint32_t length)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)f->local + (offset + length <= LENGTH ? offset : 0),
		.length = length,
		.lkey = f->local_mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = IOVA + offset,
			     .rkey = f->mr->rkey },
	};
	struct ibv_send_wr *bad;

	REQUIRE(!ibv_post_send(f->qp[0], &wr, &bad));
	return wait_for_one(f);
}

static void fill(uint8_t *bytes, size_t length, uint64_t seed)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15 + 1;
	size_t n;

	for (n = 0; n + 8 <= length; n += 8) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(bytes + n, &x, 8);
	}
}

/* WRITEs a pattern, checks it through the CPU's mapping, READs it back. */
static void check_round(struct fixture *f, uint64_t seed)
{
	static uint8_t expected[LENGTH];

	fill(expected, LENGTH, seed);
	memcpy(f->local, expected, LENGTH);
	REQUIRE(transfer(f, IBV_WR_RDMA_WRITE, 0, LENGTH) == IBV_WC_SUCCESS);
	REQUIRE(!memcmp(f->view + OFFSET, expected, LENGTH));
	memset(f->local, 0, LENGTH);
	REQUIRE(transfer(f, IBV_WR_RDMA_READ, 0, LENGTH) == IBV_WC_SUCCESS);
	REQUIRE(!memcmp(f->local, expected, LENGTH));
}

static void check_margins(struct fixture *f)
{
	size_t n;

	for (n = 0; n < OFFSET; n++)
		REQUIRE(f->view[n] == 0);
	for (n = OFFSET + LENGTH; n < BUFFER_BYTES; n++)
		REQUIRE(f->view[n] == 0);
}

static atomic_bool stop;
static unsigned long rounds;

static void *traffic(void *arg)
{
	struct fixture *f = arg;

	while (!atomic_load(&stop))
		check_round(f, ++rounds + 1000);
	return NULL;
}

static void check_moves(struct fixture *f, int moves)
{
	uint64_t moved = 0;
	pthread_t thread;
	int n;

	check_round(f, 1);
	move_buffer(f);
	check_round(f, 2); /* the region follows, with the same key */
	check_margins(f);

	REQUIRE(!pthread_create(&thread, NULL, traffic, f));
	for (n = 0; n < moves; n++) {
		moved = move_buffer(f);
		usleep(1000 * (n % 7));
	}
	atomic_store(&stop, true);
	REQUIRE(!pthread_join(thread, NULL));
	check_margins(f);
	printf("%lu moves, %lu checked rounds\n", (unsigned long)moved, rounds);
}

static void check_pinned(struct fixture *f)
{
	if (exporter >= 0)
		require_pinned(f->fd);
	check_round(f, 4);
	check_margins(f);
	puts("a pinned region keeps its buffer in place");
}

/* Checks that the buffer can move again after its region was destroyed. */
static void check_unpinned(struct fixture *f, int fd)
{
	struct dmabuf_exporter_move move = { .fd = fd };
	uint8_t first = f->view[OFFSET];

	REQUIRE(!ioctl(exporter, DMABUF_EXPORTER_MOVE, &move));
	REQUIRE(move.mapped == 0);
	REQUIRE(f->view[OFFSET] == first);
	puts("without the region the buffer moves again");
}

/* Checks that a card that refused to pause the region does not use the buffer again. */
static void check_refused(struct fixture *f)
{
	static uint8_t before[LENGTH];
	enum ibv_wc_status status;

	move_buffer(f);
	memcpy(before, f->view + OFFSET, LENGTH);
	memset(f->local, 0x77, LENGTH);
	status = transfer(f, IBV_WR_RDMA_WRITE, 0, LENGTH);
	REQUIRE(status != IBV_WC_SUCCESS);
	REQUIRE(!memcmp(f->view + OFFSET, before, LENGTH));
	printf("the region is lost: %s\n", ibv_wc_status_str(status));
}

int main(int argc, char **argv)
{
	struct fixture f = {};
	int kept = -1;

	if (argc != 5) {
		fprintf(stderr, "usage: %s DEVICE GID-INDEX exporter|udmabuf|heap MOVES|pinned|refused\n",
			argv[0]);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	set_up(&f, argv[1], atoi(argv[2]), argv[3], !strcmp(argv[4], "pinned"));
	REQUIRE(!ibv_reg_dmabuf_mr(f.pd, BUFFER_BYTES, 4096, 0, f.fd, 0));
	REQUIRE(!ibv_reg_dmabuf_mr(f.pd, UINT64_MAX - 4095, 8192, 0, f.fd, 0));
	check_round(&f, 1);
	check_margins(&f);
	puts("offset and contents are right");
	if (!strcmp(argv[4], "refused")) {
		check_refused(&f);
		return 0;
	}
	if (f.pinned)
		check_pinned(&f);
	else if (exporter >= 0)
		check_moves(&f, atoi(argv[4]));

	if (f.pinned && exporter >= 0) {
		kept = dup(f.fd);
		REQUIRE(kept >= 0);
	}
	close(f.fd); /* the region holds a reference to the buffer */
	check_round(&f, 3);
	puts("the region outlives its descriptor");
	REQUIRE(transfer(&f, IBV_WR_RDMA_WRITE, LENGTH - 8, 16) ==
		IBV_WC_REM_ACCESS_ERR);
	puts("bounds are kept");
	REQUIRE(!ibv_dereg_mr(f.mr));
	if (kept >= 0)
		check_unpinned(&f, kept);
	REQUIRE(!ibv_destroy_qp(f.qp[0]) && !ibv_destroy_qp(f.qp[1]));
	REQUIRE(!ibv_dereg_mr(f.local_mr));
	REQUIRE(!ibv_destroy_cq(f.cq));
	REQUIRE(!ibv_dealloc_pd(f.pd));
	REQUIRE(!ibv_close_device(f.context));
	puts("ok");
	return 0;
}
