// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Multicast groups of UD QPs. The network stack decides which groups the
 * network function receives; the card receives frames for a QP's group
 * independently.
 *
 * For ib_core a group with another LID is a different group, and each must be
 * detached before the QP can be destroyed, even if its process ends. RoCE has
 * no LIDs: the card has the group once, so attachments are counted here.
 */
#include <linux/slab.h>

#include "dingo_ib.h"

struct dingo_group {
	struct list_head entry; /* dingo_qp.groups */
	union ib_gid gid;
	u32 times; /* number of attachments */
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
		/* -ENOENT cannot mean the QP, which ib_core has looked up. */
		return err == -ENOENT ? -EINVAL : err;
	}
	group->gid = *gid;
	group->times = 1;
	list_add_tail(&group->entry, &qp->groups);
	return 0;
}

/**
 * dingo_attach_mcast() - attach a QP to a multicast group
 * @ibqp: the QP; ib_core has checked that it is UD
 * @gid: the group
 * @lid: only for InfiniBand
 *
 * Return: 0, -EINVAL, -ENOMEM if there are too many groups, or QPs of this one,
 * -EIO.
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
 * @lid: only for InfiniBand
 *
 * If the card refuses, it keeps the group until the QP is destroyed; that must
 * stay possible, so this is not an error.
 * Return: 0, -EINVAL if it is not attached.
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
