/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The Ethernet function: what its files share.
 */
#ifndef DINGO_NETDEV_H
#define DINGO_NETDEV_H

#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/u64_stats_sync.h>

#include "dingo.h"

#define DINGO_ETH_MAX_CHANNELS 8
#define DINGO_ETH_LOG_RING 9 /* descriptors per ring, when the card allows */

struct page_pool;

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
	struct u64_stats_sync sync;
	u64 packets;
	u64 bytes;
	u64 errors;
	u64 drops;
};

/* What a TX descriptor holds; skb at the last one of a frame. */
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
	u32 cq_arm; /* as dingo_db_ring_cq() keeps it */

	struct dingo_eth_ring tx;
	struct dingo_tx_slot *tx_slots;

	struct dingo_eth_ring rx;
	struct page_pool *pool;
	struct page **rx_pages; /* by descriptor; NULL: empty */
	u32 rx_frame_max; /* bytes of a frame */
	u8 rx_order; /* of a buffer */
};

struct dingo_netdev {
	struct dingo_dev *dev;
	struct net_device *ndev;
	unsigned int num_channels;
	struct dingo_channel *channels;
	bool started; /* rings exist; under rtnl */

	/* Port settings: what the card has, and what it shall have. */
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

int dingo_channels_start(struct dingo_netdev *nd);
void dingo_channels_stop(struct dingo_netdev *nd);
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

#endif
