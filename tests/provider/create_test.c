// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of creation and destruction of CQs and SRQs, and of doorbell pages, with a fake kernel. usage:
 * provider_create_test CASE
 */
#include <errno.h>
#include <unistd.h>

#include "abi.h"
#include "cases.h"
#include "dingodv.h"
#include "doorbell.h"

enum { PAGE = 4096, DB_PAGE = 0x0, OTHER_DB_PAGE = 0x1000, RING = 0x2000, SLOT = 77, NUMBER = 0x2345 };

/* Replacements for libibverbs' functions: they record the requests and return set answers. */
static struct {
	int error, destroy_error;
	unsigned int made, destroyed;
	struct dingo_ring_map ring;
	struct ibv_cq_init_attr_ex attr;
	struct dingo_create_cq_req cq;
	struct dingo_create_srq_req srq;
} kernel;

#ifdef DINGO_CREATE_CQ_TAKES_BUFFER
#define BUFFER struct verbs_create_cq_prov_attr *buffer,
#else
#define BUFFER
#endif

int ibv_cmd_create_cq_ex(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr, BUFFER struct verbs_cq *cq,
			 struct ibv_create_cq_ex *cmd, size_t cmd_size, struct ib_uverbs_ex_create_cq_resp *resp,
			 size_t resp_size, uint32_t cmd_flags)
{
	struct udingo_create_cq_ex *req = container_of(cmd, struct udingo_create_cq_ex, ibv_cmd);
	struct udingo_create_cq_ex_resp *answer = container_of(resp, struct udingo_create_cq_ex_resp, ibv_resp);

	CHECK(cmd_size == sizeof(*req) && resp_size == sizeof(*answer) && cmd_flags == CREATE_CQ_CMD_FLAGS_TS_IGNORED_EX);
	kernel.attr = *attr;
	kernel.cq = req->drv_payload;
	if (kernel.error)
		return kernel.error;
	kernel.made++;
	cq->cq.context = context;
	cq->cq.cqe = attr->cqe;
	answer->drv_payload.cqn = NUMBER;
	answer->drv_payload.ring = kernel.ring;
	return 0;
}

static int destroy(void)
{
	if (!kernel.destroy_error)
		kernel.destroyed++;
	return kernel.destroy_error;
}

int ibv_cmd_destroy_cq(struct ibv_cq *cq)
{
	return destroy();
}

static int create_srq(struct ibv_srq *srq, struct ibv_context *context, struct dingo_create_srq_req *req,
		      struct dingo_create_srq_resp *answer)
{
	kernel.srq = *req;
	if (kernel.error)
		return kernel.error;
	kernel.made++;
	srq->context = context;
	answer->srqn = NUMBER;
	answer->ring = kernel.ring;
	return 0;
}

int ibv_cmd_create_srq(struct ibv_pd *pd, struct ibv_srq *srq, struct ibv_srq_init_attr *attr, struct ibv_create_srq *cmd,
		       size_t cmd_size, struct ib_uverbs_create_srq_resp *resp, size_t resp_size)
{
	struct udingo_create_srq *req = container_of(cmd, struct udingo_create_srq, ibv_cmd);
	struct udingo_create_srq_resp *answer = container_of(resp, struct udingo_create_srq_resp, ibv_resp);

	CHECK(cmd_size == sizeof(*req) && resp_size == sizeof(*answer));
	return create_srq(srq, pd->context, &req->drv_payload, &answer->drv_payload);
}

int ibv_cmd_create_srq_ex(struct ibv_context *context, struct verbs_srq *srq, struct ibv_srq_init_attr_ex *attr,
			  struct ibv_create_xsrq *cmd, size_t cmd_size, struct ib_uverbs_create_srq_resp *resp, size_t resp_size)
{
	struct udingo_create_srq_ex *req = container_of(cmd, struct udingo_create_srq_ex, ibv_cmd);
	struct udingo_create_srq_ex_resp *answer = container_of(resp, struct udingo_create_srq_ex_resp, ibv_resp);

