/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Internal interfaces of dingo.ko, in addition to dingo_core.h. Layers, lowest
 * first: db (doorbells), ring (queue memory), admin (command transport), cmd
 * (one function per command), eq (events), and on top netdev and aux (the RDMA
 * module).
 */
#ifndef DINGO_H
#define DINGO_H

#include "dingo_core.h"

struct devlink_fmsg;

#define DINGO_DRV_NAME "dingo"

#define DINGO_MAGIC 0x4f474e44U /* register MAGIC */
/* Register VERSION */
#define DINGO_VERSION_MAJOR_MASK 0xffff0000U
#define DINGO_VERSION_MINOR_MASK 0x0000ffffU

/* ------------------------------------------------------------- dingo_db.c */

int dingo_db_init(struct dingo_dev *dev);
void dingo_db_cleanup(struct dingo_dev *dev);

/* ---------------------------------------------------------- dingo_admin.c */

int dingo_admin_init(struct dingo_dev *dev);
void dingo_admin_cleanup(struct dingo_dev *dev);
void dingo_admin_start(struct dingo_dev *dev);
void dingo_admin_stop(struct dingo_dev *dev);
void dingo_admin_fail_all(struct dingo_dev *dev);
void dingo_admin_irq(struct dingo_dev *dev);
int dingo_admin_exec(struct dingo_dev *dev, u16 opcode, const void *cmd,
		     size_t cmd_size, u64 *result);
void *dingo_admin_out_get(struct dingo_dev *dev, dma_addr_t *addr);
void dingo_admin_out_put(struct dingo_dev *dev);

/* ------------------------------------------------------------- dingo_eq.c */

#define DINGO_EQ_MIN_LOG_SIZE 6

int dingo_eq_init(struct dingo_dev *dev);
void dingo_eq_cleanup(struct dingo_dev *dev);
int dingo_eq_start(struct dingo_dev *dev);
void dingo_eq_stop(struct dingo_dev *dev);
void dingo_eq_tick(struct dingo_dev *dev);
void dingo_async_sync(struct dingo_dev *dev);
int dingo_cq_add_eth(struct dingo_dev *dev, struct dingo_cq_core *cq,
		     unsigned int vector);

/* ---------------------------------------------------------- dingo_reset.c */

void dingo_reset_init(struct dingo_dev *dev);
void dingo_reset_end(struct dingo_dev *dev);
void dingo_health_end(struct dingo_dev *dev);
void dingo_quiesce(struct dingo_dev *dev);
void dingo_reset_cleanup(struct dingo_dev *dev);
bool dingo_check_alive(struct dingo_dev *dev);
int dingo_reset_card(struct dingo_dev *dev);
void dingo_reset_leave(struct dingo_dev *dev);
void dingo_down(struct dingo_dev *dev);
void dingo_take_down(struct dingo_dev *dev);
void dingo_stays_down(struct dingo_dev *dev);
int dingo_up(struct dingo_dev *dev);
int dingo_recover(struct dingo_dev *dev, bool ordered);
void dingo_recover_later(struct dingo_dev *dev);
void dingo_set_up(struct dingo_dev *dev);
extern const struct pci_error_handlers dingo_err_handlers;

/* ------------------------------------------------------------- dingo_pm.c */

int dingo_pm_init(void);
void dingo_pm_cleanup(void);
bool dingo_pm_freezes(void);
extern const struct dev_pm_ops dingo_pm_ops;

/* ----------------------------------------------------------- dingo_main.c */

int dingo_start(struct dingo_dev *dev);
void dingo_stop(struct dingo_dev *dev);

/* --------------------------------------------------------- dingo_limits.c */

int dingo_limits_check(struct dingo_dev *dev);

/* ------------------------------------------------- dingo_netdev.c, ethtool */

int dingo_netdev_register(struct dingo_dev *dev);
void dingo_netdev_unregister(struct dingo_dev *dev);
void dingo_netdev_detach(struct dingo_dev *dev);
int dingo_netdev_attach(struct dingo_dev *dev);
void dingo_netdev_link(struct dingo_dev *dev, bool up);
void dingo_netdev_rx_mode(struct dingo_dev *dev);
void dingo_netdev_tick(struct dingo_dev *dev);
void dingo_netdev_end(struct dingo_dev *dev);
int dingo_netdev_restart(struct dingo_dev *dev);
void dingo_netdev_diagnose(struct dingo_dev *dev, struct devlink_fmsg *fmsg);
extern const struct ethtool_ops dingo_ethtool_ops;

/* -------------------------------------------------------- dingo_devlink.c */

extern const struct devlink_ops dingo_devlink_ops;
void dingo_devlink_register(struct dingo_dev *dev);
void dingo_devlink_unregister(struct dingo_dev *dev);
void dingo_devlink_report(struct dingo_dev *dev);
void dingo_devlink_report_tx(struct dingo_dev *dev, const char *why);
void dingo_devlink_tx_works(struct dingo_dev *dev);
void dingo_devlink_state(struct dingo_dev *dev, bool works);
void dingo_build_string(struct dingo_dev *dev, char *text, size_t size);

/* ------------------------------------------------------------ dingo_aux.c */

int dingo_aux_add(struct dingo_dev *dev);
void dingo_aux_remove(struct dingo_dev *dev);
void dingo_tell(struct dingo_dev *dev, const struct dingo_eqe *eqe);

#endif
