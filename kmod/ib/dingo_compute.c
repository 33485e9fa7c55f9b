// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The compute slot: what the provider asks for in the driver data of MODIFY_QP
 * and QUERY_DEVICE.
 */
#include "dingo_ib.h"

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
 * dingo_query_compute() - tell the provider which kernels there are
 * @dev: the card
 * @udata: of QUERY_DEVICE; NULL: called by the kernel
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

/**
 * dingo_set_compute() - carry out a dingo_modify_qp_req
 * @qp: the QP, locked
 * @mask: attr_mask of the command
 * @udata: its driver data; NULL: called by the kernel
 *
 * Return: 1 when there is no request, 0 when it was carried out, -EINVAL,
 * -EOPNOTSUPP, -EFAULT, -EIO.
 */
int dingo_set_compute(struct dingo_qp *qp, int mask, struct ib_udata *udata)
{
	struct dingo_dev *dev = to_ddev(qp->ibqp.device);
	struct dingo_modify_qp_req req;
	bool receive;
	int err;

	if (!dingo_udata_none(udata))
		return 1;
	err = dingo_udata_in(udata, &req, sizeof(req));
	if (err)
		return err;
	receive = req.comp_mask == DINGO_MODIFY_QP_COMPUTE_RX;
	if ((req.comp_mask != DINGO_MODIFY_QP_COMPUTE && !receive) ||
	    req.reserved ||
	    !(dev->caps & (receive ? DINGO_CAP_COMPUTE_RX : DINGO_CAP_COMPUTE)))
		return -EOPNOTSUPP;
	if (mask)
		return -EINVAL;
	return dingo_cmd_set_compute(dev, qp->qpn, req.kernel, req.param,
				     receive ? DINGO_COMPUTE_RECEIVE :
					       DINGO_COMPUTE_SEND);
}
