/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The interface between dingo.ko (eth) and dingo_ib.ko (ib): the card,
 * doorbells, queue memory, commands, events, card memory. The only header that
 * both include; the functions are exported in the namespace DINGO.
 */
#ifndef DINGO_CORE_H
#define DINGO_CORE_H

#include <linux/atomic.h>
#include <linux/auxiliary_bus.h>
#include <linux/bitfield.h>
#include <linux/interrupt.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "compat.h"
#include "dingo_hw.h"
#include "dingo_p2p.h"

struct devlink;
struct devlink_health_reporter;
struct dingo_admin;
struct dingo_dev;

/* ------------------------------------------------------------- dingo_db.c */

/*
 * A process gets whole pages of this kernel. If such a page contains several
 * doorbell pages, only the first of them is used.
 */
#define DINGO_DB_STEP (PAGE_SIZE / DINGO_DB_PAGE_SIZE)

/* A page of the doorbell BAR that belongs to one space. */
struct dingo_db_page {
	struct list_head entry; /* dingo_db_space.pages */
	u32 index; /* number of the page, cmd_create_*.db_page */
	phys_addr_t phys; /* for mmap() */
	phys_addr_t push_phys; /* push page, for mmap(); 0: none */
	void *mem; /* kernel's view, with DB_MEMORY */
	void __iomem *io; /* kernel's view otherwise; kernel spaces only */
	DECLARE_BITMAP(used, DINGO_DB_SLOTS);
	void *priv; /* for the owner, e.g. its mmap entry; initially NULL */
	void *push_priv; /* the same for the push page */
};

/* Pages of one owner: the kernel, or one user context. */
struct dingo_db_space {
	struct dingo_dev *dev;
	struct mutex lock; /* protects pages and their bitmaps */
	struct list_head pages;
	bool kernel; /* the kernel rings these doorbells: pages are mapped */
	bool limited; /* @user is limited to a share of the pages */
	u32 user; /* uid */
};

/* One ring's doorbell: slot @slot of @page. */
struct dingo_db {
	struct dingo_db_page *page;
	u32 slot;
};

void dingo_db_space_init(struct dingo_dev *dev, struct dingo_db_space *space,
			 bool kernel);
void dingo_db_space_destroy(struct dingo_db_space *space);
int dingo_db_alloc(struct dingo_db_space *space, struct dingo_db *db);
int dingo_db_alloc_pair(struct dingo_db_space *space, struct dingo_db *first,
			struct dingo_db *second);
void dingo_db_free(struct dingo_db_space *space, struct dingo_db *db);
void dingo_db_clear(struct dingo_dev *dev, const struct dingo_db *db);
void dingo_db_ring(struct dingo_dev *dev, const struct dingo_db *db, u32 word0,
		   u32 index);
void dingo_db_ring_cq(struct dingo_dev *dev, const struct dingo_db *db,
		      u32 cqn, u32 index, bool arm, bool solicited,
		      u32 *arm_bits);

/**
 * dingo_db_word0() - first word of a doorbell
 * @type: DINGO_DB_*
 * @object: number of the queue
 *
 * Return: the word; the caller adds the arm bits.
 */
static inline u32 dingo_db_word0(u32 type, u32 object)
{
	return FIELD_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, type) |
	       FIELD_PREP(DINGO_DOORBELL_WORD0_OBJECT_MASK, object);
}

/* ----------------------------------------------------------- dingo_ring.c */

/*
 * Page list of a ring or memory region, as struct dingo_mem describes it: one
 * range, one list, or a root and leaves. The lists are coherent memory.
 */
struct dingo_pbl {
	size_t entries;
	u8 levels; /* 0: no list, @base is the range itself */
	u8 page_shift;
	dma_addr_t base; /* range, list or root */
	__le64 *list; /* levels 1: the list; 2: the root */
	__le64 **leaves; /* levels 2 */
	size_t num_leaves;
};

int dingo_pbl_alloc(struct dingo_dev *dev, struct dingo_pbl *pbl,
		    size_t entries, u8 page_shift, gfp_t gfp);
void dingo_pbl_free(struct dingo_dev *dev, struct dingo_pbl *pbl);
void dingo_pbl_set(struct dingo_pbl *pbl, size_t index, dma_addr_t addr);
void dingo_pbl_describe(const struct dingo_pbl *pbl, u32 offset,
			struct dingo_mem *mem);

