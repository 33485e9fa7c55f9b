// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The dingo provider's match table, table of operations, and contexts. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <infiniband/cmd_ioctl.h>
#include <rdma/ib_user_ioctl_cmds.h>

#include "abi.h"
#include "dingo.h"
#include "direct.h"
#include "dingodv.h"
#include "doorbell.h"
#include "rdma_core_compat.h"

static int dingo_query_device_ex(struct ibv_context *context,
				 const struct ibv_query_device_ex_input *input,
				 struct ibv_device_attr_ex *attr,
				 size_t attr_size)
{
	struct ib_uverbs_ex_query_device_resp resp;
	size_t resp_size = sizeof(resp);
	uint64_t fw;
	int err;

	err = ibv_cmd_query_device_any(context, input, attr, attr_size, &resp,
				       &resp_size);
	if (err)
		return err;
	/* register BUILD: major << 16 | minor << 8 | patch */
	fw = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u.%u", (unsigned int)(fw >> 16),
		 (unsigned int)(fw >> 8) & 0xff, (unsigned int)fw & 0xff);
	return 0;
}

static int dingo_query_port(struct ibv_context *context, uint8_t port,
			    struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(context, port, attr, &cmd, sizeof(cmd));
}

static void dingo_free_context(struct ibv_context *context);

static const struct verbs_context_ops dingo_ops = {
	.alloc_parent_domain = dingo_alloc_parent_domain,
	.alloc_pd = dingo_alloc_pd,
	.alloc_td = dingo_alloc_td,
	.cq_event = dingo_cq_event,
	.create_ah = dingo_create_ah,
	.create_cq = dingo_create_cq,
	.create_cq_ex = dingo_create_cq_ex,
	.create_qp = dingo_create_qp,
	.create_qp_ex = dingo_create_qp_ex,
	.dealloc_pd = dingo_dealloc_pd,
	.dealloc_td = dingo_dealloc_td,
	.dereg_mr = dingo_dereg_mr,
	.destroy_ah = dingo_destroy_ah,
	.destroy_cq = dingo_destroy_cq,
	.destroy_qp = dingo_destroy_qp,
	.free_context = dingo_free_context,
	.import_mr = dingo_import_mr,
	.import_pd = dingo_import_pd,
	.modify_qp = dingo_modify_qp,
	.poll_cq = dingo_poll_cq,
	.post_recv = dingo_post_recv,
	.post_send = dingo_post_send,
	.query_device_ex = dingo_query_device_ex,
	.query_port = dingo_query_port,
	.query_qp = dingo_query_qp,
	.query_rt_values = dingo_query_rt_values,
	.reg_dmabuf_mr = dingo_reg_dmabuf_mr,
	.reg_mr = dingo_reg_mr,
	.req_notify_cq = dingo_req_notify_cq,
	.unimport_mr = dingo_unimport_mr,
	.unimport_pd = dingo_unimport_pd,
};

static const struct verbs_context_ops dingo_srq_ops = {
	.create_srq = dingo_create_srq,
	.create_srq_ex = dingo_create_srq_ex,
	.destroy_srq = dingo_destroy_srq,
	.get_srq_num = dingo_get_srq_num,
	.modify_srq = dingo_modify_srq,
	.post_srq_recv = dingo_post_srq_recv,
	.query_srq = dingo_query_srq,
};

static const struct verbs_context_ops dingo_mcast_ops = {
	.attach_mcast = ibv_cmd_attach_mcast,
	.detach_mcast = ibv_cmd_detach_mcast,
};

static const struct verbs_context_ops dingo_moderation_ops = {
	.modify_cq = dingo_modify_cq,
};

static const struct verbs_context_ops dingo_mw_ops = {
	.alloc_mw = dingo_alloc_mw,
	.bind_mw = dingo_bind_mw,
	.dealloc_mw = dingo_dealloc_mw,
};

static const struct verbs_context_ops dingo_dm_ops = {
	.alloc_dm = dingo_alloc_dm,
	.free_dm = dingo_free_dm,
	.import_dm = dingo_import_dm,
	.reg_dm_mr = dingo_reg_dm_mr,
	.unimport_dm = dingo_unimport_dm,
};

static const struct verbs_context_ops dingo_rereg_ops = {
	.rereg_mr = dingo_rereg_mr,
};

static const struct verbs_context_ops dingo_resize_ops = {
	.resize_cq = dingo_resize_cq,
};

static const struct verbs_context_ops dingo_direct_ops = {
	.poll_cq = dingo_poll_cq_with_direct,
	.post_recv = dingo_post_recv_with_direct,
	.post_send = dingo_post_send_with_direct,
};

