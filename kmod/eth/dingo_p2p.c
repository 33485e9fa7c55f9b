// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Card memory, BAR_MEM. While peer to peer is on, the kernel's P2PDMA manages
 * it: it has struct pages, and other devices may access it. If it is off, or
 * the kernel has no P2PDMA, only the card uses it, and processes map it as a
 * BAR.
 */
#include <linux/bitfield.h>
#include <linux/cc_platform.h>
#include <linux/ctype.h>
#include <linux/device.h>
#include <linux/genalloc.h>
#include <linux/io.h>
#include <linux/pci-p2pdma.h>
#include <linux/sysfs.h>

#include "dingo.h"

/* Device resources of P2PDMA are in this devres group. */
#define DINGO_P2P_GROUP(dev) (&(dev)->p2p)
/* Distance of the BARs' control registers in the Resizable BAR capability. */
#define DINGO_REBAR_STEP 8

/* Memory is zeroed in steps of this size; the process can be killed between. */
#define DINGO_ZERO_STEP SZ_64K

/* Returns true if the kernel has assigned an address to BAR_MEM. */
static bool dingo_p2p_has_address(struct pci_dev *pdev)
{
	return pdev->resource[DINGO_BAR_MEM].parent;
}

/**
 * dingo_p2p_prepare() - handle a BAR_MEM without address, before enabling
 * @dev: the card
 *
 * The kernel does not enable a function that has a BAR without address, but the
 * card works without its memory. So the BAR is hidden and set to 0, which
 * decodes nothing: its value after power-up may be the address of another
 * device.
 *
 * Return: the BARs to request, a bit each.
 */
int dingo_p2p_prepare(struct dingo_dev *dev)
{
	struct pci_dev *pdev = dev->pdev;
	int bars = pci_select_bars(pdev, IORESOURCE_MEM);

	dev->p2p.hidden = (bars & BIT(DINGO_BAR_MEM)) &&
			  !dingo_p2p_has_address(pdev);
	if (!dev->p2p.hidden)
		return bars;
	pci_write_config_dword(pdev, PCI_BASE_ADDRESS_4, 0);
	pci_write_config_dword(pdev, PCI_BASE_ADDRESS_5, 0);
	dev->p2p.saved_flags = pdev->resource[DINGO_BAR_MEM].flags;
	pdev->resource[DINGO_BAR_MEM].flags = 0;
	return bars & ~BIT(DINGO_BAR_MEM);
}

/**
 * dingo_p2p_release() - undo dingo_p2p_prepare()
 * @dev: the card
 */
void dingo_p2p_release(struct dingo_dev *dev)
{
	if (dev->p2p.hidden)
		dev->pdev->resource[DINGO_BAR_MEM].flags = dev->p2p.saved_flags;
}

/* Return: configuration space offset of BAR_MEM's
 * size control register, or 0.
 */
static int dingo_p2p_size_control(struct pci_dev *pdev)
{
	int at = pci_find_ext_capability(pdev, PCI_EXT_CAP_ID_REBAR);
	u32 control;
	int bars, n;

	if (!at)
		return 0;
	at += PCI_REBAR_CTRL;
	pci_read_config_dword(pdev, at, &control);
	bars = FIELD_GET(PCI_REBAR_CTRL_NBAR_MASK, control);
	for (n = 0; n < bars; n++, at += DINGO_REBAR_STEP) {
		pci_read_config_dword(pdev, at, &control);
		if (FIELD_GET(PCI_REBAR_CTRL_BAR_IDX, control) == DINGO_BAR_MEM)
			return at;
	}
	return 0;
}

/**
 * dingo_p2p_restore_config() - pci_restore_state() that keeps BAR_MEM's size
 * @dev: the card
 *
 * The kernel restores the size from the resource. A resource without address
 * has no size, but the size set by the administrator must be kept for the next
 * boot.
 */
void dingo_p2p_restore_config(struct dingo_dev *dev)
{
	struct pci_dev *pdev = dev->pdev;
	u32 control;
	int at = 0;

	if (dev->p2p.hidden)
		at = dingo_p2p_size_control(pdev);
	if (at)
		pci_read_config_dword(pdev, at, &control);
	pci_restore_state(pdev);
	if (at)
		pci_write_config_dword(pdev, at, control);
}

