// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Driver details of objects for "rdma resource show -dd" and "-r".
 */
#include <net/netlink.h>
#include <rdma/rdma_netlink.h>

#include "dingo_ib.h"

#define DINGO_QP_COUNTER(id, text) \
	[id] = text,

static const char *const dingo_qp_counter_names[] = {
	DINGO_FOR_EACH_QP_COUNTER(DINGO_QP_COUNTER)
};

static struct nlattr *dingo_res_start(struct sk_buff *msg)
{
	return nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
}

static int dingo_res_end(struct sk_buff *msg, struct nlattr *table, bool fits)
{
	if (!fits) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

int dingo_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct dingo_cq *cq = to_dcq(ibcq);
	struct nlattr *table = dingo_res_start(msg);

	if (!table)
		return -EMSGSIZE;
	return dingo_res_end(msg, table,
		!rdma_nl_put_driver_u32(msg, "cqn", cq->core.cqn) &&
		!rdma_nl_put_driver_u32(msg, "eqn", cq->core.eqn) &&
		!rdma_nl_put_driver_u32(msg, "vector", cq->core.vector) &&
		!rdma_nl_put_driver_u32(msg, "ring_entries",
					BIT(cq->log_size)));
}

int dingo_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct dingo_mr *mr = to_dmr(ibmr);
	struct nlattr *table = dingo_res_start(msg);

	if (!table)
		return -EMSGSIZE;
	return dingo_res_end(msg, table,
		!rdma_nl_put_driver_u32_hex(msg, "access", mr->access) &&
		!rdma_nl_put_driver_u32(msg, "page_shift",
					mr->pbl.page_shift) &&
		!rdma_nl_put_driver_u32(msg, "pages", mr->pbl.entries) &&
		!rdma_nl_put_driver_u32(msg, "levels", mr->pbl.levels) &&
		!rdma_nl_put_driver_u32(msg, "dynamic", !!mr->dmabuf) &&
		!rdma_nl_put_driver_u32(msg, "paused", mr->paused));
}

/* Includes the card's counters of the QP. */
int dingo_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct dingo_qp *qp = to_dqp(ibqp);
	u64 values[DINGO_QP_COUNTERS];
	struct nlattr *table;
	bool fits;
	u32 n;

	/* Sleeps. If it fails, no counters are shown. */
	bool counted = !dingo_cmd_query_qp_stats(to_ddev(ibqp->device), qp->qpn,
						 values, DINGO_QP_COUNTERS);

	table = dingo_res_start(msg);
	if (!table)
		return -EMSGSIZE;
	fits = !rdma_nl_put_driver_u32(msg, "sq_blocks", BIT(qp->log_sq)) &&
	       (!qp->rq_mem ||
		!rdma_nl_put_driver_u32(msg, "rq_entries", BIT(qp->log_rq)));
	for (n = 0; fits && counted && n < DINGO_QP_COUNTERS; n++)
		fits = !rdma_nl_put_driver_u64(msg, dingo_qp_counter_names[n],
					       values[n]);
	return dingo_res_end(msg, table, fits);
}

/* Returns the card's raw QP information. */
int dingo_fill_res_qp_entry_raw(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct dingo_qp_info info;
	int err;

	err = dingo_cmd_query_qp(to_ddev(ibqp->device), to_dqp(ibqp)->qpn,
				 &info);
	return err ?: nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, sizeof(info),
			      &info);
}

int dingo_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	struct dingo_srq *srq = to_dsrq(ibsrq);
	struct nlattr *table;
	u32 limit, available;
	bool queried = !dingo_cmd_query_srq(to_ddev(ibsrq->device), srq->srqn,
					    &limit, &available);

	table = dingo_res_start(msg);
	if (!table)
		return -EMSGSIZE;
	return dingo_res_end(msg, table,
		!rdma_nl_put_driver_u32(msg, "srqn", srq->srqn) &&
		!rdma_nl_put_driver_u32(msg, "entries", BIT(srq->log_size)) &&
		(!queried ||
		 (!rdma_nl_put_driver_u32(msg, "limit", limit) &&
		  !rdma_nl_put_driver_u32(msg, "available", available))));
}
