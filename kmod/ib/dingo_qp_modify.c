// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs: states and attributes.
 */
#include <linux/etherdevice.h>

#include "dingo_ib.h"

static void dingo_check_masks(void)
{
	BUILD_BUG_ON((int)IB_QP_STATE != DINGO_QPM_STATE);
	BUILD_BUG_ON((int)IB_QP_ACCESS_FLAGS != DINGO_QPM_ACCESS);
	BUILD_BUG_ON((int)IB_QP_AV != DINGO_QPM_AV);
	BUILD_BUG_ON((int)IB_QP_RNR_RETRY != DINGO_QPM_RNR_RETRY);
	BUILD_BUG_ON((int)IB_QP_MAX_QP_RD_ATOMIC != DINGO_QPM_MAX_RD_ATOMIC);
	BUILD_BUG_ON((int)IB_QP_MIN_RNR_TIMER != DINGO_QPM_MIN_RNR_TIMER);
	BUILD_BUG_ON((int)IB_QP_SQ_PSN != DINGO_QPM_SQ_PSN);
	BUILD_BUG_ON((int)IB_QP_MAX_DEST_RD_ATOMIC !=
		     DINGO_QPM_MAX_DEST_RD_ATOMIC);
	BUILD_BUG_ON((int)IB_QP_DEST_QPN != DINGO_QPM_DEST_QPN);
	BUILD_BUG_ON((int)IB_QPS_ERR != DINGO_QPS_ERR);
	BUILD_BUG_ON((IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
		      IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC) !=
		     DINGO_QP_ACCESS);
	BUILD_BUG_ON((IB_ACCESS_OPTIONAL | IB_ACCESS_MW_BIND |
		      IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT) !=
		     DINGO_QP_ACCESS_IGNORED);
	BUILD_BUG_ON((int)IB_MTU_256 != DINGO_QP_ATTR_PATH_MTU_MIN);
	BUILD_BUG_ON((int)IB_MTU_4096 != DINGO_QP_ATTR_PATH_MTU_MAX);
}

/* An attribute, with the range of its values in the contract. */
#define DINGO_QP_ATTR_VALUE(name, value)                        \
	{ DINGO_QPM_##name, value, DINGO_QP_ATTR_##name##_MIN, \
	  DINGO_QP_ATTR_##name##_MAX },

static int dingo_check_qp_attr(struct dingo_dev *dev,
			       const struct ib_qp_attr *attr, int mask)
{
	const struct {
		u32 bit;
		u32 value;
		u32 min;
		u32 max;
	} values[] = { DINGO_FOR_EACH_QP_ATTR(DINGO_QP_ATTR_VALUE, attr) };
	int i;

	/* Rights to operations that the card lacks are accepted and ignored. */
	if ((mask & IB_QP_ACCESS_FLAGS) &&
	    (attr->qp_access_flags &
	     ~(DINGO_QP_ACCESS | DINGO_QP_ACCESS_IGNORED)))
		return -EOPNOTSUPP;
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		if ((mask & values[i].bit) &&
		    (values[i].value < values[i].min ||
		     values[i].value > values[i].max))
			return -EINVAL;
	}
	if ((mask & IB_QP_MAX_QP_RD_ATOMIC) &&
	    attr->max_rd_atomic > dev->limits.max_rd_atomic)
		return -EINVAL;
	if ((mask & IB_QP_MAX_DEST_RD_ATOMIC) &&
	    attr->max_dest_rd_atomic > dev->limits.max_dest_rd_atomic)
		return -EINVAL;
	return 0;
}

static void dingo_put_av(struct dingo_qp_attr *to, const struct dingo_av *av)
{
	memcpy(to->dgid, av->dgid, sizeof(to->dgid));
	ether_addr_copy(to->dmac, av->dmac);
	to->sgid_index = cpu_to_le16(av->sgid_index);
	to->flow_label = cpu_to_le32(av->flow_label);
	to->udp_sport = cpu_to_le16(av->udp_sport);
	to->hop_limit = av->hop_limit;
	to->tclass = av->tclass;
	to->sl = av->sl;
}

