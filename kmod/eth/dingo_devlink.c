// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * devlink: what the card is, reload, and the reporter that recovers from
 * fatal errors.
 */
#include <net/devlink.h>

#include "dingo.h"

#define DINGO_BUILD_MAJOR_MASK 0xffff0000U /* register BUILD */
#define DINGO_BUILD_MINOR_MASK 0x0000ff00U
#define DINGO_BUILD_PATCH_MASK 0x000000ffU
#define DINGO_RECOVER_GRACE_MS 1000

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
	mutex_lock(&dev->reset_lock);
	dingo_down(dev);
	mutex_unlock(&dev->reset_lock);
	return 0;
}

static int dingo_devlink_reload_up(struct devlink *devlink,
				   enum devlink_reload_action action,
				   enum devlink_reload_limit limit,
				   u32 *actions_performed,
				   struct netlink_ext_ack *extack)
{
	*actions_performed = BIT(DEVLINK_RELOAD_ACTION_DRIVER_REINIT);
	return dingo_recover(devlink_priv(devlink));
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
	return dingo_recover(devlink_health_reporter_priv(reporter));
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

/**
 * dingo_devlink_report() - report a failure; recovers when that is allowed
 * @dev: the card, down
 */
void dingo_devlink_report(struct dingo_dev *dev)
{
	struct devlink_health_reporter *reporter = READ_ONCE(dev->fatal_reporter);

	if (reporter)
		devlink_health_report(reporter,
				      dev->fail_reason ?: "unknown", dev);
	else
		dingo_recover(dev);
}

/**
 * dingo_devlink_register() - show the card to devlink
 * @dev: the card; last step of probe
 */
void dingo_devlink_register(struct dingo_dev *dev)
{
	struct devlink_health_reporter *reporter;

	reporter = dingo_reporter_create(dev->devlink, &dingo_fatal_ops,
					 DINGO_RECOVER_GRACE_MS, dev);
	devlink_register(dev->devlink);
	if (IS_ERR(reporter))
		dev_warn(&dev->pdev->dev, "no devlink health reporter: %ld\n",
			 PTR_ERR(reporter));
	else
		/* A recovery may run already, and reports to what is registered only. */
		WRITE_ONCE(dev->fatal_reporter, reporter);
}

/**
 * dingo_devlink_unregister() - undo dingo_devlink_register()
 * @dev: the card, after dingo_reset_end(): a recovery would report here
 */
void dingo_devlink_unregister(struct dingo_dev *dev)
{
	devlink_unregister(dev->devlink);
	if (dev->fatal_reporter)
		devlink_health_reporter_destroy(dev->fatal_reporter);
	dev->fatal_reporter = NULL;
}
