/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Internal interfaces of the Ethernet function.
 */
#ifndef DINGO_NETDEV_H
#define DINGO_NETDEV_H

#include <linux/dim.h>
#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/u64_stats_sync.h>

#include "dingo.h"

#define DINGO_ETH_MAX_CHANNELS 8
#define DINGO_ETH_LOG_RING 9 /* descriptors per ring, when the card allows */
#define DINGO_ETH_MIN_LOG_RING 6 /* room for two frames of many fragments */
/* Every descriptor may complete twice before the card sees a doorbell. */
#define DINGO_ETH_CQ_LOG_MORE 2

struct ethtool_coalesce;
struct ethtool_rxfh_param;
struct kernel_ethtool_coalesce;
struct netlink_ext_ack;
struct page_pool;

struct dingo_eth_counts {
	u64 packets;
	u64 bytes;
	u64 errors;
	u64 drops;
	u64 csum_ok; /* RX: checksums verified by the card */
};

/* One TX or RX ring; indices free-running. */
struct dingo_eth_ring {
	struct dingo_ring ring;
	struct dingo_db db;
	u8 kind; /* DINGO_ETH_TX or DINGO_ETH_RX */
	u8 index; /* number on the card */
	u8 log_size;
	bool created;
	u32 producer;
	u32 consumer;
	u32 rung; /* producer of the last doorbell */
	struct u64_stats_sync sync; /* of @counts */
	struct dingo_eth_counts counts;
};

/* Driver data of a TX descriptor; skb is set at the last one of a frame. */
struct dingo_tx_slot {
	struct sk_buff *skb;
	DEFINE_DMA_UNMAP_ADDR(addr);
	DEFINE_DMA_UNMAP_LEN(len);
	bool page; /* mapped as a page, not as a single range */
};

/* A TX and an RX ring, their CQ and its NAPI context. */
struct dingo_channel {
	struct dingo_netdev *nd;
	struct napi_struct napi;
	unsigned int index;

	struct dingo_cq_core cq;
	struct dingo_ring cq_ring;
	struct dingo_db cq_db;
	u8 cq_log_size;
	bool cq_created;
	u32 cq_consumer;
	u32 cq_arm; /* arm bits for dingo_db_ring_cq() */

	struct dim dim; /* adaptive interrupt moderation */
	u16 events; /* events of the CQ so far */

	struct dingo_eth_ring tx;
	struct dingo_tx_slot *tx_slots;

	struct dingo_eth_ring rx;
	struct page_pool *pool;
	struct page **rx_pages; /* by descriptor; NULL: empty */
	u32 rx_frame_max; /* largest frame, bytes */
	u8 rx_order; /* page order of a buffer */
};

/* Number and sizes of the rings, set by ethtool. */
struct dingo_eth_shape {
	unsigned int num_channels;
	u8 log_tx; /* descriptors */
	u8 log_rx;
};

/* Event moderation of a channel, with CQ_MODERATION. */
struct dingo_coalesce {
	u16 usecs; /* delay of events; 0: none */
	u16 frames; /* completions that end the delay; 0: no limit */
	bool adaptive; /* the kernel chooses both */
};

/* Distribution of received frames over the rings, with ETH_RSS. */
struct dingo_rss {
	u8 key[DINGO_RSS_KEY];
	u8 rings[DINGO_RSS_TABLE];
};

struct dingo_netdev {
	struct dingo_dev *dev;
	struct net_device *ndev;
	unsigned int max_channels; /* of @channels */
	struct dingo_channel *channels;
	struct dingo_eth_shape shape; /* under rtnl */
	struct dingo_rss rss; /* under rtnl */
	struct dingo_coalesce coalesce; /* under rtnl */
	bool started; /* rings exist; under rtnl */
	bool stuck; /* an existing ring must be recreated */

	/* Port settings: requested state, and the MAC table on the card. */
	struct mutex port_lock; /* protects the members up to macs */
	bool enabled;
	bool promisc;
	bool allmulti;
	u8 macs[DINGO_MAC_TABLE][ETH_ALEN]; /* zero: not valid */
	struct work_struct rx_mode_work;
	struct work_struct restart_work;