enum dingo_ring_kind {
	DINGO_RING_NONE,
	DINGO_RING_COHERENT, /* kernel queues: dma_alloc_coherent() */
	DINGO_RING_RANGE, /* user queues: one range, if DMA is direct */
	DINGO_RING_PAGES, /* else: single pages of dma_alloc_pages() */
};

/*
 * Queue memory, zeroed. Each page of a user queue has its own reference, so
 * that vm_insert_pages() works and mapped pages outlive the queue.
 */
struct dingo_ring {
	enum dingo_ring_kind kind;
	size_t bytes; /* multiple of PAGE_SIZE */
	u32 num_pages;
	struct page **pages; /* except DINGO_RING_COHERENT */
	dma_addr_t *dma; /* per page; DINGO_RING_PAGES only */
	void *va; /* kernel's view; NULL for user queues */
	struct dingo_pbl pbl;
};

/* User rings: charged to the caller's memory control group, no kernel view. */
#define DINGO_RING_USER BIT(0)

int dingo_ring_alloc(struct dingo_dev *dev, struct dingo_ring *ring,
		     size_t bytes, unsigned int flags);
void dingo_ring_free(struct dingo_dev *dev, struct dingo_ring *ring);
void dingo_ring_describe(const struct dingo_ring *ring, struct dingo_mem *mem);
int dingo_ring_mmap(const struct dingo_ring *ring, struct vm_area_struct *vma);

/* ------------------------------------------------------------ dingo_cmd.c */

/*
 * One function per admin command; all may sleep. They return 0 or -EINVAL
 * (refused field or state), -ENOENT, -EEXIST, -EBUSY, -ENOMEM (card is full),
 * -EIO (bus error, or the device has failed), -EOPNOTSUPP. Once the device
 * has failed or is gone, every command returns -EIO at once, except that the
 * destroy commands return 0: the card has lost all objects and does no DMA.
 * If a command structure is passed, the function fills in its hdr.
 */
int dingo_cmd_nop(struct dingo_dev *dev);
int dingo_cmd_query_device(struct dingo_dev *dev, struct dingo_limits *limits);
int dingo_cmd_query_card_stats(struct dingo_dev *dev, u64 *values, u32 num);
int dingo_cmd_query_qp_stats(struct dingo_dev *dev, u32 qpn, u64 *values,
			     u32 num);
int dingo_cmd_set_port(struct dingo_dev *dev, u32 flags, u32 mtu);
int dingo_cmd_set_mac(struct dingo_dev *dev, u32 index, const u8 *mac);
int dingo_cmd_set_gid(struct dingo_dev *dev, u32 index, const u8 *gid,
		      const u8 *mac, u16 vlan, u16 domain);
int dingo_cmd_create_eq(struct dingo_dev *dev, u32 eqn, u16 vector, u8 log_size,
			u8 flags, const struct dingo_mem *ring);
int dingo_cmd_destroy_eq(struct dingo_dev *dev, u32 eqn);
int dingo_cmd_create_cq(struct dingo_dev *dev, u32 cqn, u32 eqn, u32 db_page,
			u8 log_size, const struct dingo_mem *ring);
int dingo_cmd_resize_cq(struct dingo_dev *dev, u32 cqn, u8 log_size,
			const struct dingo_mem *ring, u32 *switch_index);
int dingo_cmd_modify_cq(struct dingo_dev *dev, u32 cqn, u16 count, u16 period);
int dingo_cmd_destroy_cq(struct dingo_dev *dev, u32 cqn);
int dingo_cmd_create_mr(struct dingo_dev *dev, struct dingo_cmd_create_mr *cmd);
int dingo_cmd_rereg_mr(struct dingo_dev *dev, struct dingo_cmd_create_mr *cmd);
int dingo_cmd_pause_mr(struct dingo_dev *dev, u32 key);
int dingo_cmd_destroy_mr(struct dingo_dev *dev, u32 key);
int dingo_cmd_create_qp(struct dingo_dev *dev, struct dingo_cmd_create_qp *cmd);
int dingo_cmd_modify_qp(struct dingo_dev *dev, struct dingo_cmd_modify_qp *cmd);
int dingo_cmd_query_qp(struct dingo_dev *dev, u32 qpn,
		       struct dingo_qp_info *info);
int dingo_cmd_set_compute(struct dingo_dev *dev, u32 qpn, u32 kernel,
			  u32 param, u32 direction);
