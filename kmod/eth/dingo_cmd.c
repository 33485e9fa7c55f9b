// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One function per admin command. dingo_core.h describes the return values.
 */
#include <linux/etherdevice.h>

#include "dingo.h"

/* enum: cmd_query_stats.scope */
#define DINGO_SCOPE_CARD 0
#define DINGO_SCOPE_QP 1

static int dingo_cmd_by_id(struct dingo_dev *dev, u16 opcode, u32 id)
{
	struct dingo_cmd_destroy cmd = { .id = cpu_to_le32(id) };
	int err;

	err = dingo_admin_exec(dev, opcode, &cmd, sizeof(cmd), NULL);
	if (err == -EIO && READ_ONCE(dev->state) == DINGO_STATE_FAILED)
		return 0;
	if (err && err != -EBUSY) /* -EBUSY: e.g. a region with windows */
		dev_warn_ratelimited(&dev->pdev->dev,
				     "command 0x%02x of 0x%x: error %d\n",
				     opcode, id, err);
	return err;
}

/*
 * A failed card has lost the object and does no DMA, so the caller may free the
 * object's memory. If a card refuses to destroy an object, the card is declared
 * failed: the owner will free memory that the card would still use.
 */
static int dingo_cmd_destroy(struct dingo_dev *dev, u16 opcode, u32 id)
{
	int err;

	err = dingo_cmd_by_id(dev, opcode, id);
	if (!err || (err == -EBUSY && opcode == DINGO_OP_DESTROY_MR))
		return err;
	dingo_fail(dev, "the card does not give up an object");
	return 0;
}

int dingo_cmd_nop(struct dingo_dev *dev)
{
	struct dingo_admin_hdr cmd = {};

	return dingo_admin_exec(dev, DINGO_OP_NOP, &cmd, sizeof(cmd), NULL);
}

int dingo_cmd_query_device(struct dingo_dev *dev, struct dingo_limits *limits)
{
	struct dingo_cmd_query_device cmd = {
		.out_len = cpu_to_le32(sizeof(*limits)),
	};
	dma_addr_t addr;
	void *out;
	int err;

	out = dingo_admin_out_get(dev, &addr);
	cmd.out_addr = cpu_to_le64(addr);
	err = dingo_admin_exec(dev, DINGO_OP_QUERY_DEVICE, &cmd, sizeof(cmd),
			       NULL);
	if (!err)
		memcpy(limits, out, sizeof(*limits));
	dingo_admin_out_put(dev);
	return err;
}

static int dingo_cmd_query_stats(struct dingo_dev *dev, u32 scope, u32 id,
				 u64 *values, u32 num)
{
	u32 bytes = min_t(u32, num * sizeof(__le64), PAGE_SIZE);
	struct dingo_cmd_query_stats cmd = {
		.out_len = cpu_to_le32(bytes),
		.scope = cpu_to_le32(scope),
		.id = cpu_to_le32(id),
	};
	dma_addr_t addr;
	__le64 *out;
	int err;
	u32 n;

	memset(values, 0, num * sizeof(*values));
	out = dingo_admin_out_get(dev, &addr);
	cmd.out_addr = cpu_to_le64(addr);
	err = dingo_admin_exec(dev, DINGO_OP_QUERY_STATS, &cmd, sizeof(cmd),
			       NULL);
	for (n = 0; !err && n < bytes / sizeof(*out); n++)
		values[n] = le64_to_cpu(out[n]);
	dingo_admin_out_put(dev);
	return err;
}

/*
 * @values: in the order of enum dingo_card_counter; 0 for counters that the
 * card lacks.
 */
int dingo_cmd_query_card_stats(struct dingo_dev *dev, u64 *values, u32 num)
{
	return dingo_cmd_query_stats(dev, DINGO_SCOPE_CARD, 0, values, num);
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_query_card_stats, DINGO_NS);

/*
 * @values: in the order of enum dingo_qp_counter; 0 for counters that the card
 * lacks.
 */
int dingo_cmd_query_qp_stats(struct dingo_dev *dev, u32 qpn, u64 *values,
			     u32 num)
{
	return dingo_cmd_query_stats(dev, DINGO_SCOPE_QP, qpn, values, num);
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_query_qp_stats, DINGO_NS);

/* @flags: DINGO_CMD_SET_PORT_FLAGS_*; @mtu: that of the netdev, bytes. */
int dingo_cmd_set_port(struct dingo_dev *dev, u32 flags, u32 mtu)
{
	struct dingo_cmd_set_port cmd = {
		.flags = cpu_to_le32(flags),
		.mtu = cpu_to_le32(mtu),
	};

	return dingo_admin_exec(dev, DINGO_OP_SET_PORT, &cmd, sizeof(cmd),
				NULL);
}

