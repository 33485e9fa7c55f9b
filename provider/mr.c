// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory regions and windows. */
#include <errno.h>
#include <stdlib.h>

#include "abi.h"
#include "dingo.h"
#include "direct.h"

struct ibv_mr *dingo_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			    uint64_t hca_va, int access)
{
	struct ib_uverbs_reg_mr_resp resp = {};
	struct ibv_reg_mr req = {};
	struct verbs_mr *vmr = calloc(1, sizeof(*vmr));
	int err;

	if (!vmr)
		return NULL;
	err = ibv_cmd_reg_mr(pd, addr, length, hca_va, access, vmr, &req,
			     sizeof(req), &resp, sizeof(resp));
	if (err) {
		free(vmr);
		errno = err;
		return NULL;
	}
	dingo_direct_registered(to_dingo_context(pd->context), vmr->ibv_mr.lkey, addr,
				length, access & IBV_ACCESS_ZERO_BASED ? 0 : hca_va);
	return &vmr->ibv_mr;
}

struct ibv_mr *dingo_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				   size_t length, uint64_t iova, int fd,
				   int access)
{
	struct verbs_mr *vmr = calloc(1, sizeof(*vmr));
	int err;

	if (!vmr)
		return NULL;
	err = ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr,
				    NULL);
	if (err) {
		free(vmr);
		errno = err;
		return NULL;
	}
	return &vmr->ibv_mr;
}

int dingo_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		   void *addr, size_t length, int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct ibv_rereg_mr req;

	return ibv_cmd_rereg_mr(vmr, flags, addr, length, (uintptr_t)addr,
				access, pd, &req, sizeof(req), &resp,
				sizeof(resp));
}

int dingo_dereg_mr(struct verbs_mr *vmr)
{
	struct dingo_context *ctx = to_dingo_context(vmr->ibv_mr.context);
	uint32_t key = vmr->ibv_mr.lkey;
	int err = ibv_cmd_dereg_mr(vmr);

	if (err)
		return err;
	dingo_direct_deregistered(ctx, key);
	free(vmr);
	return 0;
}

struct ibv_mr *dingo_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	struct verbs_mr *vmr = calloc(1, sizeof(*vmr));
	int err;

	if (!vmr)
		return NULL;
	err = ibv_cmd_query_mr(pd, vmr, mr_handle);
	if (err) {
		free(vmr);
		errno = err;
		return NULL;
	}
	return &vmr->ibv_mr;
}

void dingo_unimport_mr(struct ibv_mr *mr)
{
	free(verbs_get_mr(mr));
}

struct ibv_mw *dingo_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp;
	struct ibv_alloc_mw req;
	struct ibv_mw *mw = calloc(1, sizeof(*mw));
	int err;

	if (!mw)
		return NULL;
	err = ibv_cmd_alloc_mw(pd, type, mw, &req, sizeof(req), &resp,
			       sizeof(resp));
	if (err) {
		free(mw);
		errno = err;
		return NULL;
	}
	return mw;
}

int dingo_dealloc_mw(struct ibv_mw *mw)
{
	int err = ibv_cmd_dealloc_mw(mw);

	if (err)
		return err;
	free(mw);
	return 0;
}

/* ibv_bind_mw(3): type 1 windows, whose key the caller does not choose. */
int dingo_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
		  struct ibv_mw_bind *bind)
{
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = bind->bind_info,
		},
	};
	int err;

	if (mw->type != IBV_MW_TYPE_1)
		return EINVAL;
	if (bind->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED)
		return EINVAL;
	err = dingo_post_send(qp, &wr, &bad);
	if (!err)
		mw->rkey = wr.bind_mw.rkey;
	return err;
}
