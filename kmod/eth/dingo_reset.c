// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Failure and recovery. dingo_fail() may be called from any context and only
 * stops the device; a work item then takes it down, and devlink's health
 * reporter resets it. Callers of dingo_down() and dingo_up() hold reset_lock.
 */
#include <linux/delay.h>

#include "dingo.h"
#include "dingo_trace.h"

#define DINGO_HEALTH_PERIOD HZ
#define DINGO_ALL_ONES (~0U) /* reads of a missing device */
#define DINGO_RESET_POLL_MS 5
#define DINGO_GONE_RESET_MS 500 /* timeout of a reset while a removal waits */

static const char *dingo_fatal_name(u32 fatal)
{
	switch (fatal) {
	case DINGO_FATAL_ADMIN_BUS:
		return "the card could not access the admin queue";
	case DINGO_FATAL_INTERNAL:
		return "an internal check of the card failed";
	default:
		return "the card stopped";
	}
}

static void dingo_announce_fatal(struct dingo_dev *dev)
{
	struct dingo_eqe eqe = {
		.kind = DINGO_EV_DEVICE_FATAL,
	};

	rcu_read_lock(); /* see dingo_async_sync() */
	dingo_tell(dev, &eqe);
	dingo_netdev_link(dev, false);
	rcu_read_unlock();
}

/**
 * dingo_fail() - declare the device failed
 * @dev: the card
 * @why: for the log, a string constant
 *
 * Ends all commands at once, stops DMA, notifies the RDMA side and the netdev,
 * and schedules recovery. Any context; only the first call has an effect.
 */
void dingo_fail(struct dingo_dev *dev, const char *why)
{
	enum dingo_state was;
	unsigned long flags;

	spin_lock_irqsave(&dev->state_lock, flags);
	was = dev->state;
	/* DMA off first: once the state is FAILED, the
	 * card's memory is freed.
	 */
	if (was != DINGO_STATE_FAILED) {
		pci_clear_master(dev->pdev);
		dev->fail_reason = why;
	}
	WRITE_ONCE(dev->state, DINGO_STATE_FAILED);
	spin_unlock_irqrestore(&dev->state_lock, flags);
	if (was == DINGO_STATE_FAILED)
		return;

	dev_err(&dev->pdev->dev, "failed: %s\n", why);
	trace_dingo_state(dev, "failed", why);
	dingo_admin_fail_all(dev);
	if (was == DINGO_STATE_UP) {
		dingo_announce_fatal(dev);
		if (!READ_ONCE(dev->gone))
			dingo_recover_later(dev);
	}
}
EXPORT_SYMBOL_NS_GPL(dingo_fail, DINGO_NS);

/**
 * dingo_check_alive() - ask the card for its status
 * @dev: the card
 *
 * Calls dingo_fail() if something is wrong. Any context.
 * Return: true if the device works.
 */
bool dingo_check_alive(struct dingo_dev *dev)
{
	u32 status;

	if (READ_ONCE(dev->state) == DINGO_STATE_FAILED)
		return false;
	status = dingo_read32(dev, DINGO_REG_STATUS);
	if (status == DINGO_ALL_ONES)
		dingo_fail(dev, "the card does not answer");
	else if (status & DINGO_STATUS_FATAL_MASK)
		dingo_fail(dev, dingo_fatal_name(dingo_read32(dev,
							      DINGO_REG_FATAL)));
	else if (!(status & DINGO_STATUS_READY_MASK) ||
		 dingo_read32(dev, DINGO_REG_RESETS) != dev->resets)
		dingo_fail(dev, "the card was restarted");
	else
		return true;
	return false;
}

static void dingo_health_work(struct work_struct *work)
{
	struct dingo_dev *dev = container_of(to_delayed_work(work),
					     struct dingo_dev, health_work);

	if (dingo_check_alive(dev)) {
		dingo_eq_tick(dev);
		dingo_netdev_tick(dev);
		schedule_delayed_work(&dev->health_work, DINGO_HEALTH_PERIOD);
	}
}

/*
 * Waits for READY, and after a reset for a RESETS register other than @resets.
 * The timeout is shorter if a removal waits, unless @leaves.
 */
