// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The PCI function: probe and remove, which releases in reverse order.
 */
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <net/devlink.h>

#include "dingo.h"

static int dingo_check_contract(struct dingo_dev *dev)
{
	u32 magic = dingo_read32(dev, DINGO_REG_MAGIC);
	u32 version = dingo_read32(dev, DINGO_REG_VERSION);
	u32 major = FIELD_GET(DINGO_VERSION_MAJOR_MASK, version);

	if (magic != DINGO_MAGIC) {
		dev_err(&dev->pdev->dev, "not a Dingo card: magic 0x%08x\n",
			magic);
		return -ENODEV;
	}
	if (major != DINGO_CONTRACT_MAJOR) {
		dev_err(&dev->pdev->dev,
			"the card speaks contract %u.%u, this driver %u.x: update the %s\n",
			major, (u32)FIELD_GET(DINGO_VERSION_MINOR_MASK, version),
			DINGO_CONTRACT_MAJOR,
			major > DINGO_CONTRACT_MAJOR ? "driver" : "card");
		return -ENODEV;
	}
	return 0;
}

static int dingo_check_caps(struct dingo_dev *dev)
{
	u64 caps = dingo_read64(dev, DINGO_REG_CAPS);

	if (dev->card_caps && caps != dev->card_caps) {
		dev_err(&dev->pdev->dev,
			"came back as another card (capabilities 0x%llx, were 0x%llx): reload the driver\n",
			caps, dev->card_caps);
		return -ENODEV;
	}
	/* RoCE takes its addresses from a network interface. */
	if (!(caps & DINGO_CAP_ETH)) {
		dev_err(&dev->pdev->dev, "the card has no Ethernet function\n");
		return -ENODEV;
	}
	dev->card_caps = caps;
	dev->caps = caps;
	return 0;
}

/**
 * dingo_start() - start a card after a reset, up to its event queues
 * @dev: the card
 *
 * Return: 0 or a negative errno.
 */
int dingo_start(struct dingo_dev *dev)
{
	int err;

	err = dingo_check_contract(dev);
	if (err)
		return err;
	err = dingo_check_caps(dev);
	if (err)
		return err;
	dev->resets = dingo_read32(dev, DINGO_REG_RESETS);
	pci_set_master(dev->pdev);
	dingo_admin_start(dev);
	err = dingo_cmd_query_device(dev, &dev->limits);
	if (err) {
		dev_err(&dev->pdev->dev, "limits cannot be read: %d\n", err);
		goto err_stop_admin;
	}
	err = dingo_limits_check(dev);
	if (err)
		goto err_stop_admin;
	err = dingo_eq_start(dev);
	if (err)
		goto err_stop_admin;
	return 0;

err_stop_admin:
	dingo_admin_stop(dev);
	pci_clear_master(dev->pdev);
	return err;
}

/**
 * dingo_stop() - undo dingo_start()
 * @dev: the card; it may have failed or be gone. Idempotent
 */
void dingo_stop(struct dingo_dev *dev)
{
	dingo_eq_stop(dev);
	dingo_admin_stop(dev);
	pci_clear_master(dev->pdev);
}

static int dingo_map_regs(struct dingo_dev *dev)
{
	struct pci_dev *pdev = dev->pdev;
	int err;

	dev->bars = dingo_p2p_prepare(dev);
	err = pci_enable_device_mem(pdev);
	if (err)
		goto err_restore;
	err = pci_request_selected_regions(pdev, dev->bars, DINGO_DRV_NAME);
	if (err)
		goto err_disable;
	err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (err)
		goto err_release;
	/* Rings and regions are shared with processes without DMA syncs. */
	if (!dev_is_dma_coherent(&pdev->dev)) {
		dev_err(&pdev->dev, "DMA is not coherent on this machine\n");
		err = -EOPNOTSUPP;
		goto err_release;
	}
	/* An entry of a page list may have any length. */
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	if (pci_resource_len(pdev, DINGO_BAR_REGS) < DINGO_BAR_REGS_SIZE) {
		dev_err(&pdev->dev, "the register BAR is too small\n");
		err = -ENODEV;
		goto err_release;
	}
	dev->regs = pci_iomap(pdev, DINGO_BAR_REGS, DINGO_BAR_REGS_SIZE);
	if (!dev->regs) {
		err = -ENOMEM;
		goto err_release;
	}
	return 0;

err_release:
	pci_release_selected_regions(pdev, dev->bars);
err_disable:
	pci_disable_device(pdev);
err_restore:
	dingo_p2p_release(dev);
	return err;
}

static void dingo_unmap_regs(struct dingo_dev *dev)
{
	pci_iounmap(dev->pdev, dev->regs);
	pci_release_selected_regions(dev->pdev, dev->bars);
	pci_disable_device(dev->pdev);
	dingo_p2p_release(dev);
}

/* Brings the card into a known state before it gets any memory. */
static int dingo_identify(struct dingo_dev *dev)
{
	int err;

	err = dingo_check_contract(dev);
	if (err)
		return err;
	/* It may still execute work of an earlier kernel. */
	err = dingo_reset_card(dev);
	if (err)
		return err;
	return dingo_check_caps(dev);
}

