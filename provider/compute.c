// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The compute slot: dingodv calls. */
#include <errno.h>
#include <string.h>

#include "abi.h"
#include "dingo.h"
#include "dingodv.h"

int dingodv_query_compute(struct ibv_context *context,
			  struct dingodv_kernel *kernels, size_t *num)
{
	struct udingo_query_device_ex_resp resp = {};
	size_t resp_size = sizeof(resp), room = *num, i;
	struct ibv_device_attr_ex attr;
	int err;

	if (!dingodv_is_supported(context->device) ||
	    !(to_dingo_context(context)->caps & DINGO_CAP_COMPUTE))
		return EOPNOTSUPP;
	err = ibv_cmd_query_device_any(context, NULL, &attr, sizeof(attr),
				       &resp.ibv_resp, &resp_size);
	if (err)
		return err;
	/* a driver from before the slot leaves the answer empty */
	if (!resp.num_kernels || resp.num_kernels > DINGO_MAX_KERNELS)
		return EOPNOTSUPP;
	*num = resp.num_kernels;
	for (i = 0; i < *num && i < room; i++) {
		const struct dingo_compute_kernel *from = &resp.kernels[i];

		memset(&kernels[i], 0, sizeof(kernels[i]));
		memcpy(kernels[i].name, from->name, sizeof(from->name));
		kernels[i].id = from->id;
		kernels[i].smallest_param = from->smallest_param;
		kernels[i].largest_param = from->largest_param;
		kernels[i].record_bytes = from->record;
	}
	return 0;
}

/* @cap: DINGO_CAP_*; @what: DINGO_MODIFY_QP_*, one direction's. */
static int set_compute(struct ibv_qp *qp, uint32_t kernel,
		       const struct dingodv_compute_params *params,
		       uint64_t cap, uint32_t what)
{
	struct ib_uverbs_ex_modify_qp_resp resp;
	struct udingo_modify_qp_ex req = {};
	struct ibv_qp_attr attr = {};

	if (!dingodv_is_supported(qp->context->device) ||
	    !(to_dingo_context(qp->context)->caps & cap))
		return EOPNOTSUPP;
	if (params && (params->comp_mask || params->reserved))
		return EOPNOTSUPP;
	req.drv_payload.comp_mask = what;
	req.drv_payload.kernel = kernel;
	req.drv_payload.param = params ? params->param : 0;
	return ibv_cmd_modify_qp_ex(qp, &attr, 0, &req.ibv_cmd, sizeof(req),
				    &resp, sizeof(resp));
}

int dingodv_set_compute(struct ibv_qp *qp, uint32_t kernel,
			const struct dingodv_compute_params *params)
{
	return set_compute(qp, kernel, params, DINGO_CAP_COMPUTE,
			   DINGO_MODIFY_QP_COMPUTE);
}

int dingodv_set_receive_compute(struct ibv_qp *qp, uint32_t kernel,
				const struct dingodv_compute_params *params)
{
	return set_compute(qp, kernel, params, DINGO_CAP_COMPUTE_RX,
			   DINGO_MODIFY_QP_COMPUTE_RX);
}
