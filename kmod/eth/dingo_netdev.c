// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The network interface. The port is enabled while the interface is up, which
 * RoCE needs, too. Rings: dingo_eth_*.c.
 */
#include <linux/etherdevice.h>
#include <linux/slab.h>
#include <net/devlink.h>

#include "dingo_netdev.h"

#define DINGO_TX_TIMEOUT (5 * HZ)

/* Sends all port settings, as SET_PORT replaces all of them. */
static int dingo_port_apply(struct dingo_netdev *nd)
{
	u32 flags = 0;

	lockdep_assert_held(&nd->port_lock);
	if (nd->enabled)
		flags |= DINGO_CMD_SET_PORT_FLAGS_ENABLE_MASK;
	if (nd->promisc)
		flags |= DINGO_CMD_SET_PORT_FLAGS_PROMISC_MASK;
	if (nd->allmulti)
		flags |= DINGO_CMD_SET_PORT_FLAGS_ALLMULTI_MASK;
	return dingo_cmd_set_port(nd->dev, flags, nd->ndev->mtu);
}

static int dingo_port_enable(struct dingo_netdev *nd, bool enable)
{
	int err;

	mutex_lock(&nd->port_lock);
	nd->enabled = enable;
	err = dingo_port_apply(nd);
	if (err)
		nd->enabled = false; /* so that no later SET_PORT enables it */
	mutex_unlock(&nd->port_lock);
	return err;
}

/* Addresses and flags requested by the stack; entry 0 is the port's address. */
struct dingo_rx_filter {
	bool promisc;
	bool allmulti;
	u32 num;
	u8 macs[DINGO_MAC_TABLE][ETH_ALEN];
};

static void dingo_rx_filter_collect(struct dingo_netdev *nd,
				    struct dingo_rx_filter *want)
{
	u32 room = min_t(u32, le32_to_cpu(nd->dev->limits.max_mac),
			 DINGO_MAC_TABLE);
	struct net_device *ndev = nd->ndev;
	struct netdev_hw_addr *ha;

	memset(want, 0, sizeof(*want));
	netif_addr_lock_bh(ndev);
	ether_addr_copy(want->macs[0], ndev->dev_addr);
	want->num = 1;
	want->promisc = ndev->flags & IFF_PROMISC;
	want->allmulti = ndev->flags & IFF_ALLMULTI;
	/* If the table is too small, accept all addresses. */
	if (netdev_uc_count(ndev) > room - want->num)
		want->promisc = true;
	else
		netdev_for_each_uc_addr(ha, ndev)
			ether_addr_copy(want->macs[want->num++], ha->addr);
	if (netdev_mc_count(ndev) > room - want->num)
		want->allmulti = true;
	else
		netdev_for_each_mc_addr(ha, ndev)
			ether_addr_copy(want->macs[want->num++], ha->addr);
	netif_addr_unlock_bh(ndev);
}

static int dingo_rx_filter_apply(struct dingo_netdev *nd)
{
	static const u8 none[ETH_ALEN];
	struct dingo_rx_filter *want;
	bool flags_change;
	int err = 0;
	u32 n;

	want = kmalloc(sizeof(*want), GFP_KERNEL);
	if (!want)
		return -ENOMEM;
	mutex_lock(&nd->port_lock);
	dingo_rx_filter_collect(nd, want);
	for (n = 0; n < DINGO_MAC_TABLE && !err; n++) {
		if (ether_addr_equal(want->macs[n], nd->macs[n]))
			continue;
		err = dingo_cmd_set_mac(nd->dev, n,
					n < want->num ? want->macs[n] : NULL);
		ether_addr_copy(nd->macs[n], err ? none : want->macs[n]);
	}
	flags_change = want->promisc != nd->promisc ||
		       want->allmulti != nd->allmulti;
	if (!err && flags_change) {
		swap(nd->promisc, want->promisc);
		swap(nd->allmulti, want->allmulti);
		err = dingo_port_apply(nd);
		if (err) { /* the next change retries */
			nd->promisc = want->promisc;
			nd->allmulti = want->allmulti;
		}
	}
	mutex_unlock(&nd->port_lock);
	kfree(want);
	return err;
}

static void dingo_rx_mode_work(struct work_struct *work)
{
	struct dingo_netdev *nd = container_of(work, struct dingo_netdev,
					       rx_mode_work);
	int err;

	if (!dingo_is_up(nd->dev))
		return; /* dingo_set_up() does it later */
	err = dingo_rx_filter_apply(nd);
	if (err && dingo_is_up(nd->dev))
		netdev_err(nd->ndev, "receive filter was not set: %d\n", err);
}

