// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The machine sleeps or hibernates. The card loses its power, and all that it
 * knows: everything that uses it goes before that, and comes back after a reset.
 */
#include <linux/pm.h>
#include <linux/suspend.h>

#include "dingo.h"

/*
 * Before processes are frozen: those that wait for the card cannot be, and the
 * machine would not sleep. What fails until it wakes is brought back then:
 * workqueues go on while processes sleep, and no device may be added meanwhile.
 */
static void dingo_pm_prepare(struct dingo_dev *dev)
{
	dev->pm_prepared = true;
	dev->pm_hurry = true;
	dingo_hurry(dev);
	disable_work_sync(&dev->recover_work);
}

/* A card that wakes has its time. */
static void dingo_pm_hurry_end(struct dingo_dev *dev)
{
	if (dev->pm_hurry)
		dingo_hurry_end(dev);
	dev->pm_hurry = false;
}

static void dingo_pm_post(struct dingo_dev *dev)
{
	if (!dev->pm_prepared)
		return; /* it came in between */
	dev->pm_prepared = false;
	dingo_pm_hurry_end(dev);
	enable_work(&dev->recover_work);
	/* It failed, and the machine did not sleep after all. */
	if (!dingo_is_up(dev))
		schedule_work(&dev->recover_work);
}

static int dingo_pm_event(struct notifier_block *nb, unsigned long event,
			  void *unused)
{
	struct dingo_dev *dev = container_of(nb, struct dingo_dev, pm_nb);

	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		dingo_pm_prepare(dev);
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		dingo_pm_post(dev);
		break;
	}
	return NOTIFY_DONE;
}

/**
 * dingo_pm_init() - hear of the machine's sleep
 * @dev: the card
 *
 * Return: 0 or a negative errno.
 */
int dingo_pm_init(struct dingo_dev *dev)
{
	dev->pm_nb.notifier_call = dingo_pm_event;
	return register_pm_notifier(&dev->pm_nb);
}

/**
 * dingo_pm_cleanup() - undo dingo_pm_init()
 * @dev: the card
 */
void dingo_pm_cleanup(struct dingo_dev *dev)
{
	unregister_pm_notifier(&dev->pm_nb);
}

static int dingo_suspend(struct device *device)
{
	struct dingo_dev *dev = dev_get_drvdata(device);

	disable_work_sync(&dev->recover_work);
	dingo_take_down(dev);
	dingo_pm_hurry_end(dev);
	return 0;
}

static int dingo_resume(struct device *device)
{
	struct dingo_dev *dev = dev_get_drvdata(device);

	enable_work(&dev->recover_work);
	return dingo_recover(dev, true);
}

DEFINE_SIMPLE_DEV_PM_OPS(dingo_pm_ops, dingo_suspend, dingo_resume);
