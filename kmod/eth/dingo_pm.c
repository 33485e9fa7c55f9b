// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The machine sleeps or hibernates. The card loses its power, and all that it
 * knows: everything that uses it goes before that, and comes back after a reset.
 */
#include <linux/pm.h>

#include "dingo.h"

static int dingo_suspend(struct device *device)
{
	struct dingo_dev *dev = dev_get_drvdata(device);

	/* Workqueues go on while processes sleep: no recovery meanwhile. */
	disable_work_sync(&dev->recover_work);
	mutex_lock(&dev->reset_lock);
	dingo_down(dev);
	mutex_unlock(&dev->reset_lock);
	return 0;
}

static int dingo_resume(struct device *device)
{
	struct dingo_dev *dev = dev_get_drvdata(device);

	enable_work(&dev->recover_work);
	return dingo_recover(dev);
}

DEFINE_SIMPLE_DEV_PM_OPS(dingo_pm_ops, dingo_suspend, dingo_resume);