/* Atomic context: defers to a work item, as commands sleep. */
static void dingo_ndo_set_rx_mode(struct net_device *ndev)
{
	struct dingo_netdev *nd = netdev_priv(ndev);

	schedule_work(&nd->rx_mode_work);
}

/**
 * dingo_netdev_rx_mode() - schedule setting the receive filter
 * @dev: the card, with its interface
 */
void dingo_netdev_rx_mode(struct dingo_dev *dev)
{
	struct dingo_netdev *nd = netdev_priv(dev->netdev);

	schedule_work(&nd->rx_mode_work);
}

static void dingo_update_carrier(struct dingo_netdev *nd)
{
	bool up = dingo_read32(nd->dev, DINGO_REG_STATUS) &
		  DINGO_STATUS_LINK_UP_MASK;

	if (up && READ_ONCE(nd->enabled))
		netif_carrier_on(nd->ndev);
	else
		netif_carrier_off(nd->ndev);
}

static int dingo_port_start(struct dingo_netdev *nd)
{
	int err;

	err = dingo_channels_start(nd);
	if (err)
		return err;
	err = dingo_port_enable(nd, true);
	if (err) {
		dingo_channels_stop(nd);
		return err;
	}
	dingo_update_carrier(nd);
	return 0;
}

static void dingo_port_stop(struct dingo_netdev *nd)
{
	dingo_port_enable(nd, false);
	netif_carrier_off(nd->ndev);
	dingo_channels_stop(nd);
}

static int dingo_ndo_open(struct net_device *ndev)
{
	return dingo_port_start(netdev_priv(ndev));
}

static int dingo_ndo_stop(struct net_device *ndev)
{
	dingo_port_stop(netdev_priv(ndev));
	return 0;
}

static int dingo_ndo_set_mac(struct net_device *ndev, void *addr)
{
	struct dingo_netdev *nd = netdev_priv(ndev);
	const struct sockaddr *sa = addr;
	int err;

	err = eth_prepare_mac_addr_change(ndev, addr);
	if (err)
		return err;
	mutex_lock(&nd->port_lock);
	err = dingo_cmd_set_mac(nd->dev, 0, sa->sa_data);
	if (!err) {
		ether_addr_copy(nd->macs[0], sa->sa_data);
		eth_commit_mac_addr_change(ndev, addr);
	}
	mutex_unlock(&nd->port_lock);
	return err;
}

static int dingo_set_mtu(struct dingo_netdev *nd, int mtu)
{
	int err;

	dingo_channels_stop(nd);
	WRITE_ONCE(nd->ndev->mtu, mtu);
	mutex_lock(&nd->port_lock);
	err = dingo_port_apply(nd);
	mutex_unlock(&nd->port_lock);
	if (!err && dingo_wants_rings(nd))
		err = dingo_channels_start(nd);
	return err;
}

static int dingo_ndo_change_mtu(struct net_device *ndev, int mtu)
{
	struct dingo_netdev *nd = netdev_priv(ndev);
	int old = ndev->mtu;
	int err;

	/* The port stays enabled, for RDMA. */
	err = dingo_set_mtu(nd, mtu);
	if (err && dingo_set_mtu(nd, old))
		netdev_err(ndev, "no traffic since a failed change of the MTU\n");
	return err;
}

/**
 * dingo_netdev_restart() - recreate the rings
 * @dev: the card; no effect while it or the interface is down
 *
 * Sleeps.
 * Return: 0 or a negative errno.
 */
int dingo_netdev_restart(struct dingo_dev *dev)
{
	struct net_device *ndev = READ_ONCE(dev->netdev);
	struct dingo_netdev *nd;
	int err = 0;

	if (!ndev) /* not created yet */
		return 0;
	nd = netdev_priv(ndev);
	rtnl_lock();
	if (dingo_wants_rings(nd) && dingo_is_up(dev)) {
		dingo_channels_stop(nd);
		err = dingo_channels_start(nd);
		if (err)
			netdev_err(nd->ndev, "rings could not be restarted\n");
	}
	rtnl_unlock();
	return err;
}

static void dingo_restart_work(struct work_struct *work)
{
	struct dingo_netdev *nd = container_of(work, struct dingo_netdev,
					       restart_work);

	/* The rings may have been recreated meanwhile. */
	if (READ_ONCE(nd->stuck))
		dingo_devlink_report_tx(nd->dev, "a queue stands still");
}

/**
 * dingo_netdev_end() - disable restarts of the rings
 * @dev: the card, about to be removed
 */
