// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Transmit side of a channel: one descriptor per linear part or fragment.
 */
#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>
#include <linux/ipv6.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/vmalloc.h>
#include <net/netdev_queues.h>

#include "dingo_netdev.h"

#define DINGO_TX_MAX_DESCS (MAX_SKB_FRAGS + 1) /* per frame */

/**
 * dingo_tx_start() - make the TX ring of a channel
 * @ch: the channel, with a CQ
 * @log_size: log2 of descriptors
 *
 * Return: 0 or a negative errno.
 */
int dingo_tx_start(struct dingo_channel *ch, u8 log_size)
{
	int err;

	/* Less than two frames: a stopped queue could never be woken. */
	if (BIT(log_size) < 2 * DINGO_TX_MAX_DESCS)
		return -EINVAL;
	ch->tx_slots = kvcalloc(BIT(log_size), sizeof(*ch->tx_slots),
				GFP_KERNEL);
	if (!ch->tx_slots)
		return -ENOMEM;
	err = dingo_eth_ring_start(ch, &ch->tx, DINGO_ETH_TX, log_size);
	if (err) {
		kvfree(ch->tx_slots);
		ch->tx_slots = NULL;
	}
	return err;
}

static struct dingo_tx_slot *dingo_tx_slot(struct dingo_channel *ch, u32 index)
{
	return &ch->tx_slots[index & (BIT(ch->tx.log_size) - 1)];
}

static void dingo_tx_unmap(struct dingo_channel *ch, struct dingo_tx_slot *slot)
{
	struct device *dma_dev = dingo_dma_dev(ch->nd->dev);

	if (slot->page)
		dma_unmap_page(dma_dev, dma_unmap_addr(slot, addr),
			       dma_unmap_len(slot, len), DMA_TO_DEVICE);
	else
		dma_unmap_single(dma_dev, dma_unmap_addr(slot, addr),
				 dma_unmap_len(slot, len), DMA_TO_DEVICE);
}

/**
 * dingo_tx_stop() - undo dingo_tx_start(), dropping unsent frames
 * @ch: the channel; NAPI and the queue are disabled
 */
void dingo_tx_stop(struct dingo_channel *ch)
{
	struct dingo_tx_slot *slot;

	dingo_eth_ring_stop(ch, &ch->tx);
	for (; ch->tx.consumer != ch->tx.producer; ch->tx.consumer++) {
		slot = dingo_tx_slot(ch, ch->tx.consumer);
		dingo_tx_unmap(ch, slot);
		dev_kfree_skb_any(slot->skb);
		slot->skb = NULL;
	}
	netdev_tx_reset_queue(netdev_get_tx_queue(ch->nd->ndev, ch->index));
	kvfree(ch->tx_slots);
	ch->tx_slots = NULL;
}

static u32 dingo_tx_room(const struct dingo_channel *ch)
{
	return BIT(ch->tx.log_size) -
	       (ch->tx.producer - READ_ONCE(ch->tx.consumer));
}

/* Maps one piece into descriptor @index. Return: 0 or -ENOMEM. */
static int dingo_tx_map(struct dingo_channel *ch, u32 index, void *data,
			const skb_frag_t *frag, u32 length)
{
	struct device *dma_dev = dingo_dma_dev(ch->nd->dev);
	struct dingo_eth_desc *desc = dingo_eth_desc(&ch->tx, index);
	struct dingo_tx_slot *slot = dingo_tx_slot(ch, index);
	dma_addr_t addr;

	if (frag)
		addr = skb_frag_dma_map(dma_dev, frag, 0, length,
					DMA_TO_DEVICE);
	else
		addr = dma_map_single(dma_dev, data, length, DMA_TO_DEVICE);
	if (dma_mapping_error(dma_dev, addr))
		return -ENOMEM;
	slot->skb = NULL;
	slot->page = frag;
	dma_unmap_addr_set(slot, addr, addr);
	dma_unmap_len_set(slot, len, length);
	desc->addr = cpu_to_le64(addr);
	desc->length = cpu_to_le32(length);
	desc->flags = 0;
	desc->start = 0;
	desc->arg = 0;
	return 0;
}

/*
 * Requests offloads, which dingo_features_check() has permitted. @desc: the
 * first descriptor of the frame.
 */
