// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * devlink: device information, reload, the parameter enable_rdma, and the
 * health reporters that recover from fatal errors and stalled queues.
 */
#include <linux/rtnetlink.h>
#include <net/devlink.h>

#include "dingo.h"

#define DINGO_BUILD_MAJOR_MASK 0xffff0000U /* register BUILD */
#define DINGO_BUILD_MINOR_MASK 0x0000ff00U
#define DINGO_BUILD_PATCH_MASK 0x000000ffU
#define DINGO_RECOVER_GRACE_MS 1000
#define DINGO_TX_GRACE_MS 500

static const char *dingo_engine_name(u32 engine)
{
	switch (engine) {
	case DINGO_ENGINE_MODEL:
		return "model";
	case DINGO_ENGINE_RTL:
		return "rtl";
	case DINGO_ENGINE_FPGA:
		return "fpga";
	default:
		return "unknown";
	}
}

/**
 * dingo_build_string() - version of firmware or bitstream as text
 * @dev: the card
 * @text: the result
 * @size: bytes of @text
 */
void dingo_build_string(struct dingo_dev *dev, char *text, size_t size)
{
	u32 build = dingo_read32(dev, DINGO_REG_BUILD);

	snprintf(text, size, "%u.%u.%u",
		 (u32)FIELD_GET(DINGO_BUILD_MAJOR_MASK, build),
		 (u32)FIELD_GET(DINGO_BUILD_MINOR_MASK, build),
		 (u32)FIELD_GET(DINGO_BUILD_PATCH_MASK, build));
}

static int dingo_devlink_info(struct devlink *devlink,
			      struct devlink_info_req *req,
			      struct netlink_ext_ack *extack)
{
	struct dingo_dev *dev = devlink_priv(devlink);
	u32 version = dingo_read32(dev, DINGO_REG_VERSION);
	char text[40];
	int err;

	snprintf(text, sizeof(text), "%016llx",
		 le64_to_cpu(dev->limits.serial));
	err = devlink_info_serial_number_put(req, text);
	if (err)
		return err;
	snprintf(text, sizeof(text), "%04x-%04x", dev->pdev->vendor,
		 dev->pdev->device);
	err = devlink_info_version_fixed_put(req,
					     DEVLINK_INFO_VERSION_GENERIC_BOARD_ID,
					     text);
	if (err)
		return err;
	err = devlink_info_version_fixed_put(req, "engine",
					     dingo_engine_name(dingo_read32(dev,
									    DINGO_REG_ENGINE)));
	if (err)
		return err;
	dingo_build_string(dev, text, sizeof(text));
	err = devlink_info_version_running_put(req,
					       DEVLINK_INFO_VERSION_GENERIC_FW,
					       text);
	if (err)
		return err;
	snprintf(text, sizeof(text), "%u.%u",
		 (u32)FIELD_GET(DINGO_VERSION_MAJOR_MASK, version),
		 (u32)FIELD_GET(DINGO_VERSION_MINOR_MASK, version));
	return devlink_info_version_running_put(req, "contract", text);
}

static int dingo_devlink_reload_down(struct devlink *devlink, bool netns_change,
				     enum devlink_reload_action action,
				     enum devlink_reload_limit limit,
				     struct netlink_ext_ack *extack)
{
	struct dingo_dev *dev = devlink_priv(devlink);

	if (netns_change) {
		NL_SET_ERR_MSG(extack, "cannot move to another namespace");
		return -EOPNOTSUPP;
	}
	dingo_take_down(dev);
	return 0;
}

static int dingo_devlink_reload_up(struct devlink *devlink,
				   enum devlink_reload_action action,
				   enum devlink_reload_limit limit,
				   u32 *actions_performed,
				   struct netlink_ext_ack *extack)
{
	struct dingo_dev *dev = devlink_priv(devlink);
	union devlink_param_value rdma;
	int err;

	*actions_performed = BIT(DEVLINK_RELOAD_ACTION_DRIVER_REINIT);
	err = devl_param_driverinit_value_get(devlink,
					      DEVLINK_PARAM_GENERIC_ID_ENABLE_RDMA,
					      &rdma);
	if (!err)
		WRITE_ONCE(dev->without_rdma, !rdma.vbool);
	err = dingo_recover(dev, true);
	if (err)
		dingo_stays_down(dev);
	return err;
}