void dingo_netdev_end(struct dingo_dev *dev)
{
	struct dingo_netdev *nd = netdev_priv(dev->netdev);

	disable_work_sync(&nd->restart_work);
}

/**
 * dingo_netdev_diagnose() - report the state of the rings
 * @dev: the card
 * @fmsg: the answer to `devlink health diagnose`
 */
void dingo_netdev_diagnose(struct dingo_dev *dev, struct devlink_fmsg *fmsg)
{
	struct dingo_netdev *nd = netdev_priv(dev->netdev);
	unsigned int n;

	rtnl_lock();
	devlink_fmsg_arr_pair_nest_start(fmsg, "channels");
	for (n = 0; nd->started && n < nd->shape.num_channels; n++) {
		const struct dingo_channel *ch = &nd->channels[n];
		const struct dingo_eq *eq =
			&dev->comp_eqs[n % dev->num_comp_vectors];
		bool stopped = netif_xmit_stopped(netdev_get_tx_queue(nd->ndev,
								      n));

		devlink_fmsg_obj_nest_start(fmsg);
		devlink_fmsg_u32_pair_put(fmsg, "channel", n);
		devlink_fmsg_bool_pair_put(fmsg, "stopped", stopped);
		devlink_fmsg_u32_pair_put(fmsg, "tx posted", ch->tx.producer);
		devlink_fmsg_u32_pair_put(fmsg, "tx rung", ch->tx.rung);
		devlink_fmsg_u32_pair_put(fmsg, "tx done", ch->tx.consumer);
		devlink_fmsg_u32_pair_put(fmsg, "rx posted", ch->rx.producer);
		devlink_fmsg_u32_pair_put(fmsg, "rx done", ch->rx.consumer);
		devlink_fmsg_u32_pair_put(fmsg, "cqn", ch->cq.cqn);
		devlink_fmsg_u32_pair_put(fmsg, "cq taken", ch->cq_consumer);
		devlink_fmsg_u32_pair_put(fmsg, "eqn", eq->eqn);
		devlink_fmsg_u32_pair_put(fmsg, "eq taken", eq->consumer);
		devlink_fmsg_obj_nest_end(fmsg);
	}
	devlink_fmsg_arr_pair_nest_end(fmsg);
	rtnl_unlock();
}

static void dingo_ndo_tx_timeout(struct net_device *ndev, unsigned int index)
{
	struct dingo_netdev *nd = netdev_priv(ndev);

	netdev_warn(ndev, "queue %u sends nothing\n", index);
	dingo_netdev_stuck(nd);
}

static void dingo_ndo_get_stats64(struct net_device *ndev,
				  struct rtnl_link_stats64 *stats)
{
	struct dingo_netdev *nd = netdev_priv(ndev);
	const u64 *card = nd->card_stats;
	unsigned int n;

	for (n = 0; n < nd->max_channels; n++) {
		struct dingo_eth_counts rx = dingo_eth_counts(&nd->channels[n].rx);
		struct dingo_eth_counts tx = dingo_eth_counts(&nd->channels[n].tx);

		stats->rx_packets += rx.packets;
		stats->rx_bytes += rx.bytes;
		stats->rx_errors += rx.errors;
		stats->rx_dropped += rx.drops;
		stats->tx_packets += tx.packets;
		stats->tx_bytes += tx.bytes;
		stats->tx_errors += tx.errors;
		stats->tx_dropped += tx.drops;
	}
	/* Cached, about a second old: this must not sleep, as commands do. */
	stats->multicast = card[DINGO_CARD_ETH_RX_MULTICAST];
	stats->rx_missed_errors = card[DINGO_CARD_ETH_RX_NO_BUFFER];
	stats->rx_length_errors = card[DINGO_CARD_ETH_RX_TOO_LONG] +
				  card[DINGO_CARD_ETH_RX_TOO_SHORT];
	stats->rx_errors += stats->rx_length_errors;
}

static const struct net_device_ops dingo_netdev_ops = {
	.ndo_change_mtu = dingo_ndo_change_mtu,
	.ndo_features_check = dingo_features_check,
	.ndo_get_stats64 = dingo_ndo_get_stats64,
	.ndo_open = dingo_ndo_open,
	.ndo_set_mac_address = dingo_ndo_set_mac,
	.ndo_set_rx_mode = dingo_ndo_set_rx_mode,
	.ndo_start_xmit = dingo_eth_xmit,
	.ndo_stop = dingo_ndo_stop,
	.ndo_tx_timeout = dingo_ndo_tx_timeout,
	.ndo_validate_addr = eth_validate_addr,
};