	CHECK(cmd_size == sizeof(*req) && resp_size == sizeof(*answer));
	return create_srq(&srq->srq, context, &req->drv_payload, &answer->drv_payload);
}

int ibv_cmd_destroy_srq(struct ibv_srq *srq)
{
	return destroy();
}

int ibv_cmd_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask, struct ibv_modify_srq *cmd, size_t cmd_size)
{
	CHECK(cmd_size == sizeof(*cmd) && attr->srq_limit == 3 && mask == IBV_SRQ_LIMIT);
	return EBUSY;
}

int ibv_cmd_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, struct ibv_query_srq *cmd, size_t cmd_size)
{
	CHECK(cmd_size == sizeof(*cmd));
	attr->srq_limit = 4;
	return ENODEV;
}

/* Counts pages that ibv_dontfork_range() keeps from children and ibv_dofork_range() returns. */
static int keep_error;
static size_t kept;

int ibv_dontfork_range(void *at, size_t bytes)
{
	CHECK(is_mapped(at));
	if (keep_error && bytes != DINGO_DB_PAGE_SIZE)
		return keep_error;
	kept += bytes;
	return 0;
}

int ibv_dofork_range(void *at, size_t bytes)
{
	CHECK(is_mapped(at));
	kept -= bytes;
	return 0;
}

/* A context whose command file has two doorbell pages and room for rings. */
struct host {
	struct dingo_context ctx;
	_Atomic(uint32_t) status[DINGO_STATUS_CROWDED_OFFSET / 4 + 1];
	struct dingo_pd pd, domain;
	struct dingo_td td;
};

static struct host *new_host(uint64_t caps)
{
	struct host *host = calloc(1, sizeof(*host));
	struct ibv_context *context = &host->ctx.vctx.context;

	context->cmd_fd = memfd_create("card", MFD_CLOEXEC);
	CHECK(!ftruncate(context->cmd_fd, 16 * PAGE));
	host->ctx.caps = caps;
	host->ctx.status = host->status;
	host->ctx.log_max_rq = 10;
	host->ctx.kick_fd = -1;
	pthread_mutex_init(&host->ctx.mutex, NULL);
	host->pd.pd.context = context;
	host->domain.pd.context = context;
	host->domain.parent = &host->pd;
	atomic_store(&host->domain.refcount, 1);
	kernel.ring = (struct dingo_ring_map){ .ring_mmap = RING, .ring_bytes = PAGE, .db_mmap = DB_PAGE, .db_slot = SLOT,
					       .log_size = 7, .log_stride = 5 };
	return host;
}

static void drop_host(struct host *host)
{
	dingo_doorbell_unmap_all(&host->ctx);
	close(host->ctx.vctx.context.cmd_fd);
	free(host);
}

static struct dingo_cq *make_cq(struct host *host, struct ibv_cq_init_attr_ex attr)
{
	struct ibv_cq_ex *ex = dingo_create_cq_ex(&host->ctx.vctx.context, &attr);

	return ex ? cq_ex_to_dingo_cq(ex) : NULL;
}

static struct dingo_srq *make_srq(struct host *host, struct ibv_pd *pd, uint32_t max_wr, uint32_t max_sge)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = max_wr, .max_sge = max_sge } };
	struct ibv_srq *srq = dingo_create_srq(pd, &attr);

	return srq ? to_dingo_srq(srq) : NULL;
}

/* Returns the byte at an offset of the command file. */
static uint8_t byte_at(struct host *host, off_t offset)
{
	uint8_t byte = 0;

	CHECK(pread(host->ctx.vctx.context.cmd_fd, &byte, 1, offset) == 1);
	return byte;
}

