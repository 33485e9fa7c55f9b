// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory windows: keys that work requests bind to parts of regions.
 */
#include "dingo_ib.h"

/* Creates an unbound window. @udata: must be empty. */
int dingo_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct dingo_ibdev *ib = to_dibdev(ibmw->device);
	struct dingo_cmd_create_mr cmd = {
		.pdn = cpu_to_le32(to_dpd(ibmw->pd)->pdn),
	};
	u32 key;
	int err;

	err = dingo_udata_none(udata);
	if (err)
		return err;
	switch (ibmw->type) {
	case IB_MW_TYPE_1:
		cmd.kind = DINGO_MRT_MW1;
		break;
	case IB_MW_TYPE_2:
		cmd.kind = DINGO_MRT_MW2;
		break;
	default:
		return -EOPNOTSUPP;
	}
	err = dingo_key_alloc(ib, &key);
	if (err)
		return err;
	cmd.key = cpu_to_le32(key);
	err = dingo_cmd_create_mr(ib->dev, &cmd);
	if (err) {
		dingo_key_free(ib, key);
		return err;
	}
	ibmw->rkey = key;
	return 0;
}

int dingo_dealloc_mw(struct ib_mw *ibmw)
{
	struct dingo_ibdev *ib = to_dibdev(ibmw->device);
	int err;

	err = dingo_cmd_destroy_mr(ib->dev, ibmw->rkey);
	if (err)
		return err;
	dingo_key_free(ib, ibmw->rkey);
	return 0;
}