/* Copies the attributes in the mask; others stay 0. */
static int dingo_put_attr(struct dingo_qp *qp, struct dingo_qp_attr *to,
			  const struct ib_qp_attr *attr, int mask)
{
	struct dingo_av av;
	int err;

	if (mask & IB_QP_ACCESS_FLAGS)
		to->access = cpu_to_le32(dingo_access(attr->qp_access_flags &
						      DINGO_QP_ACCESS));
	if (mask & IB_QP_PORT)
		to->port = attr->port_num;
	if (mask & IB_QP_QKEY)
		to->qkey = cpu_to_le32(attr->qkey);
	if (mask & IB_QP_PATH_MTU)
		to->path_mtu = attr->path_mtu;
	if (mask & IB_QP_TIMEOUT)
		to->timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		to->retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		to->rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_RQ_PSN)
		to->rq_psn = cpu_to_le32(attr->rq_psn & DINGO_PSN_MASK);
	if (mask & IB_QP_SQ_PSN)
		to->sq_psn = cpu_to_le32(attr->sq_psn & DINGO_PSN_MASK);
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IB_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_DEST_QPN)
		to->dest_qpn = cpu_to_le32(attr->dest_qp_num & DINGO_QPN_MASK);
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		to->sqd_notify = !!attr->en_sqd_async_notify;
	if (mask & IB_QP_AV) {
		err = dingo_av_init(&av, &attr->ah_attr, qp->uc, qp->qpn,
				    attr->dest_qp_num);
		if (err)
			return err;
		dingo_put_av(to, &av);
	}
	return 0;
}

/**
 * dingo_modify_qp() - change state and attributes
 * @ibqp: the QP
 * @attr: the attributes
 * @mask: valid attributes
 * @udata: empty; NULL: called by the kernel
 *
 * Atomic: on failure nothing changes.
 * Return: 0, -EINVAL, -EOPNOTSUPP, -EIO.
 */
int dingo_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata)
{
	struct dingo_dev *dev = to_ddev(ibqp->device);
	struct dingo_cmd_modify_qp cmd = {};
	struct dingo_qp *qp = to_dqp(ibqp);
	enum ib_qp_state cur, next;
	int err;

	dingo_check_masks();
	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	err = dingo_udata_none(udata);
	if (err)
		return err;
	if ((mask & IB_QP_AV) && !udata) {
		err = dingo_ah_resolve(ibqp->pd, &attr->ah_attr);
		if (err)
			return err;
	}
	mutex_lock(&qp->mutex);
	cur = mask & IB_QP_CUR_STATE ? attr->cur_qp_state : qp->state;
	next = mask & IB_QP_STATE ? attr->qp_state : cur;
	err = -EINVAL;
	if (!ib_modify_qp_is_ok(cur, next, ibqp->qp_type, mask))
		goto out;
	/* Valid for a QP, but alternate paths are not supported. */
	err = -EOPNOTSUPP;
	if (mask & ~DINGO_QPM_ALL)
		goto out;
	err = dingo_check_qp_attr(dev, attr, mask);
	if (err)
		goto out;

	cmd.qpn = cpu_to_le32(qp->qpn);
	cmd.mask = cpu_to_le32(mask);
	if (mask & IB_QP_CUR_STATE)
		cmd.cur_state = cur;
	if (mask & IB_QP_STATE)
		cmd.next_state = next;
	err = dingo_put_attr(qp, &cmd.attr, attr, mask);
	if (err)
		goto out;
	if (next == IB_QPS_RESET) {
		dingo_db_clear(dev, &qp->sq_db);
		dingo_db_clear(dev, &qp->rq_db);
	}
	err = dingo_cmd_modify_qp(dev, &cmd);
	/* A failed card processes no QP: report the error state to the owner,
	 * which may be draining it.
	 */
	if (err == -EIO && next == IB_QPS_ERR && !dingo_is_up(dev))
		err = 0;
	if (err)
		goto out;
	if (!qp->uc && next == IB_QPS_RESET)
		dingo_kqp_reset(qp);
	/* Then dingo_qp_wake_all() sees the state, or the failure is seen
	 * here.
	 */
	smp_store_mb(qp->state, next);
	/* A failed card sends no event that the QP does not consume from its
	 * SRQ any more.
	 */
	if (next == IB_QPS_ERR && ibqp->srq && !dingo_is_up(dev))
		dingo_qp_event(to_dibdev(ibqp->device), qp->qpn,
			       IB_EVENT_QP_LAST_WQE_REACHED);
out:
	mutex_unlock(&qp->mutex);
	return err;
}

