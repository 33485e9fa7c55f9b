// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * System suspend and hibernation. The card loses its power and all state: its
 * users are removed before, and come back after a reset.
 *
 * No device may be added during suspend: a card that fails meanwhile is
 * recovered by a workqueue that freezes after the processes and thaws before
 * them.
 */
#include <linux/freezer.h>
#include <linux/pm.h>
#include <linux/suspend.h>

#include "dingo.h"

/* A suspend was announced, and no device is suspended yet. */
static bool dingo_sleep_is_near;

/*
 * The announcement alone is not sufficient: files are written after it, maybe
 * over the card, and programs that write an image keep /dev/snapshot open for
 * long.
 */
static int dingo_pm_event(struct notifier_block *nb, unsigned long event,
			  void *unused)
{
	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		WRITE_ONCE(dingo_sleep_is_near, true);
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		WRITE_ONCE(dingo_sleep_is_near, false);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block dingo_pm_nb = {
	.notifier_call = dingo_pm_event,
};

/**
 * dingo_pm_freezes() - whether processes are being frozen for a system suspend
 *
 * Processes that wait for the card cannot be frozen, nor those that wait for
 * them.
 *
 * Return: true while freezing; false also during resume of the card, which gets
 * the normal timeouts.
 */
bool dingo_pm_freezes(void)
{
	return READ_ONCE(dingo_sleep_is_near) && dingo_freezer_is_active();
}

/**
 * dingo_pm_init() - register for announcements of suspend, before any card
 * exists
 *
 * Return: 0 or a negative errno.
 */
int __init dingo_pm_init(void)
{
	return register_pm_notifier(&dingo_pm_nb);
}

/**
 * dingo_pm_cleanup() - undo dingo_pm_init()
 */
void dingo_pm_cleanup(void)
{
	unregister_pm_notifier(&dingo_pm_nb);
}

static int dingo_suspend(struct device *device)
{
	struct dingo_dev *dev = dev_get_drvdata(device);

	WRITE_ONCE(dingo_sleep_is_near, false); /* all processes are frozen */
	/* A kexec jump that preserves this kernel freezes no workqueue. */
	disable_work_sync(&dev->recover_work);
	dingo_take_down(dev);
	return 0;
}

static int dingo_resume(struct device *device)
{
	struct dingo_dev *dev = dev_get_drvdata(device);
	int err;

	enable_work(&dev->recover_work);
	err = dingo_recover(dev, true);
	/* Retry after resume; that attempt is reported to the administrator. */
	if (err)
		dingo_recover_later(dev);
	return err;
}

DEFINE_SIMPLE_DEV_PM_OPS(dingo_pm_ops, dingo_suspend, dingo_resume);
