// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Doorbells: pages of BAR_DB, 8-byte slots in them, and the protocol by which
 * the kernel rings one (contract: doorbell page).
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/idr.h>
#include <linux/io.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "dingo.h"

#define DINGO_DB_LINE 64 /* bytes covered by a dirty byte */

/* A user gets at most 1/SHARE of the pages, but at least MIN pages. */
#define DINGO_DB_USER_SHARE 4
#define DINGO_DB_USER_MIN 4

/**
 * dingo_db_init() - map the doorbell BAR and open the kernel's own space
 * @dev: the card; registers are readable
 *
 * Return: 0, -EINVAL if the size of the BAR does not match DB_PAGES, -ENOMEM.
 */
int dingo_db_init(struct dingo_dev *dev)
{
	resource_size_t bytes = pci_resource_len(dev->pdev, DINGO_BAR_DB);

	BUILD_BUG_ON(PAGE_SIZE % DINGO_DB_PAGE_SIZE);

	dev->db_pages = dingo_read32(dev, DINGO_REG_DB_PAGES);
	if (dev->caps & DINGO_CAP_PUSH)
		dev->push_pages = dingo_read32(dev, DINGO_REG_PUSH_PAGES);
	if (!dev->db_pages || dev->push_pages > dev->db_pages ||
	    ((u64)dev->db_pages + dev->push_pages) * DINGO_DB_PAGE_SIZE >
		    bytes) {
		dev_err(&dev->pdev->dev, "%u doorbell pages and %u push pages in a BAR of %pa bytes\n",
			dev->db_pages, dev->push_pages, &bytes);
		return -EINVAL;
	}

	if (dev->caps & DINGO_CAP_DB_MEMORY) {
		dev->db_mem = memremap(pci_resource_start(dev->pdev,
							  DINGO_BAR_DB),
				       (size_t)dev->db_pages * DINGO_DB_PAGE_SIZE,
				       MEMREMAP_WB);
		if (!dev->db_mem)
			return -ENOMEM;
	}
	ida_init(&dev->db_page_ida);
	xa_init(&dev->db_users);
	mutex_init(&dev->db_users_lock);
	dingo_db_space_init(dev, &dev->kernel_db, true);
	dingo_db_space_init(dev, &dev->verbs_db, true);
	return 0;
}

/**
 * dingo_db_cleanup() - undo dingo_db_init()
 * @dev: the card; all other spaces are destroyed
 */
void dingo_db_cleanup(struct dingo_dev *dev)
{
	dingo_db_space_destroy(&dev->verbs_db);
	dingo_db_space_destroy(&dev->kernel_db);
	mutex_destroy(&dev->db_users_lock);
	xa_destroy(&dev->db_users);
	WARN_ON_ONCE(!ida_is_empty(&dev->db_page_ida));
	ida_destroy(&dev->db_page_ida);
	if (dev->db_mem)
		memunmap(dev->db_mem);
	dev->db_mem = NULL;
}

/**
 * dingo_db_space_init() - open a space without pages
 * @dev: the card
 * @space: the space
 * @kernel: the kernel rings its doorbells; else a process does
 *
 * A process's space is charged to the user who opens it, except privileged
 * ones.
 */
void dingo_db_space_init(struct dingo_dev *dev, struct dingo_db_space *space,
			 bool kernel)
{
	space->dev = dev;
	mutex_init(&space->lock);
	INIT_LIST_HEAD(&space->pages);
	space->kernel = kernel;
	space->user = from_kuid(&init_user_ns, current_uid());
	space->limited = !kernel && !capable(CAP_SYS_RESOURCE);
}
EXPORT_SYMBOL_NS_GPL(dingo_db_space_init, DINGO_NS);

