// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue memory and page lists. The lists are also used for memory regions.
 */
#include <linux/cc_platform.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "dingo.h"

/* Rings up to this size are allocated as one range, without a page list. */
#define DINGO_RING_CONTIGUOUS_MAX SZ_64K
#define DINGO_PBL_LEAF_BYTES (DINGO_PBL_LEAF_ENTRIES * sizeof(__le64))

static int dingo_pbl_alloc_leaves(struct dingo_dev *dev, struct dingo_pbl *pbl,
				  gfp_t gfp)
{
	dma_addr_t addr;
	size_t n;

	pbl->num_leaves = DIV_ROUND_UP(pbl->entries, DINGO_PBL_LEAF_ENTRIES);
	pbl->leaves = kvcalloc(pbl->num_leaves, sizeof(*pbl->leaves), gfp);
	if (!pbl->leaves)
		return -ENOMEM;
	pbl->list = dma_alloc_coherent(dingo_dma_dev(dev),
				       pbl->num_leaves * sizeof(__le64),
				       &pbl->base, gfp);
	if (!pbl->list)
		return -ENOMEM;
	for (n = 0; n < pbl->num_leaves; n++) {
		pbl->leaves[n] = dma_alloc_coherent(dingo_dma_dev(dev),
						    DINGO_PBL_LEAF_BYTES,
						    &addr, gfp);
		if (!pbl->leaves[n])
			return -ENOMEM;
		pbl->list[n] = cpu_to_le64(addr);
	}
	return 0;
}

/**
 * dingo_pbl_alloc() - allocate a page list
 * @dev: the card
 * @pbl: the list
 * @entries: pages, at least 1
 * @page_shift: log2 of bytes per page; one entry may span any range
 * @gfp: GFP_KERNEL_ACCOUNT on behalf of a process, else GFP_KERNEL
 *
 * The entries are then set by dingo_pbl_set().
 * Return: 0 or -ENOMEM.
 */
int dingo_pbl_alloc(struct dingo_dev *dev, struct dingo_pbl *pbl,
		    size_t entries, u8 page_shift, gfp_t gfp)
{
	int err = 0;

	*pbl = (struct dingo_pbl){
		.entries = entries,
		.page_shift = page_shift,
	};
	if (entries <= 1) {
		pbl->levels = 0;
	} else if (entries <= DINGO_PBL_LEAF_ENTRIES) {
		pbl->levels = 1;
		pbl->list = dma_alloc_coherent(dingo_dma_dev(dev),
					       DINGO_PBL_LEAF_BYTES,
					       &pbl->base, gfp);
		err = pbl->list ? 0 : -ENOMEM;
	} else {
		pbl->levels = 2;
		err = dingo_pbl_alloc_leaves(dev, pbl, gfp);
	}
	if (err)
		dingo_pbl_free(dev, pbl);
	return err;
}
EXPORT_SYMBOL_NS_GPL(dingo_pbl_alloc, DINGO_NS);

/**
 * dingo_pbl_free() - free a page list
 * @dev: the card
 * @pbl: the list, which the card does not use any more. Idempotent
 */
void dingo_pbl_free(struct dingo_dev *dev, struct dingo_pbl *pbl)
{
	size_t n;

	for (n = 0; pbl->list && n < pbl->num_leaves; n++) {
		if (pbl->leaves[n])
			dma_free_coherent(dingo_dma_dev(dev),
					  DINGO_PBL_LEAF_BYTES, pbl->leaves[n],
					  le64_to_cpu(pbl->list[n]));
	}
	if (pbl->list)
		dma_free_coherent(dingo_dma_dev(dev),
				  pbl->num_leaves ?
				  pbl->num_leaves * sizeof(__le64) :
				  DINGO_PBL_LEAF_BYTES, pbl->list, pbl->base);
	kvfree(pbl->leaves);
	*pbl = (struct dingo_pbl){};
}
EXPORT_SYMBOL_NS_GPL(dingo_pbl_free, DINGO_NS);

/**
 * dingo_pbl_set() - set one address of a page list
 * @pbl: the list
 * @index: number of the page; ignored with a warning if out of range
 * @addr: bus address of the page
 */
void dingo_pbl_set(struct dingo_pbl *pbl, size_t index, dma_addr_t addr)
{
	if (WARN_ON_ONCE(index >= pbl->entries))
		return;
	if (pbl->levels == 0)
		pbl->base = addr;
	else if (pbl->levels == 1)
		pbl->list[index] = cpu_to_le64(addr);
	else
		pbl->leaves[index / DINGO_PBL_LEAF_ENTRIES]
			   [index % DINGO_PBL_LEAF_ENTRIES] = cpu_to_le64(addr);
}
EXPORT_SYMBOL_NS_GPL(dingo_pbl_set, DINGO_NS);