	u64 card_stats[DINGO_CARD_COUNTERS]; /* as of the last tick */
};

static inline struct dingo_eth_desc *
dingo_eth_desc(const struct dingo_eth_ring *ring, u32 index)
{
	struct dingo_eth_desc *descs = ring->ring.va;

	return &descs[index & (BIT(ring->log_size) - 1)];
}

/* Reads a consistent snapshot of a ring's counters. */
static inline struct dingo_eth_counts
dingo_eth_counts(const struct dingo_eth_ring *ring)
{
	struct dingo_eth_counts counts;
	unsigned int start;

	do {
		start = u64_stats_fetch_begin(&ring->sync);
		counts = ring->counts;
	} while (u64_stats_fetch_retry(&ring->sync, start));
	return counts;
}

/* Returns true if the rings should exist. The caller holds rtnl. */
static inline bool dingo_wants_rings(const struct dingo_netdev *nd)
{
	return netif_running(nd->ndev) && netif_device_present(nd->ndev);
}

/* Schedules the recreation of the rings. Any context. */
static inline void dingo_netdev_stuck(struct dingo_netdev *nd)
{
	WRITE_ONCE(nd->stuck, true);
	schedule_work(&nd->restart_work);
}

int dingo_channels_start(struct dingo_netdev *nd);
void dingo_channels_stop(struct dingo_netdev *nd);
int dingo_channels_reshape(struct dingo_netdev *nd,
			   const struct dingo_eth_shape *shape);
netdev_features_t dingo_features_check(struct sk_buff *skb,
				       struct net_device *ndev,
				       netdev_features_t features);
netdev_tx_t dingo_eth_xmit(struct sk_buff *skb, struct net_device *ndev);

/* dingo_eth_rx.c, dingo_eth_tx.c: their parts of a channel. */
int dingo_eth_ring_start(struct dingo_channel *ch, struct dingo_eth_ring *ring,
			 u8 kind, u8 log_size);
void dingo_eth_ring_stop(struct dingo_channel *ch,
			 struct dingo_eth_ring *ring);
void dingo_eth_ring_doorbell(struct dingo_channel *ch,
			     struct dingo_eth_ring *ring);
int dingo_rx_start(struct dingo_channel *ch, u8 log_size);
void dingo_rx_stop(struct dingo_channel *ch);
void dingo_rx_refill(struct dingo_channel *ch);
void dingo_rx_complete(struct dingo_channel *ch, const struct dingo_cqe *cqe);
int dingo_tx_start(struct dingo_channel *ch, u8 log_size);
void dingo_tx_stop(struct dingo_channel *ch);
void dingo_tx_complete(struct dingo_channel *ch, const struct dingo_cqe *cqe,
		       unsigned int *frames, unsigned int *bytes);
void dingo_tx_wake(struct dingo_channel *ch);

/* dingo_coalesce.c */
int dingo_coalesce_start(struct dingo_channel *ch);
void dingo_coalesce_stop(struct dingo_channel *ch);
void dingo_coalesce_sample(struct dingo_channel *ch);
int dingo_get_coalesce(struct net_device *ndev, struct ethtool_coalesce *coal,
		       struct kernel_ethtool_coalesce *kernel_coal,
		       struct netlink_ext_ack *extack);
int dingo_set_coalesce(struct net_device *ndev, struct ethtool_coalesce *coal,
		       struct kernel_ethtool_coalesce *kernel_coal,
		       struct netlink_ext_ack *extack);

/* dingo_rss.c */
void dingo_rss_init(struct dingo_netdev *nd);
int dingo_rss_reshape(struct dingo_netdev *nd);
int dingo_rss_apply(struct dingo_netdev *nd);
u32 dingo_get_rxfh_key_size(struct net_device *ndev);
u32 dingo_get_rxfh_indir_size(struct net_device *ndev);
int dingo_get_rxfh(struct net_device *ndev, struct ethtool_rxfh_param *rxfh);
int dingo_set_rxfh(struct net_device *ndev, struct ethtool_rxfh_param *rxfh,
		   struct netlink_ext_ack *extack);

#endif