/**
 * dingo_netdev_link() - update the carrier after a link change
 * @dev: the card
 * @up: the link is up
 *
 * Atomic context, see dingo_async_sync().
 */
void dingo_netdev_link(struct dingo_dev *dev, bool up)
{
	struct net_device *ndev = READ_ONCE(dev->netdev);

	/* The kernel frees an unregistered netdev without waiting for its
	 * carrier events. Unregistration waits for callers that see it
	 * registered.
	 */
	if (!ndev || READ_ONCE(ndev->reg_state) != NETREG_REGISTERED)
		return;
	if (up)
		netif_carrier_on(ndev);
	else
		netif_carrier_off(ndev);
}

/**
 * dingo_netdev_tick() - periodic work, about every second
 * @dev: the card, up
 */
void dingo_netdev_tick(struct dingo_dev *dev)
{
	struct net_device *ndev = READ_ONCE(dev->netdev);
	u64 stats[DINGO_CARD_COUNTERS];
	struct dingo_netdev *nd;
	unsigned int n;

	if (!ndev || !netif_running(ndev))
		return;
	nd = netdev_priv(ndev);
	/* In case the event of a link change was lost. */
	dingo_update_carrier(nd);
	if (!dingo_cmd_query_card_stats(dev, stats, DINGO_CARD_COUNTERS)) {
		for (n = 0; n < DINGO_CARD_COUNTERS; n++)
			WRITE_ONCE(nd->card_stats[n], stats[n]);
	}
	/* Polls refill rings, but an empty ring has no completions. */
	for (n = 0; n < READ_ONCE(nd->shape.num_channels); n++) {
		struct dingo_eth_ring *rx = &nd->channels[n].rx;

		if (READ_ONCE(nd->started) &&
		    READ_ONCE(rx->producer) == READ_ONCE(rx->consumer)) {
			local_bh_disable();
			napi_schedule(&nd->channels[n].napi);
			local_bh_enable();
		}
	}
}

/**
 * dingo_netdev_detach() - destroy the rings, keep the interface
 * @dev: the card; it may have failed
 */
void dingo_netdev_detach(struct dingo_dev *dev)
{
	struct dingo_netdev *nd = netdev_priv(dev->netdev);

	rtnl_lock();
	netif_device_detach(dev->netdev);
	dingo_port_stop(nd);
	rtnl_unlock();
}

static int dingo_port_setup(struct dingo_netdev *nd)
{
	int err;

	/* After a reset the card has no addresses and is not promiscuous. */
	mutex_lock(&nd->port_lock);
	memset(nd->macs, 0, sizeof(nd->macs));
	nd->promisc = false;
	nd->allmulti = false;
	err = dingo_port_apply(nd);
	mutex_unlock(&nd->port_lock);
	err = err ?: dingo_rss_apply(nd);
	return err ?: dingo_rx_filter_apply(nd);
}

/**
 * dingo_netdev_attach() - undo dingo_netdev_detach()
 * @dev: the card, after a reset
 *
 * Return: 0 or a negative errno; then the interface stays detached.
 */
int dingo_netdev_attach(struct dingo_dev *dev)
{
	struct dingo_netdev *nd = netdev_priv(dev->netdev);
	int err;

	rtnl_lock();
	err = dingo_port_setup(nd);
	if (!err && netif_running(dev->netdev))
		err = dingo_port_start(nd);
	if (!err)
		netif_device_attach(dev->netdev);
	rtnl_unlock();
	if (err)
		netdev_err(dev->netdev, "did not come back: %d\n", err);
	return err;
}

static void dingo_factory_mac(struct dingo_dev *dev, struct net_device *ndev)
{
	u64 number = dingo_read64(dev, DINGO_REG_MAC);
	u8 mac[ETH_ALEN];

	u64_to_ether_addr(number, mac);
	if (is_valid_ether_addr(mac)) {
		eth_hw_addr_set(ndev, mac);
		return;
	}
	dev_warn(&dev->pdev->dev, "invalid MAC address %pM, using a random one\n",
		 mac);
	eth_hw_addr_random(ndev);
}

