// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * User contexts: doorbell pages, and the pages that a process may map. Pages of
 * BARs are mapped through ib_core, which unmaps them if the card is unplugged;
 * the status page stays mapped and reports that.
 */
#include <linux/cc_platform.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "dingo_ib.h"

static struct dingo_mmap *to_dmmap(struct rdma_user_mmap_entry *entry)
{
	return container_of(entry, struct dingo_mmap, rdma);
}

/* Creates the entry of a page that the process of @uc may map; @phys: BAR
 * pages.
 */
static struct dingo_mmap *dingo_mmap_page(struct dingo_ucontext *uc,
					  enum dingo_mmap_kind kind,
					  phys_addr_t phys, bool cached)
{
	struct dingo_mmap *map;
	int err;

	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return ERR_PTR(-ENOMEM);
	map->kind = kind;
	map->phys = phys;
	map->cached = cached;
	err = rdma_user_mmap_entry_insert(&uc->ibuc, &map->rdma, PAGE_SIZE);
	if (err) {
		kfree(map);
		return ERR_PTR(err);
	}
	return map;
}

/**
 * dingo_ucontext_describe() - describe a context to its process
 * @uc: the context
 * @resp: the result
 */
void dingo_ucontext_describe(struct dingo_ucontext *uc,
			     struct dingo_alloc_ucontext_resp *resp)
{
	struct dingo_dev *dev = to_ddev(uc->ibuc.device);

	*resp = (struct dingo_alloc_ucontext_resp){
		.caps = dev->caps,
		.max_inline = le32_to_cpu(dev->limits.max_inline),
		.log_max_sq = dev->limits.log_max_sq,
		.log_max_rq = dev->limits.log_max_rq,
		.log_max_cq = dev->limits.log_max_cq,
		.kick_mode = DINGO_KICK_NONE,
		.kick_fd = -1, /* only kernel-less cards have a kick fd */
		.comp_mask = DINGO_UCONTEXT_STATUS,
		.status_mmap = rdma_user_mmap_get_offset(&uc->status->rdma),
	};
	if (dev->p2p.bytes)
		resp->comp_mask |= DINGO_UCONTEXT_DM;
	if (uc->kick) {
		resp->kick_mode = DINGO_KICK_MMIO;
		resp->kick_mmap = rdma_user_mmap_get_offset(&uc->kick->rdma);
	}
}

/*
 * Replaces the status page if it reports GONE while the card works: contexts
 * are also lost when the device moves to another network namespace. New users
 * get a new page; the old one stays mapped.
 */
static int dingo_status_renew(struct dingo_ibdev *ib)
{
	u32 *fresh;
	bool used;

	spin_lock_irq(&ib->status_lock);
	used = *ib->status;
	spin_unlock_irq(&ib->status_lock);
	if (!used)
		return 0;
	fresh = (u32 *)get_zeroed_page(GFP_KERNEL);
	if (!fresh)
		return -ENOMEM;
	spin_lock_irq(&ib->status_lock);
	/* After a failure dingo_status_gone() sets the page in use. */
	if (*ib->status && dingo_is_up(ib->dev))
		swap(ib->status, fresh);
	spin_unlock_irq(&ib->status_lock);
	free_page((unsigned long)fresh);
	return 0;
}

/**
 * dingo_alloc_ucontext() - create the context of a process that opens the
 * device
 * @ibuc: its context
 * @udata: struct dingo_alloc_ucontext_req and _resp
 *
 * Return: 0, -EOPNOTSUPP if the provider cannot wake this card, or in guests
 * with encrypted memory, -ENOMEM.
 */