/* @index: 0 is the port's address; @mac: NULL clears the entry. */
int dingo_cmd_set_mac(struct dingo_dev *dev, u32 index, const u8 *mac)
{
	struct dingo_cmd_set_mac cmd = {
		.index = cpu_to_le32(index),
		.valid = !!mac,
	};

	if (mac)
		ether_addr_copy(cmd.mac, mac);
	return dingo_admin_exec(dev, DINGO_OP_SET_MAC, &cmd, sizeof(cmd), NULL);
}

/*
 * @gid: 16 bytes in wire order, NULL clears the entry; @vlan: id or
 * DINGO_VLAN_NONE; @domain: domain of the QPs that may use it, if supported.
 */
int dingo_cmd_set_gid(struct dingo_dev *dev, u32 index, const u8 *gid,
		      const u8 *mac, u16 vlan, u16 domain)
{
	struct dingo_cmd_set_gid cmd = {
		.index = cpu_to_le32(index),
		.valid = !!gid,
	};
	int err;

	if (gid) {
		memcpy(cmd.gid, gid, sizeof(cmd.gid));
		memcpy(cmd.mac, mac, sizeof(cmd.mac));
		cmd.vlan = cpu_to_le16(vlan);
		if (dev->caps & DINGO_CAP_GID_DOMAINS)
			cmd.domain = cpu_to_le16(domain);
	}
	err = dingo_admin_exec(dev, DINGO_OP_SET_GID, &cmd, sizeof(cmd), NULL);
	if (!gid && err == -EIO && !dingo_is_up(dev))
		return 0; /* as dingo_cmd_destroy() */
	return err;
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_set_gid, DINGO_NS);

/*
 * @vector: MSI-X vector that it raises; @flags: DINGO_CMD_CREATE_EQ_FLAGS_*;
 * @ring: zeroed.
 */
int dingo_cmd_create_eq(struct dingo_dev *dev, u32 eqn, u16 vector, u8 log_size,
			u8 flags, const struct dingo_mem *ring)
{
	struct dingo_cmd_create_eq cmd = {
		.eqn = cpu_to_le32(eqn),
		.vector = cpu_to_le16(vector),
		.log_size = log_size,
		.flags = flags,
		.ring = *ring,
	};

	return dingo_admin_exec(dev, DINGO_OP_CREATE_EQ, &cmd, sizeof(cmd),
				NULL);
}

int dingo_cmd_destroy_eq(struct dingo_dev *dev, u32 eqn)
{
	return dingo_cmd_destroy(dev, DINGO_OP_DESTROY_EQ, eqn);
}

/*
 * @cqn, @eqn: from dingo_cq_add(); @db_page: of its doorbells; @ring: zeroed.
 */
int dingo_cmd_create_cq(struct dingo_dev *dev, u32 cqn, u32 eqn, u32 db_page,
			u8 log_size, const struct dingo_mem *ring)
{
	struct dingo_cmd_create_cq cmd = {
		.cqn = cpu_to_le32(cqn),
		.eqn = cpu_to_le32(eqn),
		.db_page = cpu_to_le32(db_page),
		.log_size = log_size,
		.ring = *ring,
	};

	return dingo_admin_exec(dev, DINGO_OP_CREATE_CQ, &cmd, sizeof(cmd),
				NULL);
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_create_cq, DINGO_NS);

/* @ring: zeroed; @switch_index: result, the old ring holds entries up to it. */
int dingo_cmd_resize_cq(struct dingo_dev *dev, u32 cqn, u8 log_size,
			const struct dingo_mem *ring, u32 *switch_index)
{
	struct dingo_cmd_create_cq cmd = {
		.cqn = cpu_to_le32(cqn),
		.log_size = log_size,
		.ring = *ring,
	};
	u64 result[ARRAY_SIZE(((struct dingo_admin_cpl *)0)->result)];
	int err;

	err = dingo_admin_exec(dev, DINGO_OP_RESIZE_CQ, &cmd, sizeof(cmd),
			       result);
	if (!err)
		*switch_index = result[0];
	return err;
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_resize_cq, DINGO_NS);

/*
 * @count: completions after which an event is sent, 0: no limit; @period: delay
 * of an event in microseconds at most, 0: none. Needs DINGO_CAP_CQ_MODERATION.
 */
