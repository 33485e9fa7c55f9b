// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Receive side of a channel: one page (or one block of pages, for large MTUs)
 * per descriptor, recycled through a page pool.
 */
#include <linux/etherdevice.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/page_pool/helpers.h>

#include "dingo_netdev.h"

#define DINGO_RX_HEADROOM ALIGN(NET_SKB_PAD + NET_IP_ALIGN, 8)

static int dingo_rx_create_pool(struct dingo_channel *ch)
{
	struct dingo_netdev *nd = ch->nd;
	struct page_pool_params params = {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.order = ch->rx_order,
		.pool_size = BIT(ch->rx.log_size),
		.nid = dev_to_node(dingo_dma_dev(nd->dev)),
		.dev = dingo_dma_dev(nd->dev),
		.napi = &ch->napi,
		.netdev = nd->ndev,
		.dma_dir = DMA_FROM_DEVICE,
		.max_len = ch->rx_frame_max,
		.offset = DINGO_RX_HEADROOM,
	};

	ch->pool = page_pool_create(&params);
	if (IS_ERR(ch->pool)) {
		int err = PTR_ERR(ch->pool);

		ch->pool = NULL;
		return err;
	}
	return 0;
}

/**
 * dingo_rx_start() - create the empty RX ring of a channel
 * @ch: the channel, with a CQ
 * @log_size: log2 of descriptors
 *
 * Return: 0 or a negative errno.
 */
int dingo_rx_start(struct dingo_channel *ch, u8 log_size)
{
	size_t bytes;
	int err;

	ch->rx_frame_max = ch->nd->ndev->mtu + VLAN_ETH_HLEN;
	bytes = SKB_DATA_ALIGN(DINGO_RX_HEADROOM + ch->rx_frame_max) +
		SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	ch->rx_order = get_order(bytes);
	ch->rx.log_size = log_size;
	ch->rx_pages = kvcalloc(BIT(log_size), sizeof(*ch->rx_pages),
				GFP_KERNEL);
	if (!ch->rx_pages)
		return -ENOMEM;
	err = dingo_rx_create_pool(ch);
	if (err)
		goto err_free_pages;
	err = dingo_eth_ring_start(ch, &ch->rx, DINGO_ETH_RX, log_size);
	if (err)
		goto err_destroy_pool;
	return 0;

err_destroy_pool:
	page_pool_destroy(ch->pool);
	ch->pool = NULL;
err_free_pages:
	kvfree(ch->rx_pages);
	ch->rx_pages = NULL;
	return err;
}

/**
 * dingo_rx_stop() - undo dingo_rx_start()
 * @ch: the channel; NAPI is disabled
 */
void dingo_rx_stop(struct dingo_channel *ch)
{
	u32 n;

	dingo_eth_ring_stop(ch, &ch->rx);
	for (n = 0; n < BIT(ch->rx.log_size); n++) {
		if (ch->rx_pages[n])
			page_pool_put_full_page(ch->pool, ch->rx_pages[n],
						false);
	}
	page_pool_destroy(ch->pool);
	ch->pool = NULL;
	kvfree(ch->rx_pages);
	ch->rx_pages = NULL;
}

/**
 * dingo_rx_refill() - post buffers for all empty descriptors
 * @ch: the channel; NAPI context, or before NAPI runs
 *
 * If memory is short, the next poll continues.
 */
void dingo_rx_refill(struct dingo_channel *ch)
{
	struct dingo_eth_ring *rx = &ch->rx;
	u32 size = BIT(rx->log_size);
	struct dingo_eth_desc *desc;
	struct page *page;

	while (rx->producer - rx->consumer < size) {
		u32 slot = rx->producer & (size - 1);

		/* Still in use: the card has completed out of order. */
		if (ch->rx_pages[slot])
			break;
		page = page_pool_dev_alloc_pages(ch->pool);
		if (!page)
			break;
		ch->rx_pages[slot] = page;
		desc = dingo_eth_desc(rx, slot);
		desc->addr = cpu_to_le64(page_pool_get_dma_addr(page) +
					 DINGO_RX_HEADROOM);
		desc->length = cpu_to_le32(ch->rx_frame_max);
		desc->flags = 0;
		rx->producer++;
	}
	if (rx->producer != rx->rung)
		dingo_eth_ring_doorbell(ch, rx);
}

static struct sk_buff *dingo_rx_build(struct dingo_channel *ch,
				      struct page *page, u32 length)
{
	struct sk_buff *skb;

	page_pool_dma_sync_for_cpu(ch->pool, page, 0, length);
	net_prefetch(page_address(page) + DINGO_RX_HEADROOM);
	skb = napi_build_skb(page_address(page), PAGE_SIZE << ch->rx_order);
	if (!skb)
		return NULL;
	skb_mark_for_recycle(skb);
	skb_reserve(skb, DINGO_RX_HEADROOM);
	skb_put(skb, length);
	return skb;
}

/**
 * dingo_rx_complete() - handle one received frame
 * @ch: the channel; NAPI context
 * @cqe: its completion, which is not trusted
 */
void dingo_rx_complete(struct dingo_channel *ch, const struct dingo_cqe *cqe)
{
	u32 slot = le32_to_cpu(cqe->wqe_index) & (BIT(ch->rx.log_size) - 1);
	struct page *page = ch->rx_pages[slot];
	struct net_device *ndev = ch->nd->ndev;
	u32 length = le32_to_cpu(cqe->byte_len);
	bool csum_ok = cqe->flags & DINGO_CQE_FLAGS_CSUM_OK_MASK &&
		       ndev->features & NETIF_F_RXCSUM;
	struct sk_buff *skb;

	if (!page) {
		netdev_warn_once(ndev,
				 "receive completion of an empty descriptor ignored\n");
		return;
	}
	ch->rx_pages[slot] = NULL;
	ch->rx.consumer++;

	if (cqe->status != DINGO_WCS_SUCCESS || length < ETH_HLEN ||
	    length > ch->rx_frame_max) {
		u64_stats_update_begin(&ch->rx.sync);
		ch->rx.counts.errors++;
		u64_stats_update_end(&ch->rx.sync);
		page_pool_recycle_direct(ch->pool, page);
		return;
	}
	skb = dingo_rx_build(ch, page, length);
	u64_stats_update_begin(&ch->rx.sync);
	if (skb) {
		ch->rx.counts.packets++;
		ch->rx.counts.bytes += length;
		ch->rx.counts.csum_ok += csum_ok;
	} else {
		ch->rx.counts.drops++;
	}
	u64_stats_update_end(&ch->rx.sync);
	if (!skb) {
		page_pool_recycle_direct(ch->pool, page);
		return;
	}
	if (csum_ok)
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	if (cqe->src_qpn && ndev->features & NETIF_F_RXHASH)
		skb_set_hash(skb, le32_to_cpu(cqe->src_qpn),
			     cqe->flags & DINGO_CQE_FLAGS_HASH_L4_MASK ?
				     PKT_HASH_TYPE_L4 : PKT_HASH_TYPE_L3);
	skb_record_rx_queue(skb, ch->index);
	skb->protocol = eth_type_trans(skb, ndev);
	napi_gro_receive(&ch->napi, skb);
}