static void a_cq_has_the_ring_and_the_doorbell_that_the_kernel_names(void)
{
	struct host *host = new_host(0);
	struct dingo_cq *cq;
	struct ibv_wc wc;

	kernel.ring.log_size = 6;
	cq = make_cq(host, (struct ibv_cq_init_attr_ex){ .cqe = 40 });
	CHECK(cq && cq->cqn == NUMBER && cq->ring.mask == 63 && cq->ring.log_stride == 5 && cq->ring.bytes == PAGE);
	CHECK(cq->lock.needed && !cq->lock.held);
	((struct dingo_cqe *)cq->ring.buf)[1].wqe_index = 0x5a;
	CHECK(byte_at(host, RING + sizeof(struct dingo_cqe)) == 0x5a);
	/* an eighth of the ring, plus one */
	CHECK(cq->report_at == 8);
	dingo_cq_ring(cq);
	CHECK(byte_at(host, DB_PAGE + SLOT * 8) == (NUMBER & 0xff) && byte_at(host, DB_PAGE + SLOT * 8 + 3) == DINGO_DB_CQ);
	CHECK(dingo_poll_cq(&cq->vcq.cq, 1, &wc) == 0);
	/* an entry of an unknown QP */
	((struct dingo_cqe *)cq->ring.buf)[0].owner = 1;
	CHECK(dingo_poll_cq(&cq->vcq.cq, 1, &wc) == 0 && cq->consumer == 1);
	atomic_store(&host->status[0], DINGO_STATUS_GONE);
	CHECK(dingo_poll_cq(&cq->vcq.cq, 1, &wc) == -EIO);
	CHECK(dingo_destroy_cq(&cq->vcq.cq) == 0 && kernel.destroyed == 1);
	drop_host(host);
}

/* Parent domain and flags are not passed to the kernel. */
static void the_kernel_is_asked_for_a_plain_cq(void)
{
	struct host *host = new_host(0);
	struct dingo_cq *cq = make_cq(host, (struct ibv_cq_init_attr_ex){
		.cqe = 40, .comp_vector = 3, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD | IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED, .parent_domain = &host->domain.pd });

	CHECK(cq && kernel.attr.cqe == 40 && kernel.attr.comp_vector == 3);
	CHECK(kernel.attr.comp_mask == 0 && kernel.attr.flags == 0 && kernel.cq.comp_mask == 0);
	CHECK(dingo_destroy_cq(&cq->vcq.cq) == 0);
	drop_host(host);
}

/* Without the bit in comp_mask flags and domain are ignored. */
static void a_lock_is_left_out_for_who_promises_one_thread(void)
{
	static const struct {
		uint32_t comp_mask, flags;
		bool domain, td, needed;
	} rows[] = {
		{ 0, 0, false, false, true },
		{ IBV_CQ_INIT_ATTR_MASK_FLAGS, IBV_CREATE_CQ_ATTR_SINGLE_THREADED, false, false, false },
		{ IBV_CQ_INIT_ATTR_MASK_FLAGS, 0, false, false, true },
		{ 0, IBV_CREATE_CQ_ATTR_SINGLE_THREADED, false, false, true },
		{ IBV_CQ_INIT_ATTR_MASK_PD, 0, true, false, true },
		{ IBV_CQ_INIT_ATTR_MASK_PD, 0, true, true, false },
		{ IBV_CQ_INIT_ATTR_MASK_PD, 0, false, true, true },
		{ 0, 0, true, true, true },
	};
	struct host *host = new_host(0);
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dingo_cq *cq;

		host->domain.td = rows[i].td ? &host->td : NULL;
		cq = make_cq(host, (struct ibv_cq_init_attr_ex){
			.cqe = 1, .comp_mask = rows[i].comp_mask, .flags = rows[i].flags,
			.parent_domain = rows[i].domain ? &host->domain.pd : &host->pd.pd });
		CHECK(cq && cq->lock.needed == rows[i].needed);
		CHECK(dingo_destroy_cq(&cq->vcq.cq) == 0);
	}
	drop_host(host);
}

static void a_cq_holds_its_parent_domain_until_it_is_destroyed(void)
{
	struct host *host = new_host(0);
	struct ibv_cq_init_attr_ex attr = { .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = &host->domain.pd };
	struct dingo_cq *cq = make_cq(host, attr);

	CHECK(cq && host->domain.refcount == 2);
	CHECK(dingo_destroy_cq(&cq->vcq.cq) == 0 && host->domain.refcount == 1);
	kernel.error = ENOSPC;
	CHECK(!make_cq(host, attr) && host->domain.refcount == 1);
	drop_host(host);
}

