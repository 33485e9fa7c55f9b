/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Card memory: the state of dingo_p2p.c for a card,
 * and pieces of the memory.
 */
#ifndef DINGO_P2P_H
#define DINGO_P2P_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/types.h>

struct attribute_group;
struct dingo_dev;
struct gen_pool;

struct dingo_p2p {
	struct mutex lock; /* protects @on, @pool and @pieces */
	u64 bytes; /* size of BAR_MEM; 0: card memory is not usable */
	bool no_iomem; /* BAR_MEM has no address */
	bool hidden; /* its resource is hidden while the driver is bound */
	unsigned long saved_flags; /* flags of the hidden resource */
	bool on; /* peer to peer is on: P2PDMA manages the memory */
	struct gen_pool *pool; /* if off: allocator of CPU physical addresses */
	struct list_head pieces;
};

/* A piece of card memory with one owner. */
struct dingo_piece {
	struct list_head entry; /* dingo_p2p.pieces */
	size_t bytes; /* multiple of PAGE_SIZE */
	void *va; /* address of its pages; NULL: no struct pages */
	phys_addr_t phys;
	u64 bus; /* address as used by the card */
	pid_t pid; /* of the process that allocated it */
	char comm[TASK_COMM_LEN];
};

int dingo_p2p_prepare(struct dingo_dev *dev);
void dingo_p2p_release(struct dingo_dev *dev);
void dingo_p2p_restore_config(struct dingo_dev *dev);
int dingo_p2p_init(struct dingo_dev *dev);
void dingo_p2p_cleanup(struct dingo_dev *dev);
int dingo_piece_alloc(struct dingo_dev *dev, struct dingo_piece *piece,
		      u64 bytes);
void dingo_piece_free(struct dingo_dev *dev, struct dingo_piece *piece);
extern const struct attribute_group *dingo_pci_groups[];

#endif