int dingo_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct dingo_ucontext *uc = to_ducontext(ibuc);
	struct dingo_dev *dev = to_ddev(ibuc->device);
	struct dingo_alloc_ucontext_resp resp;
	struct dingo_alloc_ucontext_req req = {};
	int err;

	err = dingo_udata_in(udata, &req, sizeof(req));
	if (err)
		return err;
	if (req.comp_mask)
		return -EOPNOTSUPP;
	/* Memory for the card's DMA is shared with the host and becomes private
	 * when freed, although a process may still have it mapped.
	 */
	if (cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT)) {
		dev_err_once(&dev->pdev->dev, "no verbs for processes: memory of this guest is encrypted\n");
		return -EOPNOTSUPP;
	}

	err = dingo_gid_open(to_dibdev(ibuc->device), uc);
	if (err)
		return err;
	err = dingo_status_renew(to_dibdev(ibuc->device));
	if (err)
		goto err_gid;
	dingo_dm_open(uc);
	dingo_db_space_init(dev, &uc->db, false);
	if (dev->caps & DINGO_CAP_DB_MEMORY) {
		/* With larger pages the kick page would contain other
		 * registers, too.
		 */
		if (DINGO_DB_STEP > 1 ||
		    !(req.kick_modes & BIT(DINGO_KICK_MMIO))) {
			err = -EOPNOTSUPP;
			goto err_space;
		}
		uc->kick = dingo_mmap_page(uc, DINGO_MMAP_IO,
					   pci_resource_start(dev->pdev,
							      DINGO_BAR_REGS) +
						   DINGO_KICK_PAGE_OFFSET,
					   false);
		if (IS_ERR(uc->kick)) {
			err = PTR_ERR(uc->kick);
			goto err_space;
		}
	}

	uc->status = dingo_mmap_page(uc, DINGO_MMAP_STATUS, 0, true);
	if (IS_ERR(uc->status)) {
		err = PTR_ERR(uc->status);
		goto err_kick;
	}

	dingo_ucontext_describe(uc, &resp);
	err = dingo_udata_out(udata, &resp, sizeof(resp));
	if (err)
		goto err_status;
	return 0;

err_status:
	rdma_user_mmap_entry_remove(&uc->status->rdma);
err_kick:
	if (uc->kick)
		rdma_user_mmap_entry_remove(&uc->kick->rdma);
err_space:
	dingo_db_space_destroy(&uc->db);
err_gid:
	dingo_gid_close(to_dibdev(ibuc->device), uc);
	return err;
}

/**
 * dingo_dealloc_ucontext() - free a context that was closed or has lost the
 * device
 * @ibuc: the context; its objects are destroyed and its mappings removed
 */
void dingo_dealloc_ucontext(struct ib_ucontext *ibuc)
{
	struct dingo_ucontext *uc = to_ducontext(ibuc);
	struct dingo_db_page *page;

	list_for_each_entry(page, &uc->db.pages, entry) {
		struct dingo_mmap *map = page->priv;
		struct dingo_mmap *push = page->push_priv;

		if (map)
			rdma_user_mmap_entry_remove(&map->rdma);
		if (push)
			rdma_user_mmap_entry_remove(&push->rdma);
	}
	rdma_user_mmap_entry_remove(&uc->status->rdma);
	if (uc->kick)
		rdma_user_mmap_entry_remove(&uc->kick->rdma);
	dingo_db_space_destroy(&uc->db);
	dingo_gid_close(to_dibdev(ibuc->device), uc);
	dingo_dm_close(uc);
}

/**
 * dingo_disassociate_ucontext() - detach an open context from a leaving card
 * @ibuc: a context that is still open
 *
 * ib_core unmaps the pages. Processes that poll for completions are informed
 * that none will follow. Without this operation unplug would wait for the
 * process.
 */
void dingo_disassociate_ucontext(struct ib_ucontext *ibuc)
{
	dingo_status_gone(to_dibdev(ibuc->device));
	dingo_dm_disassociate(to_ducontext(ibuc));
}

/**
 * dingo_status_gone() - inform processes that nothing completes any more
 * @ib: the device, which is lost to its present users
 *
 * Any context.
 */
