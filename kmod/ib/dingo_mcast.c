// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Multicast groups of UD QPs. Whether the network function hears of a group is
 * the stack's: the card takes what comes for a QP's group anyway.
 */
#include "dingo_ib.h"

/* ib_core knows no -ENOENT for a QP that it has just looked up. */
static int dingo_mcast_errno(int err)
{
	return err == -ENOENT ? -EINVAL : err;
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
	return dingo_mcast_errno(dingo_cmd_attach_mcast(to_ddev(ibqp->device),
							to_dqp(ibqp)->qpn,
							gid->raw));
}

/**
 * dingo_detach_mcast() - undo dingo_attach_mcast()
 * @ibqp: the QP
 * @gid: the group
 * @lid: of InfiniBand alone
 *
 * Return: 0, -EINVAL when it is not attached.
 */
int dingo_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	return dingo_mcast_errno(dingo_cmd_detach_mcast(to_ddev(ibqp->device),
							to_dqp(ibqp)->qpn,
							gid->raw));
}
