// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The direct road: its state in contexts, CQs and QPs, and how a QP links to its peer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <infiniband/cmd_ioctl.h>
#include <rdma/dingo-abi.h>
#include <rdma/ib_user_ioctl_cmds.h>

#include "direct.h"
#include "direct_abi.h"
#include "protocol.h"
#include "wqe.h"

/* Most tries to link to the peer, after 1, 2, 4 ... posts. */
#define MOST_TRIES 16
/* Most QPs of a process with the direct road. Each has up to three mappings; vm.max_map_count is
 * 65,530.
 */
#define MOST_DIRECT 4096

static _Atomic(unsigned int) num_direct;

/* --- the context */

void dingo_direct_start(struct dingo_context *ctx)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DEVICE,
			       DINGO_METHOD_DEVICE_DIRECT, 1);
	struct dingo_device_direct_resp resp = {};
	const char *wanted = getenv("DINGO_DIRECT");

	if ((wanted && strcmp(wanted, "1")) || ctx->kick_mode != DINGO_KICK_FD)
		return;
	fill_attr_out_ptr(cmd, DINGO_ATTR_DEVICE_DIRECT_RESP, &resp);
	if (execute_ioctl(&ctx->vctx.context, cmd))
		return;
	resp.card[sizeof(resp.card) - 1] = 0;
	ctx->direct = dingo_direct_own_side(ctx, (const char *)resp.card,
					    resp.context, resp.directory_mmap,
					    resp.directory_bytes);
}

void dingo_direct_stop(struct dingo_context *ctx)
{
	dingo_direct_put_side(ctx->direct);
}

/* --- CQs */

int dingo_direct_init_cq(struct dingo_cq *cq)
{
	struct dingo_context *ctx = to_dingo_context(cq->vcq.cq.context);

	if (!ctx->direct)
		return 0;
	cq->direct = calloc(1, sizeof(*cq->direct));
	if (!cq->direct)
		return ENOMEM;
	dingo_lock_init(&cq->direct->lock, true);
	return 0;
}

/* Adds the QP to those whose direct receives polls of its receive CQ look for. */
static void add_receiver(struct dingo_qp *qp)
{
	struct dingo_cq *cq = to_dingo_cq(qp->vqp.qp.recv_cq);
	struct dingo_cq_direct *c = cq->direct;
	struct dingo_direct *d = qp->direct;
	uint32_t n, num;

	if (!c || !d->has_rq || cq->wants_time)
		return;
	dingo_lock(&c->lock);
	num = atomic_load(&c->num_receivers);
	for (n = 0; n < num && c->receivers[n] != qp; n++)
		;
	if (n < DINGO_DIRECT_RECEIVERS) {
		c->receivers[n] = qp;
		if (n == num)
			atomic_store(&c->num_receivers, num + 1);
		__atomic_store_n(&d->own->armed, atomic_load(&c->armed), __ATOMIC_SEQ_CST);
		__atomic_store_n(&d->own->receives, 1, __ATOMIC_SEQ_CST);
	}
	dingo_unlock(&c->lock);
}

/* The caller holds the CQ's lock. */
static void remove_receiver(struct dingo_cq_direct *c, struct dingo_qp *qp)
{
	uint32_t n, num;

	dingo_lock(&c->lock);
	num = atomic_load(&c->num_receivers);
	for (n = 0; n < num; n++)
		if (c->receivers[n] == qp) {
			c->receivers[n] = c->receivers[--num];
			atomic_store(&c->num_receivers, num);
		}
	__atomic_store_n(&qp->direct->own->receives, 0, __ATOMIC_SEQ_CST);
	dingo_unlock(&c->lock);
}

/* --- QPs */

/* Tells the peer's card that this process no longer needs the page. */
static void unlink_peer(struct dingo_direct_card *card, uint32_t generation)
{
	struct dingo_uverbs_request head = {
		.type = DINGO_UVERBS_DIRECT_UNLINK,
		.arg = generation,
	};
	struct dingo_uverbs_reply reply;

	dingo_direct_ask(card, &head, NULL, &reply, NULL, 0);
}

/* The caller holds the SQ's lock. */
static void forget_peer(struct dingo_direct *d)
{
	d->linked = false;
	if (!d->there)
		return;
	unlink_peer(d->there->card, d->peer_generation);
	if (d->peer)
		munmap(d->peer, d->peer_bytes);
	if (d->peer_rq)
		munmap(d->peer_rq, d->peer_rq_bytes);
	d->peer = NULL;
	d->peer_rq = NULL;
	dingo_direct_put_side(d->there);
	d->there = NULL;
}

void dingo_direct_leave(struct dingo_qp *qp)
{
	struct dingo_direct *d = qp->direct;

	if (!d)
		return;
	dingo_direct_failed(qp);
	dingo_lock(&qp->sq.lock);
	d->wait = 0;
	forget_peer(d);
	dingo_unlock(&qp->sq.lock);
}

