// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Multicast groups: offered operations, and the address vector of a group. usage: provider_multicast_test CASE */
#include "dingo.c"

#include "cases.h"

static const uint8_t group[16] = { [10] = 0xff, 0xff, 239, 1, 2, 3 };
static const uint8_t group_mac[6] = { 0x01, 0x00, 0x5e, 1, 2, 3 };

/* Replacements for the library: record the offered operations, return the kernel's answers. */
static struct verbs_context_ops offered;

void verbs_set_ops(struct verbs_context *vctx, const struct verbs_context_ops *ops)
{
	if (ops->attach_mcast)
		offered.attach_mcast = ops->attach_mcast;
	if (ops->detach_mcast)
		offered.detach_mcast = ops->detach_mcast;
}

int ibv_cmd_create_ah(struct ibv_pd *pd, struct ibv_ah *ah, struct ibv_ah_attr *attr,
		      struct ib_uverbs_create_ah_resp *resp, size_t resp_size)
{
	struct udingo_create_ah_resp *answer = container_of(resp, struct udingo_create_ah_resp, ibv_resp);

	CHECK(resp_size == sizeof(*answer));
	memcpy(answer->dmac, group_mac, sizeof(group_mac));
	answer->udp_sport = 0xc123;
	return 0;
}

static void attach_and_detach_are_the_kernels(void)
{
	struct dingo_context ctx = { .caps = DINGO_CAP_MCAST };

	set_ops(&ctx);
	CHECK(offered.attach_mcast == ibv_cmd_attach_mcast);
	CHECK(offered.detach_mcast == ibv_cmd_detach_mcast);
}

/* The library then returns EOPNOTSUPP. */
static void card_without_groups_offers_none(void)
{
	struct dingo_context ctx = { .caps = ~(uint64_t)DINGO_CAP_MCAST };

	set_ops(&ctx);
	CHECK(!offered.attach_mcast && !offered.detach_mcast);
}

static void datagram_to_a_group(void)
{
	static const struct fake_options ud = {
		.type = IBV_QPT_UD, .sq_blocks = 4, .max_blocks = 2, .rq_entries = 4, .cq_entries = 8,
	};
	struct ibv_ah_attr attr = { .is_global = 1, .grh = { .hop_limit = 1, .sgid_index = 2 } };
	struct fake *fake = fake_new(&ud);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = sges, .num_sge = 1 }, *bad;
	const struct dingo_wqe_ud *to;

	memcpy(attr.grh.dgid.raw, group, sizeof(group));
	wr.wr.ud.ah = dingo_create_ah(&fake->pd.pd, &attr);
	CHECK(wr.wr.ud.ah);
	wr.wr.ud.remote_qpn = DINGO_QPN_MCAST;
	wr.wr.ud.remote_qkey = 0x1ee7;
	CHECK(dingo_post_send(&fake->qp.vqp.qp, &wr, &bad) == 0);
	to = (const void *)((const uint8_t *)fake->qp.sq.ring.buf + sizeof(struct dingo_wqe_ctrl));
	CHECK(le32toh(to->dest_qpn) == DINGO_QPN_MCAST && le32toh(to->qkey) == 0x1ee7);
	CHECK(!memcmp(to->dgid, group, sizeof(group)));
	CHECK(!memcmp(to->dmac, group_mac, sizeof(group_mac)));
	CHECK(le16toh(to->sgid_index) == 2 && le16toh(to->udp_sport) == 0xc123);
	CHECK(to->hop_limit == 1);
	free(to_dingo_ah(wr.wr.ud.ah));
	fake_free(fake);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		CASE(attach_and_detach_are_the_kernels),
		CASE(card_without_groups_offers_none),
		CASE(datagram_to_a_group),
	};

	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