/* Operations that a card lacks keep the library's default, which fails with EOPNOTSUPP. */
static void set_ops(struct dingo_context *ctx)
{
	verbs_set_ops(&ctx->vctx, &dingo_ops);
	if (ctx->caps & DINGO_CAP_SRQ)
		verbs_set_ops(&ctx->vctx, &dingo_srq_ops);
	if (ctx->caps & DINGO_CAP_MCAST)
		verbs_set_ops(&ctx->vctx, &dingo_mcast_ops);
	if (ctx->caps & DINGO_CAP_CQ_MODERATION)
		verbs_set_ops(&ctx->vctx, &dingo_moderation_ops);
	if (ctx->caps & DINGO_CAP_MW)
		verbs_set_ops(&ctx->vctx, &dingo_mw_ops);
	if (ctx->caps & DINGO_CAP_REREG_MR)
		verbs_set_ops(&ctx->vctx, &dingo_rereg_ops);
	if (ctx->caps & DINGO_CAP_RESIZE_CQ)
		verbs_set_ops(&ctx->vctx, &dingo_resize_ops);
}

/* Sets up the way in which the card wants to be woken. Takes ownership of kick_fd. */
static int init_kick(struct dingo_context *ctx,
		     const struct dingo_alloc_ucontext_resp *resp)
{
	if (!(ctx->caps & DINGO_CAP_DB_MEMORY))
		return 0;
	if (ctx->kick_mode == DINGO_KICK_FD) {
		ctx->kick_fd = resp->kick_fd;
		return 0;
	}
	if (ctx->kick_mode != DINGO_KICK_MMIO) {
		verbs_err(&ctx->vctx, "the card needs wake-up method %u, which this provider does not support: update the provider\n",
			  ctx->kick_mode);
		return EPROTONOSUPPORT;
	}
	ctx->kick_page = mmap(NULL, DINGO_DB_PAGE_SIZE, PROT_WRITE, MAP_SHARED,
			      ctx->vctx.context.cmd_fd, resp->kick_mmap);
	if (ctx->kick_page == MAP_FAILED) {
		ctx->kick_page = NULL;
		verbs_err(&ctx->vctx, "cannot map the kick page: %m\n");
		return errno;
	}
	ibv_dontfork_range(ctx->kick_page, DINGO_DB_PAGE_SIZE);
	return 0;
}

static void destroy_kick(struct dingo_context *ctx)
{
	if (ctx->kick_page) {
		ibv_dofork_range(ctx->kick_page, DINGO_DB_PAGE_SIZE);
		munmap(ctx->kick_page, DINGO_DB_PAGE_SIZE);
	}
	if (ctx->kick_fd >= 0)
		close(ctx->kick_fd);
}

/* Maps the status page. It stays readable in a forked child, unlike the queues. */
static int init_status(struct dingo_context *ctx,
		       const struct dingo_alloc_ucontext_resp *resp)
{
	static const _Atomic(uint32_t)
		never_gone[DINGO_STATUS_CROWDED_OFFSET / 4 + 1];

	ctx->status = never_gone;
	if (!(resp->comp_mask & DINGO_UCONTEXT_STATUS))
		return 0;
	ctx->status_offset = resp->status_mmap;
	ctx->status_page = mmap(NULL, DINGO_DB_PAGE_SIZE, PROT_READ, MAP_SHARED,
				ctx->vctx.context.cmd_fd, resp->status_mmap);
	if (ctx->status_page == MAP_FAILED) {
		ctx->status_page = NULL;
		verbs_err(&ctx->vctx, "cannot map the status page: %m\n");
		return errno;
	}
	ctx->status = ctx->status_page;
	if (resp->comp_mask & DINGO_UCONTEXT_CLOCK)
		ctx->clock = (const struct dingo_clock_page *)
			((uint8_t *)ctx->status_page + DINGO_STATUS_CLOCK_OFFSET);
	return 0;
}

/* Initializes a new or imported context from the kernel's response. */
static int init_context(struct dingo_context *ctx,
			const struct dingo_alloc_ucontext_resp *resp)
{
	int err;

	ctx->caps = resp->caps;
	ctx->kick_mode = resp->kick_mode;
	ctx->max_inline = resp->max_inline;
	ctx->log_max_sq = resp->log_max_sq;
	ctx->log_max_rq = resp->log_max_rq;
	ctx->kick_fd = -1;
	err = pthread_mutex_init(&ctx->mutex, NULL);
	if (err)
		return err;
	err = init_kick(ctx, resp);
	if (err)
		goto err_mutex;
	err = init_status(ctx, resp);
	if (err)
		goto err_kick;
	set_ops(ctx);
	if (resp->comp_mask & DINGO_UCONTEXT_DM)
		verbs_set_ops(&ctx->vctx, &dingo_dm_ops);
	return 0;

err_kick:
	destroy_kick(ctx);
err_mutex:
	pthread_mutex_destroy(&ctx->mutex);
	return err;
}

