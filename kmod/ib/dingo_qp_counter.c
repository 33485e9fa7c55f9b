// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Counters to which QPs are bound (`rdma statistic qp`). The card counts each
 * QP since its creation, and all of them for the port. ib_core uses one list of
 * names for the port and for such counters, and adds the values of these
 * counters to those of the port: so they are subtracted from the port's values.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>

#include "dingo_ib.h"

/* Counters that the card has both per QP and per port. */
static const struct {
	enum dingo_qp_counter qp;
	enum dingo_card_counter port;
} dingo_shared_counters[] = {
	{ DINGO_QP_TX_PACKETS, DINGO_CARD_RDMA_TX_PACKETS },
	{ DINGO_QP_TX_BYTES, DINGO_CARD_RDMA_TX_BYTES },
	{ DINGO_QP_RX_PACKETS, DINGO_CARD_RDMA_RX_PACKETS },
	{ DINGO_QP_RX_BYTES, DINGO_CARD_RDMA_RX_BYTES },
	{ DINGO_QP_RETRANSMITS, DINGO_CARD_RETRANSMITS },
	{ DINGO_QP_TIMEOUTS, DINGO_CARD_LOCAL_ACK_TIMEOUT_ERR },
	{ DINGO_QP_SEQ_NAK_RCVD, DINGO_CARD_PACKET_SEQ_ERR },
	{ DINGO_QP_RNR_NAK_RCVD, DINGO_CARD_RNR_NAK_RETRY_ERR },
	{ DINGO_QP_RNR_NAK_SENT, DINGO_CARD_RNR_NAK_SENT },
	{ DINGO_QP_DUPLICATES, DINGO_CARD_DUPLICATE_REQUEST },
	{ DINGO_QP_OUT_OF_SEQUENCE, DINGO_CARD_OUT_OF_SEQUENCE },
};

#define DINGO_NUM_SHARED ARRAY_SIZE(dingo_shared_counters)

/* A counter. Protected by counter_lock of the device. */
struct dingo_qp_stat {
	struct list_head qps; /* dingo_qp.counter_entry */
	u64 past[DINGO_NUM_SHARED]; /* sum of QPs that were unbound */
	u64 last[DINGO_NUM_SHARED]; /* values at @when */
	unsigned long when; /* jiffies; 0: @last is not valid */
};

/* Adds the QP's counts since it was bound to @values. */
static int dingo_qp_stat_add(struct dingo_ibdev *ib, struct dingo_qp *qp,
			     u64 *values)
{
	u64 now[DINGO_QP_COUNTERS];
	unsigned int n, from;
	int err;

	err = dingo_cmd_query_qp_stats(ib->dev, qp->qpn, now, ARRAY_SIZE(now));
	for (n = 0; !err && n < DINGO_NUM_SHARED; n++) {
		from = dingo_shared_counters[n].qp;
		values[n] += now[from] - qp->counter_base[from];
	}
	return err;
}

/* Queries the card only after some time, as ib_core
 * calls this once per name.
 */
static int dingo_qp_stat_update(struct dingo_ibdev *ib,
				struct dingo_qp_stat *stat)
{
	u64 values[DINGO_NUM_SHARED];
	struct dingo_qp *qp;
	int err;

	lockdep_assert_held(&ib->counter_lock);
	if (stat->when &&
	    time_before(jiffies, stat->when +
				 msecs_to_jiffies(RDMA_HW_STATS_DEFAULT_LIFESPAN)))
		return 0;
	memcpy(values, stat->past, sizeof(values));
	list_for_each_entry(qp, &stat->qps, counter_entry) {
		err = dingo_qp_stat_add(ib, qp, values);
		if (err)
			return err;
	}
	memcpy(stat->last, values, sizeof(values));
	stat->when = jiffies ?: 1;
	return 0;
}

static struct dingo_qp_stat *dingo_qp_stat_new(struct dingo_ibdev *ib, u32 *id)
{
	struct dingo_qp_stat *stat;
	int err;

	stat = kzalloc(sizeof(*stat), GFP_KERNEL);
	if (!stat)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&stat->qps);
	err = xa_alloc_irq(&ib->qp_stats, id, stat, xa_limit_32b, GFP_KERNEL);
	if (!err)
		return stat;
	kfree(stat);
	return ERR_PTR(err);
}

static int dingo_qp_stat_bind(struct dingo_ibdev *ib,
			      struct dingo_qp_stat *stat, struct dingo_qp *qp)
{
	int err;

	qp->counter_base = kcalloc(DINGO_QP_COUNTERS, sizeof(*qp->counter_base),
				   GFP_KERNEL);
	if (!qp->counter_base)
		return -ENOMEM;
	err = dingo_cmd_query_qp_stats(ib->dev, qp->qpn, qp->counter_base,
				       DINGO_QP_COUNTERS);
	if (err) {
		kfree(qp->counter_base);
		qp->counter_base = NULL;
		return err;
	}
	list_add_tail(&qp->counter_entry, &stat->qps);
	return 0;
}

