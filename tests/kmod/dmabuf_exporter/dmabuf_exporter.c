// SPDX-License-Identifier: GPL-2.0
/*
 * A test module: exports DMA buffers of ordinary pages, which an ioctl moves
 * to other pages. Moving follows the rules of dynamic buffers: under the
 * reservation lock notify the importers, then move, unless an importer has
 * pinned the buffer. The old pages are filled with a pattern, so that an
 * importer that still uses them is detected.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/highmem.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "dmabuf_exporter.h"

#define EXPORTER_MAX_BYTES SZ_256M
#define EXPORTER_STALE 0xdb /* fills the old pages after a move */

struct exporter_buf {
	size_t num_pages;
	struct page **pages; /* under the reservation lock */
	u64 moves;
	u64 mapped;
	u64 pinned; /* calls of pin() without unpin() */
};

static const struct dma_buf_ops exporter_ops;

static void exporter_put_pages(struct page **pages, size_t num)
{
	size_t n;

	if (!pages)
		return;
	for (n = 0; n < num; n++) {
		if (pages[n])
			put_page(pages[n]);
	}
	kvfree(pages);
}

static struct page **exporter_get_pages(size_t num)
{
	struct page **pages = kvcalloc(num, sizeof(*pages), GFP_KERNEL);
	size_t n;

	if (!pages)
		return NULL;
	for (n = 0; n < num; n++) {
		pages[n] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!pages[n]) {
			exporter_put_pages(pages, num);
			return NULL;
		}
	}
	return pages;
}

static int exporter_pin(struct dma_buf_attachment *attach)
{
	struct exporter_buf *buf = attach->dmabuf->priv;

	dma_resv_assert_held(attach->dmabuf->resv);
	buf->pinned++;
	return 0;
}

static void exporter_unpin(struct dma_buf_attachment *attach)
{
	struct exporter_buf *buf = attach->dmabuf->priv;

	dma_resv_assert_held(attach->dmabuf->resv);
	buf->pinned--;
}

/* Pins that importers requested, without the core's own. */
static u64 exporter_wanted_pins(const struct exporter_buf *buf)
{
	return buf->pinned - (DINGO_DMA_BUF_MAPPING_PINS ? buf->mapped : 0);
}

/* Each mapping holds references to its pages until it is unmapped. */
static struct sg_table *exporter_map(struct dma_buf_attachment *attach,
				     enum dma_data_direction direction)
{
	struct exporter_buf *buf = attach->dmabuf->priv;
	struct scatterlist *sg;
	struct sg_table *sgt;
	int err;
	int n;

	sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);
	if (!sgt)
		return ERR_PTR(-ENOMEM);
	err = sg_alloc_table(sgt, buf->num_pages, GFP_KERNEL);
	if (err)
		goto err_free;
	for_each_sgtable_sg(sgt, sg, n) {
		get_page(buf->pages[n]);
		sg_set_page(sg, buf->pages[n], PAGE_SIZE, 0);
	}
	err = dma_map_sgtable(attach->dev, sgt, direction, 0);
	if (err)
		goto err_pages;
	buf->mapped++;
	return sgt;

err_pages:
	for_each_sgtable_sg(sgt, sg, n)
		put_page(sg_page(sg));
	sg_free_table(sgt);
err_free:
	kfree(sgt);
	return ERR_PTR(err);
}

static void exporter_unmap(struct dma_buf_attachment *attach,
			   struct sg_table *sgt,
			   enum dma_data_direction direction)
{
	struct exporter_buf *buf = attach->dmabuf->priv;
	struct scatterlist *sg;
	int n;

	dma_unmap_sgtable(attach->dev, sgt, direction, 0);
	for_each_sgtable_sg(sgt, sg, n)
		put_page(sg_page(sg));
	sg_free_table(sgt);
	kfree(sgt);
	buf->mapped--;
}

static void exporter_release(struct dma_buf *dmabuf)
{
	struct exporter_buf *buf = dmabuf->priv;

	exporter_put_pages(buf->pages, buf->num_pages);
	kfree(buf);
}

static vm_fault_t exporter_fault(struct vm_fault *vmf)
{
	struct dma_buf *dmabuf = vmf->vma->vm_private_data;
	struct exporter_buf *buf = dmabuf->priv;
	vm_fault_t ret = VM_FAULT_SIGBUS;

	dma_resv_lock(dmabuf->resv, NULL);
	if (vmf->pgoff < buf->num_pages) {
		/* Inserted under the lock: a move cannot miss it. */
		ret = vmf_insert_pfn(vmf->vma, vmf->address,
				     page_to_pfn(buf->pages[vmf->pgoff]));
	}
	dma_resv_unlock(dmabuf->resv);
	return ret;
}

static const struct vm_operations_struct exporter_vm_ops = {
	.fault = exporter_fault,
};

