// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Receive side scaling: the key and the table that spread received frames over
 * the rings, as ethtool -x and -X show and set them.
 */
#include <linux/ethtool.h>
#include <linux/netdevice.h>

#include "dingo_netdev.h"

static bool dingo_has_rss(const struct dingo_netdev *nd)
{
	return nd->dev->caps & DINGO_CAP_ETH_RSS;
}

static void dingo_rss_default_rings(struct dingo_netdev *nd)
{
	unsigned int n;

	for (n = 0; n < DINGO_RSS_TABLE; n++)
		nd->rss.rings[n] =
			ethtool_rxfh_indir_default(n, nd->shape.num_channels);
}

/**
 * dingo_rss_init() - set the kernel's key and a table with all channels
 * @nd: the netdev, with its number of channels
 */
void dingo_rss_init(struct dingo_netdev *nd)
{
	netdev_rss_key_fill(nd->rss.key, sizeof(nd->rss.key));
	dingo_rss_default_rings(nd);
}

/**
 * dingo_rss_apply() - send key and table to the card
 * @nd: the netdev
 *
 * Return: 0 or a negative errno.
 */
int dingo_rss_apply(struct dingo_netdev *nd)
{
	if (!dingo_has_rss(nd))
		return 0;
	return dingo_cmd_set_rss(nd->dev, nd->rss.key, nd->rss.rings);
}

/**
 * dingo_rss_reshape() - update the table for a new number of channels
 * @nd: the netdev
 *
 * A table set by the user is kept: ethtool ensures that its channels exist.
 * Return: 0 or a negative errno.
 */
int dingo_rss_reshape(struct dingo_netdev *nd)
{
	if (!netif_is_rxfh_configured(nd->ndev))
		dingo_rss_default_rings(nd);
	return dingo_rss_apply(nd);
}

u32 dingo_get_rxfh_key_size(struct net_device *ndev)
{
	return dingo_has_rss(netdev_priv(ndev)) ? DINGO_RSS_KEY : 0;
}

u32 dingo_get_rxfh_indir_size(struct net_device *ndev)
{
	return dingo_has_rss(netdev_priv(ndev)) ? DINGO_RSS_TABLE : 0;
}

int dingo_get_rxfh(struct net_device *ndev, struct ethtool_rxfh_param *rxfh)
{
	struct dingo_netdev *nd = netdev_priv(ndev);
	unsigned int n;

	if (!dingo_has_rss(nd))
		return -EOPNOTSUPP;
	rxfh->hfunc = ETH_RSS_HASH_TOP;
	if (rxfh->key)
		memcpy(rxfh->key, nd->rss.key, sizeof(nd->rss.key));
	for (n = 0; rxfh->indir && n < DINGO_RSS_TABLE; n++)
		rxfh->indir[n] = nd->rss.rings[n];
	return 0;
}

int dingo_set_rxfh(struct net_device *ndev, struct ethtool_rxfh_param *rxfh,
		   struct netlink_ext_ack *extack)
{
	struct dingo_netdev *nd = netdev_priv(ndev);
	struct dingo_rss old = nd->rss;
	unsigned int n;
	int err;

	if (!dingo_has_rss(nd))
		return -EOPNOTSUPP;
	if (rxfh->hfunc != ETH_RSS_HASH_NO_CHANGE &&
	    rxfh->hfunc != ETH_RSS_HASH_TOP) {
		NL_SET_ERR_MSG(extack, "the only hash is toeplitz");
		return -EOPNOTSUPP;
	}
	if (rxfh->key)
		memcpy(nd->rss.key, rxfh->key, sizeof(nd->rss.key));
	for (n = 0; rxfh->indir && n < DINGO_RSS_TABLE; n++)
		nd->rss.rings[n] = rxfh->indir[n];
	err = dingo_rss_apply(nd);
	if (err)
		nd->rss = old;
	return err;
}