/* Initializes the parts that persist across resets. */
static int dingo_init(struct dingo_dev *dev)
{
	int err;

	err = dingo_db_init(dev);
	if (err)
		return err;
	err = dingo_admin_init(dev);
	if (err)
		goto err_cleanup_db;
	err = dingo_eq_init(dev);
	if (err)
		goto err_cleanup_admin;
	err = dingo_p2p_init(dev);
	if (err)
		goto err_cleanup_eq;
	return 0;

err_cleanup_eq:
	dingo_eq_cleanup(dev);
err_cleanup_admin:
	dingo_admin_cleanup(dev);
err_cleanup_db:
	dingo_db_cleanup(dev);
	return err;
}

static void dingo_cleanup(struct dingo_dev *dev)
{
	dingo_reset_leave(dev);
	dingo_p2p_cleanup(dev);
	dingo_eq_cleanup(dev);
	dingo_admin_cleanup(dev);
	dingo_db_cleanup(dev);
}

static void dingo_unpublish(struct dingo_dev *dev)
{
	mutex_lock(&dev->reset_lock);
	dingo_aux_remove(dev);
	mutex_unlock(&dev->reset_lock);
	dingo_health_end(dev);
	dingo_netdev_unregister(dev);
}

/* Registers the interfaces with the rest of the kernel. */
static int dingo_publish(struct dingo_dev *dev)
{
	int err;

	err = dingo_netdev_register(dev);
	if (err)
		return err;
	mutex_lock(&dev->reset_lock);
	dingo_set_up(dev);
	err = dingo_aux_add(dev);
	mutex_unlock(&dev->reset_lock);
	if (!err)
		return 0;

	/* A concurrent recovery may have succeeded meanwhile. */
	dingo_reset_end(dev);
	dingo_unpublish(dev);
	return err;
}

static int dingo_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct devlink *devlink;
	struct dingo_dev *dev;
	int err;

	devlink = devlink_alloc(&dingo_devlink_ops, sizeof(*dev), &pdev->dev);
	if (!devlink)
		return -ENOMEM;
	dev = devlink_priv(devlink);
	dev->pdev = pdev;
	dev->devlink = devlink;
	pci_set_drvdata(pdev, dev);
	dingo_reset_init(dev);

	err = dingo_map_regs(dev);
	if (err)
		goto err_cleanup_reset;
	err = dingo_identify(dev);
	if (err)
		goto err_unmap_regs;
	err = dingo_init(dev);
	if (err)
		goto err_unmap_regs;
	/*
	 * Configuration for recoveries, saved before bus mastering is enabled.
	 * Without it (no memory) only resets that preserve the BARs work.
	 */
	pci_save_state(pdev);
	dev->pci_state = pci_store_saved_state(pdev);
	dingo_expect(dev);
	err = dingo_start(dev);
	if (err)
		goto err_cleanup;
	err = dingo_publish(dev);
	if (err)
		goto err_stop;
	dingo_expect_end(dev);
	dingo_devlink_register(dev);
	return 0;

err_stop:
	dingo_stop(dev);
err_cleanup:
	dingo_cleanup(dev);
	kfree(dev->pci_state);
err_unmap_regs:
	dingo_unmap_regs(dev);
err_cleanup_reset:
	dingo_reset_cleanup(dev);
	devlink_free(devlink);
	return err;
}

static void dingo_remove(struct pci_dev *pdev)
{
	struct dingo_dev *dev = pci_get_drvdata(pdev);

	/* The card may be gone and answer no command: use short timeouts. */
	WRITE_ONCE(dev->gone, true);
	dingo_hurry(dev);
	if (!pci_device_is_present(pdev))
		dingo_fail(dev, "the card was unplugged");
	dingo_reset_end(dev);
	dingo_netdev_end(dev);
	dingo_devlink_unregister(dev);

	dingo_unpublish(dev);
	dingo_stop(dev);
	dingo_cleanup(dev);
	kfree(dev->pci_state);
	dingo_unmap_regs(dev);
	dingo_reset_cleanup(dev);
	devlink_free(dev->devlink);
}

/* Before a reboot or kexec: stops DMA into memory of the next kernel. */
static void dingo_shutdown(struct pci_dev *pdev)
{
	dingo_quiesce(pci_get_drvdata(pdev));
}

static const struct pci_device_id dingo_pci_ids[] = {
	{ PCI_DEVICE(DINGO_PCI_VENDOR_ID, DINGO_PCI_DEVICE_ID) },
	{}
};
MODULE_DEVICE_TABLE(pci, dingo_pci_ids);

static struct pci_driver dingo_driver = {
	.name = DINGO_DRV_NAME,
	.id_table = dingo_pci_ids,
	.probe = dingo_probe,
	.remove = dingo_remove,
	.shutdown = dingo_shutdown,
	.err_handler = &dingo_err_handlers,
	.dev_groups = dingo_pci_groups,
	.driver.pm = pm_sleep_ptr(&dingo_pm_ops),
};

static int __init dingo_init_module(void)
{
	int err;

	err = dingo_pm_init();
	if (err)
		return err;
	err = pci_register_driver(&dingo_driver);
	if (err)
		dingo_pm_cleanup();
	return err;
}
module_init(dingo_init_module);

static void __exit dingo_exit_module(void)
{
	pci_unregister_driver(&dingo_driver);
	dingo_pm_cleanup();
}
module_exit(dingo_exit_module);

MODULE_AUTHOR("The Dingo authors");
MODULE_DESCRIPTION("Dingo FPGA RoCE v2 card: network driver");
MODULE_LICENSE("Dual BSD/GPL");