/**
 * dingo_pbl_describe() - describe memory to the card
 * @pbl: its pages
 * @offset: of the first byte in the first page, less than the page size
 * @mem: the result, for a command
 */
void dingo_pbl_describe(const struct dingo_pbl *pbl, u32 offset,
			struct dingo_mem *mem)
{
	*mem = (struct dingo_mem){ .levels = pbl->levels };
	if (pbl->levels == 0) {
		mem->addr = cpu_to_le64(pbl->base + offset);
		return;
	}
	dma_wmb(); /* order the lists before the command that refers to them */
	mem->addr = cpu_to_le64(pbl->base);
	mem->offset = cpu_to_le32(offset);
	mem->page_shift = pbl->page_shift;
}
EXPORT_SYMBOL_NS_GPL(dingo_pbl_describe, DINGO_NS);

/*
 * In a confidential guest the memory of dma_alloc_pages() is shared with the
 * host, and mappings of it must be marked as shared.
 */
static pgprot_t dingo_ring_prot(pgprot_t prot)
{
	return cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT) ?
		       pgprot_decrypted(prot) : prot;
}

/* Allocates memory of a kernel queue. */
static int dingo_ring_get_coherent(struct dingo_dev *dev,
				   struct dingo_ring *ring)
{
	dma_addr_t addr;
	int err;

	err = dingo_pbl_alloc(dev, &ring->pbl, 1, PAGE_SHIFT, GFP_KERNEL);
	if (err)
		return err;
	ring->va = dma_alloc_coherent(dingo_dma_dev(dev), ring->bytes, &addr,
				      GFP_KERNEL | __GFP_NOWARN);
	if (!ring->va)
		return -ENOMEM;
	ring->kind = DINGO_RING_COHERENT;
	dingo_pbl_set(&ring->pbl, 0, addr);
	return 0;
}

/* Allocates a physical range, split so that each page has its own reference. */
static bool dingo_ring_get_range(struct dingo_dev *dev, struct dingo_ring *ring)
{
	struct device *dma_dev = dingo_dma_dev(dev);
	unsigned int order = get_order(ring->bytes);
	struct page *page;
	dma_addr_t addr;
	u32 n;

	if (ring->bytes > DINGO_RING_CONTIGUOUS_MAX)
		return false;
	page = alloc_pages_node(dev_to_node(dma_dev),
				GFP_KERNEL_ACCOUNT | __GFP_ZERO |
					__GFP_NOWARN | __GFP_NORETRY, order);
	if (!page)
		return false;
	addr = dma_map_page(dma_dev, page, 0, ring->bytes, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dma_dev, addr))
		goto err_free;
	/*
	 * Both sides poll the queue without DMA syncs, so a mapping that uses
	 * or may use bounce buffers (with an IOMMU) is not suitable.
	 */
	if (dma_need_sync(dma_dev, addr))
		goto err_unmap;

	split_page(page, order);
	for (n = 0; n < 1U << order; n++) {
		if (n < ring->num_pages)
			ring->pages[n] = page + n;
		else
			__free_page(page + n);
	}
	ring->kind = DINGO_RING_RANGE;
	dingo_pbl_set(&ring->pbl, 0, addr);
	return true;

err_unmap:
	dma_unmap_page(dma_dev, addr, ring->bytes, DMA_BIDIRECTIONAL);
err_free:
	__free_pages(page, order);
	return false;
}

/* Allocates single pages that are never bounced, each with its own mapping. */
static int dingo_ring_get_pages(struct dingo_dev *dev, struct dingo_ring *ring,
				gfp_t gfp)
{
	dma_addr_t addr;
	u32 n;
	int err;

	ring->kind = DINGO_RING_PAGES;
	err = dingo_pbl_alloc(dev, &ring->pbl, ring->num_pages, PAGE_SHIFT,
			      gfp);
	if (err)
		return err;
	ring->dma = kvcalloc(ring->num_pages, sizeof(*ring->dma), gfp);
	if (!ring->dma)
		return -ENOMEM;
	for (n = 0; n < ring->num_pages; n++) {
		ring->pages[n] = dma_alloc_pages(dingo_dma_dev(dev), PAGE_SIZE,
						 &addr, DMA_BIDIRECTIONAL,
						 gfp | __GFP_ZERO);
		if (!ring->pages[n])
			return -ENOMEM;
		ring->dma[n] = addr;
		dingo_pbl_set(&ring->pbl, n, addr);
	}
	return 0;
}

static int dingo_ring_alloc_kernel(struct dingo_dev *dev,
				   struct dingo_ring *ring)
{
	int err;