static struct dingo_context *new_context(struct ibv_device *device, int cmd_fd)
{
	struct dingo_context *ctx;

	return verbs_init_and_alloc_context(device, cmd_fd, ctx, vctx,
					    RDMA_DRIVER_UNKNOWN);
}

/* Returns the finished context; if `err` is set, frees `ctx`, sets errno and returns NULL. */
static struct verbs_context *finish_context(struct dingo_context *ctx, int err)
{
	if (!err)
		return &ctx->vctx;
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
	errno = err;
	return NULL;
}

static struct verbs_context *dingo_alloc_context(struct ibv_device *device,
						 int cmd_fd, void *private_data)
{
	struct dingo_context *ctx = new_context(device, cmd_fd);
	struct udingo_alloc_ucontext_resp resp = {};
	struct udingo_alloc_ucontext req = {};
	int err;

	if (!ctx)
		return NULL;
	req.kick_modes = 1U << DINGO_KICK_NONE | 1U << DINGO_KICK_MMIO |
			 1U << DINGO_KICK_FD;
	err = dingo_cmd_get_context(&ctx->vctx, &req.ibv_cmd, sizeof(req),
				    &resp.ibv_resp, sizeof(resp));
	if (!err)
		err = init_context(ctx, &resp.drv_payload);
	if (!err)
		dingo_direct_start(ctx);
	if (!err && ctx->direct)
		verbs_set_ops(&ctx->vctx, &dingo_direct_ops);
	return finish_context(ctx, err);
}

/* ibv_import_device(3): doorbells, queues and objects belong to the descriptor, not to the process.
 */
static struct verbs_context *dingo_import_context(struct ibv_device *device,
						  int cmd_fd)
{
	DECLARE_COMMAND_BUFFER(driver, UVERBS_OBJECT_DEVICE,
			       UVERBS_METHOD_QUERY_CONTEXT, 1);
	struct dingo_alloc_ucontext_resp resp = {};
	struct dingo_context *ctx = new_context(device, cmd_fd);
	int err;

	if (!ctx)
		return NULL;
	fill_attr_out_ptr(driver, DINGO_ATTR_QUERY_CONTEXT_RESP, &resp);
	err = ibv_cmd_query_context(&ctx->vctx.context, driver);
	if (!err)
		err = init_context(ctx, &resp);
	return finish_context(ctx, err);
}

static void dingo_free_context(struct ibv_context *context)
{
	struct dingo_context *ctx = to_dingo_context(context);
	unsigned int i;

	dingo_direct_stop(ctx);
	dingo_doorbell_unmap_all(ctx);
	if (ctx->status_page)
		munmap(ctx->status_page, DINGO_DB_PAGE_SIZE);
	destroy_kick(ctx);
	for (i = 0; i < DINGO_QP_TABLE_SIZE; i++)
		free(ctx->qp_table[i]);
	pthread_mutex_destroy(&ctx->mutex);
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

static struct verbs_device *dingo_alloc_device(struct verbs_sysfs_dev *sysfs)
{
	struct dingo_device *dev = calloc(1, sizeof(*dev));

	return dev ? &dev->vdev : NULL;
}

static void dingo_uninit_device(struct verbs_device *vdev)
{
	free(container_of(vdev, struct dingo_device, vdev));
}

/* The kernel has no driver id for this card, so devices are matched by their PCI ids. */
static const struct verbs_match_ent dingo_match_table[] = {
	VERBS_PCI_MATCH(DINGO_PCI_VENDOR_ID, DINGO_PCI_DEVICE_ID, NULL),
	{},
};

static const struct verbs_device_ops dingo_dev_ops = {
	.name = "dingo",
	.match_min_abi_version = DINGO_UVERBS_ABI_VERSION,
	.match_max_abi_version = DINGO_UVERBS_ABI_VERSION,
	.match_table = dingo_match_table,
	.alloc_device = dingo_alloc_device,
	.uninit_device = dingo_uninit_device,
	.alloc_context = dingo_alloc_context,
	.import_context = dingo_import_context,
};

bool dingodv_is_supported(struct ibv_device *device)
{
	return verbs_get_device(device)->ops == &dingo_dev_ops;
}

PROVIDER_DRIVER(dingo, dingo_dev_ops);
