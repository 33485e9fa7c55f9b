// SPDX-License-Identifier: GPL-2.0
/*
 * A test module: replaces answers of a card by absurd ones. The parameter "lie"
 * selects them:
 *
 * none: the card's own answers.
 * large: limits far beyond the contract's.
 * small: limits of 0.
 * few: the card's own, but few CQs and no optional objects.
 * short: the card's own, but Ethernet rings of two entries.
 * state: an invalid queue pair state.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/string.h>

#include "dingo_core.h"

#define FEW_CQS 5

static const char *const lies[] = { "none", "large", "small", "few", "short",
				     "state" };
enum { NONE, LARGE, SMALL, FEW, SHORT, STATE };

static int lie;

static int set_lie(const char *text, const struct kernel_param *param)
{
	int n = sysfs_match_string(lies, text);

	if (n < 0)
		return n;
	lie = n;
	return 0;
}

static const struct kernel_param_ops lie_ops = { .set = set_lie };
module_param_cb(lie, &lie_ops, NULL, 0200);
MODULE_PARM_DESC(lie, "none, large, small, few, short or state");

static void lie_of_limits(struct dingo_limits *limits)
{
	u64 serial = limits->serial, pages = limits->page_sizes;

	if (lie == SHORT)
		limits->log_max_eth = 1;
	if (lie == FEW) {
		limits->max_cq = cpu_to_le32(FEW_CQS);
		limits->max_srq = 0;
		limits->max_frwr_pages = 0;
		limits->max_mcast = 0;
	}
	if (lie != LARGE && lie != SMALL)
		return;
	memset(limits, lie == LARGE ? 0xff : 0, sizeof(*limits));
	limits->serial = serial;
	limits->page_sizes = pages;
}

static void lie_of_state(struct dingo_qp_info *info)
{
	if (lie == STATE)
		info->state = 200;
}

/* Remembers the last argument: the buffer for the answer. */
static int entered(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	bool of_qp = !strcmp(get_kretprobe(instance)->kp.symbol_name,
			     "dingo_cmd_query_qp");

	*(unsigned long *)instance->data =
		regs_get_kernel_argument(regs, of_qp ? 2 : 1);
	return 0;
}
NOKPROBE_SYMBOL(entered);

static int limits_returned(struct kretprobe_instance *instance,
			   struct pt_regs *regs)
{
	if (!regs_return_value(regs))
		lie_of_limits(*(struct dingo_limits **)instance->data);
	return 0;
}
NOKPROBE_SYMBOL(limits_returned);

static int state_returned(struct kretprobe_instance *instance,
			  struct pt_regs *regs)
{
	if (!regs_return_value(regs))
		lie_of_state(*(struct dingo_qp_info **)instance->data);
	return 0;
}
NOKPROBE_SYMBOL(state_returned);

static struct kretprobe limits_probe = {
	.kp.symbol_name = "dingo_cmd_query_device",
	.entry_handler = entered,
	.handler = limits_returned,
	.data_size = sizeof(unsigned long),
};

static struct kretprobe state_probe = {
	.kp.symbol_name = "dingo_cmd_query_qp",
	.entry_handler = entered,
	.handler = state_returned,
	.data_size = sizeof(unsigned long),
};

static struct kretprobe *probes[] = { &limits_probe, &state_probe };

static int __init lying_card_init(void)
{
	return register_kretprobes(probes, ARRAY_SIZE(probes));
}
module_init(lying_card_init);

static void __exit lying_card_exit(void)
{
	unregister_kretprobes(probes, ARRAY_SIZE(probes));
}
module_exit(lying_card_exit);

MODULE_DESCRIPTION("A card that lies, for tests of dingo.ko and dingo_ib.ko");
MODULE_LICENSE("GPL");