static int dingo_wait_ready(struct dingo_dev *dev, u32 resets, bool leaves)
{
	unsigned long began = jiffies;
	unsigned int ms;
	u32 status;

	do {
		msleep(DINGO_RESET_POLL_MS);
		status = dingo_read32(dev, DINGO_REG_STATUS);
		/* Config space may be unreadable while the function resets. */
		if (status != DINGO_ALL_ONES &&
		    status & DINGO_STATUS_READY_MASK &&
		    !(status & DINGO_STATUS_FATAL_MASK) &&
		    dingo_read32(dev, DINGO_REG_RESETS) != resets)
			return 0;
		ms = READ_ONCE(dev->gone) && !leaves ? DINGO_GONE_RESET_MS :
						       DINGO_RESET_TIMEOUT_MS;
	} while (time_before(jiffies, began + msecs_to_jiffies(ms)));
	return -ETIMEDOUT;
}

/* Restores BARs and settings of the function if
 * something else has reset them.
 */
static void dingo_restore_config(struct dingo_dev *dev)
{
	dev_warn(&dev->pdev->dev, "restoring the PCI configuration\n");
	pci_load_saved_state(dev->pdev, dev->pci_state);
	dingo_p2p_restore_config(dev);
}

static int dingo_reset_function(struct dingo_dev *dev, bool leaves)
{
	u32 resets;
	int err;

	if (!pci_device_is_present(dev->pdev))
		return -ENODEV;
	if (dingo_read32(dev, DINGO_REG_MAGIC) != DINGO_MAGIC)
		dingo_restore_config(dev);
	if (dingo_read32(dev, DINGO_REG_MAGIC) != DINGO_MAGIC)
		return -ENODEV;
	resets = dingo_read32(dev, DINGO_REG_RESETS);
	pci_clear_master(dev->pdev);
	/* A function-level reset clears BARs and MSI-X. */
	pci_save_state(dev->pdev);
	dingo_write32(dev, DINGO_REG_CTRL, DINGO_CTRL_RESET_MASK);
	err = dingo_wait_ready(dev, resets, leaves);
	dingo_p2p_restore_config(dev);
	return err;
}

/**
 * dingo_reset_card() - put the card into its initial state
 * @dev: the card; the driver has no objects on it
 *
 * Return: 0, -ENODEV if the card does not answer, -ETIMEDOUT.
 */
int dingo_reset_card(struct dingo_dev *dev)
{
	int err = dingo_reset_function(dev, false);

	if (err == -ETIMEDOUT && !READ_ONCE(dev->gone))
		dev_err(&dev->pdev->dev, "no answer to a reset within %u ms\n",
			DINGO_RESET_TIMEOUT_MS);
	return err;
}

/**
 * dingo_reset_leave() - reset a failed card before it is released
 * @dev: the card, stopped; it may be gone
 *
 * The card may still execute commands, and only disabled bus mastering prevents
 * its DMA: the next driver may enable that.
 */
void dingo_reset_leave(struct dingo_dev *dev)
{
	int err;

	if (READ_ONCE(dev->state) != DINGO_STATE_FAILED)
		return;
	err = dingo_reset_function(dev, true);
	if (err && pci_device_is_present(dev->pdev))
		dev_err(&dev->pdev->dev,
			"given away without a reset (%d): it must not master the bus before one\n",
			err);
}

/**
 * dingo_set_up() - mark the card as up and start the health check
 * @dev: the card, state DOWN unless it failed meanwhile
 */
void dingo_set_up(struct dingo_dev *dev)
{
	unsigned long flags;
	bool failed;

	lockdep_assert_held(&dev->reset_lock);
	spin_lock_irqsave(&dev->state_lock, flags);
	failed = dev->state == DINGO_STATE_FAILED;
	if (!failed)
		WRITE_ONCE(dev->state, DINGO_STATE_UP);
	spin_unlock_irqrestore(&dev->state_lock, flags);
	dev->running = true;
	trace_dingo_state(dev, failed ? "failed" : "up", "started");
	/* Apply changes that the stack requested while the device was down. */
	dingo_netdev_rx_mode(dev);
	/* A failure since the start is a new one: the reporter takes it. */
	dingo_devlink_state(dev, true);
	if (!failed)
		schedule_delayed_work(&dev->health_work, DINGO_HEALTH_PERIOD);
	else if (!dev->gone)
		dingo_recover_later(dev);
}

/**
 * dingo_down() - remove all users of the card
 * @dev: the card; it may have failed or be gone
 *
 * All RDMA objects are destroyed; processes keep dead contexts. The netdev
 * stays registered but detached. No effect if down already.
 */
void dingo_down(struct dingo_dev *dev)
{
	unsigned long flags;

	lockdep_assert_held(&dev->reset_lock);
	if (!dev->running)
		return;
	/* Users of RDMA wait for completions: check the card until they go. */
	dingo_aux_remove(dev);
	cancel_delayed_work_sync(&dev->health_work);
	dingo_netdev_detach(dev);
	dingo_stop(dev);
	spin_lock_irqsave(&dev->state_lock, flags);
	WRITE_ONCE(dev->state, DINGO_STATE_FAILED);
	spin_unlock_irqrestore(&dev->state_lock, flags);
	dev->running = false;
	trace_dingo_state(dev, "down", dev->gone ? "removed" : "reset");
}