/* Adds @pages, 1 or -1, to the user's count. */
static int dingo_db_charge(struct dingo_db_space *space, int pages)
{
	struct dingo_dev *dev = space->dev;
	unsigned long limit = max(dev->db_pages / DINGO_DB_STEP /
					  DINGO_DB_USER_SHARE,
				  DINGO_DB_USER_MIN);
	unsigned long has;
	int err = 0;

	if (!space->limited)
		return 0;
	mutex_lock(&dev->db_users_lock);
	has = xa_to_value(xa_load(&dev->db_users, space->user) ?:
				  xa_mk_value(0));
	has += pages;
	if (pages > 0 && has > limit)
		err = -ENOSPC;
	else if (has)
		err = xa_err(xa_store(&dev->db_users, space->user,
				      xa_mk_value(has), GFP_KERNEL));
	else
		xa_erase(&dev->db_users, space->user);
	mutex_unlock(&dev->db_users_lock);
	return err;
}

static void dingo_db_page_free(struct dingo_db_space *space,
			       struct dingo_db_page *page)
{
	struct dingo_dev *dev = space->dev;

	dingo_db_charge(space, -1);
	list_del(&page->entry);
	if (page->io)
		iounmap(page->io);
	ida_free(&dev->db_page_ida, page->index / DINGO_DB_STEP);
	kfree(page);
}

/**
 * dingo_db_space_destroy() - give back all pages of a space
 * @space: the space; all doorbells are freed and no process maps its pages
 */
void dingo_db_space_destroy(struct dingo_db_space *space)
{
	struct dingo_db_page *page, *next;

	list_for_each_entry_safe(page, next, &space->pages, entry) {
		WARN_ON_ONCE(!bitmap_empty(page->used, DINGO_DB_SLOTS));
		dingo_db_page_free(space, page);
	}
	mutex_destroy(&space->lock);
}
EXPORT_SYMBOL_NS_GPL(dingo_db_space_destroy, DINGO_NS);

static struct dingo_db_page *dingo_db_page_alloc(struct dingo_db_space *space)
{
	struct dingo_dev *dev = space->dev;
	u32 num = dev->db_pages / DINGO_DB_STEP;
	/* Page 0 is for EQs and Ethernet rings, which can use no other page. */
	u32 min = space == &dev->kernel_db ? 0 : DINGO_DB_PAGE_KERNEL + 1;
	struct dingo_db_page *page;
	phys_addr_t push_phys;
	int index, err;

	lockdep_assert_held(&space->lock);
	if (min >= num)
		return ERR_PTR(-ENOSPC);
	page = kzalloc(sizeof(*page), GFP_KERNEL_ACCOUNT);
	if (!page)
		return ERR_PTR(-ENOMEM);
	err = dingo_db_charge(space, 1);
	if (err)
		goto err_page;
	index = ida_alloc_range(&dev->db_page_ida, min, num - 1, GFP_KERNEL);
	if (index < 0) {
		err = index;
		goto err_charge;
	}
	page->index = index * DINGO_DB_STEP;
	page->phys = pci_resource_start(dev->pdev, DINGO_BAR_DB) +
		     (phys_addr_t)page->index * DINGO_DB_PAGE_SIZE;
	push_phys = page->phys + (phys_addr_t)dev->db_pages * DINGO_DB_PAGE_SIZE;
	/* A large page of this kernel may contain others' push pages. */
	if (page->index + DINGO_DB_STEP <= dev->push_pages &&
	    IS_ALIGNED(push_phys, PAGE_SIZE))
		page->push_phys = push_phys;
	if (dev->db_mem) {
		page->mem = dev->db_mem +
			    (size_t)page->index * DINGO_DB_PAGE_SIZE;
	} else if (space->kernel) {
		page->io = ioremap(page->phys, DINGO_DB_PAGE_SIZE);
		if (!page->io) {
			err = -ENOMEM;
			goto err_index;
		}
	}
	list_add_tail(&page->entry, &space->pages);
	return page;

err_index:
	ida_free(&dev->db_page_ida, index);
err_charge:
	dingo_db_charge(space, -1);
err_page:
	kfree(page);
	return ERR_PTR(err);
}

/**
 * dingo_db_alloc() - take a slot
 * @space: its space, which gets a new page if all are full
 * @db: the result
 *
 * Return: 0, -ENOMEM, -ENOSPC when the BAR has no free page, or the user has
 * used up their share.
 */