static int dingo_p2p_make_pool(struct dingo_dev *dev)
{
	phys_addr_t start = pci_resource_start(dev->pdev, DINGO_BAR_MEM);
	struct gen_pool *pool;
	int err;

	pool = gen_pool_create(PAGE_SHIFT, NUMA_NO_NODE);
	if (!pool)
		return -ENOMEM;
	err = gen_pool_add(pool, start, dev->p2p.bytes, NUMA_NO_NODE);
	if (err) {
		gen_pool_destroy(pool);
		return err;
	}
	dev->p2p.pool = pool;
	return 0;
}

static int dingo_p2p_on(struct dingo_dev *dev)
{
	struct pci_dev *pdev = dev->pdev;
	int err;

	/* In such guests the kernel maps pages of P2PDMA as private memory. */
	if (cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT))
		return -EOPNOTSUPP;
	if (!devres_open_group(&pdev->dev, DINGO_P2P_GROUP(dev), GFP_KERNEL))
		return -ENOMEM;
	err = pci_p2pdma_add_resource(pdev, DINGO_BAR_MEM, 0, 0);
	if (err) {
		devres_release_group(&pdev->dev, DINGO_P2P_GROUP(dev));
		return err;
	}
	devres_close_group(&pdev->dev, DINGO_P2P_GROUP(dev));
	pci_p2pmem_publish(pdev, true);
	dev->p2p.on = true;
	return 0;
}

/* Allocating all of the memory fails if any part is in use. */
static int dingo_p2p_off(struct dingo_dev *dev)
{
	struct pci_dev *pdev = dev->pdev;
	void *all;

	pci_p2pmem_publish(pdev, false);
	all = pci_alloc_p2pmem(pdev, dev->p2p.bytes);
	if (!all) {
		pci_p2pmem_publish(pdev, true);
		return -EBUSY;
	}
	pci_free_p2pmem(pdev, all, dev->p2p.bytes);
	devres_release_group(&pdev->dev, DINGO_P2P_GROUP(dev));
	dev->p2p.on = false;
	return 0;
}

static int dingo_p2p_switch(struct dingo_dev *dev, bool on)
{
	int err;

	lockdep_assert_held(&dev->p2p.lock);
	if (on == dev->p2p.on)
		return 0;
	if (!on) {
		err = dingo_p2p_make_pool(dev);
		if (err)
			return err;
		err = dingo_p2p_off(dev);
		if (err) {
			gen_pool_destroy(dev->p2p.pool);
			dev->p2p.pool = NULL;
		}
		return err;
	}
	if (gen_pool_avail(dev->p2p.pool) != dev->p2p.bytes)
		return -EBUSY;
	err = dingo_p2p_on(dev);
	if (err)
		return err;
	gen_pool_destroy(dev->p2p.pool);
	dev->p2p.pool = NULL;
	return 0;
}

/*
 * A resizable BAR is small until an administrator sets it to the size of the
 * memory, which is the consent to peer to peer while it has that size.
 */
static bool dingo_p2p_is_whole(struct dingo_dev *dev)
{
	return dev->p2p.bytes >= DINGO_MEM_MIN_SIZE &&
	       dev->p2p.bytes == dingo_read64(dev, DINGO_REG_MEM_SIZE);
}

/**
 * dingo_p2p_init() - set up card memory, with peer to peer if possible
 * @dev: the card, whose capabilities are known
 *
 * Return: 0 or a negative errno. A missing card memory is not an error.
 */
int dingo_p2p_init(struct dingo_dev *dev)
{
	struct dingo_p2p *p2p = &dev->p2p;
	int err;

	mutex_init(&p2p->lock);
	INIT_LIST_HEAD(&p2p->pieces);
	if (!(dev->caps & DINGO_CAP_DEVICE_MEMORY))
		return 0;
	p2p->no_iomem = !dingo_p2p_has_address(dev->pdev);
	if (p2p->no_iomem) {
		dev_warn(&dev->pdev->dev,
			 "no address space was left for card memory (BAR %d, %llu MiB): 'dingo p2p query' says more\n",
			 DINGO_BAR_MEM,
			 dingo_read64(dev, DINGO_REG_MEM_SIZE) >> 20);
		return 0;
	}
	p2p->bytes = pci_resource_len(dev->pdev, DINGO_BAR_MEM);
	err = dingo_p2p_make_pool(dev);
	if (err)
		goto err_destroy;
	if (!dingo_p2p_is_whole(dev))
		return 0;
	mutex_lock(&p2p->lock);
	err = dingo_p2p_switch(dev, true);
	mutex_unlock(&p2p->lock);
	if (err == -EOPNOTSUPP)
		dev_info(&dev->pdev->dev,
			 "no peer to peer: this kernel has no PCI_P2PDMA\n");
	else if (err)
		dev_warn(&dev->pdev->dev, "no peer to peer: %d\n", err);
	return 0;

err_destroy:
	mutex_destroy(&p2p->lock);
	return err;
}

