// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The limits of a card. Rings, tables and WQEs are made by them, so they are
 * looked at once: more than the contract has is cut off, as a later version of
 * it may allow more; a card that has none of something is refused.
 */
#include "dingo.h"
#include "dingo_netdev.h"

#define DINGO_MAX_REGIONS BIT(32 - DINGO_MR_INDEX_SHIFT) /* keys have an index */
#define DINGO_MAX_GIDS 1024U /* ib_core makes files in sysfs of each */

static void dingo_limit_byte(u8 *limit, u8 max)
{
	*limit = min(*limit, max);
}

static void dingo_limit(__le32 *limit, u32 max)
{
	*limit = cpu_to_le32(min(le32_to_cpu(*limit), max));
}

static const char *dingo_limits_lack(const struct dingo_limits *limits)
{
	if (!limits->max_qp)
		return "queue pairs";
	if (!limits->max_cq)
		return "completion queues";
	if (!limits->max_mr || !limits->max_pd)
		return "memory regions";
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

/**
 * dingo_limits_check() - look at what the card has answered
 * @dev: the card
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
	/* The first indices of QPs are not for everybody. */
	dingo_limit(&limits->max_qp, BIT(DINGO_QPN_INDEX_BITS) - 2);
	dingo_limit(&limits->max_mr, DINGO_MAX_REGIONS);
	dingo_limit(&limits->max_gid, DINGO_MAX_GIDS);
	dingo_limit(&limits->max_inline, DINGO_MAX_INLINE);
	dingo_limit_byte(&limits->log_max_sq, DINGO_MAX_LOG_SQ);
	dingo_limit_byte(&limits->log_max_rq, DINGO_MAX_LOG_RQ);
	dingo_limit_byte(&limits->log_max_cq, DINGO_MAX_LOG_CQ);
	dingo_limit_byte(&limits->log_max_eq, DINGO_MAX_LOG_EQ);
	dingo_limit_byte(&limits->log_max_eth, DINGO_MAX_LOG_ETH);
	dingo_limit_byte(&limits->max_send_sge, DINGO_SQ_MAX_SGE);
	dingo_limit_byte(&limits->max_recv_sge, DINGO_RQ_MAX_SGE);
	return 0;
}
