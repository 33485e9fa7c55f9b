// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Interrupt moderation of the interface's channels, with a fixed delay or by
 * the kernel's dynamic interrupt moderation (DIM).
 */
#include <linux/ethtool.h>

#include "dingo_netdev.h"

static bool dingo_has_moderation(const struct dingo_netdev *nd)
{
	return nd->dev->caps & DINGO_CAP_CQ_MODERATION;
}

/* Applies the delay that DIM has chosen for a channel. */
static void dingo_dim_work(struct work_struct *work)
{
	struct dim *dim = container_of(work, struct dim, work);
	struct dingo_channel *ch = container_of(dim, struct dingo_channel, dim);
	struct dim_cq_moder want =
		net_dim_get_rx_moderation(dim->mode, dim->profile_ix);

	if (!READ_ONCE(ch->nd->coalesce.adaptive))
		return;
	dingo_cmd_modify_cq(ch->nd->dev, ch->cq.cqn, want.pkts, want.usec);
	dim->state = DIM_START_MEASURE;
}

/**
 * dingo_coalesce_start() - set the delay of a new channel
 * @ch: the channel; its CQ exists, NAPI does not run yet
 *
 * Return: 0 or a negative errno.
 */
int dingo_coalesce_start(struct dingo_channel *ch)
{
	const struct dingo_coalesce *want = &ch->nd->coalesce;

	memset(&ch->dim, 0, sizeof(ch->dim));
	INIT_WORK(&ch->dim.work, dingo_dim_work);
	ch->dim.mode = DIM_CQ_PERIOD_MODE_START_FROM_EQE;
	if (!dingo_has_moderation(ch->nd) || want->adaptive || !want->usecs)
		return 0;
	return dingo_cmd_modify_cq(ch->nd->dev, ch->cq.cqn, want->frames,
				   want->usecs);
}

/**
 * dingo_coalesce_stop() - undo dingo_coalesce_start()
 * @ch: the channel; NAPI is disabled, its CQ exists
 */
void dingo_coalesce_stop(struct dingo_channel *ch)
{
	cancel_work_sync(&ch->dim.work);
}

/**
 * dingo_coalesce_sample() - sample the traffic of a channel for DIM
 * @ch: the channel; at the end of its NAPI poll
 */
void dingo_coalesce_sample(struct dingo_channel *ch)
{
	struct dim_sample sample = {};

	if (!READ_ONCE(ch->nd->coalesce.adaptive))
		return;
	dim_update_sample(ch->events, ch->rx.counts.packets,
			  ch->rx.counts.bytes, &sample);
	dingo_net_dim(&ch->dim, sample);
}

int dingo_get_coalesce(struct net_device *ndev, struct ethtool_coalesce *coal,
		       struct kernel_ethtool_coalesce *kernel_coal,
		       struct netlink_ext_ack *extack)
{
	struct dingo_netdev *nd = netdev_priv(ndev);

	if (!dingo_has_moderation(nd))
		return -EOPNOTSUPP;
	coal->rx_coalesce_usecs = nd->coalesce.usecs;
	coal->rx_max_coalesced_frames = nd->coalesce.frames;
	coal->use_adaptive_rx_coalesce = nd->coalesce.adaptive;
	return 0;
}

/* Applies the settings to all channels; adaptive ones begin without a delay. */
static int dingo_coalesce_apply(struct dingo_netdev *nd)
{
	const struct dingo_coalesce *want = &nd->coalesce;
	unsigned int n;
	int err = 0;

	for (n = 0; nd->started && n < nd->shape.num_channels && !err; n++) {
		struct dingo_channel *ch = &nd->channels[n];

		napi_disable(&ch->napi); /* its poll reads @want and dim */
		cancel_work_sync(&ch->dim.work);
		ch->dim.state = DIM_START_MEASURE;
		ch->dim.profile_ix = 0;
		err = dingo_cmd_modify_cq(nd->dev, ch->cq.cqn,
					  want->adaptive ? 0 : want->frames,
					  want->adaptive ? 0 : want->usecs);
		napi_enable(&ch->napi);
		/* Completions that arrived meanwhile have scheduled no poll. */
		local_bh_disable();
		napi_schedule(&ch->napi);
		local_bh_enable();
	}
	return err;
}

int dingo_set_coalesce(struct net_device *ndev, struct ethtool_coalesce *coal,
		       struct kernel_ethtool_coalesce *kernel_coal,
		       struct netlink_ext_ack *extack)
{
	struct dingo_netdev *nd = netdev_priv(ndev);
	struct dingo_coalesce old = nd->coalesce;
	int err;

	if (!dingo_has_moderation(nd))
		return -EOPNOTSUPP;
	if (coal->rx_coalesce_usecs > U16_MAX ||
	    coal->rx_max_coalesced_frames > U16_MAX) {
		NL_SET_ERR_MSG(extack, "rx-usecs and rx-frames are 65535 at most");
		return -EINVAL;
	}
	if (coal->rx_max_coalesced_frames > 1 && !coal->rx_coalesce_usecs &&
	    !coal->use_adaptive_rx_coalesce) {
		NL_SET_ERR_MSG(extack,
			       "rx-frames needs rx-usecs: the last frame would wait for ever");
		return -EINVAL;
	}
	WRITE_ONCE(nd->coalesce.adaptive, coal->use_adaptive_rx_coalesce);
	nd->coalesce.usecs = coal->rx_coalesce_usecs;
	nd->coalesce.frames = coal->rx_max_coalesced_frames;
	err = dingo_coalesce_apply(nd);
	if (err) {
		nd->coalesce = old;
		dingo_coalesce_apply(nd);
	}
	return err;
}