static int exporter_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	vm_flags_set(vma, VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_private_data = dmabuf;
	vma->vm_ops = &exporter_vm_ops;
	return 0;
}

static const struct dma_buf_ops exporter_ops = {
	.pin = exporter_pin,
	.unpin = exporter_unpin,
	.map_dma_buf = exporter_map,
	.unmap_dma_buf = exporter_unmap,
	.release = exporter_release,
	.mmap = exporter_mmap,
};

static int exporter_create(struct dmabuf_exporter_create *arg)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct exporter_buf *buf;
	struct dma_buf *dmabuf;
	int fd;

	if (arg->reserved || !arg->size || arg->size > EXPORTER_MAX_BYTES)
		return -EINVAL;
	buf = kzalloc(sizeof(*buf), GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	buf->num_pages = DIV_ROUND_UP(arg->size, PAGE_SIZE);
	buf->pages = exporter_get_pages(buf->num_pages);
	if (!buf->pages) {
		kfree(buf);
		return -ENOMEM;
	}
	info.ops = &exporter_ops;
	info.size = buf->num_pages << PAGE_SHIFT;
	info.flags = O_RDWR | O_CLOEXEC;
	info.priv = buf;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		exporter_put_pages(buf->pages, buf->num_pages);
		kfree(buf);
		return PTR_ERR(dmabuf);
	}
	fd = dma_buf_fd(dmabuf, O_CLOEXEC);
	if (fd < 0) {
		dma_buf_put(dmabuf);
		return fd;
	}
	arg->fd = fd;
	return 0;
}

/* Under the reservation lock. */
static void exporter_move_locked(struct dma_buf *dmabuf, struct page **pages)
{
	struct exporter_buf *buf = dmabuf->priv;
	struct page **old = buf->pages;
	size_t n;

	/* CPUs fault again and wait for the lock; importers are notified. */
	unmap_mapping_range(dmabuf->file->f_mapping, 0, 0, 1);
	dingo_dma_buf_moved(dmabuf);
	dma_resv_wait_timeout(dmabuf->resv, DMA_RESV_USAGE_BOOKKEEP, false,
			      MAX_SCHEDULE_TIMEOUT);
	for (n = 0; n < buf->num_pages; n++) {
		copy_highpage(pages[n], old[n]);
		memset_page(old[n], 0, EXPORTER_STALE, PAGE_SIZE);
	}
	buf->pages = pages;
	buf->moves++;
	exporter_put_pages(old, buf->num_pages);
}

static int exporter_move(struct dmabuf_exporter_move *arg)
{
	struct exporter_buf *buf;
	struct dma_buf *dmabuf;
	struct page **pages;
	int err = 0;

	if (arg->reserved)
		return -EINVAL;
	dmabuf = dma_buf_get(arg->fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	if (dmabuf->ops != &exporter_ops) {
		err = -EINVAL;
		goto out;
	}
	buf = dmabuf->priv;
	pages = exporter_get_pages(buf->num_pages);
	if (!pages) {
		err = -ENOMEM;
		goto out;
	}
	dma_resv_lock(dmabuf->resv, NULL);
	if (exporter_wanted_pins(buf)) {
		exporter_put_pages(pages, buf->num_pages);
		err = -EBUSY;
	} else {
		exporter_move_locked(dmabuf, pages);
	}
	arg->moves = buf->moves;
	arg->mapped = buf->mapped;
	dma_resv_unlock(dmabuf->resv);
out:
	dma_buf_put(dmabuf);
	return err;
}

static long exporter_ioctl(struct file *file, unsigned int cmd,
			   unsigned long user)
{
	struct dmabuf_exporter_create create;
	struct dmabuf_exporter_move move;
	void __user *arg = (void __user *)user;
	int err;

	switch (cmd) {
	case DMABUF_EXPORTER_CREATE:
		if (copy_from_user(&create, arg, sizeof(create)))
			return -EFAULT;
		err = exporter_create(&create);
		if (err)
			return err;
		return copy_to_user(arg, &create, sizeof(create)) ? -EFAULT : 0;
	case DMABUF_EXPORTER_MOVE:
		if (copy_from_user(&move, arg, sizeof(move)))
			return -EFAULT;
		err = exporter_move(&move);
		if (err)
			return err;
		return copy_to_user(arg, &move, sizeof(move)) ? -EFAULT : 0;
	default:
		return -ENOTTY;
	}
}

static const struct file_operations exporter_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = exporter_ioctl,
};

static struct miscdevice exporter_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "dmabuf_exporter",
	.mode = 0600,
	.fops = &exporter_fops,
};

module_misc_device(exporter_device);
MODULE_DESCRIPTION("DMA buffers that move, to test importers");
MODULE_IMPORT_NS(DINGO_DMA_BUF_NS);
MODULE_LICENSE("GPL");