static void a_cq_knows_the_time_of_day_from_the_start(void)
{
	struct dingo_clock_page page = { .sequence = 2, .card_ns = 77, .real_ns = 1000 };
	struct host *host = new_host(DINGO_CAP_TIMESTAMP);
	struct dingo_cq *cq;

	host->ctx.clock = &page;
	cq = make_cq(host, (struct ibv_cq_init_attr_ex){
		.cqe = 1, .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK });
	CHECK(cq && cq->clock_page == &page && cq->clock.card_ns == 77 && cq->clock.real_ns == 1000);
	CHECK(dingo_destroy_cq(&cq->vcq.cq) == 0);
	drop_host(host);
}

/* ibv_create_cq() and ibv_create_cq_ex(). */
static void both_ways_to_make_a_cq(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 1, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN };
	struct ibv_comp_channel channel;
	struct host *host = new_host(0);
	struct ibv_cq *cq = dingo_create_cq(&host->ctx.vctx.context, 1, &channel, 2);
	struct ibv_cq_ex *ex;

	CHECK(cq && kernel.attr.cqe == 1 && kernel.attr.channel == &channel && kernel.attr.comp_vector == 2);
	ex = dingo_create_cq_ex(&host->ctx.vctx.context, &attr);
	CHECK(ex && ex->start_poll && ex->read_byte_len && !ex->read_src_qp);
	CHECK(dingo_destroy_cq(cq) == 0 && dingo_destroy_cq(ibv_cq_ex_to_cq(ex)) == 0 && kernel.destroyed == 2);
	drop_host(host);
}

/* A CQ polled by a device is empty for ibv_poll_cq(), cannot be armed or resized, and can be destroyed. */
static void a_cq_that_a_device_polls(void)
{
	struct host *host = new_host(DINGO_CAP_DB_WATCH);
	struct ibv_cq_init_attr_ex attr = { .cqe = 1 };
	struct dingo_cq *cq = dingo_make_cq_ex(&host->ctx.vctx.context, &attr, true);
	struct dingo_cqe *entry;
	struct ibv_wc wc;

	CHECK(cq && kernel.cq.comp_mask == DINGO_CREATE_WATCHED);
	CHECK(cq->device_ring.mask == 127 && is_mapped(cq->device_ring.buf));
	entry = cq->device_ring.buf;
	entry->owner = 1;
	CHECK(dingo_poll_cq(&cq->vcq.cq, 1, &wc) == 0 && cq->consumer == 0);
	CHECK(dingo_req_notify_cq(&cq->vcq.cq, 0) == EINVAL && byte_at(host, DB_PAGE + SLOT * 8) == 0);
	CHECK(dingo_resize_cq(&cq->vcq.cq, 1) == EINVAL);
	CHECK(dingo_destroy_cq(&cq->vcq.cq) == 0 && !is_mapped(entry));
	cq = make_cq(host, attr);
	CHECK(cq && kernel.cq.comp_mask == 0);
	CHECK(dingo_destroy_cq(&cq->vcq.cq) == 0);
	drop_host(host);
}

/* A CQ that the kernel refuses to destroy, e.g. because a QP uses it, still works. */
static void what_the_kernel_keeps_stays(void)
{
	struct host *host = new_host(0);
	struct dingo_cq *cq = make_cq(host, (struct ibv_cq_init_attr_ex){ .cqe = 1 });
	struct dingo_srq *srq = make_srq(host, &host->pd.pd, 4, 1);
	void *rings[2] = { cq->ring.buf, srq->ring.buf };

	kernel.destroy_error = EBUSY;
	CHECK(dingo_destroy_cq(&cq->vcq.cq) == EBUSY && dingo_destroy_srq(&srq->vsrq.srq) == EBUSY);
	CHECK(cq->ring.buf == rings[0] && is_mapped(rings[0]) && srq->ring.buf == rings[1] && is_mapped(rings[1]));
	kernel.destroy_error = 0;
	CHECK(dingo_destroy_cq(&cq->vcq.cq) == 0 && dingo_destroy_srq(&srq->vsrq.srq) == 0);
	CHECK(!is_mapped(rings[0]) && !is_mapped(rings[1]));
	drop_host(host);
}

