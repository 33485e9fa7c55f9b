// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Address vectors. The card stores no address handles: each UD work request and
 * each connected QP contains the whole vector.
 */
#include <linux/etherdevice.h>
#include <linux/jhash.h>
#include <net/if_inet6.h>
#include <net/ip.h>
#include <rdma/ib_addr.h>

#include "dingo_ib.h"

/*
 * Chooses the UDP source port, by which switches distribute flows: from the
 * flow label if it is set, else from the QPs of a connection, else from the
 * peer.
 */
static u16 dingo_udp_sport(const struct ib_global_route *grh, u32 local_qpn,
			   u32 remote_qpn)
{
	if (grh->flow_label || local_qpn || remote_qpn)
		return rdma_get_udp_sport(grh->flow_label, local_qpn,
					  remote_qpn);
	return IB_ROCE_UDP_ENCAP_VALID_PORT_MIN |
	       (jhash(grh->dgid.raw, sizeof(grh->dgid.raw), 0) & 0x3fff);
}

/* Derives the MAC of a multicast group, which kernel users do not provide. */
static void dingo_group_mac(const union ib_gid *gid, u8 *mac)
{
	const struct in6_addr *ip = (const struct in6_addr *)gid->raw;

	if (ipv6_addr_v4mapped(ip))
		ip_eth_mc_map(ip->s6_addr32[3], mac);
	else
		ipv6_eth_mc_map(ip, mac);
}

/**
 * dingo_av_init() - fill in an address vector
 * @av: the result
 * @attr: the address, resolved by ib_core: with sgid_attr and destination MAC
 * @uc: context of the owner; NULL: the kernel
 * @local_qpn: for a connection; else 0
 * @remote_qpn: for a connection; else 0
 *
 * Return: 0, -EINVAL if it is not a RoCE v2 address, or a group for a
 * connection, or if the user may not use the source GID.
 */
int dingo_av_init(struct dingo_av *av, const struct rdma_ah_attr *attr,
		  const struct dingo_ucontext *uc, u32 local_qpn,
		  u32 remote_qpn)
{
	const struct ib_global_route *grh;
	bool to_group;

	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE ||
	    !(rdma_ah_get_ah_flags(attr) & IB_AH_GRH))
		return -EINVAL;
	grh = rdma_ah_read_grh(attr);
	if (!grh->sgid_attr ||
	    grh->sgid_attr->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP ||
	    !dingo_gid_is_for(uc, grh->sgid_attr))
		return -EINVAL;
	to_group = rdma_is_multicast_addr((struct in6_addr *)grh->dgid.raw);
	if (to_group ? local_qpn != 0 : is_zero_ether_addr(attr->roce.dmac))
		return -EINVAL;

	*av = (struct dingo_av){
		.sgid_index = grh->sgid_attr->index,
		.flow_label = grh->flow_label & IB_GRH_FLOWLABEL_MASK,
		.udp_sport = dingo_udp_sport(grh, local_qpn, remote_qpn),
		.hop_limit = grh->hop_limit,
		.tclass = grh->traffic_class,
		.sl = rdma_ah_get_sl(attr),
	};
	if (av->sl > DINGO_MAX_SL)
		return -EINVAL;
	memcpy(av->dgid, grh->dgid.raw, sizeof(av->dgid));
	if (to_group)
		dingo_group_mac(&grh->dgid, av->dmac);
	else
		ether_addr_copy(av->dmac, attr->roce.dmac);
	return 0;
}

/**
 * dingo_ah_resolve() - find the destination MAC that a kernel user left out
 * @pd: PD of the QP
 * @attr: the address, with sgid_attr; its MAC is filled in if it is zero
 *
 * ib_core resolves addresses for processes only, and SMC-R does not know the
 * MAC of a peer that supports only its version 2. Sleeps.
 * Return: 0 or a negative error.
 */
int dingo_ah_resolve(struct ib_pd *pd, struct rdma_ah_attr *attr)
{
	struct rdma_ah_attr resolved;
	struct ib_ah *ah;

	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE ||
	    !is_zero_ether_addr(attr->roce.dmac))
		return 0;
	/* The only function that ib_core exports for this: it creates an
	 * address handle as for a process.
	 */
	rdma_copy_ah_attr(&resolved, attr);
	ah = rdma_create_user_ah(pd, &resolved, NULL);
	if (!IS_ERR(ah)) {
		ether_addr_copy(attr->roce.dmac, resolved.roce.dmac);
		rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
	}
	rdma_destroy_ah_attr(&resolved);
	return PTR_ERR_OR_ZERO(ah);
}

/**
 * dingo_create_ah() - create an address handle
 * @ibah: the handle
 * @init: the address
 * @udata: struct dingo_create_ah_resp; NULL: called by the kernel
 *
 * Does not sleep for kernel users.
 * Return: 0, -EINVAL, -EFAULT.
 */
int dingo_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		    struct ib_udata *udata)
{
	struct dingo_ah *ah = to_dah(ibah);
	int err;

	err = dingo_udata_none(udata);
	if (err)
		return err;
	err = dingo_av_init(&ah->av, init->ah_attr,
			    udata ? dingo_udata_ucontext(udata) : NULL, 0, 0);
	if (err)
		return err;

	if (udata) {
		struct dingo_create_ah_resp resp = {
			.udp_sport = ah->av.udp_sport,
		};

		ether_addr_copy(resp.dmac, ah->av.dmac);
		return dingo_udata_out(udata, &resp, sizeof(resp));
	}
	return 0;
}

int dingo_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	return 0;
}

int dingo_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	const struct dingo_av *av = &to_dah(ibah)->av;

	memset(attr, 0, sizeof(*attr));
	attr->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(attr, DINGO_PORT);
	rdma_ah_set_sl(attr, av->sl);
	rdma_ah_set_grh(attr, NULL, av->flow_label, av->sgid_index,
			av->hop_limit, av->tclass);
	rdma_ah_set_dgid_raw(attr, (void *)av->dgid);
	ether_addr_copy(attr->roce.dmac, av->dmac);
	return 0;
}
