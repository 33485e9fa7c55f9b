// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The card's GID table mirrors that of ib_core, with the MAC address and VLAN
 * of the network device that owns each address. ib_core does not report a
 * change of the MAC address alone, so that is monitored here.
 *
 * Each entry also has a domain: the number of the network device's namespace.
 * ib_core does not check whether a process may use a GID, and a process writes
 * the index into its work requests itself, so the card checks the domain.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "dingo_ib.h"

/* Gets the number of a namespace, released by dingo_domain_put(). */
static int dingo_domain_get(struct dingo_ibdev *ib, u64 cookie, u16 *domain)
{
	struct dingo_domain *d, *unused = NULL;
	u32 n;

	lockdep_assert_held(&ib->gid_lock);
	for (n = 0; n < ib->num_domains; n++) {
		d = &ib->domains[n];
		if (d->users && d->cookie == cookie)
			break;
		if (!d->users && !unused)
			unused = d;
	}
	if (n == ib->num_domains) {
		if (!unused)
			return -ENOSPC;
		d = unused;
		d->cookie = cookie;
	}
	d->users++;
	*domain = d - ib->domains + 1;
	return 0;
}

static void dingo_domain_put(struct dingo_ibdev *ib, u16 domain)
{
	lockdep_assert_held(&ib->gid_lock);
	if (domain)
		ib->domains[domain - 1].users--;
}

/**
 * dingo_gid_open() - determine which GIDs a process may use
 * @ib: the device
 * @uc: its new context; undone by dingo_gid_close()
 *
 * In exclusive mode (rdma system) only processes of the device's namespace can
 * open it, and may use the GIDs of that namespace. When the device moves to
 * another one, ib_core revokes all contexts. In shared mode all processes may
 * use all GIDs.
 * Return: 0 or -ENOSPC.
 */
int dingo_gid_open(struct dingo_ibdev *ib, struct dingo_ucontext *uc)
{
	struct net *net = read_pnet(&ib->ibdev.coredev.rdma_net);
	int err;

	uc->domain = 0;
	if (rdma_dev_access_netns(&ib->ibdev, NULL))
		return 0;
	mutex_lock(&ib->gid_lock);
	err = dingo_domain_get(ib, net->net_cookie, &uc->domain);
	mutex_unlock(&ib->gid_lock);
	return err;
}

/**
 * dingo_gid_close() - undo dingo_gid_open()
 * @ib: the device
 * @uc: the context; it has no QPs any more
 */
void dingo_gid_close(struct dingo_ibdev *ib, struct dingo_ucontext *uc)
{
	mutex_lock(&ib->gid_lock);
	dingo_domain_put(ib, uc->domain);
	mutex_unlock(&ib->gid_lock);
}

/**
 * dingo_gid_is_for() - check whether a process may use a GID
 * @uc: its context; NULL: the kernel
 * @attr: the GID, held by ib_core
 *
 * Any context.
 * Return: true if it may.
 */
bool dingo_gid_is_for(const struct dingo_ucontext *uc,
		      const struct ib_gid_attr *attr)
{
	struct dingo_ibdev *ib = to_dibdev(attr->device);

	return !uc || !uc->domain ||
	       uc->domain == READ_ONCE(ib->gids[attr->index].domain);
}

/* Releases the entry's domain, after the card's
 * entry was replaced or cleared.
 */
static void dingo_gid_forget(struct dingo_ibdev *ib, u32 index)
{
	dingo_domain_put(ib, ib->gids[index].domain);
	WRITE_ONCE(ib->gids[index].domain, 0);
	ib->gids[index].ndev = NULL;
}

int dingo_add_gid(const struct ib_gid_attr *attr, void **context)
{
	struct dingo_ibdev *ib = to_dibdev(attr->device);
	struct dingo_gid_shadow *shadow;
	const struct net_device *ndev;
	u16 vlan = DINGO_VLAN_NONE;
	u8 mac[ETH_ALEN];
	u64 cookie;
	u16 domain;
	int err;

	if (attr->index >= le32_to_cpu(ib->dev->limits.max_gid))
		return -EINVAL;
	/* A concurrent change of the MAC is read here or applied afterwards. */
	mutex_lock(&ib->gid_lock);
	err = rdma_read_gid_l2_fields(attr, &vlan, mac);
	if (err)
		goto out;
	if (vlan >= VLAN_N_VID)
		vlan = DINGO_VLAN_NONE;
	rcu_read_lock();
	ndev = rcu_dereference(attr->ndev);
	if (ndev)
		cookie = dev_net(ndev)->net_cookie;
	rcu_read_unlock();
	err = ndev ? dingo_domain_get(ib, cookie, &domain) : -ENODEV;
	if (err)
		goto out;
	err = dingo_cmd_set_gid(ib->dev, attr->index, attr->gid.raw, mac, vlan,
				domain);
	if (err) {
		dingo_domain_put(ib, domain);
		goto out;
	}
	shadow = &ib->gids[attr->index];
	dingo_gid_forget(ib, attr->index);
	memcpy(shadow->gid, attr->gid.raw, sizeof(shadow->gid));
	shadow->vlan = vlan;
	shadow->ndev = ndev;
	WRITE_ONCE(shadow->domain, domain);
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
	err = dingo_cmd_set_gid(ib->dev, attr->index, NULL, NULL, 0, 0);
	/* A card that failed has no GIDs left. */
	if (!dingo_is_up(ib->dev))
		err = 0;
	/* Keep the domain's number while the card has the entry. */
	if (!err)
		dingo_gid_forget(ib, attr->index);
	mutex_unlock(&ib->gid_lock);
	return err;
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
				      ndev->dev_addr, ib->gids[n].vlan,
				      ib->gids[n].domain))
			ibdev_warn(&ib->ibdev, "GID %u keeps its old MAC\n", n);
	}
	mutex_unlock(&ib->gid_lock);
	return NOTIFY_DONE;
}

/**
 * dingo_gid_init() - start to monitor the network devices
 * @ib: the device, not registered yet
 *
 * Return: 0 or a negative error.
 */
int dingo_gid_init(struct dingo_ibdev *ib)
{
	u32 max_gid = le32_to_cpu(ib->dev->limits.max_gid);
	int err = -ENOMEM;

	mutex_init(&ib->gid_lock);
	ib->gids = kvcalloc(max_gid, sizeof(*ib->gids), GFP_KERNEL);
	if (!ib->gids)
		return err;
	/* In addition to those of the entries: the namespace of the device, and
	 * that of an entry which is about to replace another one.
	 */
	ib->num_domains = min_t(u32, max_gid + 2, U16_MAX);
	ib->domains = kvcalloc(ib->num_domains, sizeof(*ib->domains),
			       GFP_KERNEL);
	if (!ib->domains)
		goto err_gids;
	ib->netdev_nb.notifier_call = dingo_netdev_event;
	err = register_netdevice_notifier(&ib->netdev_nb);
	if (err)
		goto err_domains;
	return 0;

err_domains:
	kvfree(ib->domains);
err_gids:
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
	kvfree(ib->domains);
	kvfree(ib->gids);
	mutex_destroy(&ib->gid_lock);
}