/* Invalid answers of the kernel; offsets that are not multiples of a page cannot be mapped. */
static const struct {
	struct dingo_ring_map ring;
	int error;
} bad_rings[] = {
	{ { RING, PAGE - 1, DB_PAGE, SLOT, 7, 5, 0 }, EINVAL },
	{ { RING, PAGE, DB_PAGE, SLOT, 8, 5, 0 }, EINVAL },
	{ { RING, PAGE, DB_PAGE, SLOT, 7, 6, 0 }, EINVAL },
	{ { RING, 1ULL << 37, DB_PAGE, SLOT, 32, 5, 0 }, EINVAL },
	{ { RING + 1, PAGE, DB_PAGE, SLOT, 7, 5, 0 }, EINVAL },
	{ { RING, 1ULL << 60, DB_PAGE, SLOT, 7, 5, 0 }, ENOMEM },
	{ { RING, PAGE, DB_PAGE, DINGO_DB_FIRST_SLOT - 1, 7, 5, 0 }, EINVAL },
	{ { RING, PAGE, DB_PAGE, DINGO_DB_SLOTS, 7, 5, 0 }, EINVAL },
	{ { RING, PAGE, DB_PAGE + 1, SLOT, 7, 5, 0 }, EINVAL },
};

static void a_cq_that_cannot_be_used_is_given_back(void)
{
	struct host *host = new_host(0);
	struct ibv_cq_init_attr_ex attr = { .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = &host->domain.pd };
	unsigned int i;

	for (i = 0; i < sizeof(bad_rings) / sizeof(bad_rings[0]); i++) {
		kernel.ring = bad_rings[i].ring;
		errno = 0;
		CHECK(!make_cq(host, attr) && errno == bad_rings[i].error);
		CHECK(kernel.made == i + 1 && kernel.destroyed == i + 1 && host->domain.refcount == 1);
	}
	kernel.error = ENOSPC;
	CHECK(!make_cq(host, attr) && errno == ENOSPC && kernel.destroyed == i);
	drop_host(host);
}

static void an_srq_that_cannot_be_used_is_given_back(void)
{
	struct host *host = new_host(0);
	unsigned int i;

	for (i = 0; i < sizeof(bad_rings) / sizeof(bad_rings[0]); i++) {
		kernel.ring = bad_rings[i].ring;
		errno = 0;
		CHECK(!make_srq(host, &host->domain.pd, 4, 1) && errno == bad_rings[i].error);
		CHECK(kernel.made == i + 1 && kernel.destroyed == i + 1 && host->domain.refcount == 1);
	}
	kernel.error = ENOSPC;
	CHECK(!make_srq(host, &host->domain.pd, 4, 1) && errno == ENOSPC && kernel.destroyed == i);
	drop_host(host);
}

/* The first and the last slot of a page. */
static void the_first_and_the_last_doorbell_of_a_page(void)
{
	static const uint32_t slots[] = { DINGO_DB_FIRST_SLOT, DINGO_DB_SLOTS - 1 };
	struct host *host = new_host(0);
	size_t i;

	for (i = 0; i < 2; i++) {
		struct dingo_cq *cq;

		kernel.ring.db_slot = slots[i];
		cq = make_cq(host, (struct ibv_cq_init_attr_ex){ .cqe = 1 });
		CHECK(cq);
		dingo_cq_ring(cq);
		CHECK(byte_at(host, DB_PAGE + slots[i] * 8) == (NUMBER & 0xff));
		CHECK(dingo_destroy_cq(&cq->vcq.cq) == 0);
	}
	drop_host(host);
}

