// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Counters: all counters of the card as hw_counters, and those of a port as the
 * performance management attributes that sysfs shows under counters/.
 */
#include <linux/slab.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>

#include "dingo_ib.h"

#define DINGO_COUNTER(id, text) \
	[id] = { .name = text },

static const struct rdma_stat_desc dingo_counter_descs[] = {
	DINGO_FOR_EACH_CARD_COUNTER(DINGO_COUNTER)
};

/* There is one port, so @port is not used. */
struct rdma_hw_stats *dingo_alloc_hw_port_stats(struct ib_device *ibdev,
						u32 port)
{
	return rdma_alloc_hw_stats_struct(dingo_counter_descs,
					  ARRAY_SIZE(dingo_counter_descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/* @index is not used: one command reads all counters. */
int dingo_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		       u32 port, int index)
{
	int err;

	if (port != DINGO_PORT)
		return -EINVAL;
	err = dingo_cmd_query_card_stats(to_ddev(ibdev), stats->value,
					 stats->num_counters);
	err = err ?: dingo_counter_take_off(to_dibdev(ibdev), stats->value);
	return err ?: stats->num_counters;
}

/* Fills in the extended port counters from the card's counters. */
static void dingo_pma_ext(const u64 *v, struct ib_pma_portcounters_ext *ext)
{
	/* The unit is 4 octets (IB_PMA: PortXmitData). */
	ext->port_xmit_data = cpu_to_be64(v[DINGO_CARD_RDMA_TX_BYTES] / 4);
	ext->port_rcv_data = cpu_to_be64(v[DINGO_CARD_RDMA_RX_BYTES] / 4);
	ext->port_xmit_packets = cpu_to_be64(v[DINGO_CARD_RDMA_TX_PACKETS]);
	ext->port_rcv_packets = cpu_to_be64(v[DINGO_CARD_RDMA_RX_PACKETS]);
	ext->port_unicast_xmit_packets = ext->port_xmit_packets;
	ext->port_unicast_rcv_packets = ext->port_rcv_packets;
}

static u32 dingo_clip(u64 value, u32 max)
{
	return min_t(u64, value, max);
}

static void dingo_pma(const u64 *v, struct ib_pma_portcounters *pma)
{
	pma->port_xmit_data =
		cpu_to_be32(dingo_clip(v[DINGO_CARD_RDMA_TX_BYTES] / 4,
				       U32_MAX));
	pma->port_rcv_data =
		cpu_to_be32(dingo_clip(v[DINGO_CARD_RDMA_RX_BYTES] / 4,
				       U32_MAX));
	pma->port_xmit_packets =
		cpu_to_be32(dingo_clip(v[DINGO_CARD_RDMA_TX_PACKETS], U32_MAX));
	pma->port_rcv_packets =
		cpu_to_be32(dingo_clip(v[DINGO_CARD_RDMA_RX_PACKETS], U32_MAX));
	pma->port_rcv_errors =
		cpu_to_be16(dingo_clip(v[DINGO_CARD_RX_ICRC_ENCAPSULATED] +
				       v[DINGO_CARD_RX_DROP_MALFORMED],
				       U16_MAX));
	pma->port_xmit_discards =
		cpu_to_be16(dingo_clip(v[DINGO_CARD_ETH_TX_ERRORS], U16_MAX));
}

/* An ib_mad_hdr.attr_id of IB_MGMT_CLASS_CM: a request for a connection. */
#define DINGO_CM_REQ cpu_to_be16(0x0010)

/*
 * Returns true for a connection request while the device is being removed.
 * Clients of ib_core are notified one by one, rdma_cm late: its listener could
 * still pass a connection to a client that has closed its connections already
 * (nvmet_rdma). That connection would never be closed, and the device would
 * wait for it forever.
 */
static bool dingo_mad_comes_late(struct dingo_ibdev *ib,
				 const struct ib_mad_hdr *hdr)
{
	return READ_ONCE(ib->leaving) &&
	       hdr->mgmt_class == IB_MGMT_CLASS_CM &&
	       hdr->attr_id == DINGO_CM_REQ;
}

/**
 * dingo_process_mad() - answer performance management requests
 * @ibdev: the device
 * @flags: not used
 * @port: the port
 * @in_wc: not used
 * @in_grh: not used
 * @in: the request
 * @out: the answer
 * @out_size: not used
 * @out_pkey_index: not used
 *
 * Return: IB_MAD_RESULT_*.
 */
int dingo_process_mad(struct ib_device *ibdev, int flags, u32 port,
		      const struct ib_wc *in_wc, const struct ib_grh *in_grh,
		      const struct ib_mad *in, struct ib_mad *out,
		      size_t *out_size, u16 *out_pkey_index)
{
	/* Both attributes start 40 bytes into the data of the class. */
	void *data = out->data + 40;
	u64 *values;
	int ret = IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;

	if (dingo_mad_comes_late(to_dibdev(ibdev), &in->mad_hdr))
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    in->mad_hdr.method != IB_MGMT_METHOD_GET)
		return IB_MAD_RESULT_SUCCESS;

	out->mad_hdr = in->mad_hdr;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	memset(out->data, 0, sizeof(out->data));
	if (in->mad_hdr.attr_id == IB_PMA_CLASS_PORT_INFO) {
		struct ib_class_port_info info = {
			.base_version = IB_MGMT_BASE_VERSION,
			.class_version = 1,
			.capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH,
		};

		memcpy(data, &info, sizeof(info));
		return ret;
	}
	if (in->mad_hdr.attr_id != IB_PMA_PORT_COUNTERS &&
	    in->mad_hdr.attr_id != IB_PMA_PORT_COUNTERS_EXT) {
		out->mad_hdr.status =
			cpu_to_be16(IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB);
		return ret;
	}

	values = kcalloc(DINGO_CARD_COUNTERS, sizeof(*values), GFP_KERNEL);
	if (!values)
		return IB_MAD_RESULT_FAILURE;
	if (dingo_cmd_query_card_stats(to_ddev(ibdev), values,
				       DINGO_CARD_COUNTERS))
		ret = IB_MAD_RESULT_FAILURE;
	else if (in->mad_hdr.attr_id == IB_PMA_PORT_COUNTERS)
		dingo_pma(values, data);
	else
		dingo_pma_ext(values, data);
	kfree(values);
	return ret;
}