void dingo_status_gone(struct dingo_ibdev *ib)
{
	unsigned long flags;

	spin_lock_irqsave(&ib->status_lock, flags);
	WRITE_ONCE(*ib->status, DINGO_STATUS_GONE);
	spin_unlock_irqrestore(&ib->status_lock, flags);
}

static int dingo_status_mmap(struct dingo_ibdev *ib, struct vm_area_struct *vma)
{
	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	if (!(vma->vm_flags & VM_SHARED) ||
	    vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	vm_flags_mod(vma, VM_DONTEXPAND, VM_MAYWRITE);
	/* The mapping keeps a reference to the page
	 * after the device is gone.
	 */
	return vm_insert_page(vma, vma->vm_start, virt_to_page(ib->status));
}

/**
 * dingo_mmap() - map doorbells, push pages, the kick page, the status page or a
 * queue
 * @ibuc: the process's context
 * @vma: where; its offset must be one returned by this driver
 *
 * Return: 0, -EINVAL for an unknown offset or a wrong size, -EPERM for a
 * protection that the page does not allow.
 */
int dingo_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	struct dingo_mmap *map;
	pgprot_t prot;
	int err;

	entry = rdma_user_mmap_entry_get(ibuc, vma);
	if (!entry)
		return -EINVAL;
	map = to_dmmap(entry);

	/* Never executable, not even by a later mprotect(). */
	vm_flags_clear(vma, VM_MAYEXEC);
	if (vma->vm_flags & VM_EXEC) {
		err = -EPERM;
	} else if (map->kind == DINGO_MMAP_IO) {
		prot = map->cached ? vma->vm_page_prot :
				     pgprot_noncached(vma->vm_page_prot);
		err = rdma_user_mmap_io(ibuc, vma, PHYS_PFN(map->phys),
					PAGE_SIZE, prot, entry);
	} else if (map->kind == DINGO_MMAP_PUSH) {
		err = rdma_user_mmap_io(ibuc, vma, PHYS_PFN(map->phys),
					PAGE_SIZE,
					pgprot_writecombine(vma->vm_page_prot),
					entry);
	} else if (map->kind == DINGO_MMAP_STATUS) {
		err = dingo_status_mmap(to_dibdev(ibuc->device), vma);
	} else if (map->kind == DINGO_MMAP_DM) {
		err = dingo_dm_mmap(to_ducontext(ibuc), map, vma);
	} else {
		struct dingo_qmem *qmem =
			container_of(map, struct dingo_qmem, map);

		err = dingo_ring_mmap(&qmem->ring, vma);
	}
	rdma_user_mmap_entry_put(entry);
	return err;
}

/**
 * dingo_mmap_free() - free an mmap() entry
 * @entry: an entry that was removed and is not mapped any more
 */
void dingo_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct dingo_mmap *map = to_dmmap(entry);

	if (map->kind == DINGO_MMAP_RING) {
		struct dingo_qmem *qmem =
			container_of(map, struct dingo_qmem, map);

		dingo_ring_free(qmem->dev, &qmem->ring);
		kfree(qmem);
	} else if (map->kind == DINGO_MMAP_DM) {
		dingo_dm_free(map);
	} else {
		kfree(map);
	}
}

/**
 * dingo_db_space() - get the doorbell space for an owner's objects
 * @dev: the card
 * @uc: the owner's context; NULL: the kernel
 *
 * Return: the space.
 */
struct dingo_db_space *dingo_db_space(struct dingo_dev *dev,
				      struct dingo_ucontext *uc)
{
	return uc ? &uc->db : &dev->verbs_db;
}

/**
 * dingo_qmem_alloc() - allocate the memory of a queue
 * @dev: the card
 * @uc: the owner's context; NULL: the kernel
 * @bytes: at least 1
 * @result: the memory
 *
 * Return: 0 or a negative error.
 */