static void a_doorbell_page_is_mapped_once(void)
{
	struct host *host = new_host(0);
	struct dingo_db one = {}, same = {}, other = {};

	CHECK(dingo_doorbell_init(&host->ctx, &one, DB_PAGE, 20) == 0);
	CHECK(dingo_doorbell_init(&host->ctx, &other, OTHER_DB_PAGE, 20) == 0);
	CHECK(dingo_doorbell_init(&host->ctx, &same, DB_PAGE, 22) == 0);
	CHECK((uint8_t *)same.slot - (uint8_t *)one.slot == 16);
	*(uint8_t *)one.slot = 1;
	*(uint8_t *)other.slot = 2;
	CHECK(byte_at(host, DB_PAGE + 160) == 1 && byte_at(host, OTHER_DB_PAGE + 160) == 2);
	CHECK(!one.dirty && !one.need_kick);
	one.slot = (uint8_t *)one.slot - 160;
	other.slot = (uint8_t *)other.slot - 160;
	CHECK(is_mapped(one.slot) && is_mapped(other.slot));
	dingo_doorbell_unmap_all(&host->ctx);
	CHECK(!is_mapped(one.slot) && !is_mapped(other.slot) && !host->ctx.db_pages);
	drop_host(host);
}

static void a_doorbell_page_is_mapped_by_one_thread(void)
{
	struct host *host = new_host(0);
	struct dingo_db db = {};
	struct holder holder;

	hold_mutex(&holder, &host->ctx.mutex);
	CHECK(dingo_doorbell_init(&host->ctx, &db, DB_PAGE, 20) == 0);
	CHECK(was_waited_for(&holder));
	drop_host(host);
}

/* A page that the card polls has a dirty byte for each line of 64 bytes, and need_kick. */
static void a_doorbell_in_memory_has_its_marks_in_the_page(void)
{
	struct host *host = new_host(DINGO_CAP_DB_MEMORY);
	struct dingo_db db = {};
	uint32_t sleeps = 1, kick;

	host->ctx.kick_page = &kick;
	host->ctx.kick_fd = 55;
	CHECK(dingo_doorbell_init(&host->ctx, &db, DB_PAGE, 8 * 9 + 5) == 0);
	*db.dirty = 7;
	CHECK(byte_at(host, DB_PAGE + DINGO_DB_DIRTY_OFFSET + 9) == 7);
	CHECK(pwrite(host->ctx.vctx.context.cmd_fd, &sleeps, 4, DB_PAGE + DINGO_DB_NEED_KICK_OFFSET) == 4);
	CHECK(*db.need_kick == 1 && db.kick == &kick && db.kick_fd == 55);
	drop_host(host);
}

static void rings_and_doorbells_are_kept_from_children(void)
{
	struct host *host = new_host(0);
	struct dingo_cq *cq;
	struct dingo_srq *srq;

	kernel.ring.ring_bytes = 2 * PAGE;
	cq = make_cq(host, (struct ibv_cq_init_attr_ex){ .cqe = 1 });
	CHECK(kept == 3 * PAGE);
	srq = make_srq(host, &host->pd.pd, 4, 1);
	CHECK(kept == 5 * PAGE);
	CHECK(dingo_destroy_cq(&cq->vcq.cq) == 0 && kept == 3 * PAGE);
	CHECK(dingo_destroy_srq(&srq->vsrq.srq) == 0 && kept == PAGE);
	keep_error = EPERM;
	errno = 0;
	CHECK(!make_cq(host, (struct ibv_cq_init_attr_ex){ .cqe = 1 }) && errno == EPERM && kernel.destroyed == 3);
	keep_error = 0;
	dingo_doorbell_unmap_all(&host->ctx);
	CHECK(kept == 0);
	drop_host(host);
}

