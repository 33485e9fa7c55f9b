// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The card's GID table follows ib_core's, with the MAC address and VLAN of the
 * network device that owns each address. ib_core does not call again when only
 * the MAC address changes, so that is watched here.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "dingo_ib.h"

int dingo_add_gid(const struct ib_gid_attr *attr, void **context)
{
	struct dingo_ibdev *ib = to_dibdev(attr->device);
	struct dingo_gid_shadow *shadow;
	u16 vlan = DINGO_VLAN_NONE;
	u8 mac[ETH_ALEN];
	int err;

	if (attr->index >= le32_to_cpu(ib->dev->limits.max_gid))
		return -EINVAL;
	/* A change of the MAC is read here or comes to the entry afterwards. */
	mutex_lock(&ib->gid_lock);
	err = rdma_read_gid_l2_fields(attr, &vlan, mac);
	if (err)
		goto out;
	if (vlan >= VLAN_N_VID)
		vlan = DINGO_VLAN_NONE;
	err = dingo_cmd_set_gid(ib->dev, attr->index, attr->gid.raw, mac, vlan);
	if (!err) {
		shadow = &ib->gids[attr->index];
		memcpy(shadow->gid, attr->gid.raw, sizeof(shadow->gid));
		shadow->vlan = vlan;
		rcu_read_lock();
		shadow->ndev = rcu_dereference(attr->ndev);
		rcu_read_unlock();
	}
out:
	mutex_unlock(&ib->gid_lock);
	return err;
}

int dingo_del_gid(const struct ib_gid_attr *attr, void **context)
{
	struct dingo_ibdev *ib = to_dibdev(attr->device);
	int err;

	if (attr->index >= le32_to_cpu(ib->dev->limits.max_gid))
		return -EINVAL;
	mutex_lock(&ib->gid_lock);
	ib->gids[attr->index].ndev = NULL;
	err = dingo_cmd_set_gid(ib->dev, attr->index, NULL, NULL, 0);
	mutex_unlock(&ib->gid_lock);
	/* A card that failed has no GIDs left. */
	return dingo_is_up(ib->dev) ? err : 0;
}

static int dingo_netdev_event(struct notifier_block *nb, unsigned long event,
			      void *info)
{
	struct dingo_ibdev *ib = container_of(nb, struct dingo_ibdev,
					      netdev_nb);
	struct net_device *ndev = netdev_notifier_info_to_dev(info);
	u32 n;

	if (event != NETDEV_CHANGEADDR)
		return NOTIFY_DONE;
	mutex_lock(&ib->gid_lock);
	for (n = 0; n < le32_to_cpu(ib->dev->limits.max_gid); n++) {
		if (ib->gids[n].ndev != ndev)
			continue;
		if (dingo_cmd_set_gid(ib->dev, n, ib->gids[n].gid,
				      ndev->dev_addr, ib->gids[n].vlan))
			ibdev_warn(&ib->ibdev, "GID %u keeps its old MAC\n", n);
	}
	mutex_unlock(&ib->gid_lock);
	return NOTIFY_DONE;
}

/**
 * dingo_gid_init() - start to follow the network devices
 * @ib: the device, not registered yet
 *
 * Return: 0 or a negative error.
 */
int dingo_gid_init(struct dingo_ibdev *ib)
{
	int err;

	mutex_init(&ib->gid_lock);
	ib->gids = kvcalloc(le32_to_cpu(ib->dev->limits.max_gid),
			    sizeof(*ib->gids), GFP_KERNEL);
	if (!ib->gids)
		return -ENOMEM;
	ib->netdev_nb.notifier_call = dingo_netdev_event;
	err = register_netdevice_notifier(&ib->netdev_nb);
	if (err)
		kvfree(ib->gids);
	return err;
}

/**
 * dingo_gid_cleanup() - undo dingo_gid_init()
 * @ib: the device, not registered any more
 */
void dingo_gid_cleanup(struct dingo_ibdev *ib)
{
	unregister_netdevice_notifier(&ib->netdev_nb);
	kvfree(ib->gids);
	mutex_destroy(&ib->gid_lock);
}