int dingo_qmem_alloc(struct dingo_dev *dev, struct dingo_ucontext *uc,
		     size_t bytes, struct dingo_qmem **result)
{
	struct dingo_qmem *qmem;
	int err;

	qmem = kzalloc(sizeof(*qmem), GFP_KERNEL_ACCOUNT);
	if (!qmem)
		return -ENOMEM;
	qmem->dev = dev;
	qmem->user = uc;
	qmem->map.kind = DINGO_MMAP_RING;
	err = dingo_ring_alloc(dev, &qmem->ring, bytes,
			       uc ? DINGO_RING_USER : 0);
	if (err)
		goto err_free;
	if (uc) {
		err = rdma_user_mmap_entry_insert(&uc->ibuc, &qmem->map.rdma,
						  qmem->ring.bytes);
		if (err)
			goto err_ring;
	}
	*result = qmem;
	return 0;

err_ring:
	dingo_ring_free(dev, &qmem->ring);
err_free:
	kfree(qmem);
	return err;
}

/**
 * dingo_qmem_free() - free a queue's memory
 * @qmem: the memory, which the card does not use any more; or NULL
 */
void dingo_qmem_free(struct dingo_qmem *qmem)
{
	if (!qmem)
		return;
	if (qmem->user) {
		rdma_user_mmap_entry_remove(&qmem->map.rdma);
		return;
	}
	dingo_ring_free(qmem->dev, &qmem->ring);
	kfree(qmem);
}

/* Makes a page of a BAR mappable, with the first queue that needs it: *@priv is
 * its entry from then on. Sets @offset for mmap().
 */
static int dingo_db_page_map(struct dingo_ucontext *uc, void **priv,
			     enum dingo_mmap_kind kind, phys_addr_t phys,
			     u64 *offset)
{
	struct dingo_mmap *map;

	mutex_lock(&uc->db.lock);
	map = *priv;
	if (!map) {
		map = dingo_mmap_page(uc, kind, phys,
				      uc->db.dev->caps & DINGO_CAP_DB_MEMORY);
		if (!IS_ERR(map))
			*priv = map;
	}
	mutex_unlock(&uc->db.lock);
	if (IS_ERR(map))
		return PTR_ERR(map);
	*offset = rdma_user_mmap_get_offset(&map->rdma);
	return 0;
}

/**
 * dingo_ring_map_fill() - describe the location of a queue to its process
 * @uc: the process's context
 * @qmem: the queue
 * @db: its doorbell
 * @log_size: log2 of entries or blocks
 * @log_stride: log2 of bytes of each
 * @map: the result
 *
 * Return: 0 or -ENOMEM.
 */
int dingo_ring_map_fill(struct dingo_ucontext *uc, struct dingo_qmem *qmem,
			struct dingo_db *db, u8 log_size, u8 log_stride,
			struct dingo_ring_map *map)
{
	u64 db_offset;
	int err;

	err = dingo_db_page_map(uc, &db->page->priv, DINGO_MMAP_IO,
				db->page->phys, &db_offset);
	if (err)
		return err;
	*map = (struct dingo_ring_map){
		.ring_mmap = rdma_user_mmap_get_offset(&qmem->map.rdma),
		.ring_bytes = qmem->ring.bytes,
		.db_mmap = db_offset,
		.db_slot = db->slot,
		.log_size = log_size,
		.log_stride = log_stride,
	};
	return 0;
}

/**
 * dingo_push_map() - make the push page of a send queue mappable
 * @uc: the process's context
 * @db: the doorbell of a send queue
 * @offset: the result, for mmap(); 0 if the doorbell page has no push page
 *
 * Return: 0 or -ENOMEM.
 */
int dingo_push_map(struct dingo_ucontext *uc, struct dingo_db *db, u64 *offset)
{
	*offset = 0;
	if (!db->page->push_phys)
		return 0;
	return dingo_db_page_map(uc, &db->page->push_priv, DINGO_MMAP_PUSH,
				 db->page->push_phys, offset);
}
