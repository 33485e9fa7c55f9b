// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Attributes of the device and its port, limited to what the card supports.
 */
#include <linux/slab.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>

#include "dingo_ib.h"

#define DINGO_CLOCK_KHZ 1000000 /* CLOCK counts nanoseconds */

/* Speed and width of a link: the nearest values of InfiniBand's tables. */
static const struct {
	u32 mbps; /* up to */
	u16 speed;
	u8 width;
} dingo_speeds[] = {
	{ 2500, IB_SPEED_SDR, IB_WIDTH_1X },
	{ 5000, IB_SPEED_DDR, IB_WIDTH_1X },
	{ 10000, IB_SPEED_FDR10, IB_WIDTH_1X },
	{ 25000, IB_SPEED_EDR, IB_WIDTH_1X },
	{ 40000, IB_SPEED_FDR10, IB_WIDTH_4X },
	{ 50000, IB_SPEED_HDR, IB_WIDTH_1X },
	{ 100000, IB_SPEED_EDR, IB_WIDTH_4X },
	{ 200000, IB_SPEED_HDR, IB_WIDTH_4X },
	{ 400000, IB_SPEED_NDR, IB_WIDTH_4X },
	{ U32_MAX, IB_SPEED_XDR, IB_WIDTH_4X },
};

static u64 dingo_cap_flags(const struct dingo_dev *dev)
{
	u64 flags = IB_DEVICE_CURR_QP_STATE_MOD | IB_DEVICE_PORT_ACTIVE_EVENT |
		    IB_DEVICE_RC_RNR_NAK_GEN;
	u64 mem_mgt = DINGO_CAP_FRWR | DINGO_CAP_SEND_INV;

	if ((dev->caps & mem_mgt) == mem_mgt)
		flags |= IB_DEVICE_MEM_MGT_EXTENSIONS;
	if (dev->caps & DINGO_CAP_MW)
		flags |= IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2B;
	return flags;
}

static void dingo_mcast_limits(const struct dingo_limits *limits,
			       struct ib_device_attr *attr)
{
	u64 groups = le32_to_cpu(limits->max_mcast);
	u64 qps = le32_to_cpu(limits->max_mcast_qp);

	attr->max_mcast_grp = min_t(u64, groups, INT_MAX);
	attr->max_mcast_qp_attach = min_t(u64, qps, INT_MAX);
	attr->max_total_mcast_qp_attach = min_t(u64, groups * qps, INT_MAX);
}

/**
 * dingo_query_device() - query the device's attributes
 * @ibdev: the device
 * @attr: the result
 * @udata: no request; the answer is struct dingo_query_device_resp
 *
 * Return: 0, -EOPNOTSUPP, -ENOMEM, -EFAULT, -EIO.
 */