static void an_srq_has_what_was_asked_for_at_least(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 100, .max_sge = 2 } };
	struct ibv_recv_wr *bad, wr = { .sg_list = sges, .num_sge = 3 };
	struct host *host = new_host(0);
	struct dingo_srq *srq;
	uint32_t number = 0, i;
	struct ibv_srq *ibsrq;

	kernel.ring.log_stride = 6;
	kernel.ring.ring_bytes = 2 * PAGE;
	ibsrq = dingo_create_srq(&host->pd.pd, &attr);
	CHECK(ibsrq && kernel.srq.log_size == 7 && kernel.srq.log_stride == 6 && kernel.srq.comp_mask == 0);
	CHECK(attr.attr.max_wr == 128 && attr.attr.max_sge == 3);
	srq = to_dingo_srq(ibsrq);
	CHECK(srq->lock.needed && !srq->lock.held);
	CHECK(dingo_get_srq_num(ibsrq, &number) == 0 && number == NUMBER && srq->vsrq.srq_num == NUMBER);
	for (i = 0; i < 128; i++)
		CHECK(dingo_post_srq_recv(ibsrq, &wr, &bad) == 0);
	CHECK(dingo_post_srq_recv(ibsrq, &wr, &bad) == ENOMEM);
	/* the tag of the last entry, read from the command file */
	CHECK(byte_at(host, RING + 127 * 64) == 127);
	CHECK(dingo_destroy_srq(ibsrq) == 0 && kernel.destroyed == 1);
	drop_host(host);
}

static void both_ways_to_make_an_srq(void)
{
	struct host *host = new_host(0);
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 128, .max_sge = 1 }, .comp_mask = IBV_SRQ_INIT_ATTR_PD, .pd = &host->pd.pd };
	uint32_t masks[] = { IBV_SRQ_INIT_ATTR_PD, IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE };
	size_t i;

	attr.srq_type = IBV_SRQT_BASIC;
	for (i = 0; i < 2; i++) {
		struct ibv_srq *srq;

		attr.comp_mask = masks[i];
		attr.attr.max_wr = 100;
		srq = dingo_create_srq_ex(&host->ctx.vctx.context, &attr);
		CHECK(srq && kernel.srq.log_size == 7 && kernel.srq.log_stride == 5 && attr.attr.max_wr == 128);
		CHECK(dingo_destroy_srq(srq) == 0);
	}
	drop_host(host);
}

static void an_srq_wants_a_domain(void)
{
	struct host *host = new_host(0);
	struct ibv_srq_init_attr_ex attr = { .attr = { .max_wr = 1, .max_sge = 1 }, .pd = &host->pd.pd };

	errno = 0;
	CHECK(!dingo_create_srq_ex(&host->ctx.vctx.context, &attr) && errno == EINVAL && kernel.made == 0);
	drop_host(host);
}

/* Wrapper of calloc(), by the linker's --wrap. */
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
static int callocs_left = -1;

void *__wrap_calloc(size_t count, size_t size)
{
	if (callocs_left < 0)
		return __real_calloc(count, size);
	errno = ENOMEM;
	return callocs_left-- ? __real_calloc(count, size) : NULL;
}

/* Memory for the object is allocated before the kernel is asked, for the doorbell page after. */
static void without_memory_nothing_is_made(void)
{
	struct host *host = new_host(0);
	int n;

	for (n = 0; n < 2; n++) {
		callocs_left = n;
		errno = 0;
		CHECK(!make_cq(host, (struct ibv_cq_init_attr_ex){ .cqe = 1 }) && errno == ENOMEM);
		CHECK(kernel.made == kernel.destroyed && (int)kernel.made == n);
		callocs_left = n;
		errno = 0;
		CHECK(!make_srq(host, &host->pd.pd, 1, 1) && errno == ENOMEM);
		CHECK(kernel.made == kernel.destroyed && (int)kernel.made == 2 * n);
	}
	callocs_left = -1;
	drop_host(host);
}

static void an_srqs_attributes_are_the_kernels(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 3 };
	struct host *host = new_host(0);
	struct dingo_srq *srq = make_srq(host, &host->pd.pd, 4, 1);

	CHECK(dingo_modify_srq(&srq->vsrq.srq, &attr, IBV_SRQ_LIMIT) == EBUSY);
	CHECK(dingo_query_srq(&srq->vsrq.srq, &attr) == ENODEV && attr.srq_limit == 4);
	CHECK(dingo_destroy_srq(&srq->vsrq.srq) == 0);
	drop_host(host);
}

static size_t lent;
static void *lend_at;

static void *lend(struct ibv_pd *pd, void *context, size_t size, size_t alignment, uint64_t type)
{
	CHECK(type == DINGODV_RES_TYPE_SRQ);
	lent = size;
	return lend_at;
}

