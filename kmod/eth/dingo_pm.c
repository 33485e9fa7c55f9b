// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The machine sleeps or hibernates. The card loses its power, and all that it
 * knows: everything that uses it goes before that, and comes back after a reset.
 *
 * No device may be added while it sleeps: what fails meanwhile is brought back by
 * a workqueue that freezes after the processes, and thaws before them.
 */
#include <linux/freezer.h>
#include <linux/pm.h>
#include <linux/suspend.h>

#include "dingo.h"

/* A sleep was announced, and no device sleeps yet. */
static bool dingo_sleep_is_near;

/*
 * An announcement alone means little: files are written after it, maybe over the
 * card, and programs that write an image hold /dev/snapshot open for long.
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
 * dingo_pm_freezes() - whether processes are frozen for a sleep of the machine
 *
 * Those that wait for the card cannot be, nor can those that wait for them.
 *
 * Return: false also when the card has slept: one that wakes has its time.
 */
bool dingo_pm_freezes(void)
{
	return READ_ONCE(dingo_sleep_is_near) && dingo_freezer_is_active();
}

/**
 * dingo_pm_init() - hear of the machine's sleep; before there are cards
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
	/* A jump into another kernel (kexec) that preserves this one freezes no workqueue. */
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
	/* Once more when all is awake; then the administrator hears of it. */
	if (err)
		dingo_recover_later(dev);
	return err;
}

DEFINE_SIMPLE_DEV_PM_OPS(dingo_pm_ops, dingo_suspend, dingo_resume);
