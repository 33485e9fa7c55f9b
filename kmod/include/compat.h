/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Differences between the supported kernel versions (6.12, 7.2); the only file
 * that checks the kernel's version.
 */
#ifndef DINGO_COMPAT_H
#define DINGO_COMPAT_H

#include <linux/version.h>

/*
 * The grace period of a devlink health reporter was an argument of create; it
 * became a member of the ops.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
#define DINGO_REPORTER_GRACE(ms) .default_graceful_period = (ms),
#define dingo_reporter_create(devlink, ops, grace, priv) \
	devlink_health_reporter_create(devlink, ops, priv)
#else
#define DINGO_REPORTER_GRACE(ms)
#define dingo_reporter_create(devlink, ops, grace, priv) \
	devlink_health_reporter_create(devlink, ops, grace, priv)
#endif

/* ---- interrupt moderation: the sample became a pointer. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define dingo_net_dim(dim, sample) net_dim(dim, &(sample))
#else
#define dingo_net_dim(dim, sample) net_dim(dim, sample)
#endif

/* ---- devlink: initial value of a parameter that the driver sets. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
#define dingo_param_init(devlink, id, value) \
	devl_param_driverinit_value_set(devlink, id, &(value))
#else
#define dingo_param_init(devlink, id, value) \
	devl_param_driverinit_value_set(devlink, id, value)
#endif

/* ---- modules: namespace of the symbols that dingo.ko exports. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define DINGO_NS "DINGO"
#else
#define DINGO_NS DINGO
#endif

/* ---- sleep: whether processes are frozen or being frozen. */
#ifdef CONFIG_FREEZER
#define dingo_freezer_is_active() static_branch_unlikely(&freezer_active)
#else
#define dingo_freezer_is_active() false
#endif

/* ---- ethtool: the number of receive rings was a flow classification query. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
#define DINGO_RX_RING_COUNT_OP(count, rxnfc) .get_rx_ring_count = count,
#else
#define DINGO_RX_RING_COUNT_OP(count, rxnfc) .get_rxnfc = rxnfc,
#endif

/* ---- dma-buf: move_notify() was renamed; so was the exporter's call. Whether
 * the core pins a buffer for each mapping of an importer that can follow moves.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
#define DINGO_MOVE_NOTIFY invalidate_mappings
#define dingo_dma_buf_moved(buf) dma_buf_invalidate_mappings(buf)
#define DINGO_DMA_BUF_MAPPING_PINS false
#define DINGO_DMA_BUF_NS "DMA_BUF"
#else
#define DINGO_MOVE_NOTIFY move_notify
#define dingo_dma_buf_moved(buf) dma_buf_move_notify(buf)
#define DINGO_DMA_BUF_MAPPING_PINS (!IS_ENABLED(CONFIG_DMABUF_MOVE_NOTIFY))
#define DINGO_DMA_BUF_NS DMA_BUF
#endif

/* ---- verbs: a DMA handle argument for MRs, separate CQ operations for user
 * CQs, port events sent by ib_core, counters of QPs with a port argument and
 * driver-specific members.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
#define DINGO_DMAH_ARG struct ib_dmah *dmah,
#define DINGO_DMAH_GIVEN (!!dmah)
#define DINGO_CQE_COUNT unsigned int
#define DINGO_RESIZE_CQ_OP resize_user_cq
#define DINGO_CORE_SENDS_PORT_EVENTS true
#define DINGO_COUNTER_PORT_ARG , u32 port
#define DINGO_COUNTER_SIZE_OP .size_rdma_counter = sizeof(struct rdma_counter),
#define dingo_umem_get(ibdev, addr, size, access) \
	ib_umem_get_va(ibdev, addr, size, access)
#else
#define DINGO_DMAH_ARG
#define DINGO_DMAH_GIVEN false
#define DINGO_CQE_COUNT int
#define DINGO_RESIZE_CQ_OP resize_cq
#define DINGO_CORE_SENDS_PORT_EVENTS false
#define DINGO_COUNTER_PORT_ARG
#define DINGO_COUNTER_SIZE_OP
#define dingo_umem_get(ibdev, addr, size, access) \
	ib_umem_get(ibdev, addr, size, access)
#endif

/* ---- card memory: its pages, and its export as DMA buffers, which the older
 * kernel does not support: it lacks the P2PDMA provider and the operations.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
#define dingo_page_ref(page) (&page_pgmap(page)->ref)
#define DINGO_DM_EXPORT_OPS                       \
	.mmap_get_pfns = dingo_dm_mmap_get_pfns, \
	.pgoff_to_mmap_entry = dingo_dm_pgoff_to_entry,
#else
#define dingo_page_ref(page) (&(page)->pgmap->ref)
#define DINGO_DM_EXPORT_OPS
struct p2pdma_provider;

struct phys_vec {
	phys_addr_t paddr;
	size_t len;
};

static inline struct p2pdma_provider *pcim_p2pdma_provider(struct pci_dev *pdev,
							   int bar)
{
	return NULL;
}
#endif

#endif