static void take_back(struct ibv_pd *pd, void *context, void *at, uint64_t type)
{
	CHECK(at == lend_at && type == DINGODV_RES_TYPE_SRQ);
	lent = 0;
}

/* Parent domain: its allocator, single-threaded use, and lifetime. */
static void an_srq_of_a_parent_domain(void)
{
	static uint64_t memory[1024];
	struct host *host = new_host(0);
	struct dingo_srq *srq;

	host->domain.alloc = lend;
	host->domain.free = take_back;
	host->domain.td = &host->td;
	lend_at = memory;
	memset(memory, 0xff, sizeof(memory));
	srq = make_srq(host, &host->domain.pd, 128, 1);
	CHECK(srq && !srq->lock.needed && host->domain.refcount == 2);
	CHECK(lent == 128 * 12 && srq->wr_id == memory && memory[lent / 8] == ~0ULL);
	CHECK(dingo_destroy_srq(&srq->vsrq.srq) == 0 && !lent && host->domain.refcount == 1);
	lend_at = NULL;
	errno = 0;
	CHECK(!make_srq(host, &host->domain.pd, 128, 1) && errno == ENOMEM);
	CHECK(kernel.destroyed == 2 && host->domain.refcount == 1);
	drop_host(host);
}

static void make_and_drop(struct host *host)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 1 };
	struct dingo_cq *cq = make_cq(host, attr);
	struct dingo_srq *srq = make_srq(host, &host->pd.pd, 4, 1);

	if (cq) {
		/* the state after a resize, before the old entries are polled */
		cq->old = calloc(1, sizeof(*cq->old) + sizeof(struct dingo_cqe));
		CHECK(dingo_destroy_cq(&cq->vcq.cq) == 0);
	}
	if (srq)
		CHECK(dingo_destroy_srq(&srq->vsrq.srq) == 0);
}

/* Nothing leaks on creation, destruction or failure, except doorbell pages, which the context frees. */
static void nothing_is_kept(void)
{
	struct host *host = new_host(0);
	unsigned int i, n;

	for (i = 0; i < sizeof(bad_rings) / sizeof(bad_rings[0]) + 2; i++) {
		unsigned long pages = 0;
		size_t bytes = 0;

		if (i < 2)
			kernel.error = i ? ENOSPC : 0;
		else
			kernel.ring = bad_rings[i - 2].ring;
		/* malloc() caches a few blocks */
		for (n = 0; n < 40; n++) {
			make_and_drop(host);
			if (n == 19) {
				pages = space_in_use();
				bytes = heap_in_use();
			}
		}
		CHECK(heap_in_use() == bytes && space_in_use() == pages);
		kernel.error = 0;
	}
	drop_host(host);
}

static const struct test_case cases[] = {
	CASE(a_cq_has_the_ring_and_the_doorbell_that_the_kernel_names), CASE(the_kernel_is_asked_for_a_plain_cq),
	CASE(a_lock_is_left_out_for_who_promises_one_thread), CASE(a_cq_holds_its_parent_domain_until_it_is_destroyed),
	CASE(a_cq_knows_the_time_of_day_from_the_start), CASE(both_ways_to_make_a_cq), CASE(a_cq_that_a_device_polls),
	CASE(what_the_kernel_keeps_stays), CASE(a_cq_that_cannot_be_used_is_given_back),
	CASE(an_srq_that_cannot_be_used_is_given_back), CASE(the_first_and_the_last_doorbell_of_a_page),
	CASE(a_doorbell_page_is_mapped_once), CASE(a_doorbell_page_is_mapped_by_one_thread),
	 CASE(a_doorbell_in_memory_has_its_marks_in_the_page),
	CASE(rings_and_doorbells_are_kept_from_children),
	CASE(an_srq_has_what_was_asked_for_at_least), CASE(both_ways_to_make_an_srq), CASE(an_srqs_attributes_are_the_kernels),
	CASE(an_srq_of_a_parent_domain), CASE(an_srq_wants_a_domain), CASE(without_memory_nothing_is_made), CASE(nothing_is_kept),
};

int main(int argc, char **argv)
{
	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