	err = dingo_ring_get_coherent(dev, ring);
	if (err != -ENOMEM || ring->bytes <= PAGE_SIZE)
		return err;
	/* No contiguous range available: use single pages. */
	dingo_pbl_free(dev, &ring->pbl);
	ring->pages = kvcalloc(ring->num_pages, sizeof(*ring->pages),
			       GFP_KERNEL);
	if (!ring->pages)
		return -ENOMEM;
	err = dingo_ring_get_pages(dev, ring, GFP_KERNEL);
	if (err)
		return err;
	ring->va = vmap(ring->pages, ring->num_pages, VM_MAP,
			dingo_ring_prot(PAGE_KERNEL));
	return ring->va ? 0 : -ENOMEM;
}

static int dingo_ring_alloc_user(struct dingo_dev *dev, struct dingo_ring *ring)
{
	ring->pages = kvcalloc(ring->num_pages, sizeof(*ring->pages),
			       GFP_KERNEL_ACCOUNT);
	if (!ring->pages)
		return -ENOMEM;
	ring->pbl = (struct dingo_pbl){ .entries = 1 };
	if (dingo_ring_get_range(dev, ring))
		return 0;
	return dingo_ring_get_pages(dev, ring, GFP_KERNEL_ACCOUNT);
}

/**
 * dingo_ring_alloc() - memory for a queue
 * @dev: the card
 * @ring: the result
 * @bytes: at least 1, rounded up to pages
 * @flags: DINGO_RING_USER or 0
 *
 * The memory is zeroed, as new CQs and EQs require.
 * Return: 0 or -ENOMEM.
 */
int dingo_ring_alloc(struct dingo_dev *dev, struct dingo_ring *ring,
		     size_t bytes, unsigned int flags)
{
	int err;

	*ring = (struct dingo_ring){ .bytes = PAGE_ALIGN(bytes) };
	ring->num_pages = ring->bytes >> PAGE_SHIFT;
	if (flags & DINGO_RING_USER)
		err = dingo_ring_alloc_user(dev, ring);
	else
		err = dingo_ring_alloc_kernel(dev, ring);
	if (err)
		dingo_ring_free(dev, ring);
	return err;
}
EXPORT_SYMBOL_NS_GPL(dingo_ring_alloc, DINGO_NS);

static void dingo_ring_put_pages(struct dingo_dev *dev, struct dingo_ring *ring)
{
	u32 n;

	for (n = 0; ring->pages && n < ring->num_pages; n++) {
		if (!ring->pages[n])
			continue;
		if (ring->kind == DINGO_RING_PAGES)
			dma_free_pages(dingo_dma_dev(dev), PAGE_SIZE,
				       ring->pages[n], ring->dma[n],
				       DMA_BIDIRECTIONAL);
		else
			put_page(ring->pages[n]);
	}
}

/**
 * dingo_ring_free() - free a queue's memory
 * @dev: the card
 * @ring: the memory, which the card does not use any more. Idempotent
 *
 * Pages that a process has mapped stay allocated until it unmaps them.
 */
void dingo_ring_free(struct dingo_dev *dev, struct dingo_ring *ring)
{
	struct device *dma_dev = dingo_dma_dev(dev);

	if (ring->kind == DINGO_RING_COHERENT)
		dma_free_coherent(dma_dev, ring->bytes, ring->va,
				  ring->pbl.base);
	else if (ring->kind == DINGO_RING_RANGE)
		dma_unmap_page(dma_dev, ring->pbl.base, ring->bytes,
			       DMA_BIDIRECTIONAL);
	else if (ring->va)
		vunmap(ring->va);
	dingo_ring_put_pages(dev, ring);
	dingo_pbl_free(dev, &ring->pbl);
	kvfree(ring->dma);
	kvfree(ring->pages);
	*ring = (struct dingo_ring){};
}
EXPORT_SYMBOL_NS_GPL(dingo_ring_free, DINGO_NS);

/**
 * dingo_ring_describe() - describe a queue's memory to the card
 * @ring: the memory
 * @mem: the result, for a command
 */
void dingo_ring_describe(const struct dingo_ring *ring, struct dingo_mem *mem)
{
	dingo_pbl_describe(&ring->pbl, 0, mem);
}
EXPORT_SYMBOL_NS_GPL(dingo_ring_describe, DINGO_NS);

/**
 * dingo_ring_mmap() - map a queue's memory into a process
 * @ring: a user's queue
 * @vma: shared, of exactly @ring->bytes; its pgoff is ignored
 *
 * Return: 0, -EINVAL for another size or a private mapping, -ENOMEM.
 */
int dingo_ring_mmap(const struct dingo_ring *ring, struct vm_area_struct *vma)
{
	unsigned long left = ring->num_pages;

	/* In a private mapping the card would not see the process's writes. */
	if (vma->vm_end - vma->vm_start != ring->bytes ||
	    !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	if (ring->kind == DINGO_RING_PAGES)
		vma->vm_page_prot = dingo_ring_prot(vma->vm_page_prot);
	return vm_insert_pages(vma, vma->vm_start, ring->pages, &left);
}
EXPORT_SYMBOL_NS_GPL(dingo_ring_mmap, DINGO_NS);
