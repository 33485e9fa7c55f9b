// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The auxiliary device "dingo.rdma", to which the RDMA module binds and which
 * exists while the card works; and the delivery of events to that module.
 */
#include <linux/idr.h>
#include <linux/slab.h>

#include "dingo.h"

static DEFINE_IDA(dingo_aux_ids);

static void dingo_aux_release(struct device *device)
{
	kfree(container_of(device, struct dingo_aux, adev.dev));
}

/**
 * dingo_aux_add() - offer the card to the RDMA module
 * @dev: the card, up, with its netdev
 *
 * If the module is loaded, its probe() has ended when this returns, except
 * during a system resume; its result is not known here. Else the device's
 * uevent causes the module to be loaded.
 * Return: 0 or a negative errno.
 */
int dingo_aux_add(struct dingo_dev *dev)
{
	struct dingo_aux *aux;
	int err;

	lockdep_assert_held(&dev->reset_lock);
	if (!(dev->caps & DINGO_CAP_RC)) {
		dev_info(&dev->pdev->dev, "no RDMA on this card\n");
		return 0;
	}
	if (dev->without_rdma)
		return 0;
	aux = kzalloc(sizeof(*aux), GFP_KERNEL);
	if (!aux)
		return -ENOMEM;
	err = ida_alloc(&dingo_aux_ids, GFP_KERNEL);
	if (err < 0)
		goto err_free;
	aux->dev = dev;
	aux->adev.id = err;
	aux->adev.name = DINGO_AUX_NAME;
	aux->adev.dev.parent = &dev->pdev->dev;
	aux->adev.dev.release = dingo_aux_release;
	err = auxiliary_device_init(&aux->adev);
	if (err)
		goto err_id;
	err = auxiliary_device_add(&aux->adev);
	if (err) {
		ida_free(&dingo_aux_ids, aux->adev.id);
		auxiliary_device_uninit(&aux->adev); /* frees it */
		return err;
	}
	dev->aux = aux;
	return 0;

err_id:
	ida_free(&dingo_aux_ids, aux->adev.id);
err_free:
	kfree(aux);
	return err;
}

/**
 * dingo_aux_remove() - undo dingo_aux_add()
 * @dev: the card; it may have failed or be gone. Idempotent
 *
 * When this returns, the RDMA module does not use the card any more.
 */
void dingo_aux_remove(struct dingo_dev *dev)
{
	struct dingo_aux *aux = dev->aux;
	u32 id;

	lockdep_assert_held(&dev->reset_lock);
	if (!aux)
		return;
	dev->aux = NULL;
	id = aux->adev.id;
	auxiliary_device_delete(&aux->adev);
	auxiliary_device_uninit(&aux->adev);
	ida_free(&dingo_aux_ids, id);
}

/**
 * dingo_listen() - register the receiver of events
 * @dev: the card
 * @listener: the receiver
 */
void dingo_listen(struct dingo_dev *dev, struct dingo_listener *listener)
{
	/* Pairs with the address dependency in dingo_tell(). */
	smp_store_release(&dev->listener, listener);
}
EXPORT_SYMBOL_NS_GPL(dingo_listen, DINGO_NS);

/**
 * dingo_unlisten() - undo dingo_listen()
 * @dev: the card
 *
 * Sleeps. The listener is not called after this returns.
 */
void dingo_unlisten(struct dingo_dev *dev)
{
	WRITE_ONCE(dev->listener, NULL);
	dingo_async_sync(dev);
}
EXPORT_SYMBOL_NS_GPL(dingo_unlisten, DINGO_NS);

/**
 * dingo_tell() - report an event to the RDMA module, if it listens
 * @dev: the card
 * @eqe: the event
 *
 * Atomic context: the interrupt of vector 0, or under rcu_read_lock(), see
 * dingo_async_sync().
 */
void dingo_tell(struct dingo_dev *dev, const struct dingo_eqe *eqe)
{
	struct dingo_listener *listener = READ_ONCE(dev->listener);

	if (listener)
		listener->event(listener, eqe);
}