int dingo_cmd_query_compute(struct dingo_dev *dev, u32 index, u64 *result);
int dingo_cmd_attach_mcast(struct dingo_dev *dev, u32 qpn, const u8 *gid);
int dingo_cmd_detach_mcast(struct dingo_dev *dev, u32 qpn, const u8 *gid);
int dingo_cmd_destroy_qp(struct dingo_dev *dev, u32 qpn);
int dingo_cmd_create_srq(struct dingo_dev *dev,
			 struct dingo_cmd_create_srq *cmd);
int dingo_cmd_modify_srq(struct dingo_dev *dev, u32 srqn, u32 limit);
int dingo_cmd_query_srq(struct dingo_dev *dev, u32 srqn, u32 *limit,
			u32 *available);
int dingo_cmd_destroy_srq(struct dingo_dev *dev, u32 srqn);
int dingo_cmd_create_eth(struct dingo_dev *dev, u8 kind, u8 ring, u8 log_size,
			 u32 cqn, const struct dingo_mem *mem);
int dingo_cmd_destroy_eth(struct dingo_dev *dev, u8 kind, u8 ring);
int dingo_cmd_set_rss(struct dingo_dev *dev, const u8 *key, const u8 *rings);

/* ------------------------------------------------------------- dingo_eq.c */

/*
 * The part of a completion queue that events need; embedded in the owner's
 * structure. Owner: dingo_cq_add(), ring memory, CREATE_CQ ... DESTROY_CQ,
 * dingo_cq_del(), free. Both handlers run in hard interrupt context and may
 * be called spuriously between add and del (an old event of the same number).
 */
struct dingo_cq_core {
	u32 cqn; /* from dingo_cq_add() */
	u32 eqn; /* from dingo_cq_add(), for CREATE_CQ */
	unsigned int vector; /* completion vector 0..num_comp_vectors-1 */
	void (*comp)(struct dingo_cq_core *cq);
	void (*error)(struct dingo_cq_core *cq); /* CQ_ERR */
};

struct dingo_eq {
	struct dingo_dev *dev;
	struct dingo_ring ring;
	struct dingo_db db;
	u32 eqn;
	u16 vector; /* MSI-X */
	u8 log_size;
	bool created; /* exists on the card */
	u32 consumer;
	u64 events; /* handled so far */
	bool waiting; /* the last tick found an unhandled entry ... */
	u32 waiting_at; /* ... at this index */
	char irq_name[40];
};

int dingo_cq_add(struct dingo_dev *dev, struct dingo_cq_core *cq,
		 unsigned int vector);
void dingo_cq_del(struct dingo_dev *dev, struct dingo_cq_core *cq);

/* ---------------------------------------------------------- dingo_reset.c */

enum dingo_state {
	DINGO_STATE_DOWN, /* probing, or between down and up of a reset */
	DINGO_STATE_UP,
	DINGO_STATE_FAILED, /* no command is possible until a reset */
};

void dingo_fail(struct dingo_dev *dev, const char *why);

/*
 * One card. Lifetime: probe to remove (it is the private part of @devlink).
 * dingo_ib.ko reads pdev, caps, limits, num_comp_vectors, netdev and p2p.bytes,
 * and passes verbs_db to dingo_db_alloc(); it uses all else through functions.
 */
struct dingo_dev {
	struct pci_dev *pdev;
	struct devlink *devlink;
	struct devlink_health_reporter *fatal_reporter;
	struct devlink_health_reporter *tx_reporter;
	bool has_params; /* devlink parameters are registered */
	bool without_rdma; /* enable_rdma as of the last reload, negated */
	int bars; /* requested BARs, a bit each */
	void __iomem *regs; /* BAR_REGS */

	/* Capabilities and limits reported by the card, constant between two
	 * resets. @limits is little-endian.
	 */
	u64 card_caps; /* DINGO_CAP_*, as in the register */
	u64 caps; /* those that are usable with its limits */
	struct dingo_limits limits;

	/* Interrupts: vector 0 = admin and async; see dingo_eq.c. */
	unsigned int num_vectors; /* allocated MSI-X vectors */
	unsigned int num_comp_vectors; /* completion EQs, >= 1 */
	char irq_name[40]; /* of vector 0 */

	struct dingo_admin *admin;
	struct dingo_p2p p2p; /* card memory */

	void *db_mem; /* BAR_DB, with DB_MEMORY */
	u32 db_pages;
	u32 push_pages; /* of the first doorbell pages; 0 without PUSH */
	struct ida db_page_ida;
	struct dingo_db_space kernel_db; /* EQs, Ethernet: page 0 */
	struct dingo_db_space verbs_db; /* kernel verbs queues */
	struct xarray db_users; /* uid -> pages, as a value */
	struct mutex db_users_lock;

