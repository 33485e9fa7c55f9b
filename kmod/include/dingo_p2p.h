/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Card memory: what dingo_p2p.c has of a card, and its pieces. */
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
	u64 bytes; /* of BAR_MEM; 0: no card memory can be used */
	bool no_iomem; /* BAR_MEM got no address */
	bool hidden; /* the resource is, while the driver has the card */
	unsigned long saved_flags; /* its own */
	bool on; /* the memory is P2PDMA's */
	struct gen_pool *pool; /* else: of bus addresses of the CPU */
	struct list_head pieces;
};

/* A piece of card memory with one owner. */
struct dingo_piece {
	struct list_head entry; /* dingo_p2p.pieces */
	size_t bytes; /* multiple of PAGE_SIZE */
	void *va; /* of its pages; NULL: it has none */
	phys_addr_t phys;
	u64 bus; /* as the card names it */
	pid_t pid; /* who asked for it */
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