int dingo_cmd_modify_cq(struct dingo_dev *dev, u32 cqn, u16 count, u16 period)
{
	struct dingo_cmd_modify_cq cmd = {
		.cqn = cpu_to_le32(cqn),
		.count = cpu_to_le16(count),
		.period = cpu_to_le16(period),
	};

	return dingo_admin_exec(dev, DINGO_OP_MODIFY_CQ, &cmd, sizeof(cmd),
				NULL);
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_modify_cq, DINGO_NS);

int dingo_cmd_destroy_cq(struct dingo_dev *dev, u32 cqn)
{
	return dingo_cmd_destroy(dev, DINGO_OP_DESTROY_CQ, cqn);
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_destroy_cq, DINGO_NS);

int dingo_cmd_create_mr(struct dingo_dev *dev, struct dingo_cmd_create_mr *cmd)
{
	return dingo_admin_exec(dev, DINGO_OP_CREATE_MR, cmd, sizeof(*cmd),
				NULL);
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_create_mr, DINGO_NS);

/* @cmd: old_key identifies the region. */
int dingo_cmd_rereg_mr(struct dingo_dev *dev, struct dingo_cmd_create_mr *cmd)
{
	return dingo_admin_exec(dev, DINGO_OP_REREG_MR, cmd, sizeof(*cmd),
				NULL);
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_rereg_mr, DINGO_NS);

/* No access to the region is in flight when this returns 0. */
int dingo_cmd_pause_mr(struct dingo_dev *dev, u32 key)
{
	return dingo_cmd_by_id(dev, DINGO_OP_PAUSE_MR, key);
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_pause_mr, DINGO_NS);

int dingo_cmd_destroy_mr(struct dingo_dev *dev, u32 key)
{
	return dingo_cmd_destroy(dev, DINGO_OP_DESTROY_MR, key);
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_destroy_mr, DINGO_NS);

int dingo_cmd_create_qp(struct dingo_dev *dev, struct dingo_cmd_create_qp *cmd)
{
	return dingo_admin_exec(dev, DINGO_OP_CREATE_QP, cmd, sizeof(*cmd),
				NULL);
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_create_qp, DINGO_NS);

int dingo_cmd_modify_qp(struct dingo_dev *dev, struct dingo_cmd_modify_qp *cmd)
{
	return dingo_admin_exec(dev, DINGO_OP_MODIFY_QP, cmd, sizeof(*cmd),
				NULL);
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_modify_qp, DINGO_NS);

int dingo_cmd_query_qp(struct dingo_dev *dev, u32 qpn,
		       struct dingo_qp_info *info)
{
	struct dingo_cmd_query_qp cmd = { .qpn = cpu_to_le32(qpn) };
	dma_addr_t addr;
	void *out;
	int err;

	out = dingo_admin_out_get(dev, &addr);
	cmd.out_addr = cpu_to_le64(addr);
	err = dingo_admin_exec(dev, DINGO_OP_QUERY_QP, &cmd, sizeof(cmd), NULL);
	if (!err)
		memcpy(info, out, sizeof(*info));
	dingo_admin_out_put(dev);
	return err;
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_query_qp, DINGO_NS);

/*
 * @qpn: a QP in a state before RTS, or to receive before RTR;
 * @kernel: DINGO_KERNEL_*; @direction: DINGO_COMPUTE_*.
 */
int dingo_cmd_set_compute(struct dingo_dev *dev, u32 qpn, u32 kernel, u32 param,
			  u32 direction)
{
	struct dingo_cmd_set_compute cmd = {
		.qpn = cpu_to_le32(qpn),
		.kernel = cpu_to_le32(kernel),
		.param = cpu_to_le32(param),
		.direction = cpu_to_le32(direction),
	};

	return dingo_admin_exec(dev, DINGO_OP_SET_COMPUTE, &cmd, sizeof(cmd),
				NULL);
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_set_compute, DINGO_NS);

/* @result: the command's five results, see struct dingo_cmd_query_compute. */
int dingo_cmd_query_compute(struct dingo_dev *dev, u32 index, u64 *result)
{
	struct dingo_cmd_query_compute cmd = { .index = cpu_to_le32(index) };

	return dingo_admin_exec(dev, DINGO_OP_QUERY_COMPUTE, &cmd, sizeof(cmd),
				result);
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_query_compute, DINGO_NS);

static int dingo_cmd_mcast(struct dingo_dev *dev, u16 opcode, u32 qpn,
			   const u8 *gid)
{
	struct dingo_cmd_mcast cmd = { .qpn = cpu_to_le32(qpn) };

	memcpy(cmd.gid, gid, sizeof(cmd.gid));
	return dingo_admin_exec(dev, opcode, &cmd, sizeof(cmd), NULL);
}

