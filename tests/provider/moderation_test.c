// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* ibv_modify_cq(3): which cards support it, and the request to the kernel. usage: provider_moderation_test CASE */
#include "dingo.c"

#include "cases.h"

/* Replacements for the library: record the offered operations, return the kernel's answer. */
static struct verbs_context_ops offered;
static unsigned int asked;

void verbs_set_ops(struct verbs_context *vctx, const struct verbs_context_ops *ops)
{
	if (ops->modify_cq)
		offered.modify_cq = ops->modify_cq;
}

int ibv_cmd_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr, struct ibv_modify_cq *cmd, size_t cmd_size)
{
	CHECK(cmd_size == sizeof(*cmd));
	CHECK(attr->attr_mask == IBV_CQ_ATTR_MODERATE && attr->moderate.cq_count == 16 && attr->moderate.cq_period == 50);
	asked++;
	return EIO;
}

static void moderation_is_the_kernels(void)
{
	struct dingo_context ctx = { .caps = DINGO_CAP_CQ_MODERATION };
	struct ibv_modify_cq_attr attr = { IBV_CQ_ATTR_MODERATE, { 16, 50 } };
	struct ibv_cq cq = { .context = &ctx.vctx.context };

	set_ops(&ctx);
	CHECK(offered.modify_cq && offered.modify_cq(&cq, &attr) == EIO && asked == 1);
}

/* The library then returns EOPNOTSUPP. */
static void card_without_moderation_offers_none(void)
{
	struct dingo_context ctx = { .caps = ~(uint64_t)DINGO_CAP_CQ_MODERATION };

	set_ops(&ctx);
	CHECK(!offered.modify_cq);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		CASE(moderation_is_the_kernels),
		CASE(card_without_moderation_offers_none),
	};

	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