void dingo_direct_reset(struct dingo_qp *qp)
{
	struct dingo_direct *d = qp->direct;
	struct dingo_cq *cq = to_dingo_cq(qp->vqp.qp.recv_cq);
	uint32_t i;

	if (!d)
		return;
	d->signaled = 0;
	atomic_store(&d->receives_end, 0);
	if (!cq->direct || !qp->rq.ring.buf)
		return;
	dingo_lock(&cq->lock);
	remove_receiver(cq->direct, qp);
	for (i = 0; i <= qp->rq.ring.mask && d->has_rq; i++)
		if (d->own->done[i].seq)
			d->own->done[i].seq = 0;
	dingo_unlock(&cq->lock);
}

void dingo_direct_begin_destroy(struct dingo_qp *qp)
{
	struct dingo_cq *cq = to_dingo_cq(qp->vqp.qp.recv_cq);

	if (!qp->direct)
		return;
	dingo_direct_leave(qp);
	if (!cq->direct)
		return;
	dingo_lock(&cq->lock);
	remove_receiver(cq->direct, qp);
	dingo_unlock(&cq->lock);
}

static void free_direct(struct dingo_direct *d)
{
	munmap(d->own, d->own_bytes);
	free(d);
	atomic_fetch_sub(&num_direct, 1);
}

void dingo_direct_end_destroy(struct dingo_qp *qp, bool destroyed)
{
	if (!qp->direct)
		return;
	if (!destroyed) {
		add_receiver(qp);
		return;
	}
	free_direct(qp->direct);
}

/* Queries the QP's page; with `open` the card opens it for direct requests. */
static int ask_page(struct ibv_qp *ibqp, uint32_t open,
		    struct dingo_qp_direct_resp *resp)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_QP, DINGO_METHOD_QP_DIRECT, 3);

	fill_attr_in_obj(cmd, DINGO_ATTR_QP_DIRECT_HANDLE, ibqp->handle);
	fill_attr_in_uint32(cmd, DINGO_ATTR_QP_DIRECT_OPEN, open);
	fill_attr_out_ptr(cmd, DINGO_ATTR_QP_DIRECT_RESP, resp);
	return execute_ioctl(ibqp->context, cmd);
}

/* Maps the QP's page unless it is mapped. Returns false if the card has none or it cannot be
 * mapped. After RESET the card may use another page, if a peer stayed busy with the old one, which
 * is polled no more.
 */
static bool map_own(struct dingo_qp *qp, struct dingo_direct *d)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;
	struct dingo_qp_direct_resp resp = {};
	struct dingo_direct_page *own;

	if (ask_page(ibqp, 0, &resp) ||
	    resp.page_bytes < sizeof(struct dingo_direct_page))
		return false;
	if (d->own && resp.page_mmap == d->own_offset)
		return true;
	own = dingo_direct_map(ibqp->context->cmd_fd, resp.page_mmap,
			       resp.page_bytes, PROT_READ | PROT_WRITE);
	if (!own)
		return false;
	dingo_lock(&qp->rq.lock);
	if (d->own)
		munmap(d->own, d->own_bytes);
	d->own = own;
	d->own_offset = resp.page_mmap;
	d->own_bytes = resp.page_bytes;
	dingo_unlock(&qp->rq.lock);
	return true;
}

static struct dingo_direct *make_direct(struct dingo_qp *qp)
{
	struct dingo_direct *d = NULL;

	if (atomic_fetch_add(&num_direct, 1) < MOST_DIRECT)
		d = calloc(1, sizeof(*d));
	if (d) {
		d->cq = to_dingo_cq(qp->vqp.qp.send_cq)->direct;
		d->here = to_dingo_context(qp->vqp.qp.context)->direct;
		if (map_own(qp, d))
			return d;
	}
	free(d);
	atomic_fetch_sub(&num_direct, 1);
	return NULL;
}