int dingo_db_alloc(struct dingo_db_space *space, struct dingo_db *db)
{
	struct dingo_db_page *page;
	u32 slot;
	int err = 0;

	mutex_lock(&space->lock);
	list_for_each_entry(page, &space->pages, entry) {
		slot = find_next_zero_bit(page->used, DINGO_DB_SLOTS,
					  DINGO_DB_FIRST_SLOT);
		if (slot < DINGO_DB_SLOTS)
			goto found;
	}
	page = dingo_db_page_alloc(space);
	if (IS_ERR(page)) {
		err = PTR_ERR(page);
		goto out;
	}
	slot = DINGO_DB_FIRST_SLOT;
found:
	__set_bit(slot, page->used);
	db->page = page;
	db->slot = slot;
out:
	mutex_unlock(&space->lock);
	return err;
}
EXPORT_SYMBOL_NS_GPL(dingo_db_alloc, DINGO_NS);

/**
 * dingo_db_alloc_pair() - take two slots of one page
 * @space: their space, which gets a new page if no page has two free slots
 * @first: a result
 * @second: a result
 *
 * For queue pairs, whose two queues are rung from the same page.
 * Return: 0, -ENOMEM, -ENOSPC when the BAR has no free page, or the user has
 * used up their share.
 */
int dingo_db_alloc_pair(struct dingo_db_space *space, struct dingo_db *first,
			struct dingo_db *second)
{
	struct dingo_db_page *page;
	u32 a, b;
	int err = 0;

	mutex_lock(&space->lock);
	list_for_each_entry(page, &space->pages, entry) {
		a = find_next_zero_bit(page->used, DINGO_DB_SLOTS,
				       DINGO_DB_FIRST_SLOT);
		b = find_next_zero_bit(page->used, DINGO_DB_SLOTS, a + 1);
		if (b < DINGO_DB_SLOTS)
			goto found;
	}
	page = dingo_db_page_alloc(space);
	if (IS_ERR(page)) {
		err = PTR_ERR(page);
		goto out;
	}
	a = DINGO_DB_FIRST_SLOT;
	b = DINGO_DB_FIRST_SLOT + 1;
found:
	__set_bit(a, page->used);
	__set_bit(b, page->used);
	*first = (struct dingo_db){ .page = page, .slot = a };
	*second = (struct dingo_db){ .page = page, .slot = b };
out:
	mutex_unlock(&space->lock);
	return err;
}
EXPORT_SYMBOL_NS_GPL(dingo_db_alloc_pair, DINGO_NS);

/* Informs a card that polls the page of a new value. */
static void dingo_db_mark_dirty(struct dingo_dev *dev,
				const struct dingo_db *db)
{
	u8 *dirty = db->page->mem + DINGO_DB_DIRTY_OFFSET;
	__le32 *need_kick = db->page->mem + DINGO_DB_NEED_KICK_OFFSET;

	/* The value must be visible before the dirty byte. */
	wmb();
	WRITE_ONCE(dirty[db->slot * sizeof(u64) / DINGO_DB_LINE], 1);
	/* Either need_kick is read as set, or the card sees the value. */
	mb();
	if (READ_ONCE(*need_kick))
		dingo_write32(dev, DINGO_KICK_PAGE_OFFSET, 1);
}

/* Stores a value in a page that the card polls. */
static void dingo_db_store(struct dingo_dev *dev, const struct dingo_db *db,
			   u64 value)
{
	__le64 *slots = db->page->mem;

	WRITE_ONCE(slots[db->slot], cpu_to_le64(value));
	dingo_db_mark_dirty(dev, db);
}

/**
 * dingo_db_clear() - forget the last value rung
 * @dev: the card
 * @db: the doorbell; not rung meanwhile
 *
 * A polling card detects a doorbell by a change of the slot's value. The first
 * value after a restart (another owner, a QP that was reset) may equal the last
 * one before. So 0, which is no doorbell, is stored in between; the card reads
 * the slots before each admin command.
 */
void dingo_db_clear(struct dingo_dev *dev, const struct dingo_db *db)
{
	if (db->page->mem && dingo_is_up(dev))
		dingo_db_store(dev, db, 0);
}
EXPORT_SYMBOL_NS_GPL(dingo_db_clear, DINGO_NS);

