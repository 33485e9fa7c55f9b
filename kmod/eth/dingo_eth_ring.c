// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Channels of the Ethernet function: TX and RX ring, their common CQ, and the
 * NAPI poll loop.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "dingo_netdev.h"

/**
 * dingo_eth_ring_start() - make a ring on the card
 * @ch: its channel, with a CQ
 * @ring: the ring
 * @kind: DINGO_ETH_TX or DINGO_ETH_RX
 * @log_size: log2 of descriptors
 *
 * Return: 0 or a negative errno.
 */
int dingo_eth_ring_start(struct dingo_channel *ch, struct dingo_eth_ring *ring,
			 u8 kind, u8 log_size)
{
	struct dingo_dev *dev = ch->nd->dev;
	struct dingo_mem mem;
	int err;

	ring->kind = kind;
	ring->index = ch->index;
	ring->log_size = log_size;
	ring->producer = 0;
	ring->consumer = 0;
	ring->rung = 0;
	err = dingo_ring_alloc(dev, &ring->ring,
			       sizeof(struct dingo_eth_desc) << log_size, 0);
	if (err)
		return err;
	err = dingo_db_alloc(&dev->kernel_db, &ring->db);
	if (err)
		goto err_free_ring;
	/* The card accepts Ethernet doorbells in this page only. */
	if (ring->db.page->index != DINGO_DB_PAGE_KERNEL) {
		err = -ENOSPC;
		goto err_free_db;
	}
	dingo_ring_describe(&ring->ring, &mem);
	err = dingo_cmd_create_eth(dev, kind, ring->index, log_size,
				   ch->cq.cqn, &mem);
	if (err)
		goto err_free_db;
	ring->created = true;
	return 0;

err_free_db:
	dingo_db_free(&dev->kernel_db, &ring->db);
err_free_ring:
	dingo_ring_free(dev, &ring->ring);
	return err;
}

/**
 * dingo_eth_ring_stop() - undo dingo_eth_ring_start()
 * @ch: its channel
 * @ring: the ring; no effect if it does not exist
 *
 * The card does no DMA for this ring afterwards.
 */
void dingo_eth_ring_stop(struct dingo_channel *ch, struct dingo_eth_ring *ring)
{
	struct dingo_dev *dev = ch->nd->dev;

	if (!ring->created)
		return;
	dingo_cmd_destroy_eth(dev, ring->kind, ring->index);
	ring->created = false;
	dingo_db_free(&dev->kernel_db, &ring->db);
	dingo_ring_free(dev, &ring->ring);
}

/**
 * dingo_eth_ring_doorbell() - tell the card about new descriptors
 * @ch: the ring's channel
 * @ring: the ring; the caller serializes
 */
void dingo_eth_ring_doorbell(struct dingo_channel *ch,
			     struct dingo_eth_ring *ring)
{
	u32 type = ring->kind == DINGO_ETH_TX ? DINGO_DB_ETH_TX :
						DINGO_DB_ETH_RX;

	/* Pairs with dingo_tx_complete(). */
	smp_store_release(&ring->rung, ring->producer);
	dingo_db_ring(ch->nd->dev, &ring->db,
		      dingo_db_word0(type, ring->index), ring->producer);
}

static void dingo_channel_cq_doorbell(struct dingo_channel *ch, bool arm)
{
	dingo_db_ring_cq(ch->nd->dev, &ch->cq_db, ch->cq.cqn, ch->cq_consumer,
			 arm, false, &ch->cq_arm);
}

/* Return: the next completion, or NULL. */
static const struct dingo_cqe *dingo_channel_peek(const struct dingo_channel *ch)
{
	const struct dingo_cqe *ring = ch->cq_ring.va;
	u32 size = BIT(ch->cq_log_size);
	const struct dingo_cqe *cqe = &ring[ch->cq_consumer & (size - 1)];
	u8 phase = !(ch->cq_consumer & size);

	if ((READ_ONCE(cqe->owner) & 1) != phase)
		return NULL;
	dma_rmb(); /* read the rest of the entry after owner */
	return cqe;
}