const struct devlink_ops dingo_devlink_ops = {
	.info_get = dingo_devlink_info,
	.reload_actions = BIT(DEVLINK_RELOAD_ACTION_DRIVER_REINIT),
	.reload_down = dingo_devlink_reload_down,
	.reload_up = dingo_devlink_reload_up,
};

static int dingo_fatal_recover(struct devlink_health_reporter *reporter,
			       void *priv_ctx, struct netlink_ext_ack *extack)
{
	/* false: devlink may call this for a device
	 * that was reset meanwhile.
	 */
	return dingo_recover(devlink_health_reporter_priv(reporter), false);
}

static int dingo_fatal_diagnose(struct devlink_health_reporter *reporter,
				struct devlink_fmsg *fmsg,
				struct netlink_ext_ack *extack)
{
	struct dingo_dev *dev = devlink_health_reporter_priv(reporter);

	devlink_fmsg_string_pair_put(fmsg, "state",
				     dingo_is_up(dev) ? "up" : "failed");
	devlink_fmsg_string_pair_put(fmsg, "last failure",
				     dev->fail_reason ?: "none");
	devlink_fmsg_u32_pair_put(fmsg, "status",
				  dingo_read32(dev, DINGO_REG_STATUS));
	devlink_fmsg_u32_pair_put(fmsg, "fatal",
				  dingo_read32(dev, DINGO_REG_FATAL));
	devlink_fmsg_u32_pair_put(fmsg, "resets",
				  dingo_read32(dev, DINGO_REG_RESETS));
	return 0;
}

static const struct devlink_health_reporter_ops dingo_fatal_ops = {
	.name = "fatal",
	.recover = dingo_fatal_recover,
	.diagnose = dingo_fatal_diagnose,
	DINGO_REPORTER_GRACE(DINGO_RECOVER_GRACE_MS)
};

/*
 * These two wait for rtnl and for the card while they hold devlink's lock,
 * which a reload command waits for.
 */
static int dingo_tx_recover(struct devlink_health_reporter *reporter,
			    void *priv_ctx, struct netlink_ext_ack *extack)
{
	struct dingo_dev *dev = devlink_health_reporter_priv(reporter);
	int err;

	dingo_expect(dev);
	err = dingo_netdev_restart(dev);
	dingo_expect_end(dev);
	return err;
}

static int dingo_tx_diagnose(struct devlink_health_reporter *reporter,
			     struct devlink_fmsg *fmsg,
			     struct netlink_ext_ack *extack)
{
	struct dingo_dev *dev = devlink_health_reporter_priv(reporter);

	dingo_expect(dev);
	dingo_netdev_diagnose(dev, fmsg);
	dingo_expect_end(dev);
	return 0;
}

static const struct devlink_health_reporter_ops dingo_tx_ops = {
	.name = "tx",
	.recover = dingo_tx_recover,
	.diagnose = dingo_tx_diagnose,
	DINGO_REPORTER_GRACE(DINGO_TX_GRACE_MS)
};

/**
 * dingo_devlink_report_tx() - report that the rings must be recreated
 * @dev: the card
 * @why: for the log
 *
 * Recreates them, unless the administrator has disabled that. Sleeps.
 */
void dingo_devlink_report_tx(struct dingo_dev *dev, const char *why)
{
	struct devlink_health_reporter *reporter = READ_ONCE(dev->tx_reporter);

	if (!reporter)
		dingo_netdev_restart(dev);
	else if (devlink_health_report(reporter, why, dev) == -ECANCELED)
		netdev_err(dev->netdev, "no restart of the rings: the last one failed, or was just before\n");
}

/**
 * dingo_devlink_tx_works() - report that the rings work, whoever recreated them
 * @dev: the card
 *
 * While a reporter has an unresolved error, devlink recovers from no other.
 */
void dingo_devlink_tx_works(struct dingo_dev *dev)
{
	struct devlink_health_reporter *reporter = READ_ONCE(dev->tx_reporter);

	ASSERT_RTNL(); /* see dingo_devlink_unregister() */
	if (reporter)
		devlink_health_reporter_state_update(reporter,
						     DEVLINK_HEALTH_REPORTER_STATE_HEALTHY);
}