static void dingo_tx_ask_offload(struct dingo_eth_desc *desc,
				 const struct sk_buff *skb)
{
	if (skb->ip_summed != CHECKSUM_PARTIAL)
		return;
	desc->start = skb_checksum_start_offset(skb) / 2;
	if (skb_is_gso(skb)) {
		desc->flags |= DINGO_ETH_DESC_FLAGS_TSO_MASK;
		desc->arg = cpu_to_le16(skb_shinfo(skb)->gso_size);
	} else {
		desc->flags |= DINGO_ETH_DESC_FLAGS_CSUM_MASK;
		desc->arg = cpu_to_le16(skb->csum_offset);
	}
}

/*
 * Returns true if the card can segment the frame: it needs IP after the
 * Ethernet header and at most one 802.1Q tag, then TCP. An out-of-band tag of
 * the skb is inserted later.
 */
static bool dingo_tx_can_cut(const struct sk_buff *skb)
{
	int l3 = ETH_HLEN;

	if (skb->ip_summed != CHECKSUM_PARTIAL)
		return false;
	if (skb_vlan_tag_present(skb)) {
		if (skb->vlan_proto != htons(ETH_P_8021Q))
			return false;
	} else if (eth_type_vlan(skb->protocol)) {
		if (skb->protocol != htons(ETH_P_8021Q))
			return false;
		l3 = VLAN_ETH_HLEN;
	}
	if (skb_network_offset(skb) != l3)
		return false;
	return !(skb_shinfo(skb)->gso_type & SKB_GSO_TCPV6) ||
	       skb_transport_offset(skb) == l3 + (int)sizeof(struct ipv6hdr);
}

/**
 * dingo_features_check() - ndo_features_check
 * @skb: a frame
 * @ndev: the netdev
 * @features: features to choose from
 *
 * Return: the features that the card supports for this frame.
 */
netdev_features_t dingo_features_check(struct sk_buff *skb,
				       struct net_device *ndev,
				       netdev_features_t features)
{
	int start;

	features = vlan_features_check(skb, features);
	if (skb_is_gso(skb) && !dingo_tx_can_cut(skb))
		features &= ~NETIF_F_GSO_MASK;
	if (skb->ip_summed != CHECKSUM_PARTIAL)
		return features;
	start = skb_checksum_start_offset(skb);
	if (start < 0 || start % 2 || (start + VLAN_HLEN) / 2 > U8_MAX)
		features &= ~(NETIF_F_CSUM_MASK | NETIF_F_GSO_MASK);
	return features;
}

/* Return: descriptors used, or 0 if the frame could not be mapped. */
static u32 dingo_tx_map_skb(struct dingo_channel *ch, struct sk_buff *skb)
{
	u32 first = ch->tx.producer, used = 0;
	int n;

	if (dingo_tx_map(ch, first, skb->data, NULL, skb_headlen(skb)))
		return 0;
	used++;
	for (n = 0; n < skb_shinfo(skb)->nr_frags; n++) {
		const skb_frag_t *frag = &skb_shinfo(skb)->frags[n];

		if (!skb_frag_size(frag))
			continue;
		if (dingo_tx_map(ch, first + used, NULL, frag,
				 skb_frag_size(frag)))
			goto err_unmap;
		used++;
	}
	dingo_tx_slot(ch, first + used - 1)->skb = skb;
	dingo_eth_desc(&ch->tx, first + used - 1)->flags =
		DINGO_ETH_DESC_FLAGS_EOP_MASK;
	dingo_tx_ask_offload(dingo_eth_desc(&ch->tx, first), skb);
	return used;

err_unmap:
	while (used--)
		dingo_tx_unmap(ch, dingo_tx_slot(ch, first + used));
	return 0;
}

/**
 * dingo_eth_xmit() - ndo_start_xmit
 * @skb: the frame
 * @ndev: the netdev
 *
 * Return: NETDEV_TX_OK.
 */