static void dingo_netdev_setup(struct dingo_dev *dev, struct net_device *ndev)
{
	SET_NETDEV_DEV(ndev, &dev->pdev->dev);
	ndev->netdev_ops = &dingo_netdev_ops;
	ndev->ethtool_ops = &dingo_ethtool_ops;
	ndev->min_mtu = DINGO_MIN_MTU;
	ndev->max_mtu = DINGO_MAX_MTU;
	ndev->watchdog_timeo = DINGO_TX_TIMEOUT;
	ndev->hw_features = NETIF_F_SG;
	netif_set_tso_max_size(ndev, DINGO_MAX_TSO - VLAN_HLEN);
	if (dev->caps & DINGO_CAP_ETH_OFFLOAD)
		ndev->hw_features |= NETIF_F_HW_CSUM | NETIF_F_TSO |
				     NETIF_F_TSO6 | NETIF_F_RXCSUM;
	ndev->vlan_features = ndev->hw_features | NETIF_F_HIGHDMA;
	if (dev->caps & DINGO_CAP_ETH_RSS)
		ndev->hw_features |= NETIF_F_RXHASH;
	ndev->features = ndev->hw_features | NETIF_F_HIGHDMA;
	ndev->priv_flags |= IFF_LIVE_ADDR_CHANGE | IFF_UNICAST_FLT;
	dingo_factory_mac(dev, ndev);
}

/**
 * dingo_netdev_register() - create the network interface
 * @dev: the card, started
 *
 * Return: 0 or a negative errno.
 */
int dingo_netdev_register(struct dingo_dev *dev)
{
	/* Two CQNs per channel, used alternately, and
	 * at least one for verbs.
	 */
	u32 most = min_t(u32, (le32_to_cpu(dev->limits.max_cq) - 1) / 2,
			 DINGO_ETH_MAX_CHANNELS);
	unsigned int num = min3(dev->num_comp_vectors,
				le32_to_cpu(dev->limits.max_eth_rings), most);
	struct net_device *ndev;
	struct dingo_netdev *nd;
	unsigned int n;
	int err;

	if (!num || !dev->limits.max_mac) {
		dev_err(&dev->pdev->dev, "the card has no Ethernet rings\n");
		return -ENODEV;
	}
	ndev = alloc_etherdev_mqs(sizeof(*nd), num, num);
	if (!ndev)
		return -ENOMEM;
	nd = netdev_priv(ndev);
	nd->dev = dev;
	nd->ndev = ndev;
	nd->max_channels = num;
	dev->eth_cqs = 2 * num;
	nd->shape.num_channels = num;
	nd->shape.log_tx = min_t(u8, dev->limits.log_max_eth,
				 DINGO_ETH_LOG_RING);
	nd->shape.log_rx = nd->shape.log_tx;
	dingo_rss_init(nd);
	mutex_init(&nd->port_lock);
	INIT_WORK(&nd->rx_mode_work, dingo_rx_mode_work);
	INIT_WORK(&nd->restart_work, dingo_restart_work);
	nd->channels = kcalloc(num, sizeof(*nd->channels), GFP_KERNEL);
	if (!nd->channels) {
		err = -ENOMEM;
		goto err_free_netdev;
	}
	for (n = 0; n < num; n++) {
		nd->channels[n].nd = nd;
		nd->channels[n].index = n;
		u64_stats_init(&nd->channels[n].rx.sync);
		u64_stats_init(&nd->channels[n].tx.sync);
	}
	dingo_netdev_setup(dev, ndev);
	netif_carrier_off(ndev);
	err = register_netdev(ndev);
	if (err)
		goto err_free_channels;
	/* After registration, which initializes a lock
	 * of the receive filter.
	 */
	rtnl_lock(); /* against concurrent changes by ethtool */
	err = dingo_port_setup(nd);
	rtnl_unlock();
	if (err)
		goto err_unregister;
	WRITE_ONCE(dev->netdev, ndev);
	return 0;

err_unregister:
	unregister_netdev(ndev);
	cancel_work_sync(&nd->rx_mode_work);
	cancel_work_sync(&nd->restart_work);
err_free_channels:
	kfree(nd->channels);
err_free_netdev:
	mutex_destroy(&nd->port_lock);
	free_netdev(ndev);
	return err;
}

/**
 * dingo_netdev_unregister() - undo dingo_netdev_register()
 * @dev: the card; it may have failed or be detached
 */
void dingo_netdev_unregister(struct dingo_dev *dev)
{
	struct net_device *ndev = dev->netdev;
	struct dingo_netdev *nd = netdev_priv(ndev);

	unregister_netdev(ndev);
	cancel_work_sync(&nd->restart_work); /* uses dev->netdev */
	WRITE_ONCE(dev->netdev, NULL);
	dingo_async_sync(dev);
	cancel_work_sync(&nd->rx_mode_work);
	kfree(nd->channels);
	mutex_destroy(&nd->port_lock);
	free_netdev(ndev);
}
