// SPDX-License-Identifier: GPL-2.0
/*
 * A test module: the card of a device of driver dingo reports an event at the
 * last moment, after ib_core has unregistered the device. "late" is 1 if the
 * event was handled before the device's memory was freed, 0 if not, and -1
 * before a device was removed. The module is also an ib_client that delays the
 * removal ("linger").
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <rdma/ib_verbs.h>

#include "dingo_ib.h"

#define HANDLER_MS 1000

static int late = -1;
module_param(late, int, 0444);
MODULE_PARM_DESC(late, "1: the event was handled before the device's memory went; 0: it was not");

static unsigned int linger;
module_param(linger, uint, 0644);
MODULE_PARM_DESC(linger, "milliseconds that the device waits for this user when it goes");

static struct ib_event_handler handler;
static struct dingo_ibdev *going;
static bool handled;

static void slow_handler(struct ib_event_handler *self, struct ib_event *event)
{
	if (event->event != IB_EVENT_DEVICE_FATAL)
		return;
	msleep(HANDLER_MS);
	WRITE_ONCE(handled, true);
}

/* ib_unregister_device() is about to return to the driver's remove. */
static int unregistered(struct kretprobe_instance *instance,
			struct pt_regs *regs)
{
	struct dingo_eqe eqe = { .kind = DINGO_EV_DEVICE_FATAL };

	if (going)
		going->listener.event(&going->listener, &eqe);
	return 0;
}
NOKPROBE_SYMBOL(unregistered);

static struct kretprobe unregister_probe = {
	.kp.symbol_name = "ib_unregister_device",
	.handler = unregistered,
};

/* The driver is about to free the device's memory. */
static int before_dealloc(struct kprobe *probe, struct pt_regs *regs)
{
	if (going) {
		late = READ_ONCE(handled);
		going = NULL;
	}
	return 0;
}
NOKPROBE_SYMBOL(before_dealloc);

static struct kprobe dealloc_probe = {
	.symbol_name = "ib_dealloc_device",
	.pre_handler = before_dealloc,
};

static int add_one(struct ib_device *ibdev)
{
	struct device *parent = ibdev->dev.parent;

	if (going || !parent || !parent->driver ||
	    strcmp(parent->driver->name, "dingo"))
		return 0;
	INIT_IB_EVENT_HANDLER(&handler, ibdev, slow_handler);
	ib_register_event_handler(&handler);
	return 0;
}

/* Leaves the event handler registered, as the late event is for it. */
static void remove_one(struct ib_device *ibdev, void *data)
{
	msleep(linger);
	if (ibdev == handler.device)
		going = container_of(ibdev, struct dingo_ibdev, ibdev);
}

static struct ib_client client = {
	.name = "late_event",
	.add = add_one,
	.remove = remove_one,
};

static int __init late_event_init(void)
{
	int err;

	err = ib_register_client(&client);
	if (err)
		return err;
	err = register_kprobe(&dealloc_probe);
	if (err)
		goto err_client;
	err = register_kretprobe(&unregister_probe);
	if (err)
		goto err_probe;
	return 0;

err_probe:
	unregister_kprobe(&dealloc_probe);
err_client:
	ib_unregister_client(&client);
	return err;
}
module_init(late_event_init);

MODULE_DESCRIPTION("An event at the last moment, for tests of dingo_ib.ko");
MODULE_LICENSE("GPL");
