// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Multicast groups of UD QPs. Whether the network function hears of a group is
 * the stack's: the card takes what comes for a QP's group anyway.
 *
 * To ib_core a group with another LID is another group, and each is detached; a
 * QP whose groups are not all detached cannot be destroyed, even when its process
 * ends. RoCE has no LIDs: the card has the group once, so it is counted here.
 */
#include <linux/slab.h>

#include "dingo_ib.h"

struct dingo_group {
	struct list_head entry; /* dingo_qp.groups */
	union ib_gid gid;
	u32 times; /* attached */
};

static struct dingo_group *dingo_group_find(struct dingo_qp *qp,
					    const union ib_gid *gid)
{
	struct dingo_group *group;

	lockdep_assert_held(&qp->mutex);
	list_for_each_entry(group, &qp->groups, entry) {
		if (!memcmp(&group->gid, gid, sizeof(*gid)))
			return group;
	}
	return NULL;
}

static int dingo_group_new(struct dingo_qp *qp, const union ib_gid *gid)
{
	struct dingo_group *group;
	int err;

	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return -ENOMEM;
	err = dingo_cmd_attach_mcast(to_ddev(qp->ibqp.device), qp->qpn,
				     gid->raw);
	if (err) {
		kfree(group);
		/* ib_core has just looked the QP up. */
		return err == -ENOENT ? -EINVAL : err;
	}
	group->gid = *gid;
	group->times = 1;
	list_add_tail(&group->entry, &qp->groups);
	return 0;
}

/**
 * dingo_attach_mcast() - let a QP receive what is sent to a group
 * @ibqp: the QP; ib_core has seen that it is UD
 * @gid: the group
 * @lid: of InfiniBand alone
 *
 * Return: 0, -EINVAL, -ENOMEM when there are too many groups, or QPs of this
 * one, -EIO.
 */
int dingo_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct dingo_qp *qp = to_dqp(ibqp);
	struct dingo_group *group;

	guard(mutex)(&qp->mutex);
	group = dingo_group_find(qp, gid);
	if (!group)
		return dingo_group_new(qp, gid);
	group->times++;
	return 0;
}

/**
 * dingo_detach_mcast() - undo dingo_attach_mcast()
 * @ibqp: the QP
 * @gid: the group
 * @lid: of InfiniBand alone
 *
 * A card that refuses keeps the group until the QP goes, which must be possible.
 * Return: 0, -EINVAL when it is not attached.
 */
int dingo_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct dingo_qp *qp = to_dqp(ibqp);
	struct dingo_group *group;
	int err;

	guard(mutex)(&qp->mutex);
	group = dingo_group_find(qp, gid);
	if (!group)
		return -EINVAL;
	if (--group->times)
		return 0;
	err = dingo_cmd_detach_mcast(to_ddev(ibqp->device), qp->qpn, gid->raw);
	if (err)
		ibdev_warn_ratelimited(ibqp->device,
				       "QP 0x%x stays in a group: %d\n",
				       qp->qpn, err);
	list_del(&group->entry);
	kfree(group);
	return 0;
}
