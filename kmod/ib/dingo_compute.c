// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The compute slot: its kernels, in the driver data of QUERY_DEVICE, and the
 * method that selects one.
 */
#include "dingo_ib.h"

#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>
#include <rdma/uverbs_types.h>

#define UVERBS_MODULE_NAME dingo
#include <rdma/uverbs_named_ioctl.h>

static void dingo_describe_kernel(struct dingo_compute_kernel *kernel,
				  const u64 *result)
{
	__le64 name[2] = { cpu_to_le64(result[1]), cpu_to_le64(result[2]) };

	BUILD_BUG_ON(sizeof(name) != sizeof(kernel->name));
	memcpy(kernel->name, name, sizeof(kernel->name));
	kernel->id = lower_32_bits(result[0]);
	kernel->smallest_param = lower_32_bits(result[3]);
	kernel->largest_param = upper_32_bits(result[3]);
	kernel->record = lower_32_bits(result[4]);
}

/**
 * dingo_query_compute() - report the available compute kernels to the provider
 * @dev: the card
 * @udata: that of QUERY_DEVICE; NULL: called by the kernel
 *
 * Return: 0 or a negative errno.
 */
int dingo_query_compute(struct dingo_dev *dev, struct ib_udata *udata)
{
	u64 result[ARRAY_SIZE(((struct dingo_admin_cpl *)0)->result)];
	struct dingo_query_device_resp *resp;
	u32 num = 1;
	int err = 0;

	if (!udata || !udata->outlen)
		return 0;
	resp = kzalloc(sizeof(*resp), GFP_KERNEL);
	if (!resp)
		return -ENOMEM;
	if (dev->caps & DINGO_CAP_COMPUTE) {
		while (resp->num_kernels < min_t(u32, num, DINGO_MAX_KERNELS)) {
			err = dingo_cmd_query_compute(dev, resp->num_kernels,
						      result);
			if (err)
				goto out;
			num = upper_32_bits(result[0]);
			dingo_describe_kernel(&resp->kernels[resp->num_kernels],
					      result);
			resp->num_kernels++;
		}
	}
	err = dingo_udata_out(udata, resp, sizeof(*resp));
out:
	kfree(resp);
	return err;
}

static int
UVERBS_HANDLER(DINGO_METHOD_QP_SET_COMPUTE)(struct uverbs_attr_bundle *attrs)
{
	struct dingo_set_compute_req req;
	struct dingo_dev *dev;
	struct dingo_qp *qp;
	u64 cap;
	int err;

	qp = to_dqp(uverbs_attr_get_obj(attrs,
					DINGO_ATTR_QP_SET_COMPUTE_HANDLE));
	err = uverbs_copy_from(&req, attrs, DINGO_ATTR_QP_SET_COMPUTE_REQ);
	if (err)
		return err;
	dev = to_ddev(qp->ibqp.device);
	cap = req.direction == DINGO_COMPUTE_SEND ? DINGO_CAP_COMPUTE :
						    DINGO_CAP_COMPUTE_RX;
	if (req.comp_mask || req.direction > DINGO_COMPUTE_RECEIVE ||
	    !(dev->caps & cap))
		return -EOPNOTSUPP;
	mutex_lock(&qp->mutex);
	err = dingo_cmd_set_compute(dev, qp->qpn, req.kernel, req.param,
				    req.direction);
	mutex_unlock(&qp->mutex);
	return err;
}

#define DINGO_COMPUTE_REQUEST \
	UVERBS_ATTR_STRUCT(struct dingo_set_compute_req, param)

DECLARE_UVERBS_NAMED_METHOD(DINGO_METHOD_QP_SET_COMPUTE,
			    UVERBS_ATTR_IDR(DINGO_ATTR_QP_SET_COMPUTE_HANDLE,
					    UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(DINGO_ATTR_QP_SET_COMPUTE_REQ,
					       DINGO_COMPUTE_REQUEST,
					       UA_MANDATORY));

ADD_UVERBS_METHODS(dingo_qp_methods, UVERBS_OBJECT_QP,
		   &UVERBS_METHOD(DINGO_METHOD_QP_SET_COMPUTE));

const struct uapi_definition dingo_compute_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_QP, &dingo_qp_methods),
	{},
};