void dingo_direct_enter(struct dingo_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;
	struct dingo_context *ctx = to_dingo_context(ibqp->context);
	struct dingo_qp_direct_resp resp = {};
	struct dingo_direct *d = qp->direct;

	if (!ctx->direct || ibqp->qp_type != IBV_QPT_RC || qp->device_posts ||
	    (state != IBV_QPS_RTR && state != IBV_QPS_RTS) ||
	    to_dingo_cq(ibqp->send_cq)->wants_time)
		return;
	if (!d)
		d = make_direct(qp);
	/* RTR follows RESET, which may have brought another page */
	else if (state == IBV_QPS_RTR && !map_own(qp, d))
		return;
	if (!d)
		return;
	if (ask_page(ibqp, 1, &resp)) {
		if (d != qp->direct)
			free_direct(d);
		return;
	}
	dingo_lock(&qp->sq.lock);
	d->generation = resp.generation;
	if (state == IBV_QPS_RTR)
		atomic_store(&d->freed, d->used);
	memcpy(d->claim, resp.claim, sizeof(d->claim));
	resp.peer[sizeof(resp.peer) - 1] = 0;
	strcpy(d->path, (const char *)resp.peer);
	d->tries = 0;
	d->wait = state == IBV_QPS_RTS && !d->linked;
	atomic_store(&d->told, false);
	dingo_unlock(&qp->sq.lock);
	/* publishes receives posted so far; dingo_post_recv_with_direct() publishes later ones */
	dingo_lock(&qp->rq.lock);
	d->has_indexes = d->own->has_indexes;
	d->has_rq = d->has_indexes && d->own->has_rq && qp->rq.ring.buf &&
		    qp->rq.ring.mask && !qp->srq;
	atomic_store(&d->receives_end, qp->rq.producer);
	qp->direct = d;
	dingo_direct_posted(qp);
	dingo_unlock(&qp->rq.lock);
	add_receiver(qp);
}

/* Maps the peer's page, and its RQ if it has one that peers may use. */
static bool map_peer(struct dingo_direct *d, const int *fds, uint64_t offset)
{
	struct dingo_direct_page *page;
	uint8_t log, log_stride;
	uint64_t rq_offset;
	size_t rq_bytes;

	page = dingo_direct_map_foreign(fds[0], offset, DINGO_DB_PAGE_SIZE,
				PROT_READ | PROT_WRITE);
	if (!page)
		return false;
	d->peer = page;
	d->peer_bytes = DINGO_DB_PAGE_SIZE;
	log = *(const volatile uint8_t *)&page->rq_log;
	log_stride = *(const volatile uint8_t *)&page->rq_log_stride;
	rq_offset = *(const volatile uint64_t *)&page->rq_offset;
	if (!page->has_rq || log > 24 || log_stride < 5 || log_stride > 8)
		return true;
	d->peer = dingo_direct_map_foreign(fds[0], offset, DINGO_DIRECT_PAGE_BYTES(log),
					   PROT_READ | PROT_WRITE);
	munmap(page, DINGO_DB_PAGE_SIZE);
	if (!d->peer)
		return false;
	d->peer_bytes = DINGO_DIRECT_PAGE_BYTES(log);
	rq_bytes = align((size_t)1 << (log + log_stride), DINGO_DB_PAGE_SIZE);
	d->peer_rq = dingo_direct_map_foreign(fds[3], rq_offset, rq_bytes, PROT_READ);
	d->peer_rq_bytes = rq_bytes;
	d->peer_rq_mask = (1U << log) - 1;
	d->peer_rq_log_stride = log_stride;
	return true;
}

void dingo_direct_lost(struct dingo_qp *qp)
{
	struct dingo_direct *d = qp->direct;

	forget_peer(d);
	d->wait = ++d->tries < MOST_TRIES ? 1U << d->tries : 0;
}

void dingo_direct_try(struct dingo_qp *qp)
{
	struct dingo_uverbs_request head = { .type = DINGO_UVERBS_DIRECT_LINK };
	struct dingo_direct *d = qp->direct;
	struct dingo_direct_card *card = dingo_direct_get_card(d->path);
	struct dingo_uverbs_reply reply;
	int fds[4], err, i;

	head.payload_len = sizeof(d->claim);
	err = card ? dingo_direct_ask(card, &head, d->claim, &reply, fds, 4) : ENOMEM;
	/* EIO: no answer in time */
	if ((err == EAGAIN || err == EIO) && ++d->tries < MOST_TRIES)
		d->wait = 1U << d->tries;
	if (err) {		/* not on this host, or of another user: no further try */
		if (card)
			dingo_direct_put_card(card);
		return;
	}
	d->peer_generation = reply.need_length;
	d->there = dingo_direct_get_side(card, reply.need_va, fds[1], fds[2]);
	if (!d->there) {
		unlink_peer(card, d->peer_generation);
	} else if (map_peer(d, fds, reply.map_offset)) {
		memset(d->local, 0, sizeof(d->local));
		memset(d->remote, 0, sizeof(d->remote));
		/* an earlier peer may have died while busy */
		d->busy = (d->peer->busy | DINGO_DIRECT_BUSY_RECEIVE) + 1;
		__atomic_store_n(&d->peer->busy, d->busy, __ATOMIC_SEQ_CST);
		d->posted = d->peer->indexes.rq_consumer;
		d->impatient = false;
		d->tries = 0;
		d->linked = true;
	} else {
		forget_peer(d);
	}
	for (i = 0; i < 4; i++)
		close(fds[i]);
	dingo_direct_put_card(card);
}