/**
 * dingo_up() - undo dingo_down()
 * @dev: the card, after a reset
 *
 * Return: 0 or a negative errno; then the device stays down.
 */
int dingo_up(struct dingo_dev *dev)
{
	int err;

	lockdep_assert_held(&dev->reset_lock);
	if (dev->running)
		return 0;
	spin_lock_irq(&dev->state_lock);
	/* After dingo_quiesce() the card must stay stopped. */
	err = READ_ONCE(dev->gone) ? -ENODEV : 0;
	if (!err)
		WRITE_ONCE(dev->state, DINGO_STATE_DOWN);
	spin_unlock_irq(&dev->state_lock);
	if (err)
		return err;

	dingo_expect(dev);
	err = dingo_start(dev);
	if (err)
		goto err_failed;
	err = dingo_netdev_attach(dev);
	if (err)
		goto err_stop;
	dingo_set_up(dev);
	/* Not fatal: the card still works as a network card. */
	if (dingo_aux_add(dev))
		dev_err(&dev->pdev->dev, "RDMA did not come back\n");
	dingo_expect_end(dev);
	return 0;

err_stop:
	dingo_stop(dev);
err_failed:
	dingo_expect_end(dev);
	spin_lock_irq(&dev->state_lock);
	WRITE_ONCE(dev->state, DINGO_STATE_FAILED);
	spin_unlock_irq(&dev->state_lock);
	return err;
}

/* Takes reset_lock and the device down. Threads that delay this fail soon. */
static void dingo_lock_down(struct dingo_dev *dev)
{
	dingo_hurry(dev);
	mutex_lock(&dev->reset_lock);
	dingo_down(dev);
	dingo_hurry_end(dev);
}

/**
 * dingo_take_down() - dingo_down() for callers without locks
 * @dev: the card; it may have failed or be gone
 */
void dingo_take_down(struct dingo_dev *dev)
{
	dingo_lock_down(dev);
	mutex_unlock(&dev->reset_lock);
}

/**
 * dingo_stays_down() - report that no automatic recovery follows
 * @dev: the card, after dingo_take_down() or a failed dingo_recover()
 */
void dingo_stays_down(struct dingo_dev *dev)
{
	mutex_lock(&dev->reset_lock);
	if (!dev->running) /* else another reset was faster */
		dingo_devlink_state(dev, false);
	mutex_unlock(&dev->reset_lock);
}

/**
 * dingo_recover() - reset the card and restore its users
 * @dev: the card
 * @ordered: also if the card works
 *
 * Return: 0 or a negative errno; then the device stays down.
 */
int dingo_recover(struct dingo_dev *dev, bool ordered)
{
	int err;

	if (ordered) {
		dingo_lock_down(dev);
	} else {
		mutex_lock(&dev->reset_lock);
		if (dingo_is_up(dev)) { /* another reset was faster */
			mutex_unlock(&dev->reset_lock);
			return 0;
		}
		dingo_down(dev);
	}
	err = READ_ONCE(dev->gone) ? -ENODEV : dingo_reset_card(dev);
	if (!err)
		err = dingo_up(dev);
	mutex_unlock(&dev->reset_lock);
	if (err == -ENODEV && dev->gone)
		return err; /* a removal was faster */
	if (err)
		dev_err(&dev->pdev->dev, "recovery failed: %d\n", err);
	else
		dev_info(&dev->pdev->dev, "recovered\n");
	return err;
}

/**
 * dingo_recover_later() - schedule a recovery, which is skipped if the card
 * works
 * @dev: the card
 *
 * During a system suspend it is deferred until resume. Any context.
 */
void dingo_recover_later(struct dingo_dev *dev)
{
	queue_work(system_freezable_wq, &dev->recover_work);
}

static void dingo_recover_work(struct work_struct *work)
{
	struct dingo_dev *dev = container_of(work, struct dingo_dev,
					     recover_work);

	mutex_lock(&dev->reset_lock);
	if (dingo_is_up(dev)) { /* another reset was faster */
		mutex_unlock(&dev->reset_lock);
		return;
	}
	dingo_down(dev);
	mutex_unlock(&dev->reset_lock);
	/* Calls dingo_recover(), unless the administrator has disabled that. */
	dingo_devlink_report(dev);
}