/* @gid: the group, 16 bytes in wire order. */
int dingo_cmd_attach_mcast(struct dingo_dev *dev, u32 qpn, const u8 *gid)
{
	return dingo_cmd_mcast(dev, DINGO_OP_ATTACH_MCAST, qpn, gid);
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_attach_mcast, DINGO_NS);

int dingo_cmd_detach_mcast(struct dingo_dev *dev, u32 qpn, const u8 *gid)
{
	int err = dingo_cmd_mcast(dev, DINGO_OP_DETACH_MCAST, qpn, gid);

	if (err == -EIO && !dingo_is_up(dev))
		return 0; /* as dingo_cmd_destroy() */
	return err;
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_detach_mcast, DINGO_NS);

int dingo_cmd_destroy_qp(struct dingo_dev *dev, u32 qpn)
{
	return dingo_cmd_destroy(dev, DINGO_OP_DESTROY_QP, qpn);
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_destroy_qp, DINGO_NS);

int dingo_cmd_create_srq(struct dingo_dev *dev,
			 struct dingo_cmd_create_srq *cmd)
{
	return dingo_admin_exec(dev, DINGO_OP_CREATE_SRQ, cmd, sizeof(*cmd),
				NULL);
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_create_srq, DINGO_NS);

/* @limit: event if fewer entries are left; 0 disarms. */
int dingo_cmd_modify_srq(struct dingo_dev *dev, u32 srqn, u32 limit)
{
	struct dingo_cmd_modify_srq cmd = {
		.srqn = cpu_to_le32(srqn),
		.limit = cpu_to_le32(limit),
	};

	return dingo_admin_exec(dev, DINGO_OP_MODIFY_SRQ, &cmd, sizeof(cmd),
				NULL);
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_modify_srq, DINGO_NS);

/* @limit: the armed limit, 0 after the event; @available: entries. */
int dingo_cmd_query_srq(struct dingo_dev *dev, u32 srqn, u32 *limit,
			u32 *available)
{
	struct dingo_cmd_destroy cmd = { .id = cpu_to_le32(srqn) };
	u64 result[ARRAY_SIZE(((struct dingo_admin_cpl *)0)->result)];
	int err;

	err = dingo_admin_exec(dev, DINGO_OP_QUERY_SRQ, &cmd, sizeof(cmd),
			       result);
	if (err)
		return err;
	*limit = result[0];
	*available = result[1];
	return 0;
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_query_srq, DINGO_NS);

int dingo_cmd_destroy_srq(struct dingo_dev *dev, u32 srqn)
{
	return dingo_cmd_destroy(dev, DINGO_OP_DESTROY_SRQ, srqn);
}
EXPORT_SYMBOL_NS_GPL(dingo_cmd_destroy_srq, DINGO_NS);

/* @kind: DINGO_ETH_TX or DINGO_ETH_RX; @cqn: CQ of its completions. */
int dingo_cmd_create_eth(struct dingo_dev *dev, u8 kind, u8 ring, u8 log_size,
			 u32 cqn, const struct dingo_mem *mem)
{
	struct dingo_cmd_create_eth cmd = {
		.kind = kind,
		.ring = ring,
		.log_size = log_size,
		.cqn = cpu_to_le32(cqn),
		.mem = *mem,
	};

	return dingo_admin_exec(dev, DINGO_OP_CREATE_ETH, &cmd, sizeof(cmd),
				NULL);
}

/* cmd_destroy.id of an Ethernet ring: kind << 24 | ring */
#define DINGO_ETH_ID_KIND_MASK 0xff000000U
#define DINGO_ETH_ID_RING_MASK 0x000000ffU

int dingo_cmd_destroy_eth(struct dingo_dev *dev, u8 kind, u8 ring)
{
	return dingo_cmd_destroy(dev, DINGO_OP_DESTROY_ETH,
				 FIELD_PREP(DINGO_ETH_ID_KIND_MASK, kind) |
				 FIELD_PREP(DINGO_ETH_ID_RING_MASK, ring));
}

/* @key: DINGO_RSS_KEY bytes; @rings: DINGO_RSS_TABLE ring numbers. */
int dingo_cmd_set_rss(struct dingo_dev *dev, const u8 *key, const u8 *rings)
{
	struct dingo_cmd_set_rss cmd = { .enable = 1 };

	memcpy(cmd.key, key, sizeof(cmd.key));
	memcpy(cmd.rings, rings, sizeof(cmd.rings));
	return dingo_admin_exec(dev, DINGO_OP_SET_RSS, &cmd, sizeof(cmd), NULL);
}