int dingo_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		       struct ib_udata *udata)
{
	struct dingo_dev *dev = to_ddev(ibdev);
	const struct dingo_limits *limits = &dev->limits;
	int err;

	err = dingo_udata_none(udata);
	if (err)
		return err;

	*attr = (struct ib_device_attr){
		.fw_ver = dingo_read32(dev, DINGO_REG_BUILD),
		.sys_image_guid = ibdev->node_guid,
		.max_mr_size = le64_to_cpu(limits->max_mr_size),
		.page_size_cap = le64_to_cpu(limits->page_sizes),
		.vendor_id = dev->pdev->vendor,
		.vendor_part_id = dev->pdev->device,
		.hw_ver = dev->pdev->revision,
		.max_qp = le32_to_cpu(limits->max_qp),
		.max_qp_wr = min3(DINGO_MAX_QP_WR, 1U << limits->log_max_sq,
				  1U << limits->log_max_rq),
		.device_cap_flags = dingo_cap_flags(dev),
		.max_send_sge = limits->max_send_sge,
		.max_recv_sge = limits->max_recv_sge,
		.max_sge_rd = limits->max_send_sge,
		/* Some are reserved for the netdev; a reset may have reduced
		 * max_cq.
		 */
		.max_cq = max(le32_to_cpu(limits->max_cq), dev->eth_cqs) -
			  dev->eth_cqs,
		.max_cqe = BIT(limits->log_max_cq) -
			   BIT(limits->log_max_cq) / 4,
		.max_mr = le32_to_cpu(limits->max_mr),
		.max_pd = le32_to_cpu(limits->max_pd),
		.max_qp_rd_atom = limits->max_dest_rd_atomic,
		.max_qp_init_rd_atom = limits->max_rd_atomic,
		.max_res_rd_atom = limits->max_dest_rd_atomic *
				   le32_to_cpu(limits->max_qp),
		.atomic_cap = dev->caps & DINGO_CAP_ATOMIC ? IB_ATOMIC_HCA :
							     IB_ATOMIC_NONE,
		.max_ah = INT_MAX, /* the card stores none */
		.max_pkeys = 1,
		.local_ca_ack_delay = limits->ack_delay,
	};
	if (dev->caps & DINGO_CAP_MW)
		attr->max_mw = attr->max_mr;
	if (dev->caps & DINGO_CAP_SRQ) {
		attr->max_srq = le32_to_cpu(limits->max_srq);
		attr->max_srq_wr = BIT(limits->log_max_rq);
		attr->max_srq_sge = limits->max_recv_sge;
	}
	if (dev->caps & DINGO_CAP_FRWR)
		attr->max_fast_reg_page_list_len =
			le32_to_cpu(limits->max_frwr_pages);
	if (dev->caps & DINGO_CAP_CQ_MODERATION) {
		attr->cq_caps.max_cq_moderation_count = U16_MAX;
		attr->cq_caps.max_cq_moderation_period = U16_MAX;
	}
	if (dev->caps & DINGO_CAP_MCAST)
		dingo_mcast_limits(limits, attr);
	attr->max_dm_size = min_t(u64, dev->p2p.bytes, DINGO_MAX_DM);
	if (dev->caps & DINGO_CAP_TIMESTAMP) {
		attr->timestamp_mask = GENMASK_ULL(47, 0);
		attr->hca_core_clock = DINGO_CLOCK_KHZ;
	}
	return dingo_query_compute(dev, udata);
}

/**
 * dingo_modify_device() - change the node description
 * @ibdev: the device
 * @mask: IB_DEVICE_MODIFY_*
 * @modify: the description
 *
 * Return: 0 or -EOPNOTSUPP.
 */
int dingo_modify_device(struct ib_device *ibdev, int mask,
			struct ib_device_modify *modify)
{
	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask & IB_DEVICE_MODIFY_NODE_DESC)
		memcpy(ibdev->node_desc, modify->node_desc,
		       IB_DEVICE_NODE_DESC_MAX);
	return 0;
}

static void dingo_port_speed(struct dingo_dev *dev, struct ib_port_attr *attr)
{
	u32 mbps = dingo_read32(dev, DINGO_REG_LINK_MBPS);
	size_t n = 0;

	while (dingo_speeds[n].mbps < mbps)
		n++;
	attr->active_speed = dingo_speeds[n].speed;
	attr->active_width = dingo_speeds[n].width;
}

/* Fills in the violation counters; 0 if the card is gone. */
static void dingo_port_violations(struct dingo_dev *dev,
				  struct ib_port_attr *attr)
{
	u64 *values = kcalloc(DINGO_CARD_COUNTERS, sizeof(*values), GFP_KERNEL);

	if (!values)
		return;
	if (!dingo_cmd_query_card_stats(dev, values, DINGO_CARD_COUNTERS)) {
		attr->bad_pkey_cntr =
			min_t(u64, values[DINGO_CARD_BAD_PKEY], U32_MAX);
		attr->qkey_viol_cntr =
			min_t(u64, values[DINGO_CARD_BAD_QKEY], U32_MAX);
	}
	kfree(values);
}

/**
 * dingo_query_port() - state of the port
 * @ibdev: the device
 * @port: 1
 * @attr: the result, zeroed
 *
 * Return: 0.
 */
