// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue memory and page lists. The lists serve memory regions, too.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "dingo.h"

/* Rings up to this size are asked for in one piece: no list to walk. */
#define DINGO_RING_CONTIGUOUS_MAX SZ_64K
#define DINGO_PBL_LEAF_BYTES (DINGO_PBL_LEAF_ENTRIES * sizeof(__le64))

static int dingo_pbl_alloc_leaves(struct dingo_dev *dev, struct dingo_pbl *pbl)
{
	dma_addr_t addr;
	size_t n;

	pbl->num_leaves = DIV_ROUND_UP(pbl->entries, DINGO_PBL_LEAF_ENTRIES);
	pbl->leaves = kvcalloc(pbl->num_leaves, sizeof(*pbl->leaves),
			       GFP_KERNEL);
	if (!pbl->leaves)
		return -ENOMEM;
	pbl->list = dma_alloc_coherent(dingo_dma_dev(dev),
				       pbl->num_leaves * sizeof(__le64),
				       &pbl->base, GFP_KERNEL);
	if (!pbl->list)
		return -ENOMEM;
	for (n = 0; n < pbl->num_leaves; n++) {
		pbl->leaves[n] = dma_alloc_coherent(dingo_dma_dev(dev),
						    DINGO_PBL_LEAF_BYTES,
						    &addr, GFP_KERNEL);
		if (!pbl->leaves[n])
			return -ENOMEM;
		pbl->list[n] = cpu_to_le64(addr);
	}
	return 0;
}

/**
 * dingo_pbl_alloc() - make a page list
 * @dev: the card
 * @pbl: the list
 * @entries: pages, at least 1
 * @page_shift: log2 of bytes per page; one entry may span any range
 *
 * The entries are then set by dingo_pbl_set().
 * Return: 0 or -ENOMEM.
 */
int dingo_pbl_alloc(struct dingo_dev *dev, struct dingo_pbl *pbl,
		    size_t entries, u8 page_shift)
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
					       &pbl->base, GFP_KERNEL);
		err = pbl->list ? 0 : -ENOMEM;
	} else {
		pbl->levels = 2;
		err = dingo_pbl_alloc_leaves(dev, pbl);
	}
	if (err)
		dingo_pbl_free(dev, pbl);
	return err;
}

/**
 * dingo_pbl_free() - free a page list
 * @dev: the card
 * @pbl: the list; the card does not use it any more. Again: no effect
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

/**
 * dingo_pbl_set() - set one address of a page list
 * @pbl: the list
 * @index: which page; out of range: ignored with a warning
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
	dma_wmb(); /* the lists, before the command that names them */
	mem->addr = cpu_to_le64(pbl->base);
	mem->offset = cpu_to_le32(offset);
	mem->page_shift = pbl->page_shift;
}

/* One physical range, split so that each page has its own reference. */
static bool dingo_ring_get_contiguous(struct dingo_dev *dev,
				      struct dingo_ring *ring, gfp_t gfp)
{
	unsigned int order = get_order(ring->bytes);
	struct page *page;
	u32 n;

	if (ring->bytes > DINGO_RING_CONTIGUOUS_MAX)
		return false;
	page = alloc_pages_node(dev_to_node(dingo_dma_dev(dev)),
				gfp | __GFP_NOWARN | __GFP_NORETRY, order);
	if (!page)
		return false;
	split_page(page, order);
	for (n = 0; n < 1U << order; n++) {
		if (n < ring->num_pages)
			ring->pages[n] = page + n;
		else
			__free_page(page + n);
	}
	ring->contiguous = true;
	return true;
}

static int dingo_ring_get_pages(struct dingo_dev *dev, struct dingo_ring *ring,
				gfp_t gfp)
{
	u32 n;

	if (dingo_ring_get_contiguous(dev, ring, gfp))
		return 0;
	for (n = 0; n < ring->num_pages; n++) {
		ring->pages[n] =
			alloc_pages_node(dev_to_node(dingo_dma_dev(dev)), gfp,
					 0);
		if (!ring->pages[n])
			return -ENOMEM;
	}
	return 0;
}

/* Maps piece @n: the whole of a contiguous ring, else page @n. */
static int dingo_ring_map_piece(struct dingo_dev *dev, struct dingo_ring *ring,
				u32 n, size_t bytes)
{
	struct device *dma_dev = dingo_dma_dev(dev);
	dma_addr_t addr;

	addr = dma_map_page(dma_dev, ring->pages[n], 0, bytes,
			    DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dma_dev, addr))
		return -ENOMEM;
	if (dma_need_sync(dma_dev, addr)) {
		/* Queues are polled by both sides all the time. */
		dev_err_once(dma_dev, "queues need coherent DMA without bounce buffers\n");
		dma_unmap_page(dma_dev, addr, bytes, DMA_BIDIRECTIONAL);
		return -EOPNOTSUPP;
	}
	ring->dma[n] = addr;
	dingo_pbl_set(&ring->pbl, n, addr);
	return 0;
}