static const struct devlink_param dingo_params[] = {
	DEVLINK_PARAM_GENERIC(ENABLE_RDMA, BIT(DEVLINK_PARAM_CMODE_DRIVERINIT),
			      NULL, NULL, NULL),
};

static void dingo_params_register(struct dingo_dev *dev)
{
	union devlink_param_value rdma = { .vbool = true };
	int err;

	devl_lock(dev->devlink);
	err = devl_params_register(dev->devlink, dingo_params,
				   ARRAY_SIZE(dingo_params));
	if (!err)
		dingo_param_init(dev->devlink,
				 DEVLINK_PARAM_GENERIC_ID_ENABLE_RDMA, rdma);
	devl_unlock(dev->devlink);
	dev->has_params = !err;
	if (err)
		dev_warn(&dev->pdev->dev, "no devlink parameters: %d\n", err);
}

static struct devlink_health_reporter *
dingo_make_reporter(struct dingo_dev *dev,
		    const struct devlink_health_reporter_ops *ops,
		    u64 __maybe_unused grace)
{
	struct devlink_health_reporter *reporter;

	reporter = dingo_reporter_create(dev->devlink, ops, grace, dev);
	if (!IS_ERR(reporter))
		return reporter;
	dev_warn(&dev->pdev->dev, "no devlink health reporter \"%s\": %ld\n",
		 ops->name, PTR_ERR(reporter));
	return NULL;
}

/**
 * dingo_devlink_report() - report a failure, and recover if that is allowed
 * @dev: the card, down
 */
void dingo_devlink_report(struct dingo_dev *dev)
{
	struct devlink_health_reporter *reporter = READ_ONCE(dev->fatal_reporter);

	if (!reporter)
		dingo_recover(dev, false);
	else if (devlink_health_report(reporter, dev->fail_reason ?: "unknown",
				       dev) == -ECANCELED)
		dev_err(&dev->pdev->dev, "no automatic recovery: the last one failed, or was just before\n");
}

/**
 * dingo_devlink_state() - report whether the card works, if devlink did not
 * recover it itself
 * @dev: the card
 * @works: false: it stays down until the administrator recovers it
 */
void dingo_devlink_state(struct dingo_dev *dev, bool works)
{
	struct devlink_health_reporter *reporter = READ_ONCE(dev->fatal_reporter);

	lockdep_assert_held(&dev->reset_lock);
	if (reporter)
		devlink_health_reporter_state_update(reporter,
						     works ? DEVLINK_HEALTH_REPORTER_STATE_HEALTHY :
							     DEVLINK_HEALTH_REPORTER_STATE_ERROR);
}

/**
 * dingo_devlink_register() - show the card to devlink
 * @dev: the card; last step of probe
 */
void dingo_devlink_register(struct dingo_dev *dev)
{
	struct devlink_health_reporter *fatal, *tx;

	fatal = dingo_make_reporter(dev, &dingo_fatal_ops,
				    DINGO_RECOVER_GRACE_MS);
	tx = dingo_make_reporter(dev, &dingo_tx_ops, DINGO_TX_GRACE_MS);
	dingo_params_register(dev);
	devlink_register(dev->devlink);
	/* A recovery may run already; it reports only
	 * to registered reporters.
	 */
	WRITE_ONCE(dev->fatal_reporter, fatal);
	WRITE_ONCE(dev->tx_reporter, tx);
}

/**
 * dingo_devlink_unregister() - undo dingo_devlink_register()
 * @dev: the card, after dingo_reset_end() and dingo_netdev_end(): a recovery
 *	would report here
 */
void dingo_devlink_unregister(struct dingo_dev *dev)
{
	struct devlink_health_reporter *tx = dev->tx_reporter;

	rtnl_lock(); /* the interface may still be opened */
	dev->tx_reporter = NULL;
	rtnl_unlock();
	devlink_unregister(dev->devlink);
	if (dev->has_params)
		devlink_params_unregister(dev->devlink, dingo_params,
					  ARRAY_SIZE(dingo_params));
	if (tx)
		devlink_health_reporter_destroy(tx);
	if (dev->fatal_reporter)
		devlink_health_reporter_destroy(dev->fatal_reporter);
	dev->fatal_reporter = NULL;
}