int dingo_query_port(struct ib_device *ibdev, u32 port,
		     struct ib_port_attr *attr)
{
	struct dingo_dev *dev = to_ddev(ibdev);
	struct net_device *ndev = dev->netdev;

	attr->gid_tbl_len = le32_to_cpu(dev->limits.max_gid);
	attr->pkey_tbl_len = 1;
	attr->ip_gids = true;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = le32_to_cpu(dev->limits.max_msg);
	attr->max_vl_num = 1;
	attr->max_mtu = IB_MTU_4096;
	/* 256 is the smallest MTU; with less no packet could be full. */
	attr->active_mtu = max_t(enum ib_mtu, IB_MTU_256,
				 iboe_get_mtu(READ_ONCE(ndev->mtu)));
	attr->phys_mtu = READ_ONCE(ndev->mtu);
	if (netif_running(ndev) && netif_carrier_ok(ndev)) {
		attr->state = IB_PORT_ACTIVE;
		attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	} else {
		attr->state = IB_PORT_DOWN;
		attr->phys_state = netif_running(ndev) ?
					   IB_PORT_PHYS_STATE_POLLING :
					   IB_PORT_PHYS_STATE_DISABLED;
	}
	dingo_port_speed(dev, attr);
	dingo_port_violations(dev, attr);
	return 0;
}

/* No-op: a RoCE port has nothing to change, but ib_cm
 * calls this for each port.
 */
int dingo_modify_port(struct ib_device *ibdev, u32 port, int mask,
		      struct ib_port_modify *modify)
{
	return mask || (modify->set_port_cap_mask & ~IB_PORT_CM_SUP) ?
		       -EOPNOTSUPP : 0;
}

/* The partition key table has one entry. */
int dingo_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = DINGO_PKEY_DEFAULT;
	return 0;
}

int dingo_get_port_immutable(struct ib_device *ibdev, u32 port,
			     struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->pkey_tbl_len = 1;
	immutable->gid_tbl_len = le32_to_cpu(to_ddev(ibdev)->limits.max_gid);
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

enum rdma_link_layer dingo_get_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

/* @str: IB_FW_VERSION_NAME_MAX bytes. */
void dingo_get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	u32 build = dingo_read32(to_ddev(ibdev), DINGO_REG_BUILD);

	snprintf(str, IB_FW_VERSION_NAME_MAX, "%u.%u.%u", build >> 16,
		 build >> 8 & 0xff, build & 0xff);
}

static ssize_t hw_rev_show(struct device *device, struct device_attribute *attr,
			   char *buf)
{
	struct dingo_ibdev *ib = rdma_device_to_drv_device(device,
							   struct dingo_ibdev,
							   ibdev);

	return sysfs_emit(buf, "0x%x\n", ib->dev->pdev->revision);
}
static DEVICE_ATTR_RO(hw_rev);

static ssize_t board_id_show(struct device *device,
			     struct device_attribute *attr, char *buf)
{
	static const char *const engines[] = {
		[DINGO_ENGINE_MODEL] = "dingo-model",
		[DINGO_ENGINE_RTL] = "dingo-rtl",
		[DINGO_ENGINE_FPGA] = "dingo-fpga",
	};
	struct dingo_ibdev *ib = rdma_device_to_drv_device(device,
							   struct dingo_ibdev,
							   ibdev);
	u32 engine = dingo_read32(ib->dev, DINGO_REG_ENGINE);

	return sysfs_emit(buf, "%s\n",
			  engine < ARRAY_SIZE(engines) && engines[engine] ?
				  engines[engine] : "dingo");
}
static DEVICE_ATTR_RO(board_id);

static ssize_t hca_type_show(struct device *device,
			     struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "Dingo\n");
}
static DEVICE_ATTR_RO(hca_type);

static struct attribute *dingo_attributes[] = {
	&dev_attr_board_id.attr,
	&dev_attr_hca_type.attr,
	&dev_attr_hw_rev.attr,
	NULL
};

const struct attribute_group dingo_attr_group = {
	.attrs = dingo_attributes,
};