static int dingo_channel_poll(struct napi_struct *napi, int budget)
{
	struct dingo_channel *ch = container_of(napi, struct dingo_channel,
						napi);
	struct netdev_queue *queue = netdev_get_tx_queue(ch->nd->ndev,
							 ch->index);
	unsigned int frames = 0, bytes = 0, taken = 0;
	const struct dingo_cqe *cqe;
	int received = 0;
	bool empty;

	/* Budget 0 (netpoll): TX completions only, but they share the CQ. */
	while (received < budget && taken < BIT(ch->cq_log_size)) {
		cqe = dingo_channel_peek(ch);
		if (!cqe)
			break;
		taken++;
		ch->cq_consumer++;
		switch (FIELD_GET(DINGO_CQE_QPN_OP_OPCODE_MASK,
				  le32_to_cpu(cqe->qpn_op))) {
		case DINGO_WC_ETH_RX:
			dingo_rx_complete(ch, cqe);
			received++;
			break;
		case DINGO_WC_ETH_TX:
			dingo_tx_complete(ch, cqe, &frames, &bytes);
			break;
		default:
			netdev_warn_once(ch->nd->ndev,
					 "completion of unknown kind ignored\n");
		}
	}
	empty = received < budget;

	/* Free CQ entries before posting new work that completes to them. */
	if (taken)
		dingo_channel_cq_doorbell(ch, false);
	if (frames) {
		netdev_tx_completed_queue(queue, frames, bytes);
		dingo_tx_wake(ch);
	}
	if (budget)
		dingo_rx_refill(ch);
	if (!empty || !budget)
		return budget;
	if (napi_complete_done(napi, received)) {
		dingo_coalesce_sample(ch);
		/* If entries are left, arming raises the event at once. */
		dingo_channel_cq_doorbell(ch, true);
	}
	return received;
}

static void dingo_channel_event(struct dingo_cq_core *cq)
{
	struct dingo_channel *ch = container_of(cq, struct dingo_channel, cq);

	ch->events++;
	napi_schedule_irqoff(&ch->napi);
}

static void dingo_channel_error(struct dingo_cq_core *cq)
{
	struct dingo_channel *ch = container_of(cq, struct dingo_channel, cq);

	netdev_err(ch->nd->ndev, "completion queue of channel %u failed\n",
		   ch->index);
	dingo_netdev_stuck(ch->nd);
}

static int dingo_channel_start_cq(struct dingo_channel *ch, u8 log_size)
{
	struct dingo_dev *dev = ch->nd->dev;
	struct dingo_mem mem;
	int err;

	ch->cq_log_size = log_size + DINGO_ETH_CQ_LOG_MORE;
	ch->cq_consumer = 0;
	ch->cq_arm = 0;
	ch->cq.comp = dingo_channel_event;
	ch->cq.error = dingo_channel_error;
	err = dingo_ring_alloc(dev, &ch->cq_ring,
			       (size_t)DINGO_CQE_SIZE << ch->cq_log_size, 0);
	if (err)
		return err;
	err = dingo_db_alloc(&dev->kernel_db, &ch->cq_db);
	if (err)
		goto err_free_ring;
	err = dingo_cq_add_eth(dev, &ch->cq, ch->index % dev->num_comp_vectors);
	if (err)
		goto err_free_db;
	dingo_ring_describe(&ch->cq_ring, &mem);
	err = dingo_cmd_create_cq(dev, ch->cq.cqn, ch->cq.eqn,
				  ch->cq_db.page->index, ch->cq_log_size, &mem);
	if (err)
		goto err_del_cq;
	ch->cq_created = true;
	return 0;

err_del_cq:
	dingo_cq_del(dev, &ch->cq);
err_free_db:
	dingo_db_free(&dev->kernel_db, &ch->cq_db);
err_free_ring:
	dingo_ring_free(dev, &ch->cq_ring);
	return err;
}

static void dingo_channel_stop_cq(struct dingo_channel *ch)
{
	struct dingo_dev *dev = ch->nd->dev;

	if (!ch->cq_created)
		return;
	dingo_cmd_destroy_cq(dev, ch->cq.cqn);
	ch->cq_created = false;
	dingo_cq_del(dev, &ch->cq);
	dingo_db_free(&dev->kernel_db, &ch->cq_db);
	dingo_ring_free(dev, &ch->cq_ring);
}

