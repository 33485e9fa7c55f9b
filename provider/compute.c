// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* dingodv calls for the compute slot. */
#include <errno.h>
#include <string.h>

#include <infiniband/cmd_ioctl.h>
#include <rdma/ib_user_ioctl_cmds.h>

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
	/* a driver without support for the slot leaves this empty */
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

/* @cap: DINGO_CAP_* of a card that supports this direction. */
static int set_compute(struct ibv_qp *qp, uint32_t kernel,
		       const struct dingodv_compute_params *params,
		       uint64_t cap, uint32_t direction)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_QP,
			       DINGO_METHOD_QP_SET_COMPUTE, 2);
	struct dingo_set_compute_req req = {
		.direction = direction,
		.kernel = kernel,
		.param = params ? params->param : 0,
	};
	int err;

	if (!dingodv_is_supported(qp->context->device) ||
	    !(to_dingo_context(qp->context)->caps & cap))
		return EOPNOTSUPP;
	if (params && (params->comp_mask || params->reserved))
		return EOPNOTSUPP;
	fill_attr_in_obj(cmd, DINGO_ATTR_QP_SET_COMPUTE_HANDLE, qp->handle);
	fill_attr_in_ptr(cmd, DINGO_ATTR_QP_SET_COMPUTE_REQ, &req);
	err = execute_ioctl(qp->context, cmd);
	/* a kernel without this method */
	return err == EPROTONOSUPPORT ? EOPNOTSUPP : err;
}

int dingodv_set_compute(struct ibv_qp *qp, uint32_t kernel,
			const struct dingodv_compute_params *params)
{
	return set_compute(qp, kernel, params, DINGO_CAP_COMPUTE,
			   DINGO_COMPUTE_SEND);
}

int dingodv_set_receive_compute(struct ibv_qp *qp, uint32_t kernel,
				const struct dingodv_compute_params *params)
{
	return set_compute(qp, kernel, params, DINGO_CAP_COMPUTE_RX,
			   DINGO_COMPUTE_RECEIVE);
}