static int dingo_ring_map(struct dingo_dev *dev, struct dingo_ring *ring)
{
	u32 pieces = ring->contiguous ? 1 : ring->num_pages;
	size_t bytes = ring->contiguous ? ring->bytes : PAGE_SIZE;
	u32 n;
	int err;

	err = dingo_pbl_alloc(dev, &ring->pbl, pieces, PAGE_SHIFT);
	if (err)
		return err;
	for (n = 0; n < pieces; n++) {
		err = dingo_ring_map_piece(dev, ring, n, bytes);
		if (err)
			return err;
	}
	return 0;
}

/**
 * dingo_ring_alloc() - memory for a queue
 * @dev: the card
 * @ring: the result
 * @bytes: at least 1, rounded up to pages
 * @flags: DINGO_RING_USER or 0
 *
 * The memory is zeroed, as new CQs and EQs want it.
 * Return: 0, -ENOMEM, -EOPNOTSUPP when DMA is not coherent.
 */
int dingo_ring_alloc(struct dingo_dev *dev, struct dingo_ring *ring,
		     size_t bytes, unsigned int flags)
{
	bool user = flags & DINGO_RING_USER;
	gfp_t gfp = (user ? GFP_KERNEL_ACCOUNT : GFP_KERNEL) | __GFP_ZERO;
	int err;
	u32 n;

	*ring = (struct dingo_ring){ .bytes = PAGE_ALIGN(bytes) };
	ring->num_pages = ring->bytes >> PAGE_SHIFT;
	ring->pages = kvcalloc(ring->num_pages, sizeof(*ring->pages), gfp);
	ring->dma = kvcalloc(ring->num_pages, sizeof(*ring->dma), gfp);
	for (n = 0; ring->dma && n < ring->num_pages; n++)
		ring->dma[n] = DMA_MAPPING_ERROR;
	if (!ring->pages || !ring->dma) {
		err = -ENOMEM;
		goto err_free;
	}

	err = dingo_ring_get_pages(dev, ring, gfp);
	if (err)
		goto err_free;
	if (ring->contiguous && !user)
		ring->va = page_address(ring->pages[0]);
	else if (!user)
		ring->va = vmap(ring->pages, ring->num_pages, VM_MAP,
				PAGE_KERNEL);
	if (!ring->va && !user) {
		err = -ENOMEM;
		goto err_free;
	}
	err = dingo_ring_map(dev, ring);
	if (err)
		goto err_free;
	return 0;

err_free:
	dingo_ring_free(dev, ring);
	return err;
}

/**
 * dingo_ring_free() - free a queue's memory
 * @dev: the card
 * @ring: the memory; the card does not use it any more. Again: no effect
 *
 * Pages that a process still has mapped live until it unmaps them.
 */
void dingo_ring_free(struct dingo_dev *dev, struct dingo_ring *ring)
{
	size_t bytes = ring->contiguous ? ring->bytes : PAGE_SIZE;
	u32 n;

	for (n = 0; ring->dma && n < ring->num_pages; n++) {
		if (ring->dma[n] != DMA_MAPPING_ERROR)
			dma_unmap_page(dingo_dma_dev(dev), ring->dma[n], bytes,
				       DMA_BIDIRECTIONAL);
	}
	dingo_pbl_free(dev, &ring->pbl);
	if (ring->va && !ring->contiguous)
		vunmap(ring->va);
	for (n = 0; ring->pages && n < ring->num_pages; n++) {
		if (ring->pages[n])
			put_page(ring->pages[n]);
	}
	kvfree(ring->dma);
	kvfree(ring->pages);
	*ring = (struct dingo_ring){};
}

/**
 * dingo_ring_describe() - describe a queue's memory to the card
 * @ring: the memory
 * @mem: the result, for a command
 */
void dingo_ring_describe(const struct dingo_ring *ring, struct dingo_mem *mem)
{
	dingo_pbl_describe(&ring->pbl, 0, mem);
}

/**
 * dingo_ring_mmap() - map a queue's memory into a process
 * @ring: the memory
 * @vma: of exactly @ring->bytes; its pgoff is not looked at
 *
 * Return: 0, -EINVAL for another size, -ENOMEM.
 */
int dingo_ring_mmap(const struct dingo_ring *ring, struct vm_area_struct *vma)
{
	unsigned long left = ring->num_pages;

	if (vma->vm_end - vma->vm_start != ring->bytes)
		return -EINVAL;
	return vm_insert_pages(vma, vma->vm_start, ring->pages, &left);
}