static int dingo_get_access(u32 access)
{
	int ib_access = 0;

	if (access & DINGO_ACC_LOCAL_WRITE)
		ib_access |= IB_ACCESS_LOCAL_WRITE;
	if (access & DINGO_ACC_REMOTE_WRITE)
		ib_access |= IB_ACCESS_REMOTE_WRITE;
	if (access & DINGO_ACC_REMOTE_READ)
		ib_access |= IB_ACCESS_REMOTE_READ;
	if (access & DINGO_ACC_REMOTE_ATOMIC)
		ib_access |= IB_ACCESS_REMOTE_ATOMIC;
	return ib_access;
}

static void dingo_get_attr(const struct dingo_qp_info *info,
			   struct ib_qp_attr *attr)
{
	const struct dingo_qp_attr *from = &info->attr;

	attr->qp_state = info->state;
	attr->cur_qp_state = info->state;
	attr->path_mtu = from->path_mtu;
	attr->path_mig_state = IB_MIG_MIGRATED;
	attr->qkey = le32_to_cpu(from->qkey);
	attr->rq_psn = le32_to_cpu(from->rq_psn);
	attr->sq_psn = le32_to_cpu(from->sq_psn);
	attr->dest_qp_num = le32_to_cpu(from->dest_qpn);
	attr->qp_access_flags = dingo_get_access(le32_to_cpu(from->access));
	attr->pkey_index = le16_to_cpu(from->pkey_index);
	attr->en_sqd_async_notify = from->sqd_notify;
	attr->sq_draining = info->sq_draining;
	attr->max_rd_atomic = from->max_rd_atomic;
	attr->max_dest_rd_atomic = from->max_dest_rd_atomic;
	attr->min_rnr_timer = from->min_rnr_timer;
	attr->port_num = from->port;
	attr->timeout = from->timeout;
	attr->retry_cnt = from->retry_cnt;
	attr->rnr_retry = from->rnr_retry;

	attr->ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(&attr->ah_attr, DINGO_PORT);
	rdma_ah_set_sl(&attr->ah_attr, from->sl);
	rdma_ah_set_grh(&attr->ah_attr, NULL, le32_to_cpu(from->flow_label),
			le16_to_cpu(from->sgid_index), from->hop_limit,
			from->tclass);
	rdma_ah_set_dgid_raw(&attr->ah_attr, (void *)from->dgid);
	ether_addr_copy(attr->ah_attr.roce.dmac, from->dmac);
}

/**
 * dingo_query_qp() - query state and attributes from the card
 * @ibqp: the QP
 * @attr: the result
 * @mask: not used: all attributes are returned
 * @init: the result: its creation attributes
 *
 * Return: 0 or a negative error.
 */
int dingo_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init)
{
	struct dingo_qp *qp = to_dqp(ibqp);
	struct dingo_qp_info info;
	int err;

	memset(attr, 0, sizeof(*attr));
	memset(init, 0, sizeof(*init));
	mutex_lock(&qp->mutex);
	err = qp->dead ? -EINVAL : dingo_cmd_query_qp(to_ddev(ibqp->device),
						      qp->qpn, &info);
	if (!err && info.state > IB_QPS_ERR) /* ib_core's tables end there */
		err = -EIO;
	if (!err)
		WRITE_ONCE(qp->state, info.state);
	mutex_unlock(&qp->mutex);
	if (err)
		return err;

	dingo_get_attr(&info, attr);
	attr->cap = qp->cap;
	init->event_handler = ibqp->event_handler;
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->cap = qp->cap;
	init->sq_sig_type = qp->sig_type;
	init->qp_type = ibqp->qp_type;
	return 0;
}