/* @counter: new if its id is 0. */
int dingo_counter_bind_qp(struct rdma_counter *counter,
			  struct ib_qp *ibqp DINGO_COUNTER_PORT_ARG)
{
	struct dingo_ibdev *ib = to_dibdev(counter->device);
	struct dingo_qp_stat *stat;
	bool is_new = !counter->id;
	int err = 0;

	mutex_lock(&ib->counter_lock);
	/* ib_core checks this without its lock. */
	if (to_dqp(ibqp)->counter_base) {
		mutex_unlock(&ib->counter_lock);
		return -EINVAL;
	}
	stat = is_new ? dingo_qp_stat_new(ib, &counter->id) :
			xa_load(&ib->qp_stats, counter->id);
	if (IS_ERR_OR_NULL(stat))
		err = stat ? PTR_ERR(stat) : -ENOENT;
	if (!err) {
		err = dingo_qp_stat_bind(ib, stat, to_dqp(ibqp));
		if (!err) {
			ibqp->counter = counter;
		} else if (is_new) {
			kfree(xa_erase_irq(&ib->qp_stats, counter->id));
			counter->id = 0;
		}
	}
	mutex_unlock(&ib->counter_lock);
	return err;
}

int dingo_counter_unbind_qp(struct ib_qp *ibqp DINGO_COUNTER_PORT_ARG)
{
	struct dingo_ibdev *ib = to_dibdev(ibqp->device);
	struct dingo_qp *qp = to_dqp(ibqp);
	struct dingo_qp_stat *stat;

	mutex_lock(&ib->counter_lock);
	if (!qp->counter_base) { /* another thread was faster */
		mutex_unlock(&ib->counter_lock);
		return -EINVAL;
	}
	stat = xa_load(&ib->qp_stats, ibqp->counter->id);
	if (stat) {
		/* Fails if the card has failed: its counts are lost. */
		dingo_qp_stat_add(ib, qp, stat->past);
		stat->when = 0;
	}
	list_del(&qp->counter_entry);
	kfree(qp->counter_base);
	qp->counter_base = NULL;
	ibqp->counter = NULL;
	mutex_unlock(&ib->counter_lock);
	return 0;
}

int dingo_counter_dealloc(struct rdma_counter *counter)
{
	struct dingo_ibdev *ib = to_dibdev(counter->device);
	struct dingo_qp_stat *stat;
	unsigned int n;

	mutex_lock(&ib->counter_lock);
	stat = xa_erase_irq(&ib->qp_stats, counter->id);
	/* ib_core still adds the values of the destroyed counter. */
	for (n = 0; stat && n < DINGO_NUM_SHARED; n++)
		ib->qp_stats_past[dingo_shared_counters[n].port] +=
			stat->past[n];
	mutex_unlock(&ib->counter_lock);
	kfree(stat);
	return 0;
}

struct rdma_hw_stats *dingo_counter_alloc_stats(struct rdma_counter *counter)
{
	struct rdma_hw_stats *stats =
		dingo_alloc_hw_port_stats(counter->device, DINGO_PORT);
	unsigned int n;

	if (!stats)
		return NULL;
	bitmap_fill(stats->is_disabled, stats->num_counters);
	for (n = 0; n < DINGO_NUM_SHARED; n++)
		clear_bit(dingo_shared_counters[n].port, stats->is_disabled);
	return stats;
}

int dingo_counter_update_stats(struct rdma_counter *counter)
{
	struct dingo_ibdev *ib = to_dibdev(counter->device);
	struct dingo_qp_stat *stat;
	unsigned int n;
	int err;

	mutex_lock(&ib->counter_lock);
	stat = xa_load(&ib->qp_stats, counter->id);
	err = stat ? dingo_qp_stat_update(ib, stat) : -ENOENT;
	for (n = 0; !err && n < DINGO_NUM_SHARED; n++)
		counter->stats->value[dingo_shared_counters[n].port] =
			stat->last[n];
	mutex_unlock(&ib->counter_lock);
	return err;
}

/**
 * dingo_counter_take_off() - subtract the counts of all counters
 * @ib: the device
 * @values: those of the port, in the order of enum dingo_card_counter
 *
 * Sleeps.
 * Return: 0 or a negative errno.
 */
int dingo_counter_take_off(struct dingo_ibdev *ib, u64 *values)
{
	struct dingo_qp_stat *stat;
	unsigned long id;
	unsigned int n;
	int err = 0;

	mutex_lock(&ib->counter_lock);
	for (n = 0; n < DINGO_CARD_COUNTERS; n++)
		values[n] -= ib->qp_stats_past[n];
	xa_for_each(&ib->qp_stats, id, stat) {
		err = dingo_qp_stat_update(ib, stat);
		if (err)
			break;
		for (n = 0; n < DINGO_NUM_SHARED; n++)
			values[dingo_shared_counters[n].port] -= stat->last[n];
	}
	mutex_unlock(&ib->counter_lock);
	return err;
}
