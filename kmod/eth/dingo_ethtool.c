// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ethtool: identity, link, rings, channels and the card's counters.
 */
#include <linux/ethtool.h>
#include <linux/net_tstamp.h>

#include "dingo_netdev.h"

/* The names come with the contract and cannot drift from the numbers. */
#define DINGO_COUNTER_NAME(enumerator, name) \
	[enumerator] = name,

static const char *const dingo_counter_names[DINGO_CARD_COUNTERS] = {
	DINGO_FOR_EACH_CARD_COUNTER(DINGO_COUNTER_NAME)
};

static void dingo_get_drvinfo(struct net_device *ndev,
			      struct ethtool_drvinfo *info)
{
	struct dingo_netdev *nd = netdev_priv(ndev);

	strscpy(info->driver, DINGO_DRV_NAME, sizeof(info->driver));
	strscpy(info->bus_info, pci_name(nd->dev->pdev),
		sizeof(info->bus_info));
	dingo_build_string(nd->dev, info->fw_version,
			   sizeof(info->fw_version));
}

static int dingo_get_link_ksettings(struct net_device *ndev,
				    struct ethtool_link_ksettings *cmd)
{
	struct dingo_netdev *nd = netdev_priv(ndev);

	ethtool_link_ksettings_zero_link_mode(cmd, supported);
	ethtool_link_ksettings_zero_link_mode(cmd, advertising);
	ethtool_link_ksettings_add_link_mode(cmd, supported, FIBRE);
	cmd->base.port = PORT_FIBRE;
	cmd->base.autoneg = AUTONEG_DISABLE;
	cmd->base.duplex = DUPLEX_FULL;
	cmd->base.speed = dingo_read32(nd->dev, DINGO_REG_LINK_MBPS);
	if (!netif_carrier_ok(ndev)) {
		cmd->base.duplex = DUPLEX_UNKNOWN;
		cmd->base.speed = SPEED_UNKNOWN;
	}
	return 0;
}

static void dingo_get_ringparam(struct net_device *ndev,
				struct ethtool_ringparam *ring,
				struct kernel_ethtool_ringparam *kernel_ring,
				struct netlink_ext_ack *extack)
{
	struct dingo_netdev *nd = netdev_priv(ndev);
	u8 log_max = nd->dev->limits.log_max_eth;

	ring->rx_max_pending = BIT(log_max);
	ring->tx_max_pending = BIT(log_max);
	ring->rx_pending = BIT(min_t(u8, log_max, DINGO_ETH_LOG_RING));
	ring->tx_pending = ring->rx_pending;
}

static void dingo_get_channels(struct net_device *ndev,
			       struct ethtool_channels *channels)
{
	struct dingo_netdev *nd = netdev_priv(ndev);

	channels->max_combined = nd->num_channels;
	channels->combined_count = nd->num_channels;
}

static int dingo_get_sset_count(struct net_device *ndev, int set)
{
	return set == ETH_SS_STATS ? DINGO_CARD_COUNTERS : -EOPNOTSUPP;
}

static void dingo_get_strings(struct net_device *ndev, u32 set, u8 *data)
{
	unsigned int n;

	if (set != ETH_SS_STATS)
		return;
	for (n = 0; n < DINGO_CARD_COUNTERS; n++)
		ethtool_puts(&data, dingo_counter_names[n]);
}

static void dingo_get_ethtool_stats(struct net_device *ndev,
				    struct ethtool_stats *stats, u64 *data)
{
	struct dingo_netdev *nd = netdev_priv(ndev);

	/* Zeroes when the card has failed. */
	dingo_cmd_query_card_stats(nd->dev, data, DINGO_CARD_COUNTERS);
}

const struct ethtool_ops dingo_ethtool_ops = {
	.get_channels = dingo_get_channels,
	.get_drvinfo = dingo_get_drvinfo,
	.get_ethtool_stats = dingo_get_ethtool_stats,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = dingo_get_link_ksettings,
	.get_ringparam = dingo_get_ringparam,
	.get_sset_count = dingo_get_sset_count,
	.get_strings = dingo_get_strings,
	.get_ts_info = ethtool_op_get_ts_info,
};