/**
 * dingo_reset_init() - initialize; before all other functions of this file
 * @dev: the card
 */
void dingo_reset_init(struct dingo_dev *dev)
{
	spin_lock_init(&dev->state_lock);
	mutex_init(&dev->reset_lock);
	/* A reset of a bridge holds those of all cards behind it. */
	lockdep_register_key(&dev->reset_key);
	lockdep_set_class(&dev->reset_lock, &dev->reset_key);
	INIT_WORK(&dev->recover_work, dingo_recover_work);
	INIT_DELAYED_WORK(&dev->health_work, dingo_health_work);
}

/**
 * dingo_reset_end() - disable recoveries
 * @dev: the card, about to be removed
 *
 * dingo_fail() may still be called while there are commands or interrupts, but
 * the work that it schedules does not run any more.
 */
void dingo_reset_end(struct dingo_dev *dev)
{
	WRITE_ONCE(dev->gone, true);
	disable_work_sync(&dev->recover_work);
}

/**
 * dingo_health_end() - disable the health check
 * @dev: the card, after dingo_reset_end(); its RDMA users are gone, see
 *	dingo_down()
 */
void dingo_health_end(struct dingo_dev *dev)
{
	disable_delayed_work_sync(&dev->health_work);
}

/* Like dingo_fail(), without notifications. */
static void dingo_silence(struct dingo_dev *dev)
{
	spin_lock_irq(&dev->state_lock);
	pci_clear_master(dev->pdev);
	WRITE_ONCE(dev->state, DINGO_STATE_FAILED);
	spin_unlock_irq(&dev->state_lock);
	dingo_admin_fail_all(dev);
}

/**
 * dingo_quiesce() - stop the card, even if it has users
 * @dev: the card
 *
 * Frees nothing: another kernel follows.
 */
void dingo_quiesce(struct dingo_dev *dev)
{
	WRITE_ONCE(dev->gone, true);
	dingo_silence(dev); /* ends waits for commands */
	dingo_reset_end(dev);
	dingo_health_end(dev);
	mutex_lock(&dev->reset_lock);
	dingo_silence(dev); /* again, after a recovery that was running */
	dingo_write32(dev, DINGO_REG_CTRL, DINGO_CTRL_RESET_MASK);
	mutex_unlock(&dev->reset_lock);
}

/**
 * dingo_reset_cleanup() - undo dingo_reset_init()
 * @dev: the card, down
 */
void dingo_reset_cleanup(struct dingo_dev *dev)
{
	mutex_destroy(&dev->reset_lock);
	lockdep_unregister_key(&dev->reset_key);
}

/* A reset requested by others, e.g. through sysfs. Holds reset_lock from here
 * ...
 */
static void dingo_reset_prepare(struct pci_dev *pdev)
{
	dingo_lock_down(pci_get_drvdata(pdev));
}

/* ... to here. */
static void dingo_reset_done(struct pci_dev *pdev)
{
	struct dingo_dev *dev = pci_get_drvdata(pdev);
	int err;

	/* The bus's recovery may not have reset the card. */
	err = dingo_reset_card(dev);
	if (!err)
		err = dingo_up(dev);
	if (err)
		dingo_devlink_state(dev, false);
	mutex_unlock(&dev->reset_lock);
	if (err)
		dev_err(&pdev->dev, "not usable after a reset: %d\n", err);
}

static pci_ers_result_t dingo_error_detected(struct pci_dev *pdev,
					     pci_channel_state_t state)
{
	struct dingo_dev *dev = pci_get_drvdata(pdev);

	/* End outstanding commands now, without their timeouts. */
	dingo_fail(dev, "PCIe error");
	/* dingo_slot_reset() recovers the card when the link is up again. */
	cancel_work_sync(&dev->recover_work);
	dingo_take_down(dev);
	dingo_stays_down(dev); /* if no slot reset follows */
	if (state == pci_channel_io_perm_failure)
		return PCI_ERS_RESULT_DISCONNECT;
	return PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t dingo_slot_reset(struct pci_dev *pdev)
{
	struct dingo_dev *dev = pci_get_drvdata(pdev);

	dingo_p2p_restore_config(dev);
	if (!dingo_recover(dev, true))
		return PCI_ERS_RESULT_RECOVERED;
	dingo_stays_down(dev);
	return PCI_ERS_RESULT_DISCONNECT;
}

const struct pci_error_handlers dingo_err_handlers = {
	.error_detected = dingo_error_detected,
	.reset_done = dingo_reset_done,
	.reset_prepare = dingo_reset_prepare,
	.slot_reset = dingo_slot_reset,
};
