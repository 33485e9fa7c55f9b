// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Protection domains: numbers that the driver assigns and the card compares.
 */
#include "dingo_ib.h"

/* @udata: struct dingo_alloc_pd_resp; NULL: called by the kernel. */
int dingo_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct dingo_ibdev *ib = to_dibdev(ibpd->device);
	struct dingo_pd *pd = to_dpd(ibpd);
	int pdn;
	int err;

	err = dingo_udata_none(udata);
	if (err)
		return err;
	pdn = ida_alloc_max(&ib->pdns,
			    le32_to_cpu(ib->dev->limits.max_pd) - 1,
			    GFP_KERNEL);
	if (pdn < 0)
		return pdn;
	pd->pdn = pdn;

	if (udata) {
		struct dingo_alloc_pd_resp resp = { .pdn = pdn };

		err = dingo_udata_out(udata, &resp, sizeof(resp));
		if (err) {
			ida_free(&ib->pdns, pdn);
			return err;
		}
	}
	return 0;
}

int dingo_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	ida_free(&to_dibdev(ibpd->device)->pdns, to_dpd(ibpd)->pdn);
	return 0;
}
