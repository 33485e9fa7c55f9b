// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The limits of a card determine the sizes of rings, tables and WQEs, so they
 * are checked once: values above the contract's or this driver's maximum are
 * reduced, as a later version may allow more; if a limit is 0, the card is
 * refused, or the capability is cleared.
 */
#include "dingo.h"
#include "dingo_netdev.h"

#define DINGO_MAX_REGIONS BIT(32 - DINGO_MR_INDEX_SHIFT) /* keys have an index */
#define DINGO_MAX_GIDS 1024U /* ib_core creates sysfs files for each */
/* Largest number of queues that doorbells can address. */
#define DINGO_MAX_QUEUES (DINGO_DOORBELL_WORD0_OBJECT_MASK + 1)
#define DINGO_MAX_FRWR BIT(16) /* the page list is one allocation */
#define DINGO_MAX_RD_ATOMIC 128
#define DINGO_MAX_ACK_DELAY 31

static u32 dingo_cut(struct dingo_dev *dev, const char *name, u32 has, u32 max)
{
	if (has <= max)
		return has;
	dev_info(&dev->pdev->dev, "limit %s of the card is %u, used are %u\n",
		 name, has, max);
	return max;
}

static void dingo_limit_byte(struct dingo_dev *dev, const char *name, u8 *limit,
			     u8 max)
{
	*limit = dingo_cut(dev, name, *limit, max);
}

static void dingo_limit(struct dingo_dev *dev, const char *name, __le32 *limit,
			u32 max)
{
	*limit = cpu_to_le32(dingo_cut(dev, name, le32_to_cpu(*limit), max));
}

static const char *dingo_limits_lack(const struct dingo_limits *limits)
{
	if (!limits->max_qp)
		return "queue pairs";
	if (!limits->max_cq)
		return "completion queues";
	/* Two for an Ethernet channel, and one for verbs. */
	if (le32_to_cpu(limits->max_cq) < 3)
		return "completion queues beside those of the interface";
	if (limits->log_max_cq < DINGO_ETH_MIN_LOG_RING + DINGO_ETH_CQ_LOG_MORE)
		return "completion queues of a useful length";
	if (!limits->max_mr || !limits->max_pd || !limits->max_mr_size)
		return "memory regions";
	if (!limits->max_send_sge || !limits->max_recv_sge)
		return "work requests with data";
	if (!limits->max_gid || !limits->max_mac)
		return "addresses";
	if (limits->log_max_eq < DINGO_EQ_MIN_LOG_SIZE)
		return "event queues of a useful length";
	if (limits->max_eth_rings && limits->log_max_eth < DINGO_ETH_MIN_LOG_RING)
		return "Ethernet rings for a frame of many fragments";
	if (!(le64_to_cpu(limits->page_sizes) & PAGE_SIZE))
		return "pages of this kernel's size";
	return NULL;
}

/* Clears a capability if its limit is 0. */
static void dingo_caps_without(struct dingo_dev *dev, u64 cap, __le32 limit,
			       const char *name)
{
	if (limit || !(dev->caps & cap))
		return;
	dev_info(&dev->pdev->dev, "limit %s of the card is 0: it does not have them\n",
		 name);
	dev->caps &= ~cap;
}

/**
 * dingo_limits_check() - check and reduce the limits of a card
 * @dev: the card; its capabilities are those of the register
 *
 * Return: 0 or -ENODEV.
 */
int dingo_limits_check(struct dingo_dev *dev)
{
	struct dingo_limits *limits = &dev->limits;
	const char *lack = dingo_limits_lack(limits);

	if (lack) {
		dev_err(&dev->pdev->dev, "the card has no %s\n", lack);
		return -ENODEV;
	}
	dingo_caps_without(dev, DINGO_CAP_SRQ, limits->max_srq, "max_srq");
	dingo_caps_without(dev, DINGO_CAP_FRWR, limits->max_frwr_pages,
			   "max_frwr_pages");
	dingo_caps_without(dev, DINGO_CAP_MCAST, limits->max_mcast, "max_mcast");
	dingo_caps_without(dev, DINGO_CAP_MCAST, limits->max_mcast_qp,
			   "max_mcast_qp");

	/* The first QP indices are reserved. */
	dingo_limit(dev, "max_qp", &limits->max_qp,
		    BIT(DINGO_QPN_INDEX_BITS) - 2);
	dingo_limit(dev, "max_cq", &limits->max_cq, DINGO_MAX_QUEUES);
	dingo_limit(dev, "max_srq", &limits->max_srq, DINGO_MAX_QUEUES);
	dingo_limit(dev, "max_mr", &limits->max_mr, DINGO_MAX_REGIONS);
	dingo_limit(dev, "max_pd", &limits->max_pd, INT_MAX); /* limit of an ida */
	dingo_limit(dev, "max_gid", &limits->max_gid, DINGO_MAX_GIDS);
	dingo_limit(dev, "max_msg", &limits->max_msg, DINGO_MAX_MSG);
	dingo_limit(dev, "max_inline", &limits->max_inline, DINGO_MAX_INLINE);
	dingo_limit(dev, "max_frwr_pages", &limits->max_frwr_pages,
		    DINGO_MAX_FRWR);
	dingo_limit_byte(dev, "log_max_sq", &limits->log_max_sq,
			 DINGO_MAX_LOG_SQ);
	dingo_limit_byte(dev, "log_max_rq", &limits->log_max_rq,
			 DINGO_MAX_LOG_RQ);
	dingo_limit_byte(dev, "log_max_cq", &limits->log_max_cq,
			 DINGO_MAX_LOG_CQ);
	dingo_limit_byte(dev, "log_max_eq", &limits->log_max_eq,
			 DINGO_MAX_LOG_EQ);
	/* A channel's CQ must be longer than its rings. */
	dingo_limit_byte(dev, "log_max_eth", &limits->log_max_eth,
			 min_t(u8, DINGO_MAX_LOG_ETH,
			       limits->log_max_cq - DINGO_ETH_CQ_LOG_MORE));
	dingo_limit_byte(dev, "max_send_sge", &limits->max_send_sge,
			 DINGO_SQ_MAX_SGE);
	dingo_limit_byte(dev, "max_recv_sge", &limits->max_recv_sge,
			 DINGO_RQ_MAX_SGE);
	dingo_limit_byte(dev, "max_rd_atomic", &limits->max_rd_atomic,
			 DINGO_MAX_RD_ATOMIC);
	dingo_limit_byte(dev, "max_dest_rd_atomic", &limits->max_dest_rd_atomic,
			 DINGO_MAX_RD_ATOMIC);
	dingo_limit_byte(dev, "ack_delay", &limits->ack_delay,
			 DINGO_MAX_ACK_DELAY);
	return 0;
}