	struct dingo_eq async_eq;
	struct dingo_eq *comp_eqs; /* num_comp_vectors */
	struct xarray cqs; /* CQN -> struct dingo_cq_core */
	struct mutex late_lock; /* held while handlers run without an interrupt */
	u32 cqn_next;
	u32 eth_cqs; /* lower CQNs are reserved for the netdev; since probe */
	u32 eth_cqn_next;

	struct net_device *netdev; /* exists while the card is bound */
	struct dingo_aux *aux; /* NULL while down; under reset_lock */
	struct dingo_listener *listener; /* that of dingo_ib.ko, or NULL */

	enum dingo_state state; /* written under state_lock */
	spinlock_t state_lock;
	const char *fail_reason; /* reason of the last failure, or NULL */
	bool gone; /* unplugged or about to be removed: no recovery */
	atomic_t expect; /* nesting of dingo_expect() */
	atomic_t hurry; /* nesting of dingo_hurry() */
	u32 resets; /* register RESETS, as last read */
	struct pci_saved_state *pci_state; /* as of probe */
	struct mutex reset_lock; /* serializes down, up and removal */
	struct lock_class_key reset_key; /* of reset_lock */
	bool running; /* between up and down; under reset_lock */
	struct work_struct recover_work;
	struct delayed_work health_work;
};

/* Returns true if commands can succeed; false from the moment of failure. */
static inline bool dingo_is_up(const struct dingo_dev *dev)
{
	return READ_ONCE(dev->state) == DINGO_STATE_UP;
}

static inline struct device *dingo_dma_dev(struct dingo_dev *dev)
{
	return &dev->pdev->dev;
}

static inline u32 dingo_read32(struct dingo_dev *dev, u32 reg)
{
	return readl(dev->regs + reg);
}

static inline void dingo_write32(struct dingo_dev *dev, u32 reg, u32 value)
{
	writel(value, dev->regs + reg);
}

static inline u64 dingo_read64(struct dingo_dev *dev, u32 reg)
{
	return readq(dev->regs + reg);
}

static inline void dingo_write64(struct dingo_dev *dev, u32 reg, u64 value)
{
	writeq(value, dev->regs + reg);
}

/* ------------------------------------------------------------ dingo_aux.c */

#define DINGO_AUX_NAME "rdma"

/*
 * The device that dingo_ib.ko binds to. It exists while the card works: it is
 * created after the netdev and removed before it. A reset removes it (the
 * driver's remove() destroys all objects; each destroy command returns 0 if the
 * card has failed) and creates it again. So between probe() and remove() caps
 * and limits do not change, and queues stay on the card unless the card fails.
 */
struct dingo_aux {
	struct auxiliary_device adev;
	struct dingo_dev *dev;
};

static inline struct dingo_dev *dingo_aux_dev(struct auxiliary_device *adev)
{
	return container_of(adev, struct dingo_aux, adev)->dev;
}

/*
 * Called while the card, its rings or its RDMA side start: a card that answers
 * no command for DINGO_ADMIN_START_TIMEOUT_MS then fails, because the starting
 * thread holds locks that are needed to take the device down.
 */
static inline void dingo_expect(struct dingo_dev *dev)
{
	atomic_inc(&dev->expect);
}

static inline void dingo_expect_end(struct dingo_dev *dev)
{
	atomic_dec(&dev->expect);
}

/*
 * Called while the device is taken down: a card that answers no command for
 * DINGO_ADMIN_LEAVE_TIMEOUT_MS then fails, so that threads waiting for it
 * continue. Must be called before taking any lock that these threads may hold.
 */
static inline void dingo_hurry(struct dingo_dev *dev)
{
	atomic_inc(&dev->hurry);
}

static inline void dingo_hurry_end(struct dingo_dev *dev)
{
	atomic_dec(&dev->hurry);
}

/*
 * Receiver of all events except COMPLETION and CQ_ERR (those go to struct
 * dingo_cq_core), including DEVICE_FATAL if dingo.ko itself declared the card
 * failed. Atomic context. Carrier changes have been handled already.
 */
struct dingo_listener {
	void (*event)(struct dingo_listener *listener,
		      const struct dingo_eqe *eqe);
};

void dingo_listen(struct dingo_dev *dev, struct dingo_listener *listener);
void dingo_unlisten(struct dingo_dev *dev);

#endif
