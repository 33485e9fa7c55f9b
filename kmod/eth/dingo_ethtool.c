// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ethtool: identity, link, rings, channels and the card's counters.
 */
#include <linux/ethtool.h>
#include <linux/log2.h>
#include <linux/net_tstamp.h>

#include "dingo_netdev.h"

/* Names and numbers of counters both come from the contract. */
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

	ring->rx_max_pending = BIT(nd->dev->limits.log_max_eth);
	ring->tx_max_pending = ring->rx_max_pending;
	ring->rx_pending = BIT(nd->shape.log_rx);
	ring->tx_pending = BIT(nd->shape.log_tx);
}

/* Rounds up to a power of two; ethtool has checked the maximum. */
static int dingo_set_ringparam(struct net_device *ndev,
			       struct ethtool_ringparam *ring,
			       struct kernel_ethtool_ringparam *kernel_ring,
			       struct netlink_ext_ack *extack)
{
	struct dingo_netdev *nd = netdev_priv(ndev);
	struct dingo_eth_shape shape = nd->shape;

	if (min(ring->rx_pending, ring->tx_pending) <
	    BIT(DINGO_ETH_MIN_LOG_RING)) {
		NL_SET_ERR_MSG(extack, "a ring has 64 descriptors at least");
		return -EINVAL;
	}
	shape.log_rx = order_base_2(ring->rx_pending);
	shape.log_tx = order_base_2(ring->tx_pending);
	if (!dingo_is_up(nd->dev))
		return -EIO;
	return dingo_channels_reshape(nd, &shape);
}

static void dingo_get_channels(struct net_device *ndev,
			       struct ethtool_channels *channels)
{
	struct dingo_netdev *nd = netdev_priv(ndev);

	channels->max_combined = nd->max_channels;
	channels->combined_count = nd->shape.num_channels;
}

/* ethtool has checked the maximum, and that there is at least one. */
static int dingo_set_channels(struct net_device *ndev,
			      struct ethtool_channels *channels)
{
	struct dingo_netdev *nd = netdev_priv(ndev);
	struct dingo_eth_shape shape = nd->shape;

	if (!dingo_is_up(nd->dev))
		return -EIO;
	shape.num_channels = channels->combined_count;
	return dingo_channels_reshape(nd, &shape);
}

static u32 dingo_get_rx_ring_count(struct net_device *ndev)
{
	struct dingo_netdev *nd = netdev_priv(ndev);

	return nd->shape.num_channels;
}

static int __maybe_unused dingo_get_rxnfc(struct net_device *ndev,
					  struct ethtool_rxnfc *info,
					  u32 *rule_locs)
{
	if (info->cmd != ETHTOOL_GRXRINGS)
		return -EOPNOTSUPP;
	info->data = dingo_get_rx_ring_count(ndev);
	return 0;
}

/* Counters of each channel, kept by the driver. */
#define DINGO_CHANNEL_COUNTERS 6

static int dingo_get_sset_count(struct net_device *ndev, int set)
{
	struct dingo_netdev *nd = netdev_priv(ndev);

	if (set != ETH_SS_STATS)
		return -EOPNOTSUPP;
	return DINGO_CARD_COUNTERS + nd->max_channels * DINGO_CHANNEL_COUNTERS;
}

static void dingo_get_strings(struct net_device *ndev, u32 set, u8 *data)
{
	struct dingo_netdev *nd = netdev_priv(ndev);
	unsigned int n;

	if (set != ETH_SS_STATS)
		return;
	for (n = 0; n < DINGO_CARD_COUNTERS; n++)
		ethtool_puts(&data, dingo_counter_names[n]);
	for (n = 0; n < nd->max_channels; n++) {
		ethtool_sprintf(&data, "rx%u_packets", n);
		ethtool_sprintf(&data, "rx%u_bytes", n);
		ethtool_sprintf(&data, "rx%u_csum_ok", n);
		ethtool_sprintf(&data, "tx%u_packets", n);
		ethtool_sprintf(&data, "tx%u_bytes", n);
		ethtool_sprintf(&data, "tx%u_errors", n);
	}
}

static void dingo_get_ethtool_stats(struct net_device *ndev,
				    struct ethtool_stats *stats, u64 *data)
{
	struct dingo_netdev *nd = netdev_priv(ndev);
	unsigned int n;

	/* All 0 if the card has failed. */
	dingo_cmd_query_card_stats(nd->dev, data, DINGO_CARD_COUNTERS);
	data += DINGO_CARD_COUNTERS;
	for (n = 0; n < nd->max_channels; n++) {
		struct dingo_eth_counts rx = dingo_eth_counts(&nd->channels[n].rx);
		struct dingo_eth_counts tx = dingo_eth_counts(&nd->channels[n].tx);

		*data++ = rx.packets;
		*data++ = rx.bytes;
		*data++ = rx.csum_ok;
		*data++ = tx.packets;
		*data++ = tx.bytes;
		*data++ = tx.errors;
	}
}

const struct ethtool_ops dingo_ethtool_ops = {
	.supported_coalesce_params = ETHTOOL_COALESCE_RX_USECS |
				     ETHTOOL_COALESCE_RX_MAX_FRAMES |
				     ETHTOOL_COALESCE_USE_ADAPTIVE_RX,
	.get_channels = dingo_get_channels,
	.get_coalesce = dingo_get_coalesce,
	.get_drvinfo = dingo_get_drvinfo,
	.get_ethtool_stats = dingo_get_ethtool_stats,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = dingo_get_link_ksettings,
	.get_ringparam = dingo_get_ringparam,
	.get_rxfh = dingo_get_rxfh,
	.get_rxfh_indir_size = dingo_get_rxfh_indir_size,
	.get_rxfh_key_size = dingo_get_rxfh_key_size,
	DINGO_RX_RING_COUNT_OP(dingo_get_rx_ring_count, dingo_get_rxnfc)
	.get_sset_count = dingo_get_sset_count,
	.get_strings = dingo_get_strings,
	.get_ts_info = ethtool_op_get_ts_info,
	.set_channels = dingo_set_channels,
	.set_coalesce = dingo_set_coalesce,
	.set_ringparam = dingo_set_ringparam,
	.set_rxfh = dingo_set_rxfh,
};