static int dingo_channel_start(struct dingo_channel *ch)
{
	const struct dingo_eth_shape *shape = &ch->nd->shape;
	int err;

	/* Events may come early; napi_schedule() does nothing until enabled. */
	netif_napi_add(ch->nd->ndev, &ch->napi, dingo_channel_poll);
	err = dingo_channel_start_cq(ch, max(shape->log_tx, shape->log_rx));
	if (err)
		goto err_del_napi;
	err = dingo_coalesce_start(ch);
	if (err)
		goto err_stop_cq;
	err = dingo_tx_start(ch, shape->log_tx);
	if (err)
		goto err_stop_cq;
	err = dingo_rx_start(ch, shape->log_rx);
	if (err)
		goto err_stop_tx;
	dingo_rx_refill(ch);
	if (ch->rx.producer == 0) {
		err = -ENOMEM;
		goto err_stop_rx;
	}
	napi_enable(&ch->napi);
	dingo_channel_cq_doorbell(ch, true);
	return 0;

err_stop_rx:
	dingo_rx_stop(ch);
err_stop_tx:
	dingo_tx_stop(ch);
err_stop_cq:
	dingo_channel_stop_cq(ch);
err_del_napi:
	netif_napi_del(&ch->napi);
	return err;
}

/* The channel's NAPI and TX queue must be disabled. */
static void dingo_channel_stop(struct dingo_channel *ch)
{
	dingo_coalesce_stop(ch);
	dingo_rx_stop(ch);
	dingo_tx_stop(ch);
	dingo_channel_stop_cq(ch);
	netif_napi_del(&ch->napi);
}

/**
 * dingo_channels_start() - create all rings and start NAPI
 * @nd: the netdev; stopped
 *
 * Return: 0 or a negative errno; then nothing is started.
 */
int dingo_channels_start(struct dingo_netdev *nd)
{
	unsigned int n;
	int err;

	ASSERT_RTNL();
	if (nd->started)
		return 0;
	WRITE_ONCE(nd->stuck, false);
	for (n = 0; n < nd->shape.num_channels; n++) {
		err = dingo_channel_start(&nd->channels[n]);
		if (err)
			goto err_stop;
	}
	WRITE_ONCE(nd->started, true);
	netif_tx_wake_all_queues(nd->ndev); /* resume queued frames */
	dingo_devlink_tx_works(nd->dev);
	return 0;

err_stop:
	while (n--) {
		napi_disable(&nd->channels[n].napi);
		dingo_channel_stop(&nd->channels[n]);
	}
	return err;
}

/**
 * dingo_channels_stop() - undo dingo_channels_start()
 * @nd: the netdev; no effect if stopped
 */
void dingo_channels_stop(struct dingo_netdev *nd)
{
	unsigned int n = nd->shape.num_channels;

	ASSERT_RTNL();
	if (!nd->started)
		return;
	WRITE_ONCE(nd->started, false);
	/* A poll that saw @started set may still wake a queue. */
	while (n--)
		napi_disable(&nd->channels[n].napi);
	netif_tx_disable(nd->ndev);
	for (n = 0; n < nd->shape.num_channels; n++)
		dingo_channel_stop(&nd->channels[n]);
}

/* The channels must be stopped. */
static int dingo_channels_set_shape(struct dingo_netdev *nd,
				    const struct dingo_eth_shape *shape)
{
	bool other = nd->shape.num_channels != shape->num_channels;
	int err;

	nd->shape = *shape;
	if (!other)
		return 0;
	err = netif_set_real_num_queues(nd->ndev, shape->num_channels,
					shape->num_channels);
	return err ?: dingo_rss_reshape(nd);
}

/**
 * dingo_channels_reshape() - recreate the rings with another number or size
 * @nd: the netdev; started or not
 * @shape: new number and sizes, supported by the card
 *
 * Return: 0 or a negative errno; then the old rings are restored.
 */
int dingo_channels_reshape(struct dingo_netdev *nd,
			   const struct dingo_eth_shape *shape)
{
	struct dingo_eth_shape old = nd->shape;
	bool started = dingo_wants_rings(nd);
	int err;

	dingo_channels_stop(nd);
	err = dingo_channels_set_shape(nd, shape);
	if (!err && started)
		err = dingo_channels_start(nd);
	if (!err)
		return 0;
	dingo_channels_set_shape(nd, &old);
	if (started && dingo_channels_start(nd))
		netdev_err(nd->ndev, "no traffic since a failed change of the rings\n");
	return err;
}