netdev_tx_t dingo_eth_xmit(struct sk_buff *skb, struct net_device *ndev)
{
	struct dingo_netdev *nd = netdev_priv(ndev);
	u16 index = skb_get_queue_mapping(skb);
	struct dingo_channel *ch = &nd->channels[index];
	struct netdev_queue *queue = netdev_get_tx_queue(ndev, index);
	u32 used = 0;

	/* Pads to the minimum frame size; frees the skb on error. */
	if (eth_skb_pad(skb))
		skb = NULL;
	else
		used = dingo_tx_map_skb(ch, skb);
	if (!used) {
		dev_core_stats_tx_dropped_inc(ndev);
		dev_kfree_skb_any(skb);
		/* Earlier frames may not have been announced yet. */
		if (ch->tx.producer != ch->tx.rung)
			dingo_eth_ring_doorbell(ch, &ch->tx);
		return NETDEV_TX_OK;
	}
	skb_tx_timestamp(skb);
	ch->tx.producer += used;
	netif_txq_maybe_stop(queue, dingo_tx_room(ch), DINGO_TX_MAX_DESCS,
			     DINGO_TX_MAX_DESCS);
	if (__netdev_tx_sent_queue(queue, skb->len, netdev_xmit_more()))
		dingo_eth_ring_doorbell(ch, &ch->tx);
	return NETDEV_TX_OK;
}

/* Counts the frames and bytes that the card has sent for an skb. */
static void dingo_tx_count(const struct sk_buff *skb, u64 *packets, u64 *bytes)
{
	unsigned int segs = max_t(unsigned int, 1, skb_shinfo(skb)->gso_segs);

	*packets += segs;
	*bytes += skb->len;
	if (segs > 1)
		*bytes += (segs - 1) * skb_tcp_all_headers(skb);
}

/**
 * dingo_tx_complete() - handle the completion of a frame
 * @ch: the channel; NAPI context
 * @cqe: the completion, which is not trusted
 * @frames: incremented by the number of completed frames
 * @bytes: incremented by their bytes
 */
void dingo_tx_complete(struct dingo_channel *ch, const struct dingo_cqe *cqe,
		       unsigned int *frames, unsigned int *bytes)
{
	u32 mask = BIT(ch->tx.log_size) - 1;
	/* Only announced frames: dingo_eth_xmit() no longer accesses them. */
	u32 held = smp_load_acquire(&ch->tx.rung) - ch->tx.consumer;
	u32 done = ((le32_to_cpu(cqe->wqe_index) - ch->tx.consumer) & mask) + 1;
	bool good = cqe->status == DINGO_WCS_SUCCESS;
	unsigned int sent = 0, length = 0;
	u64 packets = 0, wire_bytes = 0;
	struct dingo_tx_slot *slot;
	u32 consumer = ch->tx.consumer;

	if (done > held) {
		netdev_warn_once(ch->nd->ndev,
				 "transmit completion of an empty descriptor ignored\n");
		return;
	}
	for (; done; done--, consumer++) {
		slot = dingo_tx_slot(ch, consumer);
		dingo_tx_unmap(ch, slot);
		if (!slot->skb)
			continue;
		sent++;
		length += slot->skb->len;
		dingo_tx_count(slot->skb, &packets, &wire_bytes);
		napi_consume_skb(slot->skb, 1);
		slot->skb = NULL;
	}
	/* Pairs with dingo_tx_room(): the slots are cleared before this. */
	smp_store_release(&ch->tx.consumer, consumer);
	*frames += sent;
	*bytes += length;

	u64_stats_update_begin(&ch->tx.sync);
	if (good) {
		ch->tx.counts.packets += packets;
		ch->tx.counts.bytes += wire_bytes;
	} else {
		ch->tx.counts.errors += sent;
	}
	u64_stats_update_end(&ch->tx.sync);
}

/**
 * dingo_tx_wake() - wake a stopped queue if there is room
 * @ch: the channel; NAPI context
 */
void dingo_tx_wake(struct dingo_channel *ch)
{
	struct netdev_queue *queue = netdev_get_tx_queue(ch->nd->ndev,
							 ch->index);

	/* Pairs with the barrier in netif_txq_maybe_stop(). */
	smp_mb();
	if (netif_tx_queue_stopped(queue) && READ_ONCE(ch->nd->started) &&
	    dingo_tx_room(ch) >= DINGO_TX_MAX_DESCS)
		netif_tx_wake_queue(queue);
}