/**
 * dingo_db_free() - give back a slot
 * @space: as for dingo_db_alloc()
 * @db: the doorbell; its object is destroyed
 */
void dingo_db_free(struct dingo_db_space *space, struct dingo_db *db)
{
	dingo_db_clear(space->dev, db);
	mutex_lock(&space->lock);
	__clear_bit(db->slot, db->page->used);
	mutex_unlock(&space->lock);
	db->page = NULL;
}
EXPORT_SYMBOL_NS_GPL(dingo_db_free, DINGO_NS);

/**
 * dingo_db_ring() - ring a doorbell of a kernel space
 * @dev: the card
 * @db: the doorbell; callers serialize rings of one doorbell
 * @word0: dingo_db_word0() and arm bits
 * @index: producer or consumer index
 *
 * All earlier stores to the ring are visible to the card before it sees the
 * doorbell. Any context.
 */
void dingo_db_ring(struct dingo_dev *dev, const struct dingo_db *db, u32 word0,
		   u32 index)
{
	u64 value = (u64)index << 32 | word0;

	if (db->page->mem) {
		/* writeq() includes this barrier in the other case. */
		wmb();
		dingo_db_store(dev, db, value);
	} else {
		writeq(value, db->page->io + db->slot * sizeof(u64));
	}
}
EXPORT_SYMBOL_NS_GPL(dingo_db_ring, DINGO_NS);

static u32 dingo_db_next_arm(u32 bits, bool seen, bool solicited)
{
	u32 sn = FIELD_GET(DINGO_DOORBELL_WORD0_ARM_SN_MASK, bits) + seen;

	/* A request that the card has not seen yet is merged. */
	if (!seen && !(bits & DINGO_DOORBELL_WORD0_ARM_SOLICITED_MASK))
		solicited = false;
	return FIELD_PREP(DINGO_DOORBELL_WORD0_ARM_SN_MASK,
			  sn & FIELD_MAX(DINGO_DOORBELL_WORD0_ARM_SN_MASK)) |
	       FIELD_PREP(DINGO_DOORBELL_WORD0_ARM_SOLICITED_MASK, solicited);
}

/**
 * dingo_db_ring_cq() - ring the doorbell of a kernel CQ
 * @dev: the card
 * @db: the doorbell; callers serialize
 * @cqn: number of the CQ
 * @index: consumer index
 * @arm: ask for an event
 * @solicited: only after a solicited completion
 * @arm_bits: ARM_SN and ARM_SOLICITED as last rung; 0 at first
 *
 * A card that polls the page may miss a value that is overwritten, so a request
 * to arm that it has not taken is kept in the new value (contract, doorbell
 * page: TAKEN).
 */
void dingo_db_ring_cq(struct dingo_dev *dev, const struct dingo_db *db,
		      u32 cqn, u32 index, bool arm, bool solicited,
		      u32 *arm_bits)
{
	u32 word0 = dingo_db_word0(DINGO_DB_CQ, cqn), bits;
	u64 old, value, *slot;
	bool seen;

	if (!db->page->mem) {
		if (arm)
			*arm_bits = dingo_db_next_arm(*arm_bits, true,
						      solicited);
		dingo_db_ring(dev, db, word0 | *arm_bits, index);
		return;
	}
	slot = (u64 *)db->page->mem + db->slot;
	/* Reads of the ring's entries must precede their reuse by the card. */
	mb();
	old = READ_ONCE(*slot);
	do {
		seen = !old || (le64_to_cpu((__force __le64)old) &
				DINGO_DOORBELL_WORD0_TAKEN_MASK);
		bits = arm ? dingo_db_next_arm(*arm_bits, seen, solicited) :
			     *arm_bits;
		value = (u64)index << 32 | word0 | bits;
		if (seen && !arm)
			value |= DINGO_DOORBELL_WORD0_TAKEN_MASK;
	} while (!try_cmpxchg64(slot, &old, (__force u64)cpu_to_le64(value)));
	*arm_bits = bits;
	dingo_db_mark_dirty(dev, db);
}
EXPORT_SYMBOL_NS_GPL(dingo_db_ring_cq, DINGO_NS);