/**
 * dingo_p2p_cleanup() - undo dingo_p2p_init()
 * @dev: the card; no piece of its memory is used any more
 *
 * P2PDMA's resources are released with the driver, once the last page is free.
 */
void dingo_p2p_cleanup(struct dingo_dev *dev)
{
	struct dingo_p2p *p2p = &dev->p2p;

	WARN_ON_ONCE(!list_empty(&p2p->pieces));
	if (p2p->on)
		pci_p2pmem_publish(dev->pdev, false);
	if (p2p->pool)
		gen_pool_destroy(p2p->pool);
	mutex_destroy(&p2p->lock);
}

/* Zeroes memory; the final read orders the zeros
 * before later writes by others.
 */
static int dingo_zero(void __iomem *io, size_t bytes)
{
	size_t at;

	/* The mapping is uncached: by words, not by bytes like memset_io(). */
	for (at = 0; at < bytes; at += sizeof(u64)) {
		writeq_relaxed(0, io + at);
		if (at % DINGO_ZERO_STEP)
			continue;
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	readq(io + bytes - sizeof(u64));
	return 0;
}

/*
 * From here on each page is freed with its last reference, like pages of
 * p2pmem/allocate, as a transfer may outlive the piece. P2PDMA has taken one
 * reference to itself for all of them.
 */
static void dingo_piece_use_pages(struct dingo_piece *piece)
{
	struct page *page = virt_to_page(piece->va);
	size_t n;

	for (n = 0; n < piece->bytes >> PAGE_SHIFT; n++) {
		if (n)
			percpu_ref_get(dingo_page_ref(page + n));
		set_page_count(page + n, 1);
	}
}

/* Allocates a piece without owner. Peer to peer cannot be switched while it
 * exists.
 */
static int dingo_piece_take(struct dingo_dev *dev, struct dingo_piece *piece)
{
	struct dingo_p2p *p2p = &dev->p2p;

	guard(mutex)(&p2p->lock);
	if (p2p->on) {
		piece->va = pci_alloc_p2pmem(dev->pdev, piece->bytes);
		if (!piece->va)
			return -ENOMEM;
		piece->phys = page_to_phys(virt_to_page(piece->va));
		return 0;
	}
	piece->phys = gen_pool_alloc(p2p->pool, piece->bytes);
	return piece->phys ? 0 : -ENOMEM;
}

static void dingo_piece_put_back(struct dingo_dev *dev,
				 struct dingo_piece *piece)
{
	if (piece->va)
		pci_free_p2pmem(dev->pdev, piece->va, piece->bytes);
	else
		gen_pool_free(dev->p2p.pool, piece->phys, piece->bytes);
}

static int dingo_piece_clear(struct dingo_piece *piece)
{
	void __iomem *io;
	int err;

	if (piece->va)
		return dingo_zero((void __iomem __force *)piece->va,
				  piece->bytes);
	io = ioremap_wc(piece->phys, piece->bytes);
	if (!io)
		return -ENOMEM;
	err = dingo_zero(io, piece->bytes);
	iounmap(io);
	return err;
}

/* Sets the process name without newlines, as p2p_users has a line per piece. */
static void dingo_piece_name(struct dingo_piece *piece)
{
	char *c;

	piece->pid = task_tgid_nr(current);
	get_task_comm(piece->comm, current->group_leader);
	for (c = piece->comm; *c; c++)
		if (!isascii(*c) || !isprint(*c))
			*c = '?';
}

/**
 * dingo_piece_alloc() - allocate a piece of card memory
 * @dev: the card
 * @piece: the result, zeroed memory, valid until dingo_piece_free()
 * @bytes: at least 1
 *
 * Return: 0, -ENOMEM, -EINTR if the process was killed meanwhile.
 */
int dingo_piece_alloc(struct dingo_dev *dev, struct dingo_piece *piece,
		      u64 bytes)
{
	struct dingo_p2p *p2p = &dev->p2p;
	int err;

	if (bytes > p2p->bytes)
		return -ENOMEM;
	piece->bytes = PAGE_ALIGN(bytes);
	err = dingo_piece_take(dev, piece);
	if (err)
		return err;
	err = dingo_piece_clear(piece);
	if (err) {
		dingo_piece_put_back(dev, piece);
		return err;
	}
	if (piece->va)
		dingo_piece_use_pages(piece);
	piece->bus = pci_bus_address(dev->pdev, DINGO_BAR_MEM) +
		     (piece->phys -
		      pci_resource_start(dev->pdev, DINGO_BAR_MEM));
	dingo_piece_name(piece);
	mutex_lock(&p2p->lock);
	list_add_tail(&piece->entry, &p2p->pieces);
	mutex_unlock(&p2p->lock);
	return 0;
}
EXPORT_SYMBOL_NS_GPL(dingo_piece_alloc, DINGO_NS);

/**
 * dingo_piece_free() - free a piece of card memory
 * @dev: the card
 * @piece: the piece; pages that others reference are freed when they release
 * them
 */
void dingo_piece_free(struct dingo_dev *dev, struct dingo_piece *piece)
{
	struct dingo_p2p *p2p = &dev->p2p;
	size_t n;

	mutex_lock(&p2p->lock);
	list_del(&piece->entry);
	if (piece->va) {
		for (n = 0; n < piece->bytes >> PAGE_SHIFT; n++)
			put_page(virt_to_page(piece->va + (n << PAGE_SHIFT)));
	} else {
		gen_pool_free(p2p->pool, piece->phys, piece->bytes);
	}
	mutex_unlock(&p2p->lock);
}
EXPORT_SYMBOL_NS_GPL(dingo_piece_free, DINGO_NS);

static ssize_t p2p_show(struct device *device, struct device_attribute *attr,
			char *buf)
{
	struct dingo_dev *dev = dev_get_drvdata(device);
	const char *state = "false";

	if (!(dev->caps & DINGO_CAP_DEVICE_MEMORY))
		state = "none";
	else if (dev->p2p.no_iomem)
		state = "no iomem";
	else if (READ_ONCE(dev->p2p.on))
		state = "true";
	return sysfs_emit(buf, "%s\n", state);
}

static ssize_t p2p_store(struct device *device, struct device_attribute *attr,
			 const char *buf, size_t count)
{
	struct dingo_dev *dev = dev_get_drvdata(device);
	bool on;
	int err;

	err = kstrtobool(buf, &on);
	if (err)
		return err;
	if (!(dev->caps & DINGO_CAP_DEVICE_MEMORY))
		return -ENODEV;
	if (on && !dingo_p2p_is_whole(dev))
		return -ENOSPC;
	mutex_lock(&dev->p2p.lock);
	err = dingo_p2p_switch(dev, on);
	mutex_unlock(&dev->p2p.lock);
	return err ?: count;
}
static DEVICE_ATTR_RW(p2p);

static ssize_t card_memory_show(struct device *device,
				struct device_attribute *attr, char *buf)
{
	struct dingo_dev *dev = dev_get_drvdata(device);
	u64 bytes = 0;

	if (dev->caps & DINGO_CAP_DEVICE_MEMORY)
		bytes = dingo_read64(dev, DINGO_REG_MEM_SIZE);
	return sysfs_emit(buf, "%llu\n", bytes);
}
static DEVICE_ATTR_RO(card_memory);

static ssize_t memory_counts_show(struct device *device,
				  struct device_attribute *attr, char *buf)
{
	struct dingo_dev *dev = dev_get_drvdata(device);

	return sysfs_emit(buf, "%d\n", !!(dev->caps & DINGO_CAP_MEM_COUNTS));
}
static DEVICE_ATTR_RO(memory_counts);

/* One line for each piece: process, its name, bytes. */
static ssize_t p2p_users_show(struct device *device,
			      struct device_attribute *attr, char *buf)
{
	struct dingo_dev *dev = dev_get_drvdata(device);
	struct dingo_piece *piece;
	ssize_t length = 0;

	mutex_lock(&dev->p2p.lock);
	list_for_each_entry(piece, &dev->p2p.pieces, entry)
		length += sysfs_emit_at(buf, length, "%d %llu %s\n", piece->pid,
					(u64)piece->bytes, piece->comm);
	mutex_unlock(&dev->p2p.lock);
	return length;
}
static DEVICE_ATTR_ADMIN_RO(p2p_users);

static struct attribute *dingo_p2p_attrs[] = {
	&dev_attr_p2p.attr,
	&dev_attr_card_memory.attr,
	&dev_attr_memory_counts.attr,
	&dev_attr_p2p_users.attr,
	NULL,
};

static const struct attribute_group dingo_p2p_group = {
	.name = "dingo",
	.attrs = dingo_p2p_attrs,
};

const struct attribute_group *dingo_pci_groups[] = {
	&dingo_p2p_group,
	NULL,
};
